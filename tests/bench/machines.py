"""Instances on a simulated cloud in the server's own process, on both cores:
how fast they come to run, what it costs to hold many, and a restart.

The cloud takes no time, so that what is measured is ours.  The floor of
creating is the same creates in a region that is paused: accepted, durable, and
nothing made.  COUNT in the environment says how many are held, 100,000 unless
told; IDLE for how many seconds rest is watched, a minute unless told.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request

from rig import CPUS, Server, ms, per_second, pinned, row

HELD = int(os.environ.get("COUNT", "100000"))
PROJECTS = 100  # and a network in each; their instances take turns
IN_FLIGHT = HELD // 10
CONNECTIONS = 64
ACCEPTED = HELD // 10  # of the floor
CALLS_PER_SECOND = 2000  # what the provider allows after the restart
IDLE_SECONDS = int(os.environ.get("IDLE", "60"))


class Api:
    def __init__(self, server):
        self.server = server

    def __call__(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        kind = "merge-patch+json" if method == "PATCH" else "json"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.server.port}{path}", data=data,
            method=method, headers={
                "Authorization": f"Bearer {self.server.token}",
                "Content-Type": f"application/{kind}"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)


def wait_until(test, seconds=600, every=0.05):
    until = time.monotonic() + seconds
    while not test():
        if time.monotonic() > until:
            sys.exit("bench: it never came to be")
        time.sleep(every)


def machines_server(bench, data):
    config = ("limits:\n  pendingChanges: 20000\n"
              "history:\n  maxRevisions: 10000\n")
    return bench.start(Server, bench, data, config, CPUS)


def ready(api, noun, id):
    wait_until(lambda: api("GET", f"/v1/{noun}/{id}")["status"]["state"] ==
               "ready", 60)


def prepare(bench, api):
    """A region, and projects with a network each; what is posted."""
    region = api("POST", "/v1/regions", {"name": "sim", "spec": {
        "provider": "sim", "callsAtOnce": 64}})["id"]
    ready(api, "regions", region)
    named = {noun: {i["name"]: i["id"] for i in api(
        "GET", f"/v1/{noun}?regionId={region}")["items"]}
        for noun in ("flavors", "images")}
    organization = api("POST", "/v1/organizations", {"name": "bench"})["id"]
    api("POST", "/v1/quotas", {"organizationId": organization, "limits": [
        {"kind": kind["name"], "limit": 1 << 40}
        for kind in api("GET", "/v1/quotakinds")["items"]]})
    networks = []
    for n in range(PROJECTS):
        project = api("POST", "/v1/projects", {
            "name": f"p-{n}", "organizationId": organization})["id"]
        networks.append(api("POST", "/v1/networks", {
            "name": "lan", "projectId": project, "regionId": region,
            "spec": {"prefix": f"10.{n}.0.0/16"}})["id"])
    for id in networks:
        ready(api, "networks", id)
    with open(bench.path("instances"), "w", encoding="ascii") as file:
        for id in networks:
            file.write(json.dumps({"networkId": id, "spec": {
                "flavorId": named["flavors"]["small"],
                "imageId": named["images"]["debian-12"]}}) + "\n")
    with open(bench.path("instance-list"), "w", encoding="ascii") as file:
        file.write("".join(f"/v1/instances?networkId={id}&limit=1\n"
                           for id in networks))
    return region


def in_state(server, state):
    return server.metrics().get(f'muster_instances{{state="{state}"}}', 0)


def calls(server):
    """To the provider so far."""
    return sum(value for name, value in server.metrics().items()
               if name.startswith("muster_provider_calls_total"))


class Load:
    """bench_load in the background, on both cores; its numbers at the end."""

    def __init__(self, bench, server, *args):
        self.process = subprocess.Popen(
            [bench.program("bench_load"), "-p", str(server.port), "-t",
             server.token, "-y", *args], stdout=subprocess.PIPE, text=True,
            preexec_fn=pinned(*CPUS))

    def end(self):
        said = self.process.communicate()[0]
        if self.process.returncode:
            sys.exit("bench: the load failed")
        return {key: float(value) for key, value in
                re.findall(r"(\w+)=([\d.]+)", said)}


def post(bench, server, count, prefix):
    return Load(bench, server, "-c", str(CONNECTIONS), "-n", str(count), "-s",
                "600", "-w", bench.path(f"paths-{prefix}"), "post",
                bench.path("instances"), prefix, "/v1/instances")


def bench_accept(bench, empty, region):
    """How fast they are accepted where nobody makes them."""
    Api(empty)("PATCH", f"/v1/regions/{region}", {"spec": {"paused": True}})
    got = post(bench, empty, ACCEPTED, "paused").end()
    return got["rate"]


def bench_create(bench, server, count, prefix, floor):
    """Create COUNT, with readers beside: until the last of them runs."""
    name = f"create to running, {in_state(server, 'running'):,.0f} up"
    before = in_state(server, "running")
    cpu = sum(server.cpu())
    began = time.monotonic()
    load = post(bench, server, count, prefix)
    reads = Load(bench, server, "-c", "4", "-r", "200", "-s",
                 "5", "get", bench.path("paths-full"))
    created = load.end()
    wait_until(lambda: in_state(server, "running") >= before + count)
    took = time.monotonic() - began
    cpu = (sum(server.cpu()) - cpu) / 1e3 / count
    read = reads.end()
    row(name, per_second(count / took), per_second(floor),
        count / took / floor, "2,000/s",
        f"CPU {cpu:.0f} us an instance, of two cores' 1,000,000 a second each;"
        f" create p50 {ms(created['p50'])}, p99 {ms(created['p99'])}; GET"
        f" meanwhile p50 {ms(read['p50'])}, p99 {ms(read['p99'])}")


def latencies(bench, server, paths):
    got = Load(bench, server, "-c", "1", "-s", "3", "get",
               bench.path(paths)).end()
    return got["p50"], got["p99"]


def watch_latency(api):
    """From asking for a change to its event, the median and the worst of 50;
    who watches follows one network."""
    server, took = api.server, []
    network = api("GET", "/v1/networks?limit=1")["items"][0]["id"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/instances?networkId={network}",
        headers={
            "Authorization": f"Bearer {server.token}",
            "Accept": "text/event-stream"})
    with urllib.request.urlopen(request, timeout=60) as stream:
        item = None
        for line in stream:
            if line.startswith(b"data: ") and item is None:
                item = json.loads(line[6:])["id"]
            if line.startswith(b"event: ready"):
                break
        for n in range(50):
            began = time.monotonic()
            api("PATCH", f"/v1/instances/{item}", {"description": f"n{n}"})
            while f'"n{n}"'.encode() not in stream.readline():
                pass
            took.append((time.monotonic() - began) * 1e6)
    return sorted(took)[25], sorted(took)[-1]


def bench_latencies(bench, empty, full):
    """The same requests of a server that holds next to nothing."""
    for name, paths in (("GET by id", "paths"),
                        ("list one of a network", "list")):
        few = latencies(bench, empty, f"{paths}-empty")
        many = latencies(bench, full, f"{paths}-full")
        row(f"{name}, {HELD:,} held", ms(many[0]), ms(few[0]),
            few[0] / many[0], "", f"p99 {ms(many[1])}, of an empty server"
            f" {ms(few[1])}; the floor is the empty server's")
    few, many = (watch_latency(Api(s)) for s in (empty, full))
    row(f"change to event, {HELD:,} held", ms(many[0]),
        ms(few[0]), few[0] / many[0], "", f"the worst of 50 {ms(many[1])}, of"
        f" an empty server {ms(few[1])}")


def bench_idle(server, each):
    cpu, made = sum(server.cpu()), calls(server)
    time.sleep(IDLE_SECONDS)
    busy = (sum(server.cpu()) - cpu) / 1e9 / IDLE_SECONDS
    row(f"CPU at rest, {HELD:,} held", f"{100 * busy:.2f} %", "", None, "",
        f"of a core, over {IDLE_SECONDS} s; memory {each:,.0f} B an instance;"
        f" {(calls(server) - made) * 60 / IDLE_SECONDS:.0f} provider calls a"
        " minute")


class Rate:
    """The most provider calls a second, over two seconds each.  When they were
    counted is known only within a request, which may take long in a flood: from
    when the first was asked to when the last was answered."""

    def __init__(self, server):
        self.server, self.most, self.stop = server, 0.0, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        seen = []
        while not self.stop:
            asked = time.monotonic()
            count = calls(self.server)
            now = time.monotonic()
            seen = [(t, n) for t, n in seen if now - t <= 2.2]
            seen.append((asked, count))
            over = now - seen[0][0]
            if over >= 2:
                self.most = max(self.most, (count - seen[0][1]) / over)
            time.sleep(0.1)

    def end(self):
        self.stop = True
        self.thread.join()
        return self.most


def bench_restart(bench, server, region):
    """Killed while a tenth of them are on their way."""
    api = Api(server)
    api("PATCH", f"/v1/regions/{region}", {"spec": {
        "options": {"launchMs": 30000, "callsPerSecond": CALLS_PER_SECOND,
                    "burst": CALLS_PER_SECOND // 5},
        "callsPerSecond": CALLS_PER_SECOND}})
    wait_until(lambda: api("GET", f"/v1/regions/{region}")["status"]
               ["observedGeneration"] == api(
                   "GET", f"/v1/regions/{region}")["generation"], 60)
    post(bench, server, IN_FLIGHT, "flight").end()
    flying = in_state(server, "pending")
    server.kill()
    server = machines_server(bench, os.path.basename(server.data))
    serving, cpu = server.ready_s, sum(server.cpu()) / 1e9
    began = time.monotonic()
    rate = Rate(server)
    wait_until(lambda: in_state(server, "running") >= HELD + IN_FLIGHT)
    took = time.monotonic() - began
    most = rate.end()
    refused = server.metrics().get(
        'muster_provider_calls_total{outcome="rate_limited"}', 0)
    row(f"restart, {HELD + IN_FLIGHT:,}, {flying:,.0f} in flight",
        f"{serving:.2f} s", f"{cpu:.2f} s", cpu / serving, "",
        f"until it serves, the floor is its CPU; all run after {took:.1f} s"
        " more, a launch taking 30 s")
    row("  provider calls a second, at most", f"{most:,.0f}/s",
        f"{CALLS_PER_SECOND:,}/s", most / CALLS_PER_SECOND, "<= 1",
        f"over two seconds; the floor is what it allows; it refused "
        f"{refused:,.0f}")
    return server


def run(bench):
    empty, server = (machines_server(bench, name) for name in
                     ("empty", "machines"))
    prepare(bench, Api(empty))
    post(bench, empty, PROJECTS, "empty").end()
    os.replace(bench.path("instance-list"), bench.path("list-empty"))
    other = machines_server(bench, "paused")
    floor = bench_accept(bench, other, prepare(bench, Api(other)))
    other.stop()
    region = prepare(bench, Api(server))
    rss = server.rss()
    post(bench, server, PROJECTS, "full").end()
    wait_until(lambda: in_state(server, "running") == PROJECTS)
    os.replace(bench.path("instance-list"), bench.path("list-full"))
    part = (HELD - PROJECTS) // 2
    bench_create(bench, server, part, "a", floor)
    bench_create(bench, server, HELD - PROJECTS - part, "b", floor)
    each = (server.rss() - rss) / HELD
    bench_idle(server, each)
    bench_latencies(bench, empty, server)
    bench_restart(bench, server, region)

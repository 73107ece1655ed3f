"""More than the server can do: three times its peak, of requests that come
whether it answers or not, from a crowd that gives up and comes again.

The peak is that of 256 connections that always have a request under way; a
crowd then makes three times as many requests a second for a while, and half as
many before and after that.  A client waits for a second.  Good is what is
answered with 2xx in that time; the rest is refused, or too late, or not sent
because every client of the crowd waits for an answer.  The server has one core,
the crowd the other.

This is done in rounds, with a peak before each and after the last: the more
objects there are, the lower is the peak, so a flood is held to those next to
it.  The first hundred thousand objects are made faster than those that come
after, and are made before.  There are several rounds, since the machine may be
fast for one and slow for the next; and several servers, one after the other,
since one process may be faster than the next by a tenth for as long as it
runs.

FLOOD in the environment says for how many seconds a flood goes on, 15 unless
told; SERVERS and ROUNDS how many there are, CROWD how many clients at most.
"""

import http.client
import os
import re
import subprocess
import threading
import time

import machines
import objects
from rig import LOAD_CPU, Server, ms, per_second, pinned, row

SECONDS = int(os.environ.get("FLOOD", "15"))
SERVERS = int(os.environ.get("SERVERS", "4"))
ROUNDS = int(os.environ.get("ROUNDS", "2"))  # on each
CROWD = int(os.environ.get("CROWD", "5000"))  # more than are let in
TIMES = 3
PEAK_SECONDS = 5
WARM_SECONDS = 10
BEFORE_SECONDS, AFTER_SECONDS = 3, 12
SLICE_SECONDS = 0.25  # flood.c's
NORMAL_SLICES = 4  # in a row: a second
PREPARED = 5_000
# It is full before it begins: from then on each change pays for one forgotten.
HISTORY = "history:\n  maxRevisions: 100000\n"
CALLS_PER_SECOND, BURST = 500, 100  # what the instances' provider allows


def parse(line):
    return {key: float(value) for key, value in
            re.findall(r"(\w+)=([\d.]+)", line)}


class Flood:
    """bench_flood; its slices and phases."""

    def __init__(self, bench, server, serial, args, phases):
        said = subprocess.run(
            [bench.program("bench_flood"), "-p", str(server.port), "-t",
             server.token, "-c", str(CROWD), *args, serial, *phases],
            stdout=subprocess.PIPE, text=True, check=True,
            preexec_fn=pinned(LOAD_CPU)).stdout.splitlines()
        self.slices = [parse(x) for x in said if x.startswith("slice")]
        self.phases = [parse(x) for x in said if x.startswith("phase")]

    def rate(self, phase, what):
        return self.phases[phase][what] / self.phases[phase]["took"]


class Probes:
    """What must be answered meanwhile: probes, on a connection that is kept,
    and on one of their own each time.  And how large the server becomes."""

    def __init__(self, server):
        self.server, self.most, self.stop = server, 0, False
        self.kept = http.client.HTTPConnection("127.0.0.1", server.port,
                                               timeout=10)
        self.took = {"kept": [], "anew": []}  # None: no good answer
        self.threads = [threading.Thread(target=self.run, args=(kind,),
                                         daemon=True) for kind in self.took]
        for thread in self.threads:
            thread.start()

    def ask(self, connection):
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            answer.read()
            return answer.status == 200
        except OSError:
            connection.close()
            return False

    def run(self, kind):
        while not self.stop:
            connection = self.kept if kind == "kept" else \
                http.client.HTTPConnection("127.0.0.1", self.server.port,
                                           timeout=10)
            began = time.monotonic()
            good = self.ask(connection)
            self.took[kind].append(
                (time.monotonic() - began) * 1e6 if good else None)
            if kind == "anew":
                connection.close()
            self.most = max(self.most, self.server.rss())
            time.sleep(0.1)

    def end(self):
        self.stop = True
        for thread in self.threads:
            thread.join()


def is_normal(one, before):
    return (one["late"] + one["refused"] + one["failed"] + one["unsent"] == 0
            and one["p99"] <= before)


def recovery(flood):
    """Seconds from the end of the flood to the first of a second's slices that
    are what they were before it; None when there is none."""
    ends = BEFORE_SECONDS + SECONDS
    before = max(20_000, 2 * max(s["p99"] for s in flood.slices
                                 if 1 < s["at"] < BEFORE_SECONDS))
    after = [s for s in flood.slices if s["at"] > ends + 0.1]
    for i in range(len(after) - NORMAL_SLICES + 1):
        if all(is_normal(s, before) for s in after[i:i + NORMAL_SLICES]):
            return max(0, after[i]["at"] - SLICE_SECONDS - ends)
    return None


def peak(bench, server, serial, args):
    return Flood(bench, server, serial, args,
                 [f"max:{PEAK_SECONDS}"]).rate(0, "good")


def warm(bench, server, serial, args):
    Flood(bench, server, serial, args, [f"max:{WARM_SECONDS}"])


def mean(values):
    return sum(values) / len(values)


def flood(bench, server, serial, args, best):
    half, three = int(best / 2), int(TIMES * best)
    return Flood(bench, server, serial, args,
                 [f"{half}:{BEFORE_SECONDS}", f"{three}:{SECONDS}",
                  f"{half}:{AFTER_SECONDS}"])


class Served:
    """What one server did in its rounds."""

    def __init__(self, bench, server, serial, args):
        self.floods, self.best, self.rss = [], [], server.rss()
        self.peaks = [peak(bench, server, serial + "p", args)]
        self.probes = Probes(server)
        for n in range(ROUNDS):
            self.floods.append(flood(bench, server, f"{serial}{n}f", args,
                                     self.peaks[-1]))
            self.peaks.append(peak(bench, server, f"{serial}{n}p", args))
            self.best.append(mean(self.peaks[-2:]))
        self.probes.end()
        self.grown = server.rss() - self.rss


def probe_row(served, kind, name):
    took = [t for s in served for t in s.probes.took[kind]]
    good = sorted(t for t in took if t is not None)
    row(name, f"{len(good)}", f"{len(took)}", len(good) / len(took), "",
        f"p50 {ms(good[len(good) // 2])},"
        f" p99 {ms(good[-1 - len(good) // 100])}" if good else "")


def report(name, served):
    floods = [f for s in served for f in s.floods]

    def rate(what):
        return per_second(mean([f.rate(1, what) for f in floods]))

    def most(what, phase=1):
        return ms(max(f.phases[phase][what] for f in floods))

    def total(what):
        return sum(f.phases[1][what] for f in floods)

    good = mean([f.rate(1, "good") for f in floods])
    best = mean([b for s in served for b in s.best])
    row(f"{name} at {TIMES} times the peak, {len(floods)} x {SECONDS} s",
        per_second(good), per_second(best), good / best, ">= 0.90",
        "the floor is the peak; peaks, and floods between them: "
        + "; ".join(" ".join(per_second(p) for p in s.peaks) + ", "
                    + " ".join(per_second(f.rate(1, "good"))
                               for f in s.floods) for s in served)
        + f"; requests {rate('begun')}, not sent {rate('unsent')}")
    row("  p99 of those admitted, at most", most("p99"), most("p99", 0), None,
        "", f"p50 {most('p50')}; the floor is at half the peak before")
    row("  refused, with when to come again", rate("refused"), "", None, "",
        f"p50 {most('no50')}, p99 {most('no99')}; without"
        f" {total('without'):.0f}; given up {rate('late')}, cut off"
        f" {total('failed'):.0f}, other answers {total('other'):.0f}")
    back = [recovery(f) for f in floods]
    row("  back to normal after, at most",
        "never" if None in back else f"{max(back):.2f} s", "", None, "<= 10 s",
        "at half the peak: nothing refused or late, p99 at most twice the"
        " worst before, or 20 ms")
    probe_row(served, "kept", "  probes on a connection that is kept")
    probe_row(served, "anew", "  probes on a new connection each")
    row("  memory, at most",
        f"{max(s.probes.most for s in served) / 2**20:,.0f} MiB",
        f"{max(s.rss for s in served) / 2**20:,.0f} MiB", None, "",
        "the floor is before;"
        f" {sum(s.grown for s in served) / 2**20:,.0f} MiB more afterwards, for"
        f" {total('good'):,.0f} good ones and what came before and after")


def prepare(bench, server):
    """What is read: objects, and lists of a thousand, one in five."""
    objects.fill_organizations(bench, server)
    bench.create(server, 64, PREPARED, "-w", bench.path("made"))
    with open(bench.path("orgs"), encoding="ascii") as file:
        ids = file.read().split()
    with open(bench.path("made"), encoding="ascii") as made, \
            open(bench.path("paths"), "w", encoding="ascii") as paths:
        for n, path in enumerate(made):
            paths.write(path if n % 5 else "/v1/projects?limit=1000&"
                        f"organizationId={ids[n // 5 % len(ids)]}\n")


def flood_instances(bench, n):
    """Instances asked for three times as fast as they are accepted, of a
    provider that makes far fewer."""
    server = bench.start(Server, bench, f"overload-machines-{n}", HISTORY)
    api = machines.Api(server)
    region = machines.prepare(bench, api)
    api("PATCH", f"/v1/regions/{region}", {"spec": {
        "callsPerSecond": CALLS_PER_SECOND,
        "options": {"callsPerSecond": CALLS_PER_SECOND,
                    "burst": BURST}}})
    machines.wait_until(lambda: api("GET", f"/v1/regions/{region}")["status"]
                        ["observedGeneration"] == api(
                            "GET", f"/v1/regions/{region}")["generation"], 60)
    with open(bench.path("instance-paths"), "w", encoding="ascii") as file:
        file.write(f"/v1/regions/{region}\n")
    rate = machines.Rate(server)
    args = ["-i", "/v1/instances", bench.path("instances"),
            bench.path("instance-paths")]
    warm(bench, server, "iw", args)
    served = Served(bench, server, "i", args)
    served.calls = rate.end()
    served.refused = server.metrics().get(
        'muster_provider_calls_total{outcome="rate_limited"}', 0)
    served.states = {state: machines.in_state(server, state)
                     for state in ("pending", "running")}
    server.stop()
    return served


def bench_instances(bench):
    served = [flood_instances(bench, n) for n in range(SERVERS // 2)]
    report("instances", served)
    most, may = max(s.calls for s in served), CALLS_PER_SECOND + BURST / 2
    row("  provider calls a second, at most", per_second(most),
        per_second(may), most / may, "<= 1",
        "over two seconds, in which the floor is what it allows; it refused"
        f" {sum(s.refused for s in served):,.0f};"
        f" {sum(s.states['pending'] for s in served):,.0f} instances wait,"
        f" {sum(s.states['running'] for s in served):,.0f} run")


def flood_objects(bench, name, more):
    server = bench.start(Server, bench, name, HISTORY)
    prepare(bench, server)
    args = [*more, bench.path("orgs"), bench.path("paths")]
    warm(bench, server, "w", args[-2:])
    served = Served(bench, server, "o", args)
    server.stop()
    return served


def bench_objects(bench, name, more):
    report(name, [flood_objects(bench, f"overload-{name[0]}-{n}", more)
                  for n in range(SERVERS)])


def run(bench):
    bench_objects(bench, "creates", [])
    bench_objects(bench, "reads and creates", ["-g", "70"])
    bench_instances(bench)

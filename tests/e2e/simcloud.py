#!/usr/bin/python3
"""`muster simcloud` as a process, and `muster provider`: what the cloud has
answered outlives it, and the contract holds on a region of it."""

import json
import signal
import threading
import urllib.error
import urllib.request

from machines import Cloud
from muster import PATIENCE, Client, Server, folder, run, tap, wait_for


def ask(cloud, path, body=None):
    """An answer's status and what it says; None when there is none."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(cloud.url + path, data=data)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)
    except OSError:
        return None, None


def launch(cloud, token, **more):
    return ask(cloud, "/calls/launch", {
        "name": "web", "flavor": "sim.small", "image": "debian-12",
        "token": token, "tags": {"muster/server": token}, **more})


def kill(cloud):
    cloud.process.send_signal(signal.SIGKILL)
    cloud.process.wait(PATIENCE)


def killed_while_it_launches():
    cloud = Cloud().start()
    answered, stop = {}, threading.Event()

    def client(number):
        n = 0
        while not stop.is_set():
            n += 1
            token = f"{number}-{n}"
            status, machine = launch(cloud, token)
            # The same launch again, until it is answered.
            while status != 200 and not stop.is_set():
                stop.wait(0.01)
                status, machine = launch(cloud, token)
            if status == 200:
                answered[token] = machine["id"]

    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(10):
        wait_for(lambda: len(answered) >= (i + 1) * 50)
        kill(cloud)
        cloud.start()
    stop.set()
    for thread in threads:
        thread.join()
    by_token = {}
    for machine in cloud.truth()["machines"]:
        by_token.setdefault(machine["token"], []).append(machine["id"])
    tap.ok(len(answered) >= 500, "launches went on over ten kills",
           len(answered))
    tap.ok(all(by_token.get(token) == [id] for token, id in answered.items()),
           "each launch that was answered is one machine, before and after")
    tap.ok(all(len(ids) == 1 for ids in by_token.values()),
           "no token has two")
    cloud.stop()


def behaves_otherwise_when_told():
    cloud = Cloud().start()
    tap.eq(launch(cloud, "a")[0], 200, "a machine is launched")
    status, options = ask(cloud, "/faults", {"accountQuota": 1})
    tap.ok(status == 200 and options["accountQuota"] == 1,
           "its behaviour is changed while it runs", options)
    status, refusal = launch(cloud, "b")
    tap.ok(status == 409 and refusal["code"] == "quota_exceeded" and
           refusal["native"] == "QuotaExceeded", "and it does", refusal)
    status, refusal = ask(cloud, "/options", {"accountQuota": "many"})
    tap.ok(status == 400 and "accountQuota" in refusal["message"],
           "what makes no sense is refused", refusal)
    tap.eq(ask(cloud, "/options")[1]["accountQuota"], 1,
           "and changes nothing")
    id = next(iter(cloud.machines()))
    tap.eq(ask(cloud, f"/machines/{id}/kill", {})[0], 200,
           "a machine goes away unasked")
    tap.ok(not cloud.machines() and cloud.truth()["gone"][0]["id"] == id,
           "and is known to be gone")
    tap.eq(ask(cloud, f"/machines/{id}/kill", {})[0], 404, "once")
    status, refusal = ask(cloud, "/calls/dance", {})
    tap.eq(status, 404, "a call that there is not is not found")
    status, refusal = ask(cloud, "/calls/launch", {"flavor": 7})
    tap.eq(status, 400, "a call that makes no sense is refused")
    cloud.stop()


def has_its_file_to_itself():
    cloud = Cloud().start()
    status, said = run("simcloud", "--data", cloud.data, "--listen",
                       "127.0.0.1:0")
    tap.ok(status == 1 and "in use" in said,
           "a second one on the same file does not start", said)
    cloud.stop()
    status, said = run("simcloud", "--options", '{"colour": 1}')
    tap.ok(status == 1 and "colour" in said,
           "an option that there is not is refused", said)


def providers_are_listed():
    status, said = run("provider", "list", "-o", "json")
    listed = json.loads(said)
    sim = [one for one in listed if one["name"] == "sim"]
    tap.ok(status == 0 and sim and
           all(o.get("doc") and o.get("type") for o in sim[0]["options"]),
           "providers are listed with their options, each explained", said)
    status, said = run("provider", "list", "sim")
    tap.ok(status == 0 and "launchMs" in said, "one is shown for people")
    tap.eq(run("provider", "list", "cumulus")[0], 3,
           "one that there is not is not found")


def providers_are_verified():
    cloud = Cloud(pollMs=10, launchMs=30).start()
    server = Server().start()
    api = Client(server)
    reply = api.post("/v1/regions", {"name": "eu-1", "spec": {
        "provider": "sim", "options": {"endpoint": cloud.url}}})
    tap.eq(reply.status, 201, "there is a region")
    env = {"MUSTER_TOKEN": server.token, "MUSTER_SERVER": server.url,
           "HOME": folder()}
    status, said = run("provider", "verify", "eu-1", env=env)
    lines = said.splitlines()
    tap.ok(status == 0 and ", 0 failed, 0 orphans" in lines[-1],
           "its provider keeps to the contract", said)
    tap.ok(not cloud.machines(), "and nothing is left of the checks")
    ask(cloud, "/options", {"bootFailureRate": 1000})
    status, said = run("provider", "verify", "eu-1", "--patience", "1s",
                       env=env)
    tap.ok(status == 1 and "not ok" in said and
           not said.splitlines()[-1].startswith("0 passed"),
           "one that does not is told", said)
    tap.eq(run("provider", "verify", "us-9", env=env)[0], 3,
           "a region that there is not is not found")
    tap.eq(run("provider", "verify")[0], 2, "something must be named")
    name = 'muster_region_calls_total{region="%s",call="catalogue",' \
           'outcome="ok"}' % reply.json["id"].split("-")[-1]
    tap.ok(wait_for(lambda: name in api.get("/metrics").body.decode()),
           "calls are counted by region, call and outcome")
    server.stop()
    cloud.stop()


for section in (killed_while_it_launches, behaves_otherwise_when_told,
                has_its_file_to_itself, providers_are_listed,
                providers_are_verified):
    tap.section(section)
tap.end()

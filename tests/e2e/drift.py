#!/usr/bin/python3
"""What happens at the provider behind the server's back: it is seen, told and
mended; what is nobody's is found."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

from machines import World
from muster import Client, folder, run, tap, wait_for

SOON = 60


def cli(w, *argv):
    return run(*argv, env={"MUSTER_TOKEN": w.server.token, "HOME": folder(),
                           "MUSTER_SERVER": w.server.url})


def told(w, instance, reason):
    return any(e["reason"] == reason for e in w.events(instance))


def stopped(w):
    one = w.instance("halted")
    machine = one["status"]["providerId"]
    w.cloud.ask(f"/machines/{machine}/halt", {})
    tap.ok(wait_for(lambda: told(w, one, "drifted"), SOON),
           "a machine that was stopped behind our back is told of",
           w.events(one))
    w.until(one, "running", SOON)
    tap.ok(w.cloud.of(one)[0]["state"] == "active" and
           w.read(one)["status"]["providerId"] == machine,
           "and is started again, the same one", w.cloud.of(one))


def removed(w):
    one = w.instance("vanished")
    w.cloud.ask(f"/machines/{one['status']['providerId']}/vanish", {})
    gone = w.until(one, "terminated", SOON)
    tap.eq(gone["status"]["reason"]["code"], "not_found",
           "a machine that was removed behind our back is shown as gone")
    tap.eq(w.cloud.of(one), [], "and is not replaced")


def looks(w):
    """How often the machines of the region were looked at by themselves."""
    return sum(int(line.split()[-1])
               for line in w.api.get("/metrics").body.decode().splitlines()
               if line.startswith("muster_region_calls_total")
               and 'call="describe"' in line)


def fresh(w):
    """A read that may not be older than its caller allows."""
    one = w.instance("fresh")
    target = f"/v1/instances/{one['id']}"
    w.cloud.ask(f"/machines/{one['status']['providerId']}/fail", {})
    seen = w.api.get(target + "?maxStalenessMs=0").json["status"]
    tap.ok(seen["state"] == "failed" and seen["observedBy"] == "describe" and
           seen["observedAt"] > one["status"]["observedAt"],
           "maxStalenessMs has the machine looked at first", seen)
    status, said = cli(w, "instance", "get", one["id"],
                       "--max-staleness", "0s", "-o", "json")
    tap.ok(status == 0 and json.loads(said)["status"]["observedAt"] >
           seen["observedAt"], "and so does --max-staleness", said)
    tap.eq(cli(w, "instance", "get", one["id"], "--max-staleness", "soon")[0],
           2, "which must be a duration")
    before = looks(w)
    with ThreadPoolExecutor(20) as many:
        answers = list(many.map(
            lambda n: Client(w.server).get(target + "?maxStalenessMs=60000"),
            range(100)))
    tap.ok({a.status for a in answers} == {200} and looks(w) == before,
           "what is fresh enough is asked of nobody", looks(w) - before)
    for query, words in (("maxStalenessMs=soon", "must be a number"),
                         ("maxStalenessMs=-1", "must be a number"),
                         ("maxStalenessMs=0&wait=running", "wait"),
                         ("maxStalenessMs=0&timeoutMs=0", "timeoutMs")):
        reply = w.api.get(f"{target}?{query}")
        tap.ok(reply.status == 400 and words in reply.json["detail"],
               f"?{query} is refused", reply.json)
    for other in ("/v1/instances?", f"/v1/regions/{w.region}?"):
        reply = w.api.get(other + "maxStalenessMs=0")
        tap.ok("maxStalenessMs" in reply.json.get("detail", ""),
               f"and so it is at {other[:-1]}", reply.json)
    paths = w.api.get("/v1/openapi.json").json["paths"]
    words = {noun: [p["name"] for p in paths[f"/v1/{noun}/{{id}}"]["get"][
        "parameters"]] for noun in ("instances", "regions")}
    tap.ok("maxStalenessMs" in words["instances"] and
           "maxStalenessMs" not in words["regions"],
           "OpenAPI has it where it is taken", words)
    w.cloud.ask(f"/machines/{one['status']['providerId']}/boot", {})
    w.cloud.set(hangRate=1000, hangMs=5000)
    reply = w.api.get(target + "?maxStalenessMs=0&timeoutMs=200")
    tap.ok(reply.status == 504 and reply.json["code"] == "timeout",
           "a provider that does not answer in time is a 504", reply.json)
    tap.eq(w.api.get(target).status, 200,
           "and what was known is read without it")
    w.cloud.set(hangRate=0)
    tap.ok(wait_for(lambda: w.api.get(
        target + "?maxStalenessMs=0").json["status"]["state"] == "running",
        SOON), "afterwards it is as before", w.read(one))


def orphan(w):
    """It is reported, and no more unless the region says so."""
    one = w.instance("known")
    tags = w.cloud.of(one)[0]["tags"]
    ask = {"name": "left", "flavor": "sim.small", "image": "debian-12",
           "rootDiskGiB": 10, "network": w.cloud.of(one)[0]["network"]}
    left = w.cloud.ask("/calls/launch", {**ask, "tags": {
        **tags, "muster/server": str(uuid.uuid4())}})["id"]
    other = w.cloud.ask("/calls/launch", {**ask, "tags": {
        "muster/installation": str(uuid.uuid4()),
        "muster/server": str(uuid.uuid4())}})["id"]

    def listed():
        seen = w.get("regions", w.region)["status"]["monitor"]
        return [o["providerId"] for o in seen.get("orphans", [])]
    tap.ok(wait_for(lambda: listed() == [left], SOON),
           "rule 9: a machine with our tags that nobody knows is listed",
           w.get("regions", w.region))
    numbers = w.api.get("/metrics").body.decode()
    tap.ok(f'muster_orphans{{region="{w.region[-12:]}"}} 1' in numbers,
           "and counted")
    tap.ok({left, other} <= set(w.cloud.machines()), "rule 9: and left alone, unless the region says otherwise")
    status, said = cli(w, "region", "orphans", "sim", "--plan")
    tap.ok(status == 0 and left in said and "machine" in said and
           "if the policy were remove" in said,
           "the plan says what would be removed, and when", said)
    w.cloud.ask(f"/machines/{left}/kill", {})
    tap.ok(wait_for(lambda: listed() == [], SOON),
           "when it is gone it is forgotten", w.get("regions", w.region))
    tap.ok(other in w.cloud.machines(), "rule 9: another's is not touched")


def side(w):
    """The same of what is no machine; and removing it, where that is wanted."""
    mine = [n["id"] for n in w.cloud.truth()["things"]]
    installation = w.cloud.of(w.instance("side"))[0]["tags"][
        "muster/installation"]
    volume = {"kind": "volume", "sizeGiB": 1}
    left = w.cloud.ask("/calls/ensure", {
        **volume, "ours": str(uuid.uuid4()), "owner": installation})["id"]
    other = w.cloud.ask("/calls/ensure", {
        **volume, "ours": str(uuid.uuid4()), "owner": str(uuid.uuid4())})["id"]

    def listed():
        seen = w.get("regions", w.region)["status"]["monitor"]
        return [(o["kind"], o["providerId"]) for o in seen.get("orphans", [])]
    tap.ok(wait_for(lambda: listed() == [("volume", left)], SOON),
           "rule 9: a volume with our mark that nobody knows is listed",
           w.get("regions", w.region))
    status, said = cli(w, "region", "orphans", "sim")
    tap.ok(status == 0 and "volume" in said and left in said,
           "and shown with its kind", said)
    w.api.patch(f"/v1/regions/{w.region}", {"spec": {
        "orphanPolicy": "remove", "orphanQuarantineSeconds": 60}})
    things = [n["id"] for n in w.cloud.truth()["things"]]
    tap.ok({left, other, *mine} <= set(things),
           "rule 9: it is not removed before its quarantine ends", things)


def mass(w):
    """Many at once are not believed to be gone, until somebody says so."""
    many = [w.instance(f"many-{n}") for n in range(4)]
    number = f'muster_region_missing{{region="{w.region[-12:]}"}} '
    for one in many:
        w.cloud.ask(f"/machines/{one['status']['providerId']}/vanish", {})
    tap.ok(wait_for(lambda: number + "4" in
                    w.api.get("/metrics").body.decode(), SOON),
           "rule 8: many that are missing at once are an alarm",
           w.get("regions", w.region))
    tap.eq({w.read(one)["status"]["state"] for one in many}, {"running"},
           "rule 8: and nothing is done about them")
    tap.eq(cli(w, "region", "accept", "sim")[0], 0, "an operator accepts it")
    for one in many:
        w.until(one, "terminated", SOON)
    tap.eq([m for one in many for m in w.cloud.of(one)], [],
           "then they are gone, and none is replaced")
    tap.ok(wait_for(lambda: number + "0" in
                    w.api.get("/metrics").body.decode(), SOON),
           "and the alarm is over")


def main():
    w = World({"pollMs": 20, "consistencyMs": 0, "launchLimitMs": 1000},
              spec={"observeSeconds": 5})
    for section in (stopped, removed, fresh, orphan, side, mass):
        tap.section(section, w)
    tap.eq(run("fsck", "--data", w.server.data)[0], 0,
           "fsck finds no difference")
    tap.end()


main()

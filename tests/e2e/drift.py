#!/usr/bin/python3
"""What happens at the provider behind the server's back: it is seen, told and
mended; what is nobody's is found."""

import uuid

from machines import World
from muster import run, tap, wait_for

SOON = 60


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
    w.cloud.ask(f"/machines/{left}/kill", {})
    tap.ok(wait_for(lambda: listed() == [], SOON),
           "when it is gone it is forgotten", w.get("regions", w.region))
    tap.ok(other in w.cloud.machines(), "rule 9: another's is not touched")


def main():
    w = World({"pollMs": 20, "consistencyMs": 0, "launchLimitMs": 1000},
              spec={"observeSeconds": 5})
    for section in (stopped, removed, orphan):
        tap.section(section, w)
    tap.eq(run("fsck", "--data", w.server.data)[0], 0,
           "fsck finds no difference")
    tap.end()


main()

#!/usr/bin/python3
"""Where machines are reached, what key they show, and whether what is in them
is up: as the provider tells it, and as users see it."""

import glob
import re

from machines import World
from muster import folder, run, tap, wait_for

SOON = 60


def cli(w, *argv):
    return run(*argv, env={"MUSTER_TOKEN": w.server.token, "HOME": folder(),
                           "MUSTER_SERVER": w.server.url})


def told(w, instance, reason):
    return any(e["reason"] == reason for e in w.events(instance))


def becomes(w, one, readiness, health):
    """Whether its guest comes to be that; the last that was seen is told."""
    seen = []

    def look():
        status = w.read(one)["status"]
        seen[:] = [status.get("readiness"), status["health"]]
        return (status.get("readiness", {}).get("state") == readiness and
                status["health"] == health)

    return bool(wait_for(look, SOON)), seen


def ports(w):
    one, other = w.instance("one"), w.instance("other")
    mine, its = one["status"]["ports"], other["status"]["ports"]
    tap.eq([(p["guest"], p["protocol"]) for p in mine],
           [(22, "tcp"), (80, "tcp")], "the guest's ports are told")
    tap.eq(len({(p["address"], p["port"]) for p in mine + its}), 4,
           "each is reached somewhere else")
    server = w.get("servers", one["status"]["serverId"])
    tap.eq(server["status"]["ports"], mine, "operators see the same")
    status, said = cli(w, "instance", "list", "-o", "wide")
    tap.ok(status == 0 and "HEALTH" in said, "the wide list has the health",
           said)
    w.one = one


def guests(w):
    one = w.one
    good, seen = becomes(w, one, "ready", "healthy")
    tap.ok(good, "a guest that is up makes a machine healthy", seen)
    tap.eq(seen[0]["message"], "the guest is up", "and it is told how")
    tap.ok(told(w, one, "ready"), "as an event, too", w.events(one))
    w.cloud.ask(f"/machines/{one['status']['providerId']}/hang", {})
    good, seen = becomes(w, one, "unready", "degraded")
    tap.ok(good, "one that hangs is degraded", seen)
    tap.ok(told(w, one, "unready") and not told(w, one, "drifted"),
           "which is told in its own words", w.events(one))
    tap.eq(w.read(one)["status"]["state"], "running", "and it still runs")
    w.cloud.ask(f"/machines/{one['status']['providerId']}/wake", {})
    tap.ok(becomes(w, one, "ready", "healthy")[0], "until it is up again")


def keys(w):
    one = w.one
    line = w.read(one)["status"]["sshHostKey"]
    tap.ok(re.fullmatch(r"ssh-ed25519 [A-Za-z0-9+/=]+", line),
           "the key that its server shows is known", line)
    tap.eq([m.get("hostKey") for m in w.cloud.of(one)], [line],
           "and it is the one that the guest was given")
    made = w.api.post(f"/v1/instances/{one['id']}/rebuild?allow=rebuild", {})
    tap.ok(made.status in (200, 202), "it is rebuilt", made.body)
    tap.ok(wait_for(lambda: w.read(one)["status"].get("sshHostKey") !=
                    line and not w.read(one)["status"].get("change"), SOON),
           "another root disk has another key", w.read(one)["status"])
    tap.eq([m.get("hostKey") for m in w.cloud.of(one)],
           [w.read(one)["status"]["sshHostKey"]], "which it was given, too")


def secret(w):
    """What keys are made of is nowhere to be seen."""
    seen = w.api.get("/v1/servers").body + w.api.get("/v1/events").body + \
        w.api.get(f"/v1/servers/{w.one['status']['serverId']}").body
    tap.ok(b"hostKeySeed" not in seen and b"PRIVATE" not in seen,
           "no reply has what a host key is made of")
    w.server.stop()
    kept = b""
    for path in glob.glob(w.server.data + "/**", recursive=True):
        try:
            with open(path, "rb") as file:
                kept += file.read()
        except OSError:
            pass
    sealed = re.findall(rb'"hostKeySeed":"([^"]{0,8})', kept)
    tap.ok(sealed and all(s.startswith(b"sealed:") for s in sealed),
           "and on the disk it is sealed", sealed[:3])
    tap.ok(b"BEGIN OPENSSH PRIVATE KEY" not in kept,
           "no private key is there")


def main():
    w = World({"pollMs": 20, "publish": [22, 80], "tellsReady": True,
               "readyMs": 500}, spec={"observeSeconds": 5})
    for section in (ports, guests, keys, secret):
        tap.section(section, w)
    tap.end()


main()

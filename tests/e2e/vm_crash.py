#!/usr/bin/python3
"""Real machines while things are killed: the server, a machine's process and,
where the hosts have one, libvirt's daemon, at moments that nobody chose.

    vm_crash.py MUSTER [embedded|daemon]

Users go on asking meanwhile.  At the end what the hosts have is held against
what was asked for: no machine lost, no second one, none of nobody; and when all
is deleted, nothing is left.

Environment: KILLS, SEED.
"""

import os
import random
import signal
import sys
import threading
import time

import libvirtd
import vms
from muster import Client, PATIENCE, tap, wait_for
from vms import BOOT, OBSERVE, VmWorld

KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
KIND = sys.argv[2] if len(sys.argv) > 2 else "embedded"
MOST = 3

# When what is left of a launch is removed, as docs/providers/libvirt.md says: a
# list finds it; what was sent to a daemon may be on its way for a minute; and of
# the lists after that, one in ten seconds removes.
CALL, BETWEEN = 60, 10
SWEPT = PATIENCE + (OBSERVE + CALL + BETWEEN + OBSERVE
                    if KIND == "daemon" else 0)


class User(threading.Thread):
    """Makes, changes and deletes instances; asks again until it is answered."""

    def __init__(self, world, n):
        super().__init__(daemon=True)
        self.world, self.n = world, n
        self.dice = random.Random(f"{SEED} {n}")
        self.made, self.deleted = {}, {}
        self.over = threading.Event()
        self.wrong, self.did = [], {}

    def ask(self, method, path, body=None):
        """Until there is an answer: the server may be down just now."""
        key = {"Idempotency-Key": f"{self.dice.getrandbits(64):x}"} \
            if method == "POST" else {}
        until = time.monotonic() + BOOT
        while True:
            try:
                return Client(self.world.server)(method, path, body, key)
            except (OSError, ValueError) as error:
                if time.monotonic() > until:
                    raise error
                time.sleep(0.02)

    def create(self):
        name = f"u{self.n}-{len(self.made) + len(self.deleted)}"
        reply = self.ask("POST", "/v1/instances", self.world.body(name))
        if reply.status not in (200, 201):
            self.wrong.append(f"create {name}: {reply!r}")
        else:
            self.made[reply.json["id"]] = name

    def delete(self):
        id = self.dice.choice(list(self.made))
        reply = self.ask("DELETE", f"/v1/instances/{id}")
        if reply.status not in (202, 204, 404):
            self.wrong.append(f"delete {self.made[id]}: {reply!r}")
        self.deleted[id] = self.made.pop(id)

    def power(self):
        id = self.dice.choice(list(self.made))
        verb = self.dice.choice(("start", "stop", "reboot"))
        reply = self.ask("POST", f"/v1/instances/{id}/{verb}",
                         {"hard": True} if verb == "reboot" else None)
        if reply.status not in (200, 202, 409):
            self.wrong.append(f"{verb}: {reply!r}")

    def run(self):
        try:
            while not self.over.is_set():
                what = self.create if not self.made else self.delete \
                    if len(self.made) >= MOST else self.dice.choice(
                        (self.create, self.create, self.delete, self.power))
                what()
                self.did[what.__name__] = self.did.get(what.__name__, 0) + 1
                time.sleep(self.dice.uniform(0, 0.6))
        except Exception as error:  # noqa: it is a finding
            self.wrong.append(f"user {self.n}: {error!r}")


def kill_muster(world, _):
    world.server.kill9()
    world.server.start()


def kill_machine(world, dice):
    running = list(world.processes().values())
    if running:
        try:
            os.kill(dice.choice(running), signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended by itself just now


def kill_daemon(world, dice):
    place = dice.choice(world.places)
    place.host.kill()
    time.sleep(dice.uniform(0, 0.5))
    place.host.start()


def kill_often(world, kinds):
    dice, counts = random.Random(SEED), {}
    for n in range(KILLS):
        time.sleep(dice.uniform(0.1, 2.0))
        # Each kind in its turn, in another order every time.
        if n % len(kinds) == 0:
            dice.shuffle(kinds)
        kind = kinds[n % len(kinds)]
        kind(world, dice)
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
    return counts


def promises(world, users):
    there = {i["id"] for i in world.all("instances")}
    wrong = [w for user in users for w in user.wrong]
    for user in users:
        wrong += [f"{name} was lost" for id, name in user.made.items()
                  if id not in there]
        wrong += [f"{name} was deleted, and is there" for id, name in
                  user.deleted.items() if id in there]
    return wrong


def end(world):
    """All are deleted; nothing is left of them."""
    for one in world.all("instances"):
        world.api.delete(world.path(one))
    tap.ok(wait_for(lambda: not world.all("instances"), BOOT, 0.1),
           "rule 5: deletions end", world.all("instances"))
    tap.ok(wait_for(lambda: not world.leftovers(), SWEPT, 0.1),
           "and leave no machine, process or disk", world.leftovers())
    usage = {kind: used for kind, used in world.usage().items() if used and
             kind in ("instances", "vcpus", "memoryMiB")}
    tap.eq(usage, {}, "nor any quota")


def strangers(world):
    """Machines that are not ours, which nobody may touch."""
    if KIND != "daemon":
        return lambda: []
    xml = ("<domain type='qemu'><name>muster-like</name><memory>16384</memory>"
           "<os><type arch='x86_64'>hvm</type></os></domain>")
    for place in world.places:
        path = os.path.join(place.host.folder, "stranger.xml")
        with open(path, "w", encoding="ascii") as file:
            file.write(xml)
        place.host.virsh("define", path)
        place.host.virsh("start", "muster-like")
    return lambda: [place.host.virsh("domstate", "muster-like")
                    for place in world.places
                    if place.host.virsh("domstate", "muster-like") != "running"]


def main():
    why = vms.missing() or (KIND == "daemon" and libvirtd.missing())
    if why:
        print(f"1..0 # SKIP {why}")
        return
    tap.note(f"SEED={SEED} KILLS={KILLS} {KIND}")
    kinds, hosts = [kill_muster, kill_machine], None
    if KIND == "daemon":
        hosts = [libvirtd.Host()]
        hosts.append(libvirtd.Host(like=hosts[0]))
        kinds.append(kill_daemon)
    world = VmWorld(hosts, tcg=True)
    touched = strangers(world)
    users = [User(world, n) for n in range(2)]
    for user in users:
        user.start()
    counts = kill_often(world, kinds)
    for user in users:
        user.over.set()
    for user in users:
        user.join()
    tap.note(f"killed: {counts}; done: {[user.did for user in users]}")
    tap.eq(sum(counts.values()), KILLS, f"killed {KILLS} times")
    world.api = Client(world.server)
    busy = world.settled(BOOT)
    tap.eq(busy, [], "then everything comes to rest")
    for one in busy:
        tap.note([(e["reason"], e["message"]) for e in world.events(one)])
    tap.eq(promises(world, users), [], "what was acknowledged is so")
    wait_for(lambda: not world.differences(), PATIENCE, 0.2)
    tap.eq(world.differences(), [], "rules 1, 2 and 8: the hosts have one "
           "machine for every instance, and no other")
    monitor = world.get("regions", world.region)["status"].get("monitor", {})
    tap.eq(monitor.get("orphans", []), [], "rule 9: nothing is left behind")
    end(world)
    tap.eq(touched(), [], "rule 9: what is not ours is not touched")
    tap.eq(world.server.stop(), 0, "the server ends well")
    tap.end()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""No lost machine and no second machine: kill -9 while machines are made.

Clients create, change, restart, rebuild and delete instances on a simulated
cloud, which is a process of its own, is slow, forgets answers, refuses now and
then and lists late.  The server is killed again and again and started on the
same data.  Afterwards the cloud's own list is held against the store's: one
machine for each instance, of the flavor and image that are wanted, and nothing
else; quota is the sum of what there is; nothing is left half done.

With "no-tokens" as its second argument the cloud has no launch tokens, with
"no-tags" it has neither those nor tags: machines are found by their names.
OPERATIONS and KILLS say how many, 200 and 15 unless told; SEED replays the
choices, though not the timing.
"""

import http.client
import os
import random
import re
import sqlite3
import sys
import threading
import time
import uuid

from machines import WORDS, World, is_busy, wanted
from muster import PATIENCE, Client, run, tap, wait_for

OPERATIONS = int(os.environ.get("OPERATIONS", "200"))
KILLS = int(os.environ.get("KILLS", "15"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
TOKENS = not {"no-tokens", "no-tags"} & set(sys.argv[2:])
TAGS = "no-tags" not in sys.argv[2:]
CLIENTS = 8
HELD_MOST = 12  # instances a client

# Slow, late, forgetful, busy, and sometimes just wrong.
CLOUD = {"seed": SEED % 1000, "launchMs": 80, "stopMs": 40, "startMs": 40,
         "terminateMs": 60, "jitterPercent": 100, "consistencyMs": 250,
         "pollMs": 50, "keepsAddresses": False, "launchTokens": TOKENS,
         "tags": TAGS, "callsPerSecond": 300, "burst": 20,
         "lostAnswerRate": 50, "failureRate": 30, "hangRate": 20,
         "hangMs": 600, "partialListRate": 100, "bootFailureRate": 10,
         "stopIgnoredRate": 100, "stopLimitMs": 400}

NETWORK_ERRORS = (OSError, http.client.HTTPException)


class Count:
    """How many operations were done, by all together."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begun = self.done = 0

    def take(self):
        with self.lock:
            if self.begun >= OPERATIONS:
                return False
            self.begun += 1
            return True

    def finish(self):
        with self.lock:
            self.done += 1


class Worker:
    """A client with instances of its own; it knows what it was told."""

    def __init__(self, n, world, count, most=HELD_MOST):
        self.n, self.world, self.count, self.most = n, world, count, most
        self.random = random.Random(SEED * 1000 + n)
        self.api = Client(world.server)
        self.made = {}     # id: name; acknowledged
        self.deleted = {}  # id: name; acknowledged
        self.serial = 0
        self.did = {}
        self.wrong = []

    def ask(self, method, path, body=None, **headers):
        """Until there is an answer: the server may be away."""
        until = time.monotonic() + 6 * PATIENCE
        while True:
            try:
                reply = self.api(method, path, body, headers)
            except NETWORK_ERRORS:
                self.api.close()
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)
                continue
            if reply.status not in (429, 503) or time.monotonic() > until:
                return reply
            time.sleep(0.02)

    def create(self):
        self.serial += 1
        name = f"w{self.n}-{self.serial}"
        body = self.world.body(
            name, self.random.choice(("small", "medium")),
            power=self.random.choice(("on", "on", "on", "off")))
        reply = self.ask("POST", "/v1/instances", body, **self.key())
        if reply.status == 201:
            self.made[reply.json["id"]] = name
        else:
            self.wrong.append(f"create {name}: {reply!r}")

    def cascade(self):
        """A network with instances in it, and away with all of it."""
        self.serial += 1
        name = f"n{self.n}-{self.serial}"
        reply = self.ask("POST", "/v1/networks", {
            "name": name, "projectId": self.world.project,
            "regionId": self.world.region, "spec": {
                "prefix": f"172.{16 + self.n}.{self.serial % 256}.0/24"}},
            **self.key())
        if reply.status != 201:
            self.wrong.append(f"network {name}: {reply!r}")
            return
        network = reply.json["id"]
        for i in range(3):
            reply = self.ask("POST", "/v1/instances", self.world.body(
                f"{name}-{i}", network=network), **self.key())
            if reply.status != 201:
                self.wrong.append(f"in network {name}: {reply!r}")
                return
            self.deleted[reply.json["id"]] = f"{name}-{i}"
        reply = self.ask("DELETE", f"/v1/networks/{network}")
        if reply.status not in (202, 204, 404):
            self.wrong.append(f"delete network {name}: {reply!r}")

    def attach(self):
        """Another volume; those that it had are let go."""
        self.serial += 1
        reply = self.ask("POST", "/v1/volumes", {
            "name": f"v{self.n}-{self.serial}",
            "projectId": self.world.project, "regionId": self.world.region,
            "spec": {"sizeGiB": 1}}, **self.key())
        if reply.status != 201:
            self.wrong.append(f"volume: {reply!r}")
            return
        self.change("PATCH", f"/v1/instances/{self.pick()}", {"spec": {
            "volumes": [{"volumeId": reply.json["id"],
                         "deleteWithInstance": self.random.random() < 0.7}]}})

    def key(self):
        return {"Idempotency-Key": str(uuid.UUID(
            int=self.random.getrandbits(128)))}

    def pick(self):
        return self.random.choice(list(self.made))

    def change(self, method, path, body, **headers):
        """A change that may come while another is under way."""
        reply = self.ask(method, path, body, **headers)
        fine = (200, 202, 409)
        if reply.status not in fine:
            self.wrong.append(f"{method} {path} {body}: {reply!r}")

    def describe(self):
        self.change("PATCH", f"/v1/instances/{self.pick()}", {
            "description": f"said by {self.n}"})

    def resize(self):
        self.change("PATCH", f"/v1/instances/{self.pick()}?allow=rebuild", {
            "spec": {"flavorId": self.world.flavors[self.random.choice(
                ("small", "medium", "large"))]}})

    def rebuild(self):
        self.change("PATCH", f"/v1/instances/{self.pick()}?allow=rebuild", {
            "spec": {"imageId": self.world.images[self.random.choice(
                ("debian-12", "ubuntu-24.04"))]}})

    def power(self):
        verb = self.random.choice(("start", "stop"))
        self.change("POST", f"/v1/instances/{self.pick()}/{verb}", None)

    def reboot(self):
        self.change("POST", f"/v1/instances/{self.pick()}/reboot", {
            "hard": self.random.random() < 0.5})

    def delete(self):
        id = self.pick()
        reply = self.ask("DELETE", f"/v1/instances/{id}")
        if reply.status not in (202, 204, 404):
            self.wrong.append(f"delete {self.made[id]}: {reply!r}")
        self.deleted[id] = self.made.pop(id)

    def step(self):
        if len(self.made) < 2:
            what = self.create
        elif len(self.made) >= self.most:
            what = self.delete
        else:
            what = self.random.choice((
                self.create, self.create, self.create, self.delete,
                self.delete, self.describe, self.resize, self.rebuild,
                self.power, self.power, self.reboot, self.cascade,
                self.attach, self.attach))
        self.did[what.__name__] = self.did.get(what.__name__, 0) + 1
        what()

    def run(self):
        try:
            while self.count.take():
                self.step()
                self.count.finish()
        except Exception as error:  # noqa: it is a finding
            self.wrong.append(f"worker {self.n}: {type(error).__name__}:"
                              f" {error}")
        self.api.close()


def kill_often(world, count, threads):
    """Spread over the operations, at moments that nobody chose."""
    dice = random.Random(SEED)
    for n in range(KILLS):
        due = OPERATIONS * n // KILLS
        while count.done < due and any(t.is_alive() for t in threads):
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.25))
        world.server.kill9()
        world.server.start()
    for thread in threads:
        thread.join()


def differences(world):
    """Between what is wanted, the store's servers and the cloud's own list."""
    wrong = []
    instances = {i["id"]: i for i in world.all("instances")}
    servers = {s["id"]: s for s in world.all("servers")}
    machines = world.cloud.machines()
    flavors = {f["id"]: f["providerId"] for f in world.all("flavors")}
    images = {i["id"]: i["status"]["providerId"]
              for i in world.all("images")}
    claimed = set()
    for one in instances.values():
        status = one["status"]
        server = servers.pop(status["serverId"], None)
        machine = machines.get(status.get("providerId"))
        if not server or server["instanceId"] != one["id"]:
            wrong.append(f"{one['name']} has no server: {status}")
        elif server["status"]["providerId"] != status.get("providerId"):
            wrong.append(f"{one['name']} and its server have two machines")
        if not machine:
            wrong.append(f"{one['name']} has no machine: {status}")
            continue
        claimed.add(machine["id"])
        state = WORDS.get(machine["state"], machine["state"])
        told = (state, machine["flavor"], machine["image"],
                machine.get("tags", {}).get("muster/server"))
        want = (wanted(one), flavors[one["spec"]["flavorId"]],
                images[one["spec"]["imageId"]],
                status["serverId"] if TAGS else None)
        if told != want:
            wrong.append(f"{one['name']} is {told}, wanted {want}")
    wrong += [f"a server of nobody: {s}" for s in servers.values()]
    wrong += [f"a machine of nobody: {m}" for id, m in machines.items()
              if id not in claimed]
    return wrong + thing_differences(world, instances)


def thing_differences(world, instances):
    wrong = []
    things = {t["id"]: t for t in world.cloud.truth()["things"]
              if t["kind"] in ("network", "volume")}
    for one in world.all("networks") + world.all("volumes"):
        thing = things.pop(one["status"].get("providerId"), None)
        holder = instances.get(one["status"].get("instanceId"))
        if not thing:
            wrong.append(f"{one['name']} is not at the cloud: {one}")
        elif thing.get("machine") != (
                holder and holder["status"]["providerId"]):
            wrong.append(f"{one['name']} is attached otherwise: {one} {thing}")
    return wrong + [f"of nobody: {t}" for t in things.values()]


def quota_differences(world):
    have, want = world.usage(), {}
    flavors = {f["id"]: f for f in world.all("flavors")}
    for one in world.all("instances"):
        flavor = flavors[one["spec"]["flavorId"]]
        for kind, amount in (("instances", 1), ("vcpus", flavor["vcpus"]),
                             ("memoryMiB", flavor["memoryMiB"])):
            want[kind] = want.get(kind, 0) + amount
    wrong = {kind: (have.get(kind), amount) for kind, amount in want.items()
             if have.get(kind) != amount}
    if wrong:
        charged = {a["objectId"]: a for a in world.all("allocations")}
        for one in world.all("instances"):
            vcpus = {a["kind"]: a["committed"] for a in
                     charged[one["id"]]["amounts"]}["vcpus"]
            if vcpus != flavors[one["spec"]["flavorId"]]["vcpus"]:
                wrong[one["name"]] = (vcpus, one["status"])
    return wrong


def story(world, wrong):
    """What the log on the disk tells of the machines that are nobody's."""
    with sqlite3.connect(f"file:{world.server.data}/muster.db?mode=ro",
                         uri=True) as db:
        rows = db.execute("SELECT revision, data FROM log").fetchall()
    for server in re.findall(r"'muster/server': '([0-9a-f-]+)'", str(wrong)):
        for revision, data in rows:
            for line in bytes(data).decode().split("\n"):
                if server in line:
                    tap.note(f"{revision} {line[:24]} {line[-700:]}")


def promises(world, workers):
    """What was acknowledged is so."""
    there = {i["id"] for i in world.all("instances")}
    wrong = [w for worker in workers for w in worker.wrong]
    for w in workers:
        wrong += [f"{name} was lost" for id, name in w.made.items()
                  if id not in there]
        wrong += [f"{name} was deleted, and is there" for id, name in
                  w.deleted.items() if id in there]
    return wrong


def main():
    tap.note(f"SEED={SEED} OPERATIONS={OPERATIONS} KILLS={KILLS}"
             f" tokens={TOKENS} tags={TAGS}")
    world = World(CLOUD)
    count = Count()
    workers = [Worker(n, world, count) for n in range(CLIENTS)]
    threads = [threading.Thread(target=w.run, daemon=True) for w in workers]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    kill_often(world, count, threads)
    worked = time.monotonic() - began
    busy = world.settled(120 + OPERATIONS / 10)
    leaving = wait_for(lambda: len(world.all("networks")) == 1 and not [
        v for v in world.all("volumes") if v["status"]["state"] != "ready"],
        60, 0.1)
    settled = time.monotonic() - began - worked
    tap.eq([f"{i['name']}: {i['status']}" for i in busy if is_busy(i)][:5], [],
           "nothing is stuck in a state that should pass")
    tap.ok(leaving, "networks and volumes that were deleted are gone", [
        n for n in world.all("networks") + world.all("volumes")
        if "deletedAt" in n or n["status"]["state"] != "ready"])
    tap.eq(promises(world, workers)[:5], [],
           "what was acknowledged is so, and nothing was refused oddly")
    wrong = differences(world)
    tap.eq(wrong[:5], [],
           "the cloud's own list is the store's, one machine each")
    story(world, wrong[:2])
    tap.eq(quota_differences(world), {}, "quota is the sum of what there is")
    status, said = run("fsck", "--data", world.server.data)
    tap.ok(status == 0 and " 0 differences" in said, "fsck finds nothing",
           said)
    tap.eq(count.done, OPERATIONS, "every operation was answered")
    did = {}
    for w in workers:
        for name, n in w.did.items():
            did[name] = did.get(name, 0) + n
    tap.note(f"{count.done} operations ({did}), {KILLS} kills in"
             f" {worked:.1f} s, settled after {settled:.1f} s;"
             f" {len(world.all('instances'))} instances,"
             f" {len(world.cloud.machines())} machines")
    tap.end()


if __name__ == "__main__":
    main()

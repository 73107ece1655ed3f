"""A server under the shim, a cloud beside it, and those who use both.

Clerks share plain objects and write down every request for the checker;
keepers have instances (tests/e2e/machines_crash.py); watchers follow
(tests/e2e/crash.py) and go on where they were when they are cut off; a reader
goes through the audit trail, which is read off the disk.
"""

import http.client
import json
import os
import random
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "e2e"))

from crash import KINDS, InDoubt, Line, Replay, Watcher, read_log  # noqa: E402
from history import DONE, REFUSED, UNKNOWN, Log, Op  # noqa: E402
import history  # noqa: E402
from machines import Cloud, World, is_busy  # noqa: E402
from machines_crash import Worker, differences  # noqa: E402
from machines_crash import promises, quota_differences  # noqa: E402
from muster import PATIENCE, Client, Server, folder, run, wait_for  # noqa: E402
from shim import Shim, library  # noqa: E402

SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))

CLERKS, KEEPERS, OBJECTS_MOST, MACHINES_MOST = 6, 2, 24, 4
WATCHED = KINDS + ("instance",)

# Quick, and late, forgetful and busy now and then.
CLOUD = {"seed": SEED % 1000, "launchMs": 40, "stopMs": 20, "startMs": 20,
         "terminateMs": 30, "jitterPercent": 100, "consistencyMs": 200,
         "pollMs": 50, "callsPerSecond": 300, "burst": 20,
         "lostAnswerRate": 30, "failureRate": 20, "partialListRate": 50}

# Nothing is forgotten: the log is what all is held against.
CONFIG = {"history": {"maxRevisions": 1000000000, "maxAgeSeconds": 31536000}}


class Value:
    """A number that threads share."""

    def __init__(self, value=0):
        self.value = value


class Pool:
    """The objects that clerks work on together: id -> [kind, revision]."""

    def __init__(self):
        self.lock = threading.Lock()
        self.objects = {}

    def pick(self, dice):
        with self.lock:
            if not self.objects:
                return None
            id = dice.choice(list(self.objects))
            return (id, *self.objects[id])

    def saw(self, id, kind, revision):
        with self.lock:
            if revision >= self.objects.get(id, (kind, 0))[1]:
                self.objects[id] = (kind, revision)

    def drop(self, id):
        with self.lock:
            self.objects.pop(id, None)


class Clerk:
    """Creates, changes, reads and deletes, and writes down what it was told.
    What the server refuses must be clear."""

    def __init__(self, n, rig):
        self.n, self.rig = n, rig
        self.line = Line(rig.port, rig.token)
        self.random = random.Random(f"clerk {n} of {rig.seed}")
        self.ops, self.wrong = [], []
        self.count = self.refusals = 0

    def value(self):
        self.count += 1
        return f"c{self.n}-{self.count}"

    def run(self):
        try:
            while not self.rig.stop.is_set():
                self.step()
        except Exception as error:  # noqa: it is a finding
            self.wrong.append(f"clerk {self.n}: {type(error).__name__}:"
                              f" {error}")
        self.line.close()

    def step(self):
        found = self.rig.pool.pick(self.random)
        size = len(self.rig.pool.objects)
        if not found or size < 4 or \
                self.random.random() < (0.15 if size < OBJECTS_MOST else 0.02):
            self.create()
            return
        chance = self.random.random()
        if chance < 0.5:
            self.write(*found)
        elif chance < 0.85:
            self.read(*found)
        else:
            self.delete(*found)

    def ask(self, op, *args, **headers):
        """The answer's body when it was done, else None; OP says the rest."""
        if op.began is None:
            self.ops.append(op)
        self.line.connect()
        op.began = time.monotonic() if op.began is None else op.began
        try:
            status, _, body = self.line.ask(*args, **headers)
        except InDoubt:
            op.outcome = UNKNOWN
            return None
        op.ended = time.monotonic()
        op.said = str(status)
        if status < 300:
            op.outcome = DONE
            return body or {}
        op.outcome = REFUSED
        op.absent, op.mismatch = status == 404, status == 412
        if status not in (404, 412):
            self.refused(op, status, body)
        return None

    def refused(self, op, status, body):
        """Only for a reason that is said, and that is not the caller's."""
        self.refusals += 1
        code = (body or {}).get("code")
        if (status, code) != (503, "unavailable") or not body.get("detail"):
            self.wrong.append(f"{history.told(op)}: refused oddly:"
                              f" {status} {body}")
        time.sleep(0.005)

    def create(self):
        kind, name = self.random.choice(KINDS), self.value()
        body = {"name": name}
        if kind == "project":
            body["organizationId"] = self.rig.organization
        key = str(uuid.UUID(int=self.random.getrandbits(128)))
        op = Op("create", None, None, value=name)
        doubted = False
        while True:
            answer = self.ask(op, "POST", f"/v1/{kind}s", body,
                              Idempotency_Key=key)
            if op.outcome != UNKNOWN or self.rig.stop.is_set() or \
                    self.random.random() < 0.3:
                break
            doubted = True
        if answer is not None:
            op.object, op.revision = answer["id"], answer["revision"]
            self.rig.pool.saw(op.object, kind, op.revision)
        elif doubted:
            op.outcome, op.ended = UNKNOWN, history.FOREVER

    def write(self, id, kind, revision):
        op = Op("write", id, None, value=self.value())
        headers = {}
        if self.random.random() < 0.6:
            op.match = revision
            headers["If_Match"] = f'"{revision}"'
        answer = self.ask(op, "PATCH", f"/v1/{kind}s/{id}",
                          {"description": op.value}, **headers)
        if answer is not None:
            op.revision = answer["revision"]
            if answer.get("description") != op.value:
                self.wrong.append(f"{history.told(op)}: answered {answer}")
            self.rig.pool.saw(id, kind, op.revision)
        elif op.absent:
            self.rig.pool.drop(id)
        elif op.mismatch:
            self.read(id, kind, revision)

    def read(self, id, kind, revision):
        op = Op("read", id, None)
        answer = self.ask(op, "GET", f"/v1/{kind}s/{id}")
        if answer is not None:
            op.revision = answer["revision"]
            op.value = answer.get("description") or answer["name"]
            self.rig.pool.saw(id, kind, op.revision)
        elif op.absent:
            self.rig.pool.drop(id)

    def delete(self, id, kind, revision):
        op = Op("delete", id, None)
        headers = {}
        if self.random.random() < 0.5:
            op.match = revision
            headers["If_Match"] = f'"{revision}"'
        self.ask(op, "DELETE", f"/v1/{kind}s/{id}", **headers)
        if op.outcome == DONE or op.absent:
            self.rig.pool.drop(id)


class Reader:
    """The audit trail, newest first: each number once, none left out."""

    def __init__(self, rig):
        self.rig, self.line = rig, Line(rig.port, rig.token)
        self.wrong, self.refusals, self.answers = [], 0, 0

    def run(self):
        while not self.rig.stop.is_set():
            self.rig.stop.wait(0.02)
            try:
                self.line.connect()
                status, _, body = self.line.ask("GET", "/v1/audit?limit=100")
            except (InDoubt, OSError):
                continue
            if status == 200:
                self.answers += 1
                have = [item["seq"] for item in body["items"]]
                if have and have != list(range(have[0], have[0] - len(have),
                                               -1)):
                    self.wrong.append(f"the audit trail has gaps: {have}")
            elif (status, body["code"]) == (503, "unavailable"):
                self.refusals += 1
            else:
                self.wrong.append(f"audit: {status} {body}")
        self.line.close()


class Until:
    """What a keeper counts with: it goes on until it is told to stop."""

    def __init__(self, stop):
        self.stop = stop
        self.done = 0

    def take(self):
        return not self.stop.wait(0.01)

    def finish(self):
        self.done += 1


class Rig:
    """One server with its cloud and its users, from a start to a check."""

    def __init__(self, seed, clerks=CLERKS, keepers=KEEPERS, cloud=None):
        self.seed = seed
        self.random = random.Random(seed)
        server = Server(CONFIG)
        self.shim = Shim(library(), server.data,
                         os.path.join(folder(), "control"))
        server.env = self.shim.env()
        beside = Cloud(**dict(CLOUD, **(cloud or {})))
        self.cloud_shim = Shim(library(), os.path.dirname(beside.data),
                               os.path.join(folder(), "control"))
        beside.env = self.cloud_shim.env()
        self.world = World(beside, server=server)
        self.server = server
        self.token, self.organization = server.token, self.world.organization
        self.port, self.final = Value(server.port), Value()
        self.stop, self.pool = threading.Event(), Pool()
        self.clerks = [Clerk(n, self) for n in range(clerks)]
        count = Until(self.stop)
        self.keepers = [Worker(n, self.world, count, MACHINES_MOST)
                        for n in range(keepers)]
        self.watchers = [Watcher(kind) for kind in WATCHED for _ in range(2)]
        self.reader = Reader(self)
        self.threads = [threading.Thread(target=who.run, daemon=True) for who
                        in (*self.clerks, *self.keepers, self.reader)]
        self.followers = [threading.Thread(
            target=w.run, args=(self.port, self.token, self.final),
            daemon=True) for w in self.watchers]
        for thread in self.threads + self.followers:
            thread.start()

    # What happens to the server.

    def up(self):
        """Start it, and have everybody find it."""
        self.server.start()
        self.port.value = self.server.port

    def kill(self):
        self.server.kill9()

    def ended(self):
        """Its exit status, None while it runs."""
        return self.server.process.poll()

    def last_words(self):
        return self.server.log()[self.server.log_from:].strip()[-600:]

    def writes_again(self):
        """Whether a write is taken, in time, after whatever it was; not when
        the process ended."""
        api = Client(self.server)

        def write():
            try:
                return self.ended() is not None or api.post(
                    "/v1/organizations", {"name": f"again-{uuid.uuid4()}"}
                    ).status == 201
            except (OSError, http.client.HTTPException):
                api.close()
                return False
        return wait_for(write) and self.ended() is None

    # What comes of it.

    def finish(self):
        """Let everybody come to an end; what is wrong, by sort."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        wrong = {"clear": [], "wrong": [], "gaps": [], "machines": []}
        for who in (*self.clerks, self.reader):
            wrong["clear"] += who.wrong
        wrong["machines"] += self.check_machines()
        self.end_watches()
        wrong["gaps"] += [text for w in self.watchers for text in w.wrong]
        self.server.stop()
        rows, _ = read_log(self.server)
        wrong["wrong"] += self.check_answers(rows)
        wrong["gaps"] += self.check_watches(rows)
        self.world.cloud.stop()
        return wrong

    def end_watches(self):
        """The last event of each kind, which every watcher gets to see."""
        api = Client(self.server)
        last = [api.post("/v1/organizations", {"name": "zz-last"}),
                api.post("/v1/projects", {"name": "zz-last", "organizationId":
                                          self.organization}),
                self.world.ask("zz-last", power="off")]
        self.final.value = min(r.json["revision"] for r in last)
        for thread in self.followers:
            thread.join()

    def check_machines(self):
        """Everything comes to rest, and is what the cloud has."""
        busy = self.world.settled(3 * PATIENCE)
        wrong = [f"stuck: {i['name']} {i['status']}" for i in busy
                 if is_busy(i)]
        wait_for(lambda: len(self.world.all("networks")) == 1 and not [
            v for v in self.world.all("volumes")
            if v["status"]["state"] != "ready"], PATIENCE, 0.05)
        wrong += promises(self.world, self.keepers)
        wrong += differences(self.world)
        wrong += [f"quota of {k}: {v}" for k, v in
                  quota_differences(self.world).items()]
        status, said = run("fsck", "--data", self.server.data)
        if status != 0 or " 0 differences" not in said:
            wrong.append(f"fsck: {said}")
        return wrong

    def check_answers(self, rows):
        log = Log(list(plain_rows(rows)))
        ops = [op for clerk in self.clerks for op in clerk.ops]
        return history.check_revisions(sorted(rows)) + history.check(ops, log)

    def check_watches(self, rows):
        """Each event once, in order, byte for byte, up to where the watcher
        left."""
        replay, wrong = Replay(rows, WATCHED), []
        for kind in WATCHED:
            want = list(zip(*replay.stream(kind, False)))
            for w in self.watchers:
                if w.kind != kind:
                    continue
                have = list(zip(w.revisions, w.hashes))
                if w.last < self.final.value:
                    wrong.append(f"a watcher of {kind}s stopped at {w.last}")
                missed, again, others = history.check_watch(
                    have, [e for e in want if e[0] <= w.last])
                if missed or again or others:
                    wrong.append(f"a watcher of {kind}s: {missed} missed,"
                                 f" {again} twice, {others} of another log")
        return wrong

    def acknowledged(self):
        return sum(op.outcome == DONE and op.kind != "read"
                   for clerk in self.clerks for op in clerk.ops)

    def refusals(self):
        return sum(who.refusals for who in (*self.clerks, self.reader))


def plain_rows(rows):
    """(revision, id, value) of the clerks' kinds: the name when it is made,
    the description when it is changed."""
    for revision, writes in sorted(rows.items()):
        for _, kind, id, text in writes:
            if kind in KINDS:
                document = json.loads(text) if text else {}
                yield revision, id, document and (
                    document.get("description") or document["name"]) or None

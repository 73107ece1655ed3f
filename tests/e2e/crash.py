#!/usr/bin/python3
"""Acknowledged is durable: kill -9 at random moments, again and again.

Fifty writers create, change and delete while the server is killed and started
again on the same data.  Each remembers what was acknowledged, and finds out
about what was not: by the same request again, or by reading.  Some never ask.
Watchers follow, cut off at random, and go on from the last event they had.

Afterwards the log on the disk is held against all of them: every revision is
there; every acknowledged write is in it once; a write that was in doubt is in
it once or not at all, as its writer found; every watcher had every event that
concerns it, once, in order, byte for byte.

CRASHES says how often the server is killed; 15 unless told.  SEED replays the
choices, though not the timing.
"""

import array
import bisect
import json
import multiprocessing
import os
import random
import socket
import sqlite3
import threading
import time
import uuid

from muster import PATIENCE, Client, Server, read_head, request_bytes, tap


CRASHES = int(os.environ.get("CRASHES", "15"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
PROCESSES, THREADS = 2, 25
OBJECTS_MOST = 12
KINDS = ("organization", "project")


class InDoubt(Exception):
    """The request went out, and no whole answer came back."""


class Line:
    """One kept connection to wherever the server is now."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.sock = None
        self.data = b""

    def close(self):
        if self.sock:
            self.sock.close()
        self.sock = None

    def connect(self):
        """Wait for a server; it is not told anything yet."""
        until = time.monotonic() + 3 * PATIENCE
        while not self.sock:
            try:
                self.sock = socket.create_connection(
                    ("127.0.0.1", self.port.value), PATIENCE)
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.data = b""
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def ask(self, method, target, body=None, **headers):
        """Status, whether it is a replay, and the JSON of the answer."""
        self.connect()
        head = {k.replace("_", "-"): v for k, v in headers.items()}
        raw = b""
        if body is not None:
            raw = json.dumps(body).encode()
            head["Content-Type"] = "application/json"
        try:
            self.sock.sendall(request_bytes(method, target, self.token, head,
                                            raw))
            return self.answer()
        except OSError as error:
            self.close()
            raise InDoubt from error

    def answer(self):
        while b"\r\n\r\n" not in self.data:
            self.more()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        status = int(head[9:12])
        low = head.lower()
        at = low.find(b"content-length: ")
        length = 0 if at < 0 or status == 204 else \
            int(low[at + 16:].split(b"\r\n", 1)[0])
        while len(self.data) < length:
            self.more()
        body, self.data = self.data[:length], self.data[length:]
        replayed = b"\r\nidempotency-replayed: true" in low
        if b"\r\nconnection: close" in low:
            self.close()
        return status, replayed, json.loads(body) if body else None

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise ConnectionError("ended")
        self.data += got


class Writer:
    def __init__(self, n, port, token, organization):
        self.line = Line(port, token)
        self.n, self.organization = n, organization
        self.random = random.Random(SEED * 1000 + n)
        self.count = 0
        self.objects = {}    # id: (kind, name, description, revision)
        self.acked = []      # (revision, kind, id, member, value)
        self.deleted = []    # (kind, id): acknowledged
        self.absent = []     # (member, value): asked, and it was not there
        self.abandoned = []  # (member, value): never asked
        self.wrong = []
        self.doubts = self.replays = self.requests = 0

    def failed(self, text):
        self.wrong.append(f"writer {self.n}: {text}")

    def marker(self):
        self.count += 1
        return f"w{self.n}-{self.count}"

    def tags(self):
        return {"color": self.random.choice(("red", "blue"))}

    def ask(self, *args, **headers):
        """As the line does; a refusal for a moment is asked again."""
        while True:
            self.requests += 1
            status, replayed, answer = self.line.ask(*args, **headers)
            if status != 503:
                return status, replayed, answer
            time.sleep(0.01)

    def step(self):
        try:
            if len(self.objects) < 2:
                self.create()
            elif len(self.objects) > OBJECTS_MOST:
                self.delete()
            else:
                self.random.choice((self.create, self.patch, self.patch,
                                    self.delete))()
        except InDoubt:
            pass  # a read that only wanted to know; the object is let go

    def create(self):
        kind = self.random.choice(KINDS)
        shared = self.random.random() < 0.05
        name = f"shared-{int(time.monotonic() * 8)}" if shared else \
            self.marker()
        body = {"name": name, "tags": self.tags()}
        if kind == "project":
            body["organizationId"] = self.organization
        key = str(uuid.UUID(int=self.random.getrandbits(128)))
        doubted = False
        while True:
            try:
                status, replayed, answer = self.ask(
                    "POST", f"/v1/{kind}s", body, Idempotency_Key=key)
                break
            except InDoubt:
                self.doubts += 1
                doubted = True
                if self.random.random() < 0.2:
                    self.abandoned.append(("name", name))
                    return
        if replayed:
            self.replays += 1
            if not doubted:
                self.failed(f"{name}: replayed, and never sent before")
        if status == 201:
            self.took(kind, answer, "name", name)
        elif not (status == 409 and shared):
            self.failed(f"create {name} (again: {doubted}): {status} {answer}")

    def took(self, kind, answer, member, value):
        if answer[member] != value:
            self.failed(f"{value}: answered with {answer}")
        self.acked.append((answer["revision"], kind, answer["id"], member,
                           value))
        self.objects[answer["id"]] = (kind, answer["name"],
                                      answer.get("description"),
                                      answer["revision"])

    def pick(self):
        id = self.random.choice(list(self.objects))
        return id, *self.objects.pop(id)

    def read(self, kind, id):
        """What is there now; asks until somebody answers."""
        while True:
            try:
                status, _, answer = self.ask("GET", f"/v1/{kind}s/{id}")
                return answer if status == 200 else None
            except InDoubt:
                pass

    def patch(self):
        id, kind, name, was, revision = self.pick()
        text = self.marker()
        body = {"description": text}
        if self.random.random() < 0.3:
            body["tags"] = self.tags()
        doubted = False
        while True:
            try:
                status, _, answer = self.ask(
                    "PATCH", f"/v1/{kind}s/{id}", body,
                    If_Match=f'"{revision}"')
                break
            except InDoubt:
                self.doubts += 1
                doubted = True
                chance = self.random.random()
                if chance < 0.2:
                    self.abandoned.append(("description", text))
                    return
                if chance < 0.6:
                    self.find_out(kind, id, was, text, revision)
                    return
        if status == 200:
            self.took(kind, answer, "description", text)
        elif status == 412 and doubted:
            answer = self.read(kind, id)
            if not answer or answer.get("description") != text:
                self.failed(f"{name}: neither {was} nor {text}: {answer}")
            else:
                self.took(kind, answer, "description", text)
        else:
            self.failed(f"patch {name} (again: {doubted}): {status} {answer}")

    def find_out(self, kind, id, was, text, revision):
        answer = self.read(kind, id)
        if answer and answer.get("description") == text:
            self.took(kind, answer, "description", text)
        elif answer and answer.get("description") == was and \
                answer["revision"] == revision:
            self.absent.append(("description", text))
            self.objects[id] = (kind, answer["name"], was, revision)
        else:
            self.failed(f"{id}: neither {was}@{revision} nor {text}: {answer}")

    def delete(self):
        id, kind, name, was, revision = self.pick()
        try:
            status, _, answer = self.ask("DELETE", f"/v1/{kind}s/{id}")
            if status != 204:
                self.failed(f"delete {name}: {status} {answer}")
            self.deleted.append((kind, id))
            return
        except InDoubt:
            self.doubts += 1
        if self.random.random() < 0.2:
            return
        answer = self.read(kind, id)
        if answer is None:
            self.deleted.append((kind, id))
        elif (answer.get("description"), answer["revision"]) == (was, revision):
            self.objects[id] = (kind, name, was, revision)
        else:
            self.failed(f"{name}: half deleted: {answer}")


def write_until(stop, writer):
    try:
        while not stop.is_set():
            writer.step()
    except Exception as error:  # noqa: it is a finding
        writer.failed(f"{type(error).__name__}: {error}")


def writers_main(first, port, token, organization, stop, pipe):
    writers = [Writer(first + i, port, token, organization)
               for i in range(THREADS)]
    threads = [threading.Thread(target=write_until, args=(stop, w), daemon=True)
               for w in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for w in writers:
        del w.line, w.random
    pipe.send(writers)
    pipe.close()


class Watcher:
    """Follows TARGET and keeps what it saw as numbers: revisions, and hashes
    of whole events (a fork has its parent's hash)."""

    def __init__(self, kind, query="", fresh=False):
        self.kind, self.query, self.fresh = kind, query, fresh
        self.last = None if fresh else 1
        self.revisions, self.hashes = array.array("Q"), array.array("q")
        self.snapshots = []  # (revision, hashes, where the events begin)
        self.part = []       # of a revision whose last event has not come
        self.connections = 0
        self.wrong = []

    def take(self, block, snapshot):
        """One event; SNAPSHOT collects until it is ready."""
        if block.startswith(b":"):
            return snapshot
        if not block.startswith(b"id: "):
            (self.part if snapshot is None else snapshot).append(hash(block))
            return snapshot
        self.last = int(block[4:block.index(b"\n")])
        if b"\nevent: ready\n" in block:
            self.snapshots.append((self.last, sorted(snapshot),
                                   len(self.revisions)))
            return None
        for event in self.part + [hash(block)]:
            self.revisions.append(self.last)
            self.hashes.append(event)
        self.part = []
        return snapshot

    def is_done(self, final):
        """A snapshot may be newer than the last event of this kind."""
        return final.value and (self.last or 0) >= final.value

    def follow(self, sock, rest, until, final):
        text, raw = b"", rest
        snapshot = [] if self.last is None else None
        while time.monotonic() < until and not self.is_done(final):
            while True:
                line, found, behind = raw.partition(b"\r\n")
                size = int(line, 16) if found else 0
                if not found or len(behind) < size + 2:
                    break
                if size == 0:
                    return
                text += behind[:size]
                raw = behind[size + 2:]
            *blocks, text = text.split(b"\n\n")
            for block in blocks:
                snapshot = self.take(block, snapshot)
            if self.is_done(final):
                return
            try:
                got = sock.recv(1 << 17)
            except socket.timeout:
                continue
            if not got:
                return
            raw += got

    def connect(self, port, token):
        headers = {"Accept": "text/event-stream"}
        self.part = []
        if self.fresh:
            self.last = None
        if self.last is not None:
            headers["Last-Event-ID"] = self.last
        sock = socket.create_connection(("127.0.0.1", port.value), PATIENCE)
        try:
            sock.sendall(request_bytes(
                "GET", f"/v1/{self.kind}s{self.query}", token, headers))
            status, _, rest = read_head(sock)
        except OSError:
            sock.close()
            raise
        self.connections += 1
        if status == 200:
            sock.settimeout(0.05)
            return sock, rest
        if status != 503:
            self.wrong.append(f"{self.kind}{self.query} from {self.last}:"
                              f" {status} {rest!r}")
        sock.close()
        raise ConnectionError(status)

    def run(self, port, token, final):
        dice = random.Random()
        begin = time.monotonic()
        late = 0
        while not self.is_done(final) and not self.wrong:
            late = late or final.value and time.monotonic()
            if late and time.monotonic() > late + 3 * PATIENCE:
                self.wrong.append(f"{self.kind}{self.query} never came to"
                                  f" {final.value}, only to {self.last}")
            if self.fresh and time.monotonic() - begin < 1 and not late:
                time.sleep(0.01)
                continue
            try:
                sock, rest = self.connect(port, token)
            except OSError:
                time.sleep(0.005)
                continue
            try:
                stay = PATIENCE if late else dice.uniform(0, 0.6)
                self.follow(sock, rest, time.monotonic() + stay, final)
            except OSError:
                pass
            finally:
                sock.close()
            if not late:
                time.sleep(dice.uniform(0, 0.05))


def watch_main(watchers, port, token, finals, pipe):
    threads = []
    for w in watchers:
        threads.append(threading.Thread(
            target=w.run, args=(port, token, finals[w.kind]), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()
    pipe.send(watchers)
    pipe.close()


def crash(server, port, dice):
    """Kill and start CRASHES times; how long each start took."""
    took = []
    for _ in range(CRASHES):
        time.sleep(dice.uniform(0.15, 0.75))
        server.kill9()
        if dice.random() < 0.15:  # while it starts, too
            server.launch()
            time.sleep(dice.uniform(0, 0.06))
            server.kill9()
        began = time.monotonic()
        server.start()
        took.append(time.monotonic() - began)
        port.value = server.port
    time.sleep(0.3)
    return took


def read_log(server):
    """revision: [(type, kind, id, json)] and the idempotency keys."""
    rows, keys = {}, []
    db = sqlite3.connect(f"file:{server.data}/muster.db?mode=ro", uri=True)
    tap.eq(db.execute("PRAGMA integrity_check").fetchone()[0], "ok",
           "the database is sound")
    for revision, data in db.execute(
            "SELECT revision, data FROM log ORDER BY revision"):
        rows[revision] = writes = []
        for line in bytes(data).split(b"\n")[:-1]:
            if line[:1] == b"=":
                keys.append(line.split(b" ")[0])
                continue
            words = line[1:].split(b" ", 2)
            writes.append((line[:1].decode(),
                           words[0].split(b"@")[0].decode(), words[1].decode(),
                           words[2] if len(words) > 2 else None))
    db.close()
    return rows, keys


class Version:
    """What the checks want to know of an object at a revision."""
    __slots__ = ("text", "is_red", "state")

    def __init__(self, text):
        object = json.loads(text)
        self.text = text
        self.is_red = object.get("tags", {}).get("color") == "red"
        self.state = (object["name"], object.get("description"),
                      object["revision"])


class Replay:
    """The log, read as a server would: what there was at each revision."""

    def __init__(self, rows, kinds=KINDS):
        self.events = {kind: [] for kind in kinds}  # (revision, before, now)
        self.now = {}
        self.markers = {}
        for revision, writes in sorted(rows.items()):
            for _, kind, id, text in writes:
                if kind in kinds:
                    self.write(revision, kind, id, text)

    def write(self, revision, kind, id, text):
        before = self.now.pop((kind, id), None)
        now = Version(text) if text else None
        if now:
            self.now[kind, id] = now
            mark = ("description", now.state[1]) if before else \
                ("name", now.state[0])
            self.markers.setdefault(mark, []).append((revision, kind, id))
        self.events[kind].append((revision, id, before, now))

    def stream(self, kind, only_red):
        """What a watch has to say: revisions, and hashes of events.  The last
        event of a revision has its number as an id."""
        revisions, hashes = array.array("Q"), array.array("q")
        events = []
        for revision, id, before, now in self.events[kind]:
            if now and (now.is_red or not only_red):
                events.append((revision, b"event: put\ndata: " + now.text))
            elif before and (before.is_red or not only_red):
                events.append((revision, b'event: delete\ndata: {"id":"%s",'
                               b'"revision":%d}' % (id.encode(), revision)))
        for n, (revision, block) in enumerate(events):
            if n + 1 == len(events) or events[n + 1][0] != revision:
                block = b"id: %d\n%s" % (revision, block)
            revisions.append(revision)
            hashes.append(hash(block))
        return revisions, hashes

    def snapshots(self, kind, revisions):
        """revision: what a watch that begins there says first."""
        there, found = {}, {}
        wanted = sorted(set(revisions), reverse=True)
        for revision, id, _, now in [*self.events[kind], (1 << 63, "", 0, 0)]:
            while wanted and wanted[-1] < revision:
                found[wanted.pop()] = sorted(
                    hash(b"event: put\ndata: " + now.text)
                    for now in there.values() if now)
            there[id] = now
        return found


def check_writers(writers, replay, keys):
    wrong = [text for w in writers for text in w.wrong]
    tap.ok(not wrong, "no writer was answered what cannot be", *wrong[:20])

    lost = []
    seen = set()
    for w in writers:
        for revision, kind, id, member, value in w.acked:
            where = replay.markers.get((member, value), [])
            if where != [(revision, kind, id)] and \
                    not value.startswith("shared-"):
                lost.append(f"{value} at {revision}: the log has {where}")
            elif (revision, kind, id) not in where:
                lost.append(f"{value} at {revision}: the log has {where}")
            if revision in seen:
                lost.append(f"{value}: {revision} was told twice")
            seen.add(revision)
    tap.ok(not lost, "every acknowledged create and change is in the log, once"
           " and at its revision", *lost[:20])

    gone = {}
    for events in replay.events.values():
        for revision, id, _, now in events:
            if not now:
                gone.setdefault(id, []).append(revision)
    lost = [f"{id}: {gone.get(id)}" for w in writers for _, id in w.deleted
            if len(gone.get(id, [])) != 1]
    tap.ok(not lost, "every acknowledged delete is in the log, once",
           *lost[:20])

    doubled = [f"{mark}: {replay.markers[mark]}" for w in writers
               for mark in w.abandoned if len(replay.markers.get(mark, [])) > 1
               and not mark[1].startswith("shared-")]
    tap.ok(not doubled, "what nobody asked about is there once or not at all",
           *doubled[:20])
    back = [f"{mark}: {replay.markers[mark]}" for w in writers
            for mark in w.absent if mark in replay.markers]
    tap.ok(not back, "what was not there did not come back", *back[:20])
    tap.eq(len(keys), len(set(keys)), "no idempotency key is in the log twice")

    other = []
    for w in writers:
        for id, (kind, name, text, revision) in w.objects.items():
            have = replay.now.get((kind, id))
            if not have or have.state != (name, text, revision):
                other.append(f"{id}: {have and have.state} and not"
                             f" {name} {text} {revision}")
    tap.ok(not other, "every object is as its writer left it", *other[:20])


def check_events(w, revisions, hashes):
    if (revisions, hashes) == (w.revisions, w.hashes):
        return "whole"
    want, have = list(zip(revisions, hashes)), list(zip(w.revisions, w.hashes))
    at = next((k for k, (a, b) in enumerate(zip(want, have)) if a != b),
              min(len(want), len(have)))
    return (f"{len(have)} of {len(want)}; they part at {at}:"
            f" {want[at:at + 3]} {have[at:at + 3]}")


def check_snapshots(w, replay, revisions, hashes):
    """Each time it connected: what there was, then what happened."""
    wanted = replay.snapshots(w.kind, [at for at, _, _ in w.snapshots])
    ends = [begin for _, _, begin in w.snapshots[1:]] + [len(w.revisions)]
    for (at, have, begin), end in zip(w.snapshots, ends):
        first = bisect.bisect_right(revisions, at)
        last = first + end - begin
        if have != wanted[at]:
            return f"the snapshot at {at} is another"
        if (revisions[first:last], hashes[first:last]) != \
                (w.revisions[begin:end], w.hashes[begin:end]):
            return f"what followed the snapshot at {at} is another"
    return "whole"


def check_watchers(watchers, replay):
    wrong = [text for w in watchers for text in w.wrong]
    tap.ok(not wrong, "no watch was refused or out of form", *wrong[:20])
    streams = {}
    for i, w in enumerate(watchers):
        key = w.kind, "color=red" in w.query
        if key not in streams:
            streams[key] = replay.stream(*key)
        found = check_snapshots(w, replay, *streams[key]) if w.fresh else \
            check_events(w, *streams[key])
        tap.eq(found, "whole", f"watcher {i} ({w.kind}{w.query}"
               f"{', from snapshots' if w.fresh else ''}) saw every event"
               " once, in order")


def check_state(client, replay):
    for kind in KINDS:
        have, after = [], ""
        while True:
            page = client.get(f"/v1/{kind}s?limit=500{after}").json
            have += page["items"]
            if "next" not in page:
                break
            after = f"&after={page['next']}"
        want = {id: json.loads(now.text)
                for (k, id), now in replay.now.items() if k == kind}
        tap.ok({o["id"]: o for o in have} == want and len(have) == len(want),
               f"the server lists the {kind}s that the log adds up to")
        names = [o["name"] for o in have]
        tap.eq(len(names), len(set(names)), f"names of {kind}s are unique")


def first_starts():
    """Killed while it makes its first token: the next start makes it good."""
    bad = []
    for i in range(6):
        server = Server().launch()
        time.sleep(random.uniform(0, 0.04))
        server.kill9()
        server.start()
        if Client(server).get("/v1/whoami").status != 200:
            bad.append(server.log())
        server.kill9()
    tap.ok(not bad, "a first start that is killed leaves nothing behind", *bad)


def main():
    tap.note(f"SEED={SEED} CRASHES={CRASHES}")
    dice = random.Random(SEED)
    tap.section(first_starts)

    context = multiprocessing.get_context("fork")
    server = Server({"history": {"maxRevisions": 1000000000,
                                 "maxAgeSeconds": 31536000}}).start()
    token = server.token
    client = Client(server)
    home = client.post("/v1/organizations", {"name": "home"}).json
    port = context.Value("i", server.port, lock=False)
    finals = {kind: context.Value("q", 0, lock=False) for kind in KINDS}
    stop = context.Event()
    watchers = [Watcher(kind) for kind in KINDS for _ in range(3)]
    watchers += [Watcher("project", "?tag=color=red"),
                 Watcher("organization", "?tag=color=red"),
                 Watcher("project", f"?organizationId={home['id']}"
                         "&tag=color=red"),
                 Watcher("project", fresh=True),
                 Watcher("organization", fresh=True)]
    pipes = []

    def spawn(function, *args):
        pipe, theirs = context.Pipe(False)
        process = context.Process(target=function, args=(*args, theirs),
                                  daemon=True)
        process.start()
        theirs.close()
        pipes.append(pipe)

    spawn(watch_main, watchers, port, token, finals)
    for i in range(PROCESSES):
        spawn(writers_main, i * THREADS, port, token, home["id"], stop)

    began = time.monotonic()
    took = crash(server, port, dice)
    stop.set()
    lasted = time.monotonic() - began
    writers = [w for pipe in pipes[1:] for w in pipe.recv()]

    # The last event of each kind, which every watcher gets to see.
    client = Client(server)
    last = {"name": "zz-last", "tags": {"color": "red"}}
    finals["organization"].value = client.post(
        "/v1/organizations", last).json["revision"]
    finals["project"].value = client.post(
        "/v1/projects", dict(last, organizationId=home["id"])).json["revision"]
    watchers = pipes[0].recv() if pipes[0].poll(5 * PATIENCE) else []
    tap.ok(watchers, "every watcher came to the end")

    server.kill9()
    server.start()
    client = Client(server)
    rows, keys = read_log(server)
    replay = Replay(rows)
    newest = max(rows)
    tap.eq(newest, finals["project"].value,
           "the last acknowledged revision is the newest")
    missing = [r for r in range(1, newest + 1) if r not in rows]
    tap.ok(not missing, "no revision is missing", missing[:20])
    check_state(client, replay)
    check_writers(writers, replay, keys)
    check_watchers(watchers, replay)
    tap.eq(server.stop(), 0, "it stops cleanly in the end")

    acked = sum(len(w.acked) + len(w.deleted) for w in writers)
    doubts = sum(w.doubts for w in writers)
    tap.ok(acked > 50 * CRASHES and doubts > CRASHES,
           "there was something to lose", f"{acked} {doubts}")
    tap.note(f"{CRASHES} kills in {lasted:.1f} s, starts took"
             f" {sum(took) / len(took):.3f} s, {max(took):.3f} s at most")
    tap.note(f"{acked} acknowledged ({acked / lasted:.0f}/s), {doubts} in doubt"
             f" ({sum(w.replays for w in writers)} replayed,"
             f" {sum(len(w.absent) for w in writers)} found absent,"
             f" {sum(len(w.abandoned) for w in writers)} abandoned)")
    tap.note(f"{sum(len(w.revisions) for w in watchers)} events to"
             f" {len(watchers)} watchers over"
             f" {sum(w.connections for w in watchers)} connections,"
             f" {sum(len(w.snapshots) for w in watchers)} snapshots;"
             f" {newest} revisions")


if __name__ == "__main__":
    tap.section(main)
    tap.end()

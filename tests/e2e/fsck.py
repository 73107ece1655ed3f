#!/usr/bin/python3
"""fsck: what holds together is said to, and each way of breaking it is found.

The database of a server is changed by hand, checksums and all, as a bug of ours
might: one thing at a time, in a copy.
"""

import json
import os
import shutil
import sqlite3
import threading
import uuid
import zlib

from muster import Client, Server, folder, run, tap
from tenant import Tenant, made


def fsck(data):
    status, said = run("fsck", "--data", data)
    return status, said.splitlines()


class Broken:
    """A copy of a stopped server's folder, to be changed."""

    def __init__(self, data):
        self.data = os.path.join(folder(), "data")
        shutil.copytree(data, self.data)
        self.db = sqlite3.connect(os.path.join(self.data, "muster.db"))

    def write(self, revision, at, text):
        raw = text.encode()
        total = zlib.crc32(raw, zlib.crc32(f"{revision} {at} ".encode()))
        self.db.execute("INSERT OR REPLACE INTO log VALUES(?, ?, ?, ?)",
                        (revision, at, total, raw))
        self.db.commit()

    def change(self, kind, id, how):
        """HOW is given the object's document, and changes it."""
        row = self.db.execute(
            "SELECT revision, at, data FROM log WHERE CAST(data AS TEXT) "
            "LIKE ? ORDER BY revision DESC LIMIT 1",
            (f"%+{kind}@% {id} {{%",)).fetchone()
        revision, at, raw = row
        lines = raw.decode().split("\n")
        for i, line in enumerate(lines):
            if line.startswith(f"+{kind}@") and line.split(" ")[1] == id:
                head, word, text = line.split(" ", 2)
                document = json.loads(text)
                how(document)
                lines[i] = f"{head} {word} " + json.dumps(
                    document, separators=(",", ":"))
        self.write(revision, at, "\n".join(lines))

    def append(self, text):
        revision, at = self.db.execute(
            "SELECT max(revision) + 1, max(at) FROM log").fetchone()
        self.write(revision, at, text)


def breakages(a, b):
    """Name, how to do it, and words that must be told."""
    absent = str(uuid.uuid4())

    def put(**members):
        return lambda document: document.update(members)

    yield ("an allocation that passes its limit",
           lambda x: x.change("allocation", a.ids["allocations"], put(
               amounts=[{"kind": "vcpus", "committed": 999, "reserved": 0}])),
           [f"organization {a.id}: uses 999 vcpus, and may use 100"])
    yield ("a limit below what is used",
           lambda x: x.change("quota", a.ids["quotas"], put(
               limits=[{"kind": "vcpus", "limit": 2}])),
           [f"organization {a.id}: uses 4 vcpus, and may use 2"])
    yield ("an allocation of an unknown kind",
           lambda x: x.change("allocation", a.ids["allocations"], put(
               amounts=[{"kind": "nothing", "committed": 1,
                         "reserved": 0}])), ["no quota kind nothing"])
    yield ("an allocation of an object that is not there",
           lambda x: x.change("allocation", a.ids["allocations"], put(
               objectKind="project")), ["its project", "is not there"])
    yield ("an allocation of another object than its id says",
           lambda x: x.change("allocation", a.ids["allocations"], put(
               objectId=absent)), ["its id is not its object's"])
    yield ("a network that is not counted",
           lambda x: x.append(f"-allocation@1 {a.ids['counted']}\n"),
           [f"network {a.ids['networks']}: is not counted"])
    yield ("a reference to nothing",
           lambda x: x.change("token", a.ids["tokens"], put(userId=absent)),
           [f"token {a.ids['tokens']}", absent, "not there"])
    yield ("a member that is not there",
           lambda x: x.change("group", a.ids["groups"], put(
               userIds=[a.user, absent])),
           [f"group {a.ids['groups']}", "userIds", absent])
    yield ("a reference to another organization's",
           lambda x: x.change("group", a.ids["groups"], put(
               userIds=[b.user])), ["another organization's", b.user])
    yield ("a project that has changed its organization",
           lambda x: x.change("project", a.project, put(
               organizationId=b.id)), ["another organization's", a.project])
    yield ("two of one name",
           lambda x: x.change("project", a.other, put(name="x-project")),
           ["has the same name as"])
    yield ("an organization gone with everything still in it",
           lambda x: x.append(f"-organization@1 {a.id}\n"),
           [f"the organization {a.id}, which is not there"])
    yield ("an entry of the audit trail that was changed",
           lambda x: x.db.execute(
               "UPDATE audit SET entry = replace(entry, 'create', 'delete') "
               "WHERE seq = 5") and x.db.commit(), ["audit trail"])
    yield ("an entry of the audit trail that was taken out",
           lambda x: x.db.execute("DELETE FROM audit WHERE seq = 5")
           and x.db.commit(), ["audit trail"])


def found(server, a, b):
    for name, how, words in breakages(a, b):
        broken = Broken(server.data)
        how(broken)
        broken.db.close()
        status, lines = fsck(broken.data)
        said = "\n".join(lines)
        tap.ok(status == 1 and all(word in said for word in words) and
               lines[-1].startswith("fsck: ") and
               not lines[-1].endswith(" 0 differences"),
               f"found: {name}", status, said)
        count = int(lines[-1].split(", ")[1].split(" ")[0]) \
            if lines[-1].startswith("fsck: ") else -1
        tap.eq(count, len(lines) - 1, "each difference is a line")
    broken = Broken(server.data)
    broken.db.execute("UPDATE log SET sum = sum + 1 WHERE revision = "
                      "(SELECT max(revision) FROM log)")
    broken.db.commit()
    broken.db.close()
    status, lines = fsck(broken.data)
    tap.ok(status == 1 and "checksum" in "\n".join(lines),
           "a row whose checksum is wrong is not even read", lines)


def add_network(admin, tenant):
    """In a region that is left alone, so that nothing moves."""
    region = made(admin.post("/v1/regions", {"name": "still", "spec": {
        "provider": "sim", "paused": True}}))["id"]
    id = tenant.make("networks", {
        "name": "x-network", "projectId": tenant.project, "regionId": region,
        "spec": {"prefix": "10.0.0.0/24"}})
    tenant.ids["counted"] = next(
        item["id"] for item in admin.get("/v1/allocations").json["items"]
        if item["objectId"] == id)


def main():
    server = Server().start()
    admin = Client(server)
    a, b = Tenant(admin, "aaa"), Tenant(admin, "bbb")
    add_network(admin, a)
    status, lines = fsck(server.data)
    tap.ok(status == 0 and len(lines) == 1 and
           lines[0].endswith(" objects, 0 differences"),
           "a server at work holds together", lines)
    metrics = admin.get("/metrics").body.decode()
    total = sum(int(line.split(" ")[1]) for line in metrics.splitlines()
                if line.startswith("muster_objects{"))
    tap.ok(lines[0].startswith(f"fsck: {total} objects"),
           "every object was looked at", total, lines)

    stop = threading.Event()

    def write():
        call = Client(server)
        i = 0
        while not stop.is_set():
            i += 1
            made(call.post("/v1/projects", {"name": f"w{i}",
                                            "organizationId": a.id}))

    thread = threading.Thread(target=write)
    thread.start()
    results = [fsck(server.data) for _ in range(5)]
    stop.set()
    thread.join()
    tap.ok(all(status == 0 for status, _ in results),
           "and while it is written to", *results)
    tap.eq([name for name in os.listdir(server.data)
            if name.startswith("fsck")], [], "no copy is left behind")
    server.stop()
    before = sorted((name, os.stat(os.path.join(server.data, name)).st_size)
                    for name in os.listdir(server.data))
    status, lines = fsck(server.data)
    after = sorted((name, os.stat(os.path.join(server.data, name)).st_size)
                   for name in os.listdir(server.data)
                   if not name.endswith(("-wal", "-shm")))
    tap.eq(status, 0, "and when it is stopped")
    tap.eq(after, [x for x in before if not x[0].endswith(("-wal", "-shm"))],
           "nothing is changed")
    tap.section(found, server, a, b)
    status, lines = fsck(folder())
    tap.ok(status != 0 and "no database" in "\n".join(lines),
           "a folder without a database is none", lines)
    tap.end()


main()

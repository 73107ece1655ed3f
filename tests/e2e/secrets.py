#!/usr/bin/env python3
"""Secrets of a real server: planted, then looked for in everything that it
writes and says; keys that are missing, wrong, open to others, and changed."""

import hashlib
import os
import re
import signal
import sqlite3
import time
import zlib

from muster import Client, Server, folder, run, tap, wait_for


class Listener(Client):
    """Keeps every reply."""

    def __init__(self, server, token=None):
        super().__init__(server, token)
        self.replies = []

    def __call__(self, *args, **more):
        reply = super().__call__(*args, **more)
        self.replies.append((args[:2], str(reply.headers).encode()
                             + reply.body))
        return reply


def forms(secret):
    """A secret as it may lie about: itself, and its digest."""
    digest = hashlib.sha256(secret.encode())
    return [secret.encode(), digest.hexdigest().encode(), digest.digest()]


def files_with(path, needles):
    """The files below PATH that hold any of NEEDLES."""
    found = []
    for base, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                text = file.read()
            found += [name for n in needles if n in text]
    return sorted(set(found))


def plant(client):
    """Tokens made, rotated and used in every way; their secrets."""
    account = client.post("/v1/serviceaccounts", {"name": "robot"}).json["id"]
    made = client.post("/v1/tokens", {"name": "t", "serviceAccountId": account})
    secrets = [made.json["token"]]
    id = made.json["id"]
    client.get(f"/v1/tokens/{id}")
    client.get("/v1/tokens")
    client.patch(f"/v1/tokens/{id}", {"description": "still here"})
    client.put(f"/v1/tokens/{id}", {"name": "u", "serviceAccountId": account})
    client.patch(f"/v1/tokens/{id}?plan=true", {"description": "p"})
    secrets.append(client.post(f"/v1/tokens/{id}/rotate", None).json["token"])
    client.post("/v1/tokens", {"name": "u", "serviceAccountId": account,
                               "digest": "0" * 64})
    client.get(f"/v1/tokens?digest={'0' * 64}")
    client.get(f"/v1/tokens/{id}/events")
    client.get("/v1/events")
    client.get("/v1/audit")
    client.get("/v1/openapi.json")
    client.get("/v1/whoami")
    client.get("/metrics")
    # A wrong token that looks like one.
    Listener(client.server, secrets[0] + "x").get("/v1/whoami")
    return secrets


def nothing_is_found_anywhere():
    server = Server({"log": {"level": "debug"}}).start()
    client = Listener(server)
    secrets = plant(client)
    needles = [f for s in secrets + [server.token] for f in forms(s)]
    wait_for(lambda: len(client.get("/v1/audit?result=invalid")
                         .json["items"]))
    time.sleep(0.2)
    data = [n for n in files_with(server.data, needles) if n != "admin.token"]
    tap.eq(data, [], "not in the database, nor in its write-ahead log")
    sealed = files_with(server.data, [b'"digest":"sealed:'])
    tap.ok(sealed, "they are there, sealed")
    backup = os.path.join(folder(), "backup.db")
    run("backup", "--data", server.data, backup)
    tap.eq(files_with(os.path.dirname(backup), needles), [],
           "not in a backup")
    shown = [where for where, text in client.replies
             if any(n in text for n in needles)]
    tap.eq(shown, [("POST", "/v1/tokens"),
                   ("POST", shown[1][1] if len(shown) > 1 else "?")],
           "in two replies of all: that which made it, and the rotation")
    key = open(os.path.join(server.data, "secret.key"), "rb").read()
    keys = [w for line in key.splitlines() for w in line.split(b"#")[0].split()]
    text = server.log().encode()
    tap.eq([n for n in needles + keys if n in text], [], "not in the log")
    server.stop()
    text = server.log().encode()
    tap.eq([n for n in needles + keys if n in text], [],
           "not at the stop either")
    data = [n for n in files_with(server.data, needles) if n != "admin.token"]
    tap.eq(data, [], "nor in what is left behind")
    server.start()
    tap.eq(Client(server, secrets[1]).get("/v1/whoami").status, 200,
           "and the token works")
    tap.eq(Client(server, secrets[0]).get("/v1/whoami").status, 401,
           "the rotated one does not")
    server.stop()


def refused(server, *words):
    server.launch()
    status = server.process.wait(20)
    log = server.log()[-600:]
    return status == 1 and all(w in log for w in words), log


def a_missing_key_is_refused():
    server = Server().start()
    token = server.token
    server.stop()
    key = os.path.join(server.data, "secret.key")
    tap.eq(oct(os.stat(key).st_mode & 0o777), "0o600",
           "the key's file is its owner's alone")
    before = open(os.path.join(server.data, "muster.db"), "rb").read()
    os.rename(key, key + ".away")
    good, log = refused(server, "sealed with the key", "nothing was changed")
    tap.ok(good, "without the key it does not start, and says why", log)
    tap.ok(not os.path.exists(key), "and makes no new key")
    with open(key, "w", encoding="ascii") as file:
        file.write("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
    os.chmod(key, 0o600)
    good, log = refused(server, "is not there")
    tap.ok(good, "nor with another key", log)
    with open(key, "w", encoding="ascii") as file:
        file.write("not a key\n")
    good, log = refused(server, "is not base64")
    tap.ok(good and "not a key" not in log, "nor with what is none", log)
    os.replace(key + ".away", key)
    os.chmod(key, 0o644)
    good, log = refused(server, "chmod 600")
    tap.ok(good, "nor while others can read it", log)
    os.chmod(key, 0o600)
    after = open(os.path.join(server.data, "muster.db"), "rb").read()
    tap.eq(after == before, True, "the database is untouched")
    server.start()
    tap.eq(Client(server, token).get("/v1/whoami").status, 200,
           "with the key all is there")
    server.stop()


def status_of(data):
    status, said = run("secrets", "status", "--data", data)
    assert status == 0, said
    return {k: int(n) for k, n in
            re.findall(r"^([0-9a-f]{8})  (\d+) secrets", said, re.M)}


def keys_change_under_a_running_server():
    server = Server().start()
    client = Client(server)
    account = client.post("/v1/serviceaccounts", {"name": "r"}).json["id"]
    tokens = [client.post("/v1/tokens", {
        "name": f"t{i}", "serviceAccountId": account}).json["token"]
        for i in range(600)]
    old, = status_of(server.data)
    status, said = run("secrets", "rotate", "--data", server.data)
    tap.ok(status == 0 and "SIGHUP" in said, "a key is added", said)
    both = status_of(server.data)
    tap.ok(list(both)[1] == old and both[old] >= 600,
           "everything is under the old one", both)
    server.process.send_signal(signal.SIGHUP)
    new = list(both)[0]
    tap.ok(wait_for(lambda: status_of(server.data)[old] == 0),
           "the server seals everything anew", status_of(server.data))
    tap.ok(status_of(server.data)[new] >= 600, "under the new one")
    tap.eq([Client(server, t).get("/v1/whoami").status
            for t in tokens[::100]], [200] * 6, "tokens go on working")
    status, said = run("secrets", "prune", "--data", server.data)
    tap.ok(status == 5 and "in use" in said,
           "keys are not dropped under a running server", said)
    server.stop()
    status, said = run("secrets", "prune", "--data", server.data)
    tap.ok(status == 0 and "Dropped 1" in said, "but when it is stopped", said)
    tap.eq(list(status_of(server.data)), [new], "one key is left")
    server.start()
    tap.eq([Client(server, t).get("/v1/whoami").status
            for t in tokens[::100]], [200] * 6, "and everything opens")
    server.stop()
    run("secrets", "rotate", "--data", server.data)
    server.start()
    tap.ok(wait_for(lambda: status_of(server.data)[new] == 0),
           "the next start seals anew, too", status_of(server.data))
    server.stop()


def keys_from_the_environment():
    key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    server = Server(env={"MUSTER_SECRET_KEY": key}).start()
    token = server.token
    tap.ok(not os.path.exists(os.path.join(server.data, "secret.key")),
           "no file is made")
    server.stop()
    server.env = {}
    good, log = refused(server, "MUSTER_SECRET_KEY")
    tap.ok(good, "without it, it does not start", log)
    other = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
    server.env = {"MUSTER_SECRET_KEY": f"{other},{key}"}
    server.start()
    tap.eq(Client(server, token).get("/v1/whoami").status, 200,
           "a new one before the old one")
    time.sleep(1.5)
    server.stop()
    server.env = {"MUSTER_SECRET_KEY": other}
    server.start()
    tap.eq(Client(server, token).get("/v1/whoami").status, 200,
           "then the new one alone")
    server.stop()


def a_database_without_seals_is_sealed():
    """As an older version left it: the digests in the clear."""
    server = Server().start()
    token = server.token
    digest = hashlib.sha256(token.encode()).hexdigest()
    server.stop()

    db = sqlite3.connect(os.path.join(server.data, "muster.db"))
    for revision, at, data in db.execute(
            "SELECT revision, at, data FROM log").fetchall():
        plain = re.sub(rb'"digest":"sealed:[^"]*"',
                       b'"digest":"%s"' % digest.encode(), data)
        total = zlib.crc32(plain, zlib.crc32(b"%d %d " % (revision, at)))
        db.execute("UPDATE log SET data=?, sum=? WHERE revision=?",
                   (plain, total, revision))
    db.commit()
    db.close()
    os.unlink(os.path.join(server.data, "secret.key"))
    server.start()
    tap.eq(Client(server, token).get("/v1/whoami").status, 200,
           "an older database opens")

    def unsealed():
        status, said = run("secrets", "status", "--data", server.data)
        return status == 0 and "not sealed" not in said
    tap.ok(wait_for(unsealed), "and is sealed in a moment")
    server.stop()


def nobody_looks_inside():
    server = Server().start()
    status = open(f"/proc/{server.process.pid}/limits",
                  encoding="ascii").read()
    core = re.search(r"Max core file size\s+(\S+)", status).group(1)
    tap.eq(core, "0", "no core file is written")
    if os.getuid():
        owner = os.stat(f"/proc/{server.process.pid}/mem").st_uid
        tap.eq(owner, 0, "the process is not dumpable")
    else:
        tap.skip("the process is not dumpable", "root sees no difference")
    server.stop()
    server = Server(env={"MUSTER_SECRET_KEY":
                         "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="})
    server.start()
    with open(f"/proc/{server.process.pid}/environ", "rb") as file:
        text = file.read()
    tap.ok(b"MDEyMzQ1" not in text, "the environment's key is wiped")
    server.stop()


def main():
    tap.section(nothing_is_found_anywhere)
    tap.section(a_missing_key_is_refused)
    tap.section(keys_change_under_a_running_server)
    tap.section(keys_from_the_environment)
    tap.section(a_database_without_seals_is_sealed)
    tap.section(nobody_looks_inside)
    tap.end()


if __name__ == "__main__":
    main()

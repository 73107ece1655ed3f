#!/usr/bin/env python3
"""The audit trail of a real server: who, what and how it ended; whose eyes it
is for; that nothing of it can be changed unseen; how it leaves and how it
ages."""

import hashlib
import json
import os
import shutil
import sqlite3

from muster import Client, Server, folder, run, tap, wait_for


def entries(client, query=""):
    found, after = [], ""
    while True:
        page = client.get(f"/v1/audit?limit=50{query}{after}").json
        found += page["items"]
        if "next" not in page:
            return found
        after = f"&after={page['next']}"


def settled(client, n, query=""):
    """The entries once there are N; refusals come with the next tick."""
    wait_for(lambda: len(entries(client, query)) >= n)
    return entries(client, query)


def member(admin, name, organization, role, project=None):
    """A service account with a role, and a client that is it."""
    account = admin.post("/v1/serviceaccounts", {
        "name": name, "organizationId": organization}).json["id"]
    roles = {r["name"]: r["id"] for r in
             admin.get("/v1/roles?limit=100").json["items"]}
    body = {"name": name, "organizationId": organization,
            "roleIds": [roles[role]], "serviceAccountIds": [account]}
    if project:
        body["projectIds"] = [project]
    assert admin.post("/v1/groups", body).status == 201
    token = admin.post("/v1/tokens", {
        "name": name, "serviceAccountId": account}).json
    return account, token, Client(admin.server, token["token"])


def says_who_did_what(server):
    admin = Client(server)
    whoami = admin.get("/v1/whoami").json
    made = admin.post("/v1/organizations", {"name": "acme"},
                      {"X-Request-Id": "first-one"}).json
    id = made["id"]
    changed = admin.patch(f"/v1/organizations/{id}", {"description": "x"}).json
    refused = admin.post("/v1/organizations", {"name": "acme"})
    tap.eq(refused.status, 409, "a name is taken")
    admin.patch(f"/v1/organizations/{id}", {"description": "y"},
                {"If-Match": '"1"'})
    admin("POST", "/v1/organizations", raw=b"{")
    admin.delete("/v1/organizations/00000000-0000-7000-8000-000000000000")
    admin.post("/v1/organizations?plan=true", {"name": "never"})
    admin.get("/v1/organizations/nothing")
    admin.delete(f"/v1/organizations/{id}")
    got = settled(admin, 7)
    tap.eq(sorted((e["action"], e["result"]) for e in got), sorted([
        ("create", "ok"), ("update", "ok"), ("create", "conflict"),
        ("update", "precondition_failed"), ("create", "invalid"),
        ("delete", "not_found"), ("delete", "ok")]),
        "every change is there with its result, plans and reads are not")
    by = {(e["action"], e["result"]): e for e in got}
    first = by["create", "ok"]
    tap.eq((first["who"], first["requestId"], first["from"], first["kind"],
            first["objectId"], first["organizationId"], first["revision"]),
           ({"id": whoami["id"], "name": whoami["name"]}, "first-one",
            "127.0.0.1", "organization", id, id, made["revision"]),
           "an entry says who, from where, what and which revision")
    tap.ok("before" not in first and first.get("tokenId"),
           "what is created had no revision before; the token is named", first)
    update = by["update", "ok"]
    tap.eq((update["before"], update["revision"]),
           (made["revision"], changed["revision"]),
           "an update says the revisions before and after")
    stale = by["update", "precondition_failed"]
    tap.eq((stale.get("objectId"), stale.get("revision"), stale["before"]),
           (id, None, changed["revision"]), "a refusal has no revision")
    tap.eq(by["delete", "ok"]["before"], changed["revision"],
           "a deletion says what it deleted")
    seqs = [e["seq"] for e in got]
    tap.eq(seqs, list(range(len(got), 0, -1)),
           "newest first, without a gap")


def hashes_are_as_documented(server):
    admin = Client(server)
    want = {e["seq"]: e["hash"] for e in entries(admin)}
    db = sqlite3.connect(os.path.join(server.data, "muster.db"))
    installation, = db.execute(
        "SELECT value FROM meta WHERE key='installation'").fetchone()
    last = hashlib.sha256(installation.encode()).digest()
    good = True
    for seq, at, revision, organization, entry in db.execute(
            "SELECT seq, at, revision, organization, entry FROM audit "
            "ORDER BY seq"):
        text = f"{seq} {at} {revision} {organization or '-'}\n{entry}"
        last = hashlib.sha256(last + text.encode()).digest()
        good = good and last.hex() == want.get(seq)
    db.close()
    tap.ok(good and want, "anybody can work out the hashes by the manual")


def acting_for_another_names_both(server):
    admin = Client(server)
    org = admin.post("/v1/organizations", {"name": "both"}).json["id"]
    account, token, _ = member(admin, "helper", org, "administrator")
    reply = admin.post("/v1/projects", {"name": "p", "organizationId": org},
                       {"Muster-Act-As": account})
    tap.eq(reply.status, 201, "the administrator acts for another")
    entry = entries(admin, "&kind=project&action=create")[0]
    tap.eq((entry["who"]["name"], entry["as"]),
           ("serviceaccount:admin",
            {"id": account, "name": "serviceaccount:helper"}),
           "the entry names who did it, and for whom")
    tap.ok(entries(admin, f"&who={account}"), "and is found by either")


def tenants_see_their_own(server):
    admin = Client(server)
    a = admin.post("/v1/organizations", {"name": "tenant-a"}).json["id"]
    b = admin.post("/v1/organizations", {"name": "tenant-b"}).json["id"]
    _, _, ann = member(admin, "ann", a, "administrator")
    _, _, bob = member(admin, "bob", b, "administrator")
    p = admin.post("/v1/projects", {"name": "p", "organizationId": a}).json["id"]
    _, _, user = member(admin, "user", a, "user", p)
    project = bob.post("/v1/projects", {"name": "q",
                                        "organizationId": b}).json["id"]
    # What ann tries on what is bob's is in nobody's trail but hers.
    tap.eq(ann.delete(f"/v1/projects/{project}").status, 404, "invisible")
    tap.eq(ann.post("/v1/projects", {"name": "z",
                                     "organizationId": b}).status, 422,
           "nor can she create there")
    seen = settled(ann, 1, "&result=not_found")
    tap.ok(seen and all(e.get("organizationId") == a for e in entries(ann)),
           "ann sees entries of her organization only")
    bobs = entries(bob)
    tap.ok(bobs and all(e.get("organizationId") == b for e in bobs),
           "bob sees his")
    tap.ok(not any("ann" in json.dumps(e) for e in bobs),
           "and nothing of what ann tried")
    tap.eq(ann.get(f"/v1/audit?organizationId={b}").status, 403,
           "asking for another's is forbidden")
    tap.eq(ann.get("/v1/audit?organizationId=00000000-0000-7000-8000-"
                   "000000000000").status, 403,
           "and so is one that is not there: no difference is told")
    tap.eq(user.get("/v1/audit").status, 403, "it takes audit:read")
    tap.eq(Client(server, "muster_wrong").get("/v1/audit").status, 401,
           "and a token")
    lines = ann("GET", "/v1/audit", headers={
        "Accept": "application/x-ndjson"}).body.splitlines()
    tap.ok(lines and all(json.loads(x).get("organizationId") == a
                         for x in lines), "an export keeps to the same")


def filters_and_pages(server):
    admin = Client(server)
    all_of = entries(admin)
    for word, value in (("kind", "project"), ("action", "create"),
                        ("result", "ok"), ("who", "serviceaccount:ann")):
        want = [e["seq"] for e in all_of if value in (
            e.get(word), isinstance(e.get(word), dict)
            and e[word]["name"])]
        tap.eq([e["seq"] for e in entries(admin, f"&{word}={value}")], want,
               f"the filter {word}={value}")
    some = next(e for e in all_of if e.get("projectId"))
    tap.ok(all(e["projectId"] == some["projectId"] for e in
               entries(admin, f"&projectId={some['projectId']}")),
           "the filter projectId")
    tap.ok(some in entries(admin, f"&objectId={some['objectId']}"),
           "the filter objectId")
    at = all_of[len(all_of) // 2]["at"]
    tap.eq(len(entries(admin, f"&since={at}")) +
           len(entries(admin, f"&until={at}")), len(all_of),
           "since and until share the trail between them")
    for bad in ("since=yesterday", "limit=0", "after=x", "colour=red"):
        tap.eq(admin.get(f"/v1/audit?{bad}").status, 400, f"{bad} is refused")
    status, text = run("--server", server.url, "audit", "list", "--kind",
                       "project", env={"MUSTER_TOKEN": server.token})
    tap.ok(status == 0 and "RESULT" in text, "the command lists them", text)
    status, text = run("--server", server.url, "audit", "export",
                       env={"MUSTER_TOKEN": server.token})
    tap.eq([json.loads(x)["seq"] for x in text.splitlines()],
           [e["seq"] for e in all_of], "and exports them all")
    lines = admin("GET", "/v1/audit", headers={
        "Accept": "application/x-ndjson"}).body.splitlines()
    tap.eq([json.loads(x) for x in lines], all_of, "as the API does")


def a_large_trail_is_exported_whole():
    server = Server().start()
    admin = Client(server)
    for i in range(2300):
        admin.post("/v1/organizations", {"name": f"o{i}"})
    lines = admin("GET", "/v1/audit", headers={
        "Accept": "application/x-ndjson"}).body.splitlines()
    tap.eq([json.loads(x)["seq"] for x in lines], list(range(2300, 0, -1)),
           "page after page, nothing missing")
    server.stop()


def a_flood_of_refusals_is_bounded():
    server = Server().start()
    admin = Client(server)
    admin.post("/v1/organizations", {"name": "taken"})
    for _ in range(2000):
        admin.post("/v1/organizations", {"name": "taken"})
    omitted = wait_for(lambda: entries(admin, "&action=omit"))
    kept = len(entries(admin, "&result=conflict"))
    server.stop()
    status, said = run("audit", "verify", "--data", server.data)
    tap.ok(300 <= kept < 600, f"{kept} of 2000 refusals are told one by one")
    tap.ok(omitted and omitted[0]["count"] > 0, "the others are counted")
    tap.ok(status == 0 and "verified" in said, "and the chain holds", said)


def what_was_refused_survives_a_stop():
    server = Server().start()
    admin = Client(server)
    admin("POST", "/v1/organizations", raw=b"{")
    server.stop()
    server.start()
    tap.eq(len(entries(Client(server), "&result=invalid")), 1,
           "a refusal just before the stop is in the trail")
    server.stop()


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << (at % 8))]))


def any_flipped_byte_is_found(server):
    """On a copy of the stopped server's database; where an entry lies in the
    file is found by its text."""
    path = os.path.join(server.data, "muster.db")
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rows = db.execute("SELECT seq, entry, hash FROM audit ORDER BY seq"
                      ).fetchall()
    db.close()
    with open(path, "rb") as file:
        pages = file.read()
    places = []
    for seq, entry, digest in (rows[0], rows[len(rows) // 2], rows[-1]):
        at = pages.index(entry.encode())
        places += [(seq, at + i) for i in range(0, len(entry), 7)]
        at = pages.index(digest)
        places += [(seq, at + i) for i in range(0, len(digest), 5)]
    data = os.path.join(folder(), "copy")
    os.mkdir(data)
    copy = os.path.join(data, "muster.db")
    shutil.copy(path, copy)
    status, said = run("audit", "verify", "--data", data)
    tap.eq(status, 0, "the copy holds")
    missed = []
    for seq, at in places:
        flip(copy, at)
        status, said = run("audit", "verify", "--data", data)
        if status == 0 or f"entry {seq} " not in said:
            missed.append((at, said))
        flip(copy, at)
    tap.eq(missed, [], f"each of {len(places)} flipped bits is found, and "
           "where")
    for sql, what in (("DELETE FROM audit WHERE seq=5", "a missing one"),
                      ("DELETE FROM audit WHERE seq>=%d" % rows[-1][0],
                       "a missing end"),
                      ("UPDATE audit SET seq=-seq WHERE seq IN (5,6);"
                       "UPDATE audit SET seq=6 WHERE seq=-5;"
                       "UPDATE audit SET seq=5 WHERE seq=-6",
                       "two that changed places")):
        shutil.copy(path, copy)
        db = sqlite3.connect(copy)
        db.executescript(sql)
        db.close()
        status, said = run("audit", "verify", "--data", data)
        tap.ok(status == 1 and "does not hold" in said, f"{what} is found",
               said)


def a_backup_can_be_verified(server):
    file = os.path.join(folder(), "backup.db")
    tap.eq(run("backup", "--data", server.data, file)[0], 0, "a backup")
    running = run("audit", "verify", "--data", server.data)
    tap.eq(running[0], 0, "the trail is verified while the server runs")
    backup = run("audit", "verify", file)
    tap.eq(backup, running, "and the backup's is the same")
    size = os.path.getsize(file)
    for at in range(100, size, size // 12):
        flip(file, at)
        status, said = run("audit", "verify", file)
        tap.ok(status == 1, f"byte {at} of the backup changed is found", said)
        flip(file, at)


def what_is_old_is_let_go_of():
    """A trail of version 2 whose entries are years old."""
    data = os.path.join(folder(), "old")
    os.mkdir(data, 0o700)
    db = sqlite3.connect(os.path.join(data, "muster.db"))
    db.executescript("""
        CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE log(revision INTEGER PRIMARY KEY, at INTEGER NOT NULL,
            sum INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TABLE audit(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL,
            revision INTEGER NOT NULL, entry TEXT NOT NULL);
        PRAGMA user_version=2; PRAGMA application_id=1299412082;""")
    db.executemany("INSERT INTO audit VALUES(?, ?, ?, ?)", [
        (i, 1500000000000 + i, i, '{"who":"ann","action":"create"}')
        for i in range(1, 1501)])
    db.commit()
    db.close()
    server = Server({"audit": {"maxAgeDays": 1}}, data).start()
    admin = Client(server)
    admin.post("/v1/organizations", {"name": "new"})
    left = wait_for(lambda: len(entries(admin)) == 1)
    tap.ok(left, "what is older than a day goes, a little at a time")
    status, said = run("audit", "verify", "--data", data)
    tap.ok(status == 0 and "verified 1 entries (1500 older" in said,
           "the chain goes on from the last that was let go of", said)
    server.stop()


def main():
    server = Server().start()
    tap.section(says_who_did_what, server)
    tap.section(hashes_are_as_documented, server)
    tap.section(acting_for_another_names_both, server)
    tap.section(tenants_see_their_own, server)
    tap.section(filters_and_pages, server)
    tap.section(a_backup_can_be_verified, server)
    server.stop()
    tap.section(any_flipped_byte_is_found, server)
    tap.section(what_was_refused_survives_a_stop)
    tap.section(a_large_trail_is_exported_whole)
    tap.section(a_flood_of_refusals_is_bounded)
    tap.section(what_is_old_is_let_go_of)
    tap.end()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""One tenant cannot learn of another, and nobody gives what they do not hold.

Two organizations that look alike: whoever is in the first asks for everything
of the second in every way there is, and gets what is answered about things that
never were.  Then the ways in which rights could be widened: groups, roles,
tokens, users, acting for another.
"""

import json
import re
import statistics
import threading
import time
import uuid

from muster import Client, OpenApi, Server, Watch, binary, tap, wait_for
from tenant import KINDS, ROLE, Account, Tenant, made

ROLES = ("administrator", "user", "reader", "auditor")
REQUEST = re.compile(rb'"requestId":"[^"]*"')


def plain(reply, *ids):
    """A reply without what must differ: its request id and the ids asked for."""
    body = REQUEST.sub(b"", reply.body)
    for id in ids:
        body = body.replace(id.encode(), b"ID")
    headers = {k.lower(): v for k, v in reply.headers.items()}
    for name in ("date", "x-request-id", "content-length", "request-id"):
        headers.pop(name, None)
    return reply.status, headers, body


def same_answer(call, method, path, theirs, body=None, headers=None):
    """Whether an id of theirs and one that never was are answered alike."""
    absent = str(uuid.uuid4())
    got = call(method, path.format(id=theirs), body, headers)
    want = call(method, path.format(id=absent), body, headers)
    if plain(got, theirs) != plain(want, absent):
        return None, f"{method} {path}: {got!r} but {want!r}"
    return got.status, None


class World:
    def __init__(self):
        self.server = Server().start()
        self.admin = Client(self.server)
        self.a = Tenant(self.admin, "tenant-a")
        self.b = Tenant(self.admin, "tenant-b")
        self.region = made(self.admin.post("/v1/regions", {
            "name": "shared", "spec": {"provider": "sim"}}))["id"]
        self.kinds = KINDS + self.fill(self.a)
        self.fill(self.b)

    def fill(self, tenant, names="x"):
        """One of each noun of regions, alike in both; their names."""
        here = {"projectId": tenant.project, "regionId": self.region,
                "tags": {"color": "red"}}
        network = tenant.make("networks", {
            "name": f"{names}-network", **here,
            "spec": {"prefix": "10.0.0.0/24"}})
        tenant.make("securitygroups", {"name": f"{names}-group",
                                       "networkId": network})
        tenant.make("sshcas", {"name": f"{names}-authority",
                               "projectId": tenant.project})
        tenant.make("volumes", {"name": f"{names}-volume", **here,
                                "spec": {"sizeGiB": 1}})
        tenant.make("images", {"name": f"{names}-image", **here, "spec": {
            "architecture": "x86_64", "uri": "https://example.org/i"}})
        for noun in ("networks", "volumes", "images"):
            path = f"/v1/{noun}/{tenant.ids[noun]}"
            wait_for(lambda: self.admin.get(path).json["status"]["state"]
                     == "ready")
        return ("networks", "securitygroups", "sshcas", "volumes", "images")


def ids_are_not_told(w):
    verbs = [("GET", "/v1/{noun}/{{id}}", None),
             ("HEAD", "/v1/{noun}/{{id}}", None),
             ("PUT", "/v1/{noun}/{{id}}", {"name": "n"}),
             ("PATCH", "/v1/{noun}/{{id}}", {"description": "x"}),
             ("PATCH", "/v1/{noun}/{{id}}?plan=true", {"description": "x"}),
             ("DELETE", "/v1/{noun}/{{id}}", None),
             ("DELETE", "/v1/{noun}/{{id}}?plan=true", None),
             ("GET", "/v1/{noun}/{{id}}?wait=changed&timeoutMs=10", None),
             ("GET", "/v1/{noun}/{{id}}?wait=deleted", None),
             ("GET", "/v1/{noun}/{{id}}/events", None)]
    for role in ROLES:
        call = w.a.call(role)
        wrong, statuses = [], set()
        for noun in w.kinds:
            for method, path, body in verbs:
                status, why = same_answer(call, method, path.format(noun=noun),
                                          w.b.ids[noun], body)
                statuses.add(status)
                wrong += [why] if why else []
        tap.ok(not wrong and statuses == {404},
               f"the {role} gets the same 404 for every id of the other",
               statuses, *wrong)
        wrong = []
        for method, path, id in (
                ("GET", "/v1/organizations/{id}/usage", w.b.id),
                ("GET", "/v1/projects/{id}/usage", w.b.project),
                ("POST", "/v1/tokens/{id}/rotate", w.b.ids["tokens"])):
            status, why = same_answer(call, method, path, id)
            if status != 404:
                wrong.append(why or f"{path}: {status}")
        tap.ok(not wrong, f"the {role}: use and rotation, too", *wrong)
    status, why = same_answer(w.a.call(), "PATCH", "/v1/projects/{id}",
                              w.b.project, {"description": "x"},
                              {"If-Match": '"1"'})
    tap.ok(status == 404, "a precondition is not looked at first", why)
    revision = w.admin.get(f"/v1/projects/{w.b.project}").json["revision"]
    status, why = same_answer(w.a.call(), "GET",
                              f"/v1/projects/{{id}}?at={revision}",
                              w.b.project)
    tap.ok(status == 404, "nor in the past", why)
    for kind, id in w.b.ids.items():
        if w.admin.get(f"/v1/{kind}/{id}").status != 200:
            tap.ok(False, f"{kind} {id} of the other is still there")


def names_are_not_told(w):
    a = w.a.call()
    wrong = []
    for noun, body in (
            ("projects", {"name": "only-b"}),
            ("users", {"name": "only-b", "email": "only@b.example"}),
            ("serviceaccounts", {"name": "only-b"}),
            ("roles", {"name": "only-b", "organization": ["roles:read"]}),
            ("groups", {"name": "only-b"})):
        for tenant, call in ((w.b, w.b.call()), (w.a, a)):
            reply = call.post(f"/v1/{noun}",
                              dict(body, organizationId=tenant.id))
            if reply.status != 201:
                wrong.append(f"{noun} in {tenant.name}: {reply!r}")
    tap.ok(not wrong, "names that the other has are free here", *wrong)

    wrong = []
    for tenant in (w.b, w.a):
        for owner in ({"userId": tenant.user},
                      {"serviceAccountId": tenant.ids["serviceaccounts"]}):
            reply = w.admin.post("/v1/tokens", dict(owner, name="laptop"))
            if reply.status != 201:
                wrong.append(f"{tenant.name} {owner}: {reply!r}")
    tap.ok(not wrong, "tokens of different owners may have one name", *wrong)
    second = w.admin.post("/v1/tokens", {"name": "laptop",
                                         "userId": w.a.user})
    tap.eq(second.status, 409, "but not two of one user")

    path = f"/v1/organizations/{w.a.id}"
    taken = a.patch(path, {"name": "tenant-b"})
    free = a.patch(path, {"name": "nobody-has-this"})
    tap.ok(plain(taken) == plain(free) and taken.status == 403,
           "an organization's name cannot be used to ask for others'",
           taken, free)
    taken = a.post("/v1/organizations", {"name": "tenant-b"})
    free = a.post("/v1/organizations", {"name": "nobody-has-this"})
    tap.ok(plain(taken) == plain(free) and taken.status == 403,
           "nor can creating one", taken, free)
    reply = a.get("/v1/organizations?name=tenant-b")
    tap.eq(reply.json["items"], [], "nor can listing by name")


def references_are_not_told(w):
    a = w.a.call()
    own = {"organizationId": w.a.id}
    cases = [
        ("projects", {"name": "r"}, "organizationId", w.b.id),
        ("users", {"name": "r", "email": "r@r.example"}, "organizationId",
         w.b.id),
        ("serviceaccounts", {"name": "r"}, "organizationId", w.b.id),
        ("groups", {"name": "r"}, "organizationId", w.b.id),
        ("roles", {"name": "r"}, "organizationId", w.b.id),
        ("groups", {"name": "r", **own}, "userIds", w.b.user),
        ("groups", {"name": "r", **own}, "serviceAccountIds",
         w.b.ids["serviceaccounts"]),
        ("groups", {"name": "r", **own}, "roleIds", w.b.ids["roles"]),
        ("groups", {"name": "r", **own}, "projectIds", w.b.project),
        ("tokens", {"name": "r"}, "userId", w.b.user),
        ("tokens", {"name": "r"}, "serviceAccountId",
         w.b.ids["serviceaccounts"]),
        ("tokens", {"name": "r", "userId": w.a.user}, "organizationId",
         w.b.id),
        ("tokens", {"name": "r", "userId": w.a.user}, "projectId",
         w.b.project),
    ]
    wrong = []
    for noun, body, field, theirs in cases:
        absent = str(uuid.uuid4())
        for plan in ("", "?plan=true"):
            got, want = (a.post(f"/v1/{noun}{plan}", dict(
                body, **{field: [id] if field.endswith("Ids") else id}))
                for id in (theirs, absent))
            if plain(got, theirs) != plain(want, absent) or \
                    got.status not in (403, 422):
                wrong.append(f"{noun}.{field}: {got!r} but {want!r}")
    tap.ok(not wrong, "naming the other's ids is as naming none", *wrong)

    wrong = []
    for field, theirs in (("userIds", w.b.user), ("projectIds", w.b.project),
                          ("roleIds", w.b.ids["roles"])):
        absent = str(uuid.uuid4())
        got, want = (a.patch(f"/v1/groups/{w.a.ids['groups']}", {field: [id]})
                     for id in (theirs, absent))
        if plain(got, theirs) != plain(want, absent) or got.status != 422:
            wrong.append(f"{field}: {got!r} but {want!r}")
    tap.ok(not wrong, "nor by changing", *wrong)

    # Somebody who may set quota in one organization alone.
    limited = Client(w.server, made(w.admin.post("/v1/tokens", {
        "name": "limited", "organizationId": w.a.id,
        "serviceAccountId": w.admin.get("/v1/whoami").json["id"]}))["token"])
    quota = made(w.admin.post("/v1/quotas", {
        "organizationId": w.b.id, "projectId": w.b.project, "limits": []}))
    wrong = []
    for noun, body in (
            ("quotas", {"limits": [{"kind": "vcpus", "limit": 0}]}),
            ("allocations", {"objectKind": "thing", "objectId": w.b.object,
                             "amounts": []})):
        absent = str(uuid.uuid4())
        got, want = (limited.post(f"/v1/{noun}", dict(
            body, organizationId=w.a.id, projectId=id))
            for id in (w.b.project, absent))
        if plain(got, w.b.project) != plain(want, absent) or \
                got.status != 422:
            wrong.append(f"{noun}: {got!r} but {want!r}")
    w.admin.delete(f"/v1/quotas/{quota['id']}")
    reply = limited.post("/v1/allocations", {
        "organizationId": w.a.id, "objectKind": "thing",
        "objectId": w.b.object, "amounts": []})
    if reply.status != 201:
        wrong.append(f"their object's allocation: {reply!r}")
    else:
        limited.delete(f"/v1/allocations/{reply.json['id']}")
    tap.ok(not wrong, "who sets quota in one organization learns nothing",
           *wrong)
    # Deleting what others name does not say who they are.
    reply = a.delete(f"/v1/roles/{ROLE['user']}")
    tap.ok(reply.status in (403, 409) and b"tenant-b" not in reply.body,
           "a built-in role's users are not told", reply)


def everything(call, noun, words="", limit=2):
    """All pages of a list, and the raw text of them."""
    items, raw, after = [], b"", ""
    for _ in range(1000):
        reply = call.get(f"/v1/{noun}?limit={limit}{words}{after}")
        if reply.status != 200:
            return [], reply.body
        raw += reply.body
        items += reply.json["items"]
        if "next" not in reply.json:
            return items, raw
        after = "&after=" + reply.json["next"]
    raise AssertionError("the pages do not end")


def theirs_in(raw, tenant):
    """What of the tenant a text shows."""
    text = raw.decode()
    marks = [*tenant.ids.values(), tenant.other, tenant.object, tenant.name]
    for account in tenant.accounts.values():
        marks += [account.id, account.group, account.token_id]
    return [mark for mark in marks if mark in text]


def lists_are_not_told(w):
    before = w.admin.get("/v1/projects?limit=1").json["revision"]
    b_user = w.b.ids["users"]
    for role in ROLES:
        call = w.a.call(role)
        wrong = []
        for noun in w.kinds:
            for words in ("", f"&organizationId={w.b.id}", "&name=x-project",
                          "&tag=color=red", f"&at={before}"):
                if words.startswith("&org") and noun == "organizations":
                    continue
                if words.startswith("&name") and noun in ("quotas",
                                                          "allocations"):
                    continue
                _, raw = everything(call, noun, words)
                raw = raw.replace(w.b.id.encode(), b"") \
                    if words.startswith("&org") and b'"items"' not in raw \
                    else raw
                wrong += [f"{noun}{words}: {mark}"
                          for mark in theirs_in(raw, w.b)]
        _, raw = everything(call, "tokens", f"&userId={b_user}")
        wrong += theirs_in(raw.replace(b_user.encode(), b""), w.b)
        tap.ok(not wrong, f"the {role} lists nothing of the other", *wrong)
    items, _ = everything(w.a.call(), "projects", "&tag=color=red")
    tap.eq([i["id"] for i in items], [w.a.project], "and all of its own")
    # The last page is the last, whatever others have behind it.
    for noun, words in (("projects", "&tag=color=red"), ("tokens", ""),
                        ("users", ""), ("groups", "")):
        items, _ = everything(w.a.call(), noun, words)
        reply = w.a.call().get(f"/v1/{noun}?limit={len(items)}{words}")
        if "next" in reply.json or len(reply.json["items"]) != len(items):
            tap.ok(False, f"{noun}: a full last page has no next", reply)
    theirs = f"{before}-{w.b.project}"
    mine, _ = everything(w.a.call(), "projects", f"&at={before}")
    reply = w.a.call().get(f"/v1/projects?after={theirs}")
    tap.ok(reply.status == 200 and [i["id"] for i in reply.json["items"]] ==
           [i["id"] for i in mine if i["id"] > w.b.project],
           "a place of the other's in `after` is a place like any", reply)


def long_lists_are_not_told(w):
    """More of others' than a page looks at: pages that come back short."""
    big = made(w.admin.post("/v1/organizations", {"name": "big"}))["id"]
    create_many(w.server, [
        ("/v1/serviceaccounts", {"name": f"m{i}", "organizationId": big,
                                 "tags": {"color": "red"}})
        for i in range(22000)])
    made(w.a.call().post("/v1/serviceaccounts", {
        "name": "mine", "organizationId": w.a.id, "tags": {"color": "red"}}))
    ids = set()
    for item in everything(w.admin, "serviceaccounts",
                           f"&organizationId={big}", 1000)[0]:
        ids.add(item["id"])
    tap.eq(len(ids), 22000, "another has very many")
    own = len(everything(w.admin, "serviceaccounts",
                         f"&organizationId={w.a.id}", 1000)[0])
    for words in ("&tag=color=red", f"&organizationId={big}", ""):
        items, raw = everything(w.a.call(), "serviceaccounts", words)
        told = [id for id in ids if id in raw.decode()]
        want = {"&tag=color=red": 1, "": own}.get(words, 0)
        tap.ok(not told and len(items) == want,
               f"pages that had to pass over them tell none: {words!r}",
               len(items), told[:3], raw[-300:])
    w.admin.delete(f"/v1/organizations/{big}")


def create_many(server, requests, lines=16):
    """As fast as it goes: many connections, pipelined one request each."""
    wrong = []

    def run(part):
        call = Client(server)
        for path, body in part:
            reply = call.post(path, body)
            if reply.status != 201:
                wrong.append(reply)
                return

    threads = [threading.Thread(target=run, args=(requests[i::lines],))
               for i in range(lines)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise AssertionError(f"not made: {wrong[0]!r}")


def be_busy(tenant, count=20):
    """Every kind of change, by an administrator of the tenant."""
    call = tenant.call()
    for i in range(count):
        for noun, more in (("projects", {}), ("serviceaccounts", {}),
                           ("users", {"email": f"u{i}@busy.example"}),
                           ("groups", {})):
            object = made(call.post(f"/v1/{noun}", {
                "name": f"busy-{i}", "organizationId": tenant.id, **more}))
            call.patch(f"/v1/{noun}/{object['id']}", {"description": "busy"})
            call.delete(f"/v1/{noun}/{object['id']}")


def watches_are_not_told(w):
    nouns = list(w.kinds)
    watches = {noun: Watch(w.server, f"/v1/{noun}", token=w.a.accounts[
        "auditor"].secret) for noun in nouns}
    first = b""
    for watch in watches.values():
        first += b"".join(e.data.encode() for e in watch.until("ready"))
    tap.eq(theirs_in(first, w.b), [], "a watch begins with nothing of theirs")
    since = w.admin.get("/v1/projects?limit=1").json["revision"]
    be_busy(w.b)
    mark = made(w.a.call().post("/v1/projects", {
        "name": "mark", "organizationId": w.a.id}))
    events = watches["projects"].until("put")
    tap.ok([e.json["id"] for e in events] == [mark["id"]],
           "what the other does is not in it", events)
    rest = [e for noun in nouns if noun != "projects"
            for e in [watches[noun].next(0.2)] if e]
    tap.eq(rest, [], "nor in the others")
    for watch in watches.values():
        watch.close()
    seen = b""
    for noun in nouns:
        with Watch(w.server, f"/v1/{noun}", last=since,
                   token=w.a.accounts["auditor"].secret) as watch:
            event = watch.next(0.5)
            while event:
                seen += event.data.encode()
                event = watch.next(0.2)
    tap.ok(mark["id"].encode() in seen and b"busy" not in seen and
           not theirs_in(seen, w.b), "nor in one that resumes", seen[:600])
    with Watch(w.server, f"/v1/projects?organizationId={w.b.id}",
               token=w.a.accounts["auditor"].secret) as watch:
        watch.until("ready")
        be_busy(w.b, 1)
        tap.eq(watch.next(0.5), None, "nor in one that asks for them")


def watches_end(w):
    account = Account(w.admin, "watcher", w.a.id, [ROLE["auditor"]])
    user = made(w.admin.post("/v1/users", {
        "name": "watcher", "organizationId": w.a.id,
        "email": "watcher@a.example"}))["id"]
    group = made(w.admin.post("/v1/groups", {
        "name": "watchers", "organizationId": w.a.id, "userIds": [user],
        "roleIds": [ROLE["auditor"]]}))["id"]

    def ended(watch):
        event = watch.until("error")[-1].json
        return (event["status"], event["code"]), watch.next(), watch.ended

    with Watch(w.server, "/v1/projects", token=account.secret) as watch:
        watch.until("ready")
        w.admin.delete(f"/v1/tokens/{account.token_id}")
        tap.eq(ended(watch), ((401, "unauthenticated"), None, True),
               "a watch ends when its token is revoked")
    token = made(w.admin.post("/v1/tokens", {"name": "w", "userId": user}))
    with Watch(w.server, "/v1/projects", token=token["token"]) as watch:
        watch.until("ready")
        w.admin.patch(f"/v1/users/{user}", {"state": "suspended"})
        tap.eq(ended(watch), ((401, "unauthenticated"), None, True),
               "when its user is suspended")
    w.admin.patch(f"/v1/users/{user}", {"state": "active"})
    with Watch(w.server, "/v1/projects", token=token["token"]) as watch:
        watch.until("ready")
        rotated = w.admin.post(f"/v1/tokens/{token['id']}/rotate", None)
        tap.eq(ended(watch), ((401, "unauthenticated"), None, True),
               "and when its token is rotated")
    with Watch(w.server, "/v1/projects",
               token=rotated.json["token"]) as watch:
        watch.until("ready")
        w.admin.delete(f"/v1/groups/{group}")
        be_busy(w.a, 2)
        tap.eq(watch.next(0.5), None,
               "who lost its group is shown nothing more")
    waiter = Client(w.server, w.a.accounts["reader"].secret)
    results = []
    thread = threading.Thread(target=lambda: results.append(waiter.get(
        f"/v1/projects/{w.a.project}?wait=deleted&timeoutMs=2000")))
    thread.start()
    time.sleep(0.3)
    w.admin.delete(f"/v1/tokens/{w.a.accounts['reader'].token_id}")
    thread.join()
    tap.eq(results[0].status, 401, "a wait whose token is gone ends so")
    account = w.a.accounts["reader"]
    account.token = account.new_token("second")
    account.token_id, account.secret = (account.token["id"],
                                        account.token["token"])
    account.call = Client(w.server, account.secret)


def a_long_watch_for_another(w):
    """Acting for another costs a watch nothing that grows."""
    head = {"Muster-Act-As": w.a.accounts["reader"].id}
    watches = []
    for _ in range(20):
        sock = w.server.connect()
        lines = ["GET /v1/projects HTTP/1.1", "Host: x",
                 "Accept: text/event-stream",
                 f"Authorization: Bearer {w.a.accounts['administrator'].secret}"]
        lines += [f"{k}: {v}" for k, v in head.items()]
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        watches.append(sock)
    be_busy(w.b, 10)
    before = w.server.rss_kib()
    be_busy(w.b, 60)
    after = w.server.rss_kib()
    for sock in watches:
        sock.close()
    tap.note(f"20 watches: {before} KiB, {after} KiB after 720 changes")
    # AddressSanitizer keeps what was freed, SQLite's pages among it.
    with open(binary(), "rb") as file:
        most = 100000 if b"__asan_" in file.read() else 8000
    tap.ok(after - before < most, "a watch that acts for another stays small",
           before, after)


def audit_and_whoami(w):
    for role in ("administrator", "auditor"):
        raw = w.a.call(role).get("/v1/audit?limit=1000&result=ok").body
        tap.ok(b'"items":[{' in raw and not theirs_in(raw, w.b),
               f"the {role} reads the trail of its own", theirs_in(raw, w.b))
    call = w.a.call("auditor")
    reply = call.get(f"/v1/audit?organizationId={w.b.id}")
    absent = str(uuid.uuid4())
    want = call.get(f"/v1/audit?organizationId={absent}")
    tap.ok(plain(reply, w.b.id) == plain(want, absent),
           "the other's trail is not there", reply, want)
    raw = b""
    for words in (f"objectId={w.b.project}", f"who={w.b.user}",
                  f"projectId={w.b.project}", "kind=project"):
        raw += call.get(f"/v1/audit?result=ok&{words}").body
    tap.eq(theirs_in(raw, w.b), [], "nor by filters")
    for role in ("user", "reader"):
        reply = w.a.call(role).get("/v1/audit")
        tap.eq(reply.status, 403, f"the {role} reads no trail")
    raw = b"".join(w.a.call(role).get("/v1/whoami").body for role in ROLES)
    tap.eq(theirs_in(raw, w.b), [], "whoami tells of oneself")
    # What A tried with B's ids is in A's trail, and in nobody else's.
    w.a.call().delete(f"/v1/projects/{w.b.project}")
    wait_for(lambda: w.b.project.encode() in
             w.a.call().get("/v1/audit?result=not_found").body)
    raw = w.b.call("auditor").get("/v1/audit?limit=1000").body
    tap.eq(theirs_in(raw, w.a), [], "nor what others tried")


def idempotency_keys(w):
    key = {"Idempotency-Key": "the-same-key"}
    body = {"name": "keyed", "organizationId": w.b.id}
    theirs = made(w.b.call().post("/v1/projects", body, key))
    reply = w.a.call().post("/v1/projects", body, key)
    tap.ok(reply.status == 422 and not reply["Idempotency-Replayed"] and
           theirs["id"] not in reply.body.decode(),
           "another's key does not give another's answer", reply)
    own = w.a.call().post("/v1/projects", {
        "name": "keyed", "organizationId": w.a.id}, key)
    tap.ok(own.status == 201 and own.json["id"] != theirs["id"],
           "nor is it taken", own)
    again = w.b.call().post("/v1/projects", body, key)
    tap.ok(again["Idempotency-Replayed"] == "true" and
           again.json["id"] == theirs["id"], "its own caller gets it again")
    account = w.b.accounts["administrator"]
    narrow = Client(w.server, account.new_token(
        "narrow", projectId=w.b.project)["token"])
    reply = narrow.post("/v1/projects", body, key)
    tap.ok(reply.status in (403, 422), "a narrower token does not", reply)
    reply = w.b.call().post("/v1/projects", body, {
        **key, "Muster-Act-As": w.b.accounts["reader"].id})
    tap.ok(reply.status in (200, 201, 403),
           "nor who acts for one that may not create", reply)


def timing(w):
    call = w.a.call()
    absent = [str(uuid.uuid4()) for _ in range(50)]
    there, not_there = [], []
    for i in range(1500):
        for id, into in ((w.b.project, there),
                         (absent[i % len(absent)], not_there)):
            began = time.perf_counter()
            call.get(f"/v1/projects/{id}")
            into.append(time.perf_counter() - began)
    ratio = statistics.median(there) / statistics.median(not_there)
    tap.note(f"404 of the other's: {statistics.median(there) * 1e6:.1f} us, "
             f"of none: {statistics.median(not_there) * 1e6:.1f} us, "
             f"ratio {ratio:.3f}")
    tap.ok(0.8 < ratio < 1.25, "a 404 takes as long either way", ratio)


def metrics(w):
    call = Client(w.server, "")
    reply = call("GET", "/metrics", headers={"Authorization": None})
    tap.ok(reply.status == 200 and not theirs_in(reply.body, w.a) and
           not theirs_in(reply.body, w.b) and
           not re.search(rb"[0-9a-f]{8}-[0-9a-f]{4}-", reply.body),
           "metrics need no token and name no tenant")


def grants_are_held(w):
    a = w.a.call()
    platform = ROLE["platform-administrator"]
    weak = Account(w.admin, "weak", w.a.id, [made(w.admin.post("/v1/roles", {
        "name": "weak", "organizationId": w.a.id,
        "organization": ["groups:*", "roles:*", "tokens:*", "users:*",
                         "serviceaccounts:*", "organizations:read"]}))["id"]])
    reply = weak.call.post("/v1/groups", {
        "name": "up", "organizationId": w.a.id,
        "serviceAccountIds": [weak.id], "roleIds": [ROLE["administrator"]]})
    tap.eq(reply.status, 403, "a group gives no role that its maker lacks")
    strong = w.a.accounts["administrator"]
    for what, body in (
            ("members", {"serviceAccountIds": [strong.id, weak.id]}),
            ("external groups", {"externalGroups": ["x/y"]}),
            ("a description", {"description": "x"})):
        reply = weak.call.patch(f"/v1/groups/{strong.group}", body)
        tap.eq(reply.status, 403, f"nor is {what} changed in a stronger group")
    # Who cannot even read roles must not pass by that.
    blind = Account(w.admin, "blind", w.a.id, [made(w.admin.post("/v1/roles", {
        "name": "blind", "organizationId": w.a.id,
        "organization": ["groups:*", "serviceaccounts:read"]}))["id"]])
    reply = blind.call.patch(f"/v1/groups/{strong.group}", {
        "serviceAccountIds": [strong.id, blind.id]})
    tap.eq(reply.status, 403, "nor by one who cannot read the roles")
    reply = weak.call.post("/v1/roles", {
        "name": "up", "organizationId": w.a.id,
        "organization": ["projects:delete"]})
    tap.eq(reply.status, 403, "a role permits nothing that its maker may not")
    role = made(weak.call.post("/v1/roles", {
        "name": "even", "organizationId": w.a.id,
        "organization": ["groups:read"]}))["id"]
    reply = weak.call.patch(f"/v1/roles/{role}", {
        "organization": ["groups:read", "projects:delete"]})
    tap.eq(reply.status, 403, "nor after a change")
    for level in ("platform", "organization", "project"):
        reply = a.post("/v1/roles", {"name": "up2", "organizationId": w.a.id,
                                     level: ["*:*"]})
        tap.ok(reply.status in (403, 422), f"no *:* at the {level}", reply)
    reply = a.post("/v1/groups", {"name": "up", "roleIds": [platform],
                                  "serviceAccountIds": [strong.id]})
    tap.eq(reply.status, 403, "no group of the platform by a tenant")
    reply = a.post("/v1/groups", {
        "name": "up", "organizationId": w.a.id, "roleIds": [platform],
        "serviceAccountIds": [strong.id]})
    who = strong.call.get("/v1/whoami").json
    tap.ok(not any("organizationId" not in g for g in who["grants"]),
           "a platform's role in a tenant's group gives nothing", reply)
    reply = weak.call.post("/v1/tokens", {"name": "theirs",
                                          "serviceAccountId": strong.id})
    tap.eq(reply.status, 403, "no token for a stronger account")
    reply = weak.call.post(f"/v1/tokens/{strong.token_id}/rotate", None)
    tap.eq(reply.status, 403, "a stronger account's token is not rotated")
    reply = w.admin.patch(f"/v1/tokens/{strong.token_id}", {
        "digest": "0" * 64, "description": "mine"})
    tap.eq(reply.status, 422, "nor is a secret slipped under it")
    tap.eq(strong.call.get("/v1/whoami").status, 200, "and still works")
    boss = made(w.admin.post("/v1/users", {
        "name": "boss", "organizationId": w.a.id,
        "email": "boss@a.example"}))["id"]
    made(w.admin.post("/v1/groups", {
        "name": "bosses", "organizationId": w.a.id, "userIds": [boss],
        "roleIds": [ROLE["administrator"]]}))
    for body in ({"email": "me@a.example"}, {"subject": "me"},
                 {"issuer": "https://evil.example", "subject": "me"}):
        reply = weak.call.patch(f"/v1/users/{boss}", body)
        tap.eq(reply.status, 403,
               f"a stronger user is not made another person: {list(body)}")
    reply = weak.call.patch(f"/v1/users/{boss}", {"state": "suspended"})
    tap.eq(reply.status, 200, "suspending one takes nothing from anyone")
    reply = weak.call.patch(f"/v1/users/{boss}", {"state": "active"})
    tap.eq(reply.status, 403, "but waking one does give")
    reply = weak.call.patch(f"/v1/users/{boss}", {"description": "x"})
    tap.eq(reply.status, 200, "and the rest can be changed")


def administrators_appoint(w):
    for role in ROLES:
        reply = w.a.call().post("/v1/groups", {
            "name": f"appointed-{role}", "organizationId": w.a.id,
            "userIds": [w.a.user], "roleIds": [ROLE[role]],
            "projectIds": [w.a.project]})
        tap.eq(reply.status, 201, f"an administrator appoints the {role}")
        w.a.call().delete(f"/v1/groups/{reply.json.get('id')}")


def built_in_roles_are_fixed(w):
    wrong = []
    for call in (w.admin, w.a.call()):
        for name, id in ROLE.items():
            for method, body in (("PATCH", {"description": "x"}),
                                 ("PUT", {"name": name}),
                                 ("DELETE", None)):
                reply = call(method, f"/v1/roles/{id}", body)
                if reply.status not in (403, 409):
                    wrong.append(f"{method} {name}: {reply!r}")
    tap.ok(not wrong, "nobody changes a built-in role", *wrong)


def platform_reader(w):
    reader = Account(w.admin, "platform-reader",
                     roles=[ROLE["platform-reader"]])
    wrong = []
    for tenant in (w.a, w.b):
        for noun, id in tenant.ids.items():
            reply = reader.call.get(f"/v1/{noun}/{id}")
            if reply.status != 200:
                wrong.append(f"GET {noun}: {reply!r}")
            for method, body in (("PATCH", {"description": "x"}),
                                 ("PUT", {"name": "n"}), ("DELETE", None)):
                reply = reader.call(method, f"/v1/{noun}/{id}", body)
                if reply.status != 403:
                    wrong.append(f"{method} {noun}: {reply!r}")
        for noun, body in (
                ("projects", {"name": "p"}), ("groups", {"name": "p"}),
                ("serviceaccounts", {"name": "p"}),
                ("quotas", {"limits": []})):
            reply = reader.call.post(f"/v1/{noun}",
                                     dict(body, organizationId=tenant.id))
            if reply.status != 403:
                wrong.append(f"POST {noun}: {reply!r}")
    for path in (f"/v1/tokens/{reader.token_id}/rotate",
                 f"/v1/tokens/{w.a.ids['tokens']}/rotate"):
        reply = reader.call.post(path, None)
        if reply.status != 403:
            wrong.append(f"{path}: {reply!r}")
    reply = reader.call.post("/v1/tokens", {"name": "more",
                                            "serviceAccountId": reader.id})
    if reply.status != 403:
        wrong.append(f"POST tokens: {reply!r}")
    reply = reader.call("GET", "/v1/projects", headers={
        "Muster-Act-As": w.a.accounts["administrator"].id})
    if reply.status != 403:
        wrong.append(f"act as: {reply!r}")
    tap.ok(not wrong, "who may read everything can do nothing else", *wrong)


def token_scopes(w):
    account = w.a.accounts["administrator"]
    narrow = Client(w.server, account.new_token(
        "project", projectId=w.a.project)["token"])
    tap.eq([narrow.get(f"/v1/projects/{id}").status
            for id in (w.a.project, w.a.other, w.b.project)],
           [200, 404, 404], "a project's token reads that project")
    tap.eq([p["id"] for p in narrow.get("/v1/projects").json["items"]],
           [w.a.project], "and lists it")
    tap.eq(narrow.get("/v1/users").json["items"], [], "and nothing else")
    reply = narrow.post("/v1/tokens", {"name": "wide",
                                       "serviceAccountId": account.id})
    tap.ok(reply.status in (403, 422), "it makes no wider token", reply)
    me = w.admin.get("/v1/whoami").json["id"]
    limited = Client(w.server, made(w.admin.post("/v1/tokens", {
        "name": "only-a", "organizationId": w.a.id,
        "serviceAccountId": me}))["token"])
    tap.eq([limited.get(f"/v1/organizations/{t.id}").status
            for t in (w.a, w.b)], [200, 404],
           "an organization's token of the platform's administrator")
    tap.eq([o["id"] for o in limited.get("/v1/organizations").json["items"]],
           [w.a.id], "lists that one")
    reply = limited.post("/v1/organizations", {"name": "third"})
    tap.eq(reply.status, 403, "makes no other")
    reply = limited.post("/v1/tokens", {"name": "wide2",
                                        "serviceAccountId": me})
    tap.ok(reply.status in (403, 422), "and no wider token", reply)
    reply = w.a.call().post("/v1/tokens", {
        "name": "old", "serviceAccountId": account.id,
        "expiresAt": "2020-01-01T00:00:00Z"})
    tap.eq(reply.status, 422, "no token is made expired")
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    short = Client(w.server, account.new_token("short",
                                               expiresAt=soon)["token"])
    tap.eq(short.get("/v1/whoami").status, 200, "one that expires works")
    wait_for(lambda: short.get("/v1/whoami").status != 200)
    tap.eq(short.get("/v1/whoami").status, 401, "until then")
    token = account.new_token("rotated")
    old = Client(w.server, token["token"])
    tap.eq(old.get("/v1/whoami").status, 200, "a token works")
    new = account.call.post(f"/v1/tokens/{token['id']}/rotate", None)
    tap.eq(old.get("/v1/whoami").status, 401, "its old secret does not, once "
           "it is rotated")
    fresh = Client(w.server, new.json["token"])
    tap.eq(fresh.get("/v1/whoami").json["tokenId"], token["id"],
           "the new one does")
    tap.ok("token" not in account.call.get(f"/v1/tokens/{token['id']}").json
           and "digest" not in
           account.call.get(f"/v1/tokens/{token['id']}").json,
           "the secret is never read again")
    account.call.delete(f"/v1/tokens/{token['id']}")
    tap.eq(fresh.get("/v1/whoami").status, 401, "and not when it is deleted")
    head = json.dumps(account.call.get("/v1/tokens").json)
    tap.ok("muster_" not in head, "lists have no secrets")


def acting_for_another(w):
    admin, reader = w.a.accounts["administrator"], w.a.accounts["reader"]

    def act(call, id, method="GET", path="/v1/whoami", body=None):
        return call(method, path, body, {"Muster-Act-As": id})

    who = act(admin.call, reader.id).json
    tap.ok(who["id"] == admin.id and who["actingFor"]["id"] == reader.id,
           "who acts for another is both", who)
    tap.eq(act(admin.call, reader.id, path=f"/v1/projects/{w.a.project}")
           .status, 200, "what both may is permitted")
    tap.eq(act(admin.call, reader.id, "PATCH", f"/v1/projects/{w.a.project}",
               {"description": "x"}).status, 403,
           "what only the first may is not")
    tap.eq(act(admin.call, reader.id, path="/v1/users").status, 403,
           "not even read")
    platform = Account(w.admin, "actor", roles=[ROLE["platform-reader"]])
    tap.eq(act(platform.call, admin.id).status, 403,
           "acting needs a permission of its own")
    # The platform's administrator for a tenant's: no more than the tenant.
    tap.eq(act(w.admin, admin.id, path=f"/v1/projects/{w.b.project}").status,
           404, "what only the first may see is not there")
    absent = str(uuid.uuid4())
    got, want = (act(admin.call, id) for id in
                 (w.b.accounts["administrator"].id, absent))
    tap.ok(plain(got, w.b.accounts["administrator"].id) ==
           plain(want, absent) and got.status == 403,
           "the other's accounts are as if they were not", got, want)
    got, want = (act(admin.call, id) for id in (w.b.user, absent))
    tap.ok(plain(got, w.b.user) == plain(want, absent), "and its users", got)
    tap.eq(act(reader.call, admin.id).status, 403, "a reader acts for nobody")
    # A front that acts for people must not be made to give itself away.
    maker = Account(w.admin, "maker", w.a.id, [made(w.admin.post(
        "/v1/roles", {"name": "maker", "organizationId": w.a.id,
                      "organization": ["tokens:*", "serviceaccounts:read"]}
    ))["id"]])
    reply = act(admin.call, maker.id, "POST", "/v1/tokens",
                {"name": "gift", "serviceAccountId": admin.id})
    tap.eq(reply.status, 403, "no token of the one who acts for one who could "
           "not have made it")
    reply = act(admin.call, maker.id, "POST",
                f"/v1/tokens/{admin.token_id}/rotate")
    tap.eq(reply.status, 403, "nor is one rotated")
    reply = act(admin.call, reader.id, "POST", "/v1/projects",
                {"name": "by-both", "organizationId": w.a.id})
    tap.eq(reply.status, 403, "nothing is created that one of them may not")
    suspended = made(w.admin.post("/v1/users", {
        "name": "gone", "organizationId": w.a.id, "state": "suspended",
        "email": "gone@a.example"}))["id"]
    tap.eq(act(admin.call, suspended).status, 403, "nobody is a suspended one")


def nothing_is_in_two_organizations(w):
    """Nor can those make it so who see both."""
    wrong = {"userIds": [w.b.user], "projectIds": [w.b.project],
             "roleIds": [w.b.ids["roles"]],
             "serviceAccountIds": [w.b.ids["serviceaccounts"]]}
    for field, ids in wrong.items():
        reply = w.admin.post("/v1/groups", {
            "name": "both", "organizationId": w.a.id, field: ids})
        tap.eq(reply.status, 422, f"a group has none of another organization's"
               f" {field}")
        reply = w.admin.patch(f"/v1/groups/{w.a.ids['groups']}", {field: ids})
        tap.eq(reply.status, 422, "nor does it get one")


def many_projects(w):
    """As much as a tenant can put into its own groups."""
    create_many(w.server, [("/v1/projects", {
        "name": f"many-{i}", "organizationId": w.a.id}) for i in range(1000)])
    ids = [p["id"] for p in everything(
        w.a.call(), "projects", f"&organizationId={w.a.id}", 1000)[0]]
    account = Account(w.admin, "many", w.a.id, [])
    roles = [ROLE["user"], ROLE["reader"]]
    for i in range(3):
        roles.append(made(w.a.call().post("/v1/roles", {
            "name": f"many-{i}", "organizationId": w.a.id,
            "project": ["projects:read"]}))["id"])
    for i in range(4):
        reply = w.a.call().post("/v1/groups", {
            "name": f"many-{i}", "organizationId": w.a.id,
            "serviceAccountIds": [account.id], "roleIds": roles,
            "projectIds": sorted(ids, reverse=i % 2)[:1024]})
        if reply.status != 201:
            tap.ok(False, "a group of many projects", reply)
    who = account.call.get("/v1/whoami")
    tap.ok(who.status == 200 and len(who.json["grants"]) == len(ids) + 1,
           "rights in very many projects are one a project",
           who.status, len(ids))
    reply = account.call.patch(f"/v1/projects/{ids[0]}", {"description": "m"})
    tap.eq(reply.status, 200, "and hold")


def main():
    world = World()
    contract = OpenApi(world.admin.get("/v1/openapi.json").json)
    for role in ROLES:
        world.a.call(role).contract = contract
    for section in (ids_are_not_told, names_are_not_told,
                    references_are_not_told, lists_are_not_told,
                    watches_are_not_told, watches_end, audit_and_whoami,
                    idempotency_keys, timing, metrics, grants_are_held,
                    administrators_appoint, built_in_roles_are_fixed,
                    platform_reader, token_scopes,
                    acting_for_another, a_long_watch_for_another,
                    nothing_is_in_two_organizations, many_projects, long_lists_are_not_told):
        tap.section(section, world)
    tap.ok(not contract.problems, "every answer was as the document says",
           *contract.problems[:5])
    tap.eq(world.server.stop(), 0, "the server ends well")
    tap.end()


main()

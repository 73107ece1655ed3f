#!/usr/bin/python3
"""Deleting an organization of 10,000 objects, through kill -9 at random moments.

While it goes away, others try to put things into it.  When it has ended nothing
of it is left, and a second organization is what it was, byte for byte.

CRASHES says how often the server is killed on the way; 8 unless told.  OBJECTS
says how large the organization is, SEED replays the choices, not the timing.
"""

import os
import random
import re
import threading
import time
import uuid

from muster import PATIENCE, Client, Server, run, tap, wait_for
from tenant import ROLE, Tenant, made

CRASHES = int(os.environ.get("CRASHES", "8"))
OBJECTS = int(os.environ.get("OBJECTS", "10000"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
LINES = 24
NOUNS = ("organizations", "projects", "users", "serviceaccounts", "roles",
         "groups", "tokens", "quotas", "allocations", "events")


def in_parallel(server, requests):
    """The ids that the requests made, in their order."""
    ids, wrong = [None] * len(requests), []

    def one(first):
        call = Client(server)
        for i in range(first, len(requests), LINES):
            reply = call.post(*requests[i])
            if reply.status != 201:
                wrong.append(reply)
                return
            ids[i] = reply.json["id"]
        call.close()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(LINES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong or None in ids:
        raise AssertionError(f"not made: {wrong[:1]!r}")
    return ids


def fill(server, org, total):
    """As many objects as that, of every kind, that refer to each other."""
    def share(part):
        return total * part // 100

    own = {"organizationId": org}
    projects = in_parallel(server, [("/v1/projects", {
        "name": f"p{i}", **own}) for i in range(share(5))])
    users = in_parallel(server, [("/v1/users", {
        "name": f"u{i}", "email": f"u{i}@big.example", **own})
        for i in range(share(20))])
    accounts = in_parallel(server, [("/v1/serviceaccounts", {
        "name": f"s{i}", **own}) for i in range(share(15))])
    roles = in_parallel(server, [("/v1/roles", {
        "name": f"r{i}", "project": ["projects:read"], **own})
        for i in range(share(2))])
    groups = in_parallel(server, [("/v1/groups", {
        "name": f"g{i}", "userIds": users[i:i + 40],
        "serviceAccountIds": accounts[i:i + 20],
        "roleIds": [ROLE["user"], roles[i % len(roles)]],
        "projectIds": projects[i % len(projects):][:10], **own})
        for i in range(share(3))])
    tokens = in_parallel(server, [("/v1/tokens", {
        "name": f"t{i}", "serviceAccountId": accounts[i % len(accounts)]}
        if i % 2 else {"name": f"t{i}", "userId": users[i % len(users)]})
        for i in range(share(30))])
    quotas = in_parallel(server, [("/v1/quotas", {
        **own, "limits": [{"kind": "vcpus", "limit": 1 << 30}]})] + [(
            "/v1/quotas", {"projectId": project, **own, "limits": [
                {"kind": "vcpus", "limit": 1 << 20}]})
            for project in projects])
    allocations = in_parallel(server, [("/v1/allocations", {
        "projectId": projects[i % len(projects)], "objectKind": "thing",
        "objectId": str(uuid.uuid4()), **own,
        "amounts": [{"kind": "vcpus", "committed": 2, "reserved": 1}]})
        for i in range(share(20))])
    return {"projects": projects, "users": users, "serviceaccounts": accounts,
            "roles": roles, "groups": groups, "tokens": tokens,
            "quotas": quotas, "allocations": allocations}


def picture(api, org):
    """Everything of an organization, byte for byte, and what it uses."""
    pages = [api.get(f"/v1/organizations/{org}").body,
             api.get(f"/v1/organizations/{org}/usage").body]
    for noun in NOUNS[1:]:
        after = ""
        while True:
            reply = api.get(f"/v1/{noun}?organizationId={org}&limit=1000"
                            f"{after}")
            pages.append(re.sub(rb'"(revision|next)":"?[-0-9a-f]+"?}$', b"",
                                reply.body))
            if "next" not in reply.json:
                break
            after = "&after=" + reply.json["next"]
    return pages


def counts(api):
    text = api.get("/metrics").body.decode()
    return {kind: int(n) for kind, n in re.findall(
        r'^muster_objects\{[^}]*"(\w+)"[^}]*\} (\d+)$', text, re.M)}


class Intruder:
    """Tries to put things into what is being deleted."""

    def __init__(self, server, org, made_of):
        self.server, self.org, self.of = server, org, made_of
        self.statuses, self.wrong = {}, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def requests(self, rand):
        own = {"organizationId": self.org}
        name = str(uuid.uuid4())
        project = rand.choice(self.of["projects"])
        yield "projects", {"name": name, **own}
        yield "users", {"name": name, "email": "x@x.example", **own}
        yield "serviceaccounts", {"name": name, **own}
        yield "roles", {"name": name, **own}
        yield "groups", {"name": name, **own,
                         "roleIds": [ROLE["administrator"]]}
        yield "tokens", {"name": name, "serviceAccountId":
                         rand.choice(self.of["serviceaccounts"])}
        yield "tokens", {"name": name, "userId": rand.choice(
            self.of["users"])}
        yield "quotas", {"projectId": project, "limits": [], **own}
        yield "allocations", {"projectId": project, "objectKind": "thing",
                              "objectId": name, "amounts": [], **own}

    def work(self):
        rand = random.Random(SEED + 1)
        while not self.over.is_set():
            try:
                call = Client(self.server)
                while not self.over.is_set():
                    for noun, body in self.requests(rand):
                        reply = call.post(f"/v1/{noun}", body)
                        n = self.statuses.get(reply.status, 0)
                        self.statuses[reply.status] = n + 1
                        if reply.status not in (409, 422, 503):
                            self.wrong.append(f"{noun}: {reply!r}")
            except (OSError, ValueError, TypeError):
                time.sleep(0.02)


def is_there(api, org):
    return api.get(f"/v1/organizations/{org}").status == 200


def crash_until_gone(server, org, most):
    """Kill it while the deletion is under way; how often."""
    rand = random.Random(f"{SEED} {org}")
    crashes = 0
    while crashes < most and is_there(Client(server), org):
        time.sleep(rand.random() * 0.3 / most)
        server.kill9()
        crashes += 1
        server.start()
    return crashes


class Bystander:
    """An organization that has nothing to do with it."""

    def __init__(self, api):
        self.id = Tenant(api, "bystander").id
        self.counts = counts(api)
        self.pages = picture(api, self.id)


def delete_it(server, org, of, most):
    """Delete what FILL made; how often it was killed on the way."""
    intruder = Intruder(server, org, of)
    began = time.monotonic()
    reply = Client(server).delete(f"/v1/organizations/{org}")
    tap.ok(reply.status == 202 and reply.json["deletedAt"],
           "deleting it is begun", reply)
    intruder.thread.start()
    crashes = crash_until_gone(server, org, most)
    api = Client(server)
    wait_for(lambda: not is_there(api, org), 10 * PATIENCE)
    took = time.monotonic() - began
    time.sleep(0.2)
    intruder.over.set()
    intruder.thread.join()
    tap.note(f"gone after {crashes} crashes and {took:.1f} s; intruder: "
             f"{intruder.statuses}")
    tap.ok(not is_there(api, org), "the deletion comes to its end")
    tap.ok(not intruder.wrong and intruder.statuses,
           "nothing could be put into it meanwhile", *intruder.wrong[:3])
    return crashes


def nothing_left(server, org, of, bystander):
    api = Client(server)
    left = {noun: len(api.get(f"/v1/{noun}?organizationId={org}")
                      .json["items"]) for noun in NOUNS[1:]}
    tap.eq(set(left.values()), {0}, "nothing of it is left in any list")
    rand = random.Random(SEED)
    there = [id for noun, ids in of.items()
             for id in rand.sample(ids, min(20, len(ids)))
             if api.get(f"/v1/{noun}/{id}").status != 404]
    tap.eq(there, [], "nor by id")
    tap.eq(counts(api), bystander.counts, "nor in the numbers")
    tap.eq(picture(api, bystander.id), bystander.pages,
           "the other organization is what it was, byte for byte")
    entries, target = [], f"/v1/audit?action=cascade&objectId={org}&limit=1000"
    while target:
        page = api.get(target).json
        entries += page["items"]
        target = page.get("next") and (f"/v1/audit?action=cascade&objectId="
                                       f"{org}&limit=1000&after={page['next']}")
    tap.eq(sum(entry["count"] for entry in entries),
           # And the event that its deletion began.
           sum(len(ids) for ids in of.values()) + 1,
           "the trail counts what went with it")
    status, said = run("fsck", "--data", server.data)
    tap.ok(status == 0 and said.endswith(" 0 differences\n"),
           "everything holds together, quota too", said)


def once(server, bystander, most):
    """An organization comes and goes."""
    api = Client(server)
    org = made(api.post("/v1/organizations", {"name": "doomed"}))["id"]
    began = time.monotonic()
    of = fill(server, org, OBJECTS)
    total = sum(len(ids) for ids in of.values()) + 1
    tap.note(f"made {total} objects in {time.monotonic() - began:.1f} s")
    tap.ok(total >= OBJECTS * 0.95, f"an organization of {total} objects")
    use = {u["kind"]: u for u in
           api.get(f"/v1/organizations/{org}/usage").json["items"]}["vcpus"]
    tap.eq(use["used"], 3 * len(of["allocations"]), "its use is the sum")
    crashes = delete_it(server, org, of, most)
    nothing_left(server, org, of, bystander)
    return crashes


def main():
    tap.note(f"CRASHES={CRASHES} OBJECTS={OBJECTS} SEED={SEED}")
    server = Server().start()
    bystander = Bystander(Client(server))
    crashes = 0
    while crashes < CRASHES:
        crashes += once(server, bystander, CRASHES - crashes)
    tap.ok(True, f"killed {crashes} times on the way")
    server.restart()
    tap.eq(picture(Client(server), bystander.id), bystander.pages,
           "and after another start")
    tap.eq(server.stop(), 0, "the server ends well")
    tap.end()


def undisturbed():
    """How long it takes when nobody disturbs it."""
    server = Server().start()
    api = Client(server)
    org = made(api.post("/v1/organizations", {"name": "calm"}))["id"]
    fill(server, org, OBJECTS)
    began = time.monotonic()
    api.delete(f"/v1/organizations/{org}")
    worst = 0
    while True:
        asked = time.monotonic()
        if not is_there(api, org):
            break
        worst = max(worst, time.monotonic() - asked)
        time.sleep(0.001)
    tap.note(f"{OBJECTS} objects undisturbed: {time.monotonic() - began:.2f} "
             f"s, slowest answer meanwhile {worst * 1000:.0f} ms")
    server.kill9()


tap.section(undisturbed)
main()

#!/usr/bin/python3
"""Quota: the last unit goes to one, and what is used is the sum of what is.

Many clients race for what is left, again and again, over restarts and crashes
of the server; then limits at both levels, kinds, plans and releases.

RACES says how often; 20 unless told.
"""

import os
import random
import threading
import uuid

from muster import Client, Server, run, tap
from tenant import made

RACES = int(os.environ.get("RACES", "20"))
CLIENTS = 64


def allocation(organization, project=None, kind="instances", committed=1,
               reserved=0, object=None):
    body = {"organizationId": organization, "objectKind": "thing",
            "objectId": object or str(uuid.uuid4()),
            "amounts": [{"kind": kind, "committed": committed,
                         "reserved": reserved}]}
    if project:
        body["projectId"] = project
    return body


def usage(api, noun, id):
    return {item["kind"]: item
            for item in api.get(f"/v1/{noun}/{id}/usage").json["items"]}


def all_of(api, noun, words=""):
    items, after = [], ""
    while True:
        page = api.get(f"/v1/{noun}?limit=1000{words}{after}").json
        items += page["items"]
        if "next" not in page:
            return items
        after = "&after=" + page["next"]


def sums(api, organization, project=None):
    """By kind, what the allocations add up to."""
    words = f"&projectId={project}" if project else \
        f"&organizationId={organization}"
    total = {}
    for item in all_of(api, "allocations", words):
        for amount in item["amounts"]:
            use = total.setdefault(amount["kind"], [0, 0])
            use[0] += amount["committed"]
            use[1] += amount["reserved"]
    return total


def agrees(api, organization, projects=()):
    """Whether the usage endpoints tell the sums of the allocations."""
    wrong = []
    for noun, id, project in [("organizations", organization, None)] + \
            [("projects", p, p) for p in projects]:
        have = sums(api, organization, project)
        for kind, use in usage(api, noun, id).items():
            want = have.get(kind, [0, 0])
            if [use["committed"], use["reserved"]] != want or \
                    use["used"] != sum(want) or \
                    ("limit" in use and
                     use["free"] != max(0, use["limit"] - use["used"])):
                wrong.append(f"{noun} {kind}: {use} but {want}")
    return wrong


class World:
    def __init__(self):
        self.server = Server().start()
        self.api = Client(self.server)
        self.n = 0

    def organization(self, projects=1):
        self.n += 1
        id = made(self.api.post("/v1/organizations",
                                {"name": f"o-{self.n}"}))["id"]
        return [id] + [made(self.api.post("/v1/projects", {
            "name": f"p-{i}", "organizationId": id}))["id"]
            for i in range(projects)]


def race(server, bodies):
    """All at once, each on its own connection: the statuses and codes."""
    ready = threading.Barrier(len(bodies))
    replies = [None] * len(bodies)

    def one(i):
        client = Client(server)
        client.get("/v1/version")
        ready.wait()
        replies[i] = client.post("/v1/allocations", bodies[i])
        client.close()

    threads = [threading.Thread(target=one, args=(i,))
               for i in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def races(w):
    """Ten of a kind may be used, nine are: sixty-four want the tenth."""
    wrong = []
    for n in range(RACES):
        org, project = w.organization()
        level = n % 3  # who is limited: by default, organization, project
        if level:
            body = {"organizationId": org,
                    "limits": [{"kind": "instances", "limit": 10}]}
            if level == 2:
                body["projectId"] = project
            made(w.api.post("/v1/quotas", body))
        made(w.api.post("/v1/allocations",
                        allocation(org, project, committed=6, reserved=3)))
        if n % 5 == 3:
            w.server.restart()
        elif n % 5 == 4:
            w.server.kill9()
            w.server.start()
        replies = race(w.server, [
            allocation(org, project, committed=i % 2, reserved=1 - i % 2)
            for i in range(CLIENTS)])
        statuses = [r.status for r in replies]
        refused = {(r.json["code"], r.json.get("field")) for r in replies
                   if r.status != 201}
        if statuses.count(201) != 1 or statuses.count(403) != CLIENTS - 1 or \
                refused != {("quota_exceeded", "/amounts")}:
            wrong.append(f"{n}: {statuses} {refused}")
        use = usage(w.api, "organizations", org)["instances"]
        if use["used"] != 10:
            wrong.append(f"{n}: {use}")
        wrong += agrees(w.api, org, [project])
        # Whoever released it may have it again; and one more, nobody.
        winner = next(r for r in replies if r.status == 201).json["id"]
        w.api.delete(f"/v1/allocations/{winner}")
        again = race(w.server, [allocation(org, project) for _ in range(4)])
        if sorted(r.status for r in again) != [201, 403, 403, 403]:
            wrong.append(f"{n}: after a release {again}")
    tap.ok(not wrong, f"the last unit goes to one of {CLIENTS}, {RACES} times",
           *wrong[:10])


def one_object_once(w):
    org, project = w.organization()
    object = str(uuid.uuid4())
    replies = race(w.server, [allocation(org, project, object=object)
                              for _ in range(CLIENTS)])
    statuses = sorted(r.status for r in replies)
    tap.eq(statuses, [201] + [409] * (CLIENTS - 1),
           "an object is charged for once")


def levels(w):
    org, first, second = w.organization(2)
    quota = made(w.api.post("/v1/quotas", {
        "organizationId": org, "limits": [{"kind": "vcpus", "limit": 10}]}))
    partial = made(w.api.post("/v1/quotas", {
        "organizationId": org, "projectId": first,
        "limits": [{"kind": "vcpus", "limit": 4}]}))

    def take(project, n):
        return w.api.post("/v1/allocations", allocation(
            org, project, "vcpus", n))

    tap.eq(take(first, 5).status, 403, "a project has a limit of its own")
    tap.eq(take(first, 4).status, 201, "and may use it up")
    tap.eq(take(first, 1).status, 403, "and no more")
    tap.eq(take(second, 7).status, 403, "the organization's holds for all")
    tap.eq(take(second, 6).status, 201, "to the last one")
    reply = take(None, 1)
    tap.ok(reply.status == 403 and reply.json["code"] == "quota_exceeded",
           "also without a project", reply)
    tap.ok("10" in reply.json["detail"] and "11" in reply.json["detail"],
           "the refusal says how much and how far", reply)
    wrong = agrees(w.api, org, [first, second])
    tap.ok(not wrong, "use is the sum, at both levels", *wrong)
    for id, limit, status in ((quota["id"], 9, 409), (partial["id"], 3, 409),
                              (quota["id"], 10, 200), (quota["id"], 11, 200)):
        reply = w.api.patch(f"/v1/quotas/{id}", {
            "limits": [{"kind": "vcpus", "limit": limit}]})
        tap.eq(reply.status, status, f"a limit of {limit} where 10 or 4 are "
               "in use")
    reply = w.api.post("/v1/quotas", {"organizationId": org, "limits": []})
    tap.eq(reply.status, 409, "an organization has one quota")
    reply = w.api.delete(f"/v1/quotas/{partial['id']}")
    tap.eq(reply.status, 204, "a project's quota can go")
    tap.eq(take(first, 1).status, 201, "then the organization's alone holds")
    for body in ({"kind": "vcpus", "limit": -1}, {"kind": "vcpus"},
                 {"limit": 1}, {"kind": "vcpus", "limit": 1 << 60}):
        reply = w.api.patch(f"/v1/quotas/{quota['id']}", {"limits": [body]})
        tap.eq(reply.status, 422, f"no limit: {body}")
    reply = w.api.patch(f"/v1/quotas/{quota['id']}", {
        "limits": [{"kind": "vcpus", "limit": 50},
                   {"kind": "vcpus", "limit": 5000}]})
    tap.eq(reply.status, 422, "a kind has one limit")


def growing(w):
    """An allocation that changes is charged for the difference."""
    org, project = w.organization()
    made(w.api.post("/v1/quotas", {
        "organizationId": org, "limits": [{"kind": "vcpus", "limit": 10}]}))
    id = made(w.api.post("/v1/allocations", allocation(
        org, project, "vcpus", 6)))["id"]

    def grow(n, reserved=0):
        return w.api.patch(f"/v1/allocations/{id}", {"amounts": [
            {"kind": "vcpus", "committed": n, "reserved": reserved}]}).status

    tap.eq([grow(11), grow(10), grow(5, 6), grow(5, 5), grow(2)],
           [403, 200, 403, 200, 200], "it grows as far as the limit")
    tap.eq(usage(w.api, "projects", project)["vcpus"]["used"], 2,
           "and what was refused has changed nothing")
    reply = w.api.patch(f"/v1/allocations/{id}", {
        "objectId": str(uuid.uuid4())})
    tap.eq(reply.status, 422, "whose it is does not change")
    w.api.delete(f"/v1/allocations/{id}")
    tap.eq(usage(w.api, "organizations", org)["vcpus"]["used"], 0,
           "released, it is free")


def kinds(w):
    org, project = w.organization()
    tap.eq(w.api.post("/v1/allocations", allocation(
        org, project, "floatingips")).status, 422, "an unknown kind is "
        "refused, not unlimited")
    tap.eq(w.api.post("/v1/quotas", {"organizationId": org, "limits": [
        {"kind": "floatingips", "limit": 1}]}).status, 422, "nor limited")
    kind = made(w.api.post("/v1/quotakinds", {
        "name": "licences", "unit": 'seat "gold"', "default": 2}))["id"]
    tap.eq([w.api.post("/v1/allocations", allocation(
        org, project, "licences")).status for _ in range(3)],
        [201, 201, 403], "a kind that an operator adds is limited at once")
    use = usage(w.api, "organizations", org)["licences"]
    tap.eq((use["used"], use["limit"], use["free"], use["unit"]),
           (2, 2, 0, 'seat "gold"'), "and told")
    tap.eq(w.api.delete(f"/v1/quotakinds/{kind}").status, 409,
           "it cannot go while it is used")
    tap.eq(w.api.patch(f"/v1/quotakinds/{kind}", {"default": 1}).status, 409,
           "nor can its default fall below what is used")
    tap.eq(w.api.patch(f"/v1/quotakinds/{kind}", {"default": 3}).status, 200,
           "but rise")
    tap.eq(w.api.post("/v1/allocations", allocation(
        org, project, "licences")).status, 201, "which holds at once")
    for item in all_of(w.api, "allocations", f"&organizationId={org}"):
        w.api.delete(f"/v1/allocations/{item['id']}")
    tap.eq(w.api.delete(f"/v1/quotakinds/{kind}").status, 204,
           "then it can go")
    tap.eq(w.api.post("/v1/allocations", allocation(
        org, project, "licences")).status, 422, "and is unknown again")
    huge = (1 << 52)
    statuses = [w.api.post("/v1/allocations", allocation(
        org, project, "spend", huge)).status for _ in range(3)]
    tap.eq(statuses, [201, 403, 403], "without a limit there is still an end")


def plans(w):
    org, project = w.organization()
    made(w.api.post("/v1/quotas", {
        "organizationId": org, "limits": [{"kind": "vcpus", "limit": 10}]}))

    def plan(n):
        return w.api.post("/v1/allocations?plan=true", allocation(
            org, project, "vcpus", n))

    before = w.api.get("/v1/allocations?limit=1").json["revision"]
    fits, not_fits = plan(10), plan(11)
    tap.ok(fits.status == 200 and fits.json["plan"]["action"] == "create",
           "a plan says that it would fit", fits)
    tap.ok(not_fits.status == 403 and
           not_fits.json["code"] == "quota_exceeded",
           "or that it would not", not_fits)
    tap.ok(all(plan(10).status == 200 for _ in range(30)),
           "however often it is asked")
    tap.eq((usage(w.api, "organizations", org)["vcpus"]["used"],
            w.api.get("/v1/allocations?limit=1").json["revision"]),
           (0, before), "and changes nothing")
    replies = race(w.server, [allocation(org, project, "vcpus", 10)])
    tap.eq(replies[0].status, 201, "it fits")
    tap.eq(plan(1).status, 403, "and then no more does")


def storm(w):
    """Everything at once, with crashes, then every sum again."""
    org, *projects = w.organization(3)
    made(w.api.post("/v1/quotas", {
        "organizationId": org, "limits": [{"kind": "vcpus", "limit": 60}]}))
    for project in projects:
        made(w.api.post("/v1/quotas", {
            "organizationId": org, "projectId": project,
            "limits": [{"kind": "vcpus", "limit": 25}]}))
    stop = threading.Event()
    passed = []

    def one(seed):
        rand, mine = random.Random(seed), []
        while not stop.is_set():
            try:
                api = Client(w.server)
                while not stop.is_set():
                    if mine and rand.random() < 0.45:
                        api.delete(f"/v1/allocations/{mine.pop()}")
                    else:
                        reply = api.post("/v1/allocations", allocation(
                            org, rand.choice(projects), "vcpus",
                            rand.randrange(4), rand.randrange(4)))
                        if reply.status == 201:
                            mine.append(reply.json["id"])
            except (OSError, ValueError, TypeError):
                stop.wait(0.05)

    def look():
        while not stop.is_set():
            try:
                api = Client(w.server)
                use = usage(api, "organizations", org)["vcpus"]
                parts = [usage(api, "projects", p)["vcpus"]["used"]
                         for p in projects]
                if use["used"] > 60 or max(parts) > 25:
                    passed.append((use, parts))
            except (OSError, ValueError, KeyError, TypeError):
                stop.wait(0.05)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(16)]
    threads += [threading.Thread(target=look)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        stop.wait(1)
        w.server.kill9()
        w.server.start()
    stop.wait(1)
    stop.set()
    for thread in threads:
        thread.join()
    w.api = Client(w.server)
    tap.eq(passed, [], "no reader ever saw a limit passed")
    wrong = agrees(w.api, org, projects)
    tap.ok(not wrong, "after crashes use is still the sum", *wrong)


def verified(w):
    status, said = run("fsck", "--data", w.server.data)
    tap.ok(status == 0 and " 0 differences" in said,
           "fsck finds no difference", said)


def main():
    world = World()
    for section in (races, one_object_once, levels, growing, kinds, plans,
                    storm, verified):
        tap.section(section, world)
    tap.eq(world.server.stop(), 0, "the server ends well")
    tap.end()


main()

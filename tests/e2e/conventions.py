#!/usr/bin/python3
"""Every convention of the API, on organizations and projects: what is asked
and answered is held against the server's own OpenAPI document as well.  What
is about the process and its data folder is in process.py."""

import json
import re
import socket
import threading
import time

import cloud
from muster import Client, Decoder, OpenApi, Server, Watch, read_head
from muster import read_reply, request_bytes, tap, wait_for
from tenant import Tenant
from websocket import WebSocket

ORGS, PROJECTS = "/v1/organizations", "/v1/projects"
ROLES, GROUPS = "/v1/roles", "/v1/groups"

count = 0


def new_name(word="o"):
    global count
    count += 1
    return f"{word}-{count}"


def new_org(api, **members):
    reply = api.post(ORGS, {"name": new_name(), **members})
    assert reply.status == 201, reply
    return reply.json


def new_project(api, org, **members):
    reply = api.post(PROJECTS, {"name": new_name("p"),
                                "organizationId": org["id"], **members})
    assert reply.status == 201, reply
    return reply.json


def at(noun, thing):
    return f"{noun}/{thing['id']}"


def is_problem(reply, status, code, text, *words):
    """REPLY is the problem CODE, and its detail says all of WORDS."""
    body = reply.json if reply["Content-Type"] == \
        "application/problem+json" else {}
    said = body.get("detail", "") + json.dumps(body.get("violations", ""))
    return tap.ok(reply.status == status and body.get("code") == code and
                  body.get("type") == f"urn:muster:problem:{code}" and
                  body.get("status") == status and body.get("title") and
                  all(str(w) in said for w in words), text, reply)


def pointers(reply):
    return sorted(v["pointer"] for v in reply.json.get("violations", []))


def revision_of(api):
    return api.get(ORGS + "?limit=1").json["revision"]


def in_thread(function):
    """Run beside; [reply] once it has come."""
    out = []
    thread = threading.Thread(target=lambda: out.append(function()),
                              daemon=True)
    thread.start()
    return thread, out


# One object.

def create_and_read(api):
    name = new_name()
    reply = api.post(ORGS, {"name": name, "description": "first",
                            "tags": {"env": "prod"}})
    org = reply.json
    tap.eq(reply.status, 201, "create answers 201")
    tap.eq(reply["Location"], at(ORGS, org), "Location leads to it")
    tap.eq(reply["ETag"], f'"{org["revision"]}"', "ETag is its revision")
    tap.eq((org["name"], org["description"], org["tags"], org["generation"]),
           (name, "first", {"env": "prod"}, 1), "it is as it was sent")
    tap.ok(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                        org["id"]), "its id is a UUID in lower case", org)
    tap.eq(org["createdBy"], "serviceaccount:admin",
           "it says who created it")
    tap.ok(org["createdAt"] == org["updatedAt"] and
           abs(time.time() - time.mktime(time.strptime(
               org["createdAt"][:19], "%Y-%m-%dT%H:%M:%S")) +
               time.timezone) < 60, "and when", org)
    again = api.get(reply["Location"])
    tap.eq((again.status, again.body, again["ETag"]),
           (200, reply.body, reply["ETag"]), "a read gives the same bytes")
    tap.ok(reply["X-Request-Id"] and reply["X-Request-Id"] !=
           again["X-Request-Id"], "every reply has a request id of its own")
    mine = api.get(reply["Location"], **{"X-Request-Id": "mine-1.2_3"})
    tap.eq(mine["X-Request-Id"], "mine-1.2_3", "or the caller's")


def replace(api):
    org = new_org(api, description="one", tags={"a": "1"})
    reply = api.put(at(ORGS, org), {"name": org["name"], "description": "two"})
    new = reply.json
    tap.eq((reply.status, new.get("description"), "tags" in new,
            new["generation"], new["createdAt"]),
           (200, "two", False, 2, org["createdAt"]),
           "PUT replaces: what is left out goes")
    tap.ok(new["revision"] > org["revision"] and
           reply["ETag"] == f'"{new["revision"]}"', "at a new revision", new)
    same = api.put(at(ORGS, org), {"name": org["name"], "description": "two"})
    tap.eq(same.body, reply.body, "PUT of the same changes nothing")
    whole = api.put(at(ORGS, org), new)
    tap.eq((whole.status, whole.body), (200, reply.body),
           "what was read can be PUT back whole")
    other = new_name()
    tap.eq(api.put(at(ORGS, org), {"name": other}).json["name"], other,
           "a name can change")


def merge_patch(api):
    org = new_org(api, description="one", tags={"a": "1", "b": "2"})
    new = api.patch(at(ORGS, org), {"description": "two"}).json
    tap.eq((new["description"], new["tags"], new["name"]),
           ("two", {"a": "1", "b": "2"}, org["name"]),
           "PATCH leaves what it does not name")
    new = api.patch(at(ORGS, org), {"tags": {"a": None, "c": "3"}}).json
    tap.eq(new["tags"], {"b": "2", "c": "3"}, "it merges into members")
    new = api.patch(at(ORGS, org), {"description": None, "tags": None}).json
    tap.ok("description" not in new and "tags" not in new, "null removes", new)
    tap.eq(api.patch(at(ORGS, org), {}).json, new, "{} changes nothing")
    reply = api("PATCH", at(ORGS, org), {"description": "as json"},
                {"Content-Type": "application/json"})
    tap.eq(reply.status, 200, "application/json is taken as a merge patch")
    is_problem(api.patch(at(ORGS, org), {"name": None}), 422, "invalid",
               "what is required cannot be removed", "/name")
    for body in ([], "x", 1, None):
        is_problem(api("PATCH", at(ORGS, org), raw=json.dumps(body).encode()),
                   400, "invalid", f"a patch {body!r} is refused")


def delete(api):
    org = new_org(api)
    reply = api.delete(at(ORGS, org))
    tap.eq((reply.status, reply.body, reply["Content-Length"]),
           (204, b"", None), "delete answers 204 with nothing")
    is_problem(api.get(at(ORGS, org)), 404, "not_found", "then it is gone",
               org["id"])
    is_problem(api.delete(at(ORGS, org)), 404, "not_found",
               "and cannot be deleted again")
    is_problem(api.patch(at(ORGS, org), {}), 404, "not_found", "nor patched")
    is_problem(api.put(at(ORGS, org), {"name": "x"}), 404, "not_found",
               "nor replaced")
    tap.eq(api.post(ORGS, {"name": org["name"]}).status, 201,
           "its name is free again")


# What is refused.

def validation(api):
    reply = api.post(ORGS, {
        "name": "NOT good", "description": 5, "nonsense": 1,
        "tags": {"spaces are not": "ok", "fine": 1}, "id": "x", "revision": 7,
        "createdAt": "2020-01-01T00:00:00Z"})
    is_problem(reply, 422, "invalid", "422 when fields are wrong")
    have = pointers(reply)
    for pointer in ("/name", "/description", "/nonsense", "/id", "/revision",
                    "/createdAt", "/tags/fine"):
        tap.ok(pointer in have, f"the violation at {pointer} is among them",
               have)
    tap.ok(any(p.startswith("/tags/spaces") for p in have),
           "and the one at a tag's key", have)
    org = new_org(api)
    for body, want in (
            ({}, ["/name", "/organizationId"]),
            ({"name": None, "organizationId": None},
             ["/name", "/organizationId"]),
            ({"name": "", "organizationId": ""}, ["/name", "/organizationId"]),
            ({"name": "a" * 64, "organizationId": org["id"]}, ["/name"]),
            ({"name": "-a", "organizationId": org["id"]}, ["/name"]),
            ({"name": "ok", "organizationId": org["id"].upper()},
             ["/organizationId"]),
            ({"name": "ok", "organizationId": org["id"],
              "description": "x" * 513}, ["/description"]),
            ({"name": "ok", "organizationId": org["id"],
              "description": "a\nb"}, ["/description"]),
            ({"name": "ok", "organizationId": org["id"],
              "tags": {f"k{i}": "v" for i in range(51)}}, ["/tags"]),
            ({"name": "ok", "organizationId": org["id"],
              "tags": {"k": "v" * 257}}, ["/tags/k"]),
            ({"name": "ok", "organizationId": org["id"], "a~/b": 1},
             ["/a~0~1b"])):
        reply = api.post(PROJECTS, body)
        tap.eq((reply.status, pointers(reply)), (422, want),
               f"{json.dumps(body)[:60]} is refused at {want}")
    for body in ([], "x", 1, True, None):
        reply = api("POST", ORGS, raw=json.dumps(body).encode())
        tap.ok(reply.status in (400, 422) and reply.json["code"] == "invalid",
               f"a body {body!r} is refused", reply)
    longest = {"name": "a" * 63, "description": "é" * 256,
               "tags": {f"k{i}": "v" * 256 for i in range(50)}}
    tap.eq(api.post(ORGS, longest).status, 201, "the longest of all is taken")


def read_only_and_immutable(api):
    org, other = new_org(api), new_org(api)
    project = new_project(api, org)
    path = at(PROJECTS, project)
    reply = api.patch(path, {"organizationId": other["id"]})
    is_problem(reply, 422, "immutable", "what is set once cannot change")
    tap.eq(pointers(reply), ["/organizationId"], "and it is named")
    tap.eq(api.put(path, {"name": project["name"]}).json["organizationId"],
           org["id"], "PUT without it leaves it")
    reply = api.put(path, {"name": project["name"],
                           "organizationId": other["id"]})
    is_problem(reply, 422, "immutable", "PUT cannot change it either")
    for word, value in (("id", other["id"]), ("generation", 99),
                        ("createdAt", "2001-01-01T00:00:00Z"),
                        ("createdBy", "me"), ("updatedAt", None),
                        ("updatedBy", "me"),
                        ("deletedAt", "2001-01-01T00:00:00Z")):
        reply = api.patch(path, {word: value})
        if value is None:
            continue
        tap.eq((reply.status, pointers(reply)), (422, [f"/{word}"]),
               f"{word} cannot be set")
    reply = api.patch(path, {"organizationId": other["id"], "name": "BAD",
                             "what": 1})
    have = pointers(reply)
    is_problem(reply, 422, "invalid", "several things wrong are one answer")
    tap.ok("/name" in have and "/what" in have, "that names them all", have)
    after = api.get(path).json
    tap.eq((after["organizationId"], after["name"]),
           (org["id"], project["name"]), "nothing of it was done")


def new_role_in_use(api, org, n):
    """A role, and that many groups that have it."""
    role = api.post(ROLES, {"name": f"role-{n}", "organizationId": org["id"],
                            "organization": ["roles:read"]}).json
    return role, [api.post(GROUPS, {
        "name": f"group-{n}-{i}", "organizationId": org["id"],
        "roleIds": [role["id"]]}).json for i in range(n)]


def references(api):
    org = new_org(api)
    nobody = "00000000-0000-7000-8000-000000000000"
    reply = api.post(PROJECTS, {"name": "x", "organizationId": nobody})
    is_problem(reply, 422, "invalid", "a reference must lead somewhere",
               nobody)
    tap.eq(pointers(reply), ["/organizationId"], "and says where it stands")
    role, groups = new_role_in_use(api, org, 1)
    reply = api.delete(at(ROLES, role))
    is_problem(reply, 409, "conflict", "what is in use cannot be deleted",
               groups[0]["name"])
    tap.eq(api.get(at(ROLES, role)).status, 200, "and is still there")
    role, groups = new_role_in_use(api, org, 8)
    is_problem(api.delete(at(ROLES, role)), 409, "conflict",
               "many users are counted", "and 3 more")
    for one in groups:
        api.delete(at(GROUPS, one))
    tap.eq(api.delete(at(ROLES, role)).status, 204,
           "once nobody uses it, it can go")
    project = new_project(api, org)
    reply = api.delete(at(ORGS, org))
    tap.ok(reply.status == 202 and reply.json["deletedAt"],
           "an organization takes along what is its", reply)
    tap.ok(api.get(at(ORGS, org) + "?wait=deleted").status in (204, 404),
           "it ends, and can be waited for")
    tap.eq(api.get(at(PROJECTS, project)).status, 404, "all of it is gone")


def unique_names(api):
    org, other = new_org(api), new_org(api)
    reply = api.post(ORGS, {"name": org["name"]})
    is_problem(reply, 409, "conflict", "a name is taken once", org["id"],
               org["name"])
    is_problem(api.patch(at(ORGS, other), {"name": org["name"]}), 409,
               "conflict", "renaming cannot take it either", org["id"])
    project = new_project(api, org)
    reply = api.post(PROJECTS, {"name": project["name"],
                                "organizationId": other["id"]})
    tap.eq(reply.status, 201, "a project's name is its organization's alone")
    is_problem(api.post(PROJECTS, {"name": project["name"],
                                   "organizationId": org["id"]}),
               409, "conflict", "where it is unique", project["id"])
    old = org["name"]
    api.patch(at(ORGS, org), {"name": new_name()})
    tap.eq(api.patch(at(ORGS, other), {"name": old}).status, 200,
           "a name that was given up can be taken")
    name = new_name()
    threads = [in_thread(lambda: Client(api.server).post(ORGS, {"name": name}))
               for _ in range(8)]
    for thread, _ in threads:
        thread.join()
    tap.eq(sorted(out[0].status for _, out in threads), [201] + [409] * 7,
           "of eight at once, one gets it")


def reserved_tags(api):
    reply = api.post(ORGS, {"name": "tagged", "tags": {"muster/server": "x"}})
    is_problem(reply, 422, "invalid", "reserved tags are refused",
               "muster/server")
    tap.ok(all(p.startswith("/tags") for p in pointers(reply)),
           "at /tags", reply)
    org = new_org(api, tags={"mustered/x": "fine", "a": "b"})
    for method in (api.patch, api.put):
        is_problem(method(at(ORGS, org), {"name": org["name"], "tags": {
            "muster/installation": "x"}}), 422, "invalid",
            f"by {method.__name__} too", "muster/installation")


# Preconditions.

def preconditions(api):
    org = new_org(api)
    path, old = at(ORGS, org), f'"{org["revision"]}"'
    reply = api.get(path, **{"If-None-Match": old})
    tap.eq((reply.status, reply.body, reply["ETag"]), (304, b"", old),
           "If-None-Match: 304 while it is the same")
    tap.eq(api.get(path, **{"If-None-Match": f'"1", {old}'}).status, 304,
           "one of several will do")
    tap.eq(api.get(path, **{"If-None-Match": "*"}).status, 304, "* as well")
    reply = api.patch(path, {"description": "x"}, {"If-Match": old})
    new = reply["ETag"]
    tap.eq(reply.status, 200, "If-Match: the revision that it has")
    tap.eq(api.get(path, **{"If-None-Match": old}).status, 200,
           "If-None-Match: 200 once it changed")
    for method in (api.patch, api.put):
        is_problem(method(path, {"name": org["name"]}, {"If-Match": old}), 412,
                   "precondition_failed",
                   f"{method.__name__} with a stale If-Match",
                   new.strip('"'))
    is_problem(api.delete(path, {"If-Match": old}), 412, "precondition_failed",
               "delete with a stale If-Match")
    is_problem(api.patch(path, {}, {"If-Match": "nonsense"}), 412,
               "precondition_failed", "an If-Match that is no tag")
    digit = new.strip('"')[:-1]
    is_problem(api.patch(path, {}, {"If-Match": f'"{digit}"'}), 412,
               "precondition_failed", "a part of the tag is not the tag")
    reply = api.patch(path, {"description": "y", "revision": org["revision"]})
    is_problem(reply, 412, "precondition_failed",
               "a stale revision in the body")
    now = int(new.strip('"'))
    reply = api.put(path, {"name": org["name"], "revision": now,
                           "description": "z"})
    tap.eq(reply.status, 200, "the right revision in the body")
    tap.eq(api.patch(path, {"description": "w"}, {"If-Match": "*"}).status,
           200, "If-Match: *")
    tap.eq(api.delete(path, {"If-Match": api.get(path)["ETag"]}).status, 204,
           "delete with the right If-Match")
    is_problem(api.delete(path, {"If-Match": "*"}), 404, "not_found",
               "and of what is gone, 404 it is")

    # One wins of those that read the same.
    org = new_org(api)
    threads = [in_thread(lambda i=i: Client(api.server).patch(
        at(ORGS, org), {"description": f"by {i}"},
        {"If-Match": f'"{org["revision"]}"'})) for i in range(8)]
    for thread, _ in threads:
        thread.join()
    tap.eq(sorted(out[0].status for _, out in threads), [200] + [412] * 7,
           "of eight that read the same, one may write")


def idempotency(api):
    key, body = {"Idempotency-Key": "key-1"}, {"name": new_name()}
    first = api.post(ORGS, body, key)
    tap.eq((first.status, first["Idempotency-Replayed"]), (201, None),
           "the first time it is done")
    again = api.post(ORGS, body, key)
    tap.eq((again.status, again.body, again["ETag"], again["Location"],
            again["Idempotency-Replayed"]),
           (201, first.body, first["ETag"], first["Location"], "true"),
           "the second time it is told again")
    is_problem(api.post(ORGS, {"name": new_name()}, key), 409, "conflict",
               "another body with the same key", "Idempotency-Key")
    is_problem(api.post(PROJECTS, body, key), 422, "invalid",
               "elsewhere the body must be right first")
    org = first.json
    is_problem(api.post(PROJECTS, {"name": "x", "organizationId": org["id"]},
                        key), 409, "conflict",
               "another path with the same key", "Idempotency-Key")
    api.patch(at(ORGS, org), {"description": "later"})
    tap.eq(api.post(ORGS, body, key).body, first.body,
           "what changed since does not change the answer")
    api.delete(at(ORGS, org))
    again = api.post(ORGS, body, key)
    tap.eq((again.status, again.body), (201, first.body),
           "nor what was deleted")
    tap.eq(api.get(ORGS + f"?name={body['name']}").json["items"], [],
           "and it does not come back")
    for bad in ("", "x" * 256, "a\x7fb"):
        reply = api.post(ORGS, {"name": new_name()}, {"Idempotency-Key": bad})
        tap.eq(reply.status, 400, f"a key of {bad[:8]!r} is refused")
    tap.eq(api.post(ORGS, {"name": new_name()},
                    {"Idempotency-Key": "x" * 255}).status, 201,
           "one of 255 is taken")

    # What failed is not remembered.
    taken = new_org(api)
    key = {"Idempotency-Key": "key-2"}
    tap.eq(api.post(ORGS, {"name": taken["name"]}, key).status, 409,
           "a create that fails")
    api.delete(at(ORGS, taken))
    tap.eq(api.post(ORGS, {"name": taken["name"]}, key).status, 201,
           "may succeed later with the same key")

    key = {"Idempotency-Key": "key-3"}
    body = {"name": new_name()}
    threads = [in_thread(lambda: Client(api.server).post(ORGS, body, key))
               for _ in range(10)]
    for thread, _ in threads:
        thread.join()
    replies = [out[0] for _, out in threads]
    tap.ok({r.status for r in replies} == {201} and
           len({r.body for r in replies}) == 1 and
           sum(r["Idempotency-Replayed"] is None for r in replies) == 1,
           "of ten at once one does it and ten get the answer", replies)


def plan(api):
    org = new_org(api, description="as it is")
    project = new_project(api, org)
    role, groups = new_role_in_use(api, org, 1)
    before = revision_of(api)
    reply = api.post(ORGS + "?plan=true", {"name": "planned"})
    tap.eq((reply.status, reply.json["plan"]["action"],
            reply.json["object"]["name"]), (200, "create", "planned"),
           "a plan to create")
    reply = api.patch(at(ORGS, org) + "?plan=true", {"description": "new"})
    tap.eq((reply.json["plan"]["action"], reply.json["object"]["description"]),
           ("update", "new"), "a plan to change")
    reply = api.put(at(ORGS, org) + "?plan=true",
                    {"name": org["name"], "description": "as it is"})
    tap.eq(reply.json["plan"]["action"], "none", "a plan to do nothing")
    reply = api.delete(at(PROJECTS, project) + "?plan=true")
    tap.eq(reply.json["plan"]["action"], "delete", "a plan to delete")
    is_problem(api.delete(at(ROLES, role) + "?plan=true"), 409, "conflict",
               "what could not be done cannot be planned", groups[0]["name"])
    is_problem(api.post(ORGS + "?plan=true", {"name": org["name"]}), 409,
               "conflict", "nor a name that is taken")
    is_problem(api.post(ORGS + "?plan=true", {}), 422, "invalid",
               "nor what is wrong")
    is_problem(api.patch(at(ORGS, org) + "?plan=true", {},
                         {"If-Match": '"1"'}), 412, "precondition_failed",
               "nor on what has changed")
    tap.eq(revision_of(api), before, "all of it changed nothing")
    is_problem(api.post(ORGS + "?plan=maybe", {"name": "x"}), 400, "invalid",
               "plan is true or false", "plan")
    key = {"Idempotency-Key": "planned"}
    api.post(ORGS + "?plan=true", {"name": "planned"}, key)
    reply = api.post(ORGS + "?plan=false", {"name": "planned"}, key)
    tap.eq((reply.status, reply["Idempotency-Replayed"]), (201, None),
           "a plan does not use up its key; plan=false does it")


# Lists.

def paging(api):
    made = [new_org(api, tags={"page": "yes"}) for _ in range(25)]
    base = ORGS + "?tag=page=yes"
    whole = api.get(base).json
    tap.eq([o["id"] for o in whole["items"]], sorted(o["id"] for o in made),
           "a list is in the order of ids, and whole")
    tap.ok("next" not in whole, "without `next` when there is no more")
    pages, after = [], ""
    while True:
        page = api.get(f"{base}&limit=10{after}").json
        pages.append(page)
        if "next" not in page:
            break
        after = f"&after={page['next']}"
        # Whatever happens meanwhile, the pages are of one moment.
        new_org(api, tags={"page": "yes"})
        api.delete(at(ORGS, made.pop()))
        api.patch(at(ORGS, made[0]), {"description": f"after {len(pages)}"})
        api.patch(at(ORGS, made[-1]), {"tags": None})
    tap.eq([len(p["items"]) for p in pages], [10, 10, 5], "pages are filled")
    tap.eq([o for p in pages for o in p["items"]], whole["items"],
           "pages show one moment, whatever is written between them")
    tap.eq({p["revision"] for p in pages}, {whole["revision"]},
           "and say which")
    total = len(api.get(base).json["items"])
    tap.ok("next" not in api.get(f"{base}&limit={total}").json,
           "a page that is just full is the last")
    tap.ok("next" in api.get(f"{base}&limit={total - 1}").json,
           "one that lacks one is not")
    next_ = pages[0]["next"]
    for words in ("limit=0", "limit=1001", "limit=-1", "limit=abc", "limit=",
                  "limit=1.5", "limit=+1", "limit=%201", "limit=1&limit=2",
                  "after=", "after=x", "after=-", "after=5", "after=0-x",
                  "after=5-", "after=-5-x", "after=%205-x", "after=+5-x",
                  "after=99999999999999999999-x",
                  f"after={next_}&at=1"):
        is_problem(api.get(f"{ORGS}?{words}"), 400, "invalid",
                   f"{words} is refused")
    is_problem(api.get(f"{ORGS}?after=999999999-x"), 400, "invalid",
               "so is a page of a revision that is yet to come")


def filters(api):
    a, b = new_org(api), new_org(api)
    p1 = new_project(api, a, tags={"color": "red", "size": "l"})
    p2 = new_project(api, a, tags={"color": "red", "eq": "x=y", "none": ""})
    p3 = new_project(api, b, tags={"color": "blue"})
    api.post(PROJECTS, {"name": p1["name"], "organizationId": b["id"]})

    def ids(words):
        reply = api.get(f"{PROJECTS}?{words}")
        assert reply.status == 200, reply
        return sorted(o["id"] for o in reply.json["items"])

    tap.eq(ids(f"organizationId={a['id']}"), sorted([p1["id"], p2["id"]]),
           "by organization")
    tap.eq(len(ids(f"name={p1['name']}")), 2, "by name")
    tap.eq(ids(f"name={p1['name']}&organizationId={a['id']}"), [p1["id"]],
           "by both")
    tap.eq(ids("tag=color=red"), sorted([p1["id"], p2["id"]]), "by tag")
    tap.eq(ids("tag=color=red&tag=size=l"), [p1["id"]], "by two tags")
    tap.eq(ids("tag=color=red&tag=color=blue"), [], "that exclude each other")
    tap.eq(ids("tag=eq=x=y"), [p2["id"]], "by a value with = in it")
    tap.eq(ids("tag=eq=x%3Dy"), [p2["id"]], "escaped or not")
    tap.eq(ids("tag=none="), [p2["id"]], "by an empty value")
    tap.eq(ids(f"tag=color=blue&organizationId={b['id']}&name={p3['name']}"),
           [p3["id"]], "by everything at once")
    tap.eq(ids("organizationId=nonsense"), [], "what cannot be is not there")
    tap.eq(ids("tag=color=re"), [], "a part of a value is not the value")
    for words in ("tag=color", "nonsense=1", "Name=x", "name=a&name=b",
                  f"organizationId={a['id']}&organizationId={a['id']}",
                  "state=running", "description=x", "createdBy=me",
                  "revision=1", "plan=true", "wait=changed", "=x", "&", "%zz",
                  "name=%00", "name=%ff", "&".join(["tag=a=b"] * 40)):
        is_problem(api.get(f"{PROJECTS}?{words}"), 400, "invalid",
                   f"?{words[:40]} is refused")
    is_problem(api.get(f"{ORGS}?organizationId={a['id']}"), 400, "invalid",
               "a word of one noun is not another's", "organizationId")
    for path, words in ((at(ORGS, a), "limit=1"), ("/v1/whoami", "x=1"),
                        ("/healthz", "x=1"), ("/metrics", "x=1")):
        is_problem(api.get(f"{path}?{words}"), 400, "invalid",
                   f"{words} on {path.split('/')[-2]} is refused")


def in_the_past(api):
    org = new_org(api, description="one")
    path, first = at(ORGS, org), org["revision"]
    second = api.patch(path, {"description": "two"}).json["revision"]
    api.delete(path)
    third = revision_of(api)
    tap.eq(api.get(f"{path}?at={first}").json, org, "as it was at first")
    tap.eq(api.get(f"{path}?at={first}")["ETag"], f'"{first}"',
           "with the ETag of that time")
    tap.eq(api.get(f"{path}?at={second}").json["description"], "two",
           "as it was then")
    for when in (first - 1, third):
        is_problem(api.get(f"{path}?at={when}"), 404, "not_found",
                   "it was not there before, nor after")
    name = f"name={org['name']}"
    for when, want in ((first - 1, 0), (first, 1), (second, 1), (third, 0)):
        page = api.get(f"{ORGS}?{name}&at={when}").json
        tap.eq((len(page["items"]), page["revision"]), (want, when),
               f"a list of the past has {want}")
    for when in ("0", "-1", "x", "", "1.0", "99999999999999999999"):
        is_problem(api.get(f"{path}?at={when}"), 400, "invalid",
                   f"at={when} is refused", "at")
    for target in (path, ORGS):
        is_problem(api.get(f"{target}?at={third + 1000}"), 400, "invalid",
                   "the future cannot be read", third)


# What goes on.

def watch(api, server):
    contract = api.contract

    def good(event, kind):
        wrong = contract.violations(
            {"$ref": f"#/components/schemas/{kind}"}, event.json)
        return not wrong or tap.note(wrong)

    org = new_org(api, tags={"watch": "yes"})
    now = revision_of(api)
    listed = api.get(ORGS + "?limit=1000").json["items"]
    with Watch(server, ORGS) as w:
        tap.eq((w.status, w.headers["content-type"],
                w.headers["cache-control"]),
               (200, "text/event-stream", "no-store"), "a watch is a stream")
        *puts, ready = w.until("ready")
        tap.eq([e.json for e in puts], listed, "it begins with what there is")
        tap.ok(all(e.name == "put" and e.id is None and
                   good(e, "Organization") for e in puts),
               "as puts without ids")
        tap.eq((ready.id, ready.json), (now, {"revision": now}),
               "then it is ready, at that revision")
        made = new_org(api)
        changed = api.patch(at(ORGS, org), {"description": "x"}).json
        new_project(api, org)  # of no concern
        api.delete(at(ORGS, made))
        events = [w.next() for _ in range(3)]
        gone = revision_of(api)
        tap.eq([(e.name, e.id, e.json) for e in events],
               [("put", made["revision"], made),
                ("put", changed["revision"], changed),
                ("delete", gone, {"id": made["id"], "revision": gone})],
               "then every change as it happens, each with its revision")

    with Watch(server, ORGS, last=now) as w:
        again = [w.next() for _ in range(3)]
        tap.eq([(e.name, e.id, e.data) for e in again],
               [(e.name, e.id, e.data) for e in events],
               "Last-Event-ID goes on behind it")
    with Watch(server, ORGS, last=made["revision"]) as w:
        tap.eq(w.next().id, changed["revision"], "wherever it stopped")
    with Watch(server, ORGS, last=gone) as w:
        tap.eq(w.next(0.2), None, "and waits when there is nothing new")
        late = new_org(api)
        tap.eq(w.next().json, late, "until there is")

    for last in (gone + 100000, 1 << 63):
        with Watch(server, ORGS, last=last) as w:
            is_problem(w.reply, 410, "gone",
                       "a revision that is yet to come is 410")
    for last in ("x", "-1", "1.5", "1 2", "0x10"):
        with Watch(server, ORGS, last=last) as w:
            is_problem(w.reply, 400, "invalid", f"Last-Event-ID: {last}")
    for words in ("limit=5", "after=1-x", f"at={now}", "what=1", "tag=x"):
        with Watch(server, f"{ORGS}?{words}") as w:
            is_problem(w.reply, 400, "invalid", f"a watch with {words}")
    with Watch(server, at(ORGS, org)) as w:
        is_problem(w.reply, 406, "not_acceptable", "one object is not watched")
    with Watch(server, ORGS, token="muster_wrong") as w:
        tap.eq(w.status, 401, "a watch needs a token")
    with server.connect() as s:
        s.sendall(request_bytes("HEAD", ORGS, server.token,
                                {"Accept": "text/event-stream"}))
        s.settimeout(2)
        data = s.recv(4096)
        tap.ok(data.startswith(b"HTTP/1.1 200") and
               b"text/event-stream" in data, "HEAD of a watch", data)
        s.sendall(request_bytes("GET", "/healthz"))
        tap.ok(b"\r\n\r\nok\n" in s.recv(4096),
               "has no body: the connection goes on")


def filtered_watch(api, server):
    a, b = new_org(api), new_org(api)
    p = new_project(api, a, tags={"f": "1"})
    new_project(api, b, tags={"f": "1"})
    words = f"?organizationId={a['id']}&tag=f=1"
    with Watch(server, PROJECTS + words) as w:
        *puts, ready = w.until("ready")
        tap.eq([e.json["id"] for e in puts], [p["id"]],
               "a filtered watch begins with what fits")
        new_project(api, a)
        new_project(api, b, tags={"f": "1"})
        inside = new_project(api, a, tags={"f": "1"})
        outside = api.patch(at(PROJECTS, p), {"tags": {"f": "2"}}).json
        api.patch(at(PROJECTS, p), {"description": "still outside"})
        back = api.patch(at(PROJECTS, p), {"tags": {"f": "1"}}).json
        api.patch(at(PROJECTS, inside), {"tags": None})
        left = api.get(at(PROJECTS, inside)).json["revision"]
        api.delete(at(PROJECTS, inside))
        api.delete(at(PROJECTS, p))
        gone = revision_of(api)
        want = [("put", inside["revision"], inside["id"]),
                ("delete", outside["revision"], p["id"]),
                ("put", back["revision"], p["id"]),
                ("delete", left, inside["id"]),
                ("delete", gone, p["id"])]
        have = [w.next() for _ in want]
        tap.eq([(e.name, e.id, e.json["id"]) for e in have], want,
               "what comes to fit is put, what ceases to is deleted")
        tap.eq(w.next(0.2), None, "and nothing else is told")
    with Watch(server, PROJECTS + words, last=ready.id) as w:
        again = [w.next() for _ in want]
        tap.eq([(e.name, e.id, e.data) for e in again],
               [(e.name, e.id, e.data) for e in have],
               "it resumes with the same")
    with Watch(server, f"{PROJECTS}?name={p['name']}", last=ready.id) as w:
        tap.eq([w.next().name for _ in range(4)],
               ["put", "put", "put", "delete"], "by name, too")


def short_history():
    server = Server({"history": {"maxRevisions": 6}}).start()
    api = Client(server, contract=contract_of(server))
    big = {f"k{i}": "v" * 256 for i in range(50)}
    org = new_org(api, tags=big)
    for i in range(3):
        new_org(api, tags={"page": "x"})
    page = api.get(ORGS + "?tag=page=x&limit=1").json
    key = {"Idempotency-Key": "old"}
    body = {"name": new_name()}
    first = api.post(ORGS, body, key)
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((server.host, server.port))
    slow.sendall(request_bytes("GET", ORGS, server.token,
                                    {"Accept": "text/event-stream"}))
    for i in range(450):
        last = api.patch(at(ORGS, org), {"description": f"{i}"}).json
    for target in (f"{ORGS}?at=3", at(ORGS, org) + "?at=3",
                   f"{ORGS}?tag=page=x&limit=1&after={page['next']}"):
        is_problem(api.get(target), 410, "gone",
                   f"{target.split('?')[1][:20]}: what is no longer kept")
    with Watch(server, ORGS, last=3) as w:
        is_problem(w.reply, 410, "gone", "nor can it be watched from there")
    with Watch(server, ORGS, last=last["revision"] - 3) as w:
        tap.eq([w.next().id for _ in range(3)],
               [last["revision"] - i for i in (2, 1, 0)],
               "but from what is kept")
    reply = api.post(ORGS, body, key)
    is_problem(reply, 409, "conflict",
               "a key is kept as long: then the name is taken",
               first.json["id"])

    slow.settimeout(20)
    status, _, rest = read_head(slow)
    decoder, events = Decoder(), []
    while not decoder.ended:
        events += decoder.feed(rest)
        rest = b"" if decoder.ended else slow.recv(1 << 16)
        if not rest:
            events += decoder.feed(b"")
            break
    tap.ok(decoder.ended, "a watch that fell behind is ended")
    problem = events[-1].json
    tap.eq((events[-1].name, events[-1].id, problem["code"],
            problem["status"]), ("error", None, "gone", 410),
           "with an error that says so")
    tap.eq(api.contract.violations({"$ref": "#/components/schemas/Problem"},
                                   problem), [], "as any problem")
    ids = [e.id for e in events[:-1] if e.id]
    tap.ok(ids == sorted(set(ids)) and ids[-1] < last["revision"],
           "and until then it missed nothing", ids[:10])
    start = [e.name for e in events].index("ready")
    tap.eq(ids, list(range(events[start].id, ids[-1] + 1)),
           "revision by revision")
    slow.close()
    tap.eq(api.contract.problems, [], "all of it as documented")
    tap.eq(server.stop(), 0, "that server stops")


def long_poll(api):
    org = new_org(api)
    path = at(ORGS, org)
    began = time.monotonic()
    reply = api.get(path + "?wait=changed&timeoutMs=300")
    took = time.monotonic() - began
    tap.eq((reply.status, reply.json), (200, org), "the time is up: as it is")
    tap.ok(0.29 < took < 5, "not before", took)
    other = Client(api.server)
    thread, out = in_thread(lambda: other.get(path + "?wait=changed"))
    time.sleep(0.15)
    tap.ok(not out, "a poll waits")
    changed = api.patch(path, {"description": "x"})
    thread.join(10)
    tap.eq((out[0].status, out[0].body, out[0]["ETag"]),
           (200, changed.body, changed["ETag"]), "until it changed")
    tap.eq(api.get(path + "?wait=changed&timeoutMs=5000", **{
        "If-None-Match": f'"{org["revision"]}"'}).json, changed.json,
        "a caller that knows an older one gets the new one at once")
    thread, out = in_thread(lambda: other.get(path + "?wait=deleted"))
    time.sleep(0.1)
    api.patch(path, {"description": "y"})
    time.sleep(0.1)
    tap.ok(not out, "waiting for the end is not disturbed by a change")
    api.delete(path)
    thread.join(10)
    tap.eq((out[0].status, out[0].body), (204, b""), "then it is gone: 204")
    org = new_org(api)
    path = at(ORGS, org)
    thread, out = in_thread(lambda: other.get(path + "?wait=changed"))
    time.sleep(0.1)
    api.delete(path)
    thread.join(10)
    tap.eq(out[0].status, 204, "gone is a change as well")
    is_problem(api.get(path + "?wait=changed"), 404, "not_found",
               "what is not there is not waited for")
    org = new_org(api)
    path = at(ORGS, org)
    tap.eq(api.get(path + "?wait=changed&timeoutMs=0").status, 200,
           "timeoutMs=0 only looks")
    is_problem(api.get(path + "?wait=running"), 400, "invalid",
               "it has no such state", "changed, deleted")
    for words in ("wait=", "wait=x", "wait=changed&timeoutMs=-1",
                  "wait=changed&timeoutMs=600001", "wait=changed&timeoutMs=x",
                  f"wait=changed&at={org['revision']}",
                  "wait=changed&wait=deleted"):
        is_problem(api.get(f"{path}?{words}"), 400, "invalid",
                   f"{words} is refused")


# The rest of HTTP.

def statuses(api, server):
    org = new_org(api)
    nobody = Client(server, "muster_" + "0" * 64, api.contract)
    none = Client(server, "", api.contract)
    for client, headers in ((nobody, {}), (none, {"Authorization": None}),
                            (none, {"Authorization": "Bearer"}),
                            (none, {"Authorization": "Bearer "}),
                            (none, {"Authorization": "Basic YTpi"}),
                            (none, {"Authorization": server.token}),
                            (none, {"Authorization":
                                    "Bearer " + server.token + "x"}),
                            (none, {"Authorization":
                                    "Bearer " + server.token.upper()})):
        reply = client("GET", ORGS, headers=headers)
        is_problem(reply, 401, "unauthenticated", "nobody gets in with "
                   f"{headers.get('Authorization', 'another token')}"
                   .replace(server.token, "T"))
        tap.ok(reply["WWW-Authenticate"].startswith("Bearer"),
               "and is asked for a token", reply.headers)
    tap.eq(none("GET", ORGS, headers={
        "Authorization": "bearer  " + server.token}).status, 200,
        "the scheme's case does not matter")
    is_problem(nobody.get(at(ORGS, org)), 401, "unauthenticated",
               "401 comes before anything is said")
    is_problem(nobody.post(ORGS, {"x": 1}), 401, "unauthenticated",
               "before the body, too")

    for path in ("/", "/v1", "/v2/organizations", "/v1/nonsense", "/v1/shelves",
                 "/v1/organization", ORGS + "/x/y", "/V1/organizations",
                 "/v1/Organizations", "/favicon.ico"):
        is_problem(api.get(path), 404, "not_found", f"{path} is not there")
    for path in (at(ORGS, org)[:-1], at(ORGS, org).upper(), ORGS + "/x"):
        reply = api.get(path)
        tap.eq(reply.status, 404, "an id that is not there")
    for path in (ORGS + "/", "//v1/organizations", "/v1//organizations",
                 ORGS + "/../projects", ORGS + "/."):
        is_problem(api.get(path), 400, "invalid", f"{path} is refused")

    for method, path, want in (
            ("PUT", ORGS, "GET, HEAD, POST, OPTIONS"),
            ("DELETE", ORGS, "GET, HEAD, POST, OPTIONS"),
            ("POST", at(ORGS, org), "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
            ("POST", "/v1/whoami", "GET, HEAD, OPTIONS"),
            ("TRACE", ORGS, "GET, HEAD, POST, OPTIONS"),
            ("BREW", ORGS, "GET, HEAD, POST, OPTIONS"),
            ("get", ORGS, "GET, HEAD, POST, OPTIONS")):
        reply = api(method, path)
        is_problem(reply, 405, "method_not_allowed",
                   f"{method} is not for {path.split('/')[2]}")
        tap.eq(reply["Allow"], want, "Allow says what is")
    for path, want in ((ORGS, "GET, HEAD, POST, OPTIONS"),
                       (at(ORGS, org),
                        "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")):
        reply = api("OPTIONS", path)
        tap.eq((reply.status, reply["Allow"], reply.body), (204, want, b""),
               "OPTIONS says so, too")
    is_problem(api("OPTIONS", "/v1/nonsense"), 404, "not_found",
               "OPTIONS of nothing")

    for accept, want in (("application/json", 200), ("*/*", 200),
                         ("application/*", 200), ("text/html", 406),
                         ("text/html, application/json;q=0.9", 200),
                         ("application/json;q=0", 406), ("image/*", 406),
                         ("APPLICATION/JSON", 200), ("json", 406),
                         ("text/html,*/*;q=0.1", 200), ("", 406)):
        for path in (ORGS, at(ORGS, org), "/v1/whoami"):
            reply = api.get(path, Accept=accept)
            if reply.status != want:
                break
        tap.eq(reply.status, want, f"Accept: {accept}")
    is_problem(api.get(ORGS, Accept="text/html"), 406, "not_acceptable",
               "406 says what there is", "application/json")

    body = json.dumps({"name": new_name()}).encode()
    for kind, want in ((None, 415), ("text/plain", 415),
                       ("application/x-www-form-urlencoded", 415),
                       ("application/json-patch+json", 415),
                       ("application/merge-patch+json", 415),
                       ("application/jsonx", 415), ("", 415),
                       ("Application/JSON; charset=utf-8", 201)):
        reply = api("POST", ORGS, raw=body, headers={"Content-Type": kind})
        tap.eq(reply.status, want, f"Content-Type: {kind}")
        if want == 415:
            is_problem(reply, 415, "unsupported_media_type",
                       "415 says what is read", "application/json")
    is_problem(api("PATCH", at(ORGS, org), raw=b"{}", headers={
        "Content-Type": "application/json-patch+json"}), 415,
        "unsupported_media_type", "a patch of another kind",
        "application/merge-patch+json")
    for raw in (b"", b"{", b"{}x", b"nonsense", b"{'a':1}", b'{"a":1,}',
                b'{"a":1,"a":2}', b"\xff\xfe{}", b'{"name":"\xff"}', b"NaN"):
        is_problem(api("POST", ORGS, raw=raw), 400, "invalid",
                   f"{raw!r} is not JSON")
    is_problem(api("GET", ORGS, raw=b"{}"), 400, "invalid",
               "a body where none is taken")
    is_problem(api("DELETE", at(ORGS, org), raw=b"{}"), 400, "invalid",
               "nor with DELETE")
    big = b'{"name":"' + b"x" * (10 << 20) + b'"}'
    for headers, body, text in (
            ({}, big, "a body that is too large"),
            ({"Transfer-Encoding": "chunked"}, b"", "chunk by chunk as well")):
        with server.connect() as s:
            # The answer comes before all of it is sent, and waits.
            s.sendall(request_bytes("POST", ORGS, server.token, {
                "Content-Type": "application/json", **headers}, body))
            for _ in range(0 if body else 80):
                s.sendall(b"20000\r\n" + b"x" * 0x20000 + b"\r\n")
            is_problem(read_reply(s), 413, "too_large", text)


def heads(api):
    org = new_org(api)
    for path in (ORGS + "?limit=3", at(ORGS, org), "/v1/openapi.json",
                 "/v1/version", "/v1/whoami", "/healthz", "/readyz",
                 "/v1/nonsense", at(ORGS, org) + "x"):
        get, head = api.get(path), api("HEAD", path)
        differing = {k for k in set(get.headers) | set(head.headers)
                     if get[k] != head[k]} - {"Date", "X-Request-Id"}
        if get.status >= 400:  # the request's id is in the body
            differing -= {"Content-Length"}
        tap.ok(get.status == head.status and not head.body and not differing,
               f"HEAD {path.split('?')[0][:24]} is GET without the body",
               get.headers, head.headers)
    tap.eq(api("HEAD", at(ORGS, org), headers={
        "If-None-Match": f'"{org["revision"]}"'}).status, 304,
        "HEAD minds If-None-Match")


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_]\w*="[^"\\\n]*"'
                    r'(,[a-zA-Z_]\w*="[^"\\\n]*")*\})? (-?[0-9.e+]+|NaN)$')


def metrics(api, server):
    reply = api.get("/metrics", Authorization=None)
    tap.eq((reply.status, reply["Content-Type"]),
           (200, "text/plain; version=0.0.4; charset=utf-8"),
           "metrics are for everybody who can reach them")
    helped, typed, values, wrong = {}, {}, {}, []
    for line in reply.body.decode().splitlines():
        words = line.split(" ", 3)
        if line.startswith("# HELP "):
            helped[words[2]] = words[3]
        elif line.startswith("# TYPE "):
            if words[2] in typed:
                wrong.append(line)
            typed[words[2]] = words[3]
        elif match := SAMPLE.match(line):
            name = match.group(1)
            part = re.sub("_(bucket|sum|count)$", "", name)
            if typed.get(part) == "histogram":
                name = part
            if name not in typed or name not in helped or \
                    line.split(" ")[0] in values:
                wrong.append(line)
            values[line.split(" ")[0]] = float(match.group(4))
        else:
            wrong.append(line)
    tap.ok(not wrong and reply.body.endswith(b"\n"),
           "they are as Prometheus reads them", *wrong)
    odd = [n for n, t in typed.items()
           if t not in ("counter", "gauge", "histogram", "summary") or
           not n.startswith("muster_") or
           (t == "counter") != n.endswith("_total")]
    tap.eq(odd, [], "names say muster_ first, and counters _total last")
    tap.ok(values['muster_requests_total{class="2xx"}'] > 100 and
           values['muster_objects{kind="organization"}'] ==
           len(api.get(ORGS + "?limit=1000").json["items"]),
           "their numbers are true", reply.body)


def small_answers(api, server):
    for path in ("/healthz", "/readyz"):
        reply = api.get(path, Authorization=None, Accept="image/png")
        tap.eq((reply.status, reply.body), (200, b"ok\n"), f"{path} is ok")
    reply = api.get("/v1/version", Authorization=None)
    tap.eq((reply.json["name"], reply.json["api"]), ("muster", "v1"),
           "the version needs no token")
    reply = api.get("/v1/whoami")
    tap.eq(reply.json["name"], "serviceaccount:admin", "whoami says who")
    token = f"/v1/tokens/{reply.json['tokenId']}"
    tap.ok(wait_for(lambda: api.get(token).json.get("lastUsedAt")),
           "its token was used just now")


def every_noun(api):
    """Every operation of every noun once, held against the document."""
    tenant = Tenant(api, "every-noun")
    kind = api.post("/v1/quotakinds", {"name": "every", "unit": "one"}).json
    ids = dict(tenant.ids, quotakinds=kind["id"])
    wrong = []
    for noun, id in reversed(list(ids.items())):
        path = f"/v1/{noun}/{id}"
        for reply in (api.get(f"/v1/{noun}"), api.get(path),
                      api.put(path, api.get(path).json),
                      api.patch(path, {"description": "once"}),
                      api.get(path + "/events")):
            if reply.status != 200:
                wrong.append(f"{path}: {reply!r}")
    for path in (f"{ORGS}/{tenant.id}", f"{PROJECTS}/{tenant.project}"):
        if api.get(path + "/usage").status != 200:
            wrong.append(f"{path}: no usage")
    rotated = api.post(f"/v1/tokens/{ids['tokens']}/rotate", None)
    if rotated.status != 200 or "token" not in rotated.json:
        wrong.append(f"rotate: {rotated!r}")
    doomed = api.post(PROJECTS, {"name": "doomed",
                                 "organizationId": tenant.id}).json
    api.post("/v1/quotas", {"organizationId": tenant.id, "limits": [],
                            "projectId": doomed["id"]})
    api.delete(at(PROJECTS, doomed))
    for path in ("/v1/audit", "/v1/login", "/v1/events"):
        if api.get(path).status != 200:
            wrong.append(f"{path}: {api.get(path)!r}")
    # What they are about may be going, and they with it.
    paths = [f"/v1/events/{event['id']}"
             for event in api.get("/v1/events").json["items"]]
    if not any(api.get(path).status == 200 and
               api.get(path + "/events").status == 200 for path in paths):
        wrong.append(f"{paths}: none can be read")
    for noun in ("allocations", "quotas", "tokens", "groups", "roles",
                 "serviceaccounts", "users", "quotakinds"):
        reply = api.delete(f"/v1/{noun}/{ids[noun]}")
        if reply.status != 204:
            wrong.append(f"DELETE {noun}: {reply!r}")
    tap.ok(not wrong, "every noun can be read, changed and deleted", *wrong)
    api.delete(f"{ORGS}/{tenant.id}")


def settled(ask):
    """A reply; controllers write in between, and then it is asked anew."""
    replies = []

    def try_once():
        replies.append(ask())
        return replies[-1].status not in (409, 422)
    wait_for(try_once, every=0.05)
    return replies[-1]


def read_and_changed(api, path):
    """What is wrong with how one object is read and changed."""
    noun = path.rsplit("/", 1)[0]
    replies = [api.get(noun), api.get(path), api.get(path + "/events")]
    if noun not in ("/v1/flavors", "/v1/servers"):
        replies += [settled(lambda: api.put(path, api.get(path).json)),
                    settled(lambda: api.patch(path, {"description": "once"}))]
    return [f"{path}: {reply!r}" for reply in replies if reply.status != 200]


def comes_to(api, path, state):
    if not wait_for(lambda: api.get(path).json["status"]["state"] == state):
        raise AssertionError(f"not {state}: {api.get(path)!r}")


def instance_verbs(api, path):
    """Each verb of instances once, when it can be; those not known here are
    told by what was not used."""
    wrong = []
    for verb, body, state in (
            ("stop", None, "stopped"), ("start", None, "running"),
            ("reboot", {"hard": True}, "running"),
            ("rebuild?allow=rebuild", {}, "running"),
            ("snapshot", {"name": "taken"}, "running"),
            ("console", {}, "running"), ("consoleoutput", None, "running"),
            ("sshcertificate", {"publicKey": cloud.KEY}, "running"),
            ("sshkey", None, "running")):
        ask = api.get if verb in ("consoleoutput", "sshkey") else \
            lambda where: api.post(where, body)
        reply = settled(lambda: ask(f"{path}/{verb}"))
        if reply.status >= 300:
            wrong.append(f"{verb}: {reply!r}")
        if verb == "console":
            target = reply.json["url"].split("/", 3)[3]
            WebSocket(api.server, f"/{target}").close()
            api.contract.used.add(("GET", "/v1/instances/{id}/console", 101))
        if not wait_for(lambda: api.get(path).json["status"]["state"] ==
                        state and not api.get(path).json["status"].get(
                            "change", {}).get("action")):
            wrong.append(f"{verb}: {api.get(path)!r}")
    return wrong


def with_machines(api, region, network, make):
    """What only a provider brings: their paths, and what is wrong."""
    found = {}
    for noun in ("flavors", "images"):
        items = api.get(f"/v1/{noun}?regionId={region}&architecture=x86_64")
        found[noun] = next(o["id"] for o in items.json["items"]
                           if o["name"] in ("small", "debian-12"))
    path = make("instances", {"name": "once", "networkId": network, "spec": {
        "flavorId": found["flavors"], "imageId": found["images"],
        "sshKey": "generated",
        "sshCertificateAuthorityId": make("sshcas", {
            "name": "theirs", "projectId": api.get(
                f"/v1/networks/{network}").json["projectId"]})[-36:]}})
    comes_to(api, path, "running")
    server = api.get(path).json["status"]["serverId"]
    return [f"/v1/flavors/{found['flavors']}", path,
            f"/v1/servers/{server}"], instance_verbs(api, path)


def regional_nouns(api):
    """The same for the nouns of regions, in one that is simulated."""
    wrong = []

    def make(noun, body):
        reply = api.post(f"/v1/{noun}", body)
        if reply.status != 201:
            raise AssertionError(f"{noun}: {reply!r}")
        return f"/v1/{noun}/{reply.json['id']}"
    project = make("projects", {"name": "regional",
                                "organizationId": new_org(api)["id"]})[-36:]
    region = make("regions", {"name": "conventions", "spec": {
        "provider": "sim"}})
    where = {"name": "once", "projectId": project, "regionId": region[-36:]}
    network = make("networks", {**where, "spec": {"prefix": "10.0.0.0/24"}})
    volume = make("volumes", {**where, "spec": {"sizeGiB": 1}})
    paths = [volume, make("images", {**where, "spec": {
        "architecture": "x86_64", "uri": "https://example.org/image"}}),
        make("sshcas", {"name": "once", "projectId": project}),
        make("securitygroups", {"name": "once", "networkId": network[-36:]})]
    if api.post(region + "/sync", None).status != 202:
        wrong.append("sync")
    if api.post(region + "/accept", None).status != 202:
        wrong.append("accept")
    for path in (region, network, volume):
        comes_to(api, path, "ready")
    made, failed = with_machines(api, region[-36:], network[-36:], make)
    wrong += failed
    if api.post(volume + "/snapshot", {"name": "s"}).status != 201:
        wrong.append("a volume's snapshot")
    for path in (*made, *paths, network, region):
        wrong += read_and_changed(api, path)
    images = [f"/v1/images/{image['id']}" for image in
              api.get(f"/v1/images?projectId={project}").json["items"]
              if image["id"] not in paths[1]]
    wrong += deleted(api, [made[1], *paths, *images, network, region])
    tap.ok(not wrong, "the nouns of regions can be read, changed and deleted",
           *wrong)


def deleted(api, paths):
    """One after the other: 202 or 204, then they are gone."""
    wrong = []
    for path in paths:
        reply = settled(lambda: api.delete(path))
        gone = api.get(path + "?wait=deleted&timeoutMs=20000").status
        if reply.status not in (202, 204) or gone not in (204, 404):
            wrong.append(f"DELETE {path}: {reply!r}, then {gone}")
    return wrong


def contract_of(server):
    return OpenApi(Client(server).get("/v1/openapi.json").json)


def documented(api):
    contract = api.contract
    tap.eq(contract.structure(), [], "the document is OpenAPI 3.1")
    operations = {(method.upper(), path)
                  for path, item in contract.document["paths"].items()
                  for method in item}
    used = {(method, path) for method, path, status in contract.used
            if status < 300}
    tap.eq(sorted(operations - used), [], "everything in it was used")
    tap.ok(not contract.problems,
           f"{contract.checked} requests and replies were as it says",
           *contract.problems[:40])


def rates():
    server = Server({"limits": {"requestsPerSecond": 5}}).start()
    api = Client(server, contract=contract_of(server))
    replies = [api.get(ORGS) for _ in range(30)]
    first = next(i for i, r in enumerate(replies) if r.status == 429)
    tap.ok(5 <= first <= 15, "a caller has its rate and a burst", first)
    reply = replies[first]
    is_problem(reply, 429, "rate_limited", "then it is told to wait")
    tap.ok(1 <= int(reply["Retry-After"]) <= 2 and
           0 < reply.json["retryAfterMs"] <= 1000 and
           reply.json["retry"] == "later", "and how long", reply.headers)
    # Some of those after the first may have been let in, and cost what there
    # was: it is the last word that counts.
    while reply.status != 429 or reply is replies[first]:
        reply = api.get(ORGS)
    time.sleep(reply.json["retryAfterMs"] / 1000 + 0.05)
    tap.eq(api.get(ORGS).status, 200, "and after that it is let in")
    tap.eq(api.get("/healthz").status, 200, "probes are not counted")
    server.stop()

    server = Server().start()
    api = Client(server, contract=contract_of(server))
    guess = Client(server, "muster_" + "1" * 64)
    replies = [guess.get(ORGS) for _ in range(70)]
    tap.eq({r.status for r in replies[:45]}, {401}, "some guesses are free")
    is_problem(replies[-1], 429, "rate_limited",
               "then there is no more guessing")
    tap.ok(replies[-1]["Retry-After"], "for a time")
    tap.eq(api.get(ORGS).status, 200,
           "who has a token is not shut out by another's guesses")
    server.stop()


def after_restart():
    """What is told again is the same after a restart."""
    server = Server().start()
    api = Client(server, contract=contract_of(server))
    key = {"Idempotency-Key": "over"}
    body = {"name": "over", "tags": {"a": "b"}}
    first = api.post(ORGS, body, key)
    new = api.patch(first["Location"], {"description": "since"})
    before = api.get(ORGS)
    with Watch(server, ORGS) as w:
        last = w.until("ready")[-1].id
    server.restart()
    tap.eq(api.get(ORGS).body, before.body, "a list is the same")
    tap.eq(api.get(first["Location"])["ETag"], new["ETag"], "an ETag as well")
    again = api.post(ORGS, body, key)
    tap.eq((again.status, again.body, again["Idempotency-Replayed"]),
           (201, first.body, "true"), "a key is still known")
    is_problem(api.post(ORGS, {"name": "else"}, key), 409, "conflict",
               "and for what")
    revision = first.json["revision"]
    tap.eq(api.get(first["Location"] + f"?at={revision}").body, first.body,
           "the past can still be read")
    with Watch(server, ORGS, last=revision) as w:
        tap.eq(w.next().id, new.json["revision"], "and watched from")
    made = new_org(api)
    tap.eq(made["revision"], last + 1, "revisions go on where they were")
    tap.eq(api.contract.problems, [], "all of it as documented")
    server.stop()


def main():
    server = Server().start()
    api = Client(server, contract=contract_of(server))
    for function in (create_and_read, replace, merge_patch, delete, validation,
                     read_only_and_immutable, references, unique_names,
                     reserved_tags, preconditions, idempotency, plan, paging,
                     filters, in_the_past, long_poll, heads, every_noun,
                     regional_nouns):
        tap.section(function, api)
    for function in (watch, filtered_watch, statuses, metrics, small_answers):
        tap.section(function, api, server)
    tap.section(documented, api)
    tap.eq(server.stop(), 0, "the server stops cleanly")
    for word in ("ERROR", "Sanitizer", "runtime error", " error "):
        tap.ok(word not in server.log(), f"its log has no {word.strip()}",
               server.log()[-2000:])
    for function in (short_history, rates, after_restart):
        tap.section(function)


if __name__ == "__main__":
    tap.section(main)
    tap.end()

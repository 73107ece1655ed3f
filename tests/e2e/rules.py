#!/usr/bin/python3
"""The rules that must hold, each by its name, on the real server and a cloud
that is a process of its own: what it says of itself is compared.

They are those of the design: no lost machine and no second one, quota charged
with the object, nothing destructive unasked, deletion that always ends, what is
invisible is not there, errors are data, secrets stay secret, acknowledged is
durable.
"""

import base64
import glob
import time
import uuid

from machines import World
from muster import run, tap, wait_for
from tenant import ROLE, Account, made

SECRET = "hunter2-in-the-clear"
USER_DATA = base64.b64encode(f"#!/bin/sh\necho {SECRET}\n".encode()).decode()


def rule(n, text, good, *notes):
    tap.ok(good, f"rule {n}: {text}", *notes)


def lose(call, times=1):
    return {"call": call, "action": "lose", "times": times}


def fail(call, code="unavailable", times=None):
    fault = {"call": call, "action": "fail", "code": code}
    return {**fault, "times": times} if times else fault


# 1: no lost machine, no second machine.

def lost_answers(w):
    w.faults(lose("launch", 2))
    one = w.instance("lost-1")
    rule(1, "an answer lost at launch makes no second machine",
         len(w.cloud.of(one)) == 1, w.cloud.of(one), w.reasons(one))
    w.faults(fail("launch", "timeout", 2))
    one = w.instance("lost-2")
    rule(1, "a launch that timed out is asked for again, once",
         len(w.cloud.of(one)) == 1, w.cloud.of(one))
    w.faults({"call": "launch", "action": "duplicate",
                           "times": 1})
    one = w.instance("lost-3")
    rule(1, "a launch that is made twice is one machine",
         len(w.cloud.of(one)) == 1, w.cloud.of(one))
    w.faults()


def crash_at_launch(w):
    w.faults({"call": "launch", "action": "delay", "ms": 400})
    several = [made(w.ask(f"crash-{n}")) for n in range(8)]
    time.sleep(0.2)
    w.server.kill9()
    w.server.start()
    w.api.close()
    w.faults()
    several = [w.until(one, "running") for one in several]
    rule(1, "a crash while launches are under way loses and doubles none",
         [len(w.cloud.of(one)) for one in several] == [1] * 8,
         [w.cloud.of(one) for one in several])
    rule(12, "what was acknowledged before kill -9 comes to be",
         all(one["status"]["state"] == "running" for one in several))


def crash_at_delete(w):
    several = [w.instance(f"leave-{n}") for n in range(4)]
    w.faults({"call": "terminate", "action": "delay",
                           "ms": 300})
    for one in several:
        w.api.delete(w.path(one))
    w.server.kill9()
    w.server.start()
    w.api.close()
    w.faults()
    gone = [w.gone(one) for one in several]
    rule(12, "a deletion that was acknowledged before kill -9 is finished",
         all(gone) and not any(w.cloud.of(one) for one in several), gone)


# 2: one instance, one server.

def one_server(w):
    one = w.instance("link-1")
    server = w.get("servers", one["status"]["serverId"])
    machine = w.cloud.of(one)[0]
    rule(2, "instance and server name each other, and the machine its server",
         server["instanceId"] == one["id"] and
         server["instanceUid"] == one["uid"] and
         server["status"]["providerId"] == machine["id"] ==
         one["status"]["providerId"], server, one, machine)
    reply = w.api.patch(w.path(one), {"tags": {"muster/server": "x"}})
    rule(2, "callers cannot set the tag that machines are found by",
         reply.status == 422, reply)
    reply = w.api.patch(w.path(one), {"tags": {"team": "shop"}})
    mirrored = wait_for(lambda: w.cloud.of(one) and
                        w.cloud.of(one)[0]["tags"].get("team") == "shop")
    rule(2, "nor strip it by setting others, which the machine gets too",
         reply.status == 200 and mirrored, reply, w.cloud.of(one))
    again = w.ask("link-1")
    rule(2, "a second of the same name is 409", again.status == 409, again)
    w.api.delete(w.path(one))
    w.gone(one)
    new = w.instance("link-1")
    rule(2, "one that is made again has the same id and another uid",
         new["id"] == one["id"] and new["uid"] != one["uid"] and
         new["status"]["serverId"] != one["status"]["serverId"], one, new)


# 3: quota is charged with the object.

def quota(w):
    project = w.make("projects", {"name": "quota", "organizationId":
                                  w.organization})["id"]
    network = w.new_network("quota", project=project)
    w.make("quotas", {"organizationId": w.organization, "projectId": project,
                      "limits": [{"kind": "instances", "limit": 2}]})
    one = made(w.ask("q-1", network=network))
    rule(3, "quota is charged with the object",
         w.usage(id=project)["instances"] == 1, w.usage(id=project))
    made(w.ask("q-2", network=network))
    refused = w.ask("q-3", network=network)
    rule(3, "over a limit is refused, and nothing is half done",
         refused.status == 403 and
         refused.json["code"] == "quota_exceeded" and
         w.usage(id=project)["instances"] == 2 and
         len(w.all("instances", f"&networkId={network}")) == 2, refused)
    w.until(one, "running")
    w.faults(fail("terminate"))
    w.api.delete(w.path(one))
    w.until(one, lambda i: i["status"].get("reason"))
    held = w.usage(id=project)["instances"]
    rule(3, "quota is released only after the provider confirmed",
         held == 2 and len(w.cloud.of(one)) == 1, held)
    w.faults()
    w.gone(one)
    rule(3, "and then it is", w.usage(id=project)["instances"] == 1 and
         not w.cloud.of(one), w.usage(id=project))
    two = w.instance("q-4", network=network)
    w.faults({"call": "resize", "action": "delay", "ms": 500})
    w.api.patch(w.path(two) + "?allow=restart", {"spec": {
        "flavorId": w.flavors["medium"]}})
    w.api.post(w.path(two) + "/stop", None)
    w.until(two, "stopped")
    used = w.usage(id=project)
    rule(3, "a stop while a resize is under way leaves the charge as it is",
         used["vcpus"] == 3, used)
    w.faults()
    reply = w.api.post("/v1/quotas", {
        "organizationId": w.organization, "projectId": w.project,
        "limits": [{"kind": "unheard-of", "limit": 1}]})
    rule(3, "an unknown quota kind is refused", reply.status == 422, reply)


# 4: nothing destructive unasked.

def confirmation(w):
    one = w.instance("change-1")
    before = w.cloud.of(one)[0]
    image = {"spec": {"imageId": w.images["ubuntu-24.04"]}}
    refused = w.api.patch(w.path(one), image)
    plan = refused.json.get("plan", {})
    rule(4, "a destructive update is refused with its plan",
         refused.status == 409 and
         refused.json["code"] == "confirmation_required" and
         plan.get("action") in ("rebuild", "replace") and
         "rootDisk" in plan.get("loses", []), refused)
    told = w.api.patch(w.path(one) + "?plan=true", image)
    rule(4, "a plan tells the same and changes nothing",
         told.status == 200 and
         told.json["plan"]["action"] == plan.get("action") and
         w.read(one)["revision"] == one["revision"], told)
    weak = w.api.patch(w.path(one) + "?allow=restart", image)
    rule(4, "to allow a restart does not allow a rebuild",
         weak.status == 409, weak)
    time.sleep(0.3)
    rule(4, "what was refused did not happen", w.cloud.of(one) == [before],
         w.cloud.of(one), before)
    done = w.api.patch(w.path(one) + "?allow=rebuild", image)
    rule(4, "what is allowed is shown while it happens",
         done.status in (200, 202) and
         done.json["status"].get("change", {}).get("loses"), done)
    w.until(one, "running")
    machine = w.cloud.of(one)
    rule(4, "and then it is so, on one machine",
         len(machine) == 1 and machine[0]["image"] != before["image"],
         machine)
    rule(4, "and the events tell it",
         {"changeAccepted", "changeDone"} <= set(w.reasons(one)),
         w.reasons(one))


def restarts(w):
    one = w.instance("change-2")
    larger = {"spec": {"flavorId": w.flavors["medium"]}}
    refused = w.api.patch(w.path(one), larger)
    rule(4, "an update that restarts is refused with its price and quota",
         refused.status == 409 and refused.json["plan"]["action"] == "resize"
         and refused.json["plan"].get("price") and
         refused.json["plan"].get("quota"), refused)
    w.api.patch(w.path(one) + "?allow=restart", larger)
    now = w.until(one, "running")
    machine = w.cloud.of(one)
    rule(4, "a resize in place keeps the machine",
         len(machine) == 1 and
         machine[0]["id"] == one["status"]["providerId"] and
         now["status"]["flavorId"] == w.flavors["medium"], machine)
    reply = w.api.patch(w.path(one), {"description": "no word needed"})
    rule(4, "what destroys nothing needs no word", reply.status == 200, reply)


# 5: delete is two-stage and always ends.

def deletion(w):
    one = w.instance("delete-1")
    w.faults(fail("terminate", times=2), lose("terminate"),
                          fail("describe", "timeout", 2))
    first = w.api.delete(w.path(one))
    second = w.api.delete(w.path(one))
    rule(5, "a deletion is accepted, and again",
         first.status == second.status == 202, first, second)
    rule(5, "delete ends although the provider fails", w.gone(one, 90) and
         not w.cloud.of(one), w.read(one))
    w.faults()
    rule(5, "delete of something absent is 404, and nothing happens",
         w.api.delete(w.path(one)).status == 404)
    kept = w.instance("delete-2", deleteProtection=True)
    refusals = [w.api.delete(path) for path in (
        w.path(kept), f"/v1/networks/{w.network}",
        f"/v1/projects/{w.project}", f"/v1/organizations/{w.organization}")]
    rule(5, "delete protection refuses it, and its network, project and"
         " organization", [r.status for r in refusals] == [409] * 4, refusals)
    w.api.patch(w.path(kept), {"spec": {"deleteProtection": False}})
    w.api.delete(w.path(kept))
    rule(5, "until it is taken back", w.gone(kept))


def delete_before_launch(w):
    w.faults(lose("launch"), fail("launch", "timeout", 3))
    one = made(w.ask("delete-3"))
    time.sleep(0.2)
    w.api.delete(w.path(one))
    rule(5, "one whose launch was never answered leaves nothing behind",
         w.gone(one, 90) and not w.cloud.of(one), w.read(one))
    w.faults()


# 6: references hold.

def references(w):
    network = w.new_network("refs")
    group = w.make("securitygroups", {"name": "web", "networkId": network,
                                      "spec": {"rules": []}})["id"]
    one = w.instance("ref-1", network=network, securityGroupIds=[group])
    reply = w.api.delete(f"/v1/securitygroups/{group}")
    rule(6, "what is in use cannot be deleted: 409 naming the user",
         reply.status == 409 and "ref-1" in reply.body.decode(), reply)
    two = w.instance("ref-2", network=network)
    reply = w.api.delete(f"/v1/networks/{network}")
    ended = wait_for(lambda: w.api.get(f"/v1/networks/{network}").status ==
                     404, 60)
    left = [noun for noun in ("instances", "securitygroups")
            if w.all(noun, f"&networkId={network}")]
    rule(6, "a network's deletion deletes what is in it",
         reply.status == 202 and ended and not left and
         not w.cloud.of(one) and not w.cloud.of(two), reply, left)
    truth = w.cloud.truth()
    rule(6, "and nothing of it is left at the provider",
         network not in str(truth), truth)


def project_deletion(w):
    project = w.make("projects", {"name": "doomed", "organizationId":
                                  w.organization})["id"]
    network = w.new_network("doomed", project=project)
    several = [w.instance(f"doomed-{n}", network=network) for n in range(3)]
    reply = w.api.delete(f"/v1/projects/{project}")
    ended = wait_for(lambda: w.api.get(f"/v1/projects/{project}").status ==
                     404, 60)
    rule(6, "a project's deletion deletes everything in it, in order",
         reply.status == 202 and ended and
         not any(w.cloud.of(one) for one in several), reply,
         w.all("instances", f"&projectId={project}"))


# 7: invisible is 404.

def visibility(w):
    other = w.make("organizations", {"name": "other"})["id"]
    project = w.make("projects", {"name": "p", "organizationId": other})["id"]
    stranger = Account(w.api, "stranger", other, [ROLE["administrator"]],
                       [project]).call
    one = w.instance("hidden-1")
    statuses = {method: stranger(method, w.path(one) + verb, body).status
                for method, verb, body in (
                    ("GET", "", None), ("DELETE", "", None),
                    ("PATCH", "", {"description": "x"}),
                    ("POST", "/stop", None), ("PUT", "", {"name": "x"}))}
    rule(7, "another's instance is 404 for everything",
         set(statuses.values()) == {404}, statuses)
    here = stranger.post("/v1/instances", w.body("x"))
    nowhere = stranger.post("/v1/instances", w.body(
        "x", network=str(uuid.uuid4())))
    rule(7, "another's network is as one that never was",
         here.status == nowhere.status and
         here.body.replace(w.network.encode(), b"") .split(b'"requestId"')[0]
         [:40] == nowhere.body[:40], here, nowhere)
    claim = w.api.post("/v1/instances", {
        **w.body("claim"), "organizationId": other})
    rule(7, "the owner follows from the network, not from a claim",
         claim.status == 422 and one["organizationId"] == w.organization and
         one["projectId"] == w.project, claim)


def permissions(w):
    one = w.instance("verbs-1")
    reader = Account(w.api, "reader", w.organization, [ROLE["reader"]],
                     [w.project]).call
    auditor = Account(w.api, "auditor", w.organization, [ROLE["auditor"]],
                      [w.project]).call
    verbs = [("POST", "start", None), ("POST", "stop", None),
             ("POST", "reboot", {}), ("POST", "rebuild", {}),
             ("POST", "snapshot", {"name": "x"}), ("POST", "console", {}),
             ("GET", "consoleoutput", None), ("GET", "sshkey", None),
             ("POST", "sshcertificate", {"publicKey": "ssh-ed25519 AAAA"})]
    for who, call in (("reader", reader), ("auditor", auditor)):
        said = {verb: call(method, f"{w.path(one)}/{verb}", body).status
                for method, verb, body in verbs}
        rule(7, f"verbs need their own permission: a {who} has none of them",
             call.get(w.path(one)).status == 200 and
             set(said.values()) == {403}, said)
    role = w.make("roles", {"name": "power", "organizationId": w.organization,
                            "project": ["instances:read", "instances:stop"]})
    stopper = Account(w.api, "stopper", w.organization, [role["id"]],
                      [w.project]).call
    said = {verb: stopper(method, f"{w.path(one)}/{verb}", body).status
            for method, verb, body in verbs}
    rule(7, "who may stop may stop and nothing else",
         said.pop("stop") in (200, 202) and set(said.values()) == {403}, said)
    rule(7, "servers are the operators' alone",
         reader.get("/v1/servers").json.get("items", []) == [] and
         reader.get(f"/v1/servers/{one['status']['serverId']}").status == 404,
         reader.get("/v1/servers"))


# 8: absent from a list is not gone.

def absence(w):
    several = [w.instance(f"here-{n}") for n in range(6)]
    w.api.patch(f"/v1/regions/{w.region}", {"spec": {"observeSeconds": 1}})
    w.faults({"call": "list", "action": "fail", "code": "unavailable"})
    time.sleep(2)
    states = {w.read(one)["status"]["state"] for one in several}
    rule(8, "a list that fails changes nothing", states == {"running"}, states)
    w.faults()
    # What was made just now is not missed yet.
    time.sleep(1)
    for one in several:
        w.cloud.ask(f"/machines/{one['status']['providerId']}/vanish", {})
    told = wait_for(lambda: w.get("regions", w.region)["status"].get(
        "monitor", {}).get("missing"), 40)
    states = {w.read(one)["status"]["state"] for one in several}
    rule(8, "when many vanish at once it is an alarm, and nothing is done",
         told and states == {"running"} and
         not any(w.cloud.of(one) for one in several), told, states)
    for one in several:
        w.api.delete(w.path(one))
    rule(8, "and they can be deleted all the same",
         all(w.gone(one, 60) for one in several))


# 10: errors are data.

def errors(w):
    w.faults(fail("launch", "capacity"))
    one = w.instance("error-1", None, flavor="large")
    one = w.until(one, lambda i: i["status"].get("reason"))
    reason = one["status"]["reason"]
    rule(10, "a reason has code, message, scope, retry and what it waits for",
         reason["code"] == "capacity" and reason["message"] and
         reason["scope"] and reason["retry"] and
         reason["waitsFor"] == "time" and reason["retryAt"], reason)
    w.faults()
    w.api.delete(w.path(one))
    w.gone(one)
    w.faults(fail("launch", "forbidden"))
    one = w.instance("error-2", None)
    one = w.until(one, lambda i: i["status"].get("reason", {}).get(
        "waitsFor") == "specChange")
    rule(10, "what cannot help itself is parked and says for whom",
         one["status"]["provisioning"] == "error" and
         "parked" in w.reasons(one), one["status"])
    w.faults(fail("launch", "unauthenticated"))
    two = w.instance("error-3", None)
    reader = Account(w.api, "reader-10", w.organization, [ROLE["reader"]],
                     [w.project]).call
    shown = reader.get(w.path(one)).body.decode()
    rule(10, "the provider's own words are the operators'",
         "providerMessage" not in shown and '"provider"' not in shown, shown)
    two = w.until(two, lambda i: i["status"].get("reason", {}).get(
        "waitsFor") == "operator")
    w.faults()
    rule(10, "what waited for an operator is taken up when the region changes",
         w.until(two, "running"))
    w.api.patch(w.path(one), {"spec": {"flavorId": w.flavors["medium"]}})
    rule(10, "what waited for another spec is taken up when there is one",
         w.until(one, "running"))
    wrong = w.api.post("/v1/instances", {"name": "-", "networkId": "x",
                                         "spec": {"power": "maybe"}}).json
    rule(10, "invalid input tells every violation with its pointer",
         wrong["code"] == "invalid" and
         {"/name", "/networkId", "/spec/power", "/spec/flavorId"} <=
         {v["pointer"] for v in wrong["violations"]} and
         wrong["retry"] and wrong["scope"] and wrong["requestId"], wrong)


# 11: secrets.

def secrets(w):
    one = w.instance("secret-1", userData=USER_DATA, sshKey="generated")
    key = w.api.get(w.path(one) + "/sshkey")
    private = key.body.decode()
    rule(11, "a key pair that was made is read with its own verb",
         key.status == 200 and "PRIVATE KEY" in private, key)
    w.api.patch(f"/v1/regions/{w.region}", {"spec": {
        "credentials": {"password": SECRET}}})
    line = private.replace("\\n", "\n").split("\n")[2][:40]
    seen = {
        "reads": w.api.get(w.path(one)).body,
        "lists": w.api.get("/v1/instances?limit=1000").body +
        w.api.get("/v1/regions").body + w.api.get("/v1/servers").body,
        "events": w.api.get("/v1/events?limit=1000").body,
        "the audit trail": w.api.get("/v1/audit?limit=1000").body,
        "the log": w.server.log().encode(),
        "metrics": w.api.get("/metrics").body,
        "the database": b"".join(open(path, "rb").read() for path in
                                 glob.glob(w.server.data + "/muster.db*")),
    }
    for where, body in seen.items():
        found = [word for word in (SECRET, USER_DATA, line, "hunter2")
                 if word.encode() in body]
        rule(11, f"secrets are never in {where}", not found, found)
    truth = [m for m in w.cloud.of(one)]
    rule(11, "but the machine was given its user data",
         truth and truth[0].get("userDataDigest"), truth)


# 12, and all together.

def durable(w):
    several = [made(w.ask(f"durable-{n}")) for n in range(20)]
    w.server.kill9()
    w.server.start()
    w.api.close()
    there = [w.read(one) is not None for one in several]
    rule(12, "acknowledged is durable", all(there), there)
    for one in several:
        w.until(one, "running")
    for one in several:
        w.api.delete(w.path(one))
    rule(12, "and every one is finished", all(w.gone(one) for one in several))


def agreement(w):
    """After all of it: the cloud's list is the store's, and quota adds up."""
    busy = w.settled(60)
    tap.eq([i["name"] for i in busy], [], "nothing is left under way")
    mine = {i["status"].get("providerId"): i["name"]
            for i in w.all("instances")}
    real = set(w.cloud.machines())
    rule(1, "after all of this the cloud's own list is the store's",
         set(mine) == real, set(mine) ^ real)
    status, said = run("fsck", "--data", w.server.data)
    rule(3, "fsck finds no difference", status == 0, said)


def main():
    w = World({"launchMs": 60, "stopMs": 30, "startMs": 30, "terminateMs": 50,
               "consistencyMs": 200, "pollMs": 20})
    for section in (lost_answers, crash_at_launch, crash_at_delete,
                    one_server, quota, confirmation, restarts, deletion,
                    delete_before_launch, references, project_deletion,
                    visibility, permissions, absence, errors, secrets, durable,
                    agreement):
        tap.section(section, w)
        w.faults()
    tap.end()


main()

"""A stand-in for a server with machines, for testing the client's side.

Instances come to run, stop and go by themselves, a few steps each with an
event; verbs and plans are answered as the API has them.
"""
import threading
import time
import uuid

from cli_stub import Handler, Stub, merge

NOUNS = ("organizations projects regions flavors images networks"
         " securitygroups sshcas volumes instances servers events quotas"
         " users groups roles").split()


def now():
    """Of one look at the clock: between two a second may pass."""
    at = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + \
        ".%03dZ" % (at % 1 * 1000)


class Machines(Stub):
    """With a project, a network, flavors and images."""

    @property
    def handler(self):
        return MachinesHandler

    def __init__(self):
        super().__init__()
        self.objects = {noun: {} for noun in NOUNS}
        self.pause = 0.05      # between the steps of a machine
        self.capacity = True   # there is room for machines
        self.arrives = True    # what is launched comes to run
        self.page = 100
        self.org = self.make("organizations", name="acme")
        self.project = self.make("projects", name="web",
                                 organizationId=self.org["id"])
        self.region = self.make("regions", name="sim", spec={
            "provider": "sim"}, status={"state": "ready"})
        self.other = self.make("regions", name="far", spec={
            "provider": "sim"}, status={"state": "ready"})
        for region in (self.region, self.other):
            for name, cpus in (("small", 1), ("medium", 2), ("large", 4)):
                self.make("flavors", name=name, regionId=region["id"],
                          vcpus=cpus, memoryMiB=cpus * 2048,
                          architecture="x86_64")
            self.make("images", name="debian-12", regionId=region["id"],
                      spec={"architecture": "x86_64"},
                      status={"state": "ready"})
            self.make("images", name="debian-13", regionId=region["id"],
                      spec={"architecture": "x86_64"},
                      status={"state": "ready"})
        self.net = self.make("networks", name="net",
                             projectId=self.project["id"],
                             organizationId=self.org["id"],
                             regionId=self.region["id"],
                             spec={"prefix": "10.0.0.0/24"},
                             status={"state": "ready"})

    def named(self, noun, name):
        return next(d for d in self.objects[noun].values()
                    if d["name"] == name)

    def happen(self, doc, reason, message, kind="instance"):
        with self.lock:
            old = next((e for e in self.objects["events"].values()
                        if e["objectId"] == doc["id"] and
                        e["reason"] == reason), {"id": str(uuid.uuid4()),
                                                 "count": 0, "firstAt": now()})
            self.put("events", {**old, "objectKind": kind, "objectId":
                                doc["id"], "reason": reason,
                                "projectId": doc.get("projectId"),
                                "message": message, "lastAt": now(),
                                "count": old["count"] + 1})

    def change(self, doc, **status):
        """DOC with another status; None takes a word out."""
        with self.lock:
            doc = self.objects["instances"][doc["id"]]
            return self.put("instances", merge(doc, {"status": status}))

    def later(self, *steps):
        def run():
            for step in steps:
                time.sleep(self.pause)
                step()
        threading.Thread(target=run, daemon=True).start()

    def launch(self, doc):
        self.happen(doc, "accepted", "asked for by admin")
        if not self.capacity:
            self.later(
                lambda: self.happen(doc, "offeringRefused",
                                    "small in any zone: sold out"),
                lambda: (self.happen(doc, "parked", "nothing is left to try"),
                         self.change(doc, reason={
                             "code": "capacity", "waitsFor": "specChange",
                             "message": "sold out everywhere"})))
            return
        steps = [lambda: self.happen(doc, "launching", "a small of sim")]
        if self.arrives:
            steps.append(lambda: (
                self.happen(doc, "running", "as 10.0.0.5"),
                self.change(doc, state="running", observedGeneration=9,
                            privateIp="10.0.0.5", publicIp="203.0.113.7")))
        self.later(*steps)


class MachinesHandler(Handler):
    def made(self, kind, body):
        stub = self.stub
        near = stub.objects["networks"].get(body.get("networkId")) or \
            stub.objects["projects"].get(body.get("projectId")) or {}
        body = {**{key: near[key] for key in (
            "projectId", "organizationId", "regionId") if key in near},
            **body}
        if kind != "instances":
            return stub.make(kind, **body)
        doc = stub.make(kind, **merge({"spec": {"power": "on"}}, body),
            updatedAt=now(), generation=1,
            status={"state": "pending", "observedGeneration": 0})
        stub.launch(doc)
        return doc

    def remove(self, kind, old):
        stub = self.stub
        if kind != "instances":
            super().remove(kind, old)
            return
        if not old.get("deletedAt"):
            old = stub.put(kind, {**old, "deletedAt": now(),
                                  "updatedAt": now()})
            stub.later(
                lambda: stub.happen(old, "deleting", "being terminated"),
                lambda: (stub.happen(old, "terminated", "it is gone"),
                         stub.drop(kind, old["id"])))
        self.reply(202, old)

    def plan(self, old, fields):
        return {"action": "rebuild", "changes": fields,
                "loses": ["rootDisk"], "allow": "rebuild",
                "price": {"before": {"amount": "0.01", "currency": "EUR"},
                          "after": {"amount": "0.02", "currency": "EUR"}},
                "quota": [{"kind": "vcpus", "before": 1, "after": 2,
                           "limit": 8}]}

    def replaced(self, old, body):
        """What a PUT makes of it: what is left out is the server's or gone,
        but for what is set once."""
        kept = ("id revision generation createdAt updatedAt status regionId"
                " projectId organizationId networkId").split()
        new = {**{k: v for k, v in old.items() if k in kept}, **body}
        if "power" in old.get("spec", {}):
            new["spec"] = {"power": "on", **new["spec"]}
        return new

    def refused(self, kind, old, words, body):
        """Another image is a rebuild, which has to be allowed."""
        stub = self.stub
        if self.command == "PUT":
            new = self.replaced(old, body)
            body.clear()
            body.update(new)
            if new == old and words.get("plan"):
                self.reply(200, {"plan": {"action": "none"}, "object": old})
                return True
        if words.get("plan") and \
                body.get("spec", {}).get("imageId") == \
                old.get("spec", {}).get("imageId"):
            self.reply(200, {"plan": {"action": "update"},
                             "object": merge(old, body)
                             if self.command == "PATCH" else body})
            return True
        image = (body.get("spec") or {}).get("imageId")
        if kind != "instances" or not image or \
                image == old["spec"]["imageId"]:
            return False
        plan = self.plan(old, ["/spec/imageId"])
        if words.get("plan"):
            self.reply(200, {"plan": plan, "object": merge(old, body)
                             if self.command == "PATCH" else body})
        elif words.get("allow") != "rebuild":
            self.fail(409, "confirmation_required",
                      "it would lose its root disk", plan=plan)
        else:
            new = merge(old, body)
            new.update(updatedAt=now(), generation=old["generation"] + 1)
            new["status"] = {**new["status"], "observedGeneration": 1,
                             "change": {"action": "rebuild", "step":
                                        "waiting", "loses": ["rootDisk"]}}
            new = stub.put(kind, new)
            self.rebuild(new)
            self.reply(200, new)
        return True

    def rebuild(self, doc):
        stub = self.stub
        stub.happen(doc, "changeAccepted", "rebuild")
        stub.later(
            lambda: (stub.happen(doc, "changeStep", "stopping"),
                     stub.change(doc, change={"step": "changing"})),
            lambda: (stub.happen(doc, "changeDone", "rebuilt"),
                     stub.change(doc, change=None, observedGeneration=99)))

    def verb(self, kind, ident, verb, words, body):
        stub = self.stub
        doc = stub.objects[kind].get(ident)
        if not doc:
            self.fail(404, "not_found", "there is no such thing")
        elif verb == "events":
            self.reply(200, {"items": [
                e for e in stub.objects["events"].values()
                if e["objectId"] == ident]})
        elif verb == "usage":
            self.reply(200, {"items": [
                {"kind": "instances", "used": 2, "limit": 8, "free": 6},
                {"kind": "vcpus", "used": 3}]})
        elif verb in ("start", "stop"):
            on = verb == "start"
            doc = stub.put(kind, {**merge(doc, {"spec": {
                "power": "on" if on else "off"}}), "updatedAt": now()})
            stub.later(lambda: (
                stub.happen(doc, "running" if on else "stopped", "as asked"),
                stub.change(doc, state="running" if on else "stopped")))
            self.reply(202, doc)
        elif verb == "reboot":
            stub.happen(doc, "rebooted", "hard" if body else "softly")
            self.reply(202, doc)
        elif verb == "rebuild" and words.get("allow") != "rebuild":
            self.fail(409, "confirmation_required",
                      "it would lose its root disk", plan=self.plan(doc, []))
        elif verb == "rebuild":
            doc = stub.put(kind, {**merge(doc, {"status": {"change": {
                "action": "rebuild", "step": "waiting"}}}),
                "updatedAt": now()})
            self.rebuild(doc)
            self.reply(202, doc)
        elif verb == "snapshot":
            self.reply(201, stub.make("images", name=body["name"],
                                      regionId=doc["regionId"],
                                      status={"state": "ready"}))
        elif verb == "console":
            self.reply(200, {"url": "wss://127.0.0.1/console/x"})
        elif verb == "consoleoutput":
            self.reply(200, {"output": "boot\r\n\x1b[31mlogin:"})
        elif verb == "sshcertificate":
            self.reply(200, {"certificate": "ssh-cert of " +
                             body["publicKey"]})
        elif verb == "sshkey":
            self.reply(200, {"privateKey": "PRIVATE"})
        elif verb in ("sync", "accept"):
            self.reply(202, doc)
        else:
            self.fail(404, "not_found", "there is no such verb")

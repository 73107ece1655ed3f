#!/usr/bin/python3
"""Instances, rule by rule over HTTP: what one must be to be made or changed,
what a change comes to, and what each verb does."""

import base64
import gzip
import json
import uuid

from cloud import KEY, Cloud, refused, taken
from muster import OpenApi, run, tap, wait_for
from tenant import made

SOON = "2036-01-01T00:00:00Z"
PAST = "2020-01-01T00:00:00Z"


def text(s):
    data = s if isinstance(s, bytes) else s.encode()
    return base64.b64encode(data).decode()


class World(Cloud):
    """Two tenants, a region with zones, and one that can do little."""

    def __init__(self):
        super().__init__({"zones": ["a", "b"], "launchMs": 0})
        limits = [{"kind": k, "limit": n} for k, n in (
            ("instances", 60), ("vcpus", 400), ("memoryMiB", 4 << 20),
            ("networks", 20), ("gpus", 16))]
        made(self.admin.post("/v1/quotas", {"organizationId": self.a.id,
                                            "limits": limits}))
        self.poor = self.new_region("poor", options={
            "lacks": ["stop", "reboot", "resize", "rebuild", "access",
                      "growRootDisk", "snapshot", "console", "consoleOutput",
                      "spot", "volumes"]})["id"]
        for region in (self.region, self.poor):
            if not self.ready(f"/v1/regions/{region}"):
                raise AssertionError("the region does not come to be ready")
        self.call = self.a.call()
        self.contract = OpenApi(self.admin.get("/v1/openapi.json").json)
        self.call.contract = self.contract
        self.flavors = self.named("flavors", self.region)
        self.images = self.named("images", self.region)
        self.net = made(self.network("main"))["id"]
        self.net2 = made(self.network("second", "10.1.0.0/24"))["id"]
        self.poor_net = made(self.network("poor", "10.2.0.0/24",
                                          region=self.poor))["id"]
        self.elsewhere = made(self.network(
            "other", "10.3.0.0/24", call=self.admin,
            project=self.a.other))["id"]
        self.foreign = made(self.network(
            "foreign", call=self.b.call(), project=self.b.project))["id"]

    def named(self, noun, region):
        items = self.admin.get(f"/v1/{noun}?regionId={region}&limit=100")
        return {i["name"]: i["id"] for i in items.json["items"]}

    def body(self, name, network=None, flavor="small", image="debian-12",
             **spec):
        poor = network == self.poor_net
        flavors = self.named("flavors", self.poor) if poor else self.flavors
        images = self.named("images", self.poor) if poor else self.images
        return {"name": name, "networkId": network or self.net, "spec": {
            "flavorId": flavors.get(flavor, flavor),
            "imageId": images.get(image, image), **spec}}

    def ask(self, name="never", words="", **more):
        return self.call.post("/v1/instances" + words, self.body(name, **more))

    def running(self, name, **more):
        """One that runs; the instance."""
        one = made(self.ask(name, **more))
        return self.wait(one, "running")

    def path(self, one):
        return f"/v1/instances/{one['id']}"

    def get(self, one):
        return self.call.get(self.path(one)).json

    def wait(self, one, state):
        reply = self.call.get(f"{self.path(one)}?wait={state}&timeoutMs=10000")
        if state != "deleted" and reply.json["status"]["state"] != state:
            raise AssertionError(f"not {state}: {reply!r}")
        return reply.json if reply.body else None

    def settled(self, one):
        """Nothing is being done to it; the instance."""
        wait_for(lambda: "change" not in self.get(one)["status"] and
                 self.get(one)["status"]["observedGeneration"] ==
                 self.get(one)["generation"])
        return self.get(one)

    def of_noun(self, noun, **body):
        return made(self.call.post(f"/v1/{noun}", body))

    def reasons(self, one):
        items = self.call.get(self.path(one) + "/events?limit=100").json
        return [e["reason"] for e in items["items"]]


# What one must be to be made, in the order that it is looked at.

def places(w):
    nowhere = str(uuid.uuid4())
    refused("a network that is not there", w.ask(network=nowhere), 422,
            "/networkId", "there is no network")
    refused("another organization's network is not there",
            w.ask(network=w.foreign), 422, "/networkId", "there is no network")
    refused("nor is that of a project without rights",
            w.ask(network=w.elsewhere), 422, "/networkId",
            "there is no network")
    refused("whoever may only read makes nothing", w.a.call("reader").post(
        "/v1/instances", w.body("x")), 403, word="instances:create")
    for field in ("organizationId", "projectId", "regionId", "uid"):
        refused(f"nobody claims the {field}", w.call.post(
            "/v1/instances", {**w.body("x"), field: w.b.id}), 422,
            "/" + field)
    refused("a tag that is ours", w.call.post("/v1/instances", {
        **w.body("x"), "tags": {"muster/server": "x"}}), 422, "/tags",
        "reserved")
    one = made(w.ask("place-1"))
    want = (w.a.id, w.a.project, w.region)
    tap.eq((one["organizationId"], one["projectId"], one["regionId"]), want,
           "owner and region follow from the network")
    tap.eq(one["id"], str(uuid.uuid5(uuid.UUID(w.net), "place-1")),
           "the id follows from the network and the name")
    refused("a second of that name", w.ask("place-1"), 409, "/name",
            "already")
    taken("the same name in another network",
          w.ask("place-1", network=w.net2), 201)
    server = w.admin.get(f"/v1/servers/{one['status']['serverId']}").json
    tap.eq((server["instanceId"], server["instanceUid"], server["number"]),
           (one["id"], one["uid"], 1), "its server names it, and it the server")
    tap.ok("accepted" in w.reasons(one), "that it was accepted is told")
    tap.eq(one["status"]["price"]["amount"], "0.0104",
           "its price is kept with it")


def dying_network(w):
    net = made(w.network("dying", "10.9.0.0/24"))["id"]
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": True}})
    taken("a network begins to go", w.call.delete(f"/v1/networks/{net}"), 202)
    refused("nothing is made in a network that is being deleted",
            w.ask(network=net), 409, "/networkId", "being deleted")
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": False}})


def flavors(w):
    refused("a flavor that is not there", w.ask(flavor=str(uuid.uuid4())),
            422, "/spec/flavorId", "there is no flavor")
    refused("another region's flavor",
            w.ask(flavor=w.named("flavors", w.poor)["small"]), 422,
            "/spec/flavorId", "there is no flavor")
    refused("an alternative that is not there", w.ask(
        alternatives=[{"flavorId": str(uuid.uuid4())}]), 422,
        "/spec/alternatives", "there is no flavor")
    refused("another region's flavor as an alternative", w.ask(
        alternatives=[{"flavorId": w.named("flavors", w.poor)["small"]}]),
        422, "/spec/alternatives/0/flavorId", "there is no flavor")
    hidden = w.new_region("hidden", only=[w.b.id])["id"]
    w.ready(f"/v1/regions/{hidden}")
    refused("a flavor of a region that is not seen",
            w.ask(flavor=w.named("flavors", hidden)["small"]), 422,
            "/spec/flavorId", "there is no flavor")


def retired(w):
    one = w.running("retired-1", flavor="medium")
    path = f"/v1/regions/{w.region}"
    w.admin.patch(path, {"spec": {"options": {"hidden": ["sim.medium"]}}})
    gone = wait_for(lambda: "retiredAt" in w.admin.get(
        "/v1/flavors/" + w.flavors["medium"]).json)
    tap.ok(gone, "a flavor that is offered no more is retired")
    refused("a retired flavor", w.ask(flavor="medium"), 422, "/spec/flavorId",
            "retired")
    refused("a retired flavor as an alternative", w.ask(
        alternatives=[{"flavorId": w.flavors["medium"]}]), 422,
        "/spec/alternatives/0/flavorId", "retired")
    taken("who has it can be changed all the same", w.call.patch(
        w.path(one), {"description": "still here", "spec": {
            "deleteProtection": False}}), 200)
    refused("others cannot be changed to it", w.call.patch(
        w.path(made(w.ask("retired-2"))), {"spec": {
            "flavorId": w.flavors["medium"]}}), 422, "/spec/flavorId",
        "retired")
    w.admin.patch(path, {"spec": {"options": {"hidden": None}}})
    wait_for(lambda: "retiredAt" not in w.admin.get(
        "/v1/flavors/" + w.flavors["medium"]).json)


def images(w):
    refused("an image that is not there", w.ask(image=str(uuid.uuid4())), 422,
            "/spec/imageId", "there is no image")
    refused("another region's image",
            w.ask(image=w.named("images", w.poor)["debian-12"]), 422,
            "/spec/imageId", "there is no image")
    refused("an image for another architecture",
            w.ask(image="debian-12-arm64"), 422, "/spec/imageId", "aarch64")
    refused("an alternative of another architecture", w.ask(
        alternatives=[{"flavorId": w.flavors["arm"]}]), 422,
        "/spec/alternatives/0/flavorId", "aarch64")
    refused("an image that needs a larger disk",
            w.ask(image="cuda-ubuntu-24.04"), 422, "/spec/imageId",
            "needs a root disk of 20 GiB")
    refused("an image for bare metal on a virtual machine",
            w.ask(image="debian-12-metal"), 422, "/spec/imageId", "bareMetal")
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": True}})
    import_ = made(w.call.post("/v1/images", {
        "name": "new", "projectId": w.a.project, "regionId": w.region,
        "spec": {"uri": "https://example.com/x.img",
                 "architecture": "x86_64"}}))["id"]
    refused("an image that is not ready", w.ask(image=import_), 422,
            "/spec/imageId", "not ready: it is pending")
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": False}})
    other = made(w.admin.post("/v1/images", {
        "name": "other", "projectId": w.a.other, "regionId": w.region,
        "spec": {"uri": "https://example.com/x.img",
                 "architecture": "x86_64"}}))["id"]
    refused("another project's image", w.admin.post(
        "/v1/instances", w.body("x", image=other)), 422, "/spec/imageId",
        "there is no image")
    taken("a driver that drives the graphics processors", w.ask(
        "gpu-plan", "?plan=true", flavor="gpu", image="cuda-ubuntu-24.04"),
        200)


def disks(w):
    refused("the size of a fixed root disk",
            w.ask(flavor="fixed", rootDisk={"sizeGiB": 50}), 422,
            "/spec/rootDisk/sizeGiB", "cannot be chosen")
    refused("a root disk that is too large",
            w.ask(rootDisk={"sizeGiB": 1000000}), 422,
            "/spec/rootDisk/sizeGiB", "takes a root disk of")
    refused("a class that is not offered",
            w.ask(rootDisk={"class": "golden"}), 422, "/spec/rootDisk/class",
            "golden")
    taken("a size that can be had", w.ask("disk-plan", "?plan=true",
                                          rootDisk={"sizeGiB": 20}), 200)


def zones(w):
    refused("a zone that is not there", w.ask(zone="z"), 422, "/spec/zone",
            "no zone")
    refused("an alternative's zone that is not there", w.ask(
        alternatives=[{"zone": "z"}]), 422, "/spec/alternatives/0/zone",
        "no zone")
    refused("a zone where there are none",
            w.ask(network=w.poor_net, zone="a"), 422, "/spec/zone", "no zone")
    refused("a market that the region has not",
            w.ask(network=w.poor_net, market="spot"), 422, "/spec/market",
            "spot")
    taken("a zone and a market that are there", w.ask(
        "zone-plan", "?plan=true", zone="b", market="spot"), 200)


def groups(w):
    def group(name, network):
        return w.of_noun("securitygroups", name=name, networkId=network,
                         spec={"rules": []})["id"]
    here, there = group("here", w.net), group("there", w.net2)
    refused("a security group that is not there",
            w.ask(securityGroupIds=[str(uuid.uuid4())]), 422,
            "/spec/securityGroupIds", "there is no securitygroup")
    refused("a security group of another network",
            w.ask(securityGroupIds=[here, there]), 422,
            "/spec/securityGroupIds/1", "not of the instance's network")
    refused("a security group twice", w.ask(securityGroupIds=[here, here]),
            422, "/spec/securityGroupIds/1", "twice")
    taken("one of the same network", w.ask("group-plan", "?plan=true",
                                           securityGroupIds=[here]), 200)
    refused("a prefix that is none", w.ask(allowedSourceAddresses=["x"]), 422,
            "/spec/allowedSourceAddresses")


def volumes(w):
    def volume(name, **more):
        body = {"name": name, "projectId": w.a.project, "regionId": w.region,
                "spec": {"sizeGiB": 1}, **more}
        return made(w.admin.post("/v1/volumes", body))["id"]

    def ask(*volumes, **more):
        return w.ask(volumes=[{"volumeId": v} if isinstance(v, str) else v
                              for v in volumes], **more)
    mine, data = volume("mine"), volume("data")
    refused("a volume that is not there", ask(str(uuid.uuid4())), 422,
            "/spec/volumes", "there is no volume")
    refused("a volume of another project", w.admin.post(
        "/v1/instances", w.body("x", volumes=[{"volumeId": volume(
            "theirs", projectId=w.a.other)}])), 422,
        "/spec/volumes/0/volumeId", "not of the instance's project and region")
    refused("a volume of another region", ask(volume(
        "far", regionId=w.new_region("far")["id"])), 422,
        "/spec/volumes/0/volumeId", "not of the instance's project and region")
    refused("a volume twice", ask(mine, mine), 422, "/spec/volumes/1/volumeId",
            "twice")
    refused("a volume in another zone", ask(volume(
        "zoned", spec={"sizeGiB": 1, "zone": "a"}), zone="b"), 422,
        "/spec/volumes/0/volumeId", 'in zone \\"a\\"')
    for path in ("data", "/", "/data/", "/a//b", "/a/../b", "/..", "/a/."):
        refused(f"a mount path such as {path}", ask(
            {"volumeId": mine, "mountPath": path}), 422,
            "/spec/volumes/0/mountPath", "absolute path")
    refused("two volumes at one path", ask(
        {"volumeId": mine, "mountPath": "/data"},
        {"volumeId": data, "mountPath": "/data"}), 422,
        "/spec/volumes/1/mountPath", "both")
    one = w.running("volumes-1", volumes=[{"volumeId": mine,
                                           "mountPath": "/data"}])
    refused("a volume that another has", ask(mine), 409,
            "/spec/volumes/0/volumeId", 'attached to instance \\"volumes-1\\"')
    refused("and it is not deleted meanwhile",
            w.call.delete(f"/v1/volumes/{mine}"), 409, word="volumes-1")
    taken("volumes come and go while it runs", w.call.patch(
        w.path(one), {"spec": {"volumes": [{"volumeId": data}]}}), 200)
    w.settled(one)
    taken("then another may have it", w.ask(
        "volumes-2", "?plan=true", volumes=[{"volumeId": mine}]), 200)
    refused("volumes where the region has none", w.ask(
        network=w.poor_net, volumes=[{"volumeId": mine}]), 501,
        "/spec/volumes", "volumes")


def logins(w):
    theirs = made(w.admin.post("/v1/sshcas", {
        "name": "theirs", "projectId": w.a.other}))["id"]
    refused("an authority that is not there",
            w.ask(sshCertificateAuthorityId=str(uuid.uuid4())), 422,
            "/spec/sshCertificateAuthorityId", "there is no sshca")
    refused("an authority of another project", w.admin.post(
        "/v1/instances", w.body("x", sshCertificateAuthorityId=theirs)), 422,
        "/spec/sshCertificateAuthorityId", "not of the instance's project")
    for name, line in (("nothing", "hello"), ("a cut one", KEY[:40]),
                       ("options", "no-pty " + KEY),
                       ("a certificate",
                        "ssh-ed25519-cert-v01@openssh.com AAAA"),
                       ("DSA", "ssh-dss AAAA")):
        refused(f"a public key that is {name}",
                w.ask(sshPublicKeys=[KEY, line]), 422,
                "/spec/sshPublicKeys/1")
    refused("a public key twice", w.ask(sshPublicKeys=[KEY, KEY + " again"]),
            422, "/spec/sshPublicKeys/1", "twice")


FORMATS = {
    "cloud-config": "#cloud-config\npackages: [git]\n",
    "a script": "#!/bin/sh\ntrue\n",
    "MIME multipart": 'MIME-Version: 1.0\nContent-Type: multipart/mixed; '
                      'boundary="b"\n\n--b\n\nx\n--b--\n',
    "a boothook": "#cloud-boothook\ntrue\n",
    "an include": "#include\nhttps://example.com/x\n",
    "a config archive": "#cloud-config-archive\n- x\n",
    "a part handler": "#part-handler\n",
    "a jinja template": "## template: jinja\n#cloud-config\n",
}


def packed_plans(plan):
    """What is packed is looked into when something is put in."""
    for name, data, words in (
            ("a bomb", gzip.compress(bytes(40 << 20)), "more than 262144"),
            ("cut short", gzip.compress(b"#!/bin/sh\n")[:-1], "damaged"),
            ("of anything", gzip.compress(b"hello"), "must be cloud-config"),
            ("of gzip", gzip.compress(gzip.compress(b"#!/bin/sh\n")),
             "must be cloud-config")):
        taken(f"user data: gzip {name}, with nothing put in", plan(data), 200)
        refused(f"user data: gzip {name}, with keys",
                plan(data, sshPublicKeys=[KEY]), 422, "/spec/userData", words)


def user_data(w):
    def plan(data, **more):
        return w.ask("data-plan", "?plan=true", userData=text(data), **more)
    zipped = gzip.compress(b"#cloud-config\n")
    for name, data in FORMATS.items():
        taken(f"user data: {name}, with keys", plan(
            data, sshPublicKeys=[KEY]), 200)
    taken("user data: gzip, with nothing put in", plan(zipped), 200)
    packed_plans(plan)
    taken("user data: anything, with nothing put in", plan(b"\x00\xff"), 200)
    for how, more in (("keys", {"sshPublicKeys": [KEY]}),
                      ("a generated key", {"sshKey": "generated"}),
                      ("an authority", {"sshCertificateAuthorityId":
                                        w.of_noun("sshcas", name="ca-data",
                                                  projectId=w.a.project)
                                        ["id"]})):
        taken(f"user data: gzip, with {how}", plan(zipped, **more), 200)
        refused(f"user data: anything, with {how}", plan("hello", **more), 422,
                "/spec/userData", "must be cloud-config")
    refused("user data that is too large", plan(b"#" * 65537), 422,
            "/spec/userData")
    refused("user data that is no base64", w.ask(userData="?"), 422,
            "/spec/userData", "base64")
    one = made(w.ask("data-1", userData=text("hello")))
    tap.ok(b"userData" not in w.call.get(w.path(one)).body,
           "user data is never shown")
    taken("what was taken once is not looked at again", w.call.patch(
        w.path(one), {"description": "x"}), 200)
    refused("unless something is to be put into it", w.call.patch(
        w.path(one) + "?allow=rebuild", {"spec": {"sshPublicKeys": [KEY]}}),
        422, "/spec/userData", "must be cloud-config")


def the_rest(w):
    refused("one that is over already", w.ask(expiresAt=PAST), 422,
            "/spec/expiresAt", "time to come")
    refused("to be off, where machines cannot stop",
            w.ask(network=w.poor_net, power="off"), 501, "/spec/power",
            "cannot stop")
    refused("a name that is no name", w.ask("Not_A_Name"), 422, "/name")
    refused("a field that is not known", w.ask(color="red"), 422,
            "/spec/color")
    refused("an allowance that is not known", w.call.patch(
        w.path(made(w.ask("allow-1"))) + "?allow=murder",
        {"spec": {"zone": "b"}}), 400, word="restart or rebuild")
    refused("an allowance where it means nothing", w.call.patch(
        f"/v1/networks/{w.net}?allow=rebuild", {"description": "x"}), 400,
        word="allow")
    taken("one that is to be off and has an end", w.ask(
        "rest-plan", "?plan=true", power="off", expiresAt=SOON), 200)


def counted(w):
    def used():
        items = w.admin.get(f"/v1/organizations/{w.b.id}/usage").json["items"]
        return {i["kind"]: i["used"] for i in items}
    call = w.b.call()
    made(w.admin.post("/v1/quotas", {"organizationId": w.b.id, "limits": [
        {"kind": "instances", "limit": 2}, {"kind": "vcpus", "limit": 9}]}))
    plan = call.post("/v1/instances?plan=true", w.body(
        "b-1", network=w.foreign, publicIp=True, alternatives=[
            {"flavorId": w.flavors["large"]}])).json["plan"]
    tap.eq({q["kind"]: (q["before"], q["after"]) for q in plan["quota"]},
           {"instances": (0, 1), "vcpus": (0, 8), "memoryMiB": (0, 32768),
            "publicIps": (0, 1), "spend": (0, 192)},
           "a plan counts the most that it may come to be")
    tap.eq((used()["instances"], plan["price"]["after"]["amount"]),
           (0, "0.0104"), "says the price, and charges nothing")
    one = made(call.post("/v1/instances", w.body("b-1", network=w.foreign)))
    tap.eq((used()["instances"], used()["vcpus"]), (1, 1),
           "an instance is charged with it")
    refused("one too many vcpus", call.post("/v1/instances", w.body(
        "b-2", network=w.foreign, flavor="gpu", image="cuda-ubuntu-24.04")),
        403, word="vcpus")
    tap.eq(call.get("/v1/instances?name=b-2").json["items"], [],
           "what was refused is not there")
    tap.eq((used()["instances"], used()["vcpus"]), (1, 1),
           "nor is it counted")
    w.call, mine = call, w.call
    w.wait(one, "running")
    refused("more than there is by an update", call.patch(
        w.path(one) + "?allow=restart", {"spec": {
            "flavorId": w.flavors["gpu"]}}), 403, word="vcpus")
    taken("a larger flavor", call.patch(w.path(one) + "?allow=restart", {
        "spec": {"flavorId": w.flavors["large"]}}), 200)
    tap.eq((used()["vcpus"], w.get(one)["status"]["price"]["amount"]),
           (8, "0.1920"), "is counted, and costs, with the change")
    w.settled(one)
    plan = call.delete(w.path(one) + "?plan=true").json["plan"]
    tap.eq({q["kind"]: q["after"] for q in plan["quota"]},
           {"instances": 0, "vcpus": 0, "memoryMiB": 0, "spend": 0},
           "a plan to delete says what comes back")
    tap.ok("rootDisk" in plan["loses"] and "privateIp" in plan["loses"],
           "and what is lost", plan)
    taken("deleting it", call.delete(w.path(one)), 202)
    w.wait(one, "deleted")
    tap.ok(wait_for(lambda: used()["instances"] == 0), "brings it back")
    w.call = mine


# What a change comes to.

def changes(w):
    one = w.running("change-1", zone="a")
    path = w.path(one)

    def held(name, patch, action, allow, loses):
        for words in ("", "?allow=restart" if allow == "rebuild" else ""):
            reply = w.call.patch(path + words, patch)
            plan = reply.json.get("plan", {})
            tap.ok(reply.status == 409 and
                   reply.json["code"] == "confirmation_required" and
                   (plan["action"], plan["allow"]) == (action, allow) and
                   set(loses) <= set(plan["loses"]),
                   f"{name} is a {action}, and held{words}", reply)
        planned = w.call.patch(path + "?plan=true", patch)
        tap.eq(planned.json["plan"], plan, f"{name}: the plan says the same")
    held("another image", {"spec": {"imageId": w.images["ubuntu-24.04"]}},
         "rebuild", "rebuild", ["rootDisk"])
    held("other user data", {"spec": {"userData": text("#cloud-config\n")}},
         "rebuild", "rebuild", ["rootDisk"])
    held("other keys", {"spec": {"sshPublicKeys": [KEY]}}, "rebuild",
         "rebuild", ["rootDisk"])
    held("another flavor", {"spec": {"flavorId": w.flavors["medium"]}},
         "resize", "restart", [])
    held("another zone", {"spec": {"zone": "b"}}, "replace", "rebuild",
         ["rootDisk", "privateIp"])
    held("another market", {"spec": {"market": "spot"}}, "replace", "rebuild",
         ["rootDisk"])
    tap.eq(w.get(one)["revision"], one["revision"],
           "nothing has been changed by all that")
    for name, patch in (("tags", {"tags": {"k": "v"}}),
                        ("an end", {"spec": {"expiresAt": SOON}}),
                        ("a public address", {"spec": {"publicIp": True}}),
                        ("a larger disk", {"spec": {"rootDisk": {
                            "sizeGiB": 15}}}),
                        ("protection", {"spec": {"deleteProtection": True}})):
        taken(f"{name} needs no word", w.call.patch(path, patch), 200)
    w.settled(one)
    refused("a smaller disk", w.call.patch(path, {"spec": {"rootDisk": {
        "sizeGiB": 12}}}), 422, "/spec/rootDisk/sizeGiB", "shrink")
    for field, value in (("name", "other"), ("networkId", w.net2)):
        reply = w.call.patch(path, {field: value})
        tap.ok(reply.status == 422 and reply.json["code"] == "immutable",
               f"the {field} cannot change", reply)
    refused("what is protected is not deleted", w.call.delete(path), 409,
            word="protected")
    refused("nor is its network", w.call.delete(f"/v1/networks/{w.net}"), 409,
            word="protected")
    reply = taken("what is allowed is done", w.call.patch(
        path + "?allow=rebuild", {"spec": {
            "imageId": w.images["ubuntu-24.04"],
            "deleteProtection": False}}), 200)
    tap.eq((reply["status"]["change"]["action"],
            reply["status"]["change"]["loses"]), ("rebuild", ["rootDisk"]),
           "and written down with the spec")
    after = w.settled(one)
    tap.ok("change" not in after["status"] and
           after["status"]["providerId"] == w.get(one)["status"]["providerId"]
           and "changeAccepted" in w.reasons(one),
           "and is over when it is done, with the same machine", after)
    resized = taken("a restart is allowed by itself", w.call.patch(
        path + "?allow=restart", {"spec": {
            "flavorId": w.flavors["medium"]}}), 200)
    tap.eq(resized["status"]["change"]["action"], "resize", "as a resize")
    wait_for(lambda: w.get(one)["status"].get("flavorId") ==
             w.flavors["medium"])
    w.settled(one)


def poor_changes(w):
    one = w.running("poor-1", network=w.poor_net)
    named = w.named("flavors", w.poor)
    for name, patch in (
            ("another flavor", {"spec": {"flavorId": named["medium"]}}),
            ("another image", {"spec": {"imageId": w.named(
                "images", w.poor)["ubuntu-24.04"]}}),
            ("a public address", {"spec": {"publicIp": True}}),
            ("a larger disk", {"spec": {"rootDisk": {"sizeGiB": 15}}})):
        reply = w.call.patch(w.path(one), patch)
        tap.ok(reply.status == 409 and
               reply.json["plan"]["action"] == "replace",
               f"{name} is another machine where nothing else can be", reply)
    for verb in ("stop", "start", "reboot", "snapshot", "console"):
        refused(f"no {verb} where the region cannot", w.call.post(
            f"{w.path(one)}/{verb}",
            {"name": "x"} if verb == "snapshot" else None), 501)
    refused("no console output where the region cannot",
            w.call.get(w.path(one) + "/consoleoutput"), 501)
    refused("nor is it turned off by its spec", w.call.patch(
        w.path(one), {"spec": {"power": "off"}}), 501, "/spec/power")
    machine = one["status"]["providerId"]
    taken("it is replaced when that is allowed", w.call.patch(
        w.path(one) + "?allow=rebuild", {"spec": {
            "flavorId": named["medium"]}}), 200)
    after = w.settled(one)
    tap.ok(after["status"]["providerId"] != machine and
           after["status"]["flavorId"] == named["medium"],
           "by another machine", after)


def never_launched(w):
    volume = made(w.call.post("/v1/volumes", {
        "name": "wanted", "projectId": w.a.project, "regionId": w.region,
        "spec": {"sizeGiB": 1}}))["id"]
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": True}})
    one = made(w.ask("unborn-1", volumes=[{"volumeId": volume}]))
    refused("a volume that another is to have", w.ask(
        volumes=[{"volumeId": volume}]), 409, "/spec/volumes/0/volumeId",
        "unborn-1")
    reply = taken("what was never launched has nothing to lose", w.call.patch(
        w.path(one), {"spec": {"imageId": w.images["ubuntu-24.04"],
                               "zone": "b"}}), 200)
    tap.eq(reply["status"]["change"].get("loses", []), [], "and loses nothing")
    taken("and may be changed again", w.call.patch(
        w.path(one), {"spec": {"zone": "a"}}), 200)
    for verb, body in (("reboot", {}), ("snapshot", {"name": "x"}),
                       ("console", {})):
        refused(f"no {verb} before there is a machine",
                w.call.post(f"{w.path(one)}/{verb}", body), 409)
    refused("nor output", w.call.get(w.path(one) + "/consoleoutput"), 409)
    taken("it is deleted as any other", w.call.delete(w.path(one)), 202)
    w.admin.patch(f"/v1/regions/{w.region}", {"spec": {"paused": False}})
    w.wait(one, "deleted")


def dying(w):
    """In a region whose machines take an hour to go."""
    region = w.new_region("slow", options={"terminateMs": 3600000})["id"]
    w.ready(f"/v1/regions/{region}")
    net = made(w.network("slow", "10.7.0.0/24", region=region))["id"]
    one = w.running("dying-1", network=net,
                    flavor=w.named("flavors", region)["small"],
                    image=w.named("images", region)["debian-12"])
    reply = taken("deleting begins", w.call.delete(w.path(one)), 202)
    tap.ok("deletedAt" in reply and
           reply["status"]["state"] == "terminating", "and is seen", reply)
    for method, verb, body in (
            ("POST", "/start", None), ("POST", "/stop", None),
            ("POST", "/reboot", {}), ("POST", "/rebuild", {}),
            ("POST", "/snapshot", {"name": "x"}), ("POST", "/console", {}),
            ("POST", "/sshcertificate", {"publicKey": KEY}),
            ("GET", "/sshkey", None), ("PATCH", "", {"description": "x"})):
        refused(f"nothing is done to what is being deleted: {verb or 'patch'}",
                w.call(method, w.path(one) + verb, body), 409,
                word="being deleted")
    taken("but deleting it again", w.call.delete(w.path(one)), 202)
    refused("nor is its name free before it is gone", w.ask(
        "dying-1", network=net,
        flavor=w.named("flavors", region)["small"],
        image=w.named("images", region)["debian-12"]), 409, "/name",
        "being deleted")


# Verbs.

def power(w):
    one = w.running("power-1")
    path = w.path(one)
    plan = w.call.post(path + "/stop?plan=true", None)
    tap.eq((plan.status, plan.json["plan"]["changes"]), (200, ["/spec/power"]),
           "a plan to stop says so")
    tap.eq(w.get(one)["revision"], one["revision"], "and stops nothing")
    key = {"Idempotency-Key": "stop-it"}
    first = w.call.post(path + "/stop", None, key)
    again = w.call.post(path + "/stop", None, key)
    tap.ok(first.status == again.status == 202 and first.body == again.body
           and again["Idempotency-Replayed"] == "true",
           "a verb that is repeated with its key is done once", first, again)
    w.wait(one, "stopped")
    taken("stopping what is stopped", w.call.post(path + "/stop", None), 202)
    refused("no reboot of what is off", w.call.post(path + "/reboot", {}), 409,
            word="not running")
    stopped = w.settled(one)
    reply = taken("a stopped one is resized without a word", w.call.patch(
        path, {"spec": {"flavorId": w.flavors["medium"]}}), 200)
    tap.eq(reply["status"]["change"]["action"], "resize", "in place")
    w.settled(one)
    tap.eq(w.get(one)["status"]["state"], "stopped", "and stays off")
    taken("starting it", w.call.post(path + "/start", None), 202)
    after = w.wait(one, "running")
    tap.eq(after["status"]["providerId"], stopped["status"]["providerId"],
           "starts the same machine")
    w.settled(one)
    for body, action in (({}, "reboot"), ({"hard": True}, "hardReboot")):
        reply = taken(f"a {action}", w.call.post(path + "/reboot", body), 202)
        tap.eq(reply["status"]["change"]["action"], action, "is a change")
        w.settled(one)
    refused("a reboot with more than it takes",
            w.call.post(path + "/reboot", {"harder": True}), 422, "/harder")
    refused("a verb with an old revision", w.call.post(
        path + "/stop", None, {"If-Match": '"1"'}), 412)
    paused = taken("one can be left alone", w.call.patch(
        path, {"spec": {"paused": True}}), 200)
    tap.eq(paused["spec"]["paused"], True, "until that is taken back")
    w.call.patch(path, {"spec": {"paused": False}})


def rebuilds(w):
    one = w.running("rebuild-1")
    path = w.path(one)
    reply = w.call.post(path + "/rebuild", {})
    tap.ok(reply.status == 409 and
           reply.json["code"] == "confirmation_required" and
           reply.json["plan"]["loses"] == ["rootDisk"],
           "a rebuild must be allowed", reply)
    refused("an image that is not there", w.call.post(
        path + "/rebuild?allow=rebuild", {"imageId": str(uuid.uuid4())}), 422,
        "/spec/imageId", "there is no image")
    refused("an image that does not fit", w.call.post(
        path + "/rebuild?allow=rebuild", {
            "imageId": w.images["debian-12-arm64"]}), 422, "/spec/imageId")
    taken("a rebuild with the same image", w.call.post(
        path + "/rebuild?allow=rebuild", {}), 202)
    w.settled(one)
    taken("and with another", w.call.post(path + "/rebuild?allow=rebuild", {
        "imageId": w.images["ubuntu-24.04"]}), 202)
    after = w.settled(one)
    tap.eq((after["spec"]["imageId"], after["status"]["providerId"]),
           (w.images["ubuntu-24.04"], one["status"]["providerId"]),
           "which it has from then on, on the same machine")
    pause(w, True)
    taken("what a paused region is asked for is begun later", w.call.post(
        path + "/rebuild?allow=rebuild", {}), 202)
    refused("and meanwhile nothing else", w.call.patch(
        path + "?allow=restart", {"spec": {"flavorId": w.flavors["medium"]}}),
        409, word="a rebuild of the machine is under way")
    pause(w, False)
    w.settled(one)


def pause(w, paused):
    taken("the region is paused" if paused else "the region goes on",
          w.admin.patch(f"/v1/regions/{w.region}",
                        {"spec": {"paused": paused}}))


def snapshots(w):
    one = w.running("snap-1", rootDisk={"sizeGiB": 12})
    refused("a snapshot without a name",
            w.call.post(w.path(one) + "/snapshot", {}), 422, "/name")
    key = {"Idempotency-Key": "snap"}
    reply = w.call.post(w.path(one) + "/snapshot", {"name": "golden"}, key)
    again = w.call.post(w.path(one) + "/snapshot", {"name": "golden"}, key)
    image = taken("a snapshot is an image", reply, 201)
    tap.eq(again.json["id"], image["id"], "made once by its key")
    tap.eq((image["status"]["source"], image["status"]["instanceId"],
            image["spec"]["minDiskGiB"], image["spec"]["architecture"],
            image["projectId"]),
           ("snapshot", one["id"], 12, "x86_64", w.a.project),
           "that says what it was made of")
    tap.eq(reply["Location"], f"/v1/images/{image['id']}", "at its own place")
    tap.ok(w.ready(f"/v1/images/{image['id']}"), "and comes to be ready")
    taken("an instance boots it", w.ask("snap-2", image=image["id"],
                                        rootDisk={"sizeGiB": 12}), 201)
    refused("an image that is in use is not deleted",
            w.call.delete(f"/v1/images/{image['id']}"), 409, word="snap-2")


def consoles(w):
    one = w.running("console-1")
    path = w.path(one)
    for kind in ("serial", "vnc"):
        reply = w.call.post(path + "/console", {"kind": kind})
        tap.ok(reply.status == 200 and "ticket" in reply.json["url"],
               f"a {kind} console has an address", reply)
    taken("a console without saying which", w.call.post(
        path + "/console", None), 200)
    refused("a console of another kind",
            w.call.post(path + "/console", {"kind": "x"}), 422, "/kind")
    reply = w.call.get(path + "/consoleoutput")
    tap.ok(reply.status == 200 and "login" in reply.json["output"],
           "what it printed can be read", reply)
    short = w.call.get(path + "/consoleoutput?length=10")
    tap.ok(len(short.json["output"]) <= 10, "or the end of it", short)
    refused("a length that is none",
            w.call.get(path + "/consoleoutput?length=0"), 400, word="length")
    tap.ok("console" in w.reasons(one), "who opened one is told")
    trail = w.admin.get(f"/v1/audit?objectId={one['id']}&action=console").json
    tap.ok(any(item["result"] == "ok" for item in trail["items"]),
           "in the audit trail, too", trail)


def secrets(w):
    one = w.running("key-1", sshKey="generated")
    reply = w.call.get(w.path(one))
    tap.ok(b"PRIVATE" not in reply.body and
           reply.json["status"]["sshPublicKey"].startswith("ssh-ed25519 "),
           "of a generated pair the public key is shown", reply)
    tap.ok(b"PRIVATE" not in w.call.get("/v1/instances?limit=1000").body,
           "and the private one nowhere")
    pair = taken("but to whoever may read it",
                 w.call.get(w.path(one) + "/sshkey"), 200)
    tap.ok(pair["privateKey"].startswith("-----BEGIN OPENSSH PRIVATE KEY") and
           pair["publicKey"] == reply.json["status"]["sshPublicKey"],
           "with its public key")
    refused("others may not", w.a.call("reader").get(
        w.path(one) + "/sshkey"), 403, word="instances:sshkey")
    trail = f"/v1/audit?objectId={one['id']}&action=sshkey"
    tap.ok(wait_for(lambda: {e["result"] for e in w.admin.get(trail).json[
        "items"]} == {"ok", "forbidden"}),
        "who read it is in the audit trail, and who tried to",
        w.admin.get(trail))
    tap.eq(w.call.get(w.path(one) + "/sshkey")["Cache-Control"], "no-store",
           "nobody keeps it on the way")
    tap.ok("sshKey" in w.reasons(one), "and in the events")
    refused("one that has none", w.call.get(
        w.path(w.running("key-2")) + "/sshkey"), 409, word="none")
    refused("whether there is one cannot change", w.call.patch(
        w.path(one), {"spec": {"sshKey": "none"}}), 422, "/spec/sshKey")


def waiting(w):
    refused("a state that is none", w.call.get(
        w.path(made(w.ask("wait-1"))) + "?wait=happy"), 400, word="running")
    region = w.new_region("doomed", options={"bootFailureRate": 1000})["id"]
    w.ready(f"/v1/regions/{region}")
    net = made(w.network("doomed", "10.8.0.0/24", region=region))["id"]
    one = made(w.ask("doomed-1", network=net,
                     flavor=w.named("flavors", region)["small"],
                     image=w.named("images", region)["debian-12"]))
    fails = w.path(one) + "?wait=running&timeoutMs=60000"
    reply = w.call.get(fails).json
    tap.eq((reply["status"]["state"], reply["status"]["provisioning"]),
           ("failed", "error"),
           "nobody waits for what has failed to come to run")
    again = taken("whatever is asked of it, it is tried again", w.call.patch(
        w.path(one), {"description": "again"}), 200)
    tap.eq(again["status"]["state"], "pending", "as it then says")
    tap.eq(w.call.get(fails).json["status"]["state"], "failed",
           "and fails again, for nothing has changed")
    w.admin.patch(f"/v1/regions/{region}", {"spec": {"options": {
        "bootFailureRate": 0}}})
    tap.ok(wait_for(lambda: w.get(one)["status"]["state"] == "running"),
           "once the region is mended it comes to run")
    one = made(w.ask("wait-2", power="off"))
    tap.eq(w.wait(one, "stopped")["status"]["state"], "stopped",
           "one that is to be off comes to be off")


def whole(w):
    tap.eq(w.contract.problems, [],
           f"everything is as the OpenAPI document says: "
           f"{w.contract.checked} exchanges")
    before = json.loads(w.admin.get("/v1/instances?limit=1000").body)
    w.server.stop()
    w.server.start()
    w.admin.close()
    after = json.loads(w.admin.get("/v1/instances?limit=1000").body)
    tap.eq([i["id"] for i in after["items"]],
           [i["id"] for i in before["items"]], "all are there after a restart")
    w.server.stop()
    status, said = run("fsck", "--data", w.server.data)
    tap.ok(status == 0, "fsck finds nothing wrong", said)


def main():
    w = World()
    for section in (places, dying_network, flavors, retired, images, disks,
                    zones, groups, volumes, logins, user_data, the_rest,
                    counted, changes, poor_changes, never_launched, dying,
                    power,
                    rebuilds, snapshots, consoles, secrets, waiting, whole):
        tap.section(section, w)


if __name__ == "__main__":
    tap.section(main)
    tap.end()

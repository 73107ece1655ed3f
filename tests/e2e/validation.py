#!/usr/bin/python3
"""What is refused and why: every rule by which requests about machines are
checked, by its name, on the real server.

Each is a request that is right but for one thing; the answer must be the right
status and name the field, and nothing may have been made.
"""

import base64
import gzip
import uuid

from machines import World
from muster import tap
from tenant import ROLE, Account

KEY = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0bHXq4xMPdHhTPYHXvM4MKwbF1aQZb"
       "xsX0Jb0w7k1n me@example")


def b64(data):
    return base64.b64encode(data.encode() if isinstance(data, str)
                            else data).decode()


def refused(text, reply, status=422, pointer=None, word=None):
    """REPLY refuses with STATUS, naming the field at POINTER."""
    told = reply.json if reply.body else {}
    pointers = [v["pointer"] for v in told.get("violations", [])] + \
        [told.get("pointer"), told.get("field")]
    good = reply.status == status
    if pointer:
        good = good and any(p and p.startswith(pointer) for p in pointers)
    if word:
        good = good and word in reply.body.decode()
    tap.ok(good, text, f"wanted {status} at {pointer} with {word}", reply)


def taken(text, reply, *statuses):
    tap.ok(reply.status in (statuses or (200, 201, 202)), text, reply)
    return reply.json


class Bench:
    """A world, with another tenant, region, network and project beside."""

    def __init__(self):
        self.w = w = World({"zones": ["a", "b"]})
        self.other_region = w.make("regions", {"name": "sim-2", "spec": {
            "provider": "sim"}})["id"]
        w.ready("regions", self.other_region)
        self.other_flavors, self.other_images = (
            {i["name"]: i["id"] for i in w.api.get(
                f"/v1/{noun}?regionId={self.other_region}").json["items"]}
            for noun in ("flavors", "images"))
        self.other_project = w.make("projects", {
            "name": "p2", "organizationId": w.organization})["id"]
        self.other_network = w.new_network("lan-2",
                                           project=self.other_project)
        self.n = 0

    def create(self, **more):
        self.n += 1
        return self.w.ask(f"v-{self.n}", **more)

    def spec(self, text, pointer, status=422, **spec):
        """A create that is wrong in SPEC."""
        self.n += 1
        body = self.w.body(f"wrong-{self.n}")
        body["spec"].update(spec)
        refused(text, self.w.api.post("/v1/instances", body), status,
                f"/spec/{pointer}")


def owner_and_name(b):
    w = b.w
    reader = Account(w.api, "v-reader", w.organization, [ROLE["reader"]],
                     [w.project]).call
    refused("who may not create is told so", reader.post(
        "/v1/instances", w.body("x")), 403)
    stranger = w.make("organizations", {"name": "strangers"})["id"]
    other = Account(w.api, "v-other", stranger, [ROLE["administrator"]]).call
    refused("the network is resolved under the caller's rights", other.post(
        "/v1/instances", w.body("x")), 422, "/networkId", "no network")
    refused("a network that is not there", w.ask(
        "x", network=str(uuid.uuid4())), 422, "/networkId")
    for name in ("", "-a", "a-", "A", "a_b", "x" * 64):
        refused(f"the name '{name[:8]}' is none", w.ask(name), 422, "/name")
    taken("a name of 63 is one", w.ask("x" * 63))
    refused("a name is unique in its network", w.ask("x" * 63), 409)
    taken("and free in another", w.ask("x" * 63, network=b.other_network))
    one = taken("an instance", b.create())
    refused("a name cannot change", w.api.patch(w.path(one), {"name": "n2"}),
            422, "/name")
    refused("nor can the network", w.api.patch(w.path(one), {
        "networkId": b.other_network}), 422, "/networkId")
    refused("owners are not a caller's to claim", w.api.post(
        "/v1/instances", {**w.body("x"), "projectId": b.other_project}), 422,
        "/projectId")
    refused("a field that is none", w.api.post("/v1/instances", {
        **w.body("x"), "colour": "red"}), 422, "/colour")


def flavor_and_image(b):
    w = b.w
    b.spec("a flavor that is not there", "flavorId",
           flavorId=str(uuid.uuid4()))
    b.spec("a flavor of another region", "flavorId",
           flavorId=b.other_flavors["small"])
    b.spec("an image of another region", "imageId",
           imageId=b.other_images["debian-12"])
    b.spec("an image that is not there", "imageId", imageId=str(uuid.uuid4()))
    b.spec("architectures must be the same", "imageId",
           imageId=w.images["debian-12-arm64"])
    b.spec("the root disk must be large enough for the image", "imageId",
           imageId=w.images["cuda-ubuntu-24.04"])
    taken("which it can be made", b.create(image="cuda-ubuntu-24.04",
                                           rootDisk={"sizeGiB": 30}))
    b.spec("a virtual image is not for bare metal", "imageId",
           flavorId=w.flavors["metal"])
    b.spec("nor the other way round", "imageId",
           imageId=w.images["debian-12-metal"])
    taken("bare metal with its own", b.create(flavor="metal",
                                              image="debian-12-metal"))
    b.spec("a disk that is the flavor's cannot be another", "rootDisk",
           flavorId=w.flavors["fixed"], rootDisk={"sizeGiB": 99})
    b.spec("a zone that is not there", "zone", zone="z")
    b.spec("an alternative of another region", "alternatives/0",
           alternatives=[{"flavorId": b.other_flavors["small"]}])
    b.spec("an alternative that does not fit the image", "alternatives/1",
           alternatives=[{"zone": "a"}, {"flavorId": w.flavors["arm"]}])


def access(b):
    w = b.w
    near = w.make("securitygroups", {"name": "near", "networkId": w.network,
                                     "spec": {"rules": []}})["id"]
    far = w.make("securitygroups", {"name": "far", "networkId":
                                    b.other_network, "spec": {
                                        "rules": []}})["id"]
    b.spec("a security group of another network", "securityGroupIds",
           securityGroupIds=[far])
    b.spec("a security group that is not there", "securityGroupIds",
           securityGroupIds=[str(uuid.uuid4())])
    b.spec("a security group twice", "securityGroupIds",
           securityGroupIds=[near, near])
    taken("one of the same network", b.create(securityGroupIds=[near]))
    ca = w.make("sshcas", {"name": "ca-2", "projectId": b.other_project,
                           "spec": {}})["id"]
    b.spec("an SSH authority of another project", "sshCertificateAuthorityId",
           sshCertificateAuthorityId=ca)
    b.spec("a line that is no SSH key", "sshPublicKeys/0",
           sshPublicKeys=["ssh-rsa nonsense"])
    b.spec("a source that is no prefix", "allowedSourceAddresses/0",
           allowedSourceAddresses=["10.0.0.0/33"])
    refused("tags that are reserved", w.api.post("/v1/instances", {
        **w.body("x"), "tags": {"muster/server": "x"}}), 422, "/tags")


def user_data(b):
    w = b.w
    b.spec("user data that is no base64", "userData", userData="%%%")
    formats = {
        "cloud-config": "#cloud-config\npackages: [curl]\n",
        "a shell script": "#!/bin/sh\ntrue\n",
        "MIME multipart": "Content-Type: multipart/mixed; boundary=x\n"
        "MIME-Version: 1.0\n\n--x\nContent-Type: text/x-shellscript\n\n"
        "#!/bin/sh\n\n--x--\n",
        "a boothook": "#cloud-boothook\n#!/bin/sh\n",
        "an include": "#include\nhttps://example.org/x\n",
        "a config archive": "#cloud-config-archive\n- type: text/plain\n",
        "a part handler": "#part-handler\ndef list_types(): return []\n",
        "jinja": "## template: jinja\n#cloud-config\nruncmd: []\n",
    }
    ca = w.make("sshcas", {"name": "ca", "projectId": w.project,
                           "spec": {}})["id"]
    for name, text in formats.items():
        taken(f"user data: {name}, beside an SSH authority", b.create(
            userData=b64(text), sshCertificateAuthorityId=ca))
    packed = b64(gzip.compress(b"#!/bin/sh\n"))
    taken("gzip when nothing is added", b.create(userData=packed))
    taken("gzip when something is", b.create(
        userData=packed, sshCertificateAuthorityId=ca))
    b.spec("damaged gzip when something is", "userData",
           userData=b64(gzip.compress(b"#!/bin/sh\n")[:-1]),
           sshCertificateAuthorityId=ca)
    b.spec("what is of no known format, when something is added", "userData",
           userData=b64("hello"), sshCertificateAuthorityId=ca)


def volumes_and_time(b):
    w = b.w
    far = w.make("volumes", {"name": "far", "projectId": b.other_project,
                             "regionId": w.region, "spec": {"sizeGiB": 1}})
    near = w.make("volumes", {"name": "near", "projectId": w.project,
                              "regionId": w.region, "spec": {"sizeGiB": 1}})
    b.spec("a volume of another project", "volumes/0",
           volumes=[{"volumeId": far["id"]}])
    b.spec("a volume twice", "volumes/1",
           volumes=[{"volumeId": near["id"]}, {"volumeId": near["id"]}])
    one = taken("a volume", b.create(volumes=[{"volumeId": near["id"]}]))
    refused("a volume that another has", b.create(
        volumes=[{"volumeId": near["id"]}]), 409)
    refused("a volume in use cannot be deleted", w.api.delete(
        f"/v1/volumes/{near['id']}"), 409, word=one["name"])
    refused("a volume cannot shrink", w.api.patch(
        f"/v1/volumes/{far['id']}", {"spec": {"sizeGiB": 0}}), 422,
        "/spec/sizeGiB")
    b.spec("an expiry that is past", "expiresAt",
           expiresAt="2001-01-01T00:00:00Z")
    large = taken("a root disk of 30", b.create(rootDisk={"sizeGiB": 30}))
    w.until(large, "running")
    refused("a root disk cannot shrink", w.api.patch(
        w.path(large), {"spec": {"rootDisk": {"sizeGiB": 20}}}), 422,
        "/spec/rootDisk")


def networks(b):
    w = b.w

    def ask(text, spec, pointer):
        refused(text, w.api.post("/v1/networks", {
            "name": "n", "projectId": w.project, "regionId": w.region,
            "spec": spec}), 422, pointer)
    ask("a network with a prefix that is none", {"prefix": "x"},
        "/spec/prefix")
    ask("a prefix that is too long", {"prefix": "10.0.0.0/29"},
        "/spec/prefix")
    ask("a prefix with bits behind its length", {"prefix": "10.0.0.1/24"},
        "/spec/prefix")
    ask("an IPv6 prefix where IPv4 is wanted", {"prefix": "fd00::/64"},
        "/spec/prefix")
    ask("a route to somewhere else", {"prefix": "10.0.0.0/24", "routes": [
        {"prefix": "10.9.0.0/16", "nextHop": "10.1.0.1"}]}, "/spec/routes/0")
    ask("a reserved address outside", {
        "prefix": "10.0.0.0/24", "reservedAddresses": ["10.1.0.1"]},
        "/spec/reservedAddresses/0")
    refused("a prefix cannot change", w.api.patch(
        f"/v1/networks/{w.network}", {"spec": {"prefix": "10.3.0.0/16"}}),
        422, "/spec/prefix")
    refused("a network in a project that is not there", w.api.post(
        "/v1/networks", {"name": "n", "projectId": str(uuid.uuid4()),
                         "regionId": w.region,
                         "spec": {"prefix": "10.0.0.0/24"}}), 422,
        "/projectId")


def groups_and_keys(b):
    w = b.w

    def ask(text, rule, pointer="/spec/rules/0"):
        refused(text, w.api.post("/v1/securitygroups", {
            "name": "g", "networkId": w.network, "spec": {"rules": [
                {"direction": "ingress", "protocol": "tcp", **rule}]}}), 422,
            pointer)
    ask("ports without tcp or udp", {"protocol": "icmp", "port": 1})
    ask("a range of ports that is empty", {"port": 9, "portMax": 8})
    ask("a port that is none", {"port": 65536})
    ask("a prefix that is none", {"port": 1, "prefix": "x"})
    ask("a prefix and a group", {"port": 1, "prefix": "0.0.0.0/0",
                                 "groupId": str(uuid.uuid4())})
    refused("the same rule twice", w.api.post("/v1/securitygroups", {
        "name": "g", "networkId": w.network, "spec": {"rules": [
            {"direction": "ingress", "protocol": "tcp", "port": 1}] * 2}}),
        422, "/spec/rules/1")
    for text, key in (("is none", "hello"), ("has options", "no-pty " + KEY),
                      ("is two", KEY + "\n" + KEY)):
        refused(f"an authority whose key {text}", w.api.post("/v1/sshcas", {
            "name": "k", "projectId": w.project,
            "spec": {"publicKey": key}}), 422, "/spec/publicKey")


def regions_and_images(b):
    w = b.w

    def region(text, spec, pointer):
        refused(text, w.api.post("/v1/regions", {"name": "r", "spec": spec}),
                422, pointer)
    region("a provider that is none", {"provider": "clouds"}, "/spec/provider")
    region("an option that is none", {"provider": "sim", "options": {
        "colour": 1}}, "/spec/options")
    region("an option of another type", {"provider": "sim", "options": {
        "launchMs": "soon"}}, "/spec/options")
    refused("a provider cannot change", w.api.patch(
        f"/v1/regions/{w.region}", {"spec": {"provider": "other"}}), 422,
        "/spec/provider")

    def image(text, spec, pointer):
        refused(text, w.api.post("/v1/images", {
            "name": "i", "projectId": w.project, "regionId": w.region,
            "spec": {"architecture": "x86_64", **spec}}), 422, pointer)
    image("an image from nowhere", {}, "/spec/uri")
    image("an image by an address that is not https",
          {"uri": "ftp://example.org/x"}, "/spec/uri")
    image("an image with a checksum that is none", {
        "uri": "https://example.org/x", "checksum": "x"}, "/spec/checksum")


def main():
    b = Bench()
    before = len(b.w.all("instances"))
    tap.eq(before, 0, "nothing is there at first")
    for section in (owner_and_name, flavor_and_image, access, user_data,
                    volumes_and_time, networks, groups_and_keys,
                    regions_and_images):
        tap.section(section, b)
    names = [i["name"] for i in b.w.all("instances")
             if i["name"].startswith("wrong") or i["name"] == "x"]
    tap.eq(names, [], "nothing that was refused was made")
    tap.end()


main()

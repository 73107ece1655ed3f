#!/usr/bin/python3
"""The nouns of a region, rule by rule: who may make them, what they may say,
what they count for, what keeps them from being deleted.

Of instances there is more in other scripts."""

import base64
import hashlib
import uuid

from cloud import KEY, Cloud, refused, taken
from muster import Watch, run, tap
from tenant import Account, made


def regions(w):
    def ask(text, spec, pointer, word=None):
        refused(text, w.admin.post("/v1/regions", {"name": "r", "spec": spec}),
                422, pointer, word)
    ask("a region without a provider", {}, "/spec/provider", "required")
    ask("options that are no object", {"provider": "sim", "options": [1]},
        "/spec/options", "must be an object")
    ask("credentials that are no object", {
        "provider": "sim", "credentials": "secret-word"}, "/spec/credentials",
        "must be an object")
    ask("organizations that are not there", {
        "provider": "sim", "organizationIds": [str(uuid.uuid4())]},
        "/spec/organizationIds")
    path = f"/v1/regions/{w.region}"
    refused("the provider cannot change", w.admin.patch(
        path, {"spec": {"provider": "other"}}), 422, "/spec/provider")
    for role in ("administrator", "user", "reader", "auditor"):
        call = w.a.call(role)
        tap.eq((call.get(path).status,
                call.patch(path, {"description": "x"}).status,
                call.delete(path).status,
                call.post(path + "/sync", None).status,
                call.post("/v1/regions", {"name": "q", "spec": {
                    "provider": "sim"}}).status),
               (200, 403, 403, 403, 403),
               f"the {role} of an organization reads regions, and no more")
    taken("an operator has the catalogue read", w.admin.post(path + "/sync",
                                                             None), 202)


def drivers(w):
    """What a region says is held against its driver's tables."""
    def ask(text, spec, pointer, word=None):
        refused(text, w.admin.post("/v1/regions", {"name": "r", "spec": spec}),
                422, pointer, word)
    ask("a provider that is none", {"provider": "clouds"}, "/spec/provider",
        "sim")
    ask("an option that is none", {"provider": "sim", "options": {
        "colour": 1}}, "/spec/options/colour")
    ask("an option of another type", {"provider": "sim", "options": {
        "launchMs": "soon"}}, "/spec/options/launchMs")
    ask("credentials where none are taken", {"provider": "sim", "credentials": {
        "key": "very-secret"}}, "/spec/credentials")
    refused("an update is held against them, too", w.admin.patch(
        f"/v1/regions/{w.region}", {"spec": {"options": {"colour": 1}}}), 422,
        "/spec/options/colour")
    told = [text for text in (w.admin.get("/v1/regions").body,
                              w.admin.get("/v1/audit").body,
                              w.server.log().encode())
            if b"very-secret" in text]
    tap.eq(told, [], "credentials are told to nobody")


def visibility(w):
    mine = w.new_region("mine", only=[w.a.id])
    path = f"/v1/regions/{mine['id']}"
    user, stranger = w.a.call(), w.b.call()
    absent = f"/v1/regions/{uuid.uuid4()}"
    tap.eq((user.get(path).status, stranger.get(path).status,
            stranger.get(absent).status), (200, 404, 404),
           "a region for one organization is not there for another")
    names = [{r["name"] for r in call.get("/v1/regions").json["items"]}
             for call in (user, stranger)]
    tap.ok("mine" in names[0] and "mine" not in names[1] and
           "sim" in names[1], "nor is it in lists", names)
    for noun in ("networks", "volumes", "images"):
        spec = {"networks": {"prefix": "10.77.0.0/24"},
                "volumes": {"sizeGiB": 1},
                "images": {"architecture": "x86_64",
                           "uri": "https://example.org/i"}}[noun]
        body = {"name": "v", "projectId": w.b.project, "spec": spec}
        got = stranger.post(f"/v1/{noun}", dict(body, regionId=mine["id"]))
        none = str(uuid.uuid4())
        want = stranger.post(f"/v1/{noun}", dict(body, regionId=none))
        tap.eq((got.status, got.json["detail"].replace(mine["id"], "ID")),
               (422, want.json["detail"].replace(none, "ID")),
               f"{noun} are not made there by others, as if it were not")
    taken("those whom it is for use it", w.network(
        "there", region=mine["id"], prefix="10.78.0.0/24"), 201)
    refused("a region in use is not deleted", w.admin.delete(path), 409,
            word='network \\"there\\"')


def redacted(w):
    """Whom else a region is for, and how it is reached, users are not told."""
    region = w.new_region("both", only=[w.a.id, w.b.id],
                          options={"launchMs": 7})
    path = f"/v1/regions/{region['id']}"
    with Watch(w.server, "/v1/regions",
               token=w.a.accounts["user"].secret) as watch:
        watched = b"".join(e.data.encode() for e in watch.until("ready"))
    told = [w.a.call().get(path).body, w.a.call().get("/v1/regions").body,
            w.a.call().get(path + "?wait=changed&timeoutMs=1").body, watched]
    wrong = [text for text in told if region["id"].encode() not in text or
             w.b.id.encode() in text or b"launchMs" in text or
             w.a.id.encode() not in text]
    tap.eq(wrong, [], "a user is shown no options, and no other organization")
    seen = w.admin.get(path).json["spec"]
    tap.eq((seen["options"], seen["organizationIds"]),
           ({"launchMs": 7}, [w.a.id, w.b.id]), "an operator sees all of it")
    w.admin.delete(path)
    w.admin.get(path + "?wait=deleted&timeoutMs=10000")


def narrowed(w):
    """A region is kept for others: what is there stays its owner's."""
    region = f"/v1/regions/{w.new_region('narrowed')['id']}"
    theirs = made(w.network("kept", "10.79.0.0/24", w.b.call(), w.b.project,
                            region[-36:]))
    taken("a region is kept for one organization", w.admin.patch(region, {
        "spec": {"organizationIds": [w.a.id]}}), 200)
    path = f"/v1/networks/{theirs['id']}"
    tap.eq((w.b.call().get(region).status, w.b.call().get(path).status),
           (404, 200), "others do not see it any more, but what is theirs")
    refused("they add nothing to that", w.b.call().post("/v1/securitygroups", {
        "name": "late", "networkId": theirs["id"]}), 422, word="no region")
    refused("an organization that a region is kept for is not deleted",
            w.admin.delete(f"/v1/organizations/{w.a.id}"), 409,
            word="is kept for the organization")
    gone(w, path, w.b.call(), "they can take it away")


def network_rules(w):
    def ask(text, pointer, prefix="10.1.0.0/24", **spec):
        refused(text, w.network("n", prefix, **spec), 422, pointer)
    ask("a network with a prefix that is none", "/spec/prefix", "x")
    ask("a prefix that is too long", "/spec/prefix", "10.1.0.0/29")
    ask("a prefix that is too short", "/spec/prefix", "10.0.0.0/7")
    ask("a prefix without a length", "/spec/prefix", "10.1.0.0")
    ask("a prefix with bits behind its length", "/spec/prefix", "10.1.0.1/24")
    ask("an IPv6 prefix where IPv4 is wanted", "/spec/prefix", "fd00::/64")
    ask("an IPv4 prefix where IPv6 is wanted", "/spec/prefix6",
        prefix6="10.1.1.0/24")
    ask("a resolver that is no address", "/spec/dnsServers",
        dnsServers=["dns.example.org"])
    ask("a route whose next hop is elsewhere", "/spec/routes/0/nextHop",
        routes=[{"prefix": "10.9.0.0/16", "nextHop": "10.2.0.1"}])
    ask("a reserved address outside", "/spec/reservedAddresses/0",
        reservedAddresses=["10.2.0.1"])
    first = taken("a network", w.network("first"), 201)
    tap.eq((first["organizationId"], first["projectId"],
            first["status"]["state"]), (w.a.id, w.a.project, "pending"),
           "its owner follows from its project")
    refused("whose it is cannot be claimed", w.a.call().post("/v1/networks", {
        "name": "n", "projectId": w.a.project, "regionId": w.region,
        "organizationId": w.b.id, "spec": {"prefix": "10.1.0.0/24"}}), 422,
        "/organizationId")
    refused("addresses that another network of the project has", w.network(
        "second", "10.0.0.0/16"), 409, "/spec/prefix", '\\"first\\"')
    refused("the same in IPv6", w.network(
        "second", "10.3.0.0/24", prefix6="fd00:1::/48") if
        w.network("six", "10.4.0.0/24", prefix6="fd00:1::/64").status == 201
        else None, 409, "/spec/prefix6", '\\"six\\"')
    taken("another project may have them", w.network(
        "first", call=w.a.call("administrator"), project=w.a.other), 201)
    path = f"/v1/networks/{first['id']}"
    refused("a prefix cannot change", w.a.call().patch(
        path, {"spec": {"prefix": "10.5.0.0/24"}}), 422, "/spec/prefix")
    refused("nor can its region", w.a.call().patch(
        path, {"regionId": str(uuid.uuid4())}), 422, "/regionId")
    changed = taken("who is asked for names can", w.a.call().patch(
        path, {"spec": {"dnsServers": ["10.0.0.2"]}}), 200)
    tap.eq(changed["generation"], 2, "and that is another generation")
    refused("a route elsewhere is refused then, too", w.a.call().patch(
        path, {"spec": {"routes": [{"prefix": "10.9.0.0/16",
                                    "nextHop": "10.8.0.1"}]}}), 422,
        "/spec/routes/0/nextHop")
    refused("a name is taken once in a project", w.network(
        "first", "10.6.0.0/24"), 409, "/name")


def owners(w):
    """Owners are resolved as the caller sees things."""
    body = {"name": "o", "regionId": w.region,
            "spec": {"prefix": "10.20.0.0/24"}}
    got = w.b.call().post("/v1/networks", dict(body, projectId=w.a.project))
    none = str(uuid.uuid4())
    want = w.b.call().post("/v1/networks", dict(body, projectId=none))
    tap.eq((got.status, got.json["detail"].replace(w.a.project, "ID")),
           (422, want.json["detail"].replace(none, "ID")),
           "another's project is not there")
    network = w.network("theirs", "10.21.0.0/24").json["id"]
    body = {"name": "g"}
    got = w.b.call().post("/v1/securitygroups", dict(body, networkId=network))
    want = w.b.call().post("/v1/securitygroups", dict(body, networkId=none))
    tap.eq((got.status, got.json["detail"].replace(network, "ID")),
           (422, want.json["detail"].replace(none, "ID")),
           "another's network is not there")
    for role in ("reader", "auditor"):
        tap.eq(w.network("r", "10.22.0.0/24", w.a.call(role)).status, 403,
               f"the {role} makes nothing")
    tap.eq(w.network("u", "10.22.0.0/24", w.a.call("user"),
                     project=w.a.other).status, 403,
           "a user makes nothing in a project that is not theirs")
    role = made(w.admin.post("/v1/roles", {
        "name": "narrow", "organizationId": w.a.id,
        "project": ["networks:*", "projects:read"]}))
    narrow = Account(w.admin, "narrow", w.a.id, [role["id"]], [w.a.project])
    taken("who may make networks needs no more than that", w.network(
        "n-narrow", "10.23.0.0/24", narrow.call), 201)


def group_rules(w):
    network = w.network("groups", "10.30.0.0/24").json["id"]
    elsewhere = w.network("elsewhere", "10.31.0.0/24").json["id"]
    call = w.a.call()

    def make(name, *rules, network=network):
        return call.post("/v1/securitygroups", {
            "name": name, "networkId": network,
            "spec": {"rules": [{"direction": "ingress", "protocol": "tcp",
                                **rule} for rule in rules]}})

    def ask(text, rule, pointer="/spec/rules/0"):
        refused(text, make("g", rule), 422, pointer)
    ask("ports without tcp or udp", {"protocol": "icmp", "port": 1})
    ask("a last port without a first", {"portMax": 8})
    ask("a range of ports that is empty", {"port": 9, "portMax": 8})
    ask("a port that is none", {"port": 65536})
    ask("a prefix that is none", {"port": 1, "prefix": "x"})
    ask("a direction that is none", {"direction": "up"})
    refused("the same rule twice", make("g", {"port": 1}, {"port": 1}), 422,
            "/spec/rules/1")
    first = taken("a group", make("first", {"port": 22}), 201)
    tap.eq((first["organizationId"], first["projectId"], first["regionId"]),
           (w.a.id, w.a.project, w.region), "its owner is its network's")
    ask("a prefix and a group", {"prefix": "10.0.0.0/8",
                                 "securityGroupId": first["id"]})
    far = made(make("far", network=elsewhere))
    ask("a group of another network", {"securityGroupId": far["id"]},
        "/spec/rules/0/securityGroupId")
    ask("a group that is not there", {"securityGroupId": str(uuid.uuid4())},
        "/spec/rules")
    peer = taken("a group that names another", make(
        "peer", {"securityGroupId": first["id"]}), 201)
    path = f"/v1/securitygroups/{first['id']}"
    refused("a group in use is not deleted", call.delete(path), 409,
            word='securitygroup \\"peer\\"')
    taken("a group may name itself", call.patch(path, {"spec": {"rules": [
        {"direction": "ingress", "securityGroupId": first["id"]}]}}), 200)
    gone(w, f"/v1/securitygroups/{peer['id']}", call)
    alone = f"/v1/securitygroups/{made(make('alone'))['id']}"
    call.patch(alone, {"spec": {"rules": [{
        "direction": "ingress", "securityGroupId": alone.split("/")[-1]}]}})
    gone(w, alone, call, "one that only itself names can be deleted")


def gone(w, path, call, text="what is deleted is being deleted, then gone"):
    reply = call.delete(path)
    again = call.delete(path)
    tap.ok(reply.status == 202 and "deletedAt" in reply.json and
           reply.json["status"]["state"] == "deleting" and
           again.status in (202, 404), text, reply, again)
    if again.status == 202:
        refused("what is being deleted is not changed", call.patch(
            path, {"description": "late"}),
            404 if call.get(path).status == 404 else 409)


def authorities(w):
    call = w.a.call()

    def make(name, **spec):
        return call.post("/v1/sshcas", {"name": name, "spec": spec,
                                        "projectId": w.a.project})
    for text, key in (("is none", "hello"), ("has options", "no-pty " + KEY),
                      ("is of another type", KEY.replace("ed25519", "rsa", 1)),
                      ("is cut short", KEY[:-8])):
        refused(f"an authority whose key {text}", make("k", publicKey=key),
                422, "/spec/publicKey")
    brought = taken("a key that is brought", make("brought", publicKey=KEY),
                    201)
    digest = hashlib.sha256(base64.b64decode(KEY.split()[1])).digest()
    tap.eq((brought["status"]["fingerprint"], brought["status"]["signs"]),
           ("SHA256:" + base64.b64encode(digest).decode().rstrip("="), False),
           "its fingerprint is told, and it signs elsewhere")
    held = taken("a key that is made here", make("held"), 201)
    tap.ok(held["status"]["signs"] and
           held["spec"]["publicKey"].startswith("ssh-ed25519 ") and
           "privateKey" not in held, "is held here and never shown", held)
    tap.ok(b"PRIVATE" not in call.get("/v1/sshcas").body +
           call.get(f"/v1/sshcas/{held['id']}").body, "not in lists either")
    path = f"/v1/sshcas/{held['id']}"
    refused("its key cannot change", call.patch(path, {"spec": {
        "publicKey": KEY}}), 422, "/spec/publicKey")
    refused("nor be set", call.patch(path, {
        "privateKey": "x", "description": "x"}), 422, "/privateKey")
    tap.eq(w.b.call().get(path).status, 404, "it is its project's alone")
    tap.eq(call.delete(path).status, 204, "one that nobody uses goes at once")


def volumes(w):
    call = w.a.call()

    def make(name, project=w.a.project, **spec):
        return call.post("/v1/volumes", {"name": name, "projectId": project,
                                         "regionId": w.region, "spec": spec})
    refused("a volume without a size", make("v"), 422, "/spec/sizeGiB")
    refused("a volume of no size", make("v", sizeGiB=0), 422, "/spec/sizeGiB")
    refused("a zone that is none", make("v", sizeGiB=1, zone="nowhere"), 422,
            "/spec/zone", "nowhere")
    refused("an image that is none", make("v", sizeGiB=1,
                                          imageId=str(uuid.uuid4())), 422,
            "/spec/imageId")
    before = w.usage(w.a.project, "volumesGiB")
    v = taken("a volume", make("v", sizeGiB=10), 201)
    tap.eq(w.usage(w.a.project, "volumesGiB"), before + 10, "is counted")
    path = f"/v1/volumes/{v['id']}"
    refused("it cannot shrink", call.patch(path, {"spec": {"sizeGiB": 9}}),
            422, "/spec/sizeGiB", "shrink")
    refused("its class cannot change", call.patch(path, {"spec": {
        "class": "x"}}), 422, "/spec/class")
    taken("it grows", call.patch(path, {"spec": {"sizeGiB": 12}}), 200)
    tap.eq(w.usage(w.a.project, "volumesGiB"), before + 12,
           "and counts for more")
    refused("not beyond the quota", call.patch(path, {"spec": {
        "sizeGiB": 2000}}), 403, word="quota_exceeded")
    tap.eq((call.get(path).json["spec"]["sizeGiB"],
            w.usage(w.a.project, "volumesGiB")), (12, before + 12),
           "then it is as it was, and so is what it counts for")
    refused("a volume beyond the quota", make("w", sizeGiB=2000), 403,
            word="quota_exceeded")
    tap.eq(call.get("/v1/volumes?name=w").json["items"], [],
           "is not there at all")
    for role in ("reader", "auditor"):
        tap.eq(w.a.call(role).post(path + "/snapshot", {"name": "s"}).status,
               403, f"the {role} makes no image of it")
    tap.eq(w.b.call().post(path + "/snapshot", {"name": "s"}).status, 404,
           "others do not learn of it")
    gone(w, path, call)


def asked_again(w):
    """A verb that is sent again with its key is answered as the first time."""
    call, key = w.a.call(), {"Idempotency-Key": "once"}
    volume = made(call.post("/v1/volumes", {
        "name": "again", "projectId": w.a.project, "regionId": w.region,
        "spec": {"sizeGiB": 1}}))
    path = f"/v1/volumes/{volume['id']}"
    w.ready(path)
    first, second = (call.post(path + "/snapshot", {"name": "again"}, key)
                     for _ in range(2))
    tap.eq((first.status, second.status, second["Idempotency-Replayed"]),
           (201, 201, "true"), "a snapshot is made once by its key")
    tap.eq(first["Location"], f"/v1/images/{first.json['id']}",
           "it says where the image is")
    tap.eq((second.json["id"], len(call.get("/v1/images?name=again").json[
        "items"])), (first.json["id"], 1), "and there is one image")
    refused("another body under the key", call.post(
        path + "/snapshot", {"name": "other"}, key), 409)
    image = f"/v1/images/{first.json['id']}"
    tap.ok(w.ready(image), "it comes to be ready", w.admin.get(image))
    tap.eq(call.get(f"/v1/images?volumeId={volume['id']}").json["items"][0][
        "id"], first.json["id"], "and is found by its volume")
    key = {"Idempotency-Key": "sync"}
    region = f"/v1/regions/{w.region}/sync"
    tap.eq([w.admin.post(region, None, key).status for _ in range(2)],
           [202, 202], "so it is with the sync of a region")


def images(w):
    call = w.a.call()

    def make(name, call=call, **spec):
        return call.post("/v1/images", {
            "name": name, "projectId": w.a.project, "regionId": w.region,
            "spec": {"architecture": "x86_64", **spec}})
    refused("an image from nowhere", make("i"), 422, "/spec/uri")
    refused("an image by ftp", make("i", uri="ftp://example.org/x"), 422,
            "/spec/uri")
    refused("an image of the server's own files", make(
        "i", uri="file:///etc/shadow"), 422, "/spec/uri")
    refused("an address that is none", make("i", uri="https://x/a b"), 422,
            "/spec/uri")
    refused("a checksum that is none", make(
        "i", uri="https://example.org/x", checksum="sha256:12"), 422,
        "/spec/checksum")
    refused("plain http without a checksum", make(
        "i", uri="http://example.org/x"), 422, "/spec/checksum")
    refused("an image without an owner", call.post("/v1/images", {
        "name": "i", "regionId": w.region, "spec": {
            "architecture": "x86_64", "uri": "https://example.org/x"}}), 422,
        "/projectId")
    image = taken("an image", make("i", uri="https://example.org/x",
                                   checksum="sha256:" + "0f" * 32), 201)
    tap.eq((image["organizationId"], image["status"]["source"]),
           (w.a.id, "import"), "is imported, for its project")
    path = f"/v1/images/{image['id']}"
    tap.eq(w.b.call().get(path).status, 404, "and nobody else's")
    found = [[i["id"] for i in call.get("/v1/images?" + words).json["items"]]
             for words in (f"projectId={w.a.project}&architecture=x86_64",
                           f"projectId={w.a.project}&architecture=aarch64")]
    tap.ok(image["id"] in found[0] and image["id"] not in found[1],
           "lists are filtered by architecture and project", found)
    refused("what it is imported from cannot change", call.patch(
        path, {"spec": {"uri": "https://example.org/y"}}), 422, "/spec/uri")
    taken("an operator may name files", make(
        "files", w.admin, uri="file:///srv/images/x"), 201)
    gone(w, path, call)


def counted(w):
    """What the server counts is not changed by hand."""
    network = made(w.network("counted", "10.40.0.0/24"))
    mine = [a for a in w.admin.get("/v1/allocations?limit=1000").json["items"]
            if a["objectId"] == network["id"]]
    tap.eq([(a["objectKind"], a["amounts"]) for a in mine],
           [("network", [{"kind": "networks", "committed": 1,
                          "reserved": 0}])], "a network counts for one")
    path = f"/v1/allocations/{mine[0]['id']}"
    refused("that is not changed by hand", w.admin.patch(
        path, {"amounts": []}), 409)
    refused("nor taken away", w.admin.delete(path), 409)
    refused("nor made up", w.admin.post("/v1/allocations", {
        "organizationId": w.a.id, "objectKind": "instance",
        "objectId": str(uuid.uuid4())}), 422, "/objectKind")
    for i in range(10):
        last = w.network(f"many-{i}", f"10.{50 + i}.0.0/24", w.b.call(),
                         w.b.project)
        if last.status != 201:
            break
    refused("there are as many networks as the quota says", last, 403,
            word="quota_exceeded")
    made_ones = w.b.call().get("/v1/networks").json["items"]
    tap.eq((len(made_ones), w.usage(w.b.project, "networks")), (5, 5),
           "and no more, and they are what is counted")


def deletion(w):
    network = made(w.network("leaving", "10.60.0.0/24"))
    gone(w, f"/v1/networks/{network['id']}", w.a.call())
    reply = w.a.call().post("/v1/securitygroups", {
        "name": "late", "networkId": network["id"]})
    tap.ok(reply.status in (409, 422), "nothing is added to it any more",
           reply)
    events = w.a.call().get(f"/v1/networks/{network['id']}/events")
    tap.ok(events.status == 404 or "deleting" in
           [e["reason"] for e in events.json["items"]],
           "its events say who asked", events)


def in_use(w):
    """What an instance uses is not deleted, and whoever asks is told."""
    call = w.a.call()
    here = {"projectId": w.a.project, "regionId": w.region}
    network = made(w.network("used", "10.62.0.0/24"))["id"]
    ids = {"securitygroups": made(call.post("/v1/securitygroups", {
        "name": "used", "networkId": network}))["id"],
        "sshcas": made(call.post("/v1/sshcas", {
            "name": "used", "projectId": w.a.project}))["id"],
        "volumes": made(call.post("/v1/volumes", {
            "name": "used", **here, "spec": {"sizeGiB": 1}}))["id"],
        "images": made(call.post("/v1/images", {
            "name": "used", **here, "spec": {
                "architecture": "x86_64",
                "uri": "https://example.org/i"}}))["id"]}
    for noun in ("images", "volumes"):
        w.ready(f"/v1/{noun}/{ids[noun]}")
    flavor = next(f["id"] for f in call.get(
        f"/v1/flavors?regionId={w.region}").json["items"]
        if f["name"] == "small")
    instance = taken("an instance that uses one of each", call.post(
        "/v1/instances", {"name": "user", "networkId": network, "spec": {
            "flavorId": flavor, "imageId": ids["images"],
            "securityGroupIds": [ids["securitygroups"]],
            "sshCertificateAuthorityId": ids["sshcas"],
            "volumes": [{"volumeId": ids["volumes"]}],
            "deleteProtection": True}}), 201)
    for noun, id in ids.items():
        refused(f"{noun} in use are not deleted", call.delete(
            f"/v1/{noun}/{id}"), 409, word='instance \\"user\\"')
    for noun, id in (("networks", network), ("projects", w.a.project)):
        refused(f"nor are {noun} with a protected instance", w.admin.delete(
            f"/v1/{noun}/{id}"), 409, word=instance["id"])
    path = f"/v1/instances/{instance['id']}"
    refused("nor is itself", call.delete(path), 409, word="deleteProtection")
    taken("the protection is taken back", call.patch(path, {"spec": {
        "deleteProtection": False}}), 200)
    taken("then its network is deleted, and it first", call.delete(
        f"/v1/networks/{network}"), 202)
    for what in (path, f"/v1/networks/{network}"):
        call.get(what + "?wait=deleted&timeoutMs=20000")
        tap.eq(call.get(what).status, 404, f"{what.split('/')[2]} are gone")
    tap.eq(call.get(f"/v1/securitygroups/{ids['securitygroups']}").status, 404,
           "and the groups of the network")
    tap.eq(call.get(f"/v1/volumes/{ids['volumes']}").status, 200,
           "a volume outlives who had it")
    tap.eq([call.delete(f"/v1/{noun}/{ids[noun]}").status
            for noun in ("images", "volumes", "sshcas")], [202, 202, 204],
           "what nobody uses any more is deleted")


def servers(w):
    """The machines behind instances are the platform's to see."""
    network = made(w.network("behind", "10.63.0.0/24"))["id"]
    flavors, images = ({o["name"]: o["id"] for o in w.admin.get(
        f"/v1/{noun}?regionId={w.region}").json["items"]}
        for noun in ("flavors", "images"))
    instance = made(w.a.call().post("/v1/instances", {
        "name": "behind", "networkId": network, "spec": {
            "flavorId": flavors["small"], "imageId": images["debian-12"]}}))
    server = f"/v1/servers/{instance['status']['serverId']}"
    got = {role: (w.a.call(role).get(server).status,
                  len(w.a.call(role).get("/v1/servers").json.get("items", [])))
           for role in ("administrator", "auditor")}
    tap.eq(got, {"administrator": (404, 0), "auditor": (404, 0)},
           "an organization does not see its servers")
    tap.eq(w.admin.get(server).json["instanceId"], instance["id"],
           "an operator does")
    tap.eq([w.admin(method, server, {} if method != "DELETE" else None).status
            for method in ("PUT", "PATCH", "DELETE")], [405] * 3,
           "and changes nothing by hand")
    tap.eq(w.admin.post("/v1/flavors", {"name": "f"}).status, 405,
           "nor flavors")


def plans(w):
    reply = w.a.call().post("/v1/networks?plan=true", {
        "name": "planned", "projectId": w.a.project, "regionId": w.region,
        "spec": {"prefix": "10.61.0.0/24"}})
    tap.ok(reply.status == 200 and reply.json["plan"]["action"] == "create",
           "a plan says what would be", reply)
    tap.eq(w.a.call().get("/v1/networks?name=planned").json["items"], [],
           "and nothing is")


def whole(w):
    """When all of it is over, what is counted is what there is."""
    w.server.stop()
    status, said = run("fsck", "--data", w.server.data)
    tap.ok(status == 0, "fsck finds nothing wrong", said)


def main():
    w = Cloud()
    quota = [{"kind": "networks", "limit": 40}]
    made(w.admin.post("/v1/quotas", {"organizationId": w.a.id,
                                     "limits": quota}))
    for section in (regions, drivers, visibility, redacted, narrowed,
                    network_rules, owners, group_rules, authorities, volumes,
                    asked_again, images, counted, deletion, in_use, servers,
                    plans, whole):
        tap.section(section, w)


if __name__ == "__main__":
    tap.section(main)
    tap.end()

#!/usr/bin/python3
"""What a region offers, as callers see it; and what an instance makes of it:
choices, waiting, asking twice, time."""

import json
import threading
import time
import uuid

from machines import World
from muster import run, tap, wait_for
from tenant import made


def flavors(w):
    by = {f["name"]: f for f in w.all("flavors", f"&regionId={w.region}")}
    large = by["large"]
    tap.ok(large["vcpus"] == 8 and large["memoryMiB"] == 32768 and
           large["architecture"] == "x86_64" and large["cpuFamily"] and
           large["rootDisk"]["sizeGiB"] == 40,
           "a flavor has vCPUs, memory, disk, architecture and CPU family",
           large)
    tap.ok(large["rootDisk"]["minGiB"] < large["rootDisk"]["maxGiB"] and
           large["localDisks"][0]["media"] and
           by["fixed"]["rootDisk"]["model"] == "fixed",
           "and says which storage it offers", large)
    tap.ok(float(large["price"]["amount"]) > float(
        large["spotPrice"]["amount"]) > 0 and large["price"]["currency"] and
        large["price"]["asOf"], "and its prices, in a currency, and as of when",
        large)
    gpu = by["gpu8"]["gpus"][0]
    tap.ok(gpu["vendor"] == "nvidia" and gpu["model"] == "H100" and
           gpu["count"] == 8 and gpu["memoryMiB"] == 81920,
           "graphics processors have vendor, model, memory and count", gpu)
    tap.ok(by["metal"]["bareMetal"] and not large["bareMetal"],
           "bare metal is told", by["metal"])
    found = w.api.get("/v1/flavors?architecture=aarch64").json["items"]
    tap.eq([f["name"] for f in found], ["arm"],
           "flavors are filtered by architecture")


def images(w):
    by = {i["name"]: i for i in w.all("images", f"&regionId={w.region}")}
    cuda = by["cuda-ubuntu-24.04"]["spec"]
    tap.ok(cuda["architecture"] == "x86_64" and cuda["minDiskGiB"] == 20 and
           cuda["virtualization"] == "virtualized" and
           cuda["os"]["distro"] == "ubuntu" and
           cuda["gpuDriver"]["vendor"] == "nvidia",
           "an image has architecture, least disk, virtualization, OS and"
           " driver", cuda)
    found = w.api.get("/v1/images?state=ready&source=provider").json["items"]
    tap.eq(len(found), len(by), "images are filtered by state and source")


def regions(w):
    region = w.get("regions", w.region)
    tap.ok(region["status"]["zones"] == [
        {"name": "a", "available": True}, {"name": "b", "available": True}]
        and "resize" in region["status"]["capabilities"],
        "a region tells its zones and what can be done there", region)
    before = w.flavors
    w.server.restart()
    w.api.close()
    w.api.post(f"/v1/regions/{w.region}/sync", None)
    tap.eq(w.catalogue("flavors"), before,
           "ids stay over a restart and another sync")


def choices(w):
    w.cloud.set(capacity=[{"flavor": "sim.large", "count": 0},
                          {"flavor": "sim.medium", "zone": "a", "count": 0}])
    one = w.instance("choice", flavor="large", zone="a", alternatives=[
        {"flavorId": w.flavors["medium"]},
        {"flavorId": w.flavors["medium"], "zone": "b"}])
    tap.ok(one["status"]["flavorId"] == w.flavors["medium"] and
           one["status"]["zone"] == "b",
           "what is sold out is taken elsewhere, in the order that was asked",
           one["status"])
    refused = [e for e in w.events(one)
               if e["reason"].startswith("offeringRefused")]
    tap.ok(len(refused) >= 2 and all("large" in e["message"] or
                                     "medium" in e["message"]
                                     for e in refused),
           "and the events tell why each candidate was refused", w.events(one))
    tap.eq(w.usage()["vcpus"], 2, "quota is narrowed to what it came to be")
    tap.ok(any(f.get("shortages") for f in w.all("flavors")),
           "what is sold out is remembered")
    w.cloud.set(capacity=None)
    w.api.delete(w.path(one))
    w.gone(one)


def boots(w):
    w.cloud.set(bootFailureRate=1000)
    one = w.instance("boots", None)
    one = w.until(one, "failed", 60)
    tap.ok(one["status"]["reason"]["waitsFor"] in ("operator", "specChange"),
           "a machine that does not boot is tried three times, then parked",
           one["status"])
    tap.eq(w.cloud.of(one), [], "and those that failed are not left behind")
    w.cloud.set(bootFailureRate=0)
    w.api.delete(w.path(one))
    w.gone(one)


def waiting(w):
    w.cloud.set(launchMs=400)
    one = w.instance("waiting", None)
    reply = w.api.get(w.path(one) + "?wait=running&timeoutMs=20000")
    tap.eq(reply.json["status"]["state"], "running",
           "waiting for a state is answered when it has come")
    w.api.delete(w.path(one))
    reply = w.api.get(w.path(one) + "?wait=deleted&timeoutMs=20000")
    tap.eq(reply.status, 204, "and so is waiting for its end")
    w.cloud.set(launchMs=0)


def asking_twice(w):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = w.body("twice")
    first, second = (w.api.post("/v1/instances", body, key) for _ in "ab")
    tap.ok(first.status == second.status == 201 and
           first.json["uid"] == second.json["uid"] and
           second["Idempotency-Replayed"] == "true",
           "the same create with the same key is one instance", second)
    one = w.until(first.json, "running")
    tap.eq(len(w.cloud.of(one)), 1, "and one machine")


def addresses(w):
    w.cloud.set(keepsAddresses=False)
    w.faults()
    one = w.instance("moves", publicIp=True)
    w.api.post(w.path(one) + "/stop", None)
    off = w.until(one, "stopped")
    w.api.post(w.path(one) + "/start", None)
    on = w.until(one, "running")
    machine = w.cloud.of(on)[0]
    tap.ok(on["status"]["privateIp"] == machine["privateIp"] and
           on["status"].get("publicIp") == machine.get("publicIp") and
           off["status"]["providerId"] == on["status"]["providerId"],
           "start brings fresh addresses, on the same machine", on["status"],
           machine)
    tap.ok(on["status"]["publicIp"] != one["status"]["publicIp"],
           "and those that were are dropped", one["status"], on["status"])
    w.cloud.set(keepsAddresses=True)


def pausing(w):
    one = w.instance("still")
    w.api.patch(w.path(one), {"spec": {"paused": True}})
    w.api.patch(w.path(one), {"spec": {"power": "off"}})
    time.sleep(0.5)
    tap.eq(w.read(one)["status"]["state"], "running",
           "one that is paused is left alone")
    w.api.patch(w.path(one), {"spec": {"paused": False}})
    w.until(one, "stopped")
    tap.ok(True, "and made as it is wanted when it is resumed")
    w.api.patch(f"/v1/regions/{w.region}", {"spec": {"paused": True}})
    two = w.instance("later", None)
    time.sleep(0.5)
    tap.eq(w.cloud.of(two), [], "in a region that is paused nothing is called")
    w.api.patch(f"/v1/regions/{w.region}", {"spec": {"paused": False}})
    w.until(two, "running")


def expiry(w):
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    one = w.instance("brief", expiresAt=soon)
    tap.ok(w.gone(one) and not w.cloud.of(one),
           "an instance that expires is deleted by itself", w.read(one))


def throttled(w):
    """A cloud that takes so many calls a second, and refuses the others."""
    w.cloud.set(callsPerSecond=40, burst=10, tellsLimit=False)
    several = [w.instance(f"busy-{n}", None) for n in range(40)]
    for one in several:
        w.until(one, "running", 60)
    tap.ok(all(len(w.cloud.of(one)) == 1 for one in several),
           "a cloud that refuses too many calls still makes every machine")
    for one in several:
        w.api.delete(w.path(one))
    tap.ok(all(w.gone(one, 60) for one in several),
           "and takes every one away")
    w.cloud.set(callsPerSecond=0)


def drift(w):
    """Several clients change one thing at once."""
    one = w.instance("many")
    replies = []

    def patch(n):
        api = type(w.api)(w.server)
        replies.append(api.patch(w.path(one), {"tags": {"n": str(n)}}).status)
    threads = [threading.Thread(target=patch, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tags = wait_for(lambda: w.cloud.of(one)[0]["tags"].get("n") ==
                    w.read(one)["tags"]["n"])
    tap.ok(replies == [200] * 8 and tags,
           "tags always change, and the machine has those that came last",
           replies, json.dumps(w.cloud.of(one)))


def sizes(node, found):
    """Names of whole numbers in schemas that are about sizes."""
    for name, value in node.items() if isinstance(node, dict) else ():
        if name == "properties":
            found += [k for k, v in value.items()
                      if isinstance(v, dict) and v.get("type") == "integer"
                      and any(w in k.lower() for w in
                              ("memory", "size", "disk"))]
        sizes(value, found)
    for value in node if isinstance(node, list) else ():
        sizes(value, found)
    return found


def units(w):
    found = sizes(w.api.get("/v1/openapi.json").json["components"], [])
    tap.ok(len(found) > 3 and all(k.endswith(("MiB", "GiB", "Bytes"))
                                  for k in found),
           "sizes carry their unit in their names", found)


def seen(w):
    one = w.instance("seen")
    status = one["status"]
    tap.ok(status["provisioning"] == "provisioned" and
           status["health"] == "healthy" and one["spec"]["power"] == "on",
           "provisioning, health and power are fields of their own", one)
    reply = w.api.post(w.path(one) + "/stop", None).json
    tap.ok(reply["generation"] == one["generation"] + 1 and
           reply["status"]["observedGeneration"] == one["generation"],
           "what is wanted is a generation ahead of what was seen", reply)
    off = w.until(one, "stopped")
    tap.eq(off["status"]["observedGeneration"], off["generation"],
           "until it has been made so")


def main():
    w = World({"zones": ["a", "b"], "pollMs": 20})
    for section in (flavors, images, regions, choices, boots, waiting,
                    asking_twice, addresses, pausing, expiry, throttled,
                    drift, units, seen):
        tap.section(section, w)
    status, said = run("fsck", "--data", w.server.data)
    tap.eq(status, 0, "fsck finds no difference")
    tap.note(said)
    made(w.api.post("/v1/organizations", {"name": "last"}))
    tap.end()


main()

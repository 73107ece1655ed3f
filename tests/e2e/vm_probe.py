#!/usr/bin/python3
"""A server that is killed while it finds out what QEMU can do, and whether KVM
works: what it has started for that is ended by the next one, and would run for
ever otherwise."""

import os
import time

import vms
from muster import Client, Server, folder, tap, wait_for
from tenant import made
from vms import BOOT, Embedded

# How long it is let run, in seconds.
MOMENTS = (0, 0.2, 1)


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def region(server):
    """A region with machines in the server itself; where it keeps them."""
    images = folder()
    os.chmod(images, 0o711)
    vms.blank_image(images)
    id = made(Client(server).post("/v1/regions", {"name": "local", "spec": {
        "provider": "libvirt", "observeSeconds": 5,
        "options": {"images": images}}}))["id"]
    return id, Embedded(os.path.join(server.data, f"libvirt-{id}"))


def state(server, id):
    return Client(server).get(f"/v1/regions/{id}").json["status"]["state"]


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    server = Server()
    os.chmod(server.home, 0o711)
    server.start()
    id, place = region(server)
    tap.ok(wait_for(place.questions, BOOT), "QEMU is asked what it can do")
    server.kill9()
    server.start()
    for moment in MOMENTS:
        tried = wait_for(place.probes, BOOT)
        tap.eq(len(tried), 1, "it is tried whether KVM works")
        time.sleep(moment)
        server.kill9()
        tap.note("the guest has ended" if is_gone(tried[0]) else
                 "the guest runs on")
        server.start()
        tap.ok(wait_for(lambda: is_gone(tried[0]), BOOT),
               "the next server ends what the killed one tried with", tried)
    tap.ok(wait_for(lambda: state(server, id) == "ready", BOOT, 0.05),
           "the region is ready in the end", state(server, id))
    tap.eq(place.probes() + place.questions(), [], "nothing runs on")
    tap.eq(place.files(), [], "nor lies about")
    tap.eq(server.stop(), 0, "the server ends well")
    tap.end()


if __name__ == "__main__":
    main()

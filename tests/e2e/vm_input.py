#!/usr/bin/python3
"""What is bad, or only looks it, on its way to real machines: what is too large
is refused in words, names that mean something to XML or to a shell are names and
nothing else, and nothing is left behind by either."""

import base64
import os

import vms
from muster import folder, read_reply, request_bytes, run, tap, wait_for
from tenant import made
from vms import BOOT, VmWorld, blank_image

# XML's, JSON's, a shell's, printf's, a path's, and letters.
ODD = """<b a="1">&amp;]]></b><!--'${x}`id`;|%s%n\\ ../é☃-->"""

# The same, as far as a file may be called so.
FILE = ODD.replace("/", "\u2215")

LARGE = 10 << 20


def refused(text, reply, status, *words):
    """And what was sent is not sent back."""
    said = reply.body.decode(errors="replace")
    tap.ok(reply.status == status and all(w in said for w in words) and
           len(said) < 2000, text, reply.status, said[:400])


def large(w):
    with w.server.connect() as s:
        # As curl does: what is not wanted is not sent.
        s.sendall(request_bytes("POST", "/v1/instances", w.server.token, {
            "Content-Type": "application/json", "Expect": "100-continue",
            "Content-Length": LARGE // 3 * 4}))
        refused("user data of 10 MB is refused", read_reply(s), 413,
                "larger than this server takes")
    just = base64.b64encode(b"#!/bin/sh\n" + b"#" * ((64 << 10) - 9)).decode()
    refused("and so is a little too much", w.ask("large", userData=just),
            422, "/spec/userData", "65536")
    path = os.path.join(folder(), "data")
    with open(path, "wb") as file:
        file.write(b"#!/bin/sh\n" + b"#" * LARGE)
    status, said = run(
        "instance", "create", "large", "--network", "lan", "--flavor", "tiny",
        "--image", "blank", "--user-data", "@" + path,
        env={"HOME": folder(), "MUSTER_SERVER": w.server.url,
             "MUSTER_TOKEN": w.server.token})
    tap.ok(status == 2 and len(said) < 2000 and
           "data has 10485770 bytes; at most 65538 are taken" in said,
           "the command line says so, too", status, said[:400])
    tap.eq((w.all("instances"), w.leftovers()), ([], []),
           "and nothing was made of it")


def names(w):
    """What is in the XML as it is."""
    for name in ("<x>", "a&b", "a'b", 'a"b', "a/b", "../b", "a;b", "a$b",
                 "x\n"):
        refused(f"an instance is not called {name!r}", w.ask(name), 422,
                "/name")
    for noun, more in (("networks", {"spec": {"prefix": "10.7.0.0/16"}}),
                       ("volumes", {"spec": {"sizeGiB": 1}})):
        refused(f"nor are {noun}", w.api.post(f"/v1/{noun}", {
            "name": "<x>", "projectId": w.project, "regionId": w.region,
            **more}), 422, "/name")
    for tags in ({"<k>": "v"}, {"a&b": "v"}, {"k": "a\nb"}, {"k": "\x01"}):
        refused(f"nor is there a tag {tags}", w.api.post("/v1/instances", {
            **w.body("odd"), "tags": tags}), 422, "/tags")


def odd(w):
    """All that may be odd is."""
    tags = {"team": ODD, "x/y:z": "]]>", "empty": ""}
    body = {**w.body("odd-1", flavor=ODD, image=FILE, userData=base64.b64encode(
        b"#cloud-config\n# " + ODD.encode()).decode(), sshPublicKeys=[
            "ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5AAAAI" + "B" * 42 + "A " +
            "<&'\"]]>"]), "description": ODD, "tags": tags}
    one = w.until(made(w.api.post("/v1/instances", body)), "running", BOOT)
    uuid = one["status"]["providerId"].split("@")[0]
    tap.eq(sorted(w.machines()), [uuid], "one of odd names is made")

    def kept():
        """The tags that the machine has, without ours."""
        found = w.machines()[uuid]["tags"]
        return {k: v for k, v in found.items()
                if not k.startswith("muster/")}
    tap.eq(kept(), tags, "and has them as they are")
    tap.eq([i["tags"] for i in w.all("instances", "&state=running")], [tags],
           "so has the list")
    tags["team"] = ODD[::-1]
    w.api.patch(w.path(one), {"tags": tags})
    tap.ok(wait_for(lambda: kept() == tags, BOOT, 0.1),
           "they can be changed while it runs", kept())
    w.api.post(w.path(one) + "/stop", None)
    w.until(one, "stopped", BOOT)
    w.api.post(w.path(one) + "/start", None)
    w.until(one, "running", BOOT)
    tap.eq(kept(), tags, "and outlive a stop")
    volume = made(w.api.post("/v1/volumes", {
        "name": "odd", "projectId": w.project, "regionId": w.region,
        "description": ODD, "tags": tags, "spec": {"sizeGiB": 1}}))
    w.ready("volumes", volume["id"])
    tap.eq(w.get("volumes", volume["id"])["tags"], tags, "a volume has them")
    tap.eq(w.differences(), [], "all is as it is wanted")
    w.server.restart()
    tap.eq((w.differences(), kept()), ([], tags), "also after a new start")
    for path in (f"/v1/volumes/{volume['id']}", w.path(one)):
        w.api.delete(path)
    tap.ok(w.gone(one, BOOT), "it can be deleted", w.read(one))
    tap.ok(wait_for(lambda: not w.leftovers(), BOOT, 0.1),
           "and nothing is left", w.leftovers())


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    images = folder()
    os.chmod(images, 0o711)
    blank = blank_image(images)
    os.link(blank, os.path.join(images, FILE + ".qcow2"))
    w = VmWorld(images=images, flavors=[
        {"name": name, "vcpus": 1, "memoryMiB": 64, "diskGiB": 1}
        for name in ("tiny", ODD)])
    for section in (large, names, odd):
        tap.section(section, w)
    tap.eq(w.server.stop(), 0, "the server ends well")
    tap.end()


if __name__ == "__main__":
    main()

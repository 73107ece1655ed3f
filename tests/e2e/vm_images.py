#!/usr/bin/python3
"""Images that mean harm: each is refused with words that say why, and nothing of
it stays on the server's disk."""

import hashlib
import http.server
import os
import subprocess
import threading

import vms
from muster import folder, tap, wait_for
from vms import BOOT, VmWorld

MIB = 1 << 20
GIB = 1 << 30


class Web(http.server.ThreadingHTTPServer):
    """Serves what is in FILES, and what no file could be."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Page)
        self.files = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def put(self, name, content, says=None):
        """CONTENT, or None: no end of zeroes; which SAYS that it is so long, 0:
        nothing of that.  Its address and checksum."""
        if says is None:
            says = len(content)
        self.files["/" + name] = content, says
        return (f"http://127.0.0.1:{self.server_port}/{name}",
                "sha256:" + hashlib.sha256(content or b"").hexdigest())


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content, says = self.server.files[self.path]
        self.send_response(200)
        if says:
            self.send_header("Content-Length", str(says))
        self.end_headers()
        if content is not None:
            self.wfile.write(content)
            return
        try:
            self.wfile.write(boot_sector(MIB))
            while True:
                self.wfile.write(bytes(MIB))
        except OSError:
            pass

    def log_message(self, *_):
        pass


def boot_sector(length):
    """Of a disk that could be booted, as far as anybody looks."""
    return bytes(510) + b"\x55\xaa" + bytes(length - 512)


def qcow2(path, size, *options):
    subprocess.run(["qemu-img", "create", "-q", "-u", "-f", "qcow2",
                    *options, path, size], check=True)


def convert(path):
    """A true one with something in it."""
    raw = path + ".raw"
    with open(raw, "wb") as file:
        file.write(boot_sector(MIB) + os.urandom(MIB))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw,
                    path], check=True)
    os.remove(raw)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Importer:
    """A world with real disks, where an image may have 1 GiB."""

    def __init__(self):
        self.world = VmWorld(imageMaxGiB=1)
        self.web = Web()
        self.place = folder()
        self.imports = os.path.join(self.world.server.data, "import")
        self.before = self.files()

    def files(self):
        """All that lies on the server's disk that is an image's."""
        root = self.world.places[0].root
        return sorted(
            os.path.join(name, found) for name in ("images", "disks")
            for found in os.listdir(os.path.join(root, name)))

    def ask(self, name, uri, checksum):
        spec = {"uri": uri, "architecture": "x86_64"}
        if checksum:
            spec["checksum"] = checksum
        return self.world.make("images", {
            "name": name, "projectId": self.world.project,
            "regionId": self.world.region, "spec": spec})["id"]

    def status(self, image):
        return self.world.get("images", image)["status"]

    def goes(self, image):
        """Deleted, it is no more, and neither are its files."""
        path = f"/v1/images/{image}"
        self.world.api.delete(path)
        return wait_for(lambda: self.world.api.get(path).status == 404, BOOT,
                        0.05) and self.files() == self.before

    def refused(self, name, source, words):
        """SOURCE: an address and a checksum."""
        image = self.ask(name, *source)
        wait_for(lambda: self.status(image)["state"] == "failed", BOOT, 0.05)
        status = self.status(image)
        said = status.get("reason", {}).get("message", "")
        tap.ok(status["state"] == "failed" and words in said,
               f"{name} is refused: {words}", status)
        tap.eq(self.files(), self.before, f"{name}: nothing of it stays")
        tap.ok(self.goes(image), f"{name}: the image can be deleted",
               self.world.api.get(f"/v1/images/{image}").json, self.files())

    def file(self, name):
        return os.path.join(self.imports, name)

    def refused_file(self, name, words):
        self.refused(name, ("file://" + self.file(name), None), words)


def files_elsewhere(who):
    """Nobody reads the host's files by a disk that says it lies on them."""
    for at, options in enumerate((
            ("-b", "/etc/shadow", "-F", "raw"),
            ("-b", 'json:{"driver":"raw","file":{"driver":"file",'
             '"filename":"/etc/shadow"}}', "-F", "raw"),
            ("-b", "nbd://127.0.0.1/x", "-F", "raw"))):
        qcow2(who.file(f"backing{at}"), "1M", *options)
        who.refused_file(f"backing{at}", "names a backing file")
    qcow2(who.file("older"), "1M", "-b", "/etc/shadow", "-F", "raw",
          "-o", "compat=0.10")
    who.refused_file("older", "names a backing file")
    data = os.path.join(who.place, "data")
    qcow2(who.file("data"), "1M", "-o", f"data_file={data}")
    who.refused_file("data", "keeps its data in another file")
    qcow2(who.file("raw-data"), "1M", "-o",
          f"data_file={data},data_file_raw=on")
    who.refused_file("raw-data", "keeps its data in another file")
    # The bit alone, without a name; and a name without the bit.
    whole = os.path.join(who.place, "whole")
    convert(whole)
    bit = bytearray(read(whole))
    bit[79] |= 4
    who.refused("bit", who.web.put("bit", bytes(bit)),
                "keeps its data in another file")
    bit[79] = 32
    who.refused("feature", who.web.put("feature", bytes(bit)),
                "features that are not known")


def not_whole(who):
    path = os.path.join(who.place, "cut")
    convert(path)
    whole = read(path)
    for name, content in (("half", whole[:len(whole) // 2]),
                          ("head", whole[:104]),
                          ("less", whole[:-70000])):
        who.refused(name, who.web.put(name, content), "cut off")
    with open(who.file("cut"), "wb") as file:
        file.write(whole[:len(whole) // 2])
    who.refused_file("cut", "cut off")
    who.refused("empty", who.web.put("empty", b""), "sent nothing")
    who.refused("page", who.web.put("page", b"<!DOCTYPE html><p>Sorry."),
                "a web page, not a disk")


def too_large(who):
    """What takes no room here and very much elsewhere."""
    qcow2(who.file("large"), "100G")
    who.refused_file("large", "of 100 GiB; at most 1 are allowed")
    who.refused("fetched", who.web.put("large", read(who.file("large"))),
                "of 100 GiB; at most 1 are allowed")
    with open(who.file("hole"), "wb") as file:
        file.write(boot_sector(MIB))
        file.truncate(100 * GIB)
    who.refused_file("hole", "of 100 GiB; at most 1 are allowed")
    who.refused("long", who.web.put("long", None, 100 * GIB),
                "which is the limit here")


def never_ends(who):
    who.refused("endless", who.web.put("endless", None, 0),
                "which is the limit here")


def other_bytes(who):
    """What was not asked for is not kept, whatever it is."""
    path = os.path.join(who.place, "true")
    convert(path)
    content = read(path)
    uri, checksum = who.web.put("true", content)
    who.refused("wrong", (uri, "sha256:" + 64 * "0"),
                "the file has another: " + checksum)
    image = who.ask("right", uri, checksum)
    tap.ok(wait_for(lambda: who.status(image)["state"] == "ready", BOOT),
           "the same with its checksum is taken", who.status(image))
    tap.ok(who.goes(image), "and goes with its files", who.files())


def cut_short(who):
    """A server that ends too early is asked again; who does not want to wait
    deletes the image, and nothing stays."""
    path = os.path.join(who.place, "short")
    convert(path)
    content = read(path)
    image = who.ask("short", *who.web.put("short", content,
                                          len(content) + 1))
    tap.ok(wait_for(lambda: "ended before the file did" in who.status(
        image).get("reason", {}).get("message", ""), BOOT, 0.05),
        "it is told what the server did", who.status(image))
    tap.eq(who.status(image)["state"], "creating",
           "the image may still come to be")
    tap.ok(who.goes(image), "it can be deleted, with what there was",
           who.files())


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    who = Importer()
    for section in (files_elsewhere, not_whole, too_large, never_ends,
                    other_bytes, cut_short):
        tap.section(section, who)
    tap.eq(who.files(), who.before, "at the end there is what there was")
    tap.end()


main()

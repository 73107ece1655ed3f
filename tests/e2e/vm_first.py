#!/usr/bin/python3
"""A newcomer's way from nothing to a login in a real machine: the README's own
lines, in a folder as `make run` leaves it, against a server that begins with
this host's machines.  What it says at its start are the same lines; and the end
of the machine leaves nothing."""

import os
import re
import select
import shlex
import signal
import subprocess
import time

import vms
from muster import Client, Server, binary, folder, run, tap, wait_for
from readme import ROOT, follow, walks
from vms import BOOT, Embedded, processes

DETACH = b"\x1d"


def readme():
    """The steps of its walk on this host: commands, and what is shown."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = walks(file.read())
    return next(block for block in blocks
                if any("--region local" in command for command, _ in block))


class Newcomer:
    """Has a folder with what was built, a terminal, and a server that was just
    started there."""

    def __init__(self):
        self.home = folder()
        os.chmod(self.home, 0o711)
        os.mkdir(os.path.join(self.home, "build"))
        os.symlink(binary(), os.path.join(self.home, "build", "muster"))
        self.server = Server({"local": True},
                             data=os.path.join(self.home, "var"))
        self.server.start()
        self.api = Client(self.server)
        self.env = {"HOME": self.home, "PATH": os.environ["PATH"],
                    "TERM": "xterm", "LANG": "C.UTF-8",
                    "MUSTER_SERVER": self.server.url}

    def does(self, line, *more):
        """A line of words, without a terminal; what it said, when it went
        well."""
        status, said = run(*line.split(), *more, timeout=BOOT, env={
            **self.env, "MUSTER_TOKEN": self.server.token})
        tap.eq(status, 0, f"muster {line}")
        if status:
            tap.note(said)
        return said

    def get(self, noun):
        return self.api.get(f"/v1/{noun}").json["items"]


def seen_until(master, text):
    """What a terminal shows until that is in it, or nothing comes any more."""
    seen, end = b"", time.monotonic() + BOOT
    while text not in seen and time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
    return seen


def says_the_same(who, steps):
    """A server on a terminal tells how to go on: with these lines.  It is ended
    while it still finds out what this host can: what it was about to write down
    of that is for nobody then, and memory that was freed is not what it was."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        ["build/muster", "serve", "--data", "./other", "--listen",
         "127.0.0.1:0", "--local", "--rehearse"], cwd=who.home,
        env={**who.env, "MALLOC_PERTURB_": "165"}, stdin=slave,
        stdout=slave, stderr=slave)
    os.close(slave)
    try:
        said = seen_until(master, b"Stop with").decode().replace("\r", "")
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(BOOT)
        os.close(master)
    lines = [line.strip().replace(" --data ./other", "") for line in
             said.split("\n") if line.startswith("  build/muster ")]
    want = [command for command, _ in steps]
    tap.eq(lines[1:], want[1:], "a server says at its start what the README "
           "says")
    tap.ok(re.fullmatch(r"build/muster login --server http://127.0.0.1:\d+ "
                        r"--token-file ./other/admin.token", lines[0])
           and want[0].startswith("build/muster login --token-file"),
           "after the way to sign in to it", lines[:1], want[0])
    tap.eq(status, 0, "and ends as it is asked to, whatever is under way")


def console(who, command):
    """The line of a terminal: its prompt is seen, and a key ends it."""
    master, slave = os.openpty()
    process = subprocess.Popen(shlex.split(command), cwd=who.home,
                               env=who.env, stdin=slave, stdout=slave,
                               stderr=slave, start_new_session=True)
    os.close(slave)
    said = seen_until(master, b"ends it")
    # A prompt that was there before is shown again.
    os.write(master, b"\r")
    said += seen_until(master, b"login: ")
    tap.ok(b"login: " in said, f"{command}: the login prompt", said[-400:])
    os.write(master, DETACH)
    said = seen_until(master, b"Detached")
    tap.eq(process.wait(BOOT), 0, "and Ctrl-] ends it")
    os.close(master)


def tree(place):
    """All that an embedded region keeps, but what QEMU can do and the locks
    that libvirt leaves."""
    found = set()
    for folder_, _, names in os.walk(place):
        inside = os.path.relpath(folder_, place)
        if inside.split("/")[0] != "cache":
            found |= {os.path.join(inside, name) for name in names}
    return found


def is_there(who, place):
    """The host has one machine, and it is the instance's."""
    one = who.get("instances")[0]
    uuid = one["status"]["providerId"].split("@")[0]
    tap.eq((sorted(place.processes()), sorted(place.machines())),
           ([uuid], [uuid]), "  there is one machine, and it is the instance's")
    return one


def is_gone(who, place, one, before):
    tap.eq(who.get("instances"), [], "  then it is gone")
    tap.ok(wait_for(lambda: not (place.machines() or place.files() or
                                 processes(place.root)), BOOT, 0.1),
           "  and no domain, disk or process is left",
           place.machines(), place.files(), processes(place.root))
    tap.eq(sorted(tree(place.root) - before), [], "  nor any other file")
    ports = [p["port"] for p in one["status"].get("ports", [])]
    tap.ok(ports and not any(vms.reaches("127.0.0.1", p) for p in ports),
           "  nor a port", ports)


def walk(who, place, steps):
    one, before = None, set()
    for command, shown in steps:
        words = shlex.split(command)[1:]
        if words[:2] == ["instance", "create"]:
            wait_for(lambda: who.get("networks")[0]["status"]["state"] ==
                     "ready", BOOT, 0.05)
            before = tree(place.root)
        if words[0] == "console":
            console(who, command)
        else:
            seen = follow(who.home, who.env, command, shown)
        if words[0] == "ssh":
            tap.ok(any(line.startswith(f"Linux {words[1]} ") for line in seen),
                   "  a login answers from inside it", seen)
        if words[:2] == ["instance", "create"]:
            one = is_there(who, place)
        if words[:2] == ["instance", "delete"]:
            is_gone(who, place, one, before)
    tap.ok(one and {"image", "network", "ssh", "console"} <=
           {shlex.split(command)[1] for command, _ in steps},
           "the README's walk has every step", steps)


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    who, steps = Newcomer(), readme()
    region = who.get("regions")[0]
    tap.eq((region["name"], region["spec"]["provider"]), ("local", "libvirt"),
           "a server can begin with the machines of its host")
    place = Embedded(os.path.join(who.server.data, f"libvirt-{region['id']}"))
    says_the_same(who, steps)
    walk(who, place, steps)
    tap.eq(who.server.stop(), 0, "the server ends well")
    tap.end()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""A newcomer's way from nothing to a login in a real machine: a server that
begins with this host's machines, an image that is made here, an instance, SSH,
its console, and its end, which leaves nothing."""

import os
import select
import subprocess
import time

import vms
from muster import Client, Server, binary, folder, run, tap, wait_for
from vms import BOOT, Embedded, processes


class Newcomer:
    """Has a command line, and a server that was just started."""

    def __init__(self):
        self.server = Server({"local": True})
        os.chmod(self.server.home, 0o711)
        self.server.start()
        self.api = Client(self.server)
        self.env = {"HOME": folder(), "MUSTER_SERVER": self.server.url,
                    "MUSTER_TOKEN": self.server.token}

    def does(self, line, *more):
        """A line of words; what it said, when it went well."""
        status, said = run(*line.split(), *more, timeout=BOOT, env=self.env)
        tap.eq(status, 0, f"muster {line}")
        if status:
            tap.note(said)
        return said

    def types(self, line, keys, until):
        """What is said when that is typed, as far as UNTIL."""
        child = subprocess.Popen([binary(), *line.split()], env={
            **os.environ, **self.env}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        said, end = b"", time.monotonic() + BOOT
        child.stdin.write(keys)
        child.stdin.flush()
        while until not in said and time.monotonic() < end:
            if select.select([child.stdout], [], [], 0.1)[0]:
                more = os.read(child.stdout.fileno(), 65536)
                said += more
                if not more:
                    break
        child.kill()
        child.communicate()
        return said

    def get(self, noun):
        return self.api.get(f"/v1/{noun}").json["items"]


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    who = Newcomer()
    region = who.get("regions")[0]
    tap.eq((region["name"], region["spec"]["provider"]), ("local", "libvirt"),
           "a server can begin with the machines of its host")
    place = Embedded(os.path.join(who.server.data, f"libvirt-{region['id']}"))
    who.does("organization create acme")
    who.does("project create web --organization acme")
    tap.ok(wait_for(lambda: who.get("regions")[0]["status"]["state"] ==
                    "ready", BOOT), "its region gets ready",
           who.get("regions"))
    who.does("image build tiny --region local --project web --name tiny "
             f"--data {who.server.data}")
    who.does("network create lan --project web --region local "
             "--prefix 10.0.0.0/24")
    who.does("instance create web-1 --network lan --flavor tiny --image tiny "
             "--ssh-key generated --wait")
    one = who.get("instances")[0]
    uuid = one["status"]["providerId"].split("@")[0]
    tap.eq(sorted(place.processes()), [uuid],
           "there is one machine, and it is its")
    said = who.does("ssh web-1", "uname", "-a")
    tap.ok("Linux web-1 " in said, "a login answers from inside it", said)
    status = who.get("instances")[0]["status"]
    tap.eq((status["readiness"]["state"], status["health"]),
           ("ready", "healthy"), "which has waited until it was up")
    said = who.types("console web-1", b"\r", b"login: ")
    tap.ok(b"login: " in said, "its console has a prompt", said[-400:])
    said = who.types("console web-1", b"nobody\r", b"assword")
    tap.ok(b"nobody" in said, "at which one can type", said[-400:])
    said = who.does("instance consoleoutput web-1")
    tap.ok("login" in said, "what it has said is kept", said[-400:])
    who.does("instance delete web-1 --wait --yes")
    tap.eq(who.get("instances"), [], "then it is gone")
    tap.ok(wait_for(lambda: not (place.machines() or place.files() or
                                 processes(place.root)), BOOT, 0.1),
           "and no domain, disk or process is left",
           place.machines(), place.files(), processes(place.root))
    ports = [p["port"] for p in one["status"].get("ports", [])]
    tap.ok(ports and not any(vms.reaches("127.0.0.1", p) for p in ports),
           "nor a port", ports)
    tap.eq(who.server.stop(), 0, "the server ends well")
    tap.end()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The client's verbs of machines against a stand-in for the server."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import MUSTER, Client, check, done, has  # noqa: E402
from cli_stub import TOKEN  # noqa: E402
from cli_machines_stub import Machines  # noqa: E402


def on_terminal(c, *args, keys=b"", until=None, columns=80):
    """What a terminal shows, and how the program ended."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MUSTER, [MUSTER, *args], c.env)
    resize(fd, 24, columns)
    seen = b""
    try:
        while True:
            more = os.read(fd, 4096)
            if not more:
                break
            seen += more
            if until and re.search(until, seen):
                os.write(fd, keys)
                until = None
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return seen.decode(), os.waitstatus_to_exitcode(status)


def names(stub, c):
    c.expect(0, "create by names", "instance", "create", "web-1",
             "--network", "net", "--flavor", "small", "--image", "debian-12",
             "--alternative", "flavor=medium,zone=b")
    body = stub.requests[-1][2]
    flavors = [d for d in stub.objects["flavors"].values()
               if d["regionId"] == stub.region["id"]]
    ids = {d["name"]: d["id"] for d in flavors}
    check(body["networkId"] == stub.net["id"] and
          body["spec"]["flavorId"] == ids["small"] and
          body["spec"]["alternatives"] == [{"flavorId": ids["medium"],
                                            "zone": "b"}],
          "which are those of the network's region", body)
    stub.make("flavors", name="twin", regionId=stub.region["id"], vcpus=1)
    stub.make("flavors", name="twin", regionId=stub.region["id"], vcpus=2)
    r = c.expect(2, "a flavor of which there are two", "instance", "create",
                 "web-2", "--network", "net", "--flavor", "twin", "--image",
                 "debian-12")
    check(has(r.stderr, "'twin' is the name of 2 flavors", "vcpus 1",
              "vcpus 2"), "is told with what tells them apart", r.stderr)
    r = c.expect(2, "one that is in two regions, with none given",
                 "flavor", "get", "small")
    check(has(r.stderr, "in region sim", "in region far"), "says where",
          r.stderr)
    c.expect(0, "is narrowed", "flavor", "get", "small", "--region", "far")
    other = stub.make("projects", name="shop", organizationId=stub.org["id"])
    stub.make("networks", name="net", projectId=other["id"],
              organizationId=stub.org["id"], regionId=stub.other["id"],
              spec={}, status={"state": "ready"})
    c.expect(2, "a network that two projects have", "instance", "create",
             "x", "--network", "net", "--flavor", "small", "--image",
             "debian-12")
    c.expect(0, "is narrowed by its project", "instance", "create", "x",
             "--network", "net", "--project", "web", "--flavor", "small",
             "--image", "debian-12")
    check("projectId" not in stub.requests[-1][2],
          "which is not sent", stub.requests[-1][2])
    c.expect(0, "an update finds names where the instance is", "instance",
             "update", "web-1", "--flavor", "large")
    check(stub.requests[-1][2] == {"spec": {"flavorId": ids["large"]}},
          "and sends the id", stub.requests[-1][2])
    del stub.objects["networks"][[d["id"] for d in
                                  stub.objects["networks"].values()
                                  if d["projectId"] == other["id"]][0]]


def compact(stub, c):
    volume = stub.make("volumes", name="data", projectId=stub.project["id"],
                       regionId=stub.region["id"])
    path = os.path.join(c.home, "init")
    with open(path, "wb") as f:
        f.write(b"#!/bin/sh\n\xff")
    c.expect(0, "a volume and a file", "instance", "create", "web-3",
             "--network", "net", "--flavor", "small", "--image", "debian-12",
             "--volume", "data:/srv", "--user-data", "@" + path)
    spec = stub.requests[-1][2]["spec"]
    check(spec["volumes"] == [{"volumeId": volume["id"],
                               "mountPath": "/srv"}] and
          spec["userData"] == "IyEvYmluL3NoCv8=", "in short", spec)
    c.expect(0, "a rule", "securitygroup", "create", "ssh", "--network",
             "net", "--rule", "ingress,tcp,22,0.0.0.0/0")
    check(stub.requests[-1][2]["spec"]["rules"] ==
          [{"direction": "ingress", "protocol": "tcp", "port": 22,
            "prefix": "0.0.0.0/0"}], "in short", stub.requests[-1][2])
    c.expect(0, "options as JSON", "region", "create", "r", "--provider",
             "sim", "--options", '{"seed": 7}')
    check(stub.requests[-1][2]["spec"]["options"] == {"seed": 7}, "are sent")


def waits(stub, c):
    r = c.expect(0, "create --wait", "instance", "create", "web-4",
                 "--network", "net", "--flavor", "small", "--image",
                 "debian-12", "--wait")
    steps = re.findall(r"^ +\d+\.\ds  (\w+)", r.stderr, re.M)
    check(steps == ["accepted", "launching", "running"],
          "tells the steps in order", r.stderr)
    check(has(r.stdout, "Created instance web-4") and
          has(r.stderr, "It is running, at 10.0.0.5, from outside at "
              "203.0.113.7."), "and how it ended", r.stdout, r.stderr)
    check("\033" not in r.stderr, "plainly when nobody watches")
    r = c.run("instance", "stop", "web-4", "--wait")
    check(r.returncode == 0 and "stopped" in r.stderr and
          "Stopped instance web-4" in r.stdout, "stop --wait", r.stderr)
    r = c.run("instance", "start", "web-4", "--wait", "-q", "-o", "json")
    check(r.returncode == 0 and r.stderr == "" and
          json.loads(r.stdout)["status"]["state"] == "running",
          "start --wait, for a script", r.stdout, r.stderr)
    seen, status = on_terminal(c, "instance", "reboot", "web-4", "--hard",
                               "--wait")
    check(status == 0 and "Rebooted" in seen, "reboot --hard --wait", seen)
    check(stub.requests[-1][2] == {"hard": True} or
          any(q[2] == {"hard": True} for q in stub.requests[-4:]),
          "sends it")
    stub.capacity = False
    r = c.expect(1, "one that is parked", "instance", "create", "web-5",
                 "--network", "net", "--flavor", "small", "--image",
                 "debian-12", "--wait")
    check(has(r.stderr, "offeringRefused", "parked", "sold out everywhere",
              "muster instance explain web-5"), "says why", r.stderr)
    stub.capacity = True
    stub.arrives = False
    seen, status = on_terminal(
        c, "instance", "create", "web-6", "--network", "net", "--flavor",
        "small", "--image", "debian-12", "--wait", until=b"launching",
        keys=b"\x03")
    check(status == -signal.SIGINT and
          has(seen, "the work goes on", "muster instance watch web-6"),
          "given up, it says that the work goes on", seen, status)
    stub.arrives = True
    r = c.expect(6, "one that takes too long", "instance", "update", "web-4",
                 "--description", "x", "--wait=stopped", "--timeout", "300ms")
    r = c.expect(0, "delete --wait", "instance", "delete", "web-4", "--yes",
                 "--wait")
    check(has(r.stderr, "deleting", "terminated") and
          "Deleted instance web-4" in r.stdout, "tells the steps", r.stderr)


def plans(stub, c):
    r = c.expect(5, "what would destroy something", "instance", "update",
                 "web-1", "--image", "debian-13", "--description", "it's")
    check(has(r.stderr, "plan: rebuild", "loses    rootDisk",
              "changes  spec.imageId", "price    0.01 -> 0.02 EUR an hour",
              "quota    vcpus 1 -> 2 of 8",
              "to do it: muster instance update web-1 --image debian-13 "
              "--description 'it'\\''s' --allow rebuild"),
          "is told with how to do it", r.stderr)
    r = c.expect(0, "the plan of it", "instance", "plan", "web-1", "--image",
                 "debian-13")
    check(has(r.stdout, "Plan: rebuild instance web-1", "loses    rootDisk")
          and "--allow rebuild" in r.stderr, "says the same", r.stdout)
    r = c.expect(0, "allowed, it is done", "instance", "update", "web-1",
                 "--image", "debian-13", "--allow", "rebuild", "--wait")
    check(has(r.stderr, "changeAccepted", "changeStep", "changeDone"),
          "step by step", r.stderr)
    r = c.expect(5, "a rebuild", "instance", "rebuild", "web-1")
    check("--allow rebuild" in r.stderr, "has to be allowed", r.stderr)
    c.expect(0, "and is done", "instance", "rebuild", "web-1", "--image",
             "debian-12", "--allow", "rebuild")
    image = [q for q in stub.requests if q[0] == "POST"][-1][2]["imageId"]
    check(stub.objects["images"][image]["regionId"] == stub.region["id"],
          "with an image of its region", image)


def ways_in(stub, c):
    r = c.expect(0, "console", "instance", "console", "web-1")
    check(r.stdout == "wss://127.0.0.1/console/x\n", "says where", r.stdout)
    r = c.expect(0, "consoleoutput", "instance", "consoleoutput", "web-1",
                 "--length", "100")
    check(r.stdout == "boot\r\n\x1b[31mlogin:\n" or
          r.stdout == "boot\n\x1b[31mlogin:\n", "as it was", repr(r.stdout))
    seen, _ = on_terminal(c, "instance", "consoleoutput", "web-1")
    check("\x1b[31m" not in seen and "login:" in seen,
          "on a terminal it is harmless", repr(seen))
    key = os.path.join(c.home, "id_ed25519.pub")
    with open(key, "w", encoding="ascii") as f:
        f.write("ssh-ed25519 AAAA me\n")
    r = c.expect(0, "sshcertificate", "instance", "sshcertificate", "web-1",
                 "--public-key", key, "--seconds", "60")
    check(r.stdout == "ssh-cert of ssh-ed25519 AAAA me\n" and
          stub.requests[-1][2] == {"publicKey": "ssh-ed25519 AAAA me",
                                   "seconds": 60}, "prints it", r.stdout)
    c.expect(0, "sshcertificate --write", "instance", "sshcertificate",
             "web-1", "--public-key", key, "--write")
    with open(os.path.join(c.home, "id_ed25519-cert.pub"),
              encoding="ascii") as f:
        check(f.read() == r.stdout, "writes it beside the key")
    c.expect(2, "sshcertificate without a key", "instance", "sshcertificate",
             "web-1")
    r = c.expect(0, "sshkey", "instance", "sshkey", "web-1")
    check(r.stdout == "PRIVATE\n", "prints it")
    seen, status = on_terminal(c, "instance", "sshkey", "web-1")
    check(status == 2 and "PRIVATE" not in seen, "but not on a terminal",
          seen)
    path = os.path.join(c.home, "web-1.key")
    c.expect(0, "sshkey --to", "instance", "sshkey", "web-1", "--to", path)
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "for you alone")
    c.expect(1, "never over another file", "instance", "sshkey", "web-1",
             "--to", path)


def stories(stub, c):
    r = c.expect(0, "events", "instance", "events", "web-1")
    lines = r.stdout.splitlines()
    check(lines[0].split() == ["AGE", "COUNT", "REASON", "MESSAGE"] and
          lines[1].split()[2] == "accepted", "the oldest first", r.stdout)
    r = c.expect(0, "explain", "instance", "explain", "web-5")
    check(has(r.stdout, "web-5 is pending",
              "capacity: sold out everywhere", "a change of what is wanted",
              "small", "offeringRefused", "muster instance update web-5"),
          "says why and what to do", r.stdout)
    r = c.expect(0, "explain one that runs", "instance", "explain", "web-1")
    check("Nothing: it is as it is wanted" in r.stdout, "says so", r.stdout)
    r = c.expect(0, "explain for a script", "instance", "explain", "web-5",
                 "-o", "json")
    check(set(json.loads(r.stdout)) == {"object", "events", "advice"},
          "as JSON")


def others(stub, c):
    c.expect(0, "pause", "instance", "pause", "web-1")
    check(stub.requests[-1][0] == "PATCH" and
          stub.requests[-1][2] == {"spec": {"paused": True}}, "is a patch")
    c.expect(0, "resume", "instance", "resume", "web-1")
    check(stub.requests[-1][2] == {"spec": {"paused": False}}, "and back")
    r = c.expect(0, "snapshot", "instance", "snapshot", "web-1", "--name",
                 "golden", "--wait")
    check("Created image golden" in r.stdout, "makes an image", r.stdout)
    c.expect(2, "snapshot without a name", "instance", "snapshot", "web-1")
    c.expect(0, "region sync", "region", "sync", "sim")
    check(stub.requests[-1][1].endswith("/sync"), "asks for it")
    c.expect(0, "region accept", "region", "accept", "sim")
    check(stub.requests[-1][1].endswith("/accept"), "asks for that, too")
    r = c.expect(0, "region orphans", "region", "orphans", "sim", "-o", "json")
    check(r.stdout.strip() == "[]", "there are none")
    r = c.expect(2, "a verb that is none", "instance", "strat", "web-1")
    check("did you mean 'instance start'" in r.stderr, "suggests", r.stderr)


def completes(c):
    script = c.run("completion", "bash").stdout
    tail = """
COMP_WORDS=(muster instance explain ''); COMP_CWORD=3; _muster
echo "${COMPREPLY[@]}"
COMP_WORDS=(muster instance update web-1 --allow ''); COMP_CWORD=5; _muster
echo "${COMPREPLY[@]}"
COMP_WORDS=(muster instance sshc); COMP_CWORD=2; _muster
echo "${COMPREPLY[@]}"
"""
    path = os.path.join(c.home, "bin")
    os.mkdir(path)
    os.symlink(MUSTER, os.path.join(path, "muster"))
    r = subprocess.run(["bash", "-c", script + tail], text=True,
                       env={**c.env, "PATH": path + ":" + c.env["PATH"]},
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = r.stdout.splitlines()
    check(len(lines) == 3 and "web-1" in lines[0].split() and
          lines[1:] == ["restart rebuild", "sshcertificate"],
          "own verbs are completed", r.stdout, r.stderr)


def screen(c, stub):
    """top on a terminal: what comes is seen without being asked for."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MUSTER, [MUSTER, "top", "--project", "web"], c.env)
    resize(fd, 24, 80)
    seen = read_screen(fd, b"", b"web-1")
    asked = len([q for q in stub.requests if "/v1/instances" in q[1]])
    stub.make("instances", name="newcomer", networkId=stub.net["id"],
              projectId=stub.project["id"], spec={"power": "on"},
              status={"state": "pending", "change": {
                  "action": "rebuild", "step": "stopping"}})
    seen = read_screen(fd, seen, b"rebuild: stopping")
    check(has(seen.decode(), "newcomer", "quota: instances 2/8, vcpus 3",
              "\033[?1049h"), "top shows what comes", seen.decode())
    check(len([q for q in stub.requests if "/v1/instances" in q[1]]) == asked,
          "by watching, not by asking")
    resize(fd, 12, 40)
    os.kill(pid, signal.SIGWINCH)
    seen = read_screen(fd, b"", b"\033[12;1H")
    last = seen.decode().split("\033[H")[-1]
    check(last.count("\n") <= 12 and "\033[J\033[12;1H" in last,
          "and fits another size", last)
    os.write(fd, b"q")
    try:
        while True:
            more = os.read(fd, 4096)
            if not more:
                break
            seen += more
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    check(status == 0 and seen.endswith(b"\033[?1049l"),
          "q ends it, and the screen is as it was", seen[-40:])
    os.close(fd)
    r = c.expect(0, "top in a pipe", "top")
    check("newcomer" in r.stdout and "\033" not in r.stdout,
          "is printed once", r.stdout)
    c.expect(3, "top of no project", "top", "--project", "none")


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0,
                                                    0))


def read_screen(fd, seen, until):
    end = time.time() + 20
    while until not in seen and time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 4096)
    return seen


def main():
    stub = Machines()
    c = Client(stub.url, TOKEN)
    names(stub, c)
    compact(stub, c)
    waits(stub, c)
    plans(stub, c)
    ways_in(stub, c)
    stories(stub, c)
    others(stub, c)
    completes(c)
    screen(c, stub)
    return done()


sys.exit(main())

#!/usr/bin/python3
"""The client's verbs of machines on the real server and a simulated cloud."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import MUSTER, Client, check, done, has  # noqa: E402
from muster import Server  # noqa: E402

PROJECT = """\
kind: sshca
name: corp
---
kind: network
name: shop
region: sim
tags: {team: shop}
spec: {prefix: 10.1.0.0/24}
---
kind: securitygroup
name: ssh
network: shop
tags: {team: shop}
spec:
  rules:
    - {direction: ingress, protocol: tcp, port: 22, prefix: 0.0.0.0/0}
---
kind: volume
name: data
region: sim
tags: {team: shop}
spec: {sizeGiB: 10}
---
kind: instance
name: shop-1
network: shop
tags: {team: shop}
spec:
  flavor: small
  image: debian-12
  securityGroups: [ssh]
  sshCa: corp
  sshKey: generated
  volumes:
    - volume: data
      mountPath: /srv
  userData: |
    #!/bin/sh
    echo hello
"""
FAST = {"launchMs": 50, "stopMs": 20, "startMs": 20, "terminateMs": 20,
        "pollMs": 10, "jitterPercent": 0}


def steps(text):
    return re.findall(r"^ +[\d.]+s  (\w+)", text, re.M)


def begin(c):
    c.expect(0, "a region", "region", "create", "sim", "--provider", "sim",
             "--options", json.dumps(FAST), "--wait")
    c.expect(0, "an organization", "organization", "create", "acme")
    c.expect(0, "a project", "project", "create", "web", "--organization",
             "acme")
    r = c.expect(0, "a network", "network", "create", "net", "--project",
                 "web", "--region", "sim", "--prefix", "10.0.0.0/24",
                 "--wait")
    check("ready" in r.stderr, "comes to be", r.stderr)
    r = c.expect(0, "flavors", "flavor", "list", "--region", "sim")
    check(has(r.stdout, "small", "VCPUS"), "are listed", r.stdout)
    r = c.expect(0, "sync --wait", "region", "sync", "sim", "--wait",
                 "--timeout", "30s")
    check("Read region sim" in r.stdout, "reads it again", r.stdout)


def lives(c):
    r = c.expect(0, "create --wait", "instance", "create", "web-1",
                 "--network", "net", "--flavor", "small", "--image",
                 "debian-12", "--public-ip", "--wait")
    check(steps(r.stderr)[0] == "accepted" and
          steps(r.stderr)[-1] == "running", "tells its steps", r.stderr)
    check(re.search(r"It is running, at 10\.0\.0\.\d+, from outside", r.stderr),
          "and its addresses", r.stderr)
    c.expect(5, "a second of the same name", "instance", "create", "web-1",
             "--network", "net", "--flavor", "small", "--image", "debian-12")
    for verb, state in (("stop", "stopped"), ("start", "running")):
        r = c.expect(0, verb, "instance", verb, "web-1", "--wait")
        doc = json.loads(c.run("instance", "get", "web-1", "-o",
                               "json").stdout)
        check(doc["status"]["state"] == state, "and it is " + state, doc)
    r = c.expect(0, "reboot", "instance", "reboot", "web-1", "--wait")
    check("rebooted" in steps(r.stderr), "is told", r.stderr)
    r = c.expect(5, "another image, unasked", "instance", "update", "web-1",
                 "--image", "ubuntu-24.04")
    check(has(r.stderr, "loses    rootDisk", "--allow rebuild"),
          "is refused with the plan", r.stderr)
    again = re.search(r"to do it: (muster .*)", r.stderr).group(1).split()
    r = c.expect(0, "and done as it says", *again[1:], "--wait")
    check("changeDone" in steps(r.stderr), "step by step", r.stderr)
    r = c.expect(0, "the plan of a resize", "instance", "plan", "web-1",
                 "--flavor", "large")
    check(has(r.stdout, "resize instance web-1", "price", "quota"),
          "has price and quota", r.stdout)
    r = c.expect(0, "events", "instance", "events", "web-1")
    check(has(r.stdout, "accepted", "changeAccepted", "changeDone"),
          "are kept", r.stdout)
    r = c.expect(0, "explain", "instance", "explain", "web-1")
    check(has(r.stdout, "web-1 is running", "as it is wanted"), "is short",
          r.stdout)
    c.expect(0, "console", "instance", "console", "web-1")
    r = c.expect(0, "consoleoutput", "instance", "consoleoutput", "web-1")
    check("login:" in r.stdout, "shows the boot", r.stdout)
    r = c.expect(0, "snapshot", "instance", "snapshot", "web-1", "--name",
                 "golden", "--wait")
    c.expect(0, "boots again", "instance", "create", "web-2", "--network",
             "net", "--flavor", "small", "--image", "golden", "--wait")
    r = c.expect(0, "delete --wait", "instance", "delete", "web-1", "web-2",
                 "--yes", "--wait")
    check("terminated" in steps(r.stderr) and
          c.run("instance", "list", "-o", "name").stdout == "",
          "leaves nothing", r.stderr)


def applies(c):
    path = os.path.join(c.home, "shop.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROJECT)
    r = c.expect(0, "apply a project", "apply", "-f", path, "--project",
                 "web", "--wait")
    check(r.stdout.count("Created") == 5, "makes all of it", r.stdout)
    r = c.expect(0, "once", "apply", "-f", path, "--project", "web")
    check("Nothing to do" in r.stderr, "and no more", r.stdout, r.stderr)
    c.expect(0, "diff finds none", "diff", "-f", path, "--project", "web")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PROJECT.replace("echo hello", "echo hi"))
    r = c.expect(1, "diff finds a secret's change", "diff", "-f", path,
                 "--project", "web")
    check(has(r.stdout, "~ instance shop-1", "spec.userData", "(changes)")
          and "echo" not in r.stdout, "and does not show it", r.stdout)
    c.expect(5, "which is not applied unasked", "apply", "-f", path,
             "--project", "web")
    c.expect(0, "but when allowed", "apply", "-f", path, "--project", "web",
             "--allow", "rebuild", "--wait")


def logs_in(c):
    key = os.path.join(c.home, "key")
    c.expect(0, "the key that was made", "instance", "sshkey", "shop-1",
             "--to", key)
    if not shutil.which("ssh-keygen"):
        return
    with open(key + ".pub", "w", encoding="ascii") as f:
        subprocess.run(["ssh-keygen", "-y", "-f", key], stdout=f, check=True)
    c.expect(0, "a certificate", "instance", "sshcertificate", "shop-1",
             "--public-key", key + ".pub", "--seconds", "600", "--write")
    r = subprocess.run(["ssh-keygen", "-L", "-f", key + "-cert.pub"],
                       stdout=subprocess.PIPE, text=True)
    check(r.returncode == 0 and "user certificate" in r.stdout,
          "that OpenSSH reads", r.stdout)


def prunes(c):
    path = os.path.join(c.home, "shop.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("kind: sshca\nname: corp\n")
    r = c.expect(0, "prune", "apply", "-f", path, "--project", "web",
                 "--prune", "--label", "team=shop", "--yes",
                 "--timeout", "60s")
    check(r.stdout.count("Deleted") == 4, "deletes what has the label",
          r.stdout, r.stderr)
    r = c.run("network", "list", "-o", "name")
    check(r.stdout == "network/net\n", "and nothing else", r.stdout)


def sold_out(c):
    options = dict(FAST, capacity=[{"flavor": "sim.small", "count": 0}])
    c.expect(0, "a region with no room", "region", "create", "full",
             "--provider", "sim", "--options", json.dumps(options), "--wait")
    c.expect(0, "a network in it", "network", "create", "full-net",
             "--project", "web", "--region", "full", "--prefix",
             "10.2.0.0/24", "--wait")
    r = c.expect(6, "an instance there", "instance", "create", "wish",
                 "--network", "full-net", "--flavor", "small", "--image",
                 "debian-12", "--wait", "--timeout", "2s")
    check("offeringRefused" in steps(r.stderr), "is refused", r.stderr)
    r = c.expect(0, "explain", "instance", "explain", "wish")
    check(has(r.stdout, "wish is pending", "capacity", "Candidates", "small",
              "--alternative"), "says why, and what to do", r.stdout)
    r = c.expect(0, "another flavor", "instance", "update", "wish",
                 "--alternative", "medium", "--wait")
    check("running" in steps(r.stderr), "and it runs", r.stderr)
    r = c.expect(0, "top --once", "top", "--project", "web", "--once")
    check(has(r.stdout, "1 instance: 1 running", "wish", "quota:",
              "EVENT"), "shows it", r.stdout)


def goes_on(c, server):
    """The server is killed while the client waits for a machine."""
    slow = dict(FAST, launchMs=2500)
    c.expect(0, "a slow region", "region", "create", "slow", "--provider",
             "sim", "--options", json.dumps(slow), "--wait")
    c.expect(0, "a network in it", "network", "create", "slow-net",
             "--project", "web", "--region", "slow", "--prefix",
             "10.3.0.0/24", "--wait")
    p = subprocess.Popen(
        [MUSTER, "instance", "create", "late", "--network", "slow-net",
         "--flavor", "small", "--image", "debian-12", "--wait"], env=c.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.time() + 20
    while time.time() < end and "late" not in c.run("instance", "list",
                                                     "-o", "name").stdout:
        time.sleep(0.05)
    time.sleep(0.5)
    port = server.port
    server.kill9()
    server.argv = lambda argv=server.argv: [
        "127.0.0.1:%d" % port if a == "127.0.0.1:0" else a for a in argv()]
    server.start()
    out, err = p.communicate(timeout=60)
    check(p.returncode == 0 and "Created instance late" in out,
          "a wait goes on over the server's death", out, err)


def main():
    server = Server().start()
    c = Client(server.url, server.token)
    begin(c)
    lives(c)
    applies(c)
    logs_in(c)
    prunes(c)
    sold_out(c)
    goes_on(c, server)
    server.stop()
    return done()


sys.exit(main())

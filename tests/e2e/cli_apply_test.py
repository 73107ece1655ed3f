#!/usr/bin/python3
"""Manifests: apply, diff and prune, against a stand-in for the server."""
import os
import pty
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import MUSTER, Client, check, done, has  # noqa: E402
from cli_stub import TOKEN  # noqa: E402
from cli_machines_stub import Machines  # noqa: E402

WEB = """\
# Out of order, on purpose.
kind: instance
name: web-1
network: web-net
tags: {team: web}
spec:
  flavor: small
  image: debian-12
  securityGroups: [ssh]
  volumes:
    - volume: data
      mountPath: /srv
  userData: |
    #!/bin/sh
    echo hello
---
kind: SecurityGroup
name: ssh
network: web-net
tags: {team: web}
spec:
  rules:
    - {direction: ingress, protocol: tcp, port: 22, prefix: 0.0.0.0/0}
---
kind: network
name: web-net
region: sim
tags: {team: web}
spec: {prefix: 10.1.0.0/24}
---
kind: volume
name: data
region: sim
tags: {team: web}
spec: {sizeGiB: 10}
"""


def write(c, name, text):
    path = os.path.join(c.home, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def applies(stub, c):
    path = write(c, "web.yaml", WEB)
    before = stub.revision
    r = c.expect(0, "a plan", "apply", "-f", path, "--project", "web",
                 "--plan")
    check(has(r.stdout, "Plan: 4 to create", "+ network web-net",
              "+ instance web-1") and stub.revision == before,
          "changes nothing", r.stdout, r.stderr)
    r = c.expect(1, "diff", "diff", "-f", path, "--project", "web")
    check("+ volume data" in r.stdout and stub.revision == before,
          "tells the same", r.stdout)
    r = c.expect(0, "apply", "apply", "-f", path, "--project", "web",
                 "--wait")
    made = [q[1] for q in stub.requests
            if q[0] == "POST" and "plan" not in q[1]]
    check(made.index("/v1/networks") < made.index("/v1/securitygroups") <
          made.index("/v1/instances") and made[-1] == "/v1/instances",
          "in order", made)
    doc = stub.named("instances", "web-1")
    net = stub.named("networks", "web-net")
    group = stub.named("securitygroups", "ssh")
    volume = stub.named("volumes", "data")
    check(doc["networkId"] == net["id"] and
          doc["spec"]["securityGroupIds"] == [group["id"]] and
          doc["spec"]["volumes"] == [{"volumeId": volume["id"],
                                      "mountPath": "/srv"}] and
          doc["spec"]["userData"] == "IyEvYmluL3NoCmVjaG8gaGVsbG8K" and
          net["projectId"] == stub.project["id"],
          "with ids for names, and base64 for text", doc)
    check(has(r.stderr, "launching", "running"), "and the steps", r.stderr)
    r = c.expect(0, "applied again", "apply", "-f", path, "--project", "web")
    check("Nothing to do: all 4" in r.stderr and r.stdout == "",
          "there is nothing to do", r.stdout, r.stderr)
    c.expect(0, "and no difference", "diff", "-f", path, "--project", "web")


def changes(stub, c):
    text = WEB.replace("sizeGiB: 10", "sizeGiB: 20").replace("debian-12",
                                                             "debian-13")
    path = write(c, "web.yaml", text)
    before = stub.revision
    r = c.expect(1, "a difference", "diff", "-f", path, "--project", "web")
    check(has(r.stdout, "~ volume data", "spec.sizeGiB", "10 -> 20",
              "~ instance web-1  rebuild, loses rootDisk",
              "debian-12 -> debian-13"), "is told by field", r.stdout)
    r = c.expect(5, "what destroys is not done unasked", "apply", "-f", path,
                 "--project", "web")
    check("--allow rebuild" in r.stderr and stub.revision == before,
          "nor anything else", r.stderr)
    r = c.expect(0, "but when allowed", "apply", "-f", path, "--project",
                 "web", "--allow", "rebuild", "--wait")
    check(r.stdout.count("Updated") == 2 and "changeDone" in r.stderr,
          "it is", r.stdout, r.stderr)
    c.expect(0, "once", "diff", "-f", path, "--project", "web")
    return path, text


def prunes(stub, c, text):
    old = stub.make("instances", name="old", networkId=stub.net["id"],
                    projectId=stub.project["id"], tags={"team": "web"},
                    spec={"power": "on"}, status={"state": "running"})
    group = stub.make("securitygroups", name="old-group",
                      networkId=stub.net["id"], tags={"team": "web"},
                      projectId=stub.project["id"], spec={})
    stub.make("instances", name="theirs", networkId=stub.net["id"],
              projectId=stub.project["id"], tags={"team": "shop"},
              spec={"power": "on"}, status={"state": "running"})
    other = stub.make("projects", name="other", organizationId=stub.org["id"])
    stub.make("instances", name="elsewhere", networkId=stub.net["id"],
              projectId=other["id"], tags={"team": "web"},
              spec={"power": "on"}, status={"state": "running"})
    path = write(c, "web.yaml", text)
    r = c.expect(0, "a plan to prune", "apply", "-f", path, "--project",
                 "web", "--prune", "--label", "team=web", "--plan")
    check(has(r.stdout, "2 to delete", "- instance old",
              "- securitygroup old-group") and "theirs" not in r.stdout and
          "elsewhere" not in r.stdout,
          "only what has the label, in the manifest's project", r.stdout)
    c.expect(0, "prune", "apply", "-f", path, "--project", "web", "--prune",
             "--label", "team=web", "--yes")
    gone = [q[1] for q in stub.requests if q[0] == "DELETE"]
    check(gone == ["/v1/instances/" + old["id"],
                   "/v1/securitygroups/" + group["id"]],
          "in reverse order", gone)
    c.expect(2, "--prune needs a label", "apply", "-f", path, "--prune")


def mistakes(stub, c):
    before = stub.revision
    for text, where, what in (
            ("kind: network\nname: a\n  b: [\n", "bad.yaml",
             "line 3"),
            ("kind: netwrk\nname: a\n", "bad.yaml:1", "no such kind"),
            ("name: a\n", "bad.yaml:1", "has no kind"),
            ("\n---\nkind: network\n", "bad.yaml:3", "has no name"),
            ("kind: event\nname: a\n", "bad.yaml:1", "only the server"),
            ("kind: instance\nname: x\nnetwork: none\nspec: {}\n",
             "bad.yaml:3: instance x", "no network called 'none'"),
            ("kind: network\nname: UP\nregion: sim\nspec: {}\n",
             "bad.yaml:2: network UP", "must be lower case"),
            ("kind: network\nname: n2\nregion: sim\nspec:\n"
             "  prefix: 10.0.0.0/8\n---\nkind: instance\nname: y\n"
             "network: n2\nspec:\n  flavor: small\n  image: debian-12\n"
             "  colour: red\n", "bad.yaml:13: instance y", "/spec/colour"),
            ("kind: securitygroup\nname: a\nnetwork: net\nspec:\n  rules:\n"
             "    - {direction: ingress, securityGroup: b}\n---\n"
             "kind: securitygroup\nname: b\nnetwork: net\nspec:\n  rules:\n"
             "    - {direction: ingress, securityGroup: a}\n",
             "bad.yaml:", "refers to itself"),
            ("kind: network\nname: n\nregion: sim\n---\n"
             "kind: network\nname: n\nregion: sim\n", "bad.yaml:",
             "comes twice")):
        path = write(c, "bad.yaml", text)
        r = c.expect(2, what, "apply", "-f", path, "--project", "web")
        check(has(r.stderr, where, what), "is told where", r.stderr)
    check(stub.revision == before, "nothing was applied")


def folders(stub, c):
    os.mkdir(os.path.join(c.home, "all"))
    write(c, "all/1.yaml", "kind: volume\nname: one\nproject: web\n"
          "region: sim\nspec: {sizeGiB: 1}\n")
    write(c, "all/2.json", '[{"kind": "volume", "name": "two", "project":'
          ' "web", "region": "sim", "spec": {"sizeGiB": 1}}]')
    write(c, "all/notes.txt", "no manifest")
    r = c.expect(0, "a folder", "apply", "-f", os.path.join(c.home, "all"))
    check(r.stdout.count("Created volume") == 2, "of YAML and JSON",
          r.stdout)
    r = c.expect(0, "standard input", "apply", "-f", "-", input=(
        "kind: volume\nname: three\nproject: web\nregion: sim\n"
        "spec: {sizeGiB: 1}\n"))
    check("Created volume three" in r.stdout, "too", r.stdout)
    path = write(c, "four.yaml", "kind: volume\nname: four\nproject: web\n"
                 "region: sim\nspec: {sizeGiB: 1}\n")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MUSTER, [MUSTER, "apply", "-f", path], c.env)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(fd, 1000)
    os.write(fd, b"n\n")
    _, status = os.waitpid(pid, 0)
    check(os.waitstatus_to_exitcode(status) == 1 and "four" not in
          [d["name"] for d in stub.objects["volumes"].values()],
          "on a terminal it asks first", seen)


def main():
    stub = Machines()
    c = Client(stub.url, TOKEN)
    applies(stub, c)
    _, text = changes(stub, c)
    prunes(stub, c, text)
    mistakes(stub, c)
    folders(stub, c)
    return done()


sys.exit(main())

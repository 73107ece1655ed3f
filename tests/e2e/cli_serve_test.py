#!/usr/bin/python3
"""The command-line client against the real server, as people meet them."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import (MUSTER, Client, check, done, folder, has,  # noqa: E402
                     read_until)


class Server:
    """muster serve; listens where it listened before when started again."""

    def __init__(self):
        self.data = folder()
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self):
        self.log = tempfile.NamedTemporaryFile("w+", prefix="muster-log-")
        self.process = subprocess.Popen(
            [MUSTER, "serve", "--data", self.data, "--listen", self.listen],
            stderr=self.log, stdout=self.log)
        end = time.time() + 30
        while time.time() < end:
            with open(self.log.name, encoding="utf-8") as f:
                found = re.search(r"listening on http://(\S+)\n", f.read())
            if found:
                self.listen = found.group(1)
                self.url = "http://" + self.listen
                return
            time.sleep(0.05)
        with open(self.log.name, encoding="utf-8") as f:
            raise SystemExit("Bail out! the server did not start: " +
                             f.read())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def first_steps(server):
    c = Client(server.url)
    r = c.expect(4, "a newcomer is not signed in", "organization", "list")
    check("muster login --token-file" in r.stderr, "and told how", r.stderr)
    r = c.expect(0, "signs in", "login", "--token-file",
                 os.path.join(server.data, "admin.token"))
    del c.env["MUSTER_SERVER"]
    r = c.expect(0, "finds nothing yet", "projects", "list")
    check(r.stderr == "No projects.\n", "and is told so", r.stderr)
    c.expect(0, "creates an organization", "organization", "create", "acme")
    c.expect(0, "and a project in it", "project", "create", "web",
             "--organization", "acme", "--tag", "env=prod")
    r = c.expect(0, "sees it", "project", "list")
    check(r.stdout.splitlines()[1].split()[:2] == ["web", "acme"],
          "in a table", r.stdout)
    r = c.expect(0, "and the versions", "version", "-o", "json")
    versions = json.loads(r.stdout)
    check(versions["client"]["version"] == versions["server"]["version"],
          "which are the same", versions)
    return c


def documents(c):
    r = c.expect(0, "a document is read", "project", "get", "web", "-o",
                 "yaml")
    doc = yaml.safe_load(r.stdout)
    doc["description"] = "from a file"
    c.expect(0, "edited and sent back", "project", "update", "-f", "-",
             input=yaml.safe_dump(doc))
    r = c.expect(5, "but not twice", "project", "update", "-f", "-",
                 input=yaml.safe_dump({**doc, "description": "again"}))
    check("revision" in r.stderr, "for it has changed", r.stderr)
    c.expect(0, "a field is removed", "project", "update", "web",
             "--description", "", "--remove-tag", "env", "--tag", "a=b")
    doc = json.loads(c.run("project", "get", "web", "-o", "json").stdout)
    check("description" not in doc and doc["tags"] == {"a": "b"},
          "and a tag changed", doc)
    r = c.expect(5, "a revision that is old", "project", "update", "web",
                 "--description", "x", "--if-match", "1")
    before = doc["revision"]
    r = c.expect(0, "a plan", "project", "update", "web", "--name", "other",
                 "--plan")
    check("Plan: update project other" in r.stdout, "is shown", r.stdout)
    doc = json.loads(c.run("project", "get", "web", "-o", "json").stdout)
    check(doc["revision"] == before, "and nothing changed")


def identities(c):
    """What users, groups, tokens and quota have of their own."""
    c.expect(0, "a service account", "serviceaccount", "create", "ci",
             "--organization", "acme")
    r = c.expect(0, "a token", "token", "create", "deploy",
                 "--service-account", "ci")
    secret = re.search(r"^  (muster_[0-9a-f]{64})$", r.stdout, re.M)
    check(secret and "not shown again" in r.stderr, "its secret is shown",
          r.stdout, r.stderr)
    r = c.expect(0, "another secret", "token", "rotate", "deploy", "-q")
    check(re.fullmatch(r"muster_[0-9a-f]{64}\n", r.stdout),
          "alone, for a script", r.stdout)
    c.expect(4, "the old one is void", "whoami", "--token", secret.group(1))
    c.expect(0, "the new one is not", "whoami", "--token", r.stdout.strip())
    r = c.expect(0, "tokens", "token", "list")
    check(has(r.stdout, "SERVICE ACCOUNT", "deploy"), "are listed with whose "
          "they are", r.stdout)
    c.expect(0, "a group", "group", "create", "deployers",
             "--organization", "acme")
    c.expect(0, "a member", "group", "add-member", "deployers",
             "--service-account", "ci")
    r = c.expect(0, "the group", "group", "get", "deployers")
    check("ci" in r.stdout, "has it, by name", r.stdout)
    c.expect(0, "the member out", "group", "remove-member", "deployers",
             "--service-account", "ci")
    r = c.expect(0, "the group", "group", "get", "deployers", "-o", "json")
    check(not json.loads(r.stdout).get("serviceAccountIds"),
          "no longer has it", r.stdout)
    c.expect(2, "nobody", "group", "add-member", "deployers")
    c.expect(0, "a quota", "quota", "create", "--organization", "acme", "-f",
             "-", input='{"limits": [{"kind": "vcpus", "limit": 12}]}')
    r = c.expect(0, "quotas", "quota", "list")
    check(has(r.stdout, "acme", "vcpus=12"), "are listed", r.stdout)
    r = c.expect(0, "their names", "quota", "list", "-o", "name")
    check(re.fullmatch(r"quota/[-0-9a-f]{36}\n", r.stdout), "are ids",
          r.stdout)
    for words in (("organization", "acme"),
                  ("project", "web", "--organization", "acme")):
        r = c.expect(0, f"what a {words[0]} uses", words[0], "usage",
                     *words[1:])
        check(has(r.stdout, "KIND", "USED", "LIMIT", "FREE", "vcpus"),
              "is a table", r.stdout)
    for noun, name in (("token", "deploy"), ("group", "deployers"),
                       ("serviceaccount", "ci")):
        c.expect(0, f"the {noun} goes", noun, "delete", name)


def refusals(c):
    r = c.expect(5, "a name that is taken", "project", "create", "web",
                 "--organization", "acme")
    check("already" in r.stderr, "says so", r.stderr)
    r = c.expect(1, "two fields that are wrong", "project", "create",
                 "Not_Good", "--organization-id", "nonsense")
    check(has(r.stderr, "--name: must be", "--organization: must be",
              "request: "), "are told by flag", r.stderr)
    r = c.expect(3, "an organization that is not there", "project", "create",
                 "x", "--organization", "nobody")
    c.expect(0, "a user", "user", "create", "ann", "--organization", "acme",
             "--email", "ann@acme.example")
    c.expect(0, "with a token", "token", "create", "laptop", "--user", "ann")
    r = c.expect(5, "what is in use is not deleted", "user", "delete", "ann")
    check("laptop" in r.stderr, "and it is said by what", r.stderr)
    c.expect(0, "its token first", "token", "delete", "laptop")
    c.expect(0, "then the user", "user", "delete", "ann")
    c.expect(4, "a bad token", "project", "list", "--token", "wrong")
    r = c.expect(1, "a document with a stranger in it", "--quiet", "project", "create",
                 "-f", "-", input='{"name": "x", "nonsense": 1}')
    check("/nonsense: " in r.stderr, "an unknown field is named", r.stderr)


def many(c):
    for i in range(3):
        c.run("organization", "create", "org%d" % i)
        c.run("project", "create", "same", "--organization", "org%d" % i)
    r = c.expect(2, "a name that three have", "project", "get", "same")
    check(r.stderr.count("in organization org") == 3, "all are shown",
          r.stderr)
    c.expect(0, "is narrowed", "project", "get", "same", "--organization",
             "org1")
    r = c.run("project", "list", "--organization", "org2", "-o", "name")
    check(r.stdout == "project/same\n", "and filtered", r.stdout, r.stderr)
    c.expect(0, "deleted and waited for", "project", "delete", "same",
             "--organization", "org0", "--wait", "--timeout", "10s")


def watches(c, server):
    p = subprocess.Popen([MUSTER, "project", "watch", "-o", "json",
                          "--organization", "org1"], env=c.env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = read_until(p, 1, 20)
    c.run("project", "create", "new", "--organization", "org1")
    c.run("project", "create", "else", "--organization", "org2")
    c.run("project", "update", "new", "--description", "x")
    got += read_until(p, 2, 20)
    server.kill()
    time.sleep(0.5)
    server.start()
    c.expect(0, "the server is back", "project", "delete", "new")
    got += read_until(p, 1, 30)
    events = [(json.loads(g)["event"], json.loads(g)["object"]["name"])
              for g in got]
    check(events == [("present", "same"), ("created", "new"),
                     ("changed", "new"), ("deleted", "new")],
          "a watch goes on when the server was killed", events)
    p.terminate()
    p.communicate()
    p = subprocess.Popen([MUSTER, "project", "watch"], env=c.env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = read_until(p, 5, 20)
    check(got[0].split() == ["TIME", "EVENT", "NAME", "ORGANIZATION"] and
          ["present", "web", "acme"] in [g.split()[1:] for g in got],
          "and names what it refers to", got)
    p.terminate()
    p.communicate()


def main():
    server = Server()
    try:
        c = first_steps(server)
        documents(c)
        identities(c)
        refusals(c)
        many(c)
        watches(c, server)
    finally:
        server.stop()
    return done()


sys.exit(main())

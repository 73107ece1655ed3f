#!/usr/bin/python3
"""The command-line client against a stand-in for the server."""
import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import MUSTER, Client, check, done, has, read_until  # noqa: E402
from cli_stub import TOKEN, Stub  # noqa: E402

def usage():
    c = Client("http://127.0.0.1:1")
    r = c.expect(2, "no command is wrong usage")
    check(has(r.stdout, "project", "login"), "and lists the commands")
    r = c.expect(2, "an unknown command is wrong usage", "projct", "list")
    check("did you mean 'project'" in r.stderr, "the nearest is named",
          r.stderr)
    r = c.expect(2, "an unknown verb is wrong usage", "projects", "lst")
    check("did you mean 'project list'" in r.stderr, "the nearest is named",
          r.stderr)
    r = c.expect(2, "an unknown option is wrong usage",
                 "project", "create", "--organisation", "x")
    check("did you mean '--organization'" in r.stderr, "the nearest is named",
          r.stderr)
    check("muster help project create" in r.stderr, "and where help is")
    c.expect(2, "a format that is none", "project", "list", "-o", "xml")
    c.expect(2, "a timeout that is none", "project", "list", "--timeout", "x")
    c.expect(2, "a name that is missing", "project", "get")
    c.expect(2, "a word too many", "project", "list", "web")
    c.expect(2, "an update of nothing", "project", "update", "web")
    r = c.expect(0, "--help is never wrong", "project", "create", "--help")
    check(has(r.stdout, "--organization NAME-OR-ID", "Examples"),
          "and shows flags and examples")
    r = c.expect(0, "--version", "--version")
    check(r.stdout.startswith("muster "), "says so", r.stdout)


def unreachable():
    c = Client("http://127.0.0.1:1")
    r = c.expect(6, "an unreachable server", "project", "list")
    check("muster serve" in r.stderr, "what to do about a local one",
          r.stderr)
    r = c.expect(6, "a version with no server", "version")
    check(r.stdout.startswith("client"), "still tells the client's")
    c.expect(0, "unless only that is asked for", "version", "--client")


def sign_in(stub):
    c = Client(stub.url)
    r = c.expect(4, "no token", "project", "list")
    check("muster login --token-file ./var/admin.token" in r.stderr,
          "a newcomer is told what to do", r.stderr)
    path = os.path.join(c.home, "token")
    with open(path, "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    c.expect(2, "login without a token", "login")
    c.expect(4, "login with a bad token", "login", "--token", "bad")
    check(not os.path.exists(c.config), "keeps nothing")
    r = c.expect(0, "login", "login", "--token-file", path)
    check("as admin" in r.stderr, "says who one is", r.stderr)
    check(stat.S_IMODE(os.stat(c.config).st_mode) == 0o600,
          "the settings are one's own")
    del c.env["MUSTER_SERVER"]
    c.expect(0, "and is remembered", "project", "list")
    c.expect(4, "but no token goes to another address", "project", "list",
             "--server", stub.url.replace("127.0.0.1", "localhost"))
    stub.whoami = False
    c.expect(0, "login to a second", "login", stub.url + "/", "--context",
             "other", "--token-file", "-", input=TOKEN)
    stub.whoami = True
    r = c.expect(0, "contexts are listed", "context", "list")
    check(has(r.stdout, "default", "*  other"), "with the one in use",
          r.stdout)
    check(TOKEN not in c.run("context", "list", "-o", "yaml").stdout,
          "and no tokens")
    c.expect(0, "another is used", "context", "use", "default")
    c.expect(3, "unless there is none", "context", "use", "nowhere")
    c.expect(0, "one is deleted", "context", "delete", "other")
    c.expect(2, "and cannot be used", "--context", "other", "project", "list")
    with open(c.config, encoding="utf-8") as f:
        kept = yaml.safe_load(f)
    check(kept["current"] == "default" and len(kept["contexts"]) == 1,
          "the file says the same", kept)
    with open(c.config, "w", encoding="utf-8") as f:
        f.write("contexts: [{server: 1}]\n")
    r = c.expect(2, "settings that are wrong", "project", "list")
    check("config.yaml" in r.stderr, "are named", r.stderr)


def type_token(c, keys):
    """Login on a terminal; what was seen, how it ended, and the echo after."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MUSTER, [MUSTER, "login"], c.env)
    seen = b""
    while b"Token: " not in seen:
        seen += os.read(fd, 1000)
    while termios.tcgetattr(fd)[3] & termios.ECHO:
        time.sleep(0.02)
    os.write(fd, keys)
    try:
        while True:
            more = os.read(fd, 1000)
            if not more:
                break
            seen += more
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    echo = termios.tcgetattr(fd)[3] & termios.ECHO
    os.close(fd)
    return seen, os.waitstatus_to_exitcode(status), bool(echo)


def prompt(stub):
    c = Client(stub.url)
    seen, status, echo = type_token(c, TOKEN.encode() + b"\n")
    check(status == 0, "login asks for the token", seen, status)
    check(TOKEN.encode() not in seen, "and does not show it", seen)
    seen, status, echo = type_token(c, b"abc\x03")
    check(status == -signal.SIGINT and echo,
          "given up, it leaves the terminal as it was", seen, status, echo)


def create_and_read(stub, c):
    r = c.expect(0, "an empty list", "project", "list")
    check(r.stdout == "" and r.stderr == "No projects.\n", "says so",
          r.stdout, r.stderr)
    check(c.run("project", "list", "-q").stderr == "", "unless --quiet")
    check(json.loads(c.run("project", "list", "-o", "json").stdout) == [],
          "and is an empty array in JSON")
    r = c.expect(0, "create", "organization", "create", "acme")
    check(r.stdout.startswith("Created organization acme ("), "says so",
          r.stdout)
    org = list(stub.objects["organizations"].values())[0]
    method, target, body, headers = stub.requests[-1]
    check(body == {"name": "acme"}, "sends the document", body)
    check(len(headers.get("Idempotency-Key", "")) == 36, "with a key")
    c.expect(0, "create by name of its organization", "project", "create",
             "web", "--organization", "acme", "--description", "Größe",
             "--tag", "a=1", "--tag", "b=x=y")
    body = stub.requests[-1][2]
    check(body == {"name": "web", "organizationId": org["id"],
                   "description": "Größe", "tags": {"a": "1", "b": "x=y"}},
          "the name became its id", body)
    r = c.expect(0, "list", "projects", "list")
    lines = r.stdout.splitlines()
    check(lines[0].split() == ["NAME", "ORGANIZATION", "AGE"] and
          lines[1].split() == ["web", "acme", "3m"],
          "shows names and ages", r.stdout)
    check("\t" not in r.stdout and "\033" not in r.stdout,
          "with neither tabs nor colours")
    r = c.run("project", "list", "-o", "wide")
    check(has(r.stdout, org["id"], "Größe", "a=1,b=x=y", "Z"),
          "wide shows ids, tags and times", r.stdout)
    check(c.run("project", "list", "-o", "name").stdout == "project/web\n",
          "by name")
    doc = list(stub.objects["projects"].values())[0]
    check(yaml.safe_load(c.run("project", "get", "web", "-o",
                               "yaml").stdout)["id"] == doc["id"],
          "get, as YAML")
    check(json.loads(c.run("project", "get", doc["id"], "-o",
                           "json").stdout) == doc, "get by id, as JSON")
    r = c.run("project", "get", "web")
    check(has(r.stdout, "Name", "(acme)", "ago)"), "get, for people",
          r.stdout)
    r = c.expect(3, "get of what is not there", "project", "get", "nope")
    check("there is no project called 'nope'" in r.stderr, "says so",
          r.stderr)
    c.expect(3, "nor by id", "project", "get",
             "00000000-0000-4000-8000-000000000000")
    return org, doc


def pages(stub, c, org):
    for i in range(5):
        stub.make("organizations", name="org%d" % i)
    r = c.run("organization", "list", "-o", "name")
    check(len(r.stdout.splitlines()) == 6, "all pages are read", r.stdout)
    r = c.run("organization", "list", "-o", "name", "--limit", "3")
    check(len(r.stdout.splitlines()) == 3, "or as many as asked for")
    stub.make("projects", name="tagged", organizationId=org["id"],
              tags={"env": "a&b"})
    r = c.run("project", "list", "--tag", "env=a&b", "-o", "name")
    check(r.stdout == "project/tagged\n", "a filter is escaped", r.stdout,
          r.stderr)


def ambiguity(stub, c, org):
    other = [d for d in stub.objects["organizations"].values()
             if d["name"] == "org1"][0]
    twin = stub.make("projects", name="web", organizationId=other["id"])
    r = c.expect(2, "a name that two have", "project", "get", "web")
    check(has(r.stderr, twin["id"], "in organization org1",
              "in organization acme"), "both are shown", r.stderr)
    c.expect(0, "is narrowed", "project", "get", "web", "--organization",
             "org1")
    c.expect(0, "also for an update", "project", "update", "web",
             "--organization", "org1", "--description", "x")
    check(stub.requests[-1][2] == {"description": "x"},
          "which it does not change", stub.requests[-1])
    c.expect(0, "and a delete", "project", "delete", "web",
             "--organization-id", other["id"])


def change(stub, c, org, doc):
    c.expect(0, "update", "project", "update", "web", "--description", "",
             "--tag", "c=3", "--remove-tag", "a")
    method, target, body, headers = stub.requests[-1]
    check(method == "PATCH" and
          headers["Content-Type"] == "application/merge-patch+json" and
          body == {"description": None, "tags": {"c": "3", "a": None}},
          "sends a merge patch", method, body)
    check(stub.objects["projects"][doc["id"]]["tags"] ==
          {"b": "x=y", "c": "3"}, "which does that")
    r = c.expect(5, "update of another revision", "project", "update", "web",
                 "--name", "web2", "--if-match", "1")
    check("get it again" in r.stderr, "is refused with a hint", r.stderr)
    text = c.run("project", "get", "web", "-o", "yaml").stdout
    path = os.path.join(c.home, "project.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    c.expect(0, "a document replaces", "project", "update", "-f", path,
             "--description", "new")
    method, target, body, headers = stub.requests[-1]
    check(method == "PUT" and target.endswith(doc["id"]) and
          body["description"] == "new" and
          body["organizationId"] == org["id"], "with flags over it", body)
    c.expect(0, "or is merged", "project", "update", "web", "-f", "-",
             "--merge", "--tag", "d=", input='{"description": null}')
    check(stub.requests[-1][0] == "PATCH" and stub.requests[-1][2] ==
          {"description": None, "tags": {"d": ""}}, "nulls and all",
          stub.requests[-1][2])
    c.expect(0, "create from standard input", "project", "create", "-f", "-",
             "--name", "copy",
             input="name: x\norganizationId: %s\n" % org["id"])
    check(stub.requests[-1][2] == {"name": "copy",
                                   "organizationId": org["id"]},
          "flags override", stub.requests[-1][2])
    c.expect(2, "a file that is none", "project", "create", "-f", "/none")
    c.expect(2, "a file that is no document", "project", "create", "-f", "-",
             input="- a\n")
    c.expect(2, "a file that is no YAML", "project", "create", "-f", "-",
             input="a: [\n")


def plans(stub, c):
    before = stub.revision
    r = c.expect(0, "a plan of a create", "organization", "create", "new",
                 "--plan")
    check(r.stdout.startswith("Plan: create organization new"), "is shown",
          r.stdout)
    r = c.expect(0, "a plan of an update", "project", "update", "web",
                 "--name", "y", "--plan")
    check(has(r.stdout, "Plan: update project web", "loses    x"),
          "with what it says", r.stdout)
    c.expect(0, "a plan of a delete", "project", "delete", "web", "--plan")
    check(stub.revision == before, "nothing was changed")


def failures(stub, c):
    r = c.expect(1, "what the server finds invalid", "project", "create",
                 "Bad", "--organization", "acme")
    check(has(r.stderr, "cannot create project: 2 fields are not valid",
              "--name: must be lower case", "--organization: is ",
              "request: req-7"), "is told by flag", r.stderr)
    check("\x1b" not in r.stderr, "and safely", repr(r.stderr))
    for status, code, want, hint in (
            (503, "unavailable", 7, "try again in 3 s"),
            (429, "rate_limited", 7, "try again in 3 s"),
            (403, "forbidden", 4, "permission"),
            (409, "conflict", 5, "why"),
            (403, "quota_exceeded", 1, "why"),
            (500, "internal", 1, "server's fault"),
            (504, "timeout", 6, "why"),
            (409, "a_code_of_tomorrow", 5, "why")):
        stub.refuse = [(status, {"code": code, "detail": "why",
                                 "retryAfterMs": 2500})]
        r = c.expect(want, "%s is %d" % (code, want), "project", "list")
        check(hint in r.stderr, "and has its hint", r.stderr)
    stub.refuse = [(500, ["?"])]
    c.expect(1, "an answer without a reason", "project", "list")
    stub.lose = 2
    r = c.expect(0, "a lost reply", "organization", "create", "lost")
    keys = [q[3]["Idempotency-Key"] for q in stub.requests[-3:]]
    check(len(set(keys)) == 1, "is asked for again with the same key", keys)
    names = [d["name"] for d in stub.objects["organizations"].values()]
    check(names.count("lost") == 1, "and made once")


def deletes(stub, c):
    stub.make("organizations", name="one")
    stub.make("organizations", name="two")
    r = c.expect(3, "delete of three, one of which is not there",
                 "organization", "delete", "one", "none", "two", "--wait",
                 "--timeout", "5s")
    check(r.stdout.count("Deleted organization") == 2, "deletes the others",
          r.stdout)
    stub.make("organizations", name="kept")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MUSTER, [MUSTER, "organization", "delete", "kept"], c.env)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(fd, 1000)
    os.write(fd, b"n\n")
    _, status = os.waitpid(pid, 0)
    check(os.waitstatus_to_exitcode(status) == 1,
          "on a terminal it asks first", seen)
    check("kept" in [d["name"]
                     for d in stub.objects["organizations"].values()],
          "and takes no for an answer")


def watch(stub, c):
    stub.objects["organizations"].clear()
    first = stub.make("organizations", name="first")
    p = subprocess.Popen([MUSTER, "organization", "watch", "-o", "json"],
                         env=c.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    got = read_until(p, 1, 20)
    second = stub.make("organizations", name="second")
    stub.put("organizations", {**first, "description": "x"})
    got += read_until(p, 2, 20)
    stub.cut = True
    time.sleep(0.5)
    stub.cut = False
    stub.drop("organizations", second["id"])
    got += read_until(p, 1, 20)
    events = [(json.loads(g)["event"], json.loads(g)["object"]["name"])
              for g in got]
    check(events == [("present", "first"), ("created", "second"),
                     ("changed", "first"), ("deleted", "second")],
          "a watch goes on over a lost connection", events)
    third = stub.make("organizations", name="third")
    read_until(p, 1, 20)
    with stub.lock:
        stub.cut = True
    time.sleep(0.5)
    stub.drop("organizations", third["id"])
    stub.forgotten = stub.revision + 1
    stub.cut = False
    stub.make("organizations", name="fourth")
    got = read_until(p, 2, 20)
    events = sorted((json.loads(g)["event"], json.loads(g)["object"]["name"])
                    for g in got)
    check(events == [("created", "fourth"), ("deleted", "third")],
          "and misses nothing when it has to begin anew", events)
    p.terminate()
    err = p.communicate()[1]
    check("connecting again" in err and "again" in err, "saying so", err)
    p = subprocess.Popen([MUSTER, "organizations", "watch", "first"],
                         env=c.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    got = read_until(p, 2, 20)
    check(len(got) == 2 and got[0].split() == ["TIME", "EVENT", "NAME"] and
          got[1].split()[1:] == ["present", "first"],
          "a watch of one, for people", got)
    p.terminate()
    p.communicate()
    c.expect(6, "a watch that cannot begin", "organization", "watch",
             MUSTER_SERVER="http://127.0.0.1:1")


def explained(stub, c):
    words = ["login", "context", "organization", "project", "completion"]
    for shell in ("bash", "zsh", "fish"):
        r = c.expect(0, "completion for " + shell, "completion", shell)
        check(has(r.stdout, *words, "remove-tag"), "knows all", shell)
    c.expect(2, "completion for another shell", "completion", "csh")
    script = c.run("completion", "bash").stdout
    tail = """
COMP_WORDS=(muster project get --organization ''); COMP_CWORD=4; _muster
echo "${COMPREPLY[@]}"
COMP_WORDS=(muster proj); COMP_CWORD=1; _muster; echo "${COMPREPLY[@]}"
COMP_WORDS=(muster projects upd); COMP_CWORD=2; _muster
echo "${COMPREPLY[@]}"
COMP_WORDS=(muster project update --rem); COMP_CWORD=3; _muster
echo "${COMPREPLY[@]}"
"""
    path = os.path.join(c.home, "bin")
    os.mkdir(path)
    os.symlink(MUSTER, os.path.join(path, "muster"))
    r = subprocess.run(["bash", "-c", script + tail], text=True,
                       env={**c.env, "PATH": path + ":" + c.env["PATH"]},
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = r.stdout.splitlines()
    check(len(lines) == 4 and "fourth" in lines[0].split() and
          lines[1:] == ["project", "update", "--remove-tag"],
          "and completes", r.stdout, r.stderr)
    pages_dir = os.path.join(c.home, "man")
    os.mkdir(pages_dir)
    c.expect(0, "all manual pages", "man", "--all", pages_dir)
    names = set(os.listdir(pages_dir))
    check({"muster.1", "muster-project.1", "muster-login.1"} <= names,
          "are written", names)
    if not shutil.which("groff"):
        return
    r = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z",
                        *sorted(os.path.join(pages_dir, n) for n in names)],
                       stderr=subprocess.PIPE, text=True)
    check(r.stderr == "", "without a complaint from groff", r.stderr)


def main():
    stub = Stub()
    c = Client(stub.url, TOKEN)
    usage()
    unreachable()
    sign_in(stub)
    prompt(stub)
    org, doc = create_and_read(stub, c)
    pages(stub, c, org)
    ambiguity(stub, c, org)
    change(stub, c, org, doc)
    plans(stub, c)
    failures(stub, c)
    deletes(stub, c)
    watch(stub, c)
    explained(stub, c)
    return done()


sys.exit(main())

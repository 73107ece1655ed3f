#!/usr/bin/python3
"""The server as a process: its folder, its configuration, how it starts and
stops, TLS, a full disk, backups."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import threading
import time

from muster import PATIENCE, Client, Server, Watch, folder, read_reply
from muster import request_bytes, run, tap, wait_for

ORGS = "/v1/organizations"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def all_orgs(api):
    return {o["name"]: o for o in api.get(ORGS + "?limit=1000").json["items"]}


def says(status, text, want, label, *words):
    """A command ended with WANT, in one line that says all of WORDS."""
    return tap.ok(status == want and all(w in text for w in words) and
                  "Sanitizer" not in text, label, status, text)


# The folder.

def folder_and_token():
    server = Server({"log": {"level": "debug"}}).start()
    api = Client(server)
    token = server.token
    tap.ok(re.fullmatch("muster_[0-9a-f]{64}", token), "a token was made")
    modes = {name: stat.S_IMODE(os.stat(os.path.join(server.data, name))
                                .st_mode) for name in os.listdir(server.data)}
    tap.eq(set(modes.values()), {0o600}, "nobody else can read any file")
    tap.eq(stat.S_IMODE(os.stat(server.data).st_mode), 0o700,
           "nor look into the folder")
    for i in range(20):
        api.post(ORGS, {"name": f"o-{i}"}, {"Idempotency-Key": f"k-{i}"})
    Client(server, "muster_" + "5" * 64).get(ORGS)
    backup = os.path.join(server.home, "backup")
    run("backup", "--data", server.data, backup)
    before = server.token
    server.restart()
    tap.eq(server.token, before, "a second start makes no other token")
    server.stop()
    found = []
    for where, _, files in os.walk(server.home):
        for name in files:
            if name == "admin.token":
                continue
            with open(os.path.join(where, name), "rb") as file:
                data = file.read()
            found += [name for word in (token, token[7:], "5" * 64)
                      if word.encode() in data]
    tap.eq(found, [], "the token, or one that was tried, is in no other file")
    tap.ok("request" in server.log() and "GET" in server.log(),
           "though everything was logged")


def second_server():
    server = Server().start()
    status, text = run("serve", "--data", server.data, "--listen",
                       "127.0.0.1:0")
    says(status, text, 5, "a second server on the folder is refused",
         "in use", str(server.process.pid), "--data")
    tap.eq(Client(server).get("/v1/whoami").status, 200,
           "the first one goes on")
    status, text = run("serve", "--data", folder(), "--listen",
                       f"127.0.0.1:{server.port}")
    says(status, text, 1, "nor can two have one port", "cannot listen",
         str(server.port))
    server.stop()
    for where in ("127.0.0.1", "nonsense", "127.0.0.1:x", "[::1:5", ":"):
        status, text = run("serve", "--data", folder(), "--listen", where)
        says(status, text, 1, f"--listen {where} is refused", "listen")


def damaged():
    server = Server().start()
    api = Client(server)
    for i in range(200):
        api.post(ORGS, {"name": f"o-{i}", "description": "x" * 500})
    server.stop()
    good = os.path.join(server.data, "muster.db")
    with open(good, "rb") as file:
        data = bytearray(file.read())

    def start_on(label, make, *words):
        where = folder()
        shutil.copy(os.path.join(server.data, "secret.key"), where)
        make(os.path.join(where, "muster.db"))
        status, text = run("serve", "--data", where, "--listen", "127.0.0.1:0")
        says(status, text, status or 1, f"{label} is refused", *words)
        tap.ok(status in (1, 5) and "admin.token" not in os.listdir(where),
               "and nothing is made in its place", os.listdir(where))

    def with_bytes(change):
        def make(path):
            copy = bytearray(data)
            change(copy)
            with open(path, "wb") as file:
                file.write(copy)
        return make

    def with_sql(sql):
        def make(path):
            shutil.copy(good, path)
            db = sqlite3.connect(path)
            db.executescript(sql)
            db.close()
        return make

    at = data.index(b'"name":"o-150"')

    def flip(copy):
        copy[at + 10] ^= 1

    def zero(copy):
        copy[8192:16384] = bytes(8192)

    def cut(copy):
        del copy[len(copy) // 2:]

    start_on("a flipped bit", with_bytes(flip), "damaged", "restore")
    start_on("a page of zeros", with_bytes(zero), "damaged", "restore")
    start_on("half a file", with_bytes(cut), "damaged", "restore")
    start_on("something else", lambda path: write(path, "hello " * 1000),
             "muster.db")
    start_on("another program's database",
             with_sql("PRAGMA application_id = 7"), "not a database of muster")
    start_on("a newer version's", with_sql("PRAGMA user_version = 99"),
             "newer version", "99")
    start_on("a log with a hole", with_sql("DELETE FROM log WHERE revision=9"),
             "revision 10")
    start_on("a changed row",
             with_sql("UPDATE log SET data=replace(data, 'o-5', 'o-6')"
                      " WHERE CAST(data AS TEXT) LIKE '%\"o-5\"%'"),
             "checksum")
    tap.eq(len(all_orgs(Client(server.start()))), 200,
           "the good one is still good")
    server.stop()


# Configuration.

def configuration():
    home = folder()
    bad = write(os.path.join(home, "bad.yaml"), """
listen: 127.0.0.1:0
unknown: 1
limits:
  connections: 3
  bodyBytes: lots
  nonsense: true
history: {maxRevisions: 0}
log: {level: loud}
""")
    for flag in ("--check", "-n", None):
        status, text = run("serve", "--config", bad, "--data", home,
                           *([flag] if flag else []))
        says(status, text, 1, f"everything wrong is told at once ({flag})",
             "bad.yaml", "unknown", "limits/connections", "bodyBytes",
             "nonsense", "maxRevisions", "level")
    tap.eq(os.listdir(home), ["bad.yaml"], "and nothing was begun")
    good = write(os.path.join(home, "good.yaml"),
                 f"data: {home}/data\nlisten: 127.0.0.1:0\n"
                 "log:\n  format: json\nlimits: {bodyBytes: 2048}\n")
    status, text = run("serve", "-n", "--config", good)
    says(status, text, 0, "a good one is good", "good")
    tap.ok(not os.path.exists(home + "/data"), "checking makes nothing")
    for text, words in (("a: [", ["yaml"]), ("- a\n", ["object"]),
                        ("listen: 5\n", ["listen"]),
                        ("tls: {certificate: /nowhere}\n", ["key"]),
                        ("tls: {clientCa: /nowhere}\n", ["certificate"]),
                        ("limits: {watches: 1, watches: 2}\n", ["twice"]),
                        ("limits: 5\n", ["limits"]),
                        ("a: &x 1\nb: *x\n", []), ("\x01", []),
                        ("tls: {certificate: /nowhere/c, key: /nowhere/k}\n",
                         ["/nowhere/c"])):
        path = write(os.path.join(home, "one.yaml"), text)
        status, said = run("serve", "--check", "--config", path, "--listen",
                           "127.0.0.1:0", "--data", home + "/data")
        says(status, said, 1, f"{text.strip()!r} is refused", *words)
    status, said = run("serve", "--config", home + "/none.yaml")
    says(status, said, 1, "a file that is not there", "none.yaml",
         "No such file")
    for argv in (["--nonsense"], ["extra"], ["--data"], ["--listen"]):
        status, said = run("serve", *argv)
        says(status, said, 2, f"serve {argv[0]} is a usage error")
    write(os.path.join(home, "empty.yaml"), "# nothing\n")
    status, said = run("serve", "-n", "--config", home + "/empty.yaml")
    says(status, said, 0, "a file of comments is good")

    server = Server({"log": {"format": "json", "level": "debug"},
                     "limits": {"bodyBytes": 2048}})
    server.start()
    api = Client(server)
    tap.eq(api.post(ORGS, {"name": "a", "description": "x" * 3000}).status,
           413, "a limit from the file holds")
    api.get("/v1/nonsense\"\\%22")
    api.get(ORGS + "?name=%E2%82%AC")
    server.stop()
    lines = server.log().splitlines()
    tap.ok(len(lines) > 4 and all(isinstance(json.loads(line), dict)
                                  for line in lines),
           "a log of JSON is JSON, line by line", *lines[:3])


# Stopping.

def graceful_stop():
    server = Server().start()
    api = Client(server)
    org = api.post(ORGS, {"name": "home"}).json
    poll = []
    thread = threading.Thread(target=lambda: poll.append(Client(server).get(
        f"{ORGS}/{org['id']}?wait=changed")), daemon=True)
    thread.start()
    watch = Watch(server, ORGS)
    watch.until("ready")
    idle = server.connect()
    half = server.connect()
    body = b'{"name":"half"}'
    whole = request_bytes("POST", ORGS, server.token,
                          {"Content-Type": "application/json"}, body)
    half.sendall(whole[:-5])
    time.sleep(0.2)

    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    thread.join(PATIENCE)
    tap.eq(poll and (poll[0].status, poll[0].json), (200, org),
           "a stop answers who waits, with how it is")
    tap.eq((watch.next(), watch.decoder.ended), (None, True),
           "a watch ends as a stream should")
    idle.settimeout(PATIENCE)
    tap.eq(idle.recv(10), b"", "an idle connection is closed")
    wait_for(lambda: not accepts(server))
    tap.ok(not accepts(server), "nobody new is let in")
    half.sendall(whole[-5:])
    reply = read_reply(half)
    tap.ok(reply.status == 503 and reply.json["code"] == "unavailable" and
           reply["Retry-After"] and reply["Connection"] == "close",
           "a request that was on its way is answered: not now",
           reply, reply.headers)
    tap.eq(server.process.wait(PATIENCE), 0, "then it ends, with 0")
    tap.ok(time.monotonic() - began < 5, "in no time",
           time.monotonic() - began)

    # Fifty writes under way, and SIGTERM among them.
    server.start()
    results = {}

    def write_one(name):
        try:
            with server.connect() as s:
                s.sendall(request_bytes(
                    "POST", ORGS, server.token,
                    {"Content-Type": "application/json"},
                    json.dumps({"name": name}).encode()))
                results[name] = read_reply(s).status
        except OSError:
            results[name] = None

    acked = set()
    for turn in range(3):
        results.clear()
        threads = [threading.Thread(target=write_one, args=(f"t{turn}-{i}",))
                   for i in range(50)]
        for i, thread in enumerate(threads):
            thread.start()
            if i == 30:
                server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        tap.eq(server.process.wait(PATIENCE), 0, "stopped amid writes, with 0")
        there = set(all_orgs(Client(server.start())))
        mine = {n for n in there if n.startswith(f"t{turn}-")}
        acked = {n for n, status in results.items() if status == 201}
        refused = {n for n, status in results.items() if status == 503}
        tap.ok(set(results.values()) <= {201, 503, None},
               "each was answered or never taken", results)
        tap.ok(acked <= mine and not refused & mine,
               f"what was acknowledged ({len(acked)}) is there, what was"
               f" refused ({len(refused)}) is not", acked - mine,
               refused & mine)
        if acked != mine:
            tap.note(f"{len(mine - acked)} were done and the answer was lost")
    tap.eq(server.stop(), 0, "and at last")

    # Who does not finish does not hold it up for ever.
    server = Server({"limits": {"stopSeconds": 1}}).start()
    half = server.connect()
    half.sendall(whole[:-5])
    time.sleep(0.1)
    began = time.monotonic()
    tap.eq(server.stop(), 0, "with a client that never finishes, too")
    tap.ok(0.9 < time.monotonic() - began < 4, "after stopSeconds",
           time.monotonic() - began)
    server = Server().start()
    half = server.connect()
    half.sendall(whole[:-5])
    time.sleep(0.1)
    server.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    began = time.monotonic()
    server.process.send_signal(signal.SIGINT)
    tap.eq(server.process.wait(PATIENCE), 0, "asked twice, it does not wait")
    tap.ok(time.monotonic() - began < 3, "at all", time.monotonic() - began)


def accepts(server):
    try:
        server.connect().close()
        return True
    except OSError:
        return False


def notify():
    for abstract in (False, True):
        path = os.path.join(folder(), "notify")
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        heard.settimeout(PATIENCE)
        name = "@" + path if abstract else path
        heard.bind(name.replace("@", "\0"))
        server = Server(env={"NOTIFY_SOCKET": name}).start()
        tap.eq(heard.recv(100), b"READY=1", f"systemd is told it is ready"
               f"{' (abstract)' if abstract else ''}")
        server.process.send_signal(signal.SIGTERM)
        tap.eq(heard.recv(100), b"STOPPING=1", "and that it stops")
        server.process.wait(PATIENCE)
        heard.close()
    server = Server(env={"NOTIFY_SOCKET": "/nowhere/at/all"}).start()
    tap.eq(server.stop(), 0, "nobody listening does not matter")


# TLS.

def make_certificate(where, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", f"{where}/key.pem", "-out", f"{where}/cert.pem"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tls():
    home = folder()
    make_certificate(home, "first")
    server = Server({"tls": {"certificate": f"{home}/cert.pem",
                             "key": f"{home}/key.pem"}}).start()

    def subject(s):
        return dict(x[0] for x in s.getpeercert()["subject"])["commonName"]

    api = Client(server)
    reply = api.post(ORGS, {"name": "secret", "description": "x" * 500})
    tap.eq(reply.status, 201, "the API over TLS")
    with server.connect() as s:
        tap.eq((subject(s), s.version()), ("first", "TLSv1.3"),
               "with the certificate, in 1.3")
    with Watch(server, ORGS) as w:
        w.until("ready")
        api.patch(reply["Location"], {"description": "y"})
        tap.eq(w.next().json["description"], "y", "a watch over TLS")

    def speaks(version):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        try:
            with context.wrap_socket(socket.create_connection(
                    (server.host, server.port), PATIENCE)) as s:
                return s.version()
        except (OSError, ssl.SSLError):
            return None

    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)
    tap.eq([speaks(v) for v in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1,
                                ssl.TLSVersion.TLSv1_2)],
           [None, None, "TLSv1.2"], "1.0 and 1.1 are refused, 1.2 is not")
    with socket.create_connection((server.host, server.port), PATIENCE) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            data = s.recv(4096)
        except ConnectionResetError:
            data = b""
        tap.ok(not data.startswith(b"HTTP/1.1 200"),
               "plain HTTP gets nowhere", data)
    kept = Client(server)
    kept.get("/healthz")
    make_certificate(home, "second")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "read again" in server.log())
    with server.connect() as s:
        tap.eq(subject(s), "second", "SIGHUP brings the new certificate")
    tap.eq(kept.get("/healthz").status, 200, "and leaves who is there")
    context_file = f"{home}/cert.pem"
    shutil.copy(context_file, f"{home}/good.pem")
    write(context_file, "nonsense")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "old certificate stays" in server.log())
    shutil.copy(f"{home}/good.pem", context_file)
    with server.connect() as s:
        tap.eq(subject(s), "second", "a bad one does not replace it")
    tap.eq(server.stop(), 0, "it stops")

    other = folder()
    make_certificate(other, "other")
    for cert, key, word in ((f"{home}/none.pem", f"{home}/key.pem", "none"),
                            (f"{home}/cert.pem", f"{home}/none.pem", "none"),
                            (f"{home}/key.pem", f"{home}/key.pem", "key.pem"),
                            (f"{home}/cert.pem", f"{other}/key.pem", "key")):
        path = write(f"{other}/c.yaml", json.dumps(
            {"tls": {"certificate": cert, "key": key}}))
        status, text = run("serve", "--config", path, "--data", folder(),
                           "--listen", "127.0.0.1:0")
        says(status, text, 1, "a certificate that cannot be used is refused",
             word)


def plain_reload():
    server = Server().start()
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "reload" in server.log())
    tap.eq(Client(server).get("/healthz").status, 200,
           "SIGHUP without TLS does no harm")
    server.stop()


# The disk.

def full_disk():
    server = Server().start()
    api = Client(server)
    api.post(ORGS, {"name": "before"})
    server.stop()
    server.blocks = 1800  # of 512 bytes, the log's file included
    server.start()
    acked, refused = {"before"}, {}
    for i in range(2000):
        name = f"o-{i}"
        reply = api.post(ORGS, {"name": name, "description": "d" * 500})
        if reply.status == 201:
            acked.add(name)
        else:
            refused[name] = reply
        if len(refused) > 20:
            break
    tap.ok(refused and len(acked) > 20, "the disk was filled", len(acked),
           len(refused), server.log()[-1000:])
    reply = next(iter(refused.values()))
    tap.ok(reply.status == 503 and reply.json["code"] == "unavailable" and
           reply["Retry-After"] and
           "the disk is full; nothing was written" in reply.json["detail"],
           "writes are refused, and the answer says why", reply)
    tap.eq({r.status for r in refused.values()}, {503}, "all of them")
    tap.eq(set(all_orgs(api)), acked, "reads go on, and show what was taken")
    tap.eq(api.get("/healthz").status, 200, "it is alive")
    with Watch(server, ORGS) as w:
        tap.eq(len(w.until("ready")) - 1, len(acked), "watches go on, too")
    tap.ok("disk" in server.log(), "the log says so")
    values = dict(line.split(" ") for line in api.get("/metrics").body.decode()
                  .splitlines() if not line.startswith("#"))
    tap.ok(float(values["muster_store_failures_total"]) > 0,
           "and a number counts it")
    tap.eq(server.stop(), 0, "it can be stopped")
    server.blocks = None
    server.start()
    tap.eq(set(all_orgs(api)), acked,
           f"with room again, everything acknowledged ({len(acked)}) is there,"
           " and nothing else")
    tap.eq(api.post(ORGS, {"name": "after"}).status, 201, "and it goes on")
    tap.eq(server.stop(), 0, "as if nothing had been")


def backup():
    server = Server().start()
    api = Client(server)
    stop = threading.Event()
    acked = {}

    def writing(n):
        mine = Client(server)
        i = 0
        while not stop.is_set():
            i += 1
            reply = mine.post(ORGS, {"name": f"w{n}-{i}", "description":
                                     "x" * 300}, {"Idempotency-Key":
                                                  f"{n}-{i}"})
            if reply.status == 201:
                acked[reply.json["name"]] = reply.json["revision"]

    threads = [threading.Thread(target=writing, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    files = []
    for i in range(3):
        wait_for(lambda: len(acked) > 100 * (i + 1))
        before = dict(acked)
        path = os.path.join(server.home, f"backup-{i}")
        status, text = run("backup", "--data", server.data, path)
        says(status, text, 0, "a backup while it writes", path)
        files.append((path, before))
    stop.set()
    for thread in threads:
        thread.join()
    last = os.path.join(server.home, "last")
    status, text = run("backup", last, "--data", server.data)
    says(status, text, 0, "and once it is quiet")
    tap.eq(stat.S_IMODE(os.stat(last).st_mode), 0o600, "for nobody else")
    status, text = run("backup", last, "--data", server.data)
    says(status, text, 5, "a file that is there is not written over", last)
    want = all_orgs(api)
    revision = api.get(ORGS).json["revision"]

    where = os.path.join(folder(), "new")
    status, text = run("restore", last, "--data", where)
    says(status, text, 0, "it is restored into a new folder")
    # The key of its secrets is kept apart from them.
    shutil.copy(os.path.join(server.data, "secret.key"), where)
    other = Server(data=where)
    other.start()
    # Its tokens are those of the server it came from.
    copy = Client(other, server.token)
    tap.eq(all_orgs(copy), want, "with the same objects")
    tap.eq(copy.get(ORGS).json["revision"], revision, "at the same revision")
    reply = copy.post(ORGS, {"name": "w0-1", "description": "x" * 300},
                      {"Idempotency-Key": "0-1"})
    tap.eq((reply.status, reply["Idempotency-Replayed"]), (201, "true"),
           "that knows the same keys")
    tap.eq(copy.post(ORGS, {"name": "since"}).status, 201, "and goes on")
    tap.eq(other.stop(), 0, "and stops")
    status, text = run("restore", last, "--data", where)
    says(status, text, 5, "a folder with a database is not written over",
         where)
    for path, before in files:
        where = os.path.join(folder(), "new")
        status, text = run("restore", path, "--data", where)
        shutil.copy(os.path.join(server.data, "secret.key"), where)
        other = Server(data=where)
        there = all_orgs_paged(Client(other.start(), server.token))
        newest = max(o["revision"] for o in there.values())
        tap.ok(set(before) <= set(there) and
               {n for n, r in acked.items() if r <= newest} == set(there),
               f"one made amid writes has all up to revision {newest}, and"
               f" what was acknowledged before ({len(before)})", text)
        other.stop()

    with open(last, "rb") as file:
        data = bytearray(file.read())
    for label, at in (("in the head", 30), ("in the middle", len(data) // 2),
                      ("at the end", len(data) - 3)):
        copy = bytearray(data)
        copy[at] ^= 4
        refused(server, copy, f"a bit flipped {label}")
    refused(server, data[:-1], "a byte too few")
    refused(server, data[:len(data) // 2], "half of it")
    refused(server, data + b"x", "a byte too many")
    refused(server, b"", "an empty file")
    refused(server, b"hello\n", "something else")
    status, text = run("restore", server.home + "/none", "--data",
                       server.home + "/no")
    says(status, text, 1, "a file that is not there", "none")
    status, text = run("backup", server.home + "/x", "--data",
                       server.home + "/no")
    tap.ok(status and not os.path.exists(server.home + "/x") and
           not os.path.exists(server.home + "/no"),
           "a folder that is not there", text)
    server.stop()


def all_orgs_paged(api):
    found, after = {}, ""
    while True:
        page = api.get(f"{ORGS}?limit=1000{after}").json
        found.update((o["name"], o) for o in page["items"])
        if "next" not in page:
            return found
        after = f"&after={page['next']}"


def refused(server, data, label):
    where = folder()
    path = os.path.join(where, "file")
    with open(path, "wb") as file:
        file.write(data)
    status, text = run("restore", path, "--data", where + "/new")
    left = os.listdir(where + "/new") if os.path.exists(where + "/new") else []
    tap.ok(status in (1, 5) and path in text and
           "muster.db" not in left and "Sanitizer" not in text,
           f"{label}: not restored", status, text, left)


def main():
    for function in (folder_and_token, second_server, damaged, configuration,
                     graceful_stop, notify, tls, plain_reload, full_disk,
                     backup):
        tap.section(function)


if __name__ == "__main__":
    main()
    tap.end()

#!/usr/bin/python3
"""More than the server takes: it says so early, keeps answering what it can,
and recovers."""

import json
import socket
import threading
import time

from muster import PATIENCE, Client, Server, Watch, is_sanitized, read_reply
from muster import request_bytes, tap, wait_for

ORGS = "/v1/organizations"


def create(server, name):
    return request_bytes("POST", ORGS, server.token,
                         {"Content-Type": "application/json"},
                         json.dumps({"name": name}).encode())


def numbers(server):
    return {name: float(value) for name, value in
            (line.rsplit(" ", 1) for line in Client(server).get("/metrics")
             .body.decode().splitlines() if not line.startswith("#"))}


def at_once(server, names):
    """All of NAMES in one moment; their replies."""
    socks = []
    for name in names:
        s = server.connect()
        s.sendall(create(server, name)[:-1])
        socks.append(s)
    time.sleep(0.1)
    for s in socks:
        s.send(b"}")
    replies = [read_reply(s) for s in socks]
    for s in socks:
        s.close()
    return dict(zip(names, replies))


def pending():
    server = Server({"limits": {"pendingChanges": 4}}).start()
    api = Client(server)
    taken, shed = set(), []
    for turn in range(5):
        began = time.monotonic()
        replies = at_once(server, [f"a{turn}-{i}" for i in range(100)])
        took = time.monotonic() - began
        statuses = {r.status for r in replies.values()}
        tap.ok(statuses <= {201, 503} and took < 5,
               "each is taken or refused, and soon", statuses, took)
        taken |= {n for n, r in replies.items() if r.status == 201}
        shed += [(n, r) for n, r in replies.items() if r.status == 503]
    tap.ok(taken and shed, f"some of both: {len(taken)} and {len(shed)}")
    name, reply = shed[0]
    tap.ok(reply.json["code"] == "unavailable" and
           reply.json["retry"] == "later" and int(reply["Retry-After"]) >= 1
           and reply["Content-Type"] == "application/problem+json",
           "a refusal says when to come again", reply, reply.headers)
    there = {o["name"] for o in api.get(ORGS + "?limit=1000").json["items"]}
    tap.eq(there, taken, "what was taken is there, what was refused is not")
    tap.eq(numbers(server)["muster_requests_shed_total"], len(shed),
           "and they are counted")

    # A storm that lasts; reads go on through it.
    stop = threading.Event()
    counts = {}
    slowest = []

    def storm(n):
        mine = Client(server)
        i = 0
        while not stop.is_set():
            i += 1
            status = mine.post(ORGS, {"name": f"s{n}-{i}"}).status
            counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=storm, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        began = time.monotonic()
        reply = api.get(ORGS + "?limit=5")
        slowest.append(time.monotonic() - began)
        if reply.status != 200:
            tap.ok(False, "reads go on", reply)
        if api.get("/readyz").status != 200:
            tap.ok(False, "it stays ready")
    stop.set()
    for thread in threads:
        thread.join()
    tap.ok(set(counts) <= {201, 503} and counts[201] >= 10,
           "a storm is taken as far as it goes", counts)
    slowest.sort()
    tap.ok(slowest[len(slowest) // 2] < 0.5, "reads go on meanwhile",
           slowest[-5:])
    tap.note(f"{counts}; {len(slowest)} reads, half within"
             f" {slowest[len(slowest) // 2] * 1000:.1f} ms, all within"
             f" {slowest[-1] * 1000:.1f} ms")
    tap.eq([api.post(ORGS, {"name": f"z-{i}"}).status for i in range(10)],
           [201] * 10, "afterwards every write is taken")
    wait_for(lambda: numbers(server)["muster_store_pending"] == 0)
    tap.eq(numbers(server)["muster_store_pending"], 0, "nothing is left over")
    tap.eq(server.stop(), 0, "it stops")


def connections():
    server = Server({"limits": {"connections": 16}}).start()
    held = [server.connect() for _ in range(16)]
    wait_for(lambda: server.descriptors() >= 16)
    time.sleep(0.1)
    ask = request_bytes("GET", ORGS, server.token)
    for i in range(5):
        with server.connect() as s:
            s.sendall(ask)
            reply = read_reply(s)
            tap.ok(reply.status == 503 and
                   reply["Content-Type"] == "application/problem+json" and
                   reply.json["code"] == "unavailable" and
                   reply["Retry-After"] and reply["Connection"] == "close",
                   "one more than there is room for is told so", reply,
                   reply.headers)
            tap.eq(s.recv(1), b"", "and its connection ends, without a reset")
    for path in ("/healthz", "/readyz", "/metrics"):
        with server.connect() as s:
            s.sendall(request_bytes("GET", path))
            tap.eq(read_reply(s).status, 200, f"{path} is served all the same")
    before = server.descriptors()
    held[0].sendall(request_bytes("GET", "/healthz"))
    tap.eq(read_reply(held[0]).status, 200, "who is in is served")
    held.pop().close()

    def let_in():
        with server.connect() as s:
            s.sendall(ask)
            try:
                return read_reply(s).status == 200
            except OSError:
                return False

    tap.ok(wait_for(let_in), "when one leaves, another may come")
    for s in held:
        s.close()
    tap.ok(wait_for(lambda: server.descriptors() <= before - 14),
           "and all that left are let go", server.descriptors(), before)
    flood = []
    for _ in range(300):
        flood.append(server.connect())
    for s in flood:
        s.close()
    tap.ok(wait_for(let_in), "a flood of connections passes")
    tap.eq(server.stop(), 0, "it stops")


def per_address():
    server = Server({"limits": {"connectionsPerAddress": 3,
                                "connections": 64}}).start()

    def connect(source):
        s = socket.socket()
        s.settimeout(PATIENCE)
        s.bind((source, 0))
        s.connect((server.host, server.port))
        return s

    held = [connect("127.0.0.1") for _ in range(3)]
    with connect("127.0.0.1") as s:
        reply = read_reply(s)
        tap.ok(reply.status == 503 and reply.json["code"] == "unavailable",
               "one address has its share", reply)
    with connect("127.0.0.2") as s:
        s.sendall(request_bytes("GET", "/healthz"))
        tap.eq(read_reply(s).status, 200, "others have theirs")
    held.pop().close()

    def again():
        with connect("127.0.0.1") as s:
            s.sendall(request_bytes("GET", "/healthz"))
            try:
                return read_reply(s).status == 200
            except OSError:
                return False

    tap.ok(wait_for(again), "and it may come again when one has left")
    tap.eq(server.stop(), 0, "it stops")


def watches():
    server = Server({"limits": {"watches": 5}}).start()
    api = Client(server)
    org = api.post(ORGS, {"name": "o"}).json
    held = [Watch(server, ORGS) for _ in range(4)]
    poll = server.connect()
    poll.sendall(request_bytes("GET", f"{ORGS}/{org['id']}?wait=changed",
                               server.token))
    wait_for(lambda: numbers(server)["muster_watches"] == 5)
    with Watch(server, ORGS) as w:
        tap.ok(w.status == 503 and w.headers.get("retry-after") and
               w.reply.json["code"] == "unavailable",
               "one watch too many is told so", w.reply)
    reply = api.get(f"{ORGS}/{org['id']}?wait=changed")
    tap.eq(reply.status, 503, "a long poll counts as one")
    tap.eq(api.get(f"{ORGS}/{org['id']}").status, 200, "other reads do not")
    api.patch(f"{ORGS}/{org['id']}", {"description": "x"})
    tap.eq(read_reply(poll).status, 200, "those that are there are served")
    for w in held:
        w.until("ready")
        tap.eq(w.next().json["description"], "x", "each of them")
    held.pop().close()

    def again():
        api.patch(f"{ORGS}/{org['id']}", {"description":
                                          str(time.monotonic())})
        with Watch(server, ORGS) as w:
            return w.status == 200

    tap.ok(wait_for(again, every=0.1), "when one leaves, another may come")
    for w in held:
        w.close()
    tap.eq(server.stop(), 0, "it stops")


def many_watchers():
    """One write, many who want to know; half of them never read."""
    server = Server().start()
    api = Client(server)
    org = api.post(ORGS, {"name": "o"}).json
    base = server.rss_kib()
    watching = [Watch(server, ORGS) for _ in range(300)]
    for w in watching:
        w.until("ready")
    big = {f"k{i}": "v" * 256 for i in range(50)}
    for i in range(40):
        api.patch(f"{ORGS}/{org['id']}", {"description": str(i), "tags": big})
    began = time.monotonic()
    got = 0
    for w in watching[:150]:
        last = None
        for _ in range(40):
            last = w.next()
        got += last is not None and last.json["description"] == "39"
    tap.eq(got, 150, "everyone who reads has every change")
    tap.ok(time.monotonic() - began < PATIENCE, "in time")
    grown = server.rss_kib() - base
    tap.ok(grown < (600 << 10 if is_sanitized() else 120 << 10),
           "who does not read costs little", f"{grown} KiB for 300 watches")
    tap.note(f"300 watches, 40 changes of 13 KiB: {grown} KiB")
    for w in watching:
        w.close()

    def all_gone():  # who left is noticed when there is something to say
        api.patch(f"{ORGS}/{org['id']}", {"description":
                                          str(time.monotonic())})
        return numbers(server)["muster_watches"] == 0

    tap.ok(wait_for(all_gone, every=0.1), "all that left are let go",
           numbers(server)["muster_watches"])
    tap.eq(server.stop(), 0, "it stops")


def main():
    for function in (pending, connections, per_address, watches,
                     many_watchers):
        tap.section(function)


if __name__ == "__main__":
    main()
    tap.end()

#!/usr/bin/python3
"""Consoles: an address that is good once and not for long, a WebSocket behind
it that is joined to the machine's line, and everyone who means no good."""

import re
import socket
import time
import urllib.parse

from cloud import Cloud, refused, taken
from muster import PATIENCE, Client, OpenApi, tap, wait_for
from tenant import ROLE, Account, made
from websocket import PING, PONG, TEXT, Refused, WebSocket

EACH = 6  # consoles of one caller


class World(Cloud):
    """A server with an instance that runs."""

    def __init__(self, **config):
        super().__init__(config={"log": {"level": "debug"}, **config})
        if not self.ready(f"/v1/regions/{self.region}"):
            raise AssertionError("the region does not come to be ready")
        self.call = self.a.call()
        self.call.contract = OpenApi(self.admin.get("/v1/openapi.json").json)
        self.tickets = []
        self.net = made(self.network("main"))["id"]
        self.one = self.running("web-1")

    def named(self, noun, name, region=None):
        items = self.admin.get(
            f"/v1/{noun}?regionId={region or self.region}&limit=100").json
        return next(i["id"] for i in items["items"] if i["name"] == name)

    def running(self, name, network=None, region=None):
        one = made(self.call.post("/v1/instances", {
            "name": name, "networkId": network or self.net, "spec": {
                "flavorId": self.named("flavors", "small", region),
                "imageId": self.named("images", "debian-12", region)}}))
        path = self.path(one)
        reply = self.call.get(f"{path}?wait=running&timeoutMs=10000").json
        if reply["status"]["state"] != "running":
            raise AssertionError(f"it does not run: {reply}")
        return one

    def path(self, one=None):
        return f"/v1/instances/{(one or self.one)['id']}"

    def target(self, one=None, kind="serial", call=None):
        """Where a console of it is, without the server."""
        reply = (call or self.call).post(self.path(one) + "/console",
                                         {"kind": kind})
        if reply.status != 200:
            raise AssertionError(f"no console: {reply!r}")
        url = urllib.parse.urlsplit(reply.json["url"])
        self.tickets.append(urllib.parse.parse_qs(url.query)["ticket"][0])
        return f"{url.path}?{url.query}"

    def open(self, one=None, kind="serial", call=None, protocol=None):
        return WebSocket(self.server, self.target(one, kind, call), protocol)

    def reasons(self, one=None):
        items = self.call.get(self.path(one) + "/events?limit=100").json
        return [e["reason"] for e in items["items"]]

    def relayed(self):
        found = re.search(r"^muster_consoles (\d+)$",
                          self.admin.get("/metrics").body.decode(), re.M)
        return int(found.group(1))


def is_refused(w, text, target, status=401, word=None):
    try:
        WebSocket(w.server, target).close()
        tap.ok(False, text, "it was let in")
    except Refused as e:
        tap.ok(e.status == status and (word or "").encode() in e.body, text, e)


def talks(w):
    reply = w.call.post(w.path() + "/console", {"kind": "serial"})
    taken("a console has an address", reply, 200)
    url = reply.json["url"]
    tap.ok(re.fullmatch(r"ws://[^/]+/v1/instances/" + w.one["id"] +
                        r"/console\?ticket=\w{70,}", url),
           "of our own, with a ticket", url)
    tap.ok("expiresAt" in reply.json, "that says how long it is good")
    tap.eq(reply["Cache-Control"], "no-store", "and is kept by nobody")
    reply = w.admin.post(w.path() + "/console", None,
                         {"X-Forwarded-Proto": "https"})
    tap.ok(reply.json["url"].startswith("wss://"),
           "behind a proxy with TLS it is one with TLS", reply)
    s = w.open(protocol="chat, binary")
    tap.eq(s.headers.get("sec-websocket-protocol"), "binary",
           "the protocol \"binary\" is agreed to")
    tap.ok(b"login: " in s.until(b"login: "), "the machine says something")
    s.send(b"root\r")
    tap.ok(b"root\r" in s.until(b"root\r"), "and hears what is typed")
    s.send(b"text, too\r", TEXT)
    tap.ok(b"too\r" in s.until(b"too\r"), "as text, too")
    every = bytes(range(256)).replace(b"\r", b"").replace(b"\n", b"")
    s.send(every)
    tap.eq(s.until(every), every, "every byte goes through as it is")
    s.send(b"alive?", PING)
    kind, body = s.frame()
    tap.eq((kind, body), (PONG, b"alive?"), "a ping is answered")
    tap.eq(w.relayed(), 1, "the metrics count it")
    s.send(b"\rlogout\r")
    tap.eq(s.until_closed(), (1000, "the console was closed"),
           "when the machine hangs up that is the end")
    tap.ok(wait_for(lambda: "consoleClosed" in w.reasons()),
           "of which the events tell")
    s = w.open(kind="vnc")
    tap.ok("sec-websocket-protocol" not in s.headers,
           "no protocol is agreed to when none is offered")
    tap.ok(b"RFB 003.008\n" in s.until(b"\n"), "the screen speaks RFB")
    s.close()


def once(w):
    target = w.target()
    reply = w.call.get(target)
    refused("without an upgrade it is told what it is", reply, 400,
            word="WebSocket")
    s = WebSocket(w.server, target)
    tap.ok(b"login" in s.until(b"login"), "which takes nothing from the ticket")
    is_refused(w, "a ticket is good once, while it is used", target)
    s.close()
    wait_for(lambda: not w.relayed())
    is_refused(w, "and after", target)
    path = w.path() + "/console"
    is_refused(w, "without a ticket nothing", path)
    is_refused(w, "nor with an empty one", path + "?ticket=")
    is_refused(w, "nor with somebody's token",
               f"{path}?ticket={w.admin.server.token}")
    target = w.target()
    other = w.running("other-1")
    is_refused(w, "a ticket is good for its instance",
               target.replace(w.one["id"], other["id"]))
    is_refused(w, "not for one that is not there",
               target.replace(w.one["id"], "x" * 300))
    s = WebSocket(w.server, target, headers=["Origin: https://evil.example"])
    tap.ok(b"login" in s.until(b"login"),
           "and for whoever has it, wherever they are")
    s.close()


def let_go(w, before, text):
    """All descriptors are as they were."""
    tap.ok(wait_for(lambda: not w.relayed() and
                    w.server.descriptors() <= before), text,
           f"{w.server.descriptors()} are open, {before} were")


def slow_reader(w):
    """One that does not read stops its machine, and nobody else."""
    before, rss = w.server.descriptors(), w.server.rss_kib()
    s = w.open()
    s.send(b"flood\r")
    s.until(b"flood flood")
    time.sleep(0.5)
    for _ in range(50):
        if w.call.get(w.path()).status != 200:
            tap.ok(False, "others are served meanwhile")
            break
    grown = w.server.rss_kib() - rss
    tap.ok(grown < 16 << 10, "a reader that stops costs little memory",
           f"{grown} KiB")
    got = b""
    while len(got) < 8 << 20:
        got += s.read()
    tap.eq(set(got[got.index(b"\n") + 1:].split(b"\r\n")[:-1]),
           {b"flood flood flood flood flood flood"},
           "when it reads again nothing is missing")
    s.cut()
    let_go(w, before, "and when it dies in the middle all is let go of")


def flood(w):
    """A machine that does not read stops whoever types."""
    before, rss = w.server.descriptors(), w.server.rss_kib()
    s = w.open()
    s.until(b"login: ")
    s.send(b"deaf\r")
    s.until(b"deaf\r")
    s.sock.settimeout(1)
    sent, piece = 0, b"x" * 4096
    try:
        while sent < 256 << 20:
            s.send(piece)
            sent += len(piece)
    except (socket.timeout, TimeoutError):
        pass
    tap.ok(sent < 64 << 20, "a flood that nobody reads comes to a halt",
           f"{sent} bytes were taken")
    grown = w.server.rss_kib() - rss
    tap.ok(grown < 16 << 10, "and costs little memory", f"{grown} KiB")
    tap.eq(w.call.get(w.path()).status, 200, "others are served")
    s.cut()
    let_go(w, before, "when the client is gone all is let go of")


def echo_all(w):
    """Both ways at once, more than is held on the way."""
    s = w.open()
    s.until(b"login: ")
    want = b"".join(b"%07d" % i for i in range(300000))
    got, at = b"", 0
    while len(got) < len(want):
        while at < len(want) and at - len(got) < 512 << 10:
            s.send(want[at:at + 50000])
            at += 50000
        more = s.read()
        if not more:
            break
        got += more
    tap.ok(got == want, "two megabytes come back as they were sent",
           f"{len(got)} of {len(want)}, {s.closed}")
    s.close()


def rule_breakers(w):
    for text, data, code in (
            ("a message that is too large", None, 1009),
            ("a frame without a mask", b"\x82\x01x", 1002),
            ("text that is none", b"\x81\x82\0\0\0\0\xc0\x80", 1007),
            ("a kind that is none", b"\x83\x80\0\0\0\0", 1002)):
        s = w.open()
        s.until(b"login: ")
        if data:
            s.sock.sendall(data)
        else:
            s.send(b"x" * (300 << 10))
        tap.eq(s.until_closed()[0], code, f"{text} ends it")
        s.close()
    wait_for(lambda: not w.relayed())


def crowds(w):
    """No more than there may be, and all of one caller's are not everyone's."""
    call = Account(w.admin, "crowd", w.a.id, [ROLE["user"]],
                   [w.a.project]).call
    call.get(w.path())
    before = w.server.descriptors()
    lines = [w.open(call=call) for _ in range(EACH)]
    refused("one caller has so many", call.post(
        w.path() + "/console", {}), 429, word="consoles open")
    s = w.open(call=w.admin)
    tap.ok(b"login" in s.until(b"login"), "another has their own")
    for line in lines + [s]:
        line.cut()
    let_go(w, before, "all are let go of")
    for _ in range(EACH):
        w.target(call=call)
    refused("an address that nobody uses counts, too", call.post(
        w.path() + "/console", {}), 429)


def taken_away(w):
    """Who may not have it any more loses it."""
    guest = Account(w.admin, "guest", w.a.id, [ROLE["user"]], [w.a.project])
    for text, take in (
            ("its token is deleted",
             lambda: w.admin.delete(f"/v1/tokens/{guest.token_id}")),
            ("its rights are", lambda: w.admin.delete(
                f"/v1/groups/{guest.group}"))):
        s = w.open(call=guest.call)
        s.until(b"login: ")
        waiting = w.target(call=guest.call)
        take()
        code, why = s.until_closed()
        tap.ok(code == 1008 and "any more" in why,
               f"a console ends when {text}", code, why)
        is_refused(w, "and no other begins", waiting,
                   401 if "token" in text else 403)
        s.close()
        guest.call = Client(w.server, guest.new_token(text.replace(" ", "-"))["token"])


def ends(w):
    """It goes with its machine."""
    one = w.running("end-1")
    s = w.open(one)
    s.until(b"login: ")
    taken("it is stopped", w.call.post(w.path(one) + "/stop", None), 202)
    tap.eq(s.until_closed()[0], 1000, "a console ends with a stop")
    w.call.get(f"{w.path(one)}?wait=stopped&timeoutMs=10000")
    refused("one that is off has none", w.call.post(
        w.path(one) + "/console", {}), 409)
    w.call.post(w.path(one) + "/start", None)
    w.call.get(f"{w.path(one)}?wait=running&timeoutMs=10000")
    s = w.open(one)
    s.until(b"login: ")
    waiting = w.target(one)
    w.call.delete(w.path(one))
    tap.ok(s.until_closed()[0] in (1000, 1008),
           "a console ends with its instance", s.closed)
    w.call.get(f"{w.path(one)}?wait=deleted&timeoutMs=10000")
    try:
        WebSocket(w.server, waiting)
        tap.ok(False, "and none can be connected to")
    except Refused as e:
        tap.ok(e.status in (401, 410), "and none can be connected to", e)


def providers_own(w):
    """A provider that has its own address gives that."""
    region = w.new_region("own", options={"consoleUrl": True})["id"]
    w.ready(f"/v1/regions/{region}")
    net = made(w.network("own", "10.9.0.0/24", region=region))["id"]
    one = w.running("own-1", net, region)
    reply = w.call.post(w.path(one) + "/console", {"kind": "vnc"})
    tap.ok(reply.json["url"].startswith("wss://console.sim.invalid/vnc/") and
           "expiresAt" not in reply.json,
           "an address of the provider's own is passed on", reply)


def nothing_told(w):
    """The secrets are nowhere."""
    trail = w.admin.get("/v1/audit?limit=1000").body
    events = w.admin.get("/v1/events?limit=1000").body
    log = w.server.log().encode()
    tap.ok("path=/v1/instances/" + w.one["id"] + "/console" in
           w.server.log(), "the log tells of consoles")
    tap.ok(not any(t.encode() in x for t in w.tickets
                   for x in (trail, events, log)),
           f"and none of {len(w.tickets)} tickets is in log, trail or events")
    tap.eq(w.call.contract.problems, [],
           "everything is as the OpenAPI document says")


def stops(w):
    s = w.open(call=w.admin)
    s.until(b"login: ")
    flooded = w.open(call=w.admin)
    flooded.send(b"flood\r")
    flooded.until(b"flood flood")
    waiting = w.target(call=w.admin)
    w.server.process.terminate()
    tap.eq(s.until_closed()[0], 1001, "a stop closes consoles")
    tap.eq(w.server.stop(), 0, "and is none that waits for the slow")
    w.server.start()
    w.admin.close()
    is_refused(w, "a ticket dies with the server", waiting)
    w.server.stop()
    flooded.close()


def limits():
    """What is short here is long elsewhere."""
    w = World(limits={"ticketSeconds": 1, "consoleIdleSeconds": 1,
                      "consoleSeconds": 3})
    w.open().cut()  # from then on they are served
    wait_for(lambda: not w.relayed())
    before = w.server.descriptors()
    target = w.target()
    tap.ok(wait_for(lambda: w.server.descriptors() <= before),
           "a console that nobody comes for is closed")
    is_refused(w, "and its address is void", target, word="too old")
    s = w.open()
    s.until(b"login: ")
    tap.eq(s.until_closed(), (1008, "nothing was said for too long"),
           "one that is idle ends")
    s = w.open()
    s.sock.settimeout(PATIENCE)
    while not s.closed:
        s.send(b"x")
        s.read()
        time.sleep(0.05)
    tap.eq(s.closed, (1008, "it was open for as long as one may be"),
           "one that is not ends, too")
    w.server.stop()


def main():
    w = World(limits={"consolesPerCaller": EACH})
    for section in (talks, once, echo_all, slow_reader, flood, rule_breakers,
                    taken_away, ends, providers_own, crowds, nothing_told,
                    stops):
        tap.section(section, w)
    tap.section(limits)


if __name__ == "__main__":
    tap.section(main)
    tap.end()

"""The store and the API with plain objects: reads, creates, watches, start."""

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.request

from rig import (LOAD_CPU, SERVER_CPU, Server, median, ms, per_second, pinned,
                 row)

ORGANIZATIONS = 100  # and a project in each of them in turn
SMALL, LARGE = 1_000, 100_000
WATCHERS, WRITES_PER_SECOND, WATCH_SECONDS = 1_000, 500, 6


def fill_organizations(bench, server):
    """One project needs an organization; theirs take turns."""
    opener = urllib.request.build_opener()
    ids = []
    for i in range(ORGANIZATIONS):
        request = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/organizations",
            data=b'{"name":"organization-%d"}' % i,
            headers={"Authorization": f"Bearer {server.token}",
                     "Content-Type": "application/json"})
        with opener.open(request) as answer:
            ids.append(re.search(r'"id":"([^"]+)"',
                                 answer.read().decode()).group(1))
    with open(bench.path("orgs"), "w", encoding="ascii") as file:
        file.write("\n".join(ids) + "\n")
    with open(bench.path("list"), "w", encoding="ascii") as file:
        file.write(f"/v1/projects?organizationId={ids[ORGANIZATIONS // 2]}"
                   "&limit=1000\n")


def stored_bytes(server):
    """The average row, and the average document in it."""
    with contextlib.closing(sqlite3.connect(
            f"file:{server.data}/muster.db?mode=ro", uri=True)) as db:
        data, = db.execute("SELECT avg(length(data)) FROM log"
                           " WHERE revision > 200").fetchone()
        entry, = db.execute("SELECT avg(length(entry) + length(hash) +"
                            " ifnull(length(organization), 0)) FROM audit"
                            " WHERE revision > 200").fetchone()
        line, = db.execute("SELECT avg(instr(data, char(10))) FROM log"
                           " WHERE revision > 200").fetchone()
    return round(data + entry), line


def group_size(before, after):
    return ((after["muster_store_revision"] - before["muster_store_revision"])
            / (after["muster_store_commits_total"] -
               before["muster_store_commits_total"]))


def bench_create(bench, server, conns, rounds, count, *more):
    """Rounds of creates, each with its floor; what one row needs."""
    got = []
    for _ in range(rounds):
        before = server.metrics()
        one = bench.create(server, conns, count, *more)
        one["group"] = group_size(before, server.metrics())
        size, _ = stored_bytes(server)
        floor = bench.sqlite_floor(size, one["group"], int(one["done"]))
        one["floor"] = floor["rate"]
        one["floor_cpu"] = floor["cpu_us"]
        one["keyed"] = bench.sqlite_floor(size, one["group"], int(one["done"]),
                                          "keys")["rate"]
        got.append(one)
    return {key: median(one[key] for one in got) for key in got[0]}


def create_row(name, got, http, target=""):
    """HTTP is how often libmicrohttpd alone takes a create, holds it and
    answers it in a second: no server that is made of it and of SQLite can do
    more on one core than both floors, one after the other."""
    both = 1 / (1 / got["floor"] + 1 / http)
    row(name, per_second(got["rate"]), per_second(got["floor"]),
        got["rate"] / got["floor"], "",
        f"p50 {ms(got['p50'])}, p99 {ms(got['p99'])}; CPU {got['loop_us']:.1f}"
        f" loop + {got['writer_us']:.1f} writer us, floor"
        f" {got['floor_cpu']:.1f}; groups of {got['group']:.0f}; of both"
        f" floors in turn {got['rate'] / both:.2f}")
    row("  against SQLite with a table of keys", per_second(got["rate"]),
        per_second(got["keyed"]), got["rate"] / got["keyed"], target)


def duel(rounds, *sides):
    """Every side in turn, so many times; the medians of each."""
    got = [[] for _ in sides]
    for i in range(rounds):
        for at in range(len(sides)):
            # The order changes, so that none always follows the same.
            which = (at + i) % len(sides)
            got[which].append(sides[which]())
    return [{key: median(one[key] for one in side) for key in side[0]}
            for side in got]


def get_row(name, got, floor, target=""):
    """Both sides do nothing but compute, so the ratio is of CPU time: with the
    core to themselves it is that of the rates, and others do not change it."""
    row(name, per_second(got["rate"]), per_second(floor["rate"]),
        floor["cpu_us"] / got["cpu_us"], target,
        f"CPU {got['cpu_us']:.1f} us, floor {floor['cpu_us']:.1f}; p50"
        f" {ms(got['p50'])}, p99 {ms(got['p99'])}; rates"
        f" {got['rate'] / floor['rate']:.2f}")


def answer_size(bench, server, paths):
    got = bench.load(server, "-n", "1", "get", bench.path(paths))
    return int(got["bytes"])


def bench_gets(bench, server, rounds, name, tls=None):
    floor = bench.http_floor(answer_size(bench, server, "paths"))
    sides = [lambda: bench.get(server, "paths"),
             lambda: bench.get(floor, "paths")]
    if tls:
        sides.append(lambda: bench.get(tls, "tls-paths", tls=True))
    got = duel(rounds, *sides)
    floor.stop()
    get_row(name, got[0], got[1], ">= 0.80")
    if tls:
        get_row("GET by id over TLS, against plain", got[2], got[0])


def held_rate(bench, server):
    """How many creates a second libmicrohttpd alone holds and answers."""
    floor = bench.http_floor(answer_size(bench, server, "paths"), "hold")
    rates = [bench.create(floor, 256, 50_000)["rate"] for _ in range(3)]
    floor.stop()
    return median(rates)


def bench_list(bench, server):
    floor = bench.http_floor(answer_size(bench, server, "list"))
    got, bare = duel(3, lambda: bench.get(server, "list", conns=4),
                     lambda: bench.get(floor, "list", conns=4))
    floor.stop()
    get_row("list 1,000 of 100,000 by organization", got, bare)


def bench_access(bench):
    """In one process, without a network: a GET's handlers, and in them knowing
    the caller and what it may."""
    said = subprocess.run([bench.program("bench_access")], check=True,
                          stdout=subprocess.PIPE, text=True,
                          preexec_fn=pinned(SERVER_CPU)).stdout
    got = {key: float(value) for key, value in
           re.findall(r"(\w+)=([\d.]+)", said)}
    for who, name in (("admin", "an administrator"),
                      ("user", "one with 1,000 projects")):
        row(f"knowing {name}, of a GET", f"{got[who + '_cached_ns']:.0f} ns",
            f"{got[who + '_get_ns']:.0f} ns", got[who + "_share"], "",
            f"worked out anew {got[who + '_anew_ns'] / 1000:.1f} us; the GET"
            " without HTTP")


def bench_audit(bench):
    said = subprocess.run([bench.program("bench_audit"), bench.path("trail")],
                          check=True, stdout=subprocess.PIPE, text=True,
                          preexec_fn=pinned(SERVER_CPU)).stdout
    got = {key: float(value) for key, value in
           re.findall(r"(\w+)=([\d.]+)", said)}
    row("the audit trail, of a create", f"{got['with'] - got['without']:.1f} us",
        f"{got['with']:.1f} us", 1 - got["without"] / got["with"], "",
        "CPU of both threads; the create without HTTP and JSON")


def bench_watch(bench, server):
    count = str(WRITES_PER_SECOND * WATCH_SECONDS)
    paced = ("-r", str(WRITES_PER_SECOND))
    alone = bench.create(server, 16, count, *paced, seconds=60)
    revision = int(server.metrics()["muster_store_revision"])
    watch = subprocess.Popen(
        [bench.program("bench_watch"), "-p", str(server.port), "-t",
         server.token, "-c", str(WATCHERS), "-n", count, "-s", "30", "-e",
         str(revision), "/v1/projects"], stdout=subprocess.PIPE, text=True,
        preexec_fn=pinned(LOAD_CPU, nice=5))
    if watch.stdout.readline() != "ready\n":
        sys.exit("bench: the watchers did not begin")
    watched = bench.create(server, 16, count, *paced, seconds=60)
    said = watch.communicate(timeout=60)[0]
    exact, events = (int(n) for n in re.findall(r"=(\d+)", said)[:2])
    want = WATCHERS * int(count)
    row(f"events to {WATCHERS:,} watchers", f"{events:,}", f"{want:,}",
        events / want, "= 1",
        f"{exact:,} watchers had every event of {WRITES_PER_SECOND} writes/s")
    row("  writes/s beside them", per_second(watched["rate"]),
        per_second(alone["rate"]), watched["rate"] / alone["rate"], "",
        f"p50 {ms(watched['p50'])}, p99 {ms(watched['p99'])}; without them"
        f" {ms(alone['p50'])}, {ms(alone['p99'])}; CPU"
        f" {watched['cpu_us'] * WRITES_PER_SECOND / 1e4:.0f} % of a core, "
        f"{alone['cpu_us'] * WRITES_PER_SECOND / 1e4:.0f} % without")


def bench_start(bench, server):
    times, floors = [], []
    for _ in range(3):
        server.stop()
        began = time.monotonic()
        with contextlib.closing(sqlite3.connect(
                f"file:{server.data}/muster.db?mode=ro", uri=True)) as db:
            rows, _ = db.execute("SELECT count(*), sum(length(data)) FROM"
                                 " (SELECT data FROM log)").fetchone()
            db.execute("PRAGMA quick_check").fetchone()
        floors.append(time.monotonic() - began)
        server = bench.start(Server, bench, os.path.basename(server.data))
        times.append(server.ready_s)
    row(f"start with {rows:,} objects", f"{median(times):.2f} s",
        f"{median(floors):.2f} s", median(floors) / median(times), "",
        f"{median(times) * 1e6 / rows:.1f} us an object; the floor is SQLite"
        " checking and reading it")
    return server


def tls_server(bench):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-keyout", bench.path("key.pem"), "-out",
         bench.path("cert.pem")], check=True, stderr=subprocess.DEVNULL)
    plain = bench.start(Server, bench, "tls")
    fill_organizations(bench, plain)
    bench.create(plain, 64, SMALL, "-w", bench.path("tls-paths"))
    plain.stop()
    return bench.start(Server, bench, "tls",
                       f"tls:\n  certificate: {bench.path('cert.pem')}\n"
                       f"  key: {bench.path('key.pem')}\n")


def run(bench):
    bench_access(bench)
    bench_audit(bench)
    tls = tls_server(bench)
    server = bench.start(Server, bench, "data")
    fill_organizations(bench, server)
    bench.create(server, 64, SMALL, "-w", bench.path("paths"))
    _, document = stored_bytes(server)
    bench_gets(bench, server, 5, f"GET by id, {SMALL:,} objects", tls)
    tls.stop()
    http = held_rate(bench, server)

    small = server.rss()
    rounds = 3
    got = bench_create(bench, server, 256, rounds, (LARGE - SMALL) // rounds)
    create_row("creates, 256 connections, 1,000 objects up", got, http,
               ">= 0.45")
    each = (server.rss() - small) / (LARGE - SMALL)
    bench_gets(bench, server, 5, f"GET by id, {LARGE:,} objects")
    bench_list(bench, server)
    row("memory an object at 100,000", f"{each:,.0f} B", f"{document:,.0f} B",
        None, "", f"{each - document:,.0f} B over its encoded bytes"
        " (target <= 4,096)")
    for conns in (256, 16, 1):
        got = bench_create(bench, server, conns, 3, 30_000)
        create_row(f"creates, {conns} connections, 100,000 up", got, http,
                   ">= 0.45" if conns == 256 else "")
    bench_watch(bench, server)
    bench_start(bench, server)

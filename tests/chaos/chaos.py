#!/usr/bin/python3
"""The real program while things go wrong around it, under load all the time.

    chaos.py MUSTER SHIM [long] [SCENARIO...]

Each scenario does something to the server (kill -9, a disk that fails, a
process that is stopped, clocks that jump, a flood of connections), again and
again, then lets it come to rest and holds everything that clients were told,
and everything that watchers saw, against the log on the disk, and the
instances against the cloud's own list.

RUNS says how often; a few times unless told, many times when it is to be a
long one.  SEED replays the choices, though not the timing.
"""

import datetime
import errno
import os
import random
import signal
import sys
import time

if len(sys.argv) < 3:
    sys.exit(f"usage: {sys.argv[0]} MUSTER SHIM [long] [SCENARIO...]")
os.environ["SHIM"] = sys.argv[2]

from load import SEED, Rig  # noqa: E402
from muster import PATIENCE, Client, Server, folder  # noqa: E402
from muster import request_bytes, tap, wait_for  # noqa: E402
from tenant import made  # noqa: E402
import shim  # noqa: E402

# "make test" has a word of that name with words in it.
RUNS = os.environ.get("RUNS", "")
RUNS = int(RUNS) if RUNS.isdigit() else 0
DISK_ENDED = 74  # exit status


class Sum:
    """Of all rigs of a scenario."""

    def __init__(self):
        self.acknowledged = self.refusals = self.hits = self.ends = 0
        self.events = self.cloud_hits = 0
        self.wrong = {}

    def add(self, rig, wrong):
        self.acknowledged += rig.acknowledged()
        self.refusals += rig.refusals()
        self.hits += rig.shim.hits()
        self.cloud_hits += rig.cloud_shim.hits()
        self.events += sum(len(w.revisions) for w in rig.watchers)
        for sort, texts in wrong.items():
            self.wrong.setdefault(sort, []).extend(texts)

    def tell(self):
        """The promises, each a test."""
        for sort, text in (
                ("wrong", "no acknowledged write is lost, no refused one is"
                 " there, and nobody saw what cannot be"),
                ("gaps", "every watcher saw every event once, in order"),
                ("clear", "whatever was refused was refused clearly"),
                ("machines", "instances are the cloud's machines, and fsck"
                 " finds nothing")):
            found = self.wrong.get(sort, [])
            tap.ok(not found, text, len(found), *found[:8])


def rounds(total, runs, each, one, **options):
    """RUNS of ONE(rig, dice), on a new rig after EACH of them."""
    dice = random.Random(SEED)
    done = 0
    began = time.monotonic()
    while done < runs:
        rig = Rig(dice.getrandbits(30), **options)
        for _ in range(min(each, runs - done)):
            one(rig, dice, total)
            done += 1
        total.add(rig, rig.finish())
        if runs > each:
            tap.note(f"{done} of {runs} after {time.monotonic() - began:.0f} s:"
                     f" {total.acknowledged} acknowledged, {total.refusals}"
                     f" refusals, {total.hits} faults, {total.events} events,"
                     f" {sum(map(len, total.wrong.values()))} wrong")
    total.tell()


def is_back(rig, what):
    if not rig.writes_again():
        tap.ok(False, f"it works again after {what}", rig.last_words())
        if rig.ended() is not None:
            rig.up()


# Killed at any moment.

def one_kill(rig, dice, _):
    time.sleep(dice.uniform(0.05, 0.4))
    rig.kill()
    if dice.random() < 0.1:  # while it starts, too
        rig.server.launch()
        time.sleep(dice.uniform(0, 0.05))
        rig.kill()
    rig.up()


def kill(runs):
    total = Sum()
    rounds(total, runs, 50, one_kill)
    tap.ok(total.acknowledged > 20 * runs, "there was something to lose",
           total.acknowledged)
    lost, gaps = (len(total.wrong[sort]) for sort in ("wrong", "gaps"))
    tap.note(f"{runs} kills: {total.acknowledged} acknowledged, {lost} lost,"
             f" {gaps} gaps")


# A disk that fails.

def any_fault(dice):
    """Something that a disk may do, as Shim.rule() takes it."""
    seed = dice.getrandbits(32)
    when = dice.choice((
        {}, {}, {"per_mille": dice.choice((50, 200, 500)), "seed": seed},
        {"first": dice.randrange(1, 40)},
        {"first": (n := dice.randrange(1, 40)), "last": n}))
    files = dice.choice((shim.EVERY_FILE, shim.EVERY_FILE, shim.WAL))
    part = dice.choice((shim.NONE, shim.HALF, shim.WHOLE))
    return dice.choice((
        {"calls": shim.WRITE | shim.TRUNCATE, "deed": errno.ENOSPC,
         "part": min(part, shim.HALF)},
        {"calls": shim.WRITE, "deed": errno.EIO, "part": part},
        {"calls": shim.WRITE, "deed": shim.SHORT},
        {"calls": shim.SYNC, "deed": errno.EIO, "part": part},
        {"calls": shim.SYNC, "deed": errno.ENOSPC},
        {"calls": shim.READ, "deed": errno.EIO},
        {"calls": shim.SYNC | shim.WRITE, "deed": 0,
         "delay": dice.uniform(0.001, 0.1)},
        {"calls": shim.READ | shim.WRITE | shim.SYNC | shim.TRUNCATE |
         shim.OPEN, "deed": errno.EIO})) | {"files": files} | when


def watch_it(rig, seconds):
    """Until SECONDS are over and the fault has struck, or the server ended."""
    begin = time.monotonic()
    until, at_most = begin + seconds, begin + 1.5
    before = rig.shim.hits()
    while rig.ended() is None and time.monotonic() < at_most and (
            time.monotonic() < until or rig.shim.hits() == before):
        time.sleep(0.005)


def check_end(rig, rule, started):
    """A process that ends by itself says why."""
    words = rig.last_words()
    good = (74,) if started else (74, 1)
    if rig.ended() not in good or not ("ending, so that" in words or
                                       not started and "cannot" in words):
        tap.ok(False, f"whoever ends says why: {shim.name(rule)}",
               rig.ended(), words)


def start_on(rig, rule):
    """A start on such a disk works, or ends and says why."""
    rig.server.launch()
    until = time.monotonic() + PATIENCE
    while rig.ended() is None and not rig.server.listening() and \
            time.monotonic() < until:
        time.sleep(0.003)
    if rig.ended() is not None:
        check_end(rig, rule, False)
    else:
        rig.port.value = rig.server.port
        watch_it(rig, 0.1)
        if rig.ended() is not None:
            check_end(rig, rule, True)


def fault(rig, dice, total, rule, started=True, seconds=0.3):
    """RULE is in force for a while; then the disk is well again."""
    if not started:
        rig.kill()
    rig.shim.rule(**rule)
    if started:
        watch_it(rig, seconds)
        if rig.ended() is not None:
            check_end(rig, rule, True)
    else:
        start_on(rig, rule)
    killed = rig.ended() is None and dice.random() < 0.3
    if killed:
        rig.kill()
    rig.shim.clear()
    if rig.ended() is None and not rig.writes_again() and \
            rig.ended() is not None:  # it was about to
        check_end(rig, rule, True)
    if rig.ended() is not None:
        total.ends += not killed
        rig.up()
    is_back(rig, shim.name(rule))


def one_fault(rig, dice, total):
    fault(rig, dice, total, any_fault(dice), dice.random() < 0.8,
          dice.uniform(0.05, 0.4))


def disk(runs):
    total = Sum()
    rounds(total, runs, 10, one_fault)
    tap.ok(total.hits > runs, "the disk did fail", total.hits)
    tap.ok(total.refusals + total.ends >= runs // 4, "and that was told",
           total.refusals, total.ends)
    tap.note(f"{runs} disk-fault runs: {total.refusals} refusals,"
             f" {sum(map(len, total.wrong.values()))} wrong answers;"
             f" {total.acknowledged} acknowledged, {total.hits} calls failed,"
             f" {total.ends} ended the process, which said why")


# One fault at a time, and what must come of it.

def alone():
    """A server under a shim of its own, with nobody else there."""
    server = Server()
    control = shim.Shim(shim.library(), server.data,
                        os.path.join(folder(), "control"))
    server.env = control.env()
    return server.start(), control


def late(_):
    """A write that fails may have been done all the same: whoever was told
    that nothing was written does not find it after a crash."""
    server, control = alone()
    api = Client(server)
    for name in ("one", "two", "three"):
        control.clear()
        control.rule(shim.WRITE, 0, files=shim.WAL)
        api.post("/v1/organizations", {"name": name})
    calls = control.counts()[0][0]
    control.clear()
    control.rule(shim.WRITE, errno.EIO, files=shim.WAL, part=shim.WHOLE,
                 first=calls, last=calls)
    try:
        told = api.post("/v1/organizations", {"name": "late"}).status
    except OSError:
        told = None
    tap.eq(control.counts()[0][1], 1,
           "the write that commits failed, and was done")
    if server.process.poll() is None:
        server.kill9()
    control.clear()
    items = Client(server.start()).get("/v1/organizations").json["items"]
    tap.ok(told is None or "late" not in [o["name"] for o in items],
           "what was refused is not there after a crash", told, items)
    tap.ok(told is not None or "nobody can say" in server.log(),
           "whoever ended said why", server.log())


def is_disk(text):
    return "disk" in text and "damaged" not in text and "restore" not in text


def unreadable(_):
    """A page that the disk does not give is not a damaged one: nobody is told
    to restore a backup."""
    server, control = alone()
    api = Client(server)
    for n in range(20):
        api.post("/v1/organizations", {"name": f"o{n}"})
    control.rule(shim.READ, errno.EIO)
    reply = api.get("/v1/audit")
    tap.ok(reply.status == 503 and reply.json["code"] == "unavailable" and
           is_disk(reply.json["detail"]),
           "the audit trail cannot be read: the disk failed", reply)
    tap.eq(api.get("/v1/organizations").status, 200,
           "what is in memory is shown all the while")
    server.kill9()
    for first in range(1, 30):
        control.clear()
        control.rule(shim.READ, errno.EIO, files=shim.DATABASE | shim.WAL,
                     first=first)
        server.launch()
        wait_for(lambda: server.process.poll() is not None or
                 server.listening())
        said = server.log()[server.log_from:]
        if server.process.poll() is None:
            server.kill9()
            break
        if not tap.ok(is_disk(said),
                      f"a start ends at read {first}: the disk failed", said):
            break
    control.clear()
    tap.eq(Client(server.start()).get("/v1/audit").status, 200,
           "a disk that is well again is read")


def full(runs):
    """No room: every write is refused and says so, reads go on, and when
    there is room again writes go on by themselves."""
    total, rig = Sum(), Rig(SEED)
    for n in range(runs):
        rig.shim.rule(shim.WRITE | shim.TRUNCATE,
                      (errno.ENOSPC, errno.EDQUOT)[n % 2],
                      part=(shim.NONE, shim.HALF)[n // 2 % 2])
        before = rig.refusals()
        wait_for(lambda: rig.refusals() > before + 20)
        api = Client(rig.server)
        reply = api.post("/v1/organizations", {"name": f"full-{n}"})
        tap.ok(reply.status == 503 and reply["Retry-After"] and
               "the disk is full; nothing was written" in
               reply.json["detail"], "a full disk is called that", reply)
        tap.eq(api.get("/v1/organizations?limit=1").status, 200,
               "reads go on meanwhile")
        rig.shim.clear()
        tap.ok(rig.writes_again(), "writes go on by themselves",
               rig.last_words())
    total.add(rig, rig.finish())
    tap.ok(total.hits >= runs, "the disk was full", total.hits)
    total.tell()


def unsynced(runs):
    """A disk that refuses to sync ends the process, which says so."""
    def one(rig, dice, _):
        time.sleep(0.1)
        rig.shim.rule(shim.SYNC, errno.EIO, first=dice.randrange(1, 10),
                      part=dice.choice((shim.NONE, shim.WHOLE)))
        wait_for(lambda: rig.ended() is not None)
        words = rig.last_words()
        if rig.ended() != DISK_ENDED or "the disk refuses to sync" not in words:
            tap.ok(False, "it ended and said why", rig.ended(), words)
        rig.shim.clear()
        rig.up()
    total = Sum()
    rounds(total, runs, 20, one)
    tap.ok(total.hits >= runs, "the disk refused", total.hits)


def slow(runs):
    """A slow disk makes things slow, not wrong."""
    def one(rig, dice, _):
        rig.shim.rule(shim.SYNC, 0, delay=dice.uniform(0.02, 0.2))
        rig.shim.rule(shim.WRITE, 0, delay=0.002, per_mille=100)
        watch_it(rig, 0.6)
        if dice.random() < 0.5:
            rig.kill()
            rig.shim.clear()
            rig.up()
        rig.shim.clear()
        is_back(rig, "a slow disk")
    total = Sum()
    rounds(total, runs, 20, one)
    tap.ok(total.hits > 3, "the disk was slow", total.hits)


# A process that does not get to run, and clocks that jump.

def stop(runs):
    """Stopped for a while: what was due meanwhile is late, not lost."""
    def one(rig, dice, _):
        whom = dice.choice(([rig.server], [rig.world.cloud],
                            [rig.server, rig.world.cloud]))
        time.sleep(dice.uniform(0.05, 0.3))
        for who in whom:
            who.process.send_signal(signal.SIGSTOP)
        time.sleep(dice.uniform(0.2, 1.5))
        for who in reversed(whom):
            who.process.send_signal(signal.SIGCONT)
        is_back(rig, "a stop")
    total = Sum()
    rounds(total, runs, 20, one)


HOUR = 3600.0


def clock(runs):
    """The wall clock jumps by hours, there and back."""
    def one(rig, dice, _):
        for step in dice.sample((HOUR, -HOUR, 5 * HOUR, -30 * HOUR, 30 * HOUR,
                                 -0.5, 2.0), 3):
            rig.shim.step(wall=step)
            time.sleep(dice.uniform(0.1, 0.3))
        if dice.random() < 0.3:
            rig.kill()
            rig.up()
        rig.shim.step()
        is_back(rig, "a step of the clock")
    total = Sum()
    rounds(total, runs, 10, one)


def expiry(_):
    """Tokens are as old as the clock says, whichever way it goes."""
    server, control = alone()
    api = Client(server)
    account = made(api.post("/v1/serviceaccounts", {"name": "clock"}))
    ends = datetime.datetime.now(datetime.timezone.utc) + \
        datetime.timedelta(hours=2)
    token = made(api.post("/v1/tokens", {
        "name": "clock", "serviceAccountId": account["id"],
        "expiresAt": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}))
    holder = Client(server, token["token"])
    for hours, want in ((0, 200), (3, 401), (-3, 200), (1, 200), (3, 401),
                        (0, 200)):
        control.step(wall=hours * HOUR)
        tap.eq(holder.get("/v1/whoami").status, want,
               f"a token of two hours, {hours} hours from now")
    tap.ok(control.clocks() > 0, "the clock was another")
    control.step(mono=100 * HOUR)
    tap.eq(Client(server).get("/v1/whoami").status, 200,
           "the clock that only goes forward may go far")


# The cloud's own disk.

def journal(runs):
    """The simulated cloud cannot write down what it does, and is killed: it
    is what its journal says, and the server comes to the same."""
    def one(rig, dice, _):
        cloud, control = rig.world.cloud, rig.cloud_shim
        control.rule(shim.WRITE, dice.choice((errno.ENOSPC, errno.EIO,
                                              shim.SHORT)),
                     part=dice.choice((shim.NONE, shim.HALF)),
                     per_mille=dice.choice((200, 1000)),
                     seed=dice.getrandbits(32))
        time.sleep(dice.uniform(0.1, 0.5))
        if dice.random() < 0.5:
            cloud.kill9()
            control.clear()
            cloud.start()
        control.clear()
        is_back(rig, "a cloud whose disk fails")
    total = Sum()
    rounds(total, runs, 10, one)
    tap.ok(total.cloud_hits > 0, "the cloud's disk did fail", total.cloud_hits)


# More connections than anybody needs.

FLOOD = int(os.environ.get("FLOOD", "1500"))


def open_many(rig, dice):
    """Connections that say nothing, or not all, or too slowly."""
    begin = (b"", b"GET /v1/organizations HT", request_bytes(
        "POST", "/v1/organizations", rig.token,
        {"Content-Type": "application/json", "Content-Length": 100}))
    socks = []
    for _ in range(FLOOD):
        try:
            sock = rig.server.connect()
            sock.sendall(dice.choice(begin))
            socks.append(sock)
        except OSError:
            pass
    return socks


def flood(runs):
    def one(rig, dice, _):
        socks = open_many(rig, dice)
        before = rig.acknowledged()
        served = wait_for(lambda: rig.acknowledged() > before + 100)
        if not served or len(socks) < FLOOD // 2:
            tap.ok(False, "the others are served meanwhile", len(socks),
                   rig.last_words())
        if dice.random() < 0.5:
            rig.kill()
            rig.up()
        for sock in socks:
            sock.close()
        is_back(rig, "a flood")
    total = Sum()
    rounds(total, runs, 10, one)


# All of it.

def mixed(runs):
    """Two things at a time.  A cloud that stands still while the server dies
    may launch long after it should have: that is the sweeper's to find."""
    def one(rig, dice, total):
        with Stepped(rig, dice):
            if dice.random() < 0.3:
                with Paused(rig):
                    rig.shim.rule(shim.WRITE, errno.ENOSPC)
                    watch_it(rig, dice.uniform(0.1, 0.5))
                rig.shim.clear()
                return
            one_fault(rig, dice, total)
            if dice.random() < 0.5:
                one_kill(rig, dice, total)
    total = Sum()
    rounds(total, runs, 10, one)
    tap.ok(total.hits > 0, "the disk did fail", total.hits)


class Stepped:
    """The clock is another meanwhile, sometimes."""

    def __init__(self, rig, dice):
        self.rig = rig
        self.step = dice.choice((0, 0, HOUR, -HOUR, 30 * HOUR))

    def __enter__(self):
        self.rig.shim.step(wall=self.step)

    def __exit__(self, *_):
        self.rig.shim.step()


class Paused:
    """The cloud does not answer meanwhile."""

    def __init__(self, rig):
        self.process = rig.world.cloud.process

    def __enter__(self):
        self.process.send_signal(signal.SIGSTOP)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)


# How often each is done: in a short run, and in a long one.
SCENARIOS = {
    kill: (6, 1000),
    disk: (5, 100),
    late: (1, 1),
    unreadable: (1, 1),
    full: (2, 20),
    unsynced: (2, 20),
    slow: (2, 20),
    stop: (2, 20),
    clock: (2, 20),
    expiry: (1, 1),
    journal: (3, 20),
    flood: (1, 10),
    mixed: (3, 50),
}


def main():
    names = sys.argv[3:]
    is_long = names[:1] == ["long"]
    by_name = {f.__name__: f for f in SCENARIOS}
    names = names[is_long:] or list(by_name)
    unknown = [name for name in names if name not in by_name]
    if unknown:
        sys.exit(f"no scenario {unknown}; there are {', '.join(by_name)}")
    tap.note(f"SEED={SEED}")
    for name in names:
        tap.section(by_name[name], RUNS or SCENARIOS[by_name[name]][is_long])
    tap.end()


if __name__ == "__main__":
    main()

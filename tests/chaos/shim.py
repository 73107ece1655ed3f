"""The other side of shim.c: rules for a disk, steps for clocks, and how often
they struck."""

import errno
import mmap
import os
import struct

READ, WRITE, SYNC, TRUNCATE, OPEN = 1, 2, 4, 8, 16
DATABASE, WAL, SHARED, OTHER = 1, 2, 4, 8
EVERY_FILE = DATABASE | WAL | SHARED | OTHER

SHORT = -1
NONE, HALF, WHOLE = 0, 1, 2

FOR_EVER = (1 << 63) - 1
RULES_MOST = 4
RULE = struct.Struct("=QQqQQQQQQQQ")  # as struct rule
HEAD = struct.Struct("=qqQ")          # as the head of struct control


class Shim:
    """Rules for whoever is started with env(); they outlive that process."""

    def __init__(self, library, under, path):
        self.library, self.under, self.path = library, under, path
        size = HEAD.size + RULES_MOST * RULE.size
        with open(path, "w+b") as file:
            file.truncate(size)
            self.map = mmap.mmap(file.fileno(), size)
        self.rules = 0
        self.before = 0  # hits of rules that are gone

    def env(self):
        return {"LD_PRELOAD": self.library, "CHAOS_CONTROL": self.path,
                "CHAOS_UNDER": self.under.rstrip("/") + "/"}

    def rule(self, calls, deed, files=EVERY_FILE, part=NONE, first=1,
             last=FOR_EVER, per_mille=1000, seed=0, delay=0):
        """One more thing that happens: DEED is SHORT, an errno, or 0 when it
        only takes DELAY seconds.  It strikes calls FIRST to LAST."""
        at = HEAD.size + self.rules * RULE.size
        if self.rules == RULES_MOST:
            raise ValueError("too many rules")
        self.rules += 1
        raw = RULE.pack(calls, files, deed, part, first, last, per_mille,
                        seed, int(delay * 1e6), 0, 0)
        self.map[at + 8:at + RULE.size] = raw[8:]
        self.map[at:at + 8] = raw[:8]  # at last: now it is in force

    def counts(self):
        """(met, struck) of each rule."""
        return [RULE.unpack_from(self.map, HEAD.size + n * RULE.size)[-2:]
                for n in range(self.rules)]

    def hits(self):
        """How often any struck, those that are gone included."""
        return self.before + sum(hits for _, hits in self.counts())

    def clear(self):
        """The disk is as it should be."""
        for n in range(self.rules):
            at = HEAD.size + n * RULE.size
            self.map[at:at + 8] = bytes(8)
        self.before = self.hits()
        self.rules = 0

    def step(self, wall=0.0, mono=0.0):
        """So many seconds away from the real time."""
        clocks = self.clocks()
        HEAD.pack_into(self.map, 0, int(wall * 1000), int(mono * 1000), clocks)

    def clocks(self):
        """How often a clock was read that was not at the real time."""
        return HEAD.unpack_from(self.map)[2]


def name(rule):
    """Words for what a rule (a dict, as for Shim.rule) does."""
    calls = [word for bit, word in ((READ, "read"), (WRITE, "write"),
                                    (SYNC, "sync"), (TRUNCATE, "truncate"),
                                    (OPEN, "open")) if rule["calls"] & bit]
    deed = rule["deed"]
    what = "short" if deed == SHORT else errno.errorcode.get(deed, "slow")
    return f"{what} {'/'.join(calls)}" + "".join(
        f" {key}={value}" for key, value in rule.items()
        if key not in ("calls", "deed"))


def library():
    return os.path.abspath(os.environ.get("SHIM", ""))

#!/usr/bin/python3
"""Whether the checker would notice: histories that cannot be true, each wrong
in one way, and some that look odd and are true."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "e2e"))

from history import (DONE, FOREVER, REFUSED, Log, Op, check,  # noqa: E402
                     check_revisions, check_watch)
from muster import tap  # noqa: E402


def create(began, ended, revision, value, object="a"):
    return Op("create", object, began, ended, DONE, value, revision)


def write(began, ended, revision, value, match=None, object="a"):
    return Op("write", object, began, ended, DONE, value, revision, match)


def read(began, ended, revision, value):
    return Op("read", "a", began, ended, DONE, value, revision)


def refused(began, ended, value, match=None, **how):
    return Op("write", "a", began, ended, REFUSED, value, None, match, **how)


def unknown(began, value):
    return Op("write", "a", began, value=value)


def delete(began, ended):
    return Op("delete", "a", began, ended, DONE)


def absent(began, ended):
    return Op("read", "a", began, ended, REFUSED, absent=True)


# Made at 1, changed at 3 and 5, deleted at 8; 2 and 4 belong to another.
LOG = [(1, "a", "new"), (2, "b", "other"), (3, "a", "x"), (4, "b", "more"),
       (5, "a", "y"), (8, "a", None)]

TRUE = [create(0, 1, 1, "new"), write(2, 3, 3, "x"), write(4, 5, 5, "y", 3),
        delete(8, 9), create(0, 1, 2, "other", "b"),
        write(1, 4, 4, "more", object="b")]

# name: (what happened beside TRUE, a word of what the checker says)
BAD = {
    "a write that is lost": ([write(5, 6, 6, "z")], "acknowledged"),
    "a write at another revision": ([write(2, 3, 4, "x")], "acknowledged"),
    "a create that is lost": ([create(5, 6, 7, "n", "c")], "acknowledged"),
    "a refused write that is there": ([refused(2, 3, "x")], "refused"),
    "a stale read": ([read(6, 7, 3, "x")], "went back"),
    "two reads that go back": ([read(2, 2.5, 3, "x"), read(2.6, 2.9, 1,
                                                           "new")],
                               "went back"),
    "a read of what has not begun": ([read(1.2, 1.5, 3, "x")],
                                     "had not begun"),
    "a read of another value": ([read(6, 7, 5, "x")], "is y"),
    "a read of what never was": ([read(6, 7, 6, "q")], "no revision"),
    "a read after the delete": ([read(10, 11, 5, "y")], "went back"),
    "gone before it was deleted": ([absent(6, 7)], "had not begun"),
    "a change on top of another revision": ([write(4, 5, 5, "y", 1)],
                                            "came behind 3"),
    "a mismatch that was none": ([refused(3.2, 3.8, "w", 3, mismatch=True)],
                                 "had not begun"),
    "a mismatch with what was last": ([refused(9.5, 9.7, "w", 8,
                                               mismatch=True)], "still was"),
    "a write that began after it was seen": ([unknown(20, "x")],
                                             "went back"),
}

GOOD = {
    "what happened": [],
    "reads between the writes": [read(1, 2, 1, "new"), read(3.5, 3.9, 3, "x"),
                                 read(6, 7, 5, "y"), absent(10, 11)],
    "a read beside a write, of either": [read(2, 3, 1, "new"),
                                         read(2, 3, 3, "x")],
    "a write that nobody knows of and that is not there": [unknown(2, "w")],
    "a refused write that is not there": [refused(2, 3, "w")],
    "a mismatch with what is old": [refused(3.5, 4, "w", 1, mismatch=True)],
    "a mismatch beside its cause": [refused(4.5, 4.9, "w", 3, mismatch=True)],
    "gone beside the delete": [absent(8.5, 8.6)],
}


def histories():
    for name, ops in GOOD.items():
        tap.eq(check(TRUE + ops, Log(LOG)), [], f"true: {name}")
    for name, (ops, word) in BAD.items():
        values = {op.value for op in ops}
        beside = [op for op in TRUE if op.value not in values or
                  op.value is None or ops[0].kind == "read"]
        found = check(beside + ops, Log(LOG))
        tap.ok(any(word in text for text in found), f"caught: {name}", found)
    found = check([op for op in TRUE if op.kind != "delete"], Log(LOG))
    tap.ok(found, "caught: a delete that nobody asked for")
    found = check(TRUE, Log([row for row in LOG if row[2]]))
    tap.ok(found, "caught: a delete that is lost")
    found = check(TRUE, Log(LOG + [(9, "a", "x")]))
    tap.ok(found, "caught: a write that is done twice")
    found = check(TRUE + [delete(9.5, 9.9)], Log(LOG))
    tap.ok(found, "caught: a delete that is acknowledged twice")


def watches():
    log = list(range(10))
    for name, seen, want in (
            ("everything", log, (0, 0, 0)),
            ("a gap", log[:4] + log[5:], (1, 0, 0)),
            ("an end that is missing", log[:7], (3, 0, 0)),
            ("a beginning that is missing", log[2:], (2, 0, 0)),
            ("an event twice", log[:5] + log[4:], (0, 1, 0)),
            ("what is not in the log", log[:5] + [99] + log[5:], (0, 0, 1)),
            ("another order", [0, 2, 1] + log[3:], (1, 1, 0))):
        tap.eq(check_watch(seen, log), want, f"a watch with {name}")
    tap.eq(check_revisions([1, 2, 3]), [], "revisions in order")
    tap.ok(check_revisions([1, 3, 4]), "caught: a revision that is missing")


def by_chance():
    """A register that works, used by many, is never called wrong; with one
    answer of another moment it is."""
    dice = random.Random(7)
    caught = tried = 0
    for _ in range(200):
        rows, ops, now = [(1, "a", "v1")], [create(0, 0.5, 1, "v1")], 1.0
        for revision in range(2, 40):
            began, at, ended = sorted(now + dice.random() for _ in range(3))
            if dice.random() < 0.5:
                rows.append((revision, "a", f"v{revision}"))
                ops.append(write(began, ended, revision, f"v{revision}"))
            else:
                ops.append(read(began, ended, *rows[-1][::2]))
            now = at
        # Whoever came first did its work first; the others are beside it.
        if check(ops, Log(rows)):
            tap.ok(False, "a register that works", check(ops, Log(rows)))
            return
        late = read(now + 2, FOREVER, *dice.choice(rows[:-1])[::2])
        late.ended = now + 3
        tried += 1
        caught += bool(check(ops + [late], Log(rows)))
    tap.eq(caught, tried, "a stale read by chance is caught each time")


for section in (histories, watches, by_chance):
    tap.section(section)
tap.end()

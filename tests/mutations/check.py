#!/usr/bin/env python3
"""check - hold the table of safeguards against the source, the tests and
docs/reliability.md: each text is there exactly once, each test that is named
exists, and the documentation lists the same rows.

A finding means that the code around a safeguard has changed: find it, and
write in table.py how the source reads without it now.
"""

import os
import re
import sys

sys.dont_write_bytecode = True

from table import MUTATIONS  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LEAST = 20
HEAD = "| safeguard | rule | caught by | seeds |\n|---|---|---|---|\n"


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def check_edits(mutation):
    texts = {}
    for name, old, new in mutation.edits:
        text = texts.get(name) or read(name)
        if text.count(old) != 1:
            yield (f"{mutation.name}: {name} has this {text.count(old)} times,"
                   f" not once:\n{old}")
        if old == new:
            yield f"{mutation.name}: it changes nothing"
        texts[name] = text.replace(old, new)


def is_test(name, build):
    """As meson.build calls it."""
    return re.search(rf"'{name}'", build) is not None


def check_rows():
    build, names = read("meson.build"), set()
    for m in MUTATIONS:
        yield from check_edits(m)
        if not m.edits:
            yield f"{m.name}: there is nothing to change"
        if not 1 <= m.rule <= 12:
            yield f"{m.name}: there is no rule {m.rule}"
        if m.name in names or "|" in m.name:
            yield f"{m.name}: the name must be one of its own"
        names.add(m.name)
        for name in m.tests:
            if not is_test(name, build):
                yield f"{m.name}: there is no test {name}"
    if len(MUTATIONS) < LEAST:
        yield f"there are {len(MUTATIONS)} rows; there were to be {LEAST}"


def check_docs():
    """Which test notices, and when, is what was measured: not compared."""
    _, found, table = read("docs", "reliability.md").partition(HEAD)
    rows = table.partition("\n\n")[0].splitlines()
    told = [tuple(row.split(" | ")[:2]) for row in rows]
    want = [(f"| {m.name}", str(m.rule)) for m in MUTATIONS]
    if not found:
        yield "docs/reliability.md has no table of safeguards"
        return
    for row in want:
        if row not in told:
            yield f"docs/reliability.md does not have: {' | '.join(row)}"
    for row in told:
        if row not in want:
            yield f"docs/reliability.md has, and we have not: {row[0]}"
    if sorted(told) == sorted(want) and told != want:
        yield "docs/reliability.md has the safeguards in another order"


def main():
    found = list(check_rows()) + list(check_docs())
    for line in found:
        print(line)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

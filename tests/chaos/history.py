"""Whether what clients were told can be true.

Clients write down each request: when it went out, when its answer came, what
was asked and what was said.  Afterwards the log on the disk says which writes
there were, in which order.  Every write of a test has a value of its own, so
each is found in the log, or is not.

An object is a register.  Its writes are ordered by their revisions; a read
belongs behind the write that it shows.  The answers can be true if and only if
no request that was answered before another began has its place behind it:
then real time and places make one order in which each did its work at one
moment between its beginning and its answer.
"""

import bisect
from dataclasses import dataclass, field

# What became of a request.
DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"

FOREVER = float("inf")


@dataclass
class Op:
    """One request.  VALUE is what a write wanted or a read saw, REVISION what
    the answer said; MATCH is what If-Match asked for.  OBJECT is an id, which
    a create that had no answer does not know."""
    kind: str  # create, write, delete, read
    object: str
    began: float
    ended: float = FOREVER
    outcome: str = UNKNOWN
    value: str = None
    revision: int = None
    match: int = None
    absent: bool = False    # a read or a write found no such object
    mismatch: bool = False  # a write was refused because of its If-Match
    said: str = ""


@dataclass
class Object:
    """What the log says of one object: (revision, value), None when it goes."""
    writes: list = field(default_factory=list)

    def at(self, revision):
        """The index of the write with that revision, or None."""
        n = bisect.bisect_left(self.writes, revision, key=lambda w: w[0])
        return n if n < len(self.writes) and \
            self.writes[n][0] == revision else None


class Log:
    """Every write in the order of the disk: [(revision, object, value)], a
    value of None is a delete."""

    def __init__(self, rows):
        self.objects = {}
        self.values = {}  # value: [(revision, object)]
        self.revisions = [r for r, _, _ in rows]
        for revision, id, value in rows:
            self.objects.setdefault(id, Object()).writes.append(
                (revision, value))
            if value is not None:
                self.values.setdefault(value, []).append((revision, id))


def check(ops, log):
    """What is wrong with the answers to OPS: a list of sentences."""
    wrong = []
    by_object = {}
    for op in ops:
        if op.kind in ("create", "write"):
            wrong += check_value(op, log)
        if op.outcome != UNKNOWN or op.kind == "read":
            by_object.setdefault(op.object, []).append(op)
        elif op.kind == "write" and log.values.get(op.value):
            by_object.setdefault(op.object, []).append(op)
    wrong += check_deletes(ops, log)
    for id, those in by_object.items():
        if id is not None:
            wrong += check_object(id, those, log)
    return wrong


def check_value(op, log):
    """An acknowledged write is there once, a refused one is not there."""
    where = log.values.get(op.value, [])
    if op.outcome == DONE and where != [(op.revision, op.object)]:
        return [f"{told(op)}: acknowledged, and the log has {where}"]
    if op.outcome == REFUSED and where:
        return [f"{told(op)}: refused, and the log has {where}"]
    if len(where) > 1:
        return [f"{told(op)}: done twice: {where}"]
    return []


def check_deletes(ops, log):
    """As check_value; deletes have no value, and are counted."""
    wrong, most, done = [], {}, set()
    for op in ops:
        if op.kind != "delete":
            continue
        if op.outcome == DONE and op.object in done:
            wrong.append(f"{told(op)}: acknowledged twice")
        if op.outcome == DONE:
            done.add(op.object)
        gone = [r for r, v in log.objects.get(op.object, Object()).writes
                if v is None]
        if op.outcome == DONE and not gone:
            wrong.append(f"{told(op)}: acknowledged, and it is there")
        if op.outcome != REFUSED:
            most[op.object] = most.get(op.object, 0) + 1
    for id, object in log.objects.items():
        gone = sum(1 for _, v in object.writes if v is None)
        if gone > min(1, most.get(id, 0)):
            wrong.append(f"{id}: deleted {gone} times, and"
                         f" {most.get(id, 0)} might have done that")
    return wrong


def place_of(op, object):
    """(lowest place that the answer allows, highest), or why there is none.
    A write has place 2n, what sees it 2n + 1."""
    last = 2 * len(object.writes)
    if op.absent:
        gone = [n for n, (_, v) in enumerate(object.writes) if v is None]
        return (2 * gone[0] + 1, last) if gone else "it was never deleted"
    if op.mismatch:
        n = object.at(op.match)
        if n is None:
            return "there never was what it asked for"
        if n + 1 >= len(object.writes):
            return "it still was what it asked for"
        return 2 * n + 3, last
    if op.kind == "delete":
        return next((2 * n, 2 * n) for n, (_, v) in enumerate(object.writes)
                    if v is None)
    n = object.at(op.revision)
    if n is None:
        return f"there is no revision {op.revision} of it"
    if object.writes[n][1] != op.value:
        return f"revision {op.revision} is {object.writes[n][1]}"
    if op.kind == "read":
        return 2 * n + 1, 2 * n + 1
    if op.match is not None and (n == 0 or
                                 object.writes[n - 1][0] != op.match):
        return f"it came behind {object.writes[n - 1][0]}"
    return 2 * n, 2 * n


def check_object(id, ops, log):
    object = log.objects.get(id, Object())
    placed, wrong = [], []
    for op in ops:
        if op.outcome == UNKNOWN and op.kind == "read":
            continue
        if op.outcome == UNKNOWN:
            revision = log.values[op.value][0][0]
            n = object.at(revision)
            place = (2 * n, 2 * n) if n is not None else \
                "it is in the log of another"
        elif op.outcome == REFUSED and not op.absent and not op.mismatch:
            continue
        elif op.kind == "delete" and not op.absent and not op.mismatch and \
                all(v is not None for _, v in object.writes):
            continue  # told of already
        else:
            place = place_of(op, object)
        if isinstance(place, str):
            wrong.append(f"{told(op)}: {place}")
        else:
            placed.append((op, *place))
    return wrong + check_order(placed) + check_effects(placed, object)


def check_order(placed):
    """Nobody sees less than somebody was told before."""
    ends = sorted((op.ended, low, told(op)) for op, low, _ in placed
                  if op.ended < FOREVER)
    floors, floor, by = [], -1, ""
    for ended, low, text in ends:
        if low > floor:
            floor, by = low, text
        floors.append((ended, floor, by))
    wrong = []
    for op, _, high in placed:
        n = bisect.bisect_left(floors, op.began, key=lambda f: f[0])
        if n and floors[n - 1][1] > high:
            wrong.append(f"{told(op)}: went back behind {floors[n - 1][2]}")
    return wrong


def check_effects(placed, object):
    """Nothing is seen before whoever caused it had begun; what is refused for
    a write had one that had begun by then."""
    began = [-FOREVER] * len(object.writes)
    for op, low, high in placed:
        if low == high and low % 2 == 0:
            began[low // 2] = op.began
    return [f"{told(op)}: saw what had not begun"
            for op, low, _ in placed
            if low % 2 and began[low // 2] > op.ended]


def told(op):
    what = f"{op.kind} of {op.object}"
    if op.match is not None:
        what += f" at {op.match}"
    if op.value is not None:
        what += f" ({op.value})"
    if op.revision is not None:
        what += f" -> {op.revision}"
    return f"{what} {op.said}".rstrip()


def check_revisions(revisions):
    """Each is there once, from the first to the last."""
    want = list(range(revisions[0], revisions[0] + len(revisions))) \
        if revisions else []
    return [] if revisions == want else [
        f"revisions: {have}, and not {one}"
        for have, one in zip(revisions, want) if have != one][:1]


def check_watch(seen, wanted):
    """(gaps, duplicates, others): what a watcher did not see of WANTED, saw
    twice or out of order, and saw that is not there.  Both are lists of what
    can be compared, in order."""
    place = {event: n for n, event in enumerate(wanted)}
    at, missed, again, others = -1, 0, 0, 0
    for event in seen:
        n = place.get(event)
        if n is None:
            others += 1
        elif n <= at:
            again += 1
        else:
            missed += n - at - 1
            at = n
    return missed + len(wanted) - at - 1, again, others

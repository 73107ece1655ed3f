/*
 * admit - what is taken on while there is more to do than can be done.
 *
 * A request is refused as soon as that is known: by its route alone, before its
 * caller is looked up and its body read.  Probes never are.  Any other is when
 * there was no room for its connection, or the server was busy with those
 * before it for ADMIT_LATE_MS, so that those which are taken on are answered
 * while their clients still wait; and a change also when conf.pending_most of
 * them wait to be written, or more than ADMIT_ALWAYS and than were written of
 * late in ADMIT_WAIT_MS.
 *
 * To refuse costs a third of what it costs to create.  Who comes again at once
 * could keep the server busy with refusing, so that is paced: so many in a
 * millisecond go out at once, the others wait for their turn, for half a second
 * at most.  A connection has one request at a time, so their number is bounded
 * by the connections'.
 */
#pragma once

#include <stdbool.h>

enum { ADMIT_LATE_MS = 100, ADMIT_REFUSALS_PER_MS = 2 };
enum { ADMIT_ALWAYS = 1024, ADMIT_WAIT_MS = 250 };

struct call;

/* Whether to go on with a call whose route is known; when not, it has been
 * answered, or will be. */
bool admit_call(struct call *c);

/* Whether a change may be taken on now; the same. */
bool admit_change(struct call *c);

/* Whether another stream may be begun; the same. */
bool admit_stream(struct call *c);

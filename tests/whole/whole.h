/*
 * whole - all of Muster in one thread: the real API handlers, store, cascades,
 * controllers, monitor and sweeper, on a disk in memory and a simulated cloud
 * that outlives it, with clocks that are stepped.
 *
 * Nothing happens by itself.  Requests, commits, calls of the cloud, their
 * answers and the time that passes are steps, taken in an order that the tape
 * (tape.h) says.  A crash drops all but the disk and the cloud, at one of these
 * boundaries:
 *
 *	a commit	before it is written; written, but not answered
 *	a call		before it is made; made, but not answered; answered, but
 *			not recorded
 *
 * What happens is told to the judge (judge.h) as it happens.
 */
#pragma once

#include <stdbool.h>

#include "tape.h"

struct played {
	bool held;     /* no rule was broken */
	int class;     /* enum judge_class */
	char why[512]; /* the first that was, and how */
	unsigned revisions, calls, crashes, launches; /* how much happened */
	uint64_t digest; /* of what happened: the same tape, the same */
};

/* Play T, let everything come to rest on a cloud that is well, look; then have
 * all deleted, and look again.  LOUD tells each step on standard output. */
void whole_play(const struct tape *t, bool loud, struct played *ret);

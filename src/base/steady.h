/*
 * steady - a time of day that never goes back, on a clock that may.
 *
 * It is the wall clock's as long as that goes forward.  When that is put back,
 * it goes on at the pace of the monotonic clock until it is overtaken.  When the
 * wall clock leaps forward it follows: then times before the leap are not as
 * long ago as they seem, and whoever counts on that asks since when it has run
 * evenly.
 */
#pragma once

#include "base/clock.h"

struct steady {
	const struct clock *clock;
	int64_t at;    /* the last that was told, */
	uint64_t mono; /* and when that was */
	int64_t even;  /* since when it has run evenly */
};

void steady_init(struct steady *s, const struct clock *clock);

/* What happened elsewhere happened at AT: it is not before that. */
void steady_reach(struct steady *s, int64_t at);

int64_t steady_now(struct steady *s);

/* It has run evenly since then: what lies between two times after it took as
 * long as they say. */
int64_t steady_even_since(struct steady *s);

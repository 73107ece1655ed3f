/*
 * rate - so many a second, for anyone who can be named.
 *
 * A fixed number of buckets; two names may share one.  So it never grows, and
 * the worst a flood of names does is to slow each other down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RATE_BUCKETS = 1024 };

struct rate {
	struct {
		uint64_t at_ms;
		double left;
	} buckets[RATE_BUCKETS];
	double per_second, burst; /* per_second 0: no limit */
};

void rate_init(struct rate *r, double per_second, double burst);

/* Take one for NAME; false, and how long to wait, when there is none left. */
bool rate_take(struct rate *r, const char *name, uint64_t now_ms,
	       uint32_t *ret_wait_ms);

/*
 * retry - what becomes of something that failed: when it is tried again, or
 * what it waits for.  Pure.
 *
 * Waits begin at a second and double to a minute, each shortened by chance by
 * up to a quarter, so that what failed together does not come back together.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/random.h"
#include "model/status.h"

/* The wait after so many failures in a row (1: the first). */
int64_t retry_wait(int64_t failures, struct random *r);

/* ERR, after so many failures before it, as a reason that is kept: waits_for,
 * retry_at and failures are set.  What passes, or is to be had elsewhere, waits
 * for time: what the provider asked for, or retry_wait().  The rest is parked:
 * it waits for a change when the request or the object is at fault, otherwise
 * for an operator. */
struct reason retry_reason(const struct err *err, int64_t failures, int64_t now,
			   struct random *r, struct arena *a);

/* The same, never parking: deletions. */
struct reason retry_always(const struct err *err, int64_t failures, int64_t now,
			   struct random *r, struct arena *a);

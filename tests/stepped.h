/* stepped - a clock that stands still until the test moves it: one a program. */
#pragma once

#include "base/clock.h"

static int64_t now = 1700000000000;

static int64_t stepped_wall(const struct clock *c)
{
	(void)c;
	return now;
}

static uint64_t stepped_mono(const struct clock *c)
{
	(void)c;
	return (uint64_t)now;
}

static const struct clock stepped = {stepped_wall, stepped_mono};

/* What waits moves it: CTX is not looked at. */
static inline void step(void *ctx, uint64_t ms)
{
	(void)ctx;
	now += (int64_t)ms;
}

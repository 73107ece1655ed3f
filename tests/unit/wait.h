/* wait - for something to become true, but not for ever. */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "serving.h"

static inline bool reaches(atomic_int *count, int value)
{
	for (int i = 0; i < WIRE_SECONDS * 1000; i++) {
		if (atomic_load(count) == value)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

/* The server has only so many connections left. */
static inline bool drains(struct serving *s, uint64_t connections)
{
	for (int i = 0; i < WIRE_SECONDS * 1000; i++) {
		if (serving_stats(s).connections == connections)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

/*
 * counts - how the calls to a provider went, for metrics.  Any thread may ask
 * at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct provider;

struct provider_count {
	const char *call;      /* "launch" */
	enum err_code outcome; /* ERR_NONE: it was done */
	uint64_t calls;
	uint64_t ms; /* all of them together */
};

/* The next that happened at all, from *I = 0 on; false at the end. */
bool provider_count(const struct provider *p, size_t *i,
		    struct provider_count *ret);

/* Calls that have begun and not ended. */
unsigned provider_under_way(const struct provider *p);

/*
 * run - a program, run to its end.
 *
 * It is given words, never a line for a shell; an environment of our own; no
 * descriptor of ours but its three; and a time.  Blocks; any thread may call.
 */
#pragma once

#include <stdatomic.h>

#include "base/attr.h"
#include "base/err.h"

struct run {
	const char *const *argv; /* up to a NULL; found on the usual path */
	unsigned timeout_ms;
	const atomic_bool *stop; /* kill it when this is set; or NULL */
};

/* 0 when it ended well.  ERR_TIMEOUT, or ERR_PROVIDER with what it complained
 * of last; ERR_UNAVAILABLE when it was stopped, or cannot be run at all. */
int run(const struct run *r, struct err *err) MUST_CHECK;

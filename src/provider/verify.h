/*
 * verify - the contract of providers, as checks that are made of an open one.
 *
 * The same checks for a test on the simulated cloud and for an operator on a
 * real account: they launch a few machines, do everything to them that the
 * provider says it can, and end by looking for what was left behind.  The
 * provider must have been opened with an installation of its own: all that is
 * tagged with it is taken to be of this run.
 *
 * Blocks; the calls are made one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "provider/provider.h"

enum verify_outcome { VERIFY_OK, VERIFY_FAILED, VERIFY_SKIPPED };

struct verify_conf {
	struct provider *provider;
	const struct clock *clock;  /* NULL: the machine's */
	struct random *random;      /* for ids; NULL: the kernel's */
	const char *flavor, *image; /* provider's ids; NULL: the least of its
				      * catalogue, and an image that fits */
	const char *zone;           /* or NULL */
	const char *import;         /* where an image is to be had; NULL: one of
				      * Debian's, from the Internet */
	uint64_t patience_ms;       /* for one thing; 0: as the facts say */
	/* How to wait; NULL: the thread sleeps. */
	void (*sleep)(void *ctx, uint64_t ms);
	/* Where the cloud can be looked at from outside, as in a test; NULL: it
	 * cannot, and the checks that need it are skipped.  Bring a machine
	 * into a state that no driver has heard of; how many machines there
	 * are, whosever they are. */
	int (*confuse)(void *ctx, const char *id);
	size_t (*machines)(void *ctx);
	/* After each check; WHY is NULL when it passed. */
	void (*tell)(void *ctx, const char *check, enum verify_outcome outcome,
		     const char *why);
	void *ctx;
};

struct verify_result {
	unsigned passed, failed, skipped;
	unsigned orphans; /* machines that were still there at the end; they
			   * were terminated then */
};

void verify_run(const struct verify_conf *conf, struct verify_result *ret);

/* The names of all checks, in order, ended by NULL. */
const char *verify_name(size_t i);

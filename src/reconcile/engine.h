/*
 * engine - makes what the store says is wanted so: steps controllers, calls
 * providers on workers, one region's no more and no faster than it allows.
 *
 * It learns what to look at from the store's changes, and from one look at
 * everything when it starts.  An object at rest costs nothing but its place in
 * the store.
 *
 * Everything happens in engine_turn() and in the done() of jobs, on one thread;
 * time, randomness and workers are the caller's, so that a simulation can have
 * all of it in one thread and repeat it.  Dropping an engine is a crash like
 * any other: calls under way may have happened, nothing was recorded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct clock;
struct engine;
struct job;
struct provider;
struct random;
struct store;

struct engine_conf {
	struct store *store;
	const struct clock *clock;
	struct random *random;
	const char *installation; /* its id, on everything we make */
	const char *folder;       /* for what providers keep on this machine */
	unsigned workers; /* a region gets three quarters of them; 0: all */

	/* Have the job run on a worker, and its done() called on our thread:
	 * later, never from inside this. */
	void (*run)(void *ctx, struct job *j);
	/* How a provider's call waits; NULL: its thread sleeps. */
	void (*sleep)(void *ctx, uint64_t ms);
	/* engine_turn() is wanted at this (monotonic) time at the latest; each
	 * call replaces the one before. */
	void (*wake)(void *ctx, uint64_t mono_ms);
	/* engine_turn() is wanted now; from any thread.  NULL: nobody listens
	 * to what providers say has happened. */
	void (*ring)(void *ctx);
	void *ctx;
};

struct engine *engine_new(const struct engine_conf *conf);

/* Jobs under way must have been waited for, with or without their done(). */
void engine_free(struct engine *e);

/* Step what is due. */
void engine_turn(struct engine *e);

struct engine_stats {
	size_t works;   /* objects looked after */
	size_t queued;  /* of those, due or waiting for a time */
	size_t parked;  /* or waiting for something else to happen */
	size_t waiting; /* calls that wait for their region */
	size_t calling; /* calls under way */
	uint64_t steps;
	uint64_t calls[ERR_CODE_COUNT]; /* by what they came to */
};

void engine_stats(const struct engine *e, struct engine_stats *ret);

/* Each provider that is open, and its region's id: for metrics. */
void engine_providers(const struct engine *e,
		      void (*visit)(void *ctx, const char *region,
				    const struct provider *p),
		      void *ctx);

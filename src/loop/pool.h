/*
 * pool - worker threads for what blocks.
 *
 * A job is a copy of its inputs and a place for its result.  run() happens on
 * a worker and may touch only the job; done() comes back on the loop's thread.
 * Jobs start in the order they were given; a pool of one thread also ends them
 * in that order.
 */
#pragma once

#include <stddef.h>

#include "loop/loop.h"

struct pool;

struct job {
	void (*run)(struct job *j);  /* on a worker */
	void (*done)(struct job *j); /* on the loop */
	struct post post;
	struct list link;
	struct pool *pool;
};

struct pool *pool_new(struct loop *l, size_t threads);

/* Waits for the jobs that have begun, and for those that wait; the done() of
 * each has been posted when this returns.  Run the loop once more for them. */
void pool_free(struct pool *p);

void pool_run(struct pool *p, struct job *j);

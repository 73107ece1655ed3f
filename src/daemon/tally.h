/*
 * tally - how many instances there are in which state, and how long they took
 * to run: kept beside the store, so that metrics need not look at them all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/instance.h"

struct buf;

enum { TALLY_TIMES = 12 };

struct tally {
	uint64_t states[INSTANCE_UNKNOWN + 1];
	uint64_t changing; /* have a change under way */
	uint64_t waiting;  /* have a reason not to be as they are wanted */

	/* From being asked for to running. */
	uint64_t times[TALLY_TIMES + 1]; /* the last: all that are longer */
	uint64_t launches, sum_ms;
	char leaving[37]; /* the uid of one that had not run a moment ago */
};

/* For the store, with a struct tally. */
void tally_observe(void *ctx, const struct kind *k, const void *object, int by);

/* In Prometheus' words. */
void tally_write(const struct tally *t, struct buf *out);

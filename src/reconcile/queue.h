/*
 * queue - what is to be looked at, and when.
 *
 * A heap of entries by due time, each in it once: adding one again only brings
 * it forward.  Entries lie in what they stand for and are not owned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_NEVER UINT64_MAX

struct queued {
	uint64_t due;   /* monotonic milliseconds */
	uint64_t order; /* of adding: those due together keep it */
	size_t place;   /* in the heap, from 1; 0: not queued */
};

struct queue {
	struct queued **heap;
	size_t len, room;
	uint64_t added;
};

void queue_release(struct queue *q);

/* Due at DUE, or at the time it already has when that is earlier. */
void queue_add(struct queue *q, struct queued *e, uint64_t due);

/* No-op when it is not queued. */
void queue_remove(struct queue *q, struct queued *e);

/* What has been due longest, taken out; NULL when nothing is due. */
struct queued *queue_pop(struct queue *q, uint64_t now);

/* When the next falls due, or QUEUE_NEVER. */
uint64_t queue_next(const struct queue *q);

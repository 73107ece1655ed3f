#include "reconcile/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static bool before(const struct queued *a, const struct queued *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* heap[0] is due first; the children of heap[i] are heap[2i+1], heap[2i+2]. */
static void put(struct queue *q, size_t i, struct queued *e)
{
	q->heap[i] = e;
	e->place = i + 1;
}

static void sift_up(struct queue *q, size_t i)
{
	struct queued *e = q->heap[i];

	while (i > 0 && before(e, q->heap[(i - 1) / 2])) {
		put(q, i, q->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(q, i, e);
}

static void sift_down(struct queue *q, size_t i)
{
	struct queued *e = q->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < q->len &&
		    before(q->heap[child + 1], q->heap[child]))
			child++;
		if (child >= q->len || before(e, q->heap[child]))
			break;
		put(q, i, q->heap[child]);
		i = child;
	}
	put(q, i, e);
}

void queue_release(struct queue *q)
{
	for (size_t i = 0; i < q->len; i++)
		q->heap[i]->place = 0;
	free(q->heap);
	*q = (struct queue){0};
}

void queue_add(struct queue *q, struct queued *e, uint64_t due)
{
	if (e->place && due >= e->due)
		return;
	e->due = due;
	e->order = q->added++;
	if (!e->place) {
		if (q->len == q->room) {
			q->room = q->room ? 2 * q->room : 64;
			q->heap = xrealloc(q->heap, q->room, sizeof(*q->heap));
		}
		put(q, q->len++, e);
	}
	sift_up(q, e->place - 1);
}

void queue_remove(struct queue *q, struct queued *e)
{
	size_t i = e->place - 1;
	struct queued *last;

	if (!e->place)
		return;
	assert(q->heap[i] == e);
	e->place = 0;
	last = q->heap[--q->len];
	if (last == e)
		return;
	put(q, i, last);
	sift_up(q, i);
	sift_down(q, last->place - 1);
}

struct queued *queue_pop(struct queue *q, uint64_t now)
{
	struct queued *e;

	if (!q->len || q->heap[0]->due > now)
		return NULL;
	e = q->heap[0];
	queue_remove(q, e);
	return e;
}

uint64_t queue_next(const struct queue *q)
{
	return q->len ? q->heap[0]->due : QUEUE_NEVER;
}

#include "reconcile/queue.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/random.h"
#include "test.h"

static void hands_out_in_order_of_due_time(void)
{
	struct queue q = {0};
	struct queued late = {0}, soon = {0};

	queue_add(&q, &late, 20);
	queue_add(&q, &soon, 10);
	CHECK(queue_next(&q) == 10);
	CHECK(queue_pop(&q, 9) == NULL);
	CHECK(queue_pop(&q, 30) == &soon);
	CHECK(queue_pop(&q, 30) == &late);
	CHECK(queue_next(&q) == QUEUE_NEVER);
	CHECK(queue_pop(&q, QUEUE_NEVER) == NULL);
	queue_release(&q);
}

static void keeps_the_order_of_those_due_together(void)
{
	struct queue q = {0};
	struct queued e[40] = {0};

	for (size_t i = 0; i < COUNT_OF(e); i++)
		queue_add(&q, &e[i], 5);
	for (size_t i = 0; i < COUNT_OF(e); i++)
		CHECK(queue_pop(&q, 5) == &e[i]);
	queue_release(&q);
}

static void holds_one_once_and_only_brings_it_forward(void)
{
	struct queue q = {0};
	struct queued e = {0};

	queue_add(&q, &e, 10);
	queue_add(&q, &e, 50);
	CHECK(queue_next(&q) == 10);
	queue_add(&q, &e, 5);
	CHECK(q.len == 1);
	CHECK(queue_pop(&q, 5) == &e);
	CHECK(queue_pop(&q, 100) == NULL);
	queue_release(&q);
}

static void forgets_what_is_removed(void)
{
	struct queue q = {0};
	struct queued a = {0}, b = {0};

	queue_remove(&q, &a);
	queue_add(&q, &a, 1);
	queue_add(&q, &b, 2);
	queue_remove(&q, &a);
	queue_remove(&q, &a);
	CHECK(!a.place);
	CHECK(queue_pop(&q, 9) == &b);
	queue_release(&q);
	CHECK(!b.place);
}

/* The one that a plain look at all of them finds. */
static struct queued *first_of(struct queued *e, size_t n)
{
	struct queued *first = NULL;

	for (size_t i = 0; i < n; i++)
		if (e[i].place &&
		    (!first || e[i].due < first->due ||
		     (e[i].due == first->due && e[i].order < first->order)))
			first = &e[i];
	return first;
}

static void agrees_with_a_plain_scan(void)
{
	static struct queued e[64];
	struct random_seeded r;
	struct queue q = {0};

	random_seed(&r, 7);
	for (int i = 0; i < 20000; i++) {
		struct queued *one = &e[random_below(&r.base, COUNT_OF(e))];
		struct queued *first = first_of(e, COUNT_OF(e));

		CHECK(queue_next(&q) == (first ? first->due : QUEUE_NEVER));
		switch (random_below(&r.base, 3)) {
		case 0:
			queue_add(&q, one, random_below(&r.base, 50));
			break;
		case 1:
			queue_remove(&q, one);
			break;
		default:
			CHECK(queue_pop(&q, 100) == first);
		}
	}
	queue_release(&q);
}

int main(void)
{
	RUN(hands_out_in_order_of_due_time);
	RUN(keeps_the_order_of_those_due_together);
	RUN(holds_one_once_and_only_brings_it_forward);
	RUN(forgets_what_is_removed);
	RUN(agrees_with_a_plain_scan);
	return test_done();
}

/* The process dies with everything on its way, again and again: the provider
 * must not notice. */
#include <stdio.h>
#include <stdlib.h>

#include "herd.h"
#include "model/region.h"
#include "reconcile/queue.h"
#include "test.h"

enum { MANY = 10000, PER_SECOND = 500 };

/* When the last PER_SECOND calls were made. */
struct pace {
	int64_t at[PER_SECOND];
	uint64_t calls;
	uint64_t too_soon;
};

static int set_pace(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	(void)ctx;
	r.spec.calls_per_second = PER_SECOND;
	r.meta.generation++;
	return tx_put(tx, &region_kind, &r, err);
}

/* A call PER_SECOND after another is a second after it at least. */
static void look(struct pace *p, const struct yard *y)
{
	for (; p->calls < y->calls; p->calls++) {
		int64_t *at = &p->at[p->calls % PER_SECOND];

		if (p->calls >= PER_SECOND && y->now - *at < SECOND)
			p->too_soon++;
		*at = y->now;
	}
}

static void run(struct yard *y, struct pace *p, int64_t ms)
{
	int64_t end = y->now + ms;

	while (y->now < end) {
		while (yard_step(y))
			look(p, y);
		y->now = y->wake < (uint64_t)end ? (int64_t)y->wake : end;
	}
}

static size_t running(const struct yard *y)
{
	size_t n = 0;

	for (int i = 0; i < MANY; i++)
		n += herd_at(y, i)->status.state == INSTANCE_RUNNING;
	return n;
}

static void ask_for_many(struct yard *y)
{
	char name[32];

	for (int i = 0; i < MANY; i++) {
		struct instance spec;

		snprintf(name, sizeof(name), "web-%d", i);
		spec = yard_spec(y, name);
		yard_create(y, &spec);
	}
}

static void no_second_has_more_calls_than_it_may(void)
{
	struct pace p = {0};
	struct yard y;

	yard_open(&y, "{\"launchMs\":60000}");
	yard_transact(&y, set_pace, NULL);
	run(&y, &p, MINUTE);
	ask_for_many(&y);
	run(&y, &p, 10 * SECOND);
	/* Some were launched, none runs, the others wait. */
	CHECK(running(&y) == 0);
	CHECK(yard_machines(&y) > MANY / 4 && yard_machines(&y) < MANY * 3 / 4);
	for (int i = 0; i < 4; i++) {
		yard_crash(&y);
		run(&y, &p, 300);
	}
	CHECK(p.too_soon == 0);
	/* They go on all the same. */
	run(&y, &p, 4 * MINUTE);
	CHECK(p.too_soon == 0);
	CHECK(running(&y) == MANY);
	CHECK(yard_machines(&y) == MANY);
	yard_close(&y);
}

int main(void)
{
	RUN(no_second_has_more_calls_than_it_may);
	return test_done();
}

/* shrink.h, with things to look for that need no history to be played. */
#include "test.h"
#include "whole/shrink.h"

enum { PLENTY = 10000 };

/* Acts that differ, so that each can be told from the others. */
static void fill(struct tape *t, uint32_t n)
{
	*t = (struct tape){.seed = 7, .setting = 9, .n = n};
	for (uint32_t i = 0; i < n; i++)
		t->acts[i] = (struct act){.kind = ACT_CREATE + i % ACT_VANISH,
					  .who = i,
					  .what = 1000 + i,
					  .seed = 77 * i};
}

static bool has_3_before_17(const struct tape *t, void *ctx)
{
	unsigned *asked = ctx;
	uint32_t i = 0;

	++*asked;
	while (i < t->n && t->acts[i].what != 1003)
		i++;
	while (i < t->n && t->acts[i].what != 1017)
		i++;
	return i < t->n;
}

static void only_what_is_needed_is_left(void)
{
	unsigned asked = 0;
	struct tape t;

	fill(&t, 200);
	CHECK(shrink(&t, has_3_before_17, &asked, PLENTY) == asked);
	CHECK(t.n == 2);
	CHECK(t.acts[0].what == 1003 && t.acts[1].what == 1017);
	CHECK(t.acts[0].kind == ACT_CREATE + 3);
	CHECK(t.seed == 7);
}

static void numbers_that_do_not_matter_become_nothing(void)
{
	unsigned asked = 0;
	struct tape t;

	fill(&t, 30);
	shrink(&t, has_3_before_17, &asked, PLENTY);
	CHECK(t.setting == 0);
	for (uint32_t i = 0; i < t.n; i++)
		CHECK(t.acts[i].who == 0 && t.acts[i].seed == 0);
}

static bool has_a_number_above_5(const struct tape *t, void *ctx)
{
	(void)ctx;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->acts[i].kind == ACT_CRASH && t->acts[i].seed > 5)
			return true;
	return false;
}

static void a_number_becomes_the_smallest_that_will_do(void)
{
	struct tape t;

	fill(&t, 100);
	CHECK(has_a_number_above_5(&t, NULL));
	shrink(&t, has_a_number_above_5, NULL, PLENTY);
	CHECK(t.n == 1);
	CHECK(t.acts[0].seed == 6);
	CHECK(t.acts[0].who == 0 && t.acts[0].what == 0);
}

/* Each deletion needs a create before it, and the setting matters. */
static bool is_balanced(const struct tape *t, void *ctx)
{
	unsigned open = 0, pairs = 0;

	(void)ctx;
	for (uint32_t i = 0; i < t->n; i++) {
		open += t->acts[i].kind == ACT_CREATE;
		if (t->acts[i].kind == ACT_DELETE && open) {
			open--;
			pairs++;
		}
	}
	return pairs >= 3 && t->setting > 2;
}

static void what_belongs_together_stays(void)
{
	struct tape t;

	fill(&t, TAPE_MOST);
	CHECK(is_balanced(&t, NULL));
	shrink(&t, is_balanced, NULL, PLENTY);
	CHECK(t.n == 6);
	CHECK(t.setting == 3);
	CHECK(is_balanced(&t, NULL));
}

/* With a smaller number the act before it is not needed any more. */
static bool is_big_with_help(const struct tape *t, void *ctx)
{
	(void)ctx;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->acts[i].kind == ACT_RUN && t->acts[i].who >= 10)
			return t->acts[i].who < 15 ||
			       (i > 0 && t->acts[i - 1].kind == ACT_PATCH);
	return false;
}

static void smaller_numbers_let_go_of_acts(void)
{
	struct tape t = {
		.n = 2,
		.acts = {{.kind = ACT_PATCH}, {.kind = ACT_RUN, .who = 40}}};

	shrink(&t, is_big_with_help, NULL, PLENTY);
	CHECK(t.n == 1);
	CHECK(t.acts[0].kind == ACT_RUN && t.acts[0].who == 10);
}

static bool never(const struct tape *t, void *ctx)
{
	(void)t;
	++*(unsigned *)ctx;
	return false;
}

static bool always(const struct tape *t, void *ctx)
{
	(void)t;
	++*(unsigned *)ctx;
	return true;
}

static void what_breaks_in_no_other_way_stays_as_it_is(void)
{
	struct tape t, was;
	unsigned asked = 0;

	fill(&was, 40);
	t = was;
	CHECK(shrink(&t, never, &asked, PLENTY) == asked);
	CHECK(memcmp(&t, &was, sizeof(t)) == 0);
	CHECK(asked < PLENTY);
}

static void what_always_breaks_becomes_nothing(void)
{
	unsigned asked = 0;
	struct tape t;

	fill(&t, TAPE_MOST);
	shrink(&t, always, &asked, PLENTY);
	CHECK(t.n == 0);
	CHECK(t.setting == 0);
}

/* Breaks every third time it is asked, whatever it is asked. */
static bool now_and_then(const struct tape *t, void *ctx)
{
	(void)t;
	return ++*(unsigned *)ctx % 3 == 0;
}

static void no_more_is_tried_than_allowed(void)
{
	for (unsigned tries = 0; tries < 100; tries++) {
		unsigned asked = 0;
		struct tape t;

		fill(&t, 200);
		CHECK(shrink(&t, now_and_then, &asked, tries) == tries);
		CHECK(asked == tries);
		CHECK(t.n <= 200);
		asked = 0;
		fill(&t, 200);
		shrink(&t, has_3_before_17, &asked, tries);
		CHECK(asked <= tries);
		CHECK(has_3_before_17(&t, &asked));
	}
}

static void an_empty_tape_is_as_short_as_can_be(void)
{
	struct tape t = {.setting = 1};
	unsigned asked = 0;

	shrink(&t, never, &asked, PLENTY);
	CHECK(t.n == 0 && t.setting == 1);
}

int main(void)
{
	RUN(only_what_is_needed_is_left);
	RUN(numbers_that_do_not_matter_become_nothing);
	RUN(a_number_becomes_the_smallest_that_will_do);
	RUN(what_belongs_together_stays);
	RUN(smaller_numbers_let_go_of_acts);
	RUN(what_breaks_in_no_other_way_stays_as_it_is);
	RUN(what_always_breaks_becomes_nothing);
	RUN(no_more_is_tried_than_allowed);
	RUN(an_empty_tape_is_as_short_as_can_be);
	return test_done();
}

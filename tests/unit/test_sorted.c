#include "base/sorted.h"

#include <stdlib.h>

#include "base/random.h"
#include "test.h"

enum { KEYS = 5000, KEY_ROOM = 16, ALIKE = 10 };

static char keys[KEYS][KEY_ROOM];

static const char *key_of(const void *member)
{
	return member;
}

/* In order: a short one, then some that are alike for a while; bytes that are
 * negative when they are taken for numbers come last. */
static void fill_keys(void)
{
	for (int i = 0; i < KEYS; i++) {
		const char *first = i < KEYS / 2 ? "a" : "\xc3";
		int group = i / ALIKE, n = i % ALIKE;

		if (n)
			snprintf(keys[i], KEY_ROOM, "%s%03d-alike%d", first,
				 group, n);
		else
			snprintf(keys[i], KEY_ROOM, "%s%03d", first, group);
	}
}

static size_t index_of(const char *key)
{
	return (size_t)(key - keys[0]) / KEY_ROOM;
}

static void an_empty_set_has_nothing(void)
{
	struct sorted s;
	struct sorted_walk w;

	sorted_init(&s, key_of);
	CHECK(sorted_get(&s, "x") == NULL);
	CHECK(sorted_remove(&s, "x") == NULL);
	w = sorted_from(&s, NULL);
	CHECK(sorted_next(&w) == NULL);
	w = sorted_from(&s, "x");
	CHECK(sorted_next(&w) == NULL);
	sorted_release(&s);
}

static void refuses_a_key_twice(void)
{
	struct sorted s;
	char one[] = "a", other[] = "a";

	sorted_init(&s, key_of);
	CHECK(sorted_add(&s, one));
	CHECK(!sorted_add(&s, other));
	CHECK(s.count == 1);
	CHECK(sorted_get(&s, "a") == one);
	sorted_release(&s);
}

/* Whole walk: every member of THERE in order, and nothing else. */
static void check_order(const struct sorted *s, const bool *there,
			const char *after)
{
	struct sorted_walk w = sorted_from(s, after);
	size_t want = 0;
	const char *got;

	while (want < KEYS && after && strcmp(keys[want], after) <= 0)
		want++;
	for (; want < KEYS; want++) {
		if (!there[want])
			continue;
		got = sorted_next(&w);
		if (got != keys[want]) {
			CHECK(!"out of order, or missing");
			return;
		}
	}
	CHECK(sorted_next(&w) == NULL);
	CHECK(sorted_next(&w) == NULL);
}

static void keeps_order_when_filled(int (*nth)(int))
{
	static bool there[KEYS];
	struct sorted s;

	sorted_init(&s, key_of);
	memset(there, 0, sizeof(there));
	for (int i = 0; i < KEYS; i++) {
		there[nth(i)] = true;
		CHECK(sorted_add(&s, keys[nth(i)]));
	}
	CHECK(s.count == KEYS);
	check_order(&s, there, NULL);
	for (int i = 0; i < KEYS; i++) {
		CHECK(sorted_remove(&s, keys[nth(i)]) == keys[nth(i)]);
		there[nth(i)] = false;
		if (i % 500 == 0)
			check_order(&s, there, keys[i]);
	}
	CHECK(s.count == 0);
	sorted_release(&s);
}

/* What is seen ahead is what the walk comes to; and it is seen nearly always. */
static void what_is_ahead_is_what_comes(void)
{
	struct sorted s;
	struct sorted_walk w;
	size_t seen = 0;

	sorted_init(&s, key_of);
	for (int i = 0; i < KEYS; i++)
		CHECK(sorted_add(&s, keys[i]));
	w = sorted_from(&s, NULL);
	for (int i = 0; sorted_next(&w); i++) {
		const void *next = sorted_ahead(&w, 0);
		const void *later = sorted_ahead(&w, 12);

		CHECK(next == (i + 1 < KEYS ? keys[i + 1] : NULL));
		if (later)
			CHECK(later == keys[i + 13]);
		seen += later != NULL;
	}
	CHECK(seen > KEYS * 9 / 10);
	CHECK(!sorted_ahead(&w, 0));
	sorted_release(&s);
}

static int forward(int i)
{
	return i;
}

static int backward(int i)
{
	return KEYS - 1 - i;
}

/* From both ends to the middle: every run is split in turn. */
static int inward(int i)
{
	return i % 2 ? KEYS - 1 - i / 2 : i / 2;
}

static void filled_forward(void)
{
	keeps_order_when_filled(forward);
}

static void filled_backward(void)
{
	keeps_order_when_filled(backward);
}

static void filled_inward(void)
{
	keeps_order_when_filled(inward);
}

static void agrees_with_a_plain_array(void)
{
	static bool there[KEYS];
	size_t count = 0;
	struct sorted s;
	struct random_seeded r;

	random_seed(&r, 5);
	sorted_init(&s, key_of);
	for (int turn = 0; turn < 120000; turn++) {
		/* Waves: mostly adding, then mostly removing. */
		bool add = random_below(&r.base, 10) <
			   (turn / 20000 % 2 ? 3U : 7U);
		size_t i = random_below(&r.base, KEYS);

		CHECK((sorted_get(&s, keys[i]) != NULL) == there[i]);
		if (add) {
			CHECK(sorted_add(&s, keys[i]) == !there[i]);
			count += !there[i];
		} else {
			const char *got = sorted_remove(&s, keys[i]);

			CHECK((got != NULL) == there[i]);
			CHECK(!got || index_of(got) == i);
			count -= there[i];
		}
		there[i] = add;
		CHECK(s.count == count);
		if (turn % 2000 == 0) {
			check_order(&s, there, NULL);
			check_order(&s, there, keys[i]);
		}
	}
	sorted_release(&s);
}

static void begins_after_a_key_that_is_not_there(void)
{
	static bool there[KEYS];
	struct sorted s;

	sorted_init(&s, key_of);
	for (int i = 0; i < KEYS; i += 3) {
		there[i] = true;
		sorted_add(&s, keys[i]);
	}
	for (int i = 0; i < KEYS; i += 7)
		check_order(&s, there, keys[i]);
	check_order(&s, there, "");
	check_order(&s, there, "~");
	sorted_release(&s);
}

int main(void)
{
	fill_keys();
	RUN(an_empty_set_has_nothing);
	RUN(refuses_a_key_twice);
	RUN(filled_forward);
	RUN(filled_backward);
	RUN(filled_inward);
	RUN(agrees_with_a_plain_array);
	RUN(begins_after_a_key_that_is_not_there);
	RUN(what_is_ahead_is_what_comes);
	return test_done();
}

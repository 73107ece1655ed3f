#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "test.h"

/* N copies of PIECE between BEFORE and AFTER, to be freed. */
static char *repeat(const char *before, const char *piece, size_t n,
		    const char *after)
{
	struct buf b = BUF_INIT((size_t)64 << 20);
	size_t len;

	buf_adds(&b, before);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, piece);
	buf_adds(&b, after);
	return buf_take(&b, &len);
}

static enum err_code parse_code(const char *text, size_t max)
{
	struct err err = {0};
	struct arena a;
	struct node *n;

	arena_init(&a, max);
	n = json_parse(text, strlen(text), &a, &err);
	CHECK((n == NULL) == (err.code != ERR_NONE));
	CHECK(a.max == max && a.used <= max);
	arena_release(&a);
	return err.code;
}

/* A megabyte of the smallest parts must not grow past the ceiling, nor abort
 * on the way there. */
static void a_small_text_cannot_blow_up(void)
{
	static const char *const pieces[] = {"[],", "{},",   "\"\",",
					     "1,",  "[[]],", "{\"a\":1},"};

	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		size_t n = ((size_t)1 << 20) / strlen(pieces[i]);
		auto_free char *text = repeat("[", pieces[i], n, "0]");

		CHECK(parse_code(text, (size_t)1 << 20) == ERR_TOO_LARGE);
	}
	for (size_t i = 0; i < 2; i++) {
		auto_free char *text =
			repeat("[", pieces[i], ((size_t)1 << 20) / 3, "0]");

		CHECK(parse_code(text, (size_t)16 << 20) == ERR_TOO_LARGE);
	}
}

/* Whatever the ceiling: the right tree, or "too large".  A refused allocation
 * inside a long string once left jansson reading past its end, because it
 * does not look whether its text grew. */
static void every_ceiling_gives_the_tree_or_says_too_large(void)
{
	auto_free char *name = repeat("", "x", 700, "");
	auto_free char *text = repeat("", "", 0, "");
	struct buf want = BUF_INIT(10000), got = BUF_INIT(10000);

	free(text);
	buf_addf(&want, "{\"%s\":\"%s%s\",\"n\":[12345,{\"%s\":1.5}]}", name,
		 name, name, name + 300);
	text = xmemdup(want.data, want.len);
	for (size_t max = 0; max < 40000; max += 13) {
		struct err err = {0};
		struct arena a;
		struct node *n;

		arena_init(&a, max);
		n = json_parse(text, want.len, &a, &err);
		buf_clear(&got);
		if (n)
			json_write(n, false, &got);
		if (n)
			CHECK_STR(buf_str(&got), buf_str(&want));
		else
			CHECK(err.code == ERR_TOO_LARGE);
		CHECK(n || max < 36000);
		arena_release(&a);
	}
	buf_release(&want);
	buf_release(&got);
}

/* A text that just fits once left nothing for the decoder behind it, whose
 * arena_alloc() then aborted: a request must not be able to end the server. */
static void leaves_room_for_what_comes_after(void)
{
	enum { MAX = 1 << 20 };
	size_t least_left = MAX;

	for (size_t n = 100; n < 40000; n += n / 16) {
		auto_free char *text = repeat("[", "[],", n, "0]");
		struct err err;
		struct arena a;

		arena_init(&a, MAX);
		if (json_parse(text, strlen(text), &a, &err) &&
		    a.max - a.used < least_left)
			least_left = a.max - a.used;
		arena_release(&a);
	}
	CHECK(least_left >= MAX / 4);
}

static void depth_has_an_end(void)
{
	auto_free char *fine = repeat("", "[", 2000, "");
	auto_free char *ends = repeat("", "]", 2000, "");
	auto_free char *whole = repeat(fine, "", 1, ends);
	auto_free char *deep = repeat("", "[", 1000000, "");
	auto_free char *objects = repeat("", "{\"a\":", 100000, "1");

	CHECK(parse_code(whole, (size_t)16 << 20) == ERR_NONE);
	CHECK(parse_code(deep, (size_t)16 << 20) == ERR_INVALID);
	CHECK(parse_code(objects, (size_t)16 << 20) == ERR_INVALID);
}

static void building_answers_null_at_the_ceiling(void)
{
	struct arena a;
	struct node *list;
	size_t n = 0;

	arena_init(&a, 10000);
	list = node_new_array(&a);
	while (node_append(&a, list, node_new_string(&a, "text", 4)))
		n++;
	CHECK(n > 10 && n < 1000);
	CHECK(node_count(list) == n);
	CHECK(node_new_object(&a) == NULL || a.used <= a.max);
	arena_release(&a);
}

static void merging_answers_null_at_the_ceiling(void)
{
	struct arena big, small;
	struct err err;
	struct node *patch;
	auto_free char *text =
		repeat("{\"k\":{", "\"a\":{\"b\":{\"c\":{", 1, "}}}}}");

	arena_init(&big, 1 << 20);
	patch = json_parse(text, strlen(text), &big, &err);
	CHECK(patch != NULL);
	for (size_t max = 0; max < 2000; max += 16) {
		struct node *merged;

		arena_init(&small, max);
		merged = node_merge(&small, NULL, patch);
		CHECK(merged || max < 1500);
		arena_release(&small);
	}
	arena_release(&big);
}

static void yaml_has_the_same_ceilings(void)
{
	auto_free char *seq = repeat("", "- a\n", 100000, "");
	auto_free char *map = repeat("a: 1\n? ", "long ", 50000, "\n: 1\n");
	auto_free char *deep = repeat("", "[", 100000, "");
	const char *texts[] = {seq, map, deep};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err err = {0};
		struct arena a;

		arena_init(&a, 100000);
		CHECK(!yaml_parse(texts[i], strlen(texts[i]), &a, &err));
		CHECK(err.code == (i < 2 ? ERR_TOO_LARGE : ERR_INVALID));
		arena_release(&a);
	}
}

enum { MANY = 100000 };

/* "k0" to "k99999", and AFTER them, to be freed; as a patch that takes each of
 * them away and adds another. */
static char *many_members(bool patch, const char *after)
{
	struct buf b = BUF_INIT((size_t)64 << 20);
	size_t len;

	buf_addc(&b, '{');
	for (int i = 0; i < MANY; i++)
		if (patch)
			buf_addf(&b, "\"k%d\":null,\"n%d\":%d,", i, i, i);
		else
			buf_addf(&b, "\"k%d\":%d,", i, i);
	buf_adds(&b, after);
	return buf_take(&b, &len);
}

static void check_many(struct node *n, const char *patch, struct arena *a)
{
	struct node *change, *value;
	struct node_walk w;
	struct err err;
	const char *key;
	char want[16];
	int i = 0;

	CHECK(node_count(n) == MANY + 1);
	w = node_walk(n);
	for (; (value = node_walk_next(&w, &key)) && i < MANY; i++) {
		snprintf(want, sizeof(want), "k%d", i);
		CHECK(strcmp(key, want) == 0 && node_get(n, key) == value);
	}
	CHECK(value && strcmp(key, "end") == 0);
	change = json_parse(patch, strlen(patch), a, &err);
	n = node_merge(a, n, change);
	CHECK(node_count(n) == MANY + 1);
	w = node_walk(n);
	CHECK(node_walk_next(&w, &key) && strcmp(key, "end") == 0);
	for (i = 0; (value = node_walk_next(&w, &key)) && i < MANY; i++)
		CHECK(node_int(value) == i && *key == 'n');
	CHECK(i == MANY);
}

/* With time that grows by the square this does not end before the test's: for
 * each member that is read, found, removed or added the others would be looked
 * at.  Once plain, once with an escape, which jansson reads. */
static void many_members_are_as_quick_as_few(void)
{
	static const char *const ends[] = {"\"end\":0}", "\"\\u0065nd\":0}"};
	auto_free char *patch = many_members(true, "\"end\":1}");

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		auto_free char *text = many_members(false, ends[i]);
		struct err err = {0};
		struct arena a;
		struct node *n;

		arena_init(&a, (size_t)256 << 20);
		n = json_parse(text, strlen(text), &a, &err);
		CHECK(n != NULL);
		if (n)
			check_many(n, patch, &a);
		arena_release(&a);
	}
}

static void the_last_of_many_members_may_not_be_there_twice(void)
{
	auto_free char *first = many_members(false, "\"k0\":0}");
	auto_free char *last = many_members(false, "\"k99999\":0}");

	CHECK(parse_code(first, (size_t)256 << 20) == ERR_INVALID);
	CHECK(parse_code(last, (size_t)256 << 20) == ERR_INVALID);
}

/* A fraction at the very end: all that was read until then is given back. */
static void what_is_read_twice_is_kept_once(void)
{
	auto_free char *text = repeat("[", "1,", 1000, "1.5]");
	struct err err;
	struct arena a;

	arena_init(&a, 1 << 20);
	CHECK(json_parse(text, strlen(text), &a, &err) != NULL);
	CHECK(a.used < (size_t)1001 * (16 + sizeof(void *)) + 100);
	arena_release(&a);
}

/* Each thread has its own arena, and jansson is told so. */
static void *parse_many(void *ctx)
{
	struct arena a;
	struct err err;
	bool *ok = ctx;

	arena_init(&a, 1 << 20);
	for (int i = 0; i < 2000; i++) {
		struct node *n =
			json_parse("{\"a\":[1,{\"b\":\"c\"}]}", 19, &a, &err);

		*ok = *ok && n && node_count(node_get(n, "a")) == 2;
		arena_clear(&a);
	}
	arena_release(&a);
	return NULL;
}

static void threads_do_not_disturb_each_other(void)
{
	bool ok[4] = {true, true, true, true};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, parse_many, &ok[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(ok[0] && ok[1] && ok[2] && ok[3]);
}

int main(void)
{
	RUN(a_small_text_cannot_blow_up);
	RUN(every_ceiling_gives_the_tree_or_says_too_large);
	RUN(leaves_room_for_what_comes_after);
	RUN(depth_has_an_end);
	RUN(building_answers_null_at_the_ceiling);
	RUN(merging_answers_null_at_the_ceiling);
	RUN(yaml_has_the_same_ceilings);
	RUN(many_members_are_as_quick_as_few);
	RUN(the_last_of_many_members_may_not_be_there_twice);
	RUN(what_is_read_twice_is_kept_once);
	RUN(threads_do_not_disturb_each_other);
	return test_done();
}

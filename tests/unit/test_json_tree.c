#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "parsed.h"

static const char *written_as(const struct node *n, bool indent)
{
	static struct buf out = BUF_INIT((size_t)1 << 20);

	buf_clear(&out);
	json_write(n, indent, &out);
	CHECK(buf_ok(&out));
	return buf_str(&out);
}

static const char *written(const struct node *n)
{
	return written_as(n, false);
}

/* What is stored is compared with what is written anew: these stay as they
 * are, to the case of a digit. */
static void writes_every_escape_as_it_always_did(void)
{
	static const char controls[] =
		"\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007"
		"\\b\\t\\n\\u000B\\f\\r\\u000E\\u000F"
		"\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017"
		"\\u0018\\u0019\\u001A\\u001B\\u001C\\u001D\\u001E\\u001F\"";
	static const struct {
		const char *in, *out;
	} t[] = {
		{"", "\"\""},
		{"\"\\/", "\"\\\"\\\\/\""},
		{"\x7f", "\"\x7f\""},
		{"a\x7f\x1f", "\"a\x7f\\u001F\""},
		{"<>&'", "\"<>&'\""},
		{"\xc2\x80", "\"\xc2\x80\""},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\"\xe2\x80\xa8\xe2\x80\xa9\""},
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
		{"12345678\n12345678", "\"12345678\\n12345678\""},
	};
	struct arena a;
	struct node *n;
	char all[32];

	arena_init(&a, 1 << 20);
	for (int i = 0; i < 32; i++)
		all[i] = (char)i;
	CHECK_STR(written(node_new_string(&a, all, sizeof(all))), controls);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		size_t len = strlen(t[i].in);

		CHECK_STR(written(node_new_string(&a, t[i].in, len)), t[i].out);
	}
	n = node_new_object(&a);
	CHECK(node_set(&a, n, "\x1b\"/\x7f", node_new_null(&a)));
	CHECK_STR(written(n), "{\"\\u001B\\\"/\x7f\":null}");
	arena_release(&a);
}

static void writes_reals_with_all_digits_and_never_like_integers(void)
{
	static const struct {
		double in;
		const char *out;
	} t[] = {
		{0.0, "0.0"},
		{-0.0, "-0.0"},
		{1.0, "1.0"},
		{-100.0, "-100.0"},
		{0.1, "0.10000000000000001"},
		{1.5, "1.5"},
		{1e15, "1000000000000000.0"},
		{1e16, "10000000000000000.0"},
		{1e17, "1e17"},
		{1.25e17, "1.25e17"},
		{1e20, "1e20"},
		{1e100, "1e100"},
		{0.0001, "0.0001"},
		{0.00001, "1.0000000000000001e-5"},
		{1e-7, "9.9999999999999995e-8"},
		{-2.5e-10, "-2.5000000000000002e-10"},
		{1.7976931348623157e308, "1.7976931348623157e308"},
		{5e-324, "4.9406564584124654e-324"},
	};
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct node *n = node_new_real(&a, t[i].in);

		CHECK_STR(written(n), t[i].out);
		CHECK_STR(written(parse(&a, t[i].out)), t[i].out);
	}
	CHECK(node_new_real(&a, NAN) == NULL);
	CHECK(node_new_real(&a, INFINITY) == NULL);
	CHECK_STR(written(node_new_int(&a, INT64_MIN)), "-9223372036854775808");
	arena_release(&a);
}

static void indents_by_two(void)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	CHECK_STR(written_as(parse(&a, "[]"), true), "[]");
	CHECK_STR(written_as(parse(&a, "{}"), true), "{}");
	CHECK_STR(written_as(parse(&a, "7"), true), "7");
	CHECK_STR(written_as(parse(&a, "{\"a\":[],\"b\":{},\"c\":[1,[true]],"
				       "\"d\":{\"e\":null}}"),
			     true),
		  "{\n"
		  "  \"a\": [],\n"
		  "  \"b\": {},\n"
		  "  \"c\": [\n"
		  "    1,\n"
		  "    [\n"
		  "      true\n"
		  "    ]\n"
		  "  ],\n"
		  "  \"d\": {\n"
		  "    \"e\": null\n"
		  "  }\n"
		  "}");
	arena_release(&a);
}

static void what_contains_itself_is_not_written_forever(void)
{
	struct buf out = BUF_INIT((size_t)1 << 20);
	struct arena a;
	struct node *outer, *inner;

	arena_init(&a, 1 << 20);
	outer = node_new_array(&a);
	inner = node_new_array(&a);
	CHECK(!node_append(&a, outer, outer));
	CHECK(node_append(&a, outer, inner));
	CHECK(node_append(&a, inner, outer));
	CHECK(node_append(&a, inner, outer));
	json_write(outer, false, &out);
	CHECK(!buf_ok(&out));
	buf_clear(&out);
	json_write(NULL, false, &out);
	CHECK(!buf_ok(&out));
	buf_release(&out);
	arena_release(&a);
}

static void replacing_keeps_the_place_and_removing_the_order(void)
{
	struct arena a;
	struct node *n;

	arena_init(&a, 1 << 20);
	n = parse(&a, "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}");
	CHECK(node_set(&a, n, "b", node_new_bool(&a, true)));
	CHECK_STR(written(n), "{\"a\":1,\"b\":true,\"c\":3,\"d\":4}");
	node_unset(&a, n, "a");
	node_unset(&a, n, "c");
	CHECK_STR(written(n), "{\"b\":true,\"d\":4}");
	CHECK(node_count(n) == 2 && !node_get(n, "a"));
	CHECK(node_set(&a, n, "a", node_new_int(&a, 5)));
	CHECK_STR(written(n), "{\"b\":true,\"d\":4,\"a\":5}");
	node_unset(&a, n, "b");
	node_unset(&a, n, "d");
	node_unset(&a, n, "a");
	CHECK_STR(written(n), "{}");
	CHECK_STR(written_as(n, true), "{}");
	arena_release(&a);
}

/* A caller's key may be a buffer that it uses again. */
static void keys_and_strings_are_copied(void)
{
	char key[] = "key", text[] = "text";
	struct arena a;
	struct node *n;

	arena_init(&a, 1 << 20);
	n = node_new_object(&a);
	CHECK(node_set(&a, n, key, node_new_string(&a, text, 4)));
	key[0] = text[0] = 'X';
	CHECK_STR(written(n), "{\"key\":\"text\"}");
	n = node_new_string(&a, "a\0b", 3);
	CHECK_STR(written(n), "\"a\\u0000b\"");
	arena_release(&a);
}

static void asked_for_what_it_is_not_it_has_nothing(void)
{
	struct arena a;
	struct node *list, *word;
	struct node_walk w;
	const char *key;
	size_t len = 1;

	arena_init(&a, 1 << 20);
	list = parse(&a, "[1]");
	word = parse(&a, "\"w\"");
	CHECK(!node_set(&a, list, "a", word));
	CHECK(!node_set(&a, NULL, "a", word));
	CHECK(!node_set(&a, node_new_object(&a), "\xff", word));
	CHECK(!node_append(&a, word, list));
	CHECK(!node_append(&a, node_new_object(&a), word));
	node_unset(&a, list, "a");
	CHECK(node_at(word, 0) == NULL && node_at(NULL, 0) == NULL);
	CHECK(node_get(NULL, "a") == NULL && node_get(word, "a") == NULL);
	CHECK(node_string(list, &len) == NULL && len == 0);
	CHECK(node_string(NULL, NULL) == NULL);
	CHECK(node_int(word) == 0 && !node_bool(word) && !node_bool(NULL));
	CHECK(node_count(word) == 0 && node_count(NULL) == 0);
	w = node_walk(list);
	CHECK(node_walk_next(&w, &key) == NULL);
	w = node_walk(NULL);
	CHECK(node_walk_next(&w, &key) == NULL);
	arena_release(&a);
}

enum { KEYS = 150 };

/* The members in their order, kept in the plainest way there is. */
struct model {
	int keys[KEYS], values[KEYS], n;
};

static void model_remove(struct model *m, int at)
{
	m->n--;
	memmove(m->keys + at, m->keys + at + 1,
		(size_t)(m->n - at) * sizeof(int));
	memmove(m->values + at, m->values + at + 1,
		(size_t)(m->n - at) * sizeof(int));
}

static int model_find(const struct model *m, int key)
{
	for (int i = 0; i < m->n; i++)
		if (m->keys[i] == key)
			return i;
	return -1;
}

static void check_same(const struct node *object, const struct model *m)
{
	struct buf want = BUF_INIT((size_t)1 << 20);

	buf_addc(&want, '{');
	for (int i = 0; i < m->n; i++)
		buf_addf(&want, "%s\"k%d\":%d", i ? "," : "", m->keys[i],
			 m->values[i]);
	buf_addc(&want, '}');
	CHECK_STR(written(object), buf_str(&want));
	CHECK(node_count(object) == (size_t)m->n);
	buf_release(&want);
}

/* Set, or remove when VALUE is 0; half of the time by a merge patch. */
static void change(struct arena *a, struct node *object, struct model *m,
		   int key, int value, bool patch)
{
	struct node *n = value ? node_new_int(a, value) : node_new_null(a);
	int at = model_find(m, key);
	char name[16];

	snprintf(name, sizeof(name), "k%d", key);
	if (patch) {
		struct node *p = node_new_object(a);

		CHECK(node_set(a, p, name, n));
		CHECK(node_merge(a, object, p) == object);
	} else if (value) {
		CHECK(node_set(a, object, name, n));
	} else {
		node_unset(a, object, name);
	}
	CHECK((node_get(object, name) != NULL) == (value != 0));
	if (!value && at >= 0) {
		model_remove(m, at);
	} else if (value) {
		if (at < 0)
			m->keys[at = m->n++] = key;
		m->values[at] = value;
	}
}

/* Through the sizes with and without an index, and with holes in both. */
static void agrees_with_a_plain_array(void)
{
	struct random_seeded r;
	struct arena a;

	random_seed(&r, 11);
	arena_init(&a, (size_t)64 << 20);
	for (int round = 0; round < 60; round++) {
		struct node *object = node_new_object(&a);
		struct model m = {.n = 0};
		int keys = round % 3 ? KEYS : 40;
		/* Growing for a while, then shrinking. */
		for (int i = 0; i < 900; i++) {
			int key = (int)random_below(&r.base, (uint64_t)keys);
			bool remove = random_below(&r.base, 10) <
				      (i / 300 == 1 ? 8U : 3U);

			change(&a, object, &m, key, remove ? 0 : i + 1,
			       random_below(&r.base, 2));
			if (i % 50 == 0)
				check_same(object, &m);
		}
		check_same(object, &m);
		arena_clear(&a);
	}
	arena_release(&a);
}

/* What jansson has read is taken over with all there is. */
static void a_text_with_an_escape_gives_the_same_tree(void)
{
	struct buf plain = BUF_INIT(10000), escaped = BUF_INIT(10000);
	struct arena a;
	struct node *n;

	arena_init(&a, 1 << 20);
	for (int i = 0; i < 50; i++)
		buf_addf(&plain, "%s\"key %d\":[%d,null,{\"x\":true}]",
			 i ? "," : "{", i, i);
	buf_addf(&escaped, "%s,\"\\u0061\":\"\\u20ac\\n\"}", buf_str(&plain));
	buf_adds(&plain, ",\"a\":0}");
	n = parse(&a, buf_str(&escaped));
	CHECK(node_count(n) == 51 && node_count(node_get(n, "key 49")) == 3);
	CHECK_STR(node_text(n, "a"), "\xe2\x82\xac\n");
	CHECK(node_set(&a, n, "a", node_new_int(&a, 0)));
	CHECK_STR(written(n), buf_str(&plain));
	buf_release(&plain);
	buf_release(&escaped);
	arena_release(&a);
}

int main(void)
{
	RUN(writes_every_escape_as_it_always_did);
	RUN(writes_reals_with_all_digits_and_never_like_integers);
	RUN(indents_by_two);
	RUN(what_contains_itself_is_not_written_forever);
	RUN(replacing_keeps_the_place_and_removing_the_order);
	RUN(keys_and_strings_are_copied);
	RUN(asked_for_what_it_is_not_it_has_nothing);
	RUN(agrees_with_a_plain_array);
	RUN(a_text_with_an_escape_gives_the_same_tree);
	return test_done();
}

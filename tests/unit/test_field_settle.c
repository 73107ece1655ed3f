#include <stdlib.h>

#include "sample.h"
#include "test.h"

#define UUID  "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
#define OTHER "6ba7b811-9dad-11d1-80b4-00c04fd430c8"

static struct arena arena;
static struct violations bad;

static struct sample *decode(const char *text, enum field_mode mode)
{
	struct sample *s = arena_alloc(&arena, sizeof(*s));
	struct err err;
	struct node *n;

	n = json_parse(text, strlen(text), &arena, &err);
	CHECK(n != NULL);
	if (n)
		field_decode(sample_fields, n, mode, s, &bad);
	return s;
}

static const struct sample *before(void)
{
	violations_init(&bad, &arena);
	return decode(
		"{\"id\":\"" UUID "\",\"name\":\"a\","
		"\"madeAt\":\"2009-02-13T23:31:30.123Z\",\"count\":1,"
		"\"limit\":50,\"on\":true,\"owner\":\"" UUID "\","
		"\"token\":\"hush\",\"note\":\"old\","
		"\"inner\":{\"size\":3,\"password\":\"hush\",\"key\":\"k\"},"
		"\"fixed\":{\"size\":4,\"key\":\"f\"},"
		"\"seen\":{\"size\":5,\"mode\":\"fast\"}}",
		FIELD_STORED);
}

/* TEXT put in the place of before(). */
static struct sample *update(const char *text)
{
	const struct sample *old = before();
	struct sample *s = decode(text, FIELD_UPDATE);

	field_settle(sample_fields, old, s, &bad);
	return s;
}

static const char *pointers(void)
{
	struct buf b = BUF_INIT(10000);
	const char *text;

	for (size_t i = 0; i < bad.n && i < VIOLATIONS_MOST; i++)
		buf_addf(&b, "%s%s", i ? " " : "", bad.list[i].pointer);
	text = arena_strdup(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void what_is_not_the_users_is_taken_over(void)
{
	struct sample *s = update("{\"count\":2}");

	CHECK_STR(pointers(), "");
	CHECK_STR(s->common.id, UUID);
	CHECK_STR(s->common.name, "a");
	CHECK(s->common.made_at == 1234567890123);
	CHECK_STR(s->owner, UUID);
	CHECK_STR(s->token, "hush");
	CHECK_STR(s->inner.password, "hush");
	CHECK(s->seen.size == 5 && s->seen.mode == SAMPLE_FAST);
	CHECK(s->fixed.size == 4 && strcmp(s->fixed.key, "f") == 0);
	CHECK(s->count == 2);
}

/* A default once took the place of what an immutable field was created with,
 * and the update was refused for a change that nobody had asked for. */
static void a_default_does_not_replace_what_cannot_change(void)
{
	struct sample *s = update("{\"count\":1}");

	CHECK_STR(pointers(), "");
	CHECK(s->limit == 50);
	CHECK(s->fixed.mode == 0 && s->fixed.size == 4);
}

static void the_rest_is_replaced(void)
{
	struct sample *s = update("{\"count\":1}");

	CHECK(s->note == NULL);
	CHECK(s->on && s->inner.size == 7 && s->inner.key == NULL);
}

static void the_same_again_is_no_change(void)
{
	update("{\"id\":\"" UUID "\",\"name\":\"a\",\"count\":1,\"limit\":50,"
	       "\"madeAt\":\"2009-02-14T00:31:30.123+01:00\","
	       "\"owner\":\"" UUID "\",\"fixed\":{\"size\":4,\"key\":\"f\"},"
	       "\"seen\":{\"size\":5,\"mode\":\"fast\"}}");
	CHECK_STR(pointers(), "");
}

static void each_change_that_cannot_be_is_told(void)
{
	struct err err = {0};

	update("{\"id\":\"" OTHER "\",\"name\":\"b\",\"count\":1,\"limit\":51,"
	       "\"madeAt\":\"2009-02-13T23:31:30.124Z\","
	       "\"owner\":\"" OTHER "\",\"fixed\":{\"size\":5,\"key\":\"g\"},"
	       "\"seen\":{\"mode\":\"slow\",\"parts\":[{\"label\":\"p\"}]}}");
	CHECK_STR(pointers(), "/id /name /madeAt /limit /owner /fixed/size "
			      "/fixed/key /seen/mode /seen/parts");
	CHECK(bad.immutable);
	CHECK(violations_err(&bad, &err) == -1 && err.code == ERR_IMMUTABLE);
}

static void secrets_may_change(void)
{
	struct sample *s = update("{\"count\":1,\"token\":\"new\","
				  "\"inner\":{\"password\":\"new\"}}");

	CHECK_STR(pointers(), "");
	CHECK_STR(s->token, "new");
	CHECK_STR(s->inner.password, "new");
}

/* One could once be sent with another change, and was taken. */
static void a_secret_that_is_read_only_cannot_be_sent(void)
{
	static const struct field fields[] = {
		{"key", FIELD_STRING, FIELD_READ_ONLY | FIELD_SECRET, 0, "K."},
		{0},
	};
	static const char *const sent[] = {"{\"key\":\"new\"}",
					   "{\"key\":\"old\"}", "{}"};

	for (size_t i = 0; i < COUNT_OF(sent); i++) {
		const char *old = "old", *new = NULL;
		struct violations v;
		struct arena a;
		struct err err;

		arena_init(&a, 65536);
		violations_init(&v, &a);
		field_decode(fields,
			     json_parse(sent[i], strlen(sent[i]), &a, &err),
			     FIELD_UPDATE, &new, &v);
		field_settle(fields, &old, &new, &v);
		CHECK(v.n == (i < 2));
		CHECK(i < 2 || new == old);
		arena_release(&a);
	}
}

static void other_mistakes_make_it_invalid_not_immutable(void)
{
	struct err err = {0};

	update("{\"name\":\"b\",\"note\":1}");
	CHECK_STR(pointers(), "/count /note /name");
	CHECK(!bad.immutable);
	CHECK(violations_err(&bad, &err) == -1 && err.code == ERR_INVALID);
}

static void a_mistake_added_later_makes_it_invalid(void)
{
	struct err err = {0};

	update("{\"name\":\"b\",\"count\":1}");
	CHECK(bad.immutable);
	violations_add(&bad, "/note", "is not %s", "nice");
	CHECK(violations_err(&bad, &err) == -1 && err.code == ERR_INVALID);
	CHECK_STR(bad.list[1].message, "is not nice");
}

static bool changed(const char *one, const char *other)
{
	violations_init(&bad, &arena);
	return field_changed(sample_fields, decode(one, FIELD_STORED),
			     decode(other, FIELD_STORED));
}

static void sees_what_a_user_changed(void)
{
	static const char *const differ[][2] = {
		{"{\"note\":\"a\"}", "{\"note\":\"b\"}"},
		{"{\"note\":\"a\"}", "{}"},
		{"{\"count\":0}", "{}"},
		{"{\"on\":true}", "{}"},
		{"{\"mode\":\"fast\"}", "{\"mode\":\"slow\"}"},
		{"{\"options\":{\"a\":1}}", "{\"options\":{\"a\":2}}"},
		{"{\"token\":\"a\"}", "{\"token\":\"b\"}"},
		{"{\"words\":[\"a\",\"b\"]}", "{\"words\":[\"b\",\"a\"]}"},
		{"{\"words\":[\"a\"]}", "{\"words\":[\"a\",\"a\"]}"},
		{"{\"tags\":{\"a\":\"1\"}}", "{\"tags\":{\"a\":\"2\"}}"},
		{"{\"tags\":{\"a\":\"1\"}}", "{\"tags\":{\"b\":\"1\"}}"},
		{"{\"inner\":{\"size\":1}}", "{\"inner\":{\"size\":2}}"},
		{"{\"inner\":{\"parts\":[{\"label\":\"a\",\"size\":1}]}}",
		 "{\"inner\":{\"parts\":[{\"label\":\"a\",\"size\":2}]}}"},
		{"{\"until\":\"2001-01-01T00:00:00Z\"}", "{}"},
	};
	static const char *const same[][2] = {
		{"{}", "{}"},
		{"{\"id\":\"a\",\"madeAt\":\"2001-01-01T00:00:00Z\"}", "{}"},
		{"{\"seen\":{\"size\":1}}", "{\"seen\":{\"size\":2}}"},
		{"{\"tags\":{\"a\":\"1\",\"b\":\"2\"}}",
		 "{\"tags\":{\"b\":\"2\",\"a\":\"1\"}}"},
		{"{\"words\":[]}", "{}"},
	};

	for (size_t i = 0; i < COUNT_OF(differ); i++) {
		CHECK(changed(differ[i][0], differ[i][1]));
		CHECK(changed(differ[i][1], differ[i][0]));
		CHECK(!changed(differ[i][0], differ[i][0]));
	}
	for (size_t i = 0; i < COUNT_OF(same); i++)
		CHECK(!changed(same[i][0], same[i][1]));
}

static void the_values_tag_is_found(void)
{
	struct sample *s =
		decode("{\"tags\":{\"a\":\"1\",\"b\":\"\"}}", FIELD_STORED);

	CHECK_STR(field_tag_get(&s->tags, "a"), "1");
	CHECK_STR(field_tag_get(&s->tags, "b"), "");
	CHECK(field_tag_get(&s->tags, "c") == NULL);
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(what_is_not_the_users_is_taken_over);
	RUN(a_default_does_not_replace_what_cannot_change);
	RUN(the_rest_is_replaced);
	RUN(the_same_again_is_no_change);
	RUN(each_change_that_cannot_be_is_told);
	RUN(secrets_may_change);
	RUN(a_secret_that_is_read_only_cannot_be_sent);
	RUN(other_mistakes_make_it_invalid_not_immutable);
	RUN(a_mistake_added_later_makes_it_invalid);
	RUN(sees_what_a_user_changed);
	RUN(the_values_tag_is_found);
	arena_release(&arena);
	return test_done();
}

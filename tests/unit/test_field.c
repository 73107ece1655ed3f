#include "base/field.h"

#include <stdlib.h>

#include "sample.h"
#include "test.h"

static struct arena arena;
static struct violations bad;

/* TEXT decoded; what is wrong with it is in bad. */
static struct sample *decode(const char *text, enum field_mode mode)
{
	struct sample *s = arena_alloc(&arena, sizeof(*s));
	struct err err;
	struct node *n;

	violations_init(&bad, &arena);
	n = json_parse(text, strlen(text), &arena, &err);
	CHECK(n != NULL);
	if (n)
		field_decode(sample_fields, n, mode, s, &bad);
	return s;
}

static const char *encode(const struct sample *s, enum field_view view)
{
	struct buf b = BUF_INIT(10000);
	const char *text;

	field_encode(sample_fields, s, view, &b);
	CHECK(buf_ok(&b));
	text = arena_strdup(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* What was wrong, as "pointer pointer …", in the order found. */
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

static const char *message_at(const char *pointer)
{
	for (size_t i = 0; i < bad.n && i < VIOLATIONS_MOST; i++)
		if (strcmp(bad.list[i].pointer, pointer) == 0)
			return bad.list[i].message;
	return "";
}

#define UUID "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

static void decodes_every_type(void)
{
	const struct sample_part *part;
	struct sample *s = decode(
		"{\"name\":\"web-1\",\"tags\":{\"a\":\"1\",\"b/c\":\"\"},"
		"\"count\":-3,\"limit\":1000,\"on\":false,"
		"\"until\":\"2009-02-13T23:31:30.123Z\",\"mode\":\"still\","
		"\"options\":{ \"x\" : [1, null] },\"owner\":\"" UUID "\","
		"\"token\":\"t\",\"note\":\"n\xc3\xa4\",\"words\":[\"a\",\"b\"]"
		","
		"\"numbers\":[1,-2],\"inner\":{\"size\":-10,\"parts\":"
		"[{\"label\":\"p\",\"size\":5,\"last\":true,"
		"\"words\":[\"w\"]},{\"label\":\"q\"}]}}",
		FIELD_CREATE);

	CHECK_STR(pointers(), "");
	CHECK_STR(s->common.name, "web-1");
	CHECK(s->tags.n == 2 && field_tag_get(&s->tags, "a")[0] == '1');
	CHECK(s->count == -3 && s->limit == 1000 && !s->on);
	CHECK(s->until == 1234567890123 && s->mode == SAMPLE_STILL);
	CHECK_STR(s->options, "{\"x\":[1,null]}");
	CHECK_STR(s->note, "n\xc3\xa4");
	CHECK(s->words.n == 2 && s->numbers.n == 2);
	CHECK_STR(((const char **)s->words.at)[1], "b");
	CHECK(((int64_t *)s->numbers.at)[1] == -2);
	CHECK(s->inner.size == -10 && s->inner.parts.n == 2);
	part = s->inner.parts.at;
	CHECK(part[0].size == 5 && part[0].last && part[0].words.n == 1);
	CHECK(part[1].size == FIELD_NONE && !part[1].last);
}

static void absent_fields_get_their_defaults(void)
{
	struct sample *s = decode("{\"name\":\"a\",\"count\":0}", FIELD_CREATE);

	CHECK_STR(pointers(), "");
	CHECK(s->limit == 10 && s->on);
	CHECK(s->inner.size == 7 && s->inner.mode == SAMPLE_SLOW);
	CHECK(s->fixed.size == 7);
	CHECK(!s->mode && !s->until && !s->note && !s->words.n);
	CHECK(s->count == 0);
	s = decode("{\"name\":\"a\",\"count\":1,\"limit\":null,"
		   "\"note\":null,\"inner\":null}",
		   FIELD_CREATE);
	CHECK_STR(pointers(), "");
	CHECK(s->limit == 10 && s->inner.size == 7);
}

/* A stored document says what is: no defaults of today are put into it. */
static void a_stored_document_is_taken_as_it_is(void)
{
	struct sample *s = decode(
		"{\"id\":\"not a uuid\",\"name\":\"Old Name\",\"count\":1,"
		"\"words\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"],"
		"\"note\":\"x\",\"madeAt\":\"2000-01-01T00:00:00Z\","
		"\"tags\":{\"_\":\"a\\u0007\"},"
		"\"seen\":{\"size\":99,\"password\":\"p\"}}",
		FIELD_STORED);

	CHECK_STR(pointers(), "");
	CHECK(s->limit == FIELD_NONE && !s->on);
	CHECK_STR(s->common.id, "not a uuid");
	CHECK(s->words.n == 6 && s->tags.n == 1);
	CHECK(s->seen.size == 99 && s->inner.size == FIELD_NONE);
	CHECK_STR(s->seen.password, "p");
}

/* Everything that is wrong at once, each with its place. */
static void all_violations_are_told_with_their_pointers(void)
{
	decode("{\"tags\":{\"a\":1,\"!\":\"x\",\"c/"
	       "d\":\"\\n\"},\"count\":\"1\","
	       "\"limit\":1001,\"on\":1,\"until\":\"yesterday\","
	       "\"mode\":\"quick\",\"options\":[],\"owner\":\"me\","
	       "\"note\":\"x\",\"words\":[\"ok\",\" \",5,null],"
	       "\"numbers\":[1.5],\"inner\":{\"size\":11,\"parts\":"
	       "[{\"label\":\"-\"},{},[],{\"label\":\"a\",\"x\":1}]},"
	       "\"~/odd\":1,\"id\":\"" UUID "\"}",
	       FIELD_CREATE);
	CHECK_STR(pointers(),
		  "/id /name /tags/a /tags/! /tags/c~1d /count /limit /on "
		  "/until /mode /options /owner /note /words/1 /words/2 "
		  "/words/3 /numbers/0 /inner/size /inner/parts/0/label "
		  "/inner/parts/1/label /inner/parts/2 /inner/parts/3/x "
		  "/~0~1odd");
	CHECK_STR(message_at("/name"), "is required");
	CHECK_STR(message_at("/id"), "is read-only");
	CHECK_STR(message_at("/count"), "must be an integer, not a string");
	CHECK_STR(message_at("/limit"), "must be from 0 to 1000");
	CHECK_STR(message_at("/mode"), "must be one of fast, slow, still");
	CHECK_STR(message_at("/note"), "must have 2 to 20 bytes");
	CHECK_STR(message_at("/~0~1odd"), "is not a field");
	CHECK_STR(message_at("/owner"), format_uuid.words);
}

static void lists_and_texts_have_ends(void)
{
	decode("{\"name\":\"a\",\"count\":1,\"words\":[\"1\",\"2\",\"3\","
	       "\"4\",\"5\",\"6\"],\"note\":\"123456789012345678901\","
	       "\"inner\":{\"parts\":[{\"label\":\"a\"},{\"label\":\"a\"},"
	       "{\"label\":\"a\"},{\"label\":\"a\"},{\"label\":\"a\"}]}}",
	       FIELD_CREATE);
	CHECK_STR(pointers(), "/note /words /inner/parts");
}

static void a_document_that_is_no_object_is_told(void)
{
	decode("[]", FIELD_CREATE);
	CHECK(bad.n == 1);
	CHECK_STR(bad.list[0].pointer, "");
	CHECK_STR(bad.list[0].message, "must be an object, not an array");
}

static void too_many_violations_are_counted(void)
{
	struct buf b = BUF_INIT(10000);
	struct err err = {0};

	buf_adds(&b, "{\"name\":\"a\",\"count\":1");
	for (int i = 0; i < 100; i++)
		buf_addf(&b, ",\"x%d\":1", i);
	buf_addc(&b, '}');
	decode(buf_str(&b), FIELD_CREATE);
	CHECK(bad.n == 100);
	CHECK(violations_err(&bad, &err) == -1);
	CHECK(err.code == ERR_INVALID && err.violations->n == 100);
	CHECK_STR(err.violations->list[31].pointer, "/x31");
	buf_release(&b);
}

static void one_violation_is_the_error_itself(void)
{
	struct err err = {0};

	decode("{\"name\":\"a\",\"count\":1,\"mode\":\"x\"}", FIELD_CREATE);
	CHECK(violations_err(&bad, &err) == -1);
	CHECK(err.code == ERR_INVALID);
	CHECK_STR(err.field, "/mode");
	CHECK_STR(err.msg, "/mode must be one of fast, slow, still");
	CHECK(err.violations && err.violations->n == 1);
}

/* -2^63 is how an absent integer is kept, and 0 an absent time; sent, they were
 * taken and then not there. */
static void values_that_mean_absent_are_refused(void)
{
	decode("{\"name\":\"a\",\"count\":-9223372036854775808,"
	       "\"until\":\"1970-01-01T00:00:00Z\"}",
	       FIELD_CREATE);
	CHECK_STR(pointers(), "/count /until");
}

static void a_read_only_object_may_be_left_out(void)
{
	struct sample *s = decode("{\"name\":\"a\",\"count\":1}", FIELD_CREATE);

	CHECK_STR(pointers(), "");
	CHECK(s->seen.size == 7);
	decode("{\"name\":\"a\",\"count\":1,\"seen\":{}}", FIELD_CREATE);
	CHECK_STR(pointers(), "/seen");
}

static void encodes_what_is_there(void)
{
	static const char text[] =
		"{\"name\":\"a\",\"count\":1,\"on\":false,\"words\":[]}";
	struct sample *s = decode(text, FIELD_STORED);

	CHECK_STR(encode(s, FIELD_FULL), text);
}

static void encodes_every_type(void)
{
	static const char text[] =
		"{\"id\":\"" UUID "\",\"name\":\"a\","
		"\"madeAt\":\"2009-02-13T23:31:30.123Z\","
		"\"tags\":{\"k\":\"v\\\"\"},\"count\":-1,\"limit\":0,"
		"\"on\":true,\"until\":\"2001-01-01T00:00:00.000Z\","
		"\"mode\":\"fast\",\"options\":{\"a\":{\"b\":[1.5,true]}},"
		"\"owner\":\"o\",\"token\":\"t\",\"note\":\"\\n\","
		"\"words\":[\"x\",\"y\"],\"numbers\":[1,2],"
		"\"inner\":{\"size\":1,\"key\":\"k\",\"password\":\"p\","
		"\"mode\":\"still\",\"parts\":[{\"label\":\"l\",\"size\":3,"
		"\"last\":true,\"words\":[\"w\"]},{\"label\":\"m\","
		"\"last\":false}]},\"seen\":{\"size\":2}}";

	CHECK_STR(encode(decode(text, FIELD_STORED), FIELD_FULL), text);
	CHECK_STR(pointers(), "");
}

static void secrets_are_not_shown(void)
{
	struct sample *s =
		decode("{\"name\":\"a\",\"count\":1,\"token\":\"hush\","
		       "\"inner\":{\"password\":\"hush\",\"key\":\"k\"}}",
		       FIELD_CREATE);

	CHECK(strstr(encode(s, FIELD_FULL), "\"token\":\"hush\""));
	CHECK(strstr(encode(s, FIELD_FULL), "\"password\":\"hush\""));
	CHECK(!strstr(encode(s, FIELD_PUBLIC), "hush"));
	CHECK(!strstr(encode(s, FIELD_PUBLIC), "password"));
	CHECK(strstr(encode(s, FIELD_PUBLIC), "\"key\":\"k\""));
}

static void finds_fields_by_path(void)
{
	struct sample *s = decode("{\"name\":\"a\",\"count\":1,\"mode\":"
				  "\"fast\",\"inner\":{\"key\":\"k\"}}",
				  FIELD_STORED);
	const struct field *f;
	const void *at = NULL;

	f = field_find(sample_fields, "inner.key", s, &at);
	CHECK(f && at == &s->inner.key && field_is(f, at, "k"));
	f = field_find(sample_fields, "name", s, &at);
	CHECK(f && at == &s->common.name && !field_is(f, at, "b"));
	f = field_find(sample_fields, "mode", s, &at);
	CHECK(f && field_is(f, at, "fast"));
	f = field_find(sample_fields, "count", s, &at);
	CHECK(f && field_is(f, at, "1") && !field_is(f, at, "01"));
	CHECK(field_find(sample_fields, "on", NULL, NULL) != NULL);
	CHECK(field_find(sample_fields, "", s, &at) == NULL);
	CHECK(field_find(sample_fields, "nam", s, &at) == NULL);
	CHECK(field_find(sample_fields, "names", s, &at) == NULL);
	CHECK(field_find(sample_fields, "name.x", s, &at) == NULL);
	CHECK(field_find(sample_fields, "inner.", s, &at) == NULL);
	CHECK(field_find(sample_fields, "inner.parts.label", s, &at) == NULL);
}

static const char *text_of(const struct sample *s, const char *path)
{
	struct buf b = BUF_INIT(1000);
	const void *at = NULL;
	const struct field *f = field_find(sample_fields, path, s, &at);
	const char *text;

	CHECK(f != NULL);
	if (f)
		field_text(f, at, &b);
	text = arena_strdup(&arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void shows_fields_as_text(void)
{
	struct sample *s = decode(
		"{\"name\":\"a\",\"count\":-1,\"on\":false,\"numbers\":[1,2],"
		"\"tags\":{\"k\":\"v\"},\"until\":\"2001-01-01T00:00:00Z\","
		"\"inner\":{\"password\":\"hush\",\"key\":\"k\"}}",
		FIELD_STORED);

	CHECK_STR(text_of(s, "name"), "a");
	CHECK_STR(text_of(s, "count"), "-1");
	CHECK_STR(text_of(s, "limit"), "");
	CHECK_STR(text_of(s, "on"), "false");
	CHECK_STR(text_of(s, "mode"), "");
	CHECK_STR(text_of(s, "until"), "2001-01-01T00:00:00.000Z");
	CHECK_STR(text_of(s, "numbers"), "[1,2]");
	CHECK_STR(text_of(s, "tags"), "{\"k\":\"v\"}");
	CHECK_STR(text_of(s, "inner"), "{\"key\":\"k\"}");
	CHECK_STR(text_of(s, "words"), "");
}

struct tally {
	int64_t n;
};

static const struct field tally_fields[] = {
	{"n", FIELD_INT, FIELD_SPARSE, offsetof(struct tally, n), "How many."},
	{0},
};

static void sparse_numbers_are_absent_when_0(void)
{
	struct tally t = {7}, none = {0};
	struct buf b = BUF_INIT(100);
	struct err err;

	violations_init(&bad, &arena);
	field_decode(tally_fields, json_parse("{}", 2, &arena, &err),
		     FIELD_STORED, &t, &bad);
	CHECK(t.n == 0 && bad.n == 0);
	field_encode(tally_fields, &none, FIELD_FULL, &b);
	CHECK(strcmp(buf_str(&b), "{}") == 0);
	buf_release(&b);
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(decodes_every_type);
	RUN(absent_fields_get_their_defaults);
	RUN(a_stored_document_is_taken_as_it_is);
	RUN(all_violations_are_told_with_their_pointers);
	RUN(lists_and_texts_have_ends);
	RUN(a_document_that_is_no_object_is_told);
	RUN(too_many_violations_are_counted);
	RUN(one_violation_is_the_error_itself);
	RUN(values_that_mean_absent_are_refused);
	RUN(a_read_only_object_may_be_left_out);
	RUN(encodes_what_is_there);
	RUN(encodes_every_type);
	RUN(secrets_are_not_shown);
	RUN(finds_fields_by_path);
	RUN(shows_fields_as_text);
	RUN(sparse_numbers_are_absent_when_0);
	arena_release(&arena);
	return test_done();
}

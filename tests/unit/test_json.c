#include "base/json.h"

#include <math.h>

#include "parsed.h"

/* The text that TEXT becomes when it is read and written; "invalid" or
 * "too large" when it is not read.  Valid until the next call. */
static const char *again_n(const char *text, size_t len)
{
	static struct buf out = BUF_INIT((size_t)1 << 20);
	struct arena a;
	struct err err = {0};
	struct node *n;

	buf_clear(&out);
	arena_init(&a, (size_t)16 << 20);
	n = json_parse(text, len, &a, &err);
	if (n)
		json_write(n, false, &out);
	else
		buf_adds(&out,
			 err.code == ERR_INVALID ? "invalid" : "too large");
	arena_release(&a);
	return buf_str(&out);
}

static const char *again(const char *text)
{
	return again_n(text, strlen(text));
}

static void reads_what_is_json(void)
{
	static const char *const same[] = {
		"null",
		"true",
		"false",
		"0",
		"-1",
		"\"\"",
		"{}",
		"[]",
		"9007199254740993", /* 2^53 + 1: no double could hold it */
		"9223372036854775807",
		"-9223372036854775808",
		"1.5",
		"{\"b\":1,\"a\":2}", /* in the order written */
		"[1,[2,[3]],{\"a\":{}}]",
		"\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\"",
		"\"\\\"\\\\\\b\\f\\n\\r\\t\"",
	};

	for (size_t i = 0; i < COUNT_OF(same); i++)
		CHECK_STR(again(same[i]), same[i]);
	CHECK_STR(again(" [ 1 ,\t2\r\n] "), "[1,2]");
	CHECK_STR(again("\"\\ud83d\\ude00\\/\\u0041\""),
		  "\"\xf0\x9f\x98\x80/A\"");
	CHECK_STR(again("-0"), "0");
	CHECK_STR(again("1e2"), "100.0");
}

/* Each of these some widely used parser lets through. */
static const char *const bad[] = {
	"",
	" ",
	"{\"a\":1,\"a\":2}",
	"{\"a\":{\"b\":1,\"b\":1}}",
	"1 2",
	"{}{}",
	"{} x",
	"NaN",
	"Infinity",
	"-Infinity",
	"nul",
	"True",
	"'a'",
	"{a:1}",
	"01",
	"-01",
	"+1",
	".5",
	"1.",
	"0x10",
	"1e",
	"9223372036854775808",
	"-9223372036854775809",
	"18446744073709551616",
	"1e400",
	"-1e400",
	"\"\xff\"",
	"\"\xc0\xaf\"",     /* overlong */
	"\"\xe0\x80\xaf\"", /* overlong */
	"\"\xed\xa0\x80\"", /* a surrogate */
	"\"\xf4\x90\x80\x80\"",
	"\"\xe2\x82\"",
	"\"\\ud800\"",
	"\"\\ud800x\"",
	"\"\\ude00\\ud83d\"",
	"\"\\u0000\"",
	"{\"\\u0000\":1}",
	"{\"a\\u0000b\":1}",
	"\"a\nb\"",
	"\"a\tb\"",
	"\"\\x41\"",
	"\"\\u12g4\"",
	"\"abc",
	"[1,]",
	"[,1]",
	"{\"a\":1,}",
	"{\"a\"}",
	"{1:2}",
	"[1",
	"]",
	"// c\n1",
	"/* c */ 1",
	"\xef\xbb\xbf{}",
};

static void refuses_what_is_not(void)
{
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK_STR(again(bad[i]), "invalid");
	CHECK_STR(again_n("{}\0", 3), "invalid");
	CHECK_STR(again_n("1\0", 2), "invalid");
	CHECK_STR(again_n("[1\0,2]", 6), "invalid");
	CHECK_STR(again_n("\"a\0b\"", 5), "invalid");
	CHECK_STR(again_n("\0", 1), "invalid");
	CHECK_STR(again_n(NULL, 0), "invalid");
}

/* An escape anywhere has jansson read all of the text: with and without one
 * the same must come of it. */
static void plain_text_is_read_as_any_other(void)
{
	static const char *const texts[] = {
		"null",
		"true",
		"[false,nul]",
		"truely",
		"0",
		"-0",
		"00",
		"-",
		"1.5",
		"1e2",
		"1-",
		"123456789012345678",
		"-12345678901",
		"9223372036854775807",
		"[ ]",
		"[1 , 2]",
		"[1,]",
		"[,1]",
		"[1 2]",
		"{ }",
		"{\"a\" : {}}",
		"{\"a\":1,\"a\":1}",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{a:1}",
		"{\"\":[[],{}]}",
		"\"h\xc3\xa9\"",
		"\"\xc3\"",
		"\"\x7f\"",
		"\"\t\"",
		"[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buf plain = BUF_INIT(256), escaped = BUF_INIT(256);
		struct buf first = BUF_INIT(256);

		buf_addf(&plain, "[%s,\"a\"]", texts[i]);
		buf_addf(&escaped, "[%s,\"\\u0061\"]", texts[i]);
		buf_adds(&first, again(buf_str(&plain)));
		CHECK_STR(again(buf_str(&escaped)), buf_str(&first));
		buf_release(&plain);
		buf_release(&escaped);
		buf_release(&first);
	}
}

static void says_where_it_went_wrong(void)
{
	static const char text[] = "{\n  \"a\": 1,\n  \"a\": 2\n}";
	struct arena a;
	struct err err = {0};

	arena_init(&a, 1 << 20);
	CHECK(!json_parse(text, sizeof(text) - 1, &a, &err));
	CHECK(strstr(err.msg, "line 3") != NULL);
	CHECK(strstr(err.msg, "duplicate") != NULL);
	arena_release(&a);
}

static void shows_what_a_value_is(void)
{
	struct arena a;
	struct node *n;
	size_t len = 0;

	arena_init(&a, 1 << 20);
	n = parse(&a, "[null,true,7,1.5,\"text\",[1,2],{\"k\":0}]");
	CHECK(node_count(n) == 7 && node_at(n, 7) == NULL);
	for (size_t i = 0; i < 7; i++) {
		static const char *const names[] = {
			"null",     "a boolean", "an integer", "a fraction",
			"a string", "an array",  "an object"};

		CHECK((size_t)node_type(node_at(n, i)) == i);
		CHECK_STR(node_type_name(node_at(n, i)), names[i]);
	}
	CHECK(node_bool(node_at(n, 1)));
	CHECK(node_int(node_at(n, 2)) == 7);
	CHECK(fabs(node_real(node_at(n, 3)) - 1.5) < 1e-9);
	CHECK(fabs(node_real(node_at(n, 2)) - 7) < 1e-9);
	CHECK_STR(node_string(node_at(n, 4), &len), "text");
	CHECK(len == 4);
	CHECK(node_count(node_at(n, 5)) == 2);
	CHECK(node_get(node_at(n, 6), "k") != NULL);
	CHECK(node_get(node_at(n, 6), "x") == NULL);
	CHECK(node_get(node_at(n, 5), "k") == NULL);
	arena_release(&a);
}

static void walks_in_the_order_written(void)
{
	struct arena a;
	struct node *n, *value;
	struct node_walk w;
	const char *key;
	int64_t i = 0;

	arena_init(&a, 1 << 20);
	n = parse(&a, "{\"z\":0,\"a\":1,\"m\":2,\"b\":3,\"y\":4,\"c\":5,"
		      "\"x\":6,\"d\":7,\"w\":8,\"e\":9}");
	w = node_walk(n);
	while ((value = node_walk_next(&w, &key)))
		CHECK(node_int(value) == i && *key == "zambycxdwe"[i++]);
	CHECK(i == 10);
	w = node_walk(parse(&a, "{}"));
	CHECK(node_walk_next(&w, &key) == NULL);
	arena_release(&a);
}

static void finds_text_by_path(void)
{
	struct arena a;
	struct node *n;

	arena_init(&a, 1 << 20);
	n = parse(&a, "{\"a\":{\"b\":{\"c\":\"x\"}},\"s\":\"t\",\"i\":1}");
	CHECK_STR(node_text(n, "a.b.c"), "x");
	CHECK_STR(node_text(n, "s"), "t");
	CHECK(node_text(n, "i") == NULL);
	CHECK(node_text(n, "a.b") == NULL);
	CHECK(node_text(n, "a.x.c") == NULL);
	CHECK(node_text(n, "s.t") == NULL);
	CHECK(node_text(n, "") == NULL);
	arena_release(&a);
}

static void builds_trees(void)
{
	struct buf out = BUF_INIT(1000);
	struct arena a;
	struct node *o, *list;

	arena_init(&a, 1 << 20);
	o = node_new_object(&a);
	list = node_new_array(&a);
	CHECK(node_append(&a, list, node_new_int(&a, -5)));
	CHECK(node_append(&a, list, node_new_real(&a, 0.25)));
	CHECK(node_append(&a, list, node_new_bool(&a, true)));
	CHECK(node_append(&a, list, node_new_null(&a)));
	CHECK(node_append(&a, list, node_new_string(&a, "xyz", 2)));
	CHECK(node_set(&a, o, "list", list));
	CHECK(node_set(&a, o, "gone", node_new_null(&a)));
	CHECK(node_set(&a, o, "list2", node_new_array(&a)));
	CHECK(!node_set(&a, o, "x", NULL));
	CHECK(!node_append(&a, list, NULL));
	CHECK(node_new_string(&a, "\xff", 1) == NULL);
	node_unset(&a, o, "gone");
	node_unset(&a, o, "never");
	json_write(o, false, &out);
	CHECK_STR(buf_str(&out),
		  "{\"list\":[-5,0.25,true,null,\"xy\"],\"list2\":[]}");
	buf_clear(&out);
	json_write(parse(&a, "{\"a\":[1]}"), true, &out);
	CHECK_STR(buf_str(&out), "{\n  \"a\": [\n    1\n  ]\n}");
	buf_release(&out);
	arena_release(&a);
}

static void a_full_buf_is_noticed(void)
{
	struct buf out = BUF_INIT(5);
	struct arena a;

	arena_init(&a, 1 << 20);
	json_write(parse(&a, "[1,2,3]"), false, &out);
	CHECK(!buf_ok(&out));
	buf_release(&out);
	arena_release(&a);
}

static const char *quoted(const char *s, size_t len)
{
	static struct buf out = BUF_INIT(4096);

	buf_clear(&out);
	json_add_string(&out, s, len);
	return buf_str(&out);
}

static void writes_strings_that_can_be_read(void)
{
	struct arena a;
	struct node *n;
	size_t len = 0;
	char all[127];

	for (int i = 0; i < 127; i++)
		all[i] = (char)(i + 1);
	arena_init(&a, 1 << 20);
	n = parse(&a, quoted(all, sizeof(all)));
	CHECK(memcmp(node_string(n, &len), all, sizeof(all)) == 0);
	CHECK(len == sizeof(all));
	CHECK_STR(quoted("a\"b\\c\n\x01\x7f", 8),
		  "\"a\\\"b\\\\c\\n\\u0001\\u007f\"");
	CHECK_STR(quoted("a\0b", 3), "\"a\\u0000b\"");
	CHECK_STR(quoted("", 0), "\"\"");
	CHECK_STR(quoted("\xe2\x82\xac", 3), "\"\xe2\x82\xac\"");
	arena_release(&a);
}

/* Wherever it stands in a text of whatever length, which is looked at by words. */
static void every_byte_is_written_in_every_place(void)
{
	for (int byte = 0; byte < 256; byte++) {
		char alone[16], want[64], text[20];

		snprintf(alone, sizeof(alone), "%s",
			 quoted((char[]){(char)byte}, 1) + 1);
		alone[strlen(alone) - 1] = '\0';
		for (int len = 1; len <= (int)sizeof(text); len++)
			for (int at = 0; at < len; at++) {
				memset(text, 'z', sizeof(text));
				text[at] = (char)byte;
				snprintf(want, sizeof(want), "\"%.*s%s%.*s\"",
					 at, "zzzzzzzzzzzzzzzzzzzz", alone,
					 len - at - 1, "zzzzzzzzzzzzzzzzzzzz");
				CHECK_STR(quoted(text, (size_t)len), want);
			}
	}
}

/* A message cut in the middle of a character, or a name that a cloud sent in
 * Latin-1, once went out as it was: a reply that no JSON reader takes. */
static void bytes_that_are_not_text_become_replacement_characters(void)
{
	static const struct {
		const char *in, *out;
	} t[] = {
		{"\xff", "\"\xef\xbf\xbd\""},
		{"a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xe2\x82\xacz\xc3", "\"\xe2\x82\xacz\xef\xbf\xbd\""},
		{"m\xfcnchen", "\"m\xef\xbf\xbdnchen\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xf4\x90\x80\x80", NULL},
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
		{"\x80", "\"\xef\xbf\xbd\""},
	};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *text = quoted(t[i].in, strlen(t[i].in));

		CHECK(strcmp(again(text), "invalid") != 0);
		if (t[i].out)
			CHECK_STR(text, t[i].out);
	}
}

/* The table of RFC 7396, appendix A. */
static void merges_as_the_rfc_shows(void)
{
	static const char *const t[][3] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
		 "{\"a\":{\"b\":\"d\"}}"},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
		{"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
		{"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
		{"{\"a\":\"foo\"}", "null", "null"},
		{"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
		{"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
		{"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}",
		 "{\"a\":{\"bb\":{}}}"},
	};
	struct buf out = BUF_INIT(1000);
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		buf_clear(&out);
		json_write(
			node_merge(&a, parse(&a, t[i][0]), parse(&a, t[i][1])),
			false, &out);
		CHECK_STR(buf_str(&out), t[i][2]);
	}
	buf_clear(&out);
	json_write(node_merge(&a, NULL, parse(&a, "{\"a\":null,\"b\":1}")),
		   false, &out);
	CHECK_STR(buf_str(&out), "{\"b\":1}");
	buf_release(&out);
	arena_release(&a);
}

int main(void)
{
	RUN(reads_what_is_json);
	RUN(refuses_what_is_not);
	RUN(plain_text_is_read_as_any_other);
	RUN(says_where_it_went_wrong);
	RUN(shows_what_a_value_is);
	RUN(walks_in_the_order_written);
	RUN(finds_text_by_path);
	RUN(builds_trees);
	RUN(a_full_buf_is_noticed);
	RUN(writes_strings_that_can_be_read);
	RUN(every_byte_is_written_in_every_place);
	RUN(bytes_that_are_not_text_become_replacement_characters);
	RUN(merges_as_the_rfc_shows);
	return test_done();
}

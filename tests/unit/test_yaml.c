#include "base/yaml.h"

#include <stdlib.h>

#include "base/random.h"
#include "test.h"

/* YAML as compact JSON, or "invalid"; valid until the next call. */
static const char *as_json_n(const char *text, size_t len)
{
	static struct buf out = BUF_INIT((size_t)1 << 20);
	struct arena a;
	struct err err = {0};
	struct node *n;

	buf_clear(&out);
	arena_init(&a, (size_t)4 << 20);
	n = yaml_parse(text, len, &a, &err);
	if (n)
		json_write(n, false, &out);
	else
		buf_adds(&out, err.code == ERR_INVALID ? "invalid" : "large");
	arena_release(&a);
	return buf_str(&out);
}

static const char *as_json(const char *text)
{
	return as_json_n(text, strlen(text));
}

static void reads_the_core_types(void)
{
	static const char *const t[][2] = {
		{"~", "null"},
		{"null", "null"},
		{"NULL", "null"},
		{"a:", "{\"a\":null}"},
		{"true", "true"},
		{"False", "false"},
		{"yes", "\"yes\""}, /* not YAML 1.1's idea of Norway */
		{"no", "\"no\""},
		{"on", "\"on\""},
		{"0", "0"},
		{"-12", "-12"},
		{"+12", "12"},
		{"007", "7"},
		{"9223372036854775807", "9223372036854775807"},
		{"1.5", "1.5"},
		{".5", "0.5"},
		{"-1e3", "-1000.0"},
		{"1.2.3", "\"1.2.3\""},
		{"1-2", "\"1-2\""},
		{"+", "\"+\""},
		{".", "\".\""},
		{"12:30", "\"12:30\""},
		{"0x1f", "\"0x1f\""},
		{"\"5\"", "\"5\""},
		{"'true'", "\"true\""},
		{"'it''s'", "\"it's\""},
		{"\"a\\n\\u00e9\\x41\"", "\"a\\n\xc3\xa9"
					 "A\""},
		{"plain text", "\"plain text\""},
	};

	for (size_t i = 0; i < COUNT_OF(t); i++)
		CHECK_STR(as_json(t[i][0]), t[i][1]);
}

static void reads_the_usual_shapes(void)
{
	CHECK_STR(as_json("name: web-1\nspec:\n  ports:\n  - 80\n  - 443\n"
			  "  tags: {a: b, c: \"d\"}\n"),
		  "{\"name\":\"web-1\",\"spec\":{\"ports\":[80,443],"
		  "\"tags\":{\"a\":\"b\",\"c\":\"d\"}}}");
	CHECK_STR(as_json("- a: 1\n  b: 2\n-\n  - x\n- []\n- {}\n"),
		  "[{\"a\":1,\"b\":2},[\"x\"],[],{}]");
	CHECK_STR(as_json("t: |\n  one\n  two\nf: >-\n  one\n  two\n"),
		  "{\"t\":\"one\\ntwo\\n\",\"f\":\"one two\"}");
	CHECK_STR(as_json("# c\n---\na: 1 # c\n...\n"), "{\"a\":1}");
	CHECK_STR(as_json("{\"a\": [1, \"x\", null]}"),
		  "{\"a\":[1,\"x\",null]}");
	CHECK_STR(as_json("%YAML 1.1\n---\na: 1\n"), "{\"a\":1}");
	CHECK_STR(as_json("1: a\ntrue: b\n"), "{\"1\":\"a\",\"true\":\"b\"}");
}

static void refuses_what_could_surprise(void)
{
	static const char *const bad[] = {
		"",
		"# only a comment\n",
		"a: 1\na: 2\n",
		"a: {b: 1, b: 2}",
		"a: &x 1\nb: *x\n",
		"a: &x 1\n",
		"a: &x [1]\n",
		"a: &x {b: 1}\n",
		"&x a: 1\n",
		"*x",
		"a: *x\n",
		"!!str 5",
		"a: !!int \"5\"\n",
		"a: !thing b\n",
		"! a",
		"!!python/object/apply:os.system [ls]",
		"!!str a: 1\n",
		"a: 1\n---\nb: 2\n",
		"a: 1\n...\n---\nb: 2\n",
		"[1]: 2\n",
		"{a: 1}: 2\n",
		"a: b: c\n",
		"a: [1, 2\n",
		"a:\n\t- 1\n",
		"\"\\ud800\"",
		"\"\\x00\"",
		"a: \"\\0\"\n",
		"\"abc",
		"\xff",
		"a: \xc0\xaf\n",
		"a: b\x01\n",
		"]",
		"@a",
		"`a",
		"%a",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK_STR(as_json(bad[i]), "invalid");
	CHECK_STR(as_json_n("a: 1\0b", 6), "invalid");
}

/* Tags were refused on scalars only; "!!set {a, b}" passed for a mapping. */
static void tags_on_collections_are_refused(void)
{
	CHECK_STR(as_json("!!map {a: 1}"), "invalid");
	CHECK_STR(as_json("!!set {a, b}"), "invalid");
	CHECK_STR(as_json("a: !thing [1]\n"), "invalid");
}

/* A key was cut at its NUL, so that two keys could become one. */
static void a_nul_in_a_key_is_refused(void)
{
	CHECK_STR(as_json("\"a\\0b\": 1\n"), "invalid");
	CHECK_STR(as_json("{\"a\\x00\": 1, \"b\": 2}"), "invalid");
}

/* 2^63 became a fraction and lost its last digits without a word. */
static void numbers_that_do_not_fit_are_refused(void)
{
	CHECK_STR(as_json("9223372036854775808"), "invalid");
	CHECK_STR(as_json("-9223372036854775809"), "invalid");
	CHECK_STR(as_json("a: 123456789012345678901234567890\n"), "invalid");
	CHECK_STR(as_json("1e400"), "invalid");
}

/* The smallest fractions are fractions: strtod() reports an underflow. */
static void the_smallest_fraction_is_one(void)
{
	CHECK(strncmp(as_json("5e-324"), "4.94", 4) == 0);
}

static void says_where_it_went_wrong(void)
{
	static const char text[] = "a: 1\nb:\n  c: 1\n  c: 2\n";
	struct arena a;
	struct err err = {0};

	arena_init(&a, 1 << 20);
	CHECK(!yaml_parse(text, sizeof(text) - 1, &a, &err));
	CHECK(strstr(err.msg, "line 4, column 3") != NULL);
	CHECK(strstr(err.msg, "twice") != NULL);
	arena_release(&a);
}

/* JSON to YAML and back gives the same JSON. */
static bool survives(const char *json)
{
	struct buf yaml = BUF_INIT((size_t)1 << 20);
	struct buf want = BUF_INIT((size_t)1 << 20);
	struct arena a;
	struct err err = {0};
	struct node *n;
	bool same = false;

	arena_init(&a, (size_t)8 << 20);
	n = json_parse(json, strlen(json), &a, &err);
	if (n) {
		json_write(n, false, &want);
		yaml_write(n, &yaml);
		same = buf_ok(&yaml) &&
		       strcmp(as_json(buf_str(&yaml)), buf_str(&want)) == 0;
		if (!same)
			printf("# %s\n# %s\n# %s\n", buf_str(&want),
			       buf_str(&yaml), as_json(buf_str(&yaml)));
	}
	buf_release(&yaml);
	buf_release(&want);
	arena_release(&a);
	return same;
}

static void what_it_writes_it_reads(void)
{
	static const char *const t[] = {
		"null",
		"true",
		"-1",
		"1.5",
		"1e22",
		"\"\"",
		"\"text\"",
		"[]",
		"{}",
		"[[],{},[[]],[{}]]",
		"{\"a\":{\"b\":[1,[2,[3,{\"c\":null}]]]}}",
		"[{\"a\":1,\"b\":[{\"c\":2}]},{\"d\":{\"e\":{}}}]",
		"{\"\":\"\"}",
		"{\"true\":\"true\",\"1\":\"1\",\"null\":\"null\",\"~\":\"~\"}",
		"[\"yes\",\"1e400\",\"0x1\",\"-\",\"?\",\":\",\"- a\"]",
		"[\"a: b\"]",
		"[\"a #b\",\"#\",\" a\",\"a \",\"\\t\",\"a\\tb\",\"\\ta\"]",
		"[\"a\\nb\",\"\\n\",\"a\\r\\nb\",\"a\\r\",\"---\",\"...\"]",
		"[\"... a\",\"%a\",\"@\",\"`\",\"|\",\">\",\"!\",\"&a\"]",
		"[\"'\",\"\\\"\",\"\\\\\",\"a'b\",\"a\\\"b\",\"[\",\"{\"]",
		"[\",\",\"*a\"]",
		"[\"9223372036854775808\",\".5\",\"+1\",\"1-2\",\"=\",\"<<\"]",
		"{\"a b\":1,\"a:b\":2,\"- c\":3,\"? d\":4,\"\\n\":5}",
	};

	for (size_t i = 0; i < COUNT_OF(t); i++)
		CHECK(survives(t[i]));
}

/* YAML forbids some characters in the open, and takes others for the end of a
 * line: written as they are, they came back changed or not at all. */
static void odd_characters_are_escaped(void)
{
	static const char *const t[] = {
		"\"\x7f\"",
		"\"\xc2\x80\"",
		"\"\xc2\x85\"",
		"\"a\xc2\x85 b\"",
		"\"\xc2\x9f\"",
		"\"\xc2\xa0\"",
		"\"\xe2\x80\xa8\"",
		"\"\xe2\x80\xa9\"",
		"\"a\xe2\x80\xa8\"",
		"\"\xef\xbb\xbf\"",
		"\"\xef\xbf\xbe\"",
		"\"\xef\xbf\xbf\"",
		"\"\xef\xbf\xbd\"",
		"\"\xf0\x9f\x98\x80\"",
		"\"\\u0001\\u001f\\u001b\"",
		"{\"\xc2\x85\":\"\xe2\x80\xa8\"}",
		"{\"a\":\"x\xe2\x80\xa8y\",\"b\":\"x\xe2\x80\xa9 y\"}",
	};

	for (size_t i = 0; i < COUNT_OF(t); i++)
		CHECK(survives(t[i]));
}

/* YAML gives up looking for the colon after 1024 characters. */
static void long_keys_are_written_as_such(void)
{
	char json[2200];

	for (int len = 100; len < 2100; len += 50) {
		snprintf(json, sizeof(json), "{\"a\":{\"%0*d\":[1]},\"b\":2}",
			 len, 7);
		CHECK(survives(json));
		snprintf(json, sizeof(json), "[{\"%0*d\":{\"x\":1}}]", len, 7);
		CHECK(survives(json));
	}
}

static struct node *random_node(struct arena *a, struct random *r, int depth);

static const char *random_text(struct random *r, char text[32])
{
	static const char alphabet[] = " \t\n:-#?,[]{}&*!|>'\"%@`~0123ab.\\";
	size_t n = random_below(r, 12);

	for (size_t i = 0; i < n; i++)
		text[i] = alphabet[random_below(r, sizeof(alphabet) - 1)];
	text[n] = '\0';
	return text;
}

static struct node *random_list(struct arena *a, struct random *r, int depth)
{
	struct node *n = node_new_array(a);

	for (uint64_t i = random_below(r, 5); i; i--)
		node_append(a, n, random_node(a, r, depth + 1));
	return n;
}

static struct node *random_object(struct arena *a, struct random *r, int depth)
{
	struct node *n = node_new_object(a);
	char key[32];

	for (uint64_t i = random_below(r, 5); i; i--)
		node_set(a, n, random_text(r, key),
			 random_node(a, r, depth + 1));
	return n;
}

static struct node *random_node(struct arena *a, struct random *r, int depth)
{
	char text[32];

	switch (random_below(r, depth < 5 ? 9 : 6)) {
	case 0:
		return node_new_null(a);
	case 1:
		return node_new_bool(a, random_below(r, 2));
	case 2:
		return node_new_int(a, (int64_t)random_below(r, 2000) - 1000);
	case 3:
		return node_new_real(a, (double)random_below(r, 1000) / 8);
	case 6:
	case 7:
		return random_object(a, r, depth);
	case 8:
		return random_list(a, r, depth);
	default:
		random_text(r, text);
		return node_new_string(a, text, strlen(text));
	}
}

static void random_trees_survive(void)
{
	struct buf json = BUF_INIT((size_t)1 << 20);
	struct random_seeded r;

	random_seed(&r, 11);
	for (int i = 0; i < 3000 && test_ok; i++) {
		struct arena a;

		arena_init(&a, (size_t)8 << 20);
		buf_clear(&json);
		json_write(random_node(&a, &r.base, 0), false, &json);
		CHECK(survives(buf_str(&json)));
		arena_release(&a);
	}
	buf_release(&json);
}

int main(void)
{
	RUN(reads_the_core_types);
	RUN(reads_the_usual_shapes);
	RUN(refuses_what_could_surprise);
	RUN(tags_on_collections_are_refused);
	RUN(a_nul_in_a_key_is_refused);
	RUN(numbers_that_do_not_fit_are_refused);
	RUN(the_smallest_fraction_is_one);
	RUN(says_where_it_went_wrong);
	RUN(what_it_writes_it_reads);
	RUN(odd_characters_are_escaped);
	RUN(long_keys_are_written_as_such);
	RUN(random_trees_survive);
	return test_done();
}

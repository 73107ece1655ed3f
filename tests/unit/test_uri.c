#include "http/uri.h"

#include <stdlib.h>

#include "test.h"

static struct arena arena;
static struct uri uri;
static struct err err;

static bool parses(const char *target)
{
	static const char *const repeatable[] = {"tag", NULL};

	return uri_parse(target, repeatable, &arena, &uri, &err) == 0;
}

static void paths_become_segments(void)
{
	CHECK(parses("/"));
	CHECK(uri.n_segments == 0 && uri.n_query == 0);
	CHECK(parses("/v1/projects/x?limit=10"));
	CHECK_STR(uri.path, "/v1/projects/x");
	CHECK(uri.n_segments == 3);
	CHECK_STR(uri.segments[0], "v1");
	CHECK_STR(uri.segments[2], "x");
	CHECK_STR(uri_query(&uri, "limit"), "10");
	CHECK(uri_query(&uri, "after") == NULL);
	CHECK(parses("/a/%c3%A9t%C3%a9:x"));
	CHECK_STR(uri.segments[1], "\xc3\xa9t\xc3\xa9:x");
}

static void queries_become_pairs(void)
{
	CHECK(parses("/a?x=1+2&y=&z&tag=a=b&tag=c%26d%3D/e?"));
	CHECK(uri.n_query == 5);
	CHECK_STR(uri_query(&uri, "x"), "1+2");
	CHECK_STR(uri_query(&uri, "y"), "");
	CHECK_STR(uri_query(&uri, "z"), "");
	CHECK_STR(uri.query[3].value, "a=b");
	CHECK_STR(uri.query[4].value, "c&d=/e?");
	CHECK(parses("/a?"));
	CHECK(uri.n_query == 0);
	CHECK(parses("/a?%C3%BC=1"));
	CHECK_STR(uri.query[0].name, "\xc3\xbc");
}

static void what_two_readers_could_read_differently_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"a",
		"*",
		"http://x/",
		"//",
		"/a//b",
		"/a/",
		"/.",
		"/a/..",
		"/a/%2e%2E/b",
		"/a%2fb",
		"/a%",
		"/a%4",
		"/a%zz",
		"/a%00",
		"/a%0a",
		"/a%7f",
		"/%c2%80",
		"/%ff",
		"/%c0%af",
		"/%e0%80%80",
		"/%ed%a0%80",
		"/%f4%90%80%80",
		"/%c3",
		"/a b",
		"/a\tb",
		"/a\\b",
		"/a\x80",
		"/a#b",
		"/a?x=1#b",
		"/a?=1",
		"/a?x&",
		"/a?&x",
		"/a?x=1&x=1",
		"/a?x&x",
		"/a?x=%",
		"/a?x=%00",
		"/a?x=\"",
		"/a?%=1",
		"/1/2/3/4/5/6/7/8/9",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err = (struct err){0};
		if (parses(bad[i]))
			printf("# taken: %s\n", bad[i]);
		CHECK(err.code == ERR_INVALID);
	}
}

static void lengths_have_ceilings(void)
{
	struct buf b = BUF_INIT(8192);

	buf_adds(&b, "/a?x=");
	while (b.len < URI_LENGTH_MOST)
		buf_addc(&b, 'y');
	CHECK(parses(b.data));
	buf_addc(&b, 'y');
	CHECK(!parses(b.data));
	buf_clear(&b);
	buf_adds(&b, "/a?q0");
	for (int i = 1; i < URI_QUERY_MOST; i++)
		buf_addf(&b, "&q%d", i);
	CHECK(parses(b.data) && uri.n_query == URI_QUERY_MOST);
	buf_adds(&b, "&more");
	CHECK(!parses(b.data));
	buf_release(&b);
}

static void escapes_come_back_as_they_went(void)
{
	struct buf b = BUF_INIT(4096);

	buf_adds(&b, "/");
	uri_add_escaped(&b, "a b%&=?#+~\xc3\xa9");
	CHECK_STR(b.data, "/a%20b%25%26%3D%3F%23%2B~%C3%A9");
	CHECK(parses(b.data));
	CHECK_STR(uri.segments[0], "a b%&=?#+~\xc3\xa9");
	buf_release(&b);
}

static void a_full_arena_is_an_answer(void)
{
	struct arena small;

	arena_init(&small, 16);
	CHECK(uri_parse("/aaaaaaaa/bbbbbbbb/cccccccc", NULL, &small, &uri,
			&err) == -1);
	CHECK(err.code == ERR_TOO_LARGE);
	arena_release(&small);
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(paths_become_segments);
	RUN(queries_become_pairs);
	RUN(what_two_readers_could_read_differently_is_refused);
	RUN(lengths_have_ceilings);
	RUN(escapes_come_back_as_they_went);
	RUN(a_full_arena_is_an_answer);
	arena_release(&arena);
	return test_done();
}

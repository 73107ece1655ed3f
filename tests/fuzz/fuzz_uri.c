/*
 * A request's target.  What is accepted, put together again from its parts,
 * is accepted again and has the same parts; and none of them holds what could
 * mislead: control characters, a NUL, a dot segment.
 */

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "http/uri.h"

static const char *const repeatable[] = {"tag", NULL};

static void check_text(const char *s)
{
	size_t len = strlen(s), n;
	uint32_t c;

	for (; len; s += n, len -= n) {
		n = utf8_take(s, len, &c);
		MUST(n && c >= ' ' && (c < 0x7f || c > 0x9f));
	}
}

static void check_parts(const struct uri *u)
{
	MUST(u->n_segments <= URI_SEGMENTS_MOST);
	MUST(u->n_query <= URI_QUERY_MOST);
	for (size_t i = 0; i < u->n_segments; i++) {
		check_text(u->segments[i]);
		MUST(u->segments[i][0] && !strchr(u->segments[i], '/'));
		MUST(strcmp(u->segments[i], ".") != 0);
		MUST(strcmp(u->segments[i], "..") != 0);
	}
	for (size_t i = 0; i < u->n_query; i++) {
		check_text(u->query[i].name);
		check_text(u->query[i].value);
		MUST(uri_query(u, u->query[i].name));
		for (size_t j = 0; j < i; j++)
			MUST(strcmp(u->query[i].name, u->query[j].name) != 0 ||
			     strcmp(u->query[i].name, "tag") == 0);
	}
	MUST(!uri_query(u, "\x01"));
}

static void put_together(const struct uri *u, struct buf *b)
{
	for (size_t i = 0; i < u->n_segments; i++) {
		buf_addc(b, '/');
		uri_add_escaped(b, u->segments[i]);
	}
	if (!u->n_segments)
		buf_addc(b, '/');
	for (size_t i = 0; i < u->n_query; i++) {
		buf_addc(b, i ? '&' : '?');
		uri_add_escaped(b, u->query[i].name);
		buf_addc(b, '=');
		uri_add_escaped(b, u->query[i].value);
	}
	MUST(buf_ok(b));
}

static void check_same(const struct uri *u, const struct uri *v)
{
	MUST(u->n_segments == v->n_segments && u->n_query == v->n_query);
	for (size_t i = 0; i < u->n_segments; i++)
		MUST_SAME(u->segments[i], v->segments[i]);
	for (size_t i = 0; i < u->n_query; i++) {
		MUST_SAME(u->query[i].name, v->query[i].name);
		MUST_SAME(u->query[i].value, v->query[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf again = BUF_INIT(65536);
	struct err err = {0};
	struct uri u, v;
	struct arena a;
	char *target;

	arena_init(&a, (size_t)1 << 20);
	if (size > 16384) {
		arena_release(&a);
		return 0;
	}
	target = arena_memdup(&a, data, size);
	if (uri_parse(target, repeatable, &a, &u, &err) == 0) {
		check_parts(&u);
		put_together(&u, &again);
		/* Escapes may make it longer than is accepted. */
		if (again.len <= URI_LENGTH_MOST) {
			MUST(uri_parse(buf_str(&again), repeatable, &a, &v,
				       &err) == 0);
			check_same(&u, &v);
		}
	} else {
		MUST(err.code != ERR_NONE && err.msg[0]);
	}
	buf_release(&again);
	arena_release(&a);
	return 0;
}

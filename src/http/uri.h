/*
 * uri - a request's target, taken apart strictly.
 *
 * "/v1/projects/x?limit=10" becomes segments and query pairs, percent-decoded.
 * Refused, so that no two readers can differ about what was meant: a bad or
 * cut escape, an escaped slash or NUL, control characters, invalid UTF-8, empty
 * or dot segments, a query word twice (but for those in REPEATABLE), a
 * fragment, more than the ceilings below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { URI_SEGMENTS_MOST = 8, URI_QUERY_MOST = 32, URI_LENGTH_MOST = 4096 };

struct uri_pair {
	const char *name, *value;
};

struct uri {
	const char *path; /* as sent, without the query */
	const char *segments[URI_SEGMENTS_MOST];
	size_t n_segments;
	struct uri_pair query[URI_QUERY_MOST];
	size_t n_query;
};

/* REPEATABLE: a NULL-ended list of query words that may come twice. */
int uri_parse(const char *target, const char *const *repeatable,
	      struct arena *a, struct uri *ret, struct err *err) MUST_CHECK;

/* The value of the first query pair of that name; NULL when there is none. */
const char *uri_query(const struct uri *u, const char *name);

/* TEXT percent-encoded for a path segment or a query value. */
void uri_add_escaped(struct buf *b, const char *text);

/* An address that can be believed: https, or http on this machine itself; with
 * nothing before its host that could pass for it. */
bool uri_is_trusty(const char *url);

/* filter - which objects of a list are wanted. */
#pragma once

#include "api/call.h"

enum { FILTER_PATH = 48 };

struct filter {
	char path[FILTER_PATH];
	const char *value;
	const struct field *field;
};

enum { FILTERS_MOST = 16 };

struct filters {
	const struct kind *kind;
	struct filter list[FILTERS_MOST];
	size_t n;
};

/* From the query; the kind must be set. */
int filters_read(const struct call *c, struct filters *ret, struct err *err);
bool filters_match(const struct filters *f, const void *object);

/* The field that a query word filters by, or NULL.  Those in spec and status are
 * named by their last word alone. */
const struct field *filter_field(const struct kind *k, const char *word,
				 char path[FILTER_PATH]);

/* parsed - a tree of a text that is JSON, for the tests of trees. */
#pragma once

#include <stdlib.h>

#include "base/json.h"
#include "test.h"

static inline struct node *parse(struct arena *a, const char *text)
{
	struct err err;
	struct node *n = json_parse(text, strlen(text), a, &err);

	CHECK(n != NULL);
	if (!n)
		abort();
	return n;
}

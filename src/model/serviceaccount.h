/* serviceaccount - a program that calls the API with tokens of its own. */
#pragma once

#include "model/kind.h"

struct serviceaccount {
	struct meta meta;            /* first, as in every noun */
	const char *organization_id; /* NULL: the platform's own */
};

extern const struct kind serviceaccount_kind;

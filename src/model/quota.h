/*
 * quota - how much of what may be used.
 *
 * A quota kind is something that is counted: instances, vcpus.  A quota limits
 * an organization or one of its projects.  An allocation is what one object
 * uses; there is no other account of use than the sum of them.
 */
#pragma once

#include "model/kind.h"

/* No limit, and no sum, is above this. */
#define QUOTA_MOST ((int64_t)1 << 52)

struct quotakind {
	struct meta meta; /* first, as in every noun */
	const char *unit;
	int64_t fallback; /* the limit where none is set; FIELD_NONE: none */
};

struct quota_limit {
	const char *kind; /* a quota kind's name */
	int64_t limit;
};

struct quota {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id;
	struct items limits; /* of struct quota_limit */
};

struct quota_amount {
	const char *kind;
	int64_t committed; /* in use */
	int64_t reserved;  /* may come to be used: a group's largest size */
};

struct allocation {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id;
	const char *object_kind, *object_id; /* what uses it */
	struct items amounts;                /* of struct quota_amount */
};

extern const struct kind quotakind_kind, quota_kind, allocation_kind;

/* The id of the one allocation of an object. */
void allocation_id(const char *organization, const char *object, char out[37]);

struct built_in_quotakind {
	const char *id, *name, *unit, *description;
	int64_t fallback;
};

extern const struct built_in_quotakind built_in_quotakinds[];
extern const size_t n_built_in_quotakinds;

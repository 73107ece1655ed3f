/*
 * usage - what an instance uses of each quota kind, and what it costs.
 *
 * One that may come to be any of several is counted as the most that it may
 * come to use, until it is known what it is.
 */
#pragma once

#include "model/instance.h"
#include "model/quota.h"

enum { USAGE_MOST = 6 }; /* kinds that one instance uses */

/* Of I with the first N offerings' FLAVORS (NULL: not known any more), into
 * OUT; how many kinds that are.  */
size_t usage_of(const struct instance *i, const struct flavor *const flavors[],
		size_t n, struct quota_amount out[USAGE_MOST]);

/* The most of either that is used of each kind, into OUT; how many kinds. */
size_t usage_most(const struct items *a, const struct items *b,
		  struct quota_amount out[USAGE_MOST]);

/* What an hour of F costs on that market. */
const struct price *usage_price(const struct flavor *f, int market);

/*
 * verify - whether what is kept holds together.
 *
 * Looks at everything that is durable or about to be: each reference's target
 * is there and of the same organization, names are unique, and the indexes have
 * what the objects say, no more and no less.  Changes nothing.
 *
 * Loop thread only.
 */
#pragma once

#include <stddef.h>

struct store;

/* Told of each difference, in a line. */
typedef void verify_tell(void *ctx, const char *what);

/* How many objects there are. */
size_t store_verify(const struct store *s, verify_tell *told, void *ctx);

/*
 * difference - what differs between two documents, field by field.
 *
 * Objects are gone through, lists are compared as a whole.  What the server
 * alone writes (revision, times, status, …) is passed over.
 */
#pragma once

#include "base/json.h"

/* OLD or NEW is NULL where there is nothing; PATH is "spec.imageId". */
typedef void difference_fn(void *ctx, const char *path, const struct node *old,
			   const struct node *new);

/* Either document may be NULL. */
void difference_walk(const struct node *old, const struct node *new,
		     struct arena *a, difference_fn *fn, void *ctx);

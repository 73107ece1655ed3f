/*
 * catalogue - what a region offers, made into flavors and images.
 *
 * Each has an id that follows from the region's and the provider's, so that it
 * is the same one at every reading.  It is written only when it has changed;
 * what was found out about it (where it is sold out) stays.  What the provider
 * no longer has is retired, and goes when nobody has used it for a day.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/calls.h"

struct tx;

/* Leave out, with a note, what is odd: without an id or a name, there twice, or
 * not fit to be kept.  On a worker: it takes its time. */
void catalogue_clean(struct catalogue *c, const char *region_id,
		     struct arena *a);

/* A catalogue that is suddenly empty is not believed: ERR_PROVIDER. */
int catalogue_write(struct tx *tx, const char *region_id,
		    const struct catalogue *c, struct err *err) MUST_CHECK;

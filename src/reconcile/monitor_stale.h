/* monitor_stale - machines that could not be seen for so long that it is not
 * known any more how they are. */
#pragma once

#include "reconcile/monitor_sweep.h"

/* Writes down of up to SIGHTINGS_AT_ONCE servers that they could not be seen for
 * too long. */
struct stale_write {
	struct missed *servers;
	int64_t seen;  /* when all were */
	int64_t limit; /* what was not seen since then is stale */
};

int monitor_write_stale(struct tx *tx, void *ctx, struct err *err);

/* How far a region's servers have been looked through for such. */
struct stale_walk {
	char after[40];
	int64_t again_at; /* 0: it is under way */
};

/* Have the next of a region's servers that were not seen since LIMIT marked so;
 * SEEN is when all last were.  False when there is none. */
bool monitor_mark_stale(struct work *w, struct stale_walk *walk, int64_t seen,
			int64_t limit);

/* The same of those on the list, which is moved past them. */
bool monitor_mark_missed(struct work *w, struct missed **list, int64_t seen,
			 int64_t limit);

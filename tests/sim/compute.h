/*
 * compute - a region that is ready, what it offers, and instances in it, put
 * into a world's store as controllers would have left them.
 */
#pragma once

#include "world.h"

struct compute {
	char region[40], flavor[40], image[40]; /* the region's own image */
};

/* A region that can do everything, with one flavor and one image, in two
 * zones; for the organization ONLY, or everyone when that is NULL. */
void compute_open(struct world *w, const char *name, const char *only,
		  struct compute *ret);

/* A running instance in the network, and the server behind it. */
void compute_run(struct world *w, const struct compute *c, const char *network,
		 char instance[40], char server[40]);

/* The region misses so many machines. */
void compute_lose(struct world *w, const char *region, int64_t missing);

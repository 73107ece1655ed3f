/* image - the images of a region, and where machines find them. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/calls.h"

struct host;
struct lv;

/* An image as it lies on a host. */
struct image_base {
	const char *disk; /* its name there: see disk.h */
	int64_t bytes;    /* what a guest sees of it */
};

/* Image ID (the provider's) is on H when this returns: it may have to be brought
 * there.  ERR_INVALID when there is no such. */
int image_on(struct lv *lv, struct host *h, const char *id, struct arena *a,
	     struct image_base *ret, struct err *err) MUST_CHECK;

/* The images that are everyone's in the region, into RET with notes. */
int image_catalogue(struct lv *lv, struct arena *a, struct catalogue *ret,
		    struct err *err) MUST_CHECK;

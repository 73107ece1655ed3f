/*
 * image - the images of a region, and where machines find them.
 *
 * They are kept in a library on this machine (library.h), and brought to a host
 * as disks that are only read.  What the provider calls an image is our id of
 * it, a UUID.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "provider/calls.h"

struct host;
struct image_record;
struct lv;

/* What LV keeps of images and volumes on this machine; before its hosts are
 * opened, and closed before they are: whatever goes on is ended. */
int image_open(struct lv *lv, struct err *err) MUST_CHECK;
void image_close(struct lv *lv);

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

/* Those made for INSTALLATION: struct thing, added to THINGS. */
int image_things(struct lv *lv, const char *installation, struct arena *a,
		 struct buf *things, struct err *err) MUST_CHECK;

/* Bytes that a guest may see of one. */
uint64_t image_most(const struct lv *lv);

/* To the hosts that can be reached now, so that no launch waits for it. */
void image_spread(struct lv *lv, const struct image_record *r,
		  const atomic_bool *stop);

/* Our id of an image or volume is fit for a name; otherwise ERR_INVALID. */
int image_id_check(const char *id, struct err *err) MUST_CHECK;

/*
 * import - an image from somewhere else into the library: over http or https,
 * or from the folder that images may be imported from.
 */
#pragma once

#include "base/err.h"
#include "provider/libvirt/job.h"

struct lv;

struct import {
	struct lv *lv;
	const char *id;
	const char *uri;      /* http://, https:// or file:/// */
	const char *checksum; /* "sha256:…", or NULL */
};

/* It could be begun: the address is one that can be asked. */
int import_check(const struct import *i, struct err *err) MUST_CHECK;

/* Go on in the background, as a job of the library about the id, whose record is
 * there.  What cannot become an image leaves nothing, not even the record; what
 * may still become one goes on where it ended. */
void import_begin(const struct import *i);

/* The file at PATH into the library, now; its record R says the rest. */
struct image_record;
int import_file(struct lv *lv, const char *path, struct image_record *r,
		struct err *err) MUST_CHECK;

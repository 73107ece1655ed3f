/*
 * iso - a few files as the image of a CD (ISO 9660 with Rock Ridge), the same
 * bytes for the same files.  Pure but for a temporary file of libarchive's.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct iso_file {
	const char *name; /* without a folder */
	struct buf bytes;
};

/* N files, which root alone may read, on a volume called LABEL: at most 32 of
 * a-z, 0-9 and '_'.  ERR_TOO_LARGE when OUT, to which it is appended, has no
 * room. */
int iso_write(const char *label, const struct iso_file *files, size_t n,
	      struct buf *out, struct err *err) MUST_CHECK;

/* fsck - hold what a server keeps against itself. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct fsck_report {
	size_t objects, differences;
	struct buf text; /* a line a difference; to be released */
};

/* Look through a copy of the data folder DATA, while a server may be writing
 * it.  KEY_FILE is where the keys of secrets are; NULL: in the folder. */
int fsck(const char *data, const char *key_file, struct fsck_report *ret,
	 struct err *err) MUST_CHECK;

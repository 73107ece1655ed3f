/*
 * file - files that are whole or not there, and copied with their holes.
 *
 * Blocks; any thread may call.  Errors say what cannot be done, without the
 * folder: a user may read them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/field.h"

/* What is at PART is on the disk, and then at PATH. */
int file_publish(const char *part, const char *path,
		 struct err *err) MUST_CHECK;

/* A new file with these bytes. */
int file_write(const char *path, const void *bytes, size_t len,
	       struct err *err) MUST_CHECK;

/* All of it; ERR_NOT_FOUND, or ERR_TOO_LARGE when OUT has no room. */
int file_read(const char *path, struct buf *out, struct err *err) MUST_CHECK;

/* The last LENGTH bytes, or all that there are. */
int file_tail(const char *path, size_t length, struct buf *out,
	      struct err *err) MUST_CHECK;

/* All of FROM, whose holes stay holes, into a new file at PATH; or to the
 * beginning of TO.  Ends with ERR_UNAVAILABLE when STOP is set. */
int file_copy(int from, const char *path, const atomic_bool *stop,
	      struct err *err) MUST_CHECK;
int file_copy_to(int from, int to, const atomic_bool *stop,
		 struct err *err) MUST_CHECK;

/* What lies in FOLDER: const char *, in order, without what begins with a
 * dot. */
int file_names(const char *folder, struct arena *a, struct items *ret,
	       struct err *err) MUST_CHECK;

/* The next bytes of FD that are not a hole, at or after AT: where they begin
 * and end; false when there are no more. */
bool file_next_data(int fd, int64_t at, int64_t len, int64_t *ret_begin,
		    int64_t *ret_end);

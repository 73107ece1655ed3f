/*
 * content - what a file is, by what is in it.
 *
 * Names and what a server says of a file are not believed.  Two things are
 * taken as a disk: qcow2, and raw bytes with a boot sector.  All else is
 * refused, by its name where it has one.  Pure but for reading the descriptor.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum disk_format { DISK_RAW = 1, DISK_QCOW2 };

extern const char *const disk_format_names[]; /* from 1 */

struct content {
	enum disk_format format;
	uint64_t size; /* of the disk, in bytes */
};

/* What its first bytes, at least 4096 of them or the whole file, say. */
int content_format(const void *head, size_t len, enum disk_format *ret,
		   struct err *err) MUST_CHECK;

/* All of the file at FD: its format, that it is whole and needs no other file,
 * and that its disk is of at most MOST bytes. */
int content_check(int fd, uint64_t most, struct content *ret,
		  struct err *err) MUST_CHECK;

/*
 * disk - what the machines of a host have on its disks: files of ours, or
 * volumes of its libvirt's storage pool, behind one table.
 *
 * A disk is known by its name: letters, digits, '-', '.' and '_', with what it
 * is at the end ("UUID-root.qcow2", "volume-UUID.qcow2", "UUID-seed.iso").  That
 * end is its format.  What a guest writes to is always qcow2, for libvirt looks
 * at the bytes of what is raw to find out what it is.
 *
 * Everything can be repeated: what is there already as it should be is left
 * alone, and removing what is not there succeeds.  Something half made is not
 * found under its name, but for uploads and copies into a pool, which cannot
 * rename: who needs to know writes a second disk after the first.
 *
 * Calls block; any thread may make them, of one name one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/field.h"

struct host;

struct disk_info {
	const char *name;
	int64_t bytes;      /* what a guest sees of it */
	int64_t allocated;  /* what it takes now */
	int64_t changed_at; /* Unix ms; 0: not known */
	const char *base;   /* the name of what it lies on, or NULL */
};

struct disk_ops {
	/* A qcow2 of BYTES on top of BASE, which is never written to. */
	int (*overlay)(struct host *h, const char *name, const char *base,
		       int64_t bytes, struct err *err);
	/* An empty one. */
	int (*blank)(struct host *h, const char *name, int64_t bytes,
		     struct err *err);
	/* Of one that no running machine has; smaller is refused. */
	int (*grow)(struct host *h, const char *name, int64_t bytes,
		    struct err *err);
	int (*remove)(struct host *h, const char *name, struct err *err);
	/* These bytes and no others, whatever was there. */
	int (*write)(struct host *h, const char *name, const void *bytes,
		     size_t len, struct err *err);
	/* All of FD, a file that nobody writes to any more: it may become the
	 * same file.  Ends early when STOP, which may be NULL, is set. */
	int (*upload)(struct host *h, const char *name, int fd,
		      const atomic_bool *stop, struct err *err);
	/* All of it into FD, an empty file. */
	int (*download)(struct host *h, const char *name, int fd,
			const atomic_bool *stop, struct err *err);
	/* What a guest sees of FROM, which no running machine has, as a disk of
	 * its own.  May take long. */
	int (*copy)(struct host *h, const char *from, const char *name,
		    const atomic_bool *stop, struct err *err);
	/* The last LENGTH bytes, or all that there are; ERR_NOT_FOUND. */
	int (*tail)(struct host *h, const char *name, size_t length,
		    struct buf *out, struct err *err);
	/* ERR_NOT_FOUND when it is not there. */
	int (*look)(struct host *h, const char *name, struct arena *a,
		    struct disk_info *ret, struct err *err);
	/* All of them: struct disk_info. */
	int (*list)(struct host *h, struct arena *a, struct items *ret,
		    struct err *err);
	/* What a domain's XML calls it, whether it is there or not. */
	int (*path)(struct host *h, const char *name, struct arena *a,
		    const char **ret, struct err *err);
	/* Room for more, in bytes. */
	int (*room)(struct host *h, int64_t *ret_total, int64_t *ret_free,
		    struct err *err);
};

extern const struct disk_ops disk_files, disk_pool;

#define DISK_GIB ((int64_t)1 << 30)

#define DISK_ROOT    "root.qcow2"
#define DISK_SEED    "seed.iso"
#define DISK_LOCAL   "local.qcow2"
#define DISK_CONSOLE "console.log"

/* Below an embedded host's folder; and what is at the end of the name of one
 * that is being made there. */
#define DISK_FOLDER "/disks"
#define DISK_PART   ".part"

/* The name of a machine's disk, in A; WHAT is one of the above. */
const char *disk_name(const char *uuid, const char *what, struct arena *a);

/* NAME may be one. */
bool disk_name_valid(const char *name);

/* What the end of NAME says: "qcow2", or "raw" for all else. */
const char *disk_format(const char *name);

/* NAME is there, or is not; -1 when that cannot be said. */
int disk_is(struct host *h, const char *name, bool *ret,
	    struct err *err) MUST_CHECK;

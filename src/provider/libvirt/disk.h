/*
 * disk - what the machines of a host have on its disks: files of ours, or
 * volumes of its libvirt's storage pool, behind one table.
 *
 * A disk is known by its name: letters, digits, '-', '.' and '_', with what it
 * is at the end ("UUID-root.qcow2", "UUID-seed.iso", "UUID.log").  Everything
 * can be repeated: what is there already as it should be is left alone, and
 * removing what is not there succeeds.  Something half made is never found under
 * its name.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/field.h"

struct host;

struct disk_info {
	const char *name;
	int64_t bytes;      /* what a guest sees of it */
	int64_t allocated;  /* what it takes now */
	int64_t changed_at; /* Unix ms */
};

struct disk_ops {
	/* A qcow2 of BYTES on top of BASE, which is never written to. */
	int (*overlay)(struct host *h, const char *name, const char *base,
		       int64_t bytes, struct err *err);
	/* An empty qcow2. */
	int (*blank)(struct host *h, const char *name, int64_t bytes,
		     struct err *err);
	/* Of one that no running machine has; smaller is refused. */
	int (*grow)(struct host *h, const char *name, int64_t bytes,
		    struct err *err);
	int (*remove)(struct host *h, const char *name, struct err *err);
	/* These bytes and no others, whatever was there. */
	int (*write)(struct host *h, const char *name, const void *bytes,
		     size_t len, struct err *err);
	/* All of FD, from where it is to its end. */
	int (*upload)(struct host *h, const char *name, int fd,
		      struct err *err);
	/* The last LENGTH bytes, or all that there are. */
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

/* Names of a machine's disks, in A.  WHAT: "root.qcow2", "seed.iso",
 * "local.qcow2", "console.log". */
const char *disk_name(const char *uuid, const char *what, struct arena *a);

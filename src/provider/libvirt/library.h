/*
 * library - the images of a region as they are kept on this machine, from where
 * they are brought to hosts.
 *
 * An image ID is a record, ID.json, and its bytes, ID.qcow2 or ID.raw.  The
 * record is first: what is being made is found again after a crash, and what
 * was left behind can be listed.  The bytes of what is not ready are ID.part.
 * Any thread may call; of one image one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "provider/libvirt/content.h"

struct jobs;
struct library;

enum image_stage { IMAGE_MAKING = 1, IMAGE_READY };

struct image_record {
	const char *id; /* a UUID: what the provider calls it */
	const char *installation;
	const char *name;
	int stage;             /* enum image_stage */
	const char *uri;       /* where it comes from, or NULL */
	const char *machine;   /* what it is made of, while it is; or NULL */
	const char *version;   /* of the file there: see download.h */
	int format;            /* enum disk_format; 0: not known yet */
	int64_t bytes, stored; /* what a guest sees; what the file takes */
	int consistency;       /* of snapshots: enum consistency */
	int64_t created_at;    /* Unix ms */
	bool everyones;        /* the region's own */
};

/* In FOLDER, which is made. */
int library_open(const char *folder, struct library **ret,
		 struct err *err) MUST_CHECK;
/* Ends its jobs.  NULL is fine. */
void library_close(struct library *l);

/* What is being made of its images, by their ids. */
struct jobs *library_jobs(struct library *l);

/* ERR_NOT_FOUND. */
int library_get(struct library *l, const char *id, struct arena *a,
		struct image_record *ret, struct err *err) MUST_CHECK;
int library_put(struct library *l, const struct image_record *r,
		struct err *err) MUST_CHECK;
/* All: struct image_record.  One that cannot be read is left out. */
int library_list(struct library *l, struct arena *a, struct items *ret,
		 struct err *err) MUST_CHECK;
/* The bytes, then the record. */
int library_remove(struct library *l, const char *id,
		   struct err *err) MUST_CHECK;

/* "FOLDER/ID.END", in A. */
const char *library_path(const struct library *l, const char *id,
			 const char *end, struct arena *a);

/* The part has become all of it: it is checked, kept, and R, with its stage,
 * format and sizes, written.  MOST: of bytes that a guest sees. */
int library_finish(struct library *l, struct image_record *r, uint64_t most,
		   struct arena *a, struct err *err) MUST_CHECK;

/* Bytes that there is room for. */
int library_room(const struct library *l, uint64_t *ret,
		 struct err *err) MUST_CHECK;

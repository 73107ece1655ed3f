/*
 * snapshot - an image made of a machine's root disk, or of a volume.
 *
 * Of a machine that runs it is what was on the disk at one moment: libvirt
 * copies it away while the machine goes on.  When the guest's agent answers, its
 * file systems are held still for that moment.
 */
#pragma once

#include "base/err.h"

struct lv;

struct snapshot {
	struct lv *lv;
	const char *id;      /* the image's, whose record is there */
	const char *machine; /* the provider's id; or */
	const char *volume;
};

/* What it is to be made of is there. */
int snapshot_check(const struct snapshot *s, struct err *err) MUST_CHECK;

/* Goes on in the background, as a job of the library about the id. */
void snapshot_begin(const struct snapshot *s);

/* A guest that one that did not end may have left standing still goes on. */
void snapshot_let_go(struct lv *lv, const char *machine);

/* What one that did not end may have left on a host; image ID's. */
struct host;
int snapshot_clean(struct host *h, const char *id, struct err *err) MUST_CHECK;

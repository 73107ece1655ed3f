/*
 * volume - disks with a life of their own, and where they are.
 *
 * A volume is a record on this machine (lv->volumes) and a disk on one host.  In
 * a region of several hosts it is made where it is first attached, and moves
 * when it is attached elsewhere.  What the provider calls it is our id, a UUID.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/records.h"

struct volume_record {
	const char *id;
	const char *installation;
	const char *name;
	const char *host;   /* where it is; NULL: nowhere yet */
	const char *moving; /* where it may be half made; or NULL */
	const char *image;  /* what is on it at first; or NULL */
	int64_t gib;
	int64_t created_at; /* Unix ms */
};

extern const struct field volume_record_fields[];

/* ERR_NOT_FOUND. */
int volume_get(struct lv *lv, const char *id, struct arena *a,
	       struct volume_record *ret, struct err *err) MUST_CHECK;
int volume_check(struct lv *lv, const char *id, struct err *err) MUST_CHECK;

/* The host and the disk of one that is somewhere. */
int volume_find(struct lv *lv, const char *id, struct arena *a,
		struct host **ret_host, const char **ret_disk,
		struct err *err) MUST_CHECK;

const char *volume_disk(const char *id, struct arena *a);

/* The domain that has DISK, and what it calls it ("vdc"); NULL when there is
 * none.  RET is given back by auto_domain. */
int volume_user(struct host *h, const char *disk, struct arena *a,
		virDomainPtr *ret, const char **ret_target,
		struct err *err) MUST_CHECK;

/* What the domain whose description is XML calls DISK; NULL: it has it not. */
const char *volume_target(const char *xml, const char *disk, struct arena *a);

/* Those made for INSTALLATION: struct thing, added to THINGS. */
int volume_things(struct lv *lv, const char *installation, struct arena *a,
		  struct buf *things, struct err *err) MUST_CHECK;

/* V is on H, or on its way there: 1 when it is there, 0 when that goes on in
 * the background. */
int volume_bring(struct lv *lv, struct volume_record *v, struct host *h,
		 struct err *err) MUST_CHECK;

/* volume_attach.c, for the table; contracts as in ops.h. */
struct provider;
int lv_attach(struct provider *p, const char *machine, const char *volume,
	      struct arena *a, const char **ret_device, struct err *err);
int lv_detach(struct provider *p, const char *machine, const char *volume,
	      struct err *err);

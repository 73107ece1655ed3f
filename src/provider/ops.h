/*
 * ops - what a driver does, in small groups; see driver.h.
 *
 * Everything that is returned lives in the arena that was given.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "provider/calls.h"

struct provider;

struct machine_ops {
	/* Returns as soon as there is an id; nothing is left behind by a
	 * launch that is refused. */
	int (*launch)(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err);
	/* Of what is not there, or no more: ERR_NOT_FOUND; terminate then
	 * succeeds, as it does when repeated. */
	int (*describe)(struct provider *p, const char *id, struct arena *a,
			struct machine *ret, struct err *err);
	int (*terminate)(struct provider *p, const char *id, struct err *err);
	/* One page of those that have the tag; PAGE is NULL or the next of the
	 * one before.  Terminated ones and strangers are left out. */
	int (*list)(struct provider *p, const struct machine_filter *filter,
		    const char *page, struct arena *a, struct machine_page *ret,
		    struct err *err);
	int (*stop)(struct provider *p, const char *id, bool hard,
		    struct err *err);
	int (*start)(struct provider *p, const char *id, struct err *err);
	int (*reboot)(struct provider *p, const char *id, bool hard,
		      struct err *err);
	int (*resize)(struct provider *p, const char *id, const char *flavor,
		      struct err *err);
	/* Another root disk, the same machine. */
	int (*rebuild)(struct provider *p, const char *id,
		       const struct machine_spec *spec, struct err *err);
	/* A smaller size than it has is refused. */
	int (*grow_root_disk)(struct provider *p, const char *id, int64_t gib,
			      struct err *err);
	/* TAGS are all that it is to have, ours among them. */
	int (*set_tags)(struct provider *p, const char *id,
			const struct items *tags, struct err *err);
	/* Of SPEC: groups, sources and public_ip. */
	int (*set_access)(struct provider *p, const char *id,
			  const struct machine_spec *spec, struct err *err);
	int (*console)(struct provider *p, const char *id,
		       enum console_kind kind, struct arena *a,
		       struct console *ret, struct err *err);
	/* The last LENGTH bytes or so. */
	int (*console_output)(struct provider *p, const char *id, size_t length,
			      struct arena *a, struct buf *out,
			      struct err *err);
};

struct catalogue_ops {
	/* Structs as in the model, without ids: provider_id and name say which
	 * they are.  What is odd is skipped, with a note. */
	int (*read)(struct provider *p, struct arena *a, struct catalogue *ret,
		    struct err *err);
};

/* What these make and remove is idempotent: ensure finds again what it made for
 * the same id of ours, and remove of what is not there succeeds.  An ensure
 * that is not done yet says so by its state and is called again. */
struct image_ops {
	int (*import)(struct provider *p, const struct image_spec *spec,
		      struct arena *a, struct backing *ret, struct err *err);
	int (*snapshot)(struct provider *p, const struct image_spec *spec,
			struct arena *a, struct backing *ret, struct err *err);
	int (*remove)(struct provider *p, const struct backing_id *id,
		      struct err *err);
};

struct network_ops {
	int (*ensure)(struct provider *p, const struct network_spec *spec,
		      struct arena *a, struct backing *ret, struct err *err);
	int (*remove)(struct provider *p, const struct backing_id *id,
		      struct err *err);
	/* Security groups; live machines follow. */
	int (*ensure_group)(struct provider *p, const struct group_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err);
	int (*remove_group)(struct provider *p, const struct backing_id *id,
			    struct err *err);
};

struct volume_ops {
	/* Grows it, too, when it is there and smaller. */
	int (*ensure)(struct provider *p, const struct volume_spec *spec,
		      struct arena *a, struct backing *ret, struct err *err);
	int (*remove)(struct provider *p, const struct backing_id *id,
		      struct err *err);
	int (*attach)(struct provider *p, const char *machine,
		      const char *volume, struct arena *a,
		      const char **ret_device, struct err *err);
	int (*detach)(struct provider *p, const char *machine,
		      const char *volume, struct err *err);
};

struct thing_ops {
	/* One page of all that the groups above have made for INSTALLATION,
	 * which ensure() left a mark on for that; PAGE as in lists of machines.
	 * What is the provider's own, somebody else's, or gone is left out. */
	int (*list)(struct provider *p, const char *installation,
		    const char *page, struct arena *a, struct thing_page *ret,
		    struct err *err);
};

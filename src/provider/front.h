/*
 * front - the way to call a provider: checks that it can, counts and times the
 * call, and is where a test puts faults.
 *
 * Names are the driver's slots with "provider_" before them.  May be called
 * from several threads at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/calls.h"
#include "provider/provider.h"

/* What can be asked of a provider, by the names that regions show. */
enum capability {
	CAN_STOP, /* and start */
	CAN_REBOOT,
	CAN_RESIZE,
	CAN_RESIZE_LIVE,
	CAN_REBUILD,
	CAN_GROW_ROOT_DISK,
	CAN_TAG,
	CAN_ACCESS, /* security groups and addresses of live machines */
	CAN_CONSOLE,
	CAN_CONSOLE_OUTPUT,
	CAN_IMPORT,
	CAN_SNAPSHOT,
	CAN_NETWORKS,
	CAN_SECURITY_GROUPS,
	CAN_VOLUMES,
	CAN_SPOT,
	CAN_PUBLIC_IP,   /* machines have addresses outside */
	CAN_NEIGHBOURS,  /* machines of a network reach each other */
	CAN_LIST_THINGS, /* what it has of ours that is no machine */
	CAPABILITIES,    /* how many there are; looped over */
};

const char *capability_name(enum capability c);
extern const char *const capability_names[]; /* one later, for field tables */
bool provider_can(const struct provider *p, enum capability c);

/* Options and credentials are checked against the driver's tables first:
 * ERR_INVALID with every violation.  What CONF points to is copied. */
int provider_open(const char *driver, const struct provider_conf *conf,
		  struct provider **out, struct err *err) MUST_CHECK;
void provider_close(struct provider *p); /* NULL is fine */

int provider_launch(struct provider *p, const struct machine_spec *spec,
		    struct arena *a, struct machine *ret,
		    struct err *err) MUST_CHECK;
int provider_describe(struct provider *p, const char *id, struct arena *a,
		      struct machine *ret, struct err *err) MUST_CHECK;
int provider_terminate(struct provider *p, const char *id,
		       struct err *err) MUST_CHECK;
int provider_list(struct provider *p, const struct machine_filter *filter,
		  const char *page, struct arena *a, struct machine_page *ret,
		  struct err *err) MUST_CHECK;
int provider_stop(struct provider *p, const char *id, bool hard,
		  struct err *err) MUST_CHECK;
int provider_start(struct provider *p, const char *id,
		   struct err *err) MUST_CHECK;
int provider_reboot(struct provider *p, const char *id, bool hard,
		    struct err *err) MUST_CHECK;
int provider_resize(struct provider *p, const char *id, const char *flavor,
		    struct err *err) MUST_CHECK;
int provider_rebuild(struct provider *p, const char *id,
		     const struct machine_spec *spec,
		     struct err *err) MUST_CHECK;
int provider_grow_root_disk(struct provider *p, const char *id, int64_t gib,
			    struct err *err) MUST_CHECK;
int provider_set_tags(struct provider *p, const char *id,
		      const struct items *tags, struct err *err) MUST_CHECK;
int provider_set_access(struct provider *p, const char *id,
			const struct machine_spec *spec,
			struct err *err) MUST_CHECK;
int provider_console(struct provider *p, const char *id, enum console_kind kind,
		     struct arena *a, struct console *ret,
		     struct err *err) MUST_CHECK;
int provider_console_output(struct provider *p, const char *id, size_t length,
			    struct arena *a, struct buf *out,
			    struct err *err) MUST_CHECK;
int provider_catalogue(struct provider *p, struct arena *a,
		       struct catalogue *ret, struct err *err) MUST_CHECK;
int provider_import_image(struct provider *p, const struct image_spec *spec,
			  struct arena *a, struct backing *ret,
			  struct err *err) MUST_CHECK;
int provider_snapshot(struct provider *p, const struct image_spec *spec,
		      struct arena *a, struct backing *ret,
		      struct err *err) MUST_CHECK;
int provider_remove_image(struct provider *p, const struct backing_id *id,
			  struct err *err) MUST_CHECK;
int provider_ensure_network(struct provider *p, const struct network_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err) MUST_CHECK;
int provider_remove_network(struct provider *p, const struct backing_id *id,
			    struct err *err) MUST_CHECK;
int provider_ensure_group(struct provider *p, const struct group_spec *spec,
			  struct arena *a, struct backing *ret,
			  struct err *err) MUST_CHECK;
int provider_remove_group(struct provider *p, const struct backing_id *id,
			  struct err *err) MUST_CHECK;
int provider_ensure_volume(struct provider *p, const struct volume_spec *spec,
			   struct arena *a, struct backing *ret,
			   struct err *err) MUST_CHECK;
int provider_remove_volume(struct provider *p, const struct backing_id *id,
			   struct err *err) MUST_CHECK;
int provider_attach(struct provider *p, const char *machine, const char *volume,
		    struct arena *a, const char **ret_device,
		    struct err *err) MUST_CHECK;
int provider_detach(struct provider *p, const char *machine, const char *volume,
		    struct err *err) MUST_CHECK;
int provider_list_things(struct provider *p, const char *installation,
			 const char *page, struct arena *a,
			 struct thing_page *ret, struct err *err) MUST_CHECK;

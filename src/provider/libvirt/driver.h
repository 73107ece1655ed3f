/* driver - what the parts of the libvirt driver share; for this folder only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/libvirt.h"
#include "provider/libvirt/options.h"
#include "provider/libvirt/records.h"

struct lv {
	struct provider base; /* first */
	const struct provider_conf *conf;
	struct lv_options options;
	struct arena arena;  /* what is as old as the provider */
	const char *folder;  /* what is kept on this machine; NULL: nothing */
	struct host **hosts; /* in the order of the options */
	size_t n_hosts;
	pthread_mutex_t placing; /* one launch at a time looks for room */
	struct list holds;       /* of struct hold: see room.h */
	struct list left;        /* of struct left: see sweep.c; likewise */
	uint64_t sweep_at;       /* by the steady clock; under placing */
	atomic_bool recalled;    /* what was begun before: see sweep.c */
	/* What is kept in the folder; without one there is none of it. */
	struct library *library;    /* images */
	struct records volumes;     /* of struct volume_record */
	const char *import_folder;  /* where files may be imported from */
	uint64_t room_left;         /* what images may not take: bytes */
	pthread_mutex_t bringing;   /* one image at a time comes to a host */
	pthread_mutex_t addressing; /* one takes an address at a time */
	pthread_mutex_t filtering;  /* or looks who is in which group */
	bool behind;                /* under it: see group_catch_up() */
	struct jobs *boots;         /* first starts: see boot.h */
	struct guests *guests;      /* whether they are up: see ready.h */
};

static inline struct lv *lv_of(struct provider *p)
{
	return (struct lv *)p;
}

/* The flavor of that name, or NULL. */
const struct flavor_options *lv_flavor(const struct lv *lv, const char *name);

/* Every host is in our process, and so every network is user-mode. */
bool lv_embedded(const struct lv *lv);

/* Power, for machines.c; contracts as in ops.h. */
int lv_stop(struct provider *p, const char *id, bool hard, struct err *err);
int lv_start(struct provider *p, const char *id, struct err *err);
int lv_reboot(struct provider *p, const char *id, bool hard, struct err *err);

/* launch.c, list.c, change.c and console.c, likewise. */
int lv_launch(struct provider *p, const struct machine_spec *spec,
	      struct arena *a, struct machine *ret, struct err *err);
int lv_list(struct provider *p, const struct machine_filter *filter,
	    const char *page, struct arena *a, struct machine_page *ret,
	    struct err *err);
int lv_resize(struct provider *p, const char *id, const char *flavor,
	      struct err *err);
int lv_rebuild(struct provider *p, const char *id,
	       const struct machine_spec *spec, struct err *err);
int lv_grow_root_disk(struct provider *p, const char *id, int64_t gib,
		      struct err *err);
int lv_set_tags(struct provider *p, const char *id, const struct items *tags,
		struct err *err);
int lv_console(struct provider *p, const char *id, enum console_kind kind,
	       struct arena *a, struct console *ret, struct err *err);

extern const struct machine_ops lv_machine_ops;
extern const struct catalogue_ops lv_catalogue_ops;
extern const struct image_ops lv_image_ops;     /* image.c */
extern const struct network_ops lv_network_ops; /* network.c */
extern const struct volume_ops lv_volume_ops;   /* volume.c */
extern const struct thing_ops lv_thing_ops;     /* things.c */

/* options - what a region of one's own hosts is told. */
#pragma once

#include "base/field.h"

enum placement { PLACEMENT_SPREAD = 1, PLACEMENT_PACK };
enum network_mode { NETWORK_NAT = 1, NETWORK_ISOLATED, NETWORK_BRIDGE };

struct host_options {
	const char *name, *uri;
	const char *zone;                   /* or NULL */
	int64_t cpus, memory_mib, disk_gib; /* FIELD_NONE: what it has */
	int64_t overcommit;                 /* of processors, in percent */
	int64_t disk_overcommit;            /* likewise */
	const char *pool; /* libvirt's storage pool; embedded hosts have none */
};

/* A size of machine that is offered. */
struct flavor_options {
	const char *name;
	int64_t vcpus, memory_mib, disk_gib;
	int64_t local_gib; /* 0: there is no local disk */
	/* Limits; 0: there is none. */
	int64_t cpu_percent; /* of each of its processors */
	int64_t cpu_shares;
	int64_t disk_iops, disk_mib_per_second;
};

struct lv_network_options {
	int mode; /* enum network_mode */
	const char *bridge;
};

struct lv_options {
	struct items hosts;   /* of struct host_options; never none */
	int placement;        /* enum placement */
	struct items flavors; /* of struct flavor_options; never none */
	const char *images;   /* a folder of images that are everyone's here */
	int64_t image_gib;    /* how large a disk in an image may be */
	struct items publish; /* of int64_t: ports of guests */
	const char *publish_address;
	struct lv_network_options network;
	bool tcg; /* even where KVM works */
};

extern const struct field lv_option_fields[];
extern const char *const network_mode_names[];

/* What the table cannot say; and the defaults, made in A: one host, with FOLDER,
 * absolute or NULL, for what it keeps, and the flavors. */
int lv_options_check(struct lv_options *o, const char *folder, struct arena *a,
		     struct err *err);

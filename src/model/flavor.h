/*
 * flavor - a size of machine that a region offers.
 *
 * Read from the provider, never written by users.  One that the provider no
 * longer has is retired: instances that have it keep it, new ones cannot.
 */
#pragma once

#include "model/kind.h"

enum architecture { ARCHITECTURE_X86_64 = 1, ARCHITECTURE_AARCH64 };
enum market { MARKET_ON_DEMAND = 1, MARKET_SPOT };

/* What becomes of the root disk's size. */
enum disk_model {
	DISK_FIXED = 1, /* it is the flavor's */
	DISK_RESIZABLE, /* the instance says, and it can grow */
	DISK_VOLUME,    /* the same, on a volume of the provider's */
};

struct gpu {
	const char *vendor, *model, *interconnect;
	int64_t memory_mib, count;
};

struct local_disk {
	int64_t size_gib, count;
	const char *media; /* "nvme", "ssd", "hdd" */
};

struct price {
	const char *amount; /* an hour, decimal: "0.0416"; NULL: not known */
	const char *currency;
	int64_t as_of;
};

/* Where it was found to be sold out. */
struct shortage {
	const char *zone; /* NULL: the whole region */
	int market;       /* enum market; 0: both */
	int64_t until;    /* when it may be tried again */
	const char *message;
};

struct flavor {
	struct meta meta; /* first, as in every noun */
	const char *region_id;
	const char *provider_id; /* opaque, the provider's */
	int64_t vcpus, memory_mib;
	int architecture; /* enum architecture */
	const char *cpu_family;
	struct {
		int model;            /* enum disk_model */
		int64_t size_gib;     /* what comes with it */
		int64_t least, most;  /* what can be asked for */
		struct items classes; /* of const char * */
	} root_disk;
	struct items local_disks; /* of struct local_disk */
	struct items gpus;        /* of struct gpu */
	bool bare_metal;
	struct price price, spot_price;
	struct items zones;     /* of const char *; none: all, or no zones */
	struct items shortages; /* of struct shortage */
	int64_t deploy_seconds; /* about how long a launch takes */
	int64_t retired_at;
};

extern const struct kind flavor_kind;
extern const char *const architecture_names[];
extern const char *const market_names[];
extern const char *const disk_model_names[];
extern const struct field price_fields[];

/* All of its graphics processors. */
int64_t flavor_gpus(const struct flavor *f);

/* It is not sold out there at NOW; the shortage otherwise. */
const struct shortage *flavor_shortage(const struct flavor *f, const char *zone,
				       int market, int64_t now);

/* What an hour costs in thousandths of the currency, rounded up; 0 when the
 * price is not known. */
int64_t price_thousandths(const struct price *p);

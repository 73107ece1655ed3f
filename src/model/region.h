/*
 * region - a place where machines can be: a provider, how to reach it, and what
 * it was found to offer.
 *
 * Zones are parts of a region that the provider names; a region may have none.
 */
#pragma once

#include "model/kind.h"
#include "model/status.h"

struct zone {
	const char *name;
	bool available;
};

/* What becomes of machines that are ours and nobody's. */
enum orphan_policy { ORPHANS_REPORT = 1, ORPHANS_REMOVE };

/* Orphans that a region lists; it counts them all. */
enum { ORPHANS_MOST = 100 };

/* What carries our tags at the provider. */
enum orphan_kind {
	ORPHAN_MACHINE = 1,
	ORPHAN_NETWORK,
	ORPHAN_GROUP,
	ORPHAN_IMAGE,
	ORPHAN_VOLUME,
};

/* A machine, or something else, with our tags, that nobody is known for. */
struct orphan {
	int kind; /* enum orphan_kind */
	const char *provider_id;
	const char *server_id; /* what a machine's tag says, or NULL */
	const char *object_id; /* what a thing was made for, or NULL */
	bool kept;             /* that is known, with another of these: it is
				* never removed */
	int64_t first_seen_at, quarantined_until;
};

/* What looking at all of a region's machines has found; see monitor.h. */
struct monitoring {
	int64_t observed_at; /* all of them, up to a minute later */
	int64_t stale_since; /* 0: they are looked at as they should be */
	int64_t missing;     /* when it was too many to be believed, */
	int64_t of;          /* of how many, */
	int64_t missing_since;
	int64_t accepted; /* and how many an operator says are gone */
	int64_t orphan_count;
	struct items orphans; /* of struct orphan, the longest known first */
};

struct region {
	struct meta meta; /* first, as in every noun */
	struct {
		const char *provider;    /* "sim", "libvirt" */
		const char *options;     /* JSON, the driver's own; or NULL */
		const char *credentials; /* JSON, secret; or NULL */
		struct items organization_ids; /* who may see it; none: all */
		int64_t sync_seconds;     /* how often the catalogue is read */
		int64_t calls_at_once;    /* at most, to the provider */
		int64_t calls_per_second; /* 0: as the driver says */
		int64_t observe_seconds;  /* between looks; 0: there are none */
		int orphan_policy;        /* enum orphan_policy */
		int64_t orphan_quarantine_seconds;
		bool paused; /* nothing is called until it is not */
	} spec;
	struct {
		int state; /* enum backed_state */
		struct reason reason;
		int64_t synced_at;           /* the catalogue, whole */
		int64_t observed_generation; /* what it was opened with */
		struct items capabilities;   /* of const char * */
		struct items zones;          /* of struct zone */
		int64_t flavors, images;     /* how many it offers */
		struct items notes; /* of const char *: what was skipped */
		struct monitoring monitor;
	} status;
};

extern const struct kind region_kind;
extern const char *const orphan_policy_names[], *const orphan_kind_names[];

/* What the region's driver was found to be able to do: "stop", "resize". */
bool region_can(const struct region *r, const char *capability);

/* What it is called where everyone reads, and not everyone may know of it: the
 * end of its id. */
const char *region_mark(const char *id);

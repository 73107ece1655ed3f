/* monitor_sweep - one look at a whole region, as far as it has come; what the
 * files of monitor share. */
#pragma once

#include "base/map.h"
#include "model/region.h"
#include "reconcile/machine_call.h"
#include "reconcile/machine_record.h"

/* A server that is not as it was, and how it is. */
struct sighting {
	struct sighting *next;
	const char *server;
	int64_t revision; /* the server's, when it was compared */
	int64_t began;    /* the call that saw it */
	bool alone;       /* it was looked at by itself */
	bool gone;        /* the provider has no such machine */
	bool again;       /* it is as it was, but had not been seen for long */
	struct machine machine;
};

/* One that is not in the list. */
struct missed {
	struct missed *next;
	const char *server;
};

/* A machine that is ours and nobody's. */
struct stray {
	struct stray *next;
	const char *machine, *server; /* what its tag says, or NULL */
	bool tried;                   /* it was to be removed in this sweep */
	bool removed;
};

/* When one was first seen; the key is its id. */
struct first_sight {
	int64_t at;
	char id[];
};

enum sweep_stage {
	SWEEP_LIST,
	SWEEP_COUNT, /* what is missing */
	SWEEP_LOOK,  /* at each of those */
	SWEEP_WRITE, /* and remove orphans */
	SWEEP_DOUBT, /* too much is missing: what is not known any more */
};

struct sweep {
	struct arena arena;
	enum sweep_stage stage;
	int64_t began;
	const char *page; /* the next, or NULL: the first */
	size_t pages;
	struct map seen; /* servers, by id */
	char after[40];  /* the last server that was counted */
	size_t launched, missing;
	bool moving;
	struct sighting *sightings;
	struct missed *missed;
	struct stray *strays; /* orphans, ORPHANS_MOST at most */
	size_t n_strays;      /* all of them */
	unsigned removals;
	struct map first; /* of strays whose age nobody tells; owned */
	struct map lost;  /* servers that are not at the provider; owned */
};

/* Writes down up to SIGHTINGS_AT_ONCE of them, in one transaction. */
enum { SIGHTINGS_AT_ONCE = 64 };

struct sighting_write {
	struct machine_known known;
	struct provider_facts facts; /* known's */
	struct random *random;
	const struct sighting *first;
};

int monitor_write_sightings(struct tx *tx, void *ctx, struct err *err);

/* What the region is to say. */
struct region_write {
	const char *region;
	enum { REGION_STALE, REGION_TRIPPED, REGION_SEEN } what;
	size_t missing, of;
	const struct stray *strays;
	size_t n_strays;
	int64_t quarantine_ms;
};

/* What is listed as orphans is not what STRAYS are. */
bool monitor_orphans_news(const struct region *r, const struct region_write *w);
void monitor_write_orphans(struct tx *tx, struct region *r,
			   const struct region_write *w);

/* M carries our tags, and is not the machine of server S (or NULL).  BEFORE are
 * the first sights of the last sweep. */
void monitor_take_stray(struct sweep *sweep, const struct map *before,
			const struct provider_facts *f, const struct machine *m,
			int64_t began);

/* Have the next orphan that is to go removed; false when there is none. */
bool monitor_remove_orphan(struct work *w, struct sweep *sweep);

int monitor_write_region(struct tx *tx, void *ctx, struct err *err);

/* SEEN would change something that people wait for. */
bool monitor_region_news(const struct region *r, const struct region_write *w,
			 int64_t now);

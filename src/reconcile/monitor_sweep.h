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

/* Something that is ours and nobody's. */
struct stray {
	struct stray *next;
	int kind;           /* enum orphan_kind */
	const char *id;     /* the provider's */
	const char *of;     /* the server or object that it names, or NULL */
	int64_t created_at; /* 0: nobody says */
	bool kept;          /* what it names is there, and has another */
	bool tried;         /* it was to be removed in this sweep */
	bool removed;
};

/* When one was first seen. */
struct first_sight {
	int64_t at;
	char key[]; /* "1 i-5": its kind and id */
};

enum sweep_stage {
	SWEEP_LIST,
	SWEEP_THINGS, /* the same of what is no machine */
	SWEEP_COUNT,  /* what is missing */
	SWEEP_LOOK,   /* at each of those */
	SWEEP_WRITE,  /* and remove orphans */
	SWEEP_DOUBT,  /* too much is missing: what is not known any more */
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
	size_t n_things;      /* of those, no machines; when */
	bool things;          /* these were listed */
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
	bool things; /* what is no machine was listed, too */
	int64_t quarantine_ms;
};

/* Of the work's memo. */
struct sweep *monitor_sweep(struct work *w);

int monitor_write_region(struct tx *tx, void *ctx, struct err *err);

/* SEEN would change something that people wait for. */
bool monitor_region_news(const struct region *r, const struct region_write *w,
			 int64_t now);

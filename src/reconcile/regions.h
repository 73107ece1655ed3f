/*
 * regions - the providers that are open, one a region, and their ledgers.
 *
 * A site is what we know of a region in memory: it is made when the region is
 * first spoken of and stays.  Its provider is opened and closed on workers,
 * never while a call is under way, nor two at a time: a cloud of a folder on
 * this machine has one owner.  Calls wait in the site's ledger until it is
 * open.  The region's controller decides when; see region.h.
 */
#pragma once

#include "loop/pool.h"
#include "reconcile/controller.h"
#include "reconcile/ledger.h"
#include "reconcile/queue.h"

struct engine_conf;
struct region;
struct regions;
struct site;

/* One call on its way through a ledger to a worker and back. */
struct asking {
	struct ledger_entry entry;
	struct job job;
	struct call *call;
	struct arena *arena;
	struct site *site;
	bool begun;      /* handed to a worker, not back yet */
	unsigned put_by; /* how often the provider was too busy */
	bool stale; /* what it is for has changed: it is not put by again */
	void (*done)(struct asking *a);
	/* The provider that it waits for is another: it may be withdrawn.  May
	 * be NULL. */
	void (*moved)(struct asking *a);
};

struct regions_conf {
	const struct engine_conf *engine;
	/* The provider of that region has opened, or has closed. */
	void (*changed)(void *ctx, const char *region_id);
	/* regions_turn() is wanted then. */
	void (*wake)(void *ctx, uint64_t mono_ms);
	void *ctx;
};

struct regions_stats {
	size_t waiting, calling;
	uint64_t calls[ERR_CODE_COUNT]; /* by what they came to */
};

struct regions *regions_new(const struct regions_conf *conf);
void regions_free(struct regions *r); /* closes them, here and now */

struct site *regions_site(struct regions *r, const char *id);

/* NULL while it is not open, or is about to be closed. */
const struct place *site_place(const struct site *s);

/* What the region's document says of calls. */
void site_limit(struct site *s, const struct region *doc);

enum site_state {
	SITE_CLOSED, /* to be opened */
	SITE_OPEN,
	SITE_BUSY, /* changed() tells when it is not */
};

/* Its provider is the one that DOC asks for; otherwise it is closed as soon as
 * it can be.  DOC NULL: no provider is wanted. */
enum site_state site_match(struct site *s, const struct region *doc);

/* What opens the provider that DOC asks for, on a worker: to be asked of the
 * site as a call, which site_take() follows when it went well. */
struct opening {
	struct call call; /* first */
	const struct region *doc;
	struct provider_conf conf;
	struct provider *provider;
};

void site_prepare(struct site *s, const struct region *doc,
		  struct opening *ret);
void site_take(struct site *s, struct opening *o);

/* Have A's call made; a->done() follows unless it is withdrawn.  One whose rank
 * is CALL_RANKS does not wait in the ledger: openings. */
void site_ask(struct site *s, struct asking *a);

/* False when it has begun: then there is no way back. */
bool site_withdraw(struct asking *a);

/* Begin what may begin. */
void regions_turn(struct regions *r, uint64_t now);

/* What providers say has happened since: FN is told of machines by their ids,
 * NULL for all of the region. */
void regions_hear(struct regions *r,
		  void (*fn)(void *ctx, const char *region_id,
			     const char *machine),
		  void *ctx);

void regions_stats(const struct regions *r, struct regions_stats *ret);

/* Each provider that is open, and its region's id. */
void regions_visit(const struct regions *r,
		   void (*visit)(void *ctx, const char *region,
				 const struct provider *p),
		   void *ctx);

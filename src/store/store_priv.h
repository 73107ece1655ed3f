/* store_priv - the store's inside, for the files of this room. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/steady.h"
#include "store/backend.h"
#include "store/cache.h"
#include "store/history.h"
#include "store/store.h"
#include "store/upkeep.h"

struct store {
	struct store_conf conf;
	struct backend *backend;
	struct cache caches[KINDS_MOST];
	size_t n_caches;
	struct history history;
	struct map memos;
	uint64_t durable, newest;
	uint64_t horizon; /* where the log began when it was loaded */
	struct steady time;
	int64_t id_at;        /* of the newest id made */
	unsigned id_sequence; /* and how many before it in its millisecond */

	struct list open;  /* written, waiting for their batch */
	struct list held;  /* answered once what they rest on is durable */
	struct list rerun; /* overtaken by another writer's rows */
	size_t pending;

	/* The batch that the backend has. */
	bool busy;
	bool failing; /* the last batch failed: no trims by themselves */
	struct list flying;
	struct batch batch;
	struct row *rows;
	struct trim *trims;
	struct change **trimmed; /* whose trims they are */
	size_t trims_room;
	struct buf text; /* what rows and trims point into */
	uint64_t began_ms;

	struct notes notes;
	struct reseal reseal;
	struct expiry expiry;
	struct list watchers, pins;
	struct arena arena; /* the running function's */
	struct buf scratch; /* the line being encoded */
	uint64_t commits, failures, reruns, commit_ms;
};

/* A running transaction. */
struct tx {
	struct store *store;
	struct change *change;
	uint64_t rests_on; /* the newest revision it has seen */
	bool (*sees)(void *ctx, const struct kind *k, const void *object);
	void *sees_ctx;
	const char *source; /* of events; NULL: the server */
};

/* V has been seen: what is decided rests on it. */
const struct version *tx_see(struct tx *tx, const struct version *v);

/* Everything that OBJECT refers to is there, for it and for who writes it. */
int reference_check(struct tx *tx, struct cache *c, const void *object,
		    struct err *err) MUST_CHECK;

/* ID is not in use, or only by weak references, which are taken out. */
int reference_release(struct tx *tx, const struct kind *k, const char *id,
		      struct err *err) MUST_CHECK;

struct cache *store_cache(const struct store *s, const struct kind *k);

/* Run T's function over everything written so far; what it wrote is in
 * t->change, or t->failed is set. */
void tx_run(struct store *s, struct txn *t);

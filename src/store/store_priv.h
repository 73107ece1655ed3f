/* store_priv - the store's inside, for the files of this room. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "store/backend.h"
#include "store/cache.h"
#include "store/store.h"

/* That a request was answered, and with what. */
struct memo {
	struct change *change;
	const struct kind *kind;
	char id[40];
	char digest[72];
	char key[72];
};

/* An entry of the audit trail that is not written yet. */
struct note {
	struct list link;
	struct audit entry; /* points into bytes */
	char bytes[];
};

struct notes {
	struct list waiting, flying; /* of requests that were refused */
	size_t n;                    /* of both */
	uint64_t omitted;            /* there was no room for */
	uint64_t trim_at;            /* when the trail is next trimmed */
	struct audit *list;          /* what the batch points to */
	size_t room;
};

/* How far sealing everything with another key has come. */
struct reseal {
	bool active;
	size_t cache;
	char after[40];
};

/* Events that are too old, on their way out. */
struct expiry {
	struct txn txn;
	char ids[100][40];
	size_t n;
	char after[40]; /* how far the search has come */
};

/* The recent changes by revision, without a gap: revision R is at
 * ring[R % room] while first <= R < first + n. */
struct history {
	struct change **ring;
	size_t n, room;
	uint64_t first;
	size_t bytes;         /* in superseded versions */
	struct list trims;    /* changes whose rows have lost something */
	struct list rewrites; /* those whose rows are of an older version */
	size_t trim_bytes;    /* that writing the trims takes, at most */
};

struct store {
	struct store_conf conf;
	struct backend *backend;
	struct cache caches[KINDS_MOST];
	size_t n_caches;
	struct history history;
	struct map memos;
	uint64_t durable, newest;
	uint64_t horizon; /* where the log began when it was loaded */
	int64_t last_at;

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

/* The line of OBJECT, its secrets sealed. */
void secret_encode(struct store *s, const struct cache *c, const void *object,
		   struct buf *out);

/* Open the secrets in DOC; 1 when they are to be sealed anew. */
int secret_open(struct store *s, const struct cache *c, const char *id,
		struct node *doc, struct arena *a, struct err *err) MUST_CHECK;
void secret_tick(struct store *s);

/* Let go of some events that are too old. */
void event_tick(struct store *s);

struct note *note_new(const char *organization, const char *text, size_t len);

void notes_init(struct store *s);
void notes_release(struct store *s);

/* Something waits that the next tick should write. */
bool notes_due(const struct store *s);

/* Put what waits, and what belongs to the batch's rows, into the batch. */
void notes_take(struct store *s, bool tick);
void notes_settle(struct store *s, bool written);

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

/* Take back everything that C wrote, the newest change there is, and free
 * it. */
void change_undo(struct store *s, struct change *c);
struct change *change_new(uint64_t revision, int64_t at);
void change_free(struct change *c);

void history_add(struct store *s, struct change *c);
struct change *history_at(const struct store *s, uint64_t revision);

/* The newest change, taken out again. */
struct change *history_pop(struct store *s);
void history_release(struct store *s);

/* Add MEMO's key to the map; forget it again. */
void memo_add(struct store *s, struct change *c, const char *key,
	      const char *digest, const struct kind *k, const char *id);
void memo_drop(struct store *s, struct change *c);

/* Apply a row: of the log, or of another writer. */
int replay_row(struct store *s, const struct row *row,
	       struct err *err) MUST_CHECK;

/* C lies before the log: let go of what no reader can reach, the versions that
 * it replaced or deleted. */
void history_settle(struct store *s, struct change *c);

/* Let go of V, which no reader can reach: its row has lost a line. */
void history_let_go(struct store *s, struct version *v);

/* Have what is left of C's row written in the next batch; or, of a row that
 * only needs renewing, in some batch. */
void history_trim(struct store *s, struct change *c);
void history_rewrite(struct store *s, struct change *c);

/* Let go of changes that are past the log's limits, a batch's worth. */
void history_expire(struct store *s);

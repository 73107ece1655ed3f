/*
 * upkeep - what the store does beside keeping objects: the audit trail's notes,
 * sealing secrets, letting old events go.  The store's own.
 */
#pragma once

#include "base/json.h"
#include "store/backend.h"
#include "store/cache.h"

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

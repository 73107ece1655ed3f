#include "identity/lastuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/token.h"
#include "store/store.h"
#include "store/tx.h"

struct lastuse {
	struct store *store;
	struct list pending;
	struct map by_id; /* the same, by the token's id */
};

struct use {
	struct txn txn;
	struct lastuse *owner;
	struct list link;
	char id[40];
};

struct lastuse *lastuse_new(struct store *s)
{
	struct lastuse *l = xcalloc(1, sizeof(*l));

	l->store = s;
	list_init(&l->pending);
	return l;
}

static void drop(struct lastuse *l, struct use *u)
{
	list_remove(&u->link);
	map_remove(&l->by_id, u->id);
	free(u);
}

void lastuse_free(struct lastuse *l)
{
	if (!l)
		return;
	while (!list_empty(&l->pending))
		drop(l, CONTAINER_OF(l->pending.next, struct use, link));
	map_release(&l->by_id);
	free(l);
}

static int write_use(struct tx *tx, void *ctx, struct err *err)
{
	const struct use *u = ctx;
	const struct token *old = tx_get(tx, &token_kind, u->id);
	struct token t;

	if (!old || old->last_used_at + LASTUSE_EVERY_MS > tx_time(tx))
		return 0;
	t = *old;
	t.last_used_at = tx_time(tx);
	return tx_put(tx, &token_kind, &t, err);
}

static void done(struct txn *t, const struct err *err)
{
	struct use *u = CONTAINER_OF(t, struct use, txn);

	(void)err;
	drop(u->owner, u);
}

void lastuse_note(struct lastuse *l, const char *id)
{
	struct use *u;

	if (map_get(&l->by_id, id))
		return;
	u = xcalloc(1, sizeof(*u));
	u->owner = l;
	memcpy(u->id, id, strlen(id));
	list_add(&l->pending, &u->link);
	map_add(&l->by_id, u->id, u);
	u->txn = (struct txn){.fn = write_use, .done = done, .ctx = u};
	store_transact(l->store, &u->txn);
}

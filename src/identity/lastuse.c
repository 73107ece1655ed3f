#include "identity/lastuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "model/token.h"
#include "store/store.h"
#include "store/tx.h"

struct lastuse {
	struct store *store;
	struct list pending;
};

struct use {
	struct txn txn;
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

void lastuse_free(struct lastuse *l)
{
	struct list *link;

	if (!l)
		return;
	while ((link = list_pop(&l->pending)))
		free(CONTAINER_OF(link, struct use, link));
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
	list_remove(&u->link);
	free(u);
}

void lastuse_note(struct lastuse *l, const char *id)
{
	struct use *u = xcalloc(1, sizeof(*u));

	memcpy(u->id, id, strlen(id));
	list_add(&l->pending, &u->link);
	u->txn = (struct txn){.fn = write_use, .done = done, .ctx = u};
	store_transact(l->store, &u->txn);
}

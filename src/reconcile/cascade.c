#include "reconcile/cascade.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "store/read.h"
#include "store/tx.h"

/* Objects deleted in one transaction. */
#define STEP_MOST 100

/* What cascades, and by which field others say that they are its. */
static const struct {
	const struct kind *kind;
	const char *path;
} roots[] = {
	{&organization_kind, "organizationId"},
	{&project_kind, "projectId"},
	/* Nobody has anything there by then: what is left is what it offers. */
	{&region_kind, "regionId"},
};

struct dying {
	struct list link;
	size_t root; /* of roots[] */
	char id[40];
};

struct cascade {
	struct store *store;
	struct watcher watcher;
	struct cursor cursors[COUNT_OF(roots)];
	struct list work;
	size_t n;
	struct map by_id;
	struct txn txn;
	bool busy, failed;
};

static void add(struct cascade *c, size_t root, const char *id)
{
	struct dying *d;

	if (map_get(&c->by_id, id))
		return;
	d = xcalloc(1, sizeof(*d));
	d->root = root;
	memcpy(d->id, id, strlen(id));
	list_add(&c->work, &d->link);
	map_add(&c->by_id, d->id, d);
	c->n++;
}

static void finish(struct cascade *c, struct dying *d)
{
	list_remove(&d->link);
	map_remove(&c->by_id, d->id);
	free(d);
	c->n--;
}

static bool is_dying(const void *object)
{
	return object && ((const struct meta *)object)->deleted_at;
}

/* Everything there is, as at the beginning or when the log was too short. */
static void look_at_all(struct cascade *c, size_t root)
{
	struct scan scan = store_scan(c->store, 0, roots[root].kind, NULL);
	struct record r;
	size_t effort = 0;

	c->cursors[root] = (struct cursor){store_revision(c->store), 0};
	while (scan_next(&scan, &r, &effort))
		if (is_dying(r.object))
			add(c, root, r.id);
}

static void look_at_changes(struct cascade *c, size_t root)
{
	struct event e;
	bool gone;

	while (store_next(c->store, roots[root].kind, &c->cursors[root], &e,
			  &gone))
		if (is_dying(e.now.object))
			add(c, root, e.now.id);
	if (gone)
		look_at_all(c, root);
}

/* What goes without anybody asking for it by name is in the trail, too. */
static void write_audit(struct tx *tx, const struct dying *d, size_t n)
{
	const struct kind *k = roots[d->root].kind;
	const char *organization =
		kind_owner(k, tx_get(tx, k, d->id)).organization;

	tx_audit(tx, organization,
		 arena_printf(tx_arena(tx),
			      "{\"who\":{\"id\":\"muster\",\"name\":"
			      "\"muster\"},\"action\":\"cascade\",\"kind\":"
			      "\"%s\",\"objectId\":\"%s\"%s%s%s,"
			      "\"count\":%zu,\"result\":\"ok\"}",
			      k->name, d->id,
			      organization ? ",\"organizationId\":\"" : "",
			      organization ? organization : "",
			      organization ? "\"" : "", n));
}

/* Delete what belongs to D, from the kinds that refer to others on. */
static int step(struct tx *tx, void *ctx, struct err *err)
{
	struct cascade *c = ctx;
	const struct dying *d = CONTAINER_OF(c->work.next, struct dying, link);
	const struct kind *root = roots[d->root].kind;
	size_t n = 0, last = 0;

	if (!is_dying(tx_get(tx, root, d->id)))
		return 0;
	while (kinds[last])
		last++;
	while (n < STEP_MOST && last-- > 0) {
		const char **ids;
		size_t found = tx_find(tx, kinds[last], roots[d->root].path,
				       d->id, STEP_MOST - n, &ids);

		for (size_t i = 0; i < found; i++)
			if (tx_delete(tx, kinds[last], ids[i], err) < 0)
				return -1;
		n += found;
	}
	write_audit(tx, d, n);
	return n ? 0 : tx_delete(tx, root, d->id, err);
}

static void next(struct cascade *c);

static void done(struct txn *t, const struct err *err)
{
	struct cascade *c = t->ctx;
	struct dying *d = CONTAINER_OF(c->work.next, struct dying, link);
	struct record r;

	c->busy = false;
	if (err) {
		/* The next tick tries again, another one first. */
		log_warn("cascade", "%s %s: %s", roots[d->root].kind->name,
			 d->id, err->msg);
		c->failed = true;
		list_remove(&d->link);
		list_add(&c->work, &d->link);
		return;
	}
	if (!store_get(c->store, 0, roots[d->root].kind, d->id, &r) ||
	    !is_dying(r.object))
		finish(c, d);
	next(c);
}

static void next(struct cascade *c)
{
	if (c->busy || c->failed || list_empty(&c->work))
		return;
	c->busy = true;
	c->txn = (struct txn){.fn = step, .done = done, .ctx = c};
	store_transact(c->store, &c->txn);
}

static void wake(struct watcher *w)
{
	struct cascade *c = CONTAINER_OF(w, struct cascade, watcher);

	for (size_t i = 0; i < COUNT_OF(roots); i++)
		look_at_changes(c, i);
	next(c);
}

struct cascade *cascade_new(struct store *s)
{
	struct cascade *c = xcalloc(1, sizeof(*c));

	c->store = s;
	list_init(&c->work);
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		look_at_all(c, i);
	c->watcher.wake = wake;
	store_watch(s, &c->watcher);
	next(c);
	return c;
}

void cascade_free(struct cascade *c)
{
	if (!c)
		return;
	while (!list_empty(&c->work))
		finish(c, CONTAINER_OF(c->work.next, struct dying, link));
	map_release(&c->by_id);
	store_unwatch(&c->watcher);
	free(c);
}

void cascade_tick(struct cascade *c)
{
	c->failed = false;
	next(c);
}

size_t cascade_pending(const struct cascade *c)
{
	return c->n;
}

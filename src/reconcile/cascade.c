#include "reconcile/cascade.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/deletion.h"
#include "model/event.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "model/server.h"
#include "store/read.h"
#include "store/tx.h"

/* Objects told of in one transaction. */
#define STEP_MOST 100

/* What cascades, and by which field others say that they are its. */
static const struct {
	const struct kind *kind;
	const char *path;
} roots[] = {
	{&organization_kind, "organizationId"},
	{&project_kind, "projectId"},
	{&network_kind, "networkId"},
	/* Nobody has anything there by then: what is left is what it offers. */
	{&region_kind, "regionId"},
};

/* What is its goes kind by kind, from the end of the list of kinds. */
struct dying {
	struct list link;
	size_t root; /* of roots[] */
	char id[40];
	size_t left;     /* kinds still to be looked at */
	char after[40];  /* those of kinds[left - 1] up to here are told */
	char first[40];  /* and before this one there is none any more */
	uint64_t looked; /* not 0: waits for them to go, since this revision */
};

struct cascade {
	struct store *store;
	struct watcher watcher;
	struct cursor cursors[COUNT_OF(roots)];
	struct list work;
	size_t n;
	struct map by_id;
	struct txn txn;
	struct dying *now;       /* whose transaction it is */
	char ids[STEP_MOST][40]; /* what it is about; none: the last one */
	size_t n_ids;
	bool busy, failed;
};

static size_t count_kinds(void)
{
	size_t n = 0;

	while (kinds[n])
		n++;
	return n;
}

static void add(struct cascade *c, size_t root, const char *id)
{
	struct dying *d;

	if (map_get(&c->by_id, id))
		return;
	d = xcalloc(1, sizeof(*d));
	d->root = root;
	d->left = count_kinds();
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

/* A machine goes with its instance, and what happened is told until the end. */
static bool is_left_alone(const struct kind *k)
{
	return k == &server_kind || k == &event_kind;
}

/* Those after the id AFTER that are D's; false when there can be none. */
static bool scan_its(const struct cascade *c, const struct dying *d,
		     const char *after, struct scan *ret)
{
	const struct kind *k = kinds[d->left - 1];

	after = after[0] ? after : NULL;
	*ret = store_scan(c->store, 0, k, after);
	return scan_narrow(ret, roots[d->root].path, d->id, after);
}

static bool collect(struct cascade *c, const struct dying *d)
{
	struct scan scan;
	struct record r;
	size_t effort = 0;

	c->n_ids = 0;
	if (!scan_its(c, d, d->after, &scan))
		return false;
	while (c->n_ids < STEP_MOST && scan_next(&scan, &r, &effort))
		memcpy(c->ids[c->n_ids++], r.id, strlen(r.id) + 1);
	return c->n_ids > 0;
}

/* Some that were told are still there. */
static bool is_left(const struct cascade *c, struct dying *d)
{
	const struct kind *k = kinds[d->left - 1];
	struct scan scan;
	struct record r;
	size_t effort = 0;

	if (d->first[0] && store_get(c->store, 0, k, d->first, &r))
		return true;
	if (!scan_its(c, d, d->first, &scan) || !scan_next(&scan, &r, &effort))
		return false;
	memcpy(d->first, r.id, strlen(r.id) + 1);
	return true;
}

static void go_on(struct dying *d, size_t left)
{
	d->left = left;
	d->after[0] = d->first[0] = '\0';
	d->looked = 0;
}

/* What to do next about D is in c->ids; false when it must wait. */
static bool prepare(struct cascade *c, struct dying *d)
{
	for (; d->left; go_on(d, d->left - 1)) {
		const struct kind *k = kinds[d->left - 1];

		if (is_left_alone(k))
			continue;
		if (d->looked && store_changed(c->store, k) <= d->looked)
			return false;
		if (collect(c, d))
			return true;
		if (!is_left(c, d))
			continue;
		d->looked = store_revision(c->store);
		return false;
	}
	c->n_ids = 0;
	return true;
}

/* A controller ends it.  A region's own images are the provider's to end. */
static bool is_begun_only(const struct dying *d, const struct kind *k)
{
	return k->backed && roots[d->root].kind != &region_kind;
}

static int tell(struct tx *tx, const struct dying *d, const char *id,
		struct err *err)
{
	const struct kind *k = kinds[d->left - 1];
	const struct meta *old = tx_get(tx, k, id);
	void *new;

	if (!old || (is_begun_only(d, k) && old->deleted_at))
		return 0;
	if (!is_begun_only(d, k))
		return tx_delete(tx, k, id, err);
	new = arena_alloc(tx_arena(tx), k->size);
	memcpy(new, old, k->size);
	deletion_begin(k, new, tx_time(tx), "muster");
	tx_event(tx, k, id, "deleting", "its %s is being deleted",
		 roots[d->root].kind->name);
	return tx_put(tx, k, new, err);
}

/* Nothing is left but what happened, and what came in at the last moment. */
static int end(struct tx *tx, const struct dying *d, struct err *err)
{
	size_t n = 0;

	for (size_t i = count_kinds(); i-- > 0 && n < STEP_MOST;) {
		const char **ids;
		size_t found;

		if (kinds[i]->backed || kinds[i] == &server_kind)
			continue;
		found = tx_find(tx, kinds[i], roots[d->root].path, d->id,
				STEP_MOST - n, &ids);
		for (size_t j = 0; j < found; j++)
			if (tx_delete(tx, kinds[i], ids[j], err) < 0)
				return -1;
		n += found;
	}
	write_audit(tx, d, n);
	return n ? 0 : tx_delete(tx, roots[d->root].kind, d->id, err);
}

static int step(struct tx *tx, void *ctx, struct err *err)
{
	struct cascade *c = ctx;
	const struct dying *d = c->now;

	tx_set_source(tx, "cascade");
	if (!is_dying(tx_get(tx, roots[d->root].kind, d->id)))
		return 0;
	if (!c->n_ids)
		return end(tx, d, err);
	for (size_t i = 0; i < c->n_ids; i++)
		if (tell(tx, d, c->ids[i], err) < 0)
			return -1;
	write_audit(tx, d, c->n_ids);
	return 0;
}

static void next(struct cascade *c);

static void done(struct txn *t, const struct err *err)
{
	struct cascade *c = t->ctx;
	struct dying *d = c->now;
	struct record r;

	c->busy = false;
	if (err) {
		/* The next tick tries again, another one first. */
		log_warn("cascade", "%s %s: %s", roots[d->root].kind->name,
			 d->id, err->msg);
		c->failed = true;
		list_remove(&d->link);
		list_add(&c->work, &d->link);
		go_on(d, count_kinds());
		return;
	}
	if (!store_get(c->store, 0, roots[d->root].kind, d->id, &r) ||
	    !is_dying(r.object))
		finish(c, d);
	else if (c->n_ids)
		memcpy(d->after, c->ids[c->n_ids - 1], sizeof(d->after));
	else
		go_on(d, count_kinds());
	next(c);
}

/* The next that has something to be done about it.  What a provider has, too,
 * its own controller deletes. */
static struct dying *find_next(struct cascade *c)
{
	struct list *l = c->work.next;

	while (l != &c->work) {
		struct dying *d = CONTAINER_OF(l, struct dying, link);

		l = l->next;
		if (!prepare(c, d))
			continue;
		if (c->n_ids || !roots[d->root].kind->backed)
			return d;
		finish(c, d);
	}
	return NULL;
}

static void next(struct cascade *c)
{
	if (c->busy || c->failed)
		return;
	c->now = find_next(c);
	if (!c->now)
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

/* monitor_things.c - what a provider has of ours that is no machine. */
#include <string.h>

#include "base/log.h"
#include "reconcile/backed.h"
#include "reconcile/engine_priv.h"
#include "reconcile/monitor_orphans.h"

/* Pages of one list; one that goes on longer is broken. */
#define PAGES_MOST 10000

struct page_call {
	struct call call; /* first */
	const char *installation, *page;
	const struct map *before; /* not for the worker */
	struct thing_page ret;
};

/* Whose they are. */
static const struct {
	int orphan;
	const struct backed_row *row;
} rows[] = {
	[THING_NETWORK] = {ORPHAN_NETWORK, &backed_network},
	[THING_GROUP] = {ORPHAN_GROUP, &backed_group},
	[THING_IMAGE] = {ORPHAN_IMAGE, &backed_image},
	[THING_VOLUME] = {ORPHAN_VOLUME, &backed_volume},
};

/* 0: it is nothing that we know. */
static int orphan_kind(const struct thing *t)
{
	return t->kind > 0 && (size_t)t->kind < COUNT_OF(rows)
		       ? rows[t->kind].orphan
		       : 0;
}

static const struct backed_row *row_of(int orphan)
{
	for (size_t i = THING_NETWORK; i < COUNT_OF(rows); i++)
		if (rows[i].orphan == orphan)
			return rows[i].row;
	return NULL;
}

const void *monitor_owner(struct work *w, const struct stray *s)
{
	const struct backed_row *row = row_of(s->kind);

	return s->of ? work_get(w, row ? row->controller.kind : &server_kind,
				s->of)
		     : NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* T is what OBJECT has, or may come to have; or that is another region's. */
static bool is_known(struct work *w, const struct backed_row *row,
		     const char *object, const struct thing *t)
{
	const struct backed *b = (const void *)(object + row->status);
	const char *const *region = (const void *)(object + row->region);

	return !same(*region, work_id(w)) || !b->provider ||
	       same(b->provider, t->id);
}

static void take(struct work *w, struct sweep *sweep, const struct page_call *c,
		 const struct thing *t)
{
	const struct place *p = work_place(w, work_id(w));
	struct stray s = {
		.id = t->id, .of = t->ours, .created_at = t->created_at};
	const void *owner;

	s.kind = orphan_kind(t);
	if (!s.kind || !t->id || !p)
		return;
	owner = monitor_owner(w, &s);
	if (owner && is_known(w, rows[t->kind].row, owner, t))
		return;
	/* Of what does not say whose it is nobody can tell that it is not. */
	s.kept = owner || !t->ours;
	monitor_take_stray(sweep, c->before, &p->facts, &s, c->call.began);
}

/* Those that were found so far are as unknown as the others. */
static void forget(struct sweep *sweep)
{
	struct stray **at = &sweep->strays;

	while (*at)
		if ((*at)->kind == ORPHAN_MACHINE)
			at = &(*at)->next;
		else
			*at = (*at)->next;
	sweep->n_strays -= sweep->n_things;
	sweep->n_things = 0;
}

static int run_page(struct provider *p, struct call *call, struct arena *a,
		    struct err *err)
{
	struct page_call *c = (struct page_call *)call;

	return provider_list_things(p, c->installation, c->page, a, &c->ret,
				    err);
}

static void page_done(struct work *w, struct call *call)
{
	struct page_call *c = (struct page_call *)call;
	struct sweep *sweep = monitor_sweep(w);
	const struct thing *things = c->ret.things.at;

	if (!call->err.code && ++sweep->pages > PAGES_MOST)
		err_set(&call->err, ERR_PROVIDER, "the list has no end");
	if (call->err.code) {
		log_info("monitor", "%s: its things cannot be listed: %s",
			 work_id(w), call->err.msg);
		forget(sweep);
		sweep->stage = SWEEP_COUNT;
		return;
	}
	for (size_t i = 0; i < c->ret.things.n; i++)
		take(w, sweep, c, &things[i]);
	sweep->page =
		c->ret.next ? arena_strdup(&sweep->arena, c->ret.next) : NULL;
	if (sweep->page)
		return;
	sweep->things = true;
	sweep->stage = SWEEP_COUNT;
}

void monitor_ask_things(struct work *w, struct sweep *sweep,
			const struct map *before)
{
	struct page_call *c = arena_alloc(work_arena(w), sizeof(*c));

	c->call = (struct call){
		.run = run_page, .done = page_done, .rank = CALL_OBSERVE};
	c->installation = work_installation(w);
	c->page = sweep->page;
	c->before = before;
	work_call(w, work_id(w), &c->call);
}

int monitor_remove_thing(struct provider *p, const char *installation,
			 const struct stray *s, struct arena *a, bool *ret,
			 struct err *err)
{
	const struct backing_id id = {s->of, s->id};
	const struct backed_row *row = row_of(s->kind);
	struct thing_page page = {0};

	for (int n = 0; n < PAGES_MOST; n++) {
		const struct thing *t;

		if (provider_list_things(p, installation, page.next, a, &page,
					 err) < 0)
			return -1;
		t = page.things.at;
		for (size_t i = 0; i < page.things.n; i++) {
			if (orphan_kind(&t[i]) != s->kind ||
			    !same(t[i].id, s->id))
				continue;
			*ret = same(t[i].ours, s->of);
			return *ret ? row->remove(p, &id, err) : 0;
		}
		if (!page.next)
			return 0;
	}
	return err_set(err, ERR_PROVIDER, "the list has no end");
}

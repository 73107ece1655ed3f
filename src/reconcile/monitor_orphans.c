#include "reconcile/monitor_orphans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/log.h"
#include "base/mem.h"
#include "provider/front.h"
#include "reconcile/engine_priv.h"
#include "reconcile/monitor_plan.h"
#include "store/tx.h"

/* Removals in one sweep. */
#define REMOVALS_MOST 16

struct removal {
	struct call call; /* first */
	const char *installation;
	struct stray what;   /* a copy, for the worker */
	struct stray *stray; /* not for the worker */
	bool ours;
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* How long it has been there for certain. */
static int64_t there_since(struct sweep *sweep, const struct map *before,
			   const struct stray *s, int64_t began)
{
	const struct first_sight *old;
	struct first_sight *new;
	size_t room = strlen(s->id) + 16;

	new = xcalloc(1, sizeof(*new) + room);
	snprintf(new->key, room, "%d %s", s->kind, s->id);
	if ((old = map_get(&sweep->first, new->key))) {
		free(new);
		return old->at;
	}
	old = map_get(before, new->key);
	/* What is yet to be made was made by another clock than ours. */
	if (!old && s->created_at && s->created_at <= began) {
		free(new);
		return s->created_at;
	}
	new->at = old ? old->at : began;
	map_add(&sweep->first, new->key, new);
	return new->at;
}

static const struct stray *find_stray(const struct stray *s, int kind,
				      const char *id)
{
	while (s && (s->kind != kind || strcmp(s->id, id) != 0))
		s = s->next;
	return s;
}

void monitor_take_stray(struct sweep *sweep, const struct map *before,
			const struct provider_facts *f, const struct stray *s,
			int64_t began)
{
	struct stray **at = &sweep->strays;
	struct stray *new;

	if (!monitor_is_orphan(f, there_since(sweep, before, s, began),
			       began) ||
	    find_stray(sweep->strays, s->kind, s->id))
		return;
	sweep->n_things += s->kind != ORPHAN_MACHINE;
	if (sweep->n_strays++ >= ORPHANS_MOST)
		return;
	new = arena_alloc(&sweep->arena, sizeof(*new));
	*new = *s;
	new->next = NULL;
	new->id = arena_strdup(&sweep->arena, s->id);
	new->of = s->of ? arena_strdup(&sweep->arena, s->of) : NULL;
	while (*at)
		at = &(*at)->next;
	*at = new;
}

static const struct orphan *find_orphan(const struct items *list,
					const struct stray *s)
{
	const struct orphan *o = list->at;

	for (size_t n = 0; n < list->n; n++)
		if (o[n].kind == s->kind &&
		    strcmp(o[n].provider_id, s->id) == 0)
			return &o[n];
	return NULL;
}

/* Nothing was found out about it this time. */
static bool is_unseen(const struct region_write *w, const struct orphan *o)
{
	return o->kind != ORPHAN_MACHINE && !w->things;
}

static bool is_there(const struct region_write *w, const struct orphan *o)
{
	const struct stray *s = find_stray(w->strays, o->kind, o->provider_id);

	return is_unseen(w, o) || (s && !s->removed && s->kept == o->kept);
}

static size_t count_unseen(const struct region *r, const struct region_write *w)
{
	const struct items *list = &r->status.monitor.orphans;
	const struct orphan *o = list->at;
	size_t unseen = 0;

	for (size_t n = 0; n < list->n; n++)
		unseen += is_unseen(w, &o[n]);
	return unseen;
}

bool monitor_orphans_news(const struct region *r, const struct region_write *w)
{
	const struct items *list = &r->status.monitor.orphans;
	const struct orphan *o = list->at;

	if (r->status.monitor.orphan_count !=
	    (int64_t)(w->n_strays + count_unseen(r, w)))
		return true;
	for (size_t n = 0; n < list->n; n++)
		if (!is_there(w, &o[n]))
			return true;
	for (const struct stray *s = w->strays; s; s = s->next)
		if (s->removed || !find_orphan(list, s))
			return true;
	return false;
}

/* Those that are there still; how many. */
static size_t keep_known(struct tx *tx, const struct region *r,
			 const struct region_write *w, struct orphan *to)
{
	const struct items *list = &r->status.monitor.orphans;
	const struct orphan *o = list->at;
	size_t kept = 0;

	for (size_t n = 0; n < list->n; n++) {
		const struct stray *s =
			find_stray(w->strays, o[n].kind, o[n].provider_id);

		if (s && s->removed) {
			tx_event(tx, &region_kind, w->region, "orphanRemoved",
				 "the %s %s was removed: it carried our tags, "
				 "and was nobody's",
				 orphan_kind_names[s->kind], s->id);
		} else if (s || is_unseen(w, &o[n])) {
			to[kept] = o[n];
			to[kept++].kept = s ? s->kept : o[n].kept;
		}
	}
	return kept;
}

static void add_orphan(struct tx *tx, const struct region_write *w,
		       const struct stray *s, struct orphan *to)
{
	bool machine = s->kind == ORPHAN_MACHINE;

	*to = (struct orphan){
		.kind = s->kind,
		.provider_id = s->id,
		.server_id = machine ? s->of : NULL,
		.object_id = machine ? NULL : s->of,
		.kept = s->kept,
		.first_seen_at = tx_time(tx),
		.quarantined_until = tx_time(tx) + w->quarantine_ms,
	};
	tx_event(tx, &region_kind, w->region, "orphanFound",
		 "the %s %s carries our tags, and is nobody's",
		 orphan_kind_names[s->kind], s->id);
}

void monitor_write_orphans(struct tx *tx, struct region *r,
			   const struct region_write *w)
{
	struct monitoring *m = &r->status.monitor;
	struct orphan *to =
		arena_alloc(tx_arena(tx), ORPHANS_MOST * sizeof(*to));
	size_t n = keep_known(tx, r, w, to), removed = 0;

	m->orphan_count = (int64_t)(w->n_strays + count_unseen(r, w));
	for (const struct stray *s = w->strays; s; s = s->next) {
		removed += s->removed;
		if (!s->removed && n < ORPHANS_MOST &&
		    !find_orphan(&m->orphans, s))
			add_orphan(tx, w, s, &to[n++]);
	}
	m->orphans = (struct items){to, n};
	m->orphan_count -= (int64_t)removed;
}

/* It is looked at afresh: only what carries our tags still is touched. */
static int remove_machine(struct provider *p, struct removal *c,
			  struct arena *a, struct err *err)
{
	struct machine m = {0};

	if (provider_describe(p, c->what.id, a, &m, err) < 0)
		return -1;
	c->ours = same(field_tag_get(&m.tags, TAG_INSTALLATION),
		       c->installation) &&
		  same(field_tag_get(&m.tags, TAG_SERVER), c->what.of);
	return c->ours ? provider_terminate(p, c->what.id, err) : 0;
}

static int run_removal(struct provider *p, struct call *call, struct arena *a,
		       struct err *err)
{
	struct removal *c = (struct removal *)call;

	if (c->what.kind == ORPHAN_MACHINE)
		return remove_machine(p, c, a, err);
	return monitor_remove_thing(p, c->installation, &c->what, a, &c->ours,
				    err);
}

static struct stray *next_due(struct work *w, struct sweep *sweep)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct stray *s;

	for (s = sweep->strays; s; s = s->next) {
		const struct orphan *o =
			find_orphan(&r->status.monitor.orphans, s);

		if (o && !s->tried && !s->kept &&
		    same(s->kind == ORPHAN_MACHINE ? o->server_id
						   : o->object_id,
			 s->of) &&
		    monitor_removes(r, o, monitor_owner(w, s), work_now(w)))
			return s;
	}
	return NULL;
}

/* Whether it has gone is for later sweeps to see. */
static void removal_done(struct work *w, struct call *call)
{
	struct removal *c = (struct removal *)call;
	struct stray *s = c->stray;

	s->tried = true;
	s->removed = !call->err.code && c->ours;
	if (call->err.code)
		log_warn("monitor", "%s: orphan %s is not removed: %s",
			 work_id(w), s->id, call->err.msg);
}

bool monitor_remove_orphan(struct work *w, struct sweep *sweep)
{
	struct stray *s =
		sweep->removals < REMOVALS_MOST ? next_due(w, sweep) : NULL;
	struct removal *c;

	if (!s)
		return false;
	sweep->removals++;
	c = arena_alloc(work_arena(w), sizeof(*c));
	c->call = (struct call){
		.run = run_removal, .done = removal_done, .rank = CALL_OBSERVE};
	c->installation = work_installation(w);
	c->stray = s;
	c->what = *s;
	work_call(w, work_id(w), &c->call);
	return true;
}

/* monitor_orphans.c - machines that carry our tags and are nobody's: found,
 * kept an eye on, and removed where that is wanted. */
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/log.h"
#include "base/mem.h"
#include "provider/front.h"
#include "reconcile/engine_priv.h"
#include "reconcile/monitor_plan.h"
#include "reconcile/monitor_sweep.h"
#include "store/tx.h"

/* Removals in one sweep. */
#define REMOVALS_MOST 16

struct removal {
	struct call call; /* first */
	const char *installation;
	const char *machine, *server; /* and what its tag said, or NULL */
	struct stray *stray;          /* not for the worker */
	bool ours;
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* How long it has been there for certain. */
static int64_t there_since(struct sweep *sweep, const struct map *before,
			   const struct machine *m, int64_t began)
{
	const struct first_sight *old;
	struct first_sight *new;

	if (m->created_at)
		return m->created_at;
	if ((new = map_get(&sweep->first, m->id)))
		return new->at;
	old = map_get(before, m->id);
	new = xcalloc(1, sizeof(*new) + strlen(m->id) + 1);
	new->at = old ? old->at : began;
	memcpy(new->id, m->id, strlen(m->id));
	map_add(&sweep->first, new->id, new);
	return new->at;
}

static const struct stray *find_stray(const struct stray *s, const char *id)
{
	while (s && strcmp(s->machine, id) != 0)
		s = s->next;
	return s;
}

void monitor_take_stray(struct sweep *sweep, const struct map *before,
			const struct provider_facts *f, const struct machine *m,
			int64_t began)
{
	const char *server = field_tag_get(&m->tags, TAG_SERVER);
	struct stray **at = &sweep->strays;
	struct stray *s;

	if (m->state == INSTANCE_TERMINATING || m->state == INSTANCE_TERMINATED)
		return;
	if (!monitor_is_orphan(f, there_since(sweep, before, m, began),
			       began) ||
	    find_stray(sweep->strays, m->id))
		return;
	if (sweep->n_strays++ >= ORPHANS_MOST)
		return;
	s = arena_alloc(&sweep->arena, sizeof(*s));
	s->machine = arena_strdup(&sweep->arena, m->id);
	s->server = server ? arena_strdup(&sweep->arena, server) : NULL;
	while (*at)
		at = &(*at)->next;
	*at = s;
}

static const struct orphan *find_orphan(const struct items *list,
					const char *machine)
{
	const struct orphan *o = list->at;

	for (size_t n = 0; n < list->n; n++)
		if (strcmp(o[n].provider_id, machine) == 0)
			return &o[n];
	return NULL;
}

static bool is_there(const struct region_write *w, const char *machine)
{
	const struct stray *s = find_stray(w->strays, machine);

	return s && !s->removed;
}

bool monitor_orphans_news(const struct region *r, const struct region_write *w)
{
	const struct items *list = &r->status.monitor.orphans;
	const struct orphan *o = list->at;

	if (r->status.monitor.orphan_count != (int64_t)w->n_strays)
		return true;
	for (size_t n = 0; n < list->n; n++)
		if (!is_there(w, o[n].provider_id))
			return true;
	for (const struct stray *s = w->strays; s; s = s->next)
		if (s->removed || !find_orphan(list, s->machine))
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
		const struct stray *s = find_stray(w->strays, o[n].provider_id);

		if (s && s->removed)
			tx_event(tx, &region_kind, w->region, "orphanRemoved",
				 "%s was removed: it carried our tags, and no "
				 "server is known for it",
				 s->machine);
		else if (s)
			to[kept++] = o[n];
	}
	return kept;
}

void monitor_write_orphans(struct tx *tx, struct region *r,
			   const struct region_write *w)
{
	struct monitoring *m = &r->status.monitor;
	struct orphan *to =
		arena_alloc(tx_arena(tx), ORPHANS_MOST * sizeof(*to));
	size_t n = keep_known(tx, r, w, to), removed = 0;

	for (const struct stray *s = w->strays; s; s = s->next) {
		removed += s->removed;
		if (s->removed || n == ORPHANS_MOST ||
		    find_orphan(&m->orphans, s->machine))
			continue;
		to[n++] = (struct orphan){
			.provider_id = s->machine,
			.server_id = s->server,
			.first_seen_at = tx_time(tx),
			.quarantined_until = tx_time(tx) + w->quarantine_ms,
		};
		tx_event(tx, &region_kind, w->region, "orphanFound",
			 "%s carries our tags, and is no known server's",
			 s->machine);
	}
	m->orphans = (struct items){to, n};
	m->orphan_count = (int64_t)(w->n_strays - removed);
}

/* It is looked at afresh: only what carries our tags still is touched. */
static int run_removal(struct provider *p, struct call *call, struct arena *a,
		       struct err *err)
{
	struct removal *c = (struct removal *)call;
	struct machine m = {0};

	if (provider_describe(p, c->machine, a, &m, err) < 0)
		return -1;
	c->ours = same(field_tag_get(&m.tags, TAG_INSTALLATION),
		       c->installation) &&
		  same(field_tag_get(&m.tags, TAG_SERVER), c->server);
	return c->ours ? provider_terminate(p, c->machine, err) : 0;
}

static struct stray *next_due(struct work *w, struct sweep *sweep)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct stray *s;

	for (s = sweep->strays; s; s = s->next) {
		const struct orphan *o =
			find_orphan(&r->status.monitor.orphans, s->machine);
		const struct server *server =
			s->server ? work_get(w, &server_kind, s->server) : NULL;

		if (o && !s->tried && same(o->server_id, s->server) &&
		    monitor_removes(r, o, server, work_now(w)))
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
			 work_id(w), s->machine, call->err.msg);
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
	c->machine = s->machine;
	c->server = s->server;
	work_call(w, work_id(w), &c->call);
	return true;
}

#include "reconcile/monitor_stale.h"

#include <string.h>

#include "reconcile/engine_priv.h"
#include "store/tx.h"

/* Servers that are looked at in one step. */
#define WALK_MOST 2000

/* How long until all are looked through again. */
#define WALK_MS 60000

static bool is_stale(const struct server *s, int64_t seen, int64_t limit)
{
	int64_t last = s->status.observed_at;

	if (last < seen)
		last = seen;
	return s->status.phase == SERVER_LAUNCHED && !s->status.stale_since &&
	       last <= limit;
}

int monitor_write_stale(struct tx *tx, void *ctx, struct err *err)
{
	const struct stale_write *w = ctx;

	for (const struct missed *m = w->servers; m; m = m->next) {
		const struct server *s = tx_get(tx, &server_kind, m->server);

		if (s && is_stale(s, w->seen, w->limit) &&
		    machine_write_stale(tx, s->instance_id, w->seen, err) < 0)
			return -1;
	}
	return 0;
}

static void add(struct arena *a, struct stale_write *to, const char *server)
{
	struct missed *m = arena_alloc(a, sizeof(*m));

	m->server = arena_strdup(a, server);
	m->next = to->servers;
	to->servers = m;
}

static struct stale_write *prepare(struct work *w, int64_t seen, int64_t limit)
{
	struct stale_write *to = arena_alloc(work_arena(w), sizeof(*to));

	*to = (struct stale_write){.seen = seen, .limit = limit};
	return to;
}

bool monitor_mark_missed(struct work *w, struct missed **list, int64_t seen,
			 int64_t limit)
{
	struct stale_write *to = prepare(w, seen, limit);
	int n = 0;

	for (; *list && n < SIGHTINGS_AT_ONCE; *list = (*list)->next) {
		const struct server *s =
			work_get(w, &server_kind, (*list)->server);

		if (!s || !is_stale(s, seen, limit))
			continue;
		add(work_arena(w), to, s->meta.id);
		n++;
	}
	if (n)
		work_transact(w, monitor_write_stale, to);
	return n != 0;
}

/* True when all were looked at. */
static bool gather(struct work *w, struct stale_walk *walk,
		   struct stale_write *to)
{
	const char *after = walk->after[0] ? walk->after : NULL;
	struct scan scan = store_scan(work_store(w), 0, &server_kind, after);
	struct record r;
	size_t effort = 0;
	int found = 0;

	if (!scan_narrow(&scan, "regionId", work_id(w), after))
		return true;
	for (int n = 0; n < WALK_MOST && found < SIGHTINGS_AT_ONCE; n++) {
		if (!scan_next(&scan, &r, &effort))
			return true;
		memmove(walk->after, r.id, strlen(r.id) + 1);
		if (!is_stale(r.object, to->seen, to->limit))
			continue;
		add(work_arena(w), to, r.id);
		found++;
	}
	return false;
}

bool monitor_mark_stale(struct work *w, struct stale_walk *walk, int64_t seen,
			int64_t limit)
{
	struct stale_write *to = prepare(w, seen, limit);

	if (work_now(w) < walk->again_at) {
		work_wait(w, walk->again_at);
		return false;
	}
	if (gather(w, walk, to)) {
		walk->after[0] = '\0';
		walk->again_at = work_now(w) + WALK_MS;
	} else {
		walk->again_at = 0;
	}
	if (to->servers)
		work_transact(w, monitor_write_stale, to);
	else
		work_wait(w, walk->again_at ? walk->again_at : work_now(w));
	return to->servers != NULL;
}

/* monitor_write.c - what looking at a region has found, written down. */
#include <string.h>

#include "reconcile/monitor_orphans.h"
#include "reconcile/monitor_plan.h"
#include "store/tx.h"

/* How often the time of the last look is written, when that is all. */
#define TELL_MS 60000

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static const char *or_none(const char *s)
{
	return s ? s : "none";
}

/* What else is otherwise, in words; NULL: nothing. */
static const char *changed(const struct server *s, const struct machine *m,
			   struct arena *a)
{
	const struct {
		const char *what, *was, *is;
	} rows[] = {
		{"private address", s->status.private_ip, m->private_ip},
		{"private address", s->status.private_ip6, m->private_ip6},
		{"public address", s->status.public_ip, m->public_ip},
		{"MAC address", s->status.mac, m->mac},
		{"zone", s->status.zone, m->zone},
		{"host", s->status.host, m->host},
		{"size", s->status.native_flavor,
		 m->flavor ? m->flavor : s->status.native_flavor},
	};

	for (size_t n = 0; n < COUNT_OF(rows); n++)
		if (!same(rows[n].was, rows[n].is))
			return arena_printf(a, "its %s is %s, not %s",
					    rows[n].what, or_none(rows[n].is),
					    or_none(rows[n].was));
	if (!ports_same(&s->status.ports, &m->ports))
		return "other ports of its guest are reached from outside";
	return NULL;
}

static void tell(struct tx *tx, const struct server *s,
		 const struct sighting *g)
{
	const struct machine *m = &g->machine;
	const char *other = g->gone ? NULL : changed(s, m, tx_arena(tx));
	const char *what;

	/* How its guest is, is told in words of its own. */
	if (!g->gone && !other && m->state == s->status.state &&
	    same(m->native_state, s->status.native_state))
		return;
	if (g->gone)
		what = "it is no longer at the provider";
	else if (m->state != s->status.state)
		what = arena_printf(tx_arena(tx), "it is %s, not %s",
				    instance_state_names[m->state],
				    instance_state_names[s->status.state]);
	else
		what = other ? other : "the provider has another word";
	tx_event(tx, &instance_kind, s->instance_id, "drifted",
		 "%s was found otherwise than it was left: %s",
		 or_none(s->status.provider_id), what);
}

static int write_one(struct tx *tx, const struct sighting_write *w,
		     const struct sighting *g, struct err *err)
{
	const struct server *s = tx_get(tx, &server_kind, g->server);
	const struct instance *i =
		s ? tx_get(tx, &instance_kind, s->instance_id) : NULL;
	struct machine_call c = {.what = MACHINE_DESCRIBE,
				 .call.began = g->began,
				 .listed = !g->alone};
	struct machine_record r = {.random = w->random, .call = &c};

	/* Somebody has written about it since it was compared. */
	if (!i || s->meta.revision != g->revision || i->meta.deleted_at ||
	    !same(i->status.server_id, s->meta.id))
		return 0;
	c.instance = r.instance = i->meta.id;
	c.uid = i->uid;
	c.server = s->meta.id;
	c.attempt = s->attempt.number;
	c.generation = i->meta.generation;
	if (g->gone) {
		err_set(&c.call.err, ERR_NOT_FOUND, "there is no such machine");
	} else {
		c.found[0] = g->machine;
		c.n_found = 1;
	}
	r.known = w->known;
	r.known.facts = &w->facts;
	if (!g->again)
		tell(tx, s, g);
	return machine_record(tx, &r, err);
}

int monitor_write_sightings(struct tx *tx, void *ctx, struct err *err)
{
	const struct sighting_write *w = ctx;
	const struct sighting *g = w->first;

	for (int n = 0; g && n < SIGHTINGS_AT_ONCE; n++, g = g->next)
		if (write_one(tx, w, g, err) < 0)
			return -1;
	return 0;
}

static void tell_tripped(struct tx *tx, struct region *r,
			 const struct region_write *w)
{
	struct monitoring *m = &r->status.monitor;

	m->missing = (int64_t)w->missing;
	m->of = (int64_t)w->of;
	m->missing_since = tx_time(tx);
	m->accepted = 0;
	tx_event(tx, &region_kind, w->region, "massDisappearance",
		 "%zu of %zu machines are missing from the provider's list: "
		 "nothing is done about them until they are back, or it is "
		 "accepted that they are gone",
		 w->missing, w->of);
}

static void tell_seen(struct tx *tx, struct region *r,
		      const struct region_write *w)
{
	struct monitoring *m = &r->status.monitor;

	m->observed_at = tx_time(tx);
	monitor_write_orphans(tx, r, w);
	if (m->stale_since)
		tx_event(tx, &region_kind, w->region, "observationFresh",
			 "its machines are seen again");
	m->stale_since = 0;
	if (!m->missing_since || monitor_trips(w->missing, w->of, 0))
		return;
	tx_event(tx, &region_kind, w->region, "massDisappearanceOver",
		 "%zu of %zu machines are missing now", w->missing, w->of);
	m->missing = m->of = m->missing_since = m->accepted = 0;
}

bool monitor_region_news(const struct region *r, const struct region_write *w,
			 int64_t now)
{
	const struct monitoring *m = &r->status.monitor;

	switch (w->what) {
	case REGION_STALE:
		return !m->stale_since;
	case REGION_TRIPPED: /* once, but again after it was accepted */
		return !m->missing_since || m->accepted;
	default:
		return m->stale_since || now >= m->observed_at + TELL_MS ||
		       monitor_orphans_news(r, w) ||
		       (m->missing_since &&
			!monitor_trips(w->missing, w->of, 0));
	}
}

int monitor_write_region(struct tx *tx, void *ctx, struct err *err)
{
	const struct region_write *w = ctx;
	const struct region *old = tx_get(tx, &region_kind, w->region);
	struct region r;

	if (!old || old->meta.deleted_at ||
	    !monitor_region_news(old, w, tx_time(tx)))
		return 0;
	r = *old;
	switch (w->what) {
	case REGION_STALE:
		r.status.monitor.stale_since = tx_time(tx);
		tx_event(tx, &region_kind, w->region, "observationStale",
			 "its machines could not be looked at for long: what "
			 "is shown of them may not be so any more");
		break;
	case REGION_TRIPPED:
		tell_tripped(tx, &r, w);
		break;
	default:
		tell_seen(tx, &r, w);
	}
	return tx_put(tx, &region_kind, &r, err);
}

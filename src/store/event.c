/*
 * event - what happened, kept as objects beside those it happened to.
 *
 * An event's id is made of its object's and its reason, so that what happens
 * again is found again.  Few are kept of one object, and none for long.
 */
#include "model/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/uuid.h"
#include "store/read.h"
#include "store/store_priv.h"

/* Events of one object; the one that is longest ago makes room. */
#define EVENTS_MOST 32

#define MESSAGE_MOST 512

/* Events that one tick looks at, and deletes. */
#define LOOK_MOST   1000
#define EXPIRE_MOST 100

void tx_set_source(struct tx *tx, const char *source)
{
	tx->source = source;
}

/* No event without an object: whose it is decides who sees it. */
static const void *find_object(struct tx *tx, const struct kind *k,
			       const char *id)
{
	const void *object = tx_get(tx, k, id);
	struct record was;

	if (!object && tx_before(tx, k, id, &was))
		object = was.object;
	return object;
}

static void make_room(struct tx *tx, const char *object_id)
{
	const struct happening *oldest = NULL;
	const char **ids;
	size_t n = tx_find(tx, &event_kind, "objectId", object_id,
			   EVENTS_MOST + 1, &ids);
	struct err err;

	for (size_t i = 0; i < n; i++) {
		const struct happening *h = tx_get(tx, &event_kind, ids[i]);

		if (!oldest || h->last_at < oldest->last_at)
			oldest = h;
	}
	if (n >= EVENTS_MOST &&
	    tx_delete(tx, &event_kind, oldest->meta.id, &err) < 0)
		log_debug("event", "%s", err.msg);
}

void tx_event(struct tx *tx, const struct kind *k, const char *id,
	      const char *reason, const char *fmt, ...)
{
	char event_id[UUID_LEN + 1], message[MESSAGE_MOST];
	struct happening h = {.object_kind = k->name,
			      .object_id = id,
			      .reason = reason,
			      .message = message,
			      .count = 1};
	const struct happening *old;
	const void *object;
	struct owner owner;
	struct err err;
	va_list ap;

	if (!store_kind(tx->store, event_kind.name))
		return;
	object = find_object(tx, k, id);
	if (!object)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	uuid_v5(id, reason, event_id);
	h.meta.id = event_id;
	h.meta.generation = FIELD_NONE;
	owner = kind_owner(k, object);
	h.organization_id = owner.organization;
	h.project_id = owner.project;
	h.source = tx->source ? tx->source : "muster";
	h.first_at = h.last_at = tx_time(tx);
	old = tx_get(tx, &event_kind, event_id);
	if (old) {
		h.first_at = old->first_at;
		h.count = old->count + 1;
	} else {
		make_room(tx, id);
	}
	/* Only in a change that is too large: then it is not told. */
	if (tx_put(tx, &event_kind, &h, &err) < 0)
		log_debug("event", "%s", err.msg);
}

static bool is_old(const struct store *s, const struct happening *h)
{
	return h->last_at + s->conf.event_age_ms < clock_wall(s->conf.clock);
}

static int expire(struct tx *tx, void *ctx, struct err *err)
{
	struct store *s = ctx;

	for (size_t i = 0; i < s->expiry.n; i++) {
		const struct happening *h =
			tx_get(tx, &event_kind, s->expiry.ids[i]);

		if (h && is_old(s, h) &&
		    tx_delete(tx, &event_kind, s->expiry.ids[i], err) < 0)
			return -1;
	}
	return 0;
}

static void expired(struct txn *t, const struct err *err)
{
	(void)err; /* the next round finds them again */
	((struct store *)t->ctx)->expiry.n = 0;
}

void event_tick(struct store *s)
{
	struct expiry *x = &s->expiry;
	struct scan scan;
	struct record r;
	size_t effort = 0;

	if (!s->conf.event_age_ms || x->n || !store_kind(s, event_kind.name))
		return;
	scan = store_scan(s, 0, &event_kind, x->after[0] ? x->after : NULL);
	while (effort < LOOK_MOST && x->n < EXPIRE_MOST) {
		if (!scan_next(&scan, &r, &effort)) {
			x->after[0] = '\0';
			break;
		}
		memcpy(x->after, r.id, strlen(r.id) + 1);
		if (is_old(s, r.object))
			memcpy(x->ids[x->n++], r.id, strlen(r.id) + 1);
	}
	if (!x->n)
		return;
	x->txn = (struct txn){.fn = expire, .done = expired, .ctx = s};
	store_transact(s, &x->txn);
}

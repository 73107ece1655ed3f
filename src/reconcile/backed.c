#include "reconcile/backed.h"

#include <string.h>

#include "model/region.h"
#include "reconcile/backed_plan.h"
#include "reconcile/engine_priv.h"
#include "reconcile/forget.h"
#include "reconcile/retry.h"
#include "store/tx.h"

/* How long it may be until what is being made is looked at again. */
#define POLL_MOST_MS 15000
#define POLL_MIN_MS  100

static const struct backed_row *row_of(const struct work *w)
{
	return (const struct backed_row *)(const void *)w->controller;
}

static const struct backed *status_of(const struct backed_row *row,
				      const void *object)
{
	return (const void *)((const char *)object + row->status);
}

static const char *region_of(const struct backed_row *row, const void *object)
{
	return *(const char *const *)(const void *)((const char *)object +
						    row->region);
}

bool backed_wants(const struct backed_row *row, const void *object)
{
	const struct meta *meta = object;
	const struct backed *b = status_of(row, object);

	return meta->deleted_at || b->state != BACKED_READY || b->reason.code ||
	       b->observed_generation != meta->generation;
}

/* The document for writing, and its status; NULL when it is gone. */
static struct meta *copy_in(struct tx *tx, const struct backed_row *row,
			    const char *id, struct backed **ret)
{
	const struct kind *k = row->controller.kind;
	const void *old = tx_get(tx, k, id);
	char *new;

	if (!old)
		return NULL;
	new = arena_alloc(tx_arena(tx), k->size);
	memcpy(new, old, k->size);
	*ret = (struct backed *)(void *)(new + row->status);
	return (struct meta *)(void *)new;
}

/* What the provider answered is so whatever was asked for since; but one that
 * is being deleted shows that. */
static void take_state(const struct meta *meta, struct backed *b, int state)
{
	if (!meta->deleted_at)
		b->state = state;
}

static int write_seen(struct tx *tx, void *ctx, struct err *err)
{
	const struct backing_call *c = ctx;
	const struct backing *seen = &c->seen;
	struct backed *b;
	struct meta *meta = copy_in(tx, c->row, c->object->id, &b);
	bool ready = seen->state == BACKED_READY;

	if (!meta)
		return 0;
	if (ready && b->state != BACKED_READY)
		tx_event(tx, c->row->controller.kind, meta->id, "ready",
			 "it is there");
	take_state(meta, b, seen->state);
	b->native = seen->native_state;
	b->provider = seen->id;
	b->observed_generation = c->object->generation;
	b->observed_at = tx_time(tx);
	if (ready || !b->deadline)
		b->deadline = ready ? 0 : tx_time(tx) + c->row->patience_ms;
	if (ready)
		b->reason = (struct reason){0};
	if (c->row->record)
		c->row->record(meta, seen);
	return tx_put(tx, c->row->controller.kind, meta, err);
}

static void write_reason(struct tx *tx, const struct backing_call *c,
			 const struct meta *meta, struct backed *b)
{
	const struct err *why = &c->call.err;
	struct random *random = work_random(c->work);
	struct arena *a = tx_arena(tx);
	bool parked, again;

	again = b->observed_generation == c->object->generation;
	b->reason = (meta->deleted_at ? retry_always : retry_reason)(
		why, again ? b->reason.failures : 0, tx_time(tx), random, a);
	parked = !b->reason.retry_at;
	if (parked || c->seen.state == BACKED_FAILED)
		take_state(meta, b, BACKED_FAILED);
	b->deadline = 0;
	b->observed_at = tx_time(tx);
	if (!meta->deleted_at)
		b->observed_generation = c->object->generation;
	tx_event(tx, c->row->controller.kind, meta->id,
		 parked ? "parked" : "retrying", "%s", why->msg);
}

static int write_failure(struct tx *tx, void *ctx, struct err *err)
{
	const struct backing_call *c = ctx;
	struct backed *b;
	struct meta *meta = copy_in(tx, c->row, c->object->id, &b);

	if (!meta)
		return 0;
	write_reason(tx, c, meta, b);
	return tx_put(tx, c->row->controller.kind, meta, err);
}

static int write_let_go(struct tx *tx, void *ctx, struct err *err)
{
	const struct backing_call *c = ctx;
	struct backed *b;
	struct meta *meta = copy_in(tx, c->row, c->object->id, &b);

	if (!meta || !c->row->let_go(meta, tx_arena(tx)))
		return 0;
	return tx_put(tx, c->row->controller.kind, meta, err);
}

static int write_end(struct tx *tx, void *ctx, struct err *err)
{
	const struct backing_call *c = ctx;

	if (!tx_get(tx, c->row->controller.kind, c->object->id))
		return 0;
	return forget(tx, c->row->controller.kind, c->object->id, err);
}

/* Nothing that is written down has changed: look again after a while. */
static bool is_known(const struct backing_call *c)
{
	const struct backed *b = status_of(c->row, c->object);

	return c->seen.state == b->state && b->deadline && b->provider &&
	       b->observed_generation == c->object->generation &&
	       strcmp(b->provider, c->seen.id) == 0 && !b->reason.code;
}

static void poll_later(struct work *w, const struct place *p)
{
	struct backed_memo *m = work_memo(w);
	int64_t first = p ? p->facts.poll_ms : 0;

	if (first < POLL_MIN_MS)
		first = POLL_MIN_MS;
	m->poll_ms = m->poll_ms ? m->poll_ms * 2 : first;
	if (m->poll_ms > POLL_MOST_MS)
		m->poll_ms = POLL_MOST_MS;
	m->poll_at = work_now(w) + m->poll_ms;
}

static void ensured(struct work *w, struct call *call)
{
	struct backing_call *c = (struct backing_call *)call;
	struct backed_memo *m = work_memo(w);
	const char *region = region_of(c->row, c->object);

	if (!call->err.code && c->seen.state == BACKED_FAILED)
		err_set(&call->err, ERR_PROVIDER,
			"the provider says that it has failed%s%s",
			c->seen.native_state ? ": " : "",
			c->seen.native_state ? c->seen.native_state : "");
	if (call->err.code) {
		*m = (struct backed_memo){0};
		work_transact(w, write_failure, c);
		return;
	}
	if (c->partly && c->seen.state == BACKED_READY)
		c->seen.state = BACKED_CREATING;
	if (c->seen.state != BACKED_READY)
		poll_later(w, site_place(work_site(w, region)));
	if (is_known(c))
		work_wait(w, m->poll_at);
	else
		work_transact(w, write_seen, c);
}

static void removed(struct work *w, struct call *call)
{
	bool gone = !call->err.code || call->err.code == ERR_NOT_FOUND;

	work_transact(w, gone ? write_end : write_failure, call);
}

static int run_ensure(struct provider *p, struct call *call, struct arena *a,
		      struct err *err)
{
	struct backing_call *c = (struct backing_call *)call;

	c->seen = (struct backing){0};
	return c->row->ensure(p, c, a, err);
}

static int run_remove(struct provider *p, struct call *call, struct arena *a,
		      struct err *err)
{
	struct backing_call *c = (struct backing_call *)call;

	(void)a;
	return c->row->remove(p, &c->id, err);
}

static struct backing_call *call_new(struct work *w,
				     const struct backed_row *row)
{
	struct backing_call *c = arena_alloc(work_arena(w), sizeof(*c));
	const struct kind *k = row->controller.kind;

	c->row = row;
	c->work = w;
	c->object = work_copy(w, k, work_id(w));
	c->id.ours = c->object->id;
	c->id.provider = status_of(row, c->object)->provider;
	return c;
}

/* Those who need it go first.  One who is there twice over is enough to wait
 * for. */
static bool is_used(struct work *w, const struct backed_row *row,
		    const void *object)
{
	struct record user;

	if (row->is_held && row->is_held(w, object))
		return true;
	if (!store_user(work_store(w), row->controller.kind, work_id(w), &user))
		return false;
	work_await(w, user.kind, user.id);
	return true;
}

static struct backed_view view_of(struct work *w, const struct backed_row *row,
				  const struct meta *object, bool *ret_open)
{
	const char *region_id = region_of(row, object);
	const struct region *region = work_get(w, &region_kind, region_id);
	bool reached = region && region->status.observed_generation;
	const struct place *p = reached ? work_place(w, region_id) : NULL;
	struct backed_memo *m = work_memo(w);

	*ret_open = p;
	return (struct backed_view){
		.status = *status_of(row, object),
		.generation = object->generation,
		.deleted_at = object->deleted_at,
		.region_changed_at = region ? region->meta.updated_at : 0,
		.reached = reached,
		.can = p && provider_can(p->provider, row->capability(object)),
		.optional = row->optional,
		.poll_at = m->poll_at,
		.now = work_now(w),
	};
}

/* Called with what was planned when nothing is in the way. */
static void carry_out(struct work *w, struct backing_call *c,
		      enum backed_act act)
{
	const char *region = region_of(c->row, c->object);
	bool making = act == BACKED_ENSURE;

	switch (act) {
	case BACKED_ENSURE:
	case BACKED_REMOVE:
		c->call.run = making ? run_ensure : run_remove;
		c->call.done = making ? ensured : removed;
		c->call.rank = making ? CALL_CREATE : CALL_DELETE;
		work_call(w, region, &c->call);
		return;
	case BACKED_ACCEPT:
		c->seen.state = BACKED_READY;
		work_transact(w, write_seen, c);
		return;
	case BACKED_REFUSE:
		err_set(&c->call.err, ERR_UNSUPPORTED,
			"the region's provider cannot do that");
		c->call.err.scope = ERR_SCOPE_REGION;
		work_transact(w, write_failure, c);
		return;
	case BACKED_GIVE_UP:
		err_set(&c->call.err, ERR_TIMEOUT,
			"it was not ready in time, and is tried again");
		c->seen.state = BACKED_FAILED;
		work_transact(w, write_failure, c);
		return;
	case BACKED_FORGET:
		work_transact(w, write_end, c);
		return;
	default:
		return;
	}
}

/* False when something is missing: then the work has been told what to do. */
static bool has_needs(struct work *w, struct backing_call *c,
		      struct backed_view *v)
{
	struct err err;

	switch (c->row->prepare(w, c, &err)) {
	case NEEDS_WAIT:
		v->lacks = true;
		return true;
	case NEEDS_LOST:
		c->call.err = err;
		work_transact(w, write_failure, c);
		return false;
	default:
		return true;
	}
}

void backed_step(struct work *w)
{
	const struct backed_row *row = row_of(w);
	const struct meta *object =
		work_get(w, row->controller.kind, work_id(w));
	struct backed_step next;
	struct backing_call *c;
	struct backed_view v;
	bool open;

	if (!object)
		return;
	v = view_of(w, row, object, &open);
	c = call_new(w, row);
	if (v.deleted_at && row->let_go &&
	    row->let_go(c->object, work_arena(w))) {
		work_transact(w, write_let_go, c);
		return;
	}
	v.used = v.deleted_at && is_used(w, row, object);
	if (v.reached && !v.used && !open)
		return;
	next = backed_plan(&v);
	if (next.act == BACKED_ENSURE) {
		if (!has_needs(w, c, &v))
			return;
		next = backed_plan(&v);
	}
	if (next.act == BACKED_WAIT)
		work_wait(w, next.until);
	if (next.act == BACKED_WAIT || next.act == BACKED_STAY_PARKED ||
	    (next.act == BACKED_AWAIT_NEEDS && !v.reached))
		work_await(w, &region_kind, region_of(row, object));
	carry_out(w, c, next.act);
}

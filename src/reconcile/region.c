#include "reconcile/region.h"

#include <string.h>

#include "base/field_ops.h"
#include "model/region.h"
#include "provider/front.h"
#include "reconcile/catalogue.h"
#include "reconcile/engine_priv.h"
#include "reconcile/retry.h"

struct memo {
	bool wrote;       /* what became of the last try */
	int64_t revision; /* the region's, with that */
};

/* What was seen, on its way to the document. */
struct seen {
	struct call call; /* first */
	struct work *work;
	const char *region_id;
	int64_t generation;         /* that it was seen with */
	struct items capabilities;  /* of const char * */
	struct catalogue catalogue; /* when call.err is none */
	bool closed;                /* the provider could not be opened */
};

static struct region *copy_in(struct tx *tx, const char *id)
{
	const struct region *old = tx_get(tx, &region_kind, id);
	struct region *new = arena_alloc(tx_arena(tx), sizeof(*new));

	if (!old || old->meta.deleted_at)
		return NULL;
	*new = *old;
	return new;
}

static int write_failure(struct tx *tx, void *ctx, struct err *err)
{
	const struct seen *s = ctx;
	const struct err *why = &s->call.err;
	struct region *r = copy_in(tx, s->region_id);
	struct random *random = work_random(s->work);
	int64_t failures;

	if (!r)
		return err_set(err, ERR_STALE, "it is being deleted");
	failures = r->status.reason.failures;
	r->status.reason =
		retry_always(why, failures, tx_time(tx), random, tx_arena(tx));
	if (why->retry == ERR_RETRY_NEVER ||
	    why->retry == ERR_RETRY_AFTER_CHANGE)
		r->status.reason.waits_for = WAITS_OPERATOR;
	if (s->closed || !r->status.observed_generation)
		r->status.state = BACKED_FAILED;
	tx_event(tx, &region_kind, s->region_id, "syncFailed", "%s", why->msg);
	return tx_put(tx, &region_kind, r, err);
}

static void write_down(struct work *w,
		       int (*fn)(struct tx *tx, void *ctx, struct err *err),
		       struct seen *s)
{
	((struct memo *)work_memo(w))->wrote = true;
	work_transact(w, fn, s);
}

static int write_seen(struct tx *tx, void *ctx, struct err *err)
{
	const struct seen *s = ctx;
	const struct catalogue *c = &s->catalogue;
	struct region *r = copy_in(tx, s->region_id);

	if (!r)
		return err_set(err, ERR_STALE, "it is being deleted");
	if (catalogue_write(tx, s->region_id, c, err) < 0)
		return -1;
	if (r->status.state != BACKED_READY)
		tx_event(tx, &region_kind, s->region_id, "synced",
			 "its provider offers %zu flavors and %zu images",
			 c->flavors.n, c->images.n);
	r->status.state = BACKED_READY;
	r->status.reason = (struct reason){0};
	r->status.synced_at = tx_time(tx);
	r->status.observed_generation = s->generation;
	r->status.capabilities = s->capabilities;
	r->status.zones = c->zones;
	r->status.flavors = (int64_t)c->flavors.n;
	r->status.images = (int64_t)c->images.n;
	r->status.notes = c->notes;
	return tx_put(tx, &region_kind, r, err);
}

/* What cannot be written is a failure like any other. */
static int write_or_fail(struct tx *tx, void *ctx, struct err *err)
{
	struct seen *s = ctx;

	s->call.err = (struct err){0};
	if (write_seen(tx, s, &s->call.err) == 0)
		return 0;
	if (s->call.err.code != ERR_PROVIDER) {
		*err = s->call.err;
		return -1;
	}
	return write_failure(tx, s, err);
}

static int run_read(struct provider *p, struct call *c, struct arena *a,
		    struct err *err)
{
	struct seen *s = (struct seen *)c;

	s->catalogue = (struct catalogue){0};
	if (provider_catalogue(p, a, &s->catalogue, err) < 0)
		return -1;
	catalogue_clean(&s->catalogue, s->region_id, a);
	return 0;
}

static void read_done(struct work *w, struct call *c)
{
	write_down(w, c->err.code ? write_failure : write_or_fail,
		   (struct seen *)c);
}

static struct items capabilities(const struct place *p, struct arena *a)
{
	const char **names = arena_alloc(a, CAPABILITIES * sizeof(*names));
	size_t n = 0;

	for (int i = 0; i < CAPABILITIES; i++)
		if (provider_can(p->provider, (enum capability)i))
			names[n++] = capability_name((enum capability)i);
	return (struct items){names, n};
}

static bool is_same(const struct items *a, const struct items *b)
{
	const char *const *x = a->at, *const *y = b->at;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(x[i], y[i]) != 0)
			return false;
	return true;
}

static struct seen *seen_new(struct work *w, const struct region *doc)
{
	struct seen *s = arena_alloc(work_arena(w), sizeof(*s));

	s->work = w;
	s->region_id = work_id(w);
	s->generation = doc->meta.generation;
	return s;
}

/* It has failed, nobody has changed it since, and it is not time yet. */
static bool must_wait(struct work *w, const struct region *doc)
{
	struct memo *m = work_memo(w);

	if (m->wrote) {
		m->wrote = false;
		m->revision = doc->meta.revision;
	}
	if (!doc->status.reason.code || m->revision != doc->meta.revision ||
	    doc->status.reason.retry_at <= work_now(w))
		return false;
	work_wait(w, doc->status.reason.retry_at);
	return true;
}

static void sync(struct work *w, const struct region *doc)
{
	const struct place *p = site_place(work_site(w, work_id(w)));
	int64_t due = doc->status.synced_at + doc->spec.sync_seconds * 1000;
	struct seen *s = seen_new(w, doc);

	s->capabilities = capabilities(p, work_arena(w));
	if (doc->status.synced_at && due > work_now(w) &&
	    doc->status.observed_generation == doc->meta.generation &&
	    is_same(&s->capabilities, &doc->status.capabilities)) {
		work_wait(w, due);
		return;
	}
	if (must_wait(w, doc))
		return;
	s->call = (struct call){
		.run = run_read, .done = read_done, .rank = CALL_OBSERVE};
	work_call(w, work_id(w), &s->call);
}

/* A site that has opened pokes whoever waits for it, and then this is done. */
static void open_done(struct work *w, struct call *c)
{
	struct opening *o = (struct opening *)c;
	struct seen *s;

	if (!c->err.code) {
		site_take(work_site(w, work_id(w)), o);
		return;
	}
	s = seen_new(w, o->doc);
	s->call.err = c->err;
	s->closed = true;
	write_down(w, write_failure, s);
}

static void open_site(struct work *w, struct site *site,
		      const struct region *doc)
{
	struct opening *o;

	if (must_wait(w, doc))
		return;
	o = arena_alloc(work_arena(w), sizeof(*o));
	site_prepare(site, work_copy(w, &region_kind, work_id(w)), o);
	o->call.done = open_done;
	work_open(w, site, o);
}

static void step(struct work *w)
{
	const struct region *doc = work_get(w, &region_kind, work_id(w));
	struct site *site = work_site(w, work_id(w));

	if (!doc || doc->meta.deleted_at) {
		site_match(site, NULL);
		return;
	}
	site_limit(site, doc);
	if (doc->spec.paused)
		return;
	switch (site_match(site, doc)) {
	case SITE_BUSY:
		work_await(w, &region_kind, work_id(w));
		break;
	case SITE_CLOSED:
		open_site(w, site, doc);
		break;
	case SITE_OPEN:
		sync(w, doc);
		break;
	}
}

static bool wants(const void *object)
{
	(void)object;
	return true;
}

const struct controller region_controller = {
	.name = "region",
	.kind = &region_kind,
	.memo = sizeof(struct memo),
	.wants = wants,
	.step = step,
};

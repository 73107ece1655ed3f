/* What a step may do; see controller.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/region.h"
#include "reconcile/engine_priv.h"
#include "reconcile/retry.h"
#include "store/read.h"

/* What one step, its call and its transaction may use. */
#define ARENA_MOST ((size_t)64 << 20)

struct work *work_new(struct engine *e, size_t controller, const char *id)
{
	const struct controller *c = controllers[controller];
	struct work *w = xcalloc(1, sizeof(*w) + c->memo);

	w->engine = e;
	w->controller = c;
	w->among = &e->works[controller];
	assert(strlen(id) < sizeof(w->id));
	memcpy(w->id, id, strlen(id));
	arena_init(&w->arena, ARENA_MOST);
	map_add(w->among, w->id, w);
	e->n_works++;
	return w;
}

static void stop_awaiting(struct work *w)
{
	struct awaiting *a;

	while ((a = w->awaiting)) {
		w->awaiting = a->next;
		list_remove(&a->link);
		if (a->object && list_empty(&a->object->waiters)) {
			map_remove(a->object->among, a->object->id);
			free(a->object);
		}
		free(a);
	}
}

static void drop_copies(struct work *w)
{
	struct copied *c;

	while ((c = w->copies)) {
		w->copies = c->next;
		free(c->object);
		free(c);
	}
}

/* Ready for another step. */
static void tidy(struct work *w)
{
	queue_remove(&w->engine->queue, &w->queued);
	stop_awaiting(w);
	drop_copies(w);
	arena_clear(&w->arena);
	w->poked = false;
}

/* Many may wait, and for long: what they waited with is not kept. */
static void rest(struct work *w)
{
	w->state = WORK_WAITING;
	drop_copies(w);
	arena_release(&w->arena);
}

void work_release(struct work *w)
{
	tidy(w);
	if (w->controller->release)
		w->controller->release(w->memo);
	arena_release(&w->arena);
	w->engine->n_works--;
	free(w);
}

void work_free(struct work *w)
{
	map_remove(w->among, w->id);
	work_release(w);
}

static bool waits(const struct work *w)
{
	return w->queued.place || w->awaiting;
}

static void queue_now(struct work *w)
{
	struct engine *e = w->engine;
	uint64_t now = clock_mono(e->conf.clock);

	w->state = WORK_WAITING;
	queue_add(&e->queue, &w->queued, now);
	engine_arm(e, now);
}

void work_step(struct work *w)
{
	tidy(w);
	w->state = WORK_STEPPING;
	w->now = store_time(w->engine->conf.store);
	w->engine->steps++;
	w->controller->step(w);
	if (w->state != WORK_STEPPING)
		return;
	rest(w);
	if (!waits(w))
		work_free(w);
}

bool work_other_busy(const struct work *w, const struct controller *c,
		     const char *id)
{
	const struct work *other;
	size_t i = 0;

	while (controllers[i] != c)
		i++;
	other = map_get(&w->engine->works[i], id);
	return other && other->state != WORK_WAITING;
}

const char *work_installation(const struct work *w)
{
	return w->engine->conf.installation;
}

const char *work_id(const struct work *w)
{
	return w->id;
}

void *work_memo(struct work *w)
{
	return w->memo;
}

struct store *work_store(struct work *w)
{
	return w->engine->conf.store;
}

struct random *work_random(struct work *w)
{
	return w->engine->conf.random;
}

int64_t work_now(const struct work *w)
{
	return w->now;
}

int64_t work_behind(const struct work *w)
{
	int64_t wall = clock_wall(w->engine->conf.clock);

	return wall < w->now ? w->now - wall : 0;
}

int64_t work_even_since(const struct work *w)
{
	return store_even_since(w->engine->conf.store);
}

int64_t work_started(const struct work *w)
{
	return w->engine->started;
}

struct arena *work_arena(struct work *w)
{
	return &w->arena;
}

const void *work_get(struct work *w, const struct kind *k, const char *id)
{
	struct record r;

	return id && store_get(w->engine->conf.store, 0, k, id, &r) ? r.object
								    : NULL;
}

void *work_copy(struct work *w, const struct kind *k, const char *id)
{
	const void *object = work_get(w, k, id);
	struct copied *c = xcalloc(1, sizeof(*c));

	assert(object);
	c->object = field_copy(k->fields, k->size, object);
	c->next = w->copies;
	w->copies = c;
	return c->object;
}

struct site *work_site(struct work *w, const char *region_id)
{
	return regions_site(w->engine->regions, region_id);
}

const struct place *work_place(struct work *w, const char *region_id)
{
	struct site *s = work_site(w, region_id);

	/* The region's own work may not have heard of a change yet. */
	if (site_match(s, work_get(w, &region_kind, region_id)) == SITE_OPEN)
		return site_place(s);
	work_await(w, &region_kind, region_id);
	return NULL;
}

static int run_txn(struct tx *tx, void *ctx, struct err *err)
{
	struct work *w = ctx;

	tx_set_source(tx, w->controller->name);
	return w->txn_fn(tx, w->txn_ctx, err);
}

static void txn_done(struct txn *t, const struct err *err)
{
	struct work *w = t->ctx;

	w->state = WORK_WAITING;
	if (err && err->code != ERR_STALE) {
		work_fail(w, err);
		return;
	}
	w->failures = 0;
	queue_now(w);
}

void work_transact(struct work *w,
		   int (*fn)(struct tx *tx, void *ctx, struct err *err),
		   void *ctx)
{
	assert(w->state == WORK_STEPPING);
	w->state = WORK_WRITING;
	w->txn_fn = fn;
	w->txn_ctx = ctx;
	w->txn = (struct txn){.fn = run_txn, .done = txn_done, .ctx = w};
	store_transact(w->engine->conf.store, &w->txn);
}

/* What done() does is the work's next step, but that it looks at nothing. */
static void call_done(struct asking *a)
{
	struct work *w = CONTAINER_OF(a, struct work, asking);
	bool poked = w->poked;

	w->state = WORK_STEPPING;
	w->now = store_time(w->engine->conf.store);
	a->call->done(w, a->call);
	if (w->state == WORK_STEPPING) {
		rest(w);
		if (poked || !waits(w))
			queue_now(w);
	}
}

void work_poke(struct work *w)
{
	if (w->state == WORK_ASKING && site_withdraw(&w->asking)) {
		w->state = WORK_WAITING;
		/* One that was put by has begun, and may have done something
		 * after all: it ends as what it last came to. */
		if (w->asking.put_by) {
			w->poked = true;
			call_done(&w->asking);
			return;
		}
	}
	if (w->state == WORK_WAITING)
		queue_now(w);
	else
		w->poked = w->asking.stale = true;
}

void work_nudge(struct work *w)
{
	if (w->state == WORK_WAITING)
		queue_now(w);
	else
		w->poked = true;
}

static void call_moved(struct asking *a)
{
	work_poke(CONTAINER_OF(a, struct work, asking));
}

static void ask(struct work *w, struct site *s, struct call *c)
{
	assert(w->state == WORK_STEPPING);
	w->state = WORK_ASKING;
	w->poked = false;
	w->asking.call = c;
	w->asking.arena = &w->arena;
	w->asking.done = call_done;
	w->asking.moved = call_moved;
	site_ask(s, &w->asking);
}

void work_call(struct work *w, const char *region_id, struct call *c)
{
	assert(c->rank < CALL_RANKS);
	ask(w, work_site(w, region_id), c);
}

void work_open(struct work *w, struct site *s, struct opening *o)
{
	ask(w, s, &o->call);
}

void work_wait(struct work *w, int64_t until)
{
	struct engine *e = w->engine;
	uint64_t due = clock_mono(e->conf.clock);

	if (until > w->now)
		due += (uint64_t)(until - w->now);
	queue_add(&e->queue, &w->queued, due);
	engine_arm(e, due);
}

void work_await(struct work *w, const struct kind *k, const char *id)
{
	struct map *map = &w->engine->awaited[kind_index(k)];
	struct awaited *object = map_get(map, id);
	struct awaiting *a = xcalloc(1, sizeof(*a));

	engine_follow(w->engine, k);
	if (!object) {
		object = xcalloc(1, sizeof(*object));
		list_init(&object->waiters);
		object->among = map;
		assert(strlen(id) < sizeof(object->id));
		memcpy(object->id, id, strlen(id));
		map_add(map, object->id, object);
	}
	a->work = w;
	a->object = object;
	a->next = w->awaiting;
	w->awaiting = a;
	list_add(&object->waiters, &a->link);
}

void work_fail(struct work *w, const struct err *err)
{
	log_warn(w->controller->name, "%s: %s", w->id, err->msg);
	work_wait(w, w->now + retry_wait(++w->failures, work_random(w)));
}

#include "reconcile/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/region.h"
#include "reconcile/engine_priv.h"
#include "reconcile/looks.h"
#include "store/read.h"

/* Steps in one turn: the loop has other things to do. */
#define TURN_MOST 64

void engine_arm(struct engine *e, uint64_t mono_ms)
{
	if (mono_ms >= e->armed)
		return;
	e->armed = mono_ms;
	e->conf.wake(e->conf.ctx, mono_ms);
}

void engine_poke_waiters(struct engine *e, const struct kind *k, const char *id)
{
	struct map *map = &e->awaited[kind_index(k)];
	struct awaited *object = map_remove(map, id);
	struct list *l;

	if (!object)
		return;
	while ((l = list_pop(&object->waiters))) {
		struct awaiting *a = CONTAINER_OF(l, struct awaiting, link);

		a->object = NULL;
		work_poke(a->work);
	}
	free(object);
}

/* What has changed, or is there at the start, for those whose it is. */
static void look_at(struct engine *e, const struct kind *k, const char *id,
		    const void *object)
{
	for (size_t i = 0; controllers[i]; i++) {
		struct work *w;

		if (controllers[i]->kind != k)
			continue;
		w = map_get(&e->works[i], id);
		if (!w && object && controllers[i]->wants(object))
			w = work_new(e, i, id);
		if (w)
			work_poke(w);
	}
}

struct work *engine_work(struct engine *e, const struct controller *c,
			 const char *id)
{
	size_t i = 0;
	struct work *w;

	while (controllers[i] != c)
		i++;
	w = map_get(&e->works[i], id);
	return w ? w : work_new(e, i, id);
}

static void look_at_all(struct engine *e, const struct kind *k)
{
	struct scan scan = store_scan(e->conf.store, 0, k, NULL);
	struct awaited *object;
	struct record r;
	size_t effort = 0, i = 0;

	e->cursors[kind_index(k)] =
		(struct cursor){store_revision(e->conf.store), 0};
	while (scan_next(&scan, &r, &effort))
		look_at(e, k, r.id, r.object);
	/* Nobody knows who has missed what. */
	while ((object = map_next(&e->awaited[kind_index(k)], &i))) {
		engine_poke_waiters(e, k, object->id);
		i = 0;
	}
}

static void look_at_changes(struct engine *e, const struct kind *k)
{
	struct store *s = e->conf.store;
	struct cursor *c = &e->cursors[kind_index(k)];
	struct event event;
	bool gone = false;

	if (store_changed(s, k) <= c->revision) {
		*c = (struct cursor){store_revision(s), 0};
		return;
	}
	while (store_next(s, k, c, &event, &gone)) {
		look_at(e, k, event.now.id, event.now.object);
		engine_poke_waiters(e, k, event.now.id);
	}
	if (gone)
		look_at_all(e, k);
}

static void wake(struct watcher *w)
{
	struct engine *e = CONTAINER_OF(w, struct engine, watcher);

	for (size_t i = 0; kinds[i]; i++)
		if (e->follows[i])
			look_at_changes(e, kinds[i]);
}

void engine_follow(struct engine *e, const struct kind *k)
{
	size_t i = kind_index(k);

	if (e->follows[i])
		return;
	e->follows[i] = true;
	e->cursors[i] = (struct cursor){store_revision(e->conf.store), 0};
}

/* A provider has opened or closed: its region's own work, and those who want to
 * call it. */
static void place_changed(void *ctx, const char *region_id)
{
	struct engine *e = ctx;
	struct record r;
	bool there = store_get(e->conf.store, 0, &region_kind, region_id, &r);

	look_at(e, &region_kind, region_id, there ? r.object : NULL);
	engine_poke_waiters(e, &region_kind, region_id);
}

static void regions_wake(void *ctx, uint64_t mono_ms)
{
	engine_arm(ctx, mono_ms);
}

struct engine *engine_new(const struct engine_conf *conf)
{
	struct engine *e = xcalloc(1, sizeof(*e));
	struct regions_conf regions = {&e->conf, place_changed, regions_wake,
				       e};

	e->conf = *conf;
	e->armed = QUEUE_NEVER;
	list_init(&e->live);
	list_init(&e->looks);
	e->started = store_time(conf->store);
	e->regions = regions_new(&regions);
	for (size_t i = 0; controllers[i]; i++) {
		assert(i < CONTROLLERS_MOST);
		engine_follow(e, controllers[i]->kind);
		look_at_all(e, controllers[i]->kind);
	}
	e->watcher.wake = wake;
	store_watch(conf->store, &e->watcher);
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	store_unwatch(&e->watcher);
	regions_free(e->regions);
	live_release(e);
	looks_release(e);
	for (size_t i = 0; controllers[i]; i++) {
		struct work *w;
		size_t at = 0;

		while ((w = map_next(&e->works[i], &at)))
			work_release(w);
		map_release(&e->works[i]);
	}
	for (size_t i = 0; kinds[i]; i++)
		map_release(&e->awaited[i]);
	queue_release(&e->queue);
	free(e);
}

void engine_turn(struct engine *e)
{
	uint64_t now = clock_mono(e->conf.clock);
	struct queued *q;

	e->armed = QUEUE_NEVER;
	looks_hear(e);
	regions_turn(e->regions, now);
	for (int i = 0; i < TURN_MOST && (q = queue_pop(&e->queue, now)); i++)
		work_step(CONTAINER_OF(q, struct work, queued));
	if (e->queue.len)
		engine_arm(e, queue_next(&e->queue));
}

static size_t count_parked(const struct engine *e)
{
	size_t n = 0;

	for (size_t i = 0; controllers[i]; i++) {
		const struct work *w;
		size_t at = 0;

		while ((w = map_next(&e->works[i], &at)))
			n += w->state == WORK_WAITING && !w->queued.place;
	}
	return n;
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
	struct regions_stats regions;

	regions_stats(e->regions, &regions);
	*ret = (struct engine_stats){
		.works = e->n_works,
		.queued = e->queue.len,
		.parked = count_parked(e),
		.waiting = regions.waiting,
		.calling = regions.calling,
		.steps = e->steps,
	};
	memcpy(ret->calls, regions.calls, sizeof(ret->calls));
}

void engine_providers(const struct engine *e,
		      void (*visit)(void *ctx, const char *region,
				    const struct provider *p),
		      void *ctx)
{
	regions_visit(e->regions, visit, ctx);
}

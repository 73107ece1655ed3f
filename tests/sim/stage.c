#include "stage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "loop/pool.h"
#include "model/deletion.h"
#include "reconcile/cascade.h"
#include "reconcile/engine.h"
#include "reconcile/queue.h"
#include "store/read.h"

static int64_t wall(const struct clock *c)
{
	return ((const struct stage *)c)->wall;
}

static uint64_t mono(const struct clock *c)
{
	return ((const struct stage *)c)->mono;
}

void stage_init(struct stage *s, uint64_t seed)
{
	*s = (struct stage){
		.clock = {wall, mono}, .wall = 1700000000000, .mono = 1000};
	random_seed(&s->random, seed);
	list_init(&s->jobs);
	s->disk = disk_new();
	memcpy(s->folder, "/tmp/muster-stage-XXXXXX", 25);
	if (!mkdtemp(s->folder))
		abort();
	stage_boot(s);
}

static void run(void *ctx, struct job *j)
{
	list_init(&j->link);
	list_add(&((struct stage *)ctx)->jobs, &j->link);
}

static void wake(void *ctx, uint64_t mono_ms)
{
	((struct stage *)ctx)->wake = mono_ms;
}

void stage_boot(struct stage *s)
{
	struct store_conf store = {.clock = &s->clock,
				   .random = &s->random.base};
	struct engine_conf engine = {
		.clock = &s->clock,
		.random = &s->random.base,
		.folder = s->folder,
		.workers = s->workers,
		.run = run,
		.wake = wake,
		.ctx = s,
	};
	struct err err = {0};

	s->backend = memory_open(s->disk);
	if (store_open(&store, s->backend, &s->store, &err) < 0) {
		fprintf(stderr, "the store does not open: %s\n", err.msg);
		abort();
	}
	s->wake = QUEUE_NEVER;
	engine.store = s->store;
	engine.installation = store_installation(s->store);
	s->engine = engine_new(&engine);
	s->cascade = cascade_new(s->store);
}

void stage_crash(struct stage *s)
{
	if (!s->engine)
		return;
	list_init(&s->jobs);
	cascade_free(s->cascade);
	engine_free(s->engine);
	store_close(s->store);
	s->engine = NULL;
}

static void remove_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_type == DT_DIR)
			remove_folder(path);
		else
			unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

void stage_release(struct stage *s)
{
	stage_crash(s);
	disk_free(s->disk);
	remove_folder(s->folder);
}

/* A write of the test's own, which must succeed. */
struct writing {
	struct txn txn;
	const struct kind *kind;
	void *object;
	const char *id; /* to be deleted */
	bool done;
};

static int put(struct tx *tx, void *ctx, struct err *err)
{
	struct writing *w = ctx;
	const struct kind *k = w->kind;
	struct meta *new = w->object;
	const struct meta *old = tx_get(tx, k, new ? new->id : w->id);

	/* What has gone meanwhile stays so. */
	if (!old && (!new || new->created_at))
		return 0;
	if (!new) {
		new = arena_alloc(tx_arena(tx), k->size);
		memcpy(new, old, k->size);
		deletion_begin(k, new, tx_time(tx), "test");
		return tx_put(tx, k, new, err);
	}
	new->generation = old ? old->generation : 1;
	new->created_at = old ? old->created_at : tx_time(tx);
	if (old && field_changed(k->fields, old, new))
		new->generation++;
	if (!old || new->generation != old->generation)
		new->updated_at = tx_time(tx);
	return tx_put(tx, k, new, err);
}

static void written(struct txn *t, const struct err *err)
{
	((struct writing *)t->ctx)->done = true;
	if (!err)
		return;
	fprintf(stderr, "not written: %s\n", err->msg);
	abort();
}

static void do_write(struct stage *s, struct writing *w)
{
	w->txn = (struct txn){.fn = put, .done = written, .ctx = w};
	store_transact(s->store, &w->txn);
	while (!w->done)
		memory_answer(s->backend, MEMORY_WRITTEN);
}

void stage_put(struct stage *s, const struct kind *k, void *object)
{
	do_write(s, &(struct writing){.kind = k, .object = object});
}

void stage_delete(struct stage *s, const struct kind *k, const char *id)
{
	do_write(s, &(struct writing){.kind = k, .id = id});
}

const void *stage_get(struct stage *s, const struct kind *k, const char *id)
{
	struct record r;

	return store_get(s->store, 0, k, id, &r) ? r.object : NULL;
}

size_t stage_count(struct stage *s, const struct kind *k)
{
	struct scan scan = store_scan(s->store, 0, k, NULL);
	struct record r;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &r, &effort))
		n++;
	return n;
}

static struct job *take_job(struct stage *s)
{
	struct list *l = list_pop(&s->jobs);

	if (!l)
		return NULL;
	s->jobs_run++;
	return CONTAINER_OF(l, struct job, link);
}

bool stage_call(struct stage *s)
{
	struct job *j = take_job(s);

	if (!j)
		return false;
	j->run(j);
	j->done(j);
	return true;
}

bool stage_call_silently(struct stage *s)
{
	struct job *j = take_job(s);

	if (j)
		j->run(j);
	return j;
}

void stage_settle(struct stage *s)
{
	for (;;) {
		if (s->wake <= s->mono) {
			s->wake = QUEUE_NEVER;
			engine_turn(s->engine);
		} else if (memory_pending(s->backend)) {
			memory_answer(s->backend, MEMORY_WRITTEN);
		} else {
			return;
		}
	}
}

void stage_run(struct stage *s)
{
	do
		stage_settle(s);
	while (stage_call(s));
}

void stage_pass(struct stage *s, int64_t ms)
{
	uint64_t end = s->mono + (uint64_t)ms;

	stage_run(s);
	while (s->mono < end) {
		uint64_t next = s->wake < end ? s->wake : end;

		s->wall += (int64_t)(next - s->mono);
		s->mono = next;
		cascade_tick(s->cascade);
		stage_run(s);
	}
}

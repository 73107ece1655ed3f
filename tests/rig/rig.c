#include "rig/rig.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "rig/fault.h"
#include "rig/files.h"
#include "store/memory.h"
#include "store/sqlite.h"
#include "store/store_priv.h"

static int64_t rig_wall(const struct clock *c)
{
	return ((const struct rig_clock *)c)->now;
}

static uint64_t rig_mono(const struct clock *c)
{
	return (uint64_t)rig_wall(c);
}

static int open_memory(struct rig *r, struct backend **out, struct err *err)
{
	(void)err;
	if (!r->disk)
		r->disk = disk_new();
	*out = memory_open(r->disk);
	return 0;
}

static void settle_memory(struct rig *r)
{
	while (memory_pending(r->backend))
		memory_answer(r->backend,
			      r->full ? MEMORY_REFUSED : MEMORY_WRITTEN);
}

static void fill_memory(struct rig *r, bool full)
{
	r->full = full;
}

static int open_sqlite(struct rig *r, struct backend **out, struct err *err)
{
	fault_install();
	if (!r->loop) {
		r->loop = loop_new();
		files_new(r->dir);
	}
	return sqlite_open(r->dir, r->loop, out, err);
}

static void stop_when_idle(void *ctx)
{
	struct rig *r = ctx;

	if (!r->store->busy && !r->store->pending)
		loop_stop(r->loop);
}

static void settle_sqlite(struct rig *r)
{
	loop_add_hook(r->loop, stop_when_idle, r);
	loop_run(r->loop);
	loop_remove_hook(r->loop, stop_when_idle, r);
}

static void fill_sqlite(struct rig *r, bool full)
{
	(void)r;
	if (full)
		fault_set(FAULT_WRITE, 1, 1 << 30, SQLITE_FULL);
	else
		fault_clear();
}

static const struct rig_ops memory_ops = {
	.name = "memory",
	.shared = true,
	.open = open_memory,
	.settle = settle_memory,
	.fill = fill_memory,
};

static const struct rig_ops sqlite_ops = {
	.name = "sqlite",
	.open = open_sqlite,
	.settle = settle_sqlite,
	.fill = fill_sqlite,
};

const struct rig_ops *const rig_backends[] = {&memory_ops, &sqlite_ops, NULL};

void rig_init(struct rig *r, const struct rig_ops *ops)
{
	*r = (struct rig){.ops = ops};
	r->clock.base = (struct clock){rig_wall, rig_mono};
	r->clock.now = 1700000000000;
	random_seed(&r->random, 1);
	r->conf.clock = &r->clock.base;
	r->conf.random = &r->random.base;
	r->conf.kinds = shelves_kinds;
}

int rig_open(struct rig *r, struct err *err)
{
	if (r->ops->open(r, &r->backend, err) < 0)
		return -1;
	r->conf.clock = &r->clock.base;
	r->conf.random = &r->random.base;
	return store_open(&r->conf, r->backend, &r->store, err);
}

void rig_close(struct rig *r)
{
	store_close(r->store);
	r->store = NULL;
}

void rig_reopen(struct rig *r)
{
	struct err err;

	rig_close(r);
	if (rig_open(r, &err) == 0)
		return;
	printf("# %s does not open again: %s\n", r->ops->name, err.msg);
	abort();
}

void rig_release(struct rig *r)
{
	rig_close(r);
	if (r->disk)
		disk_free(r->disk);
	loop_free(r->loop);
	if (r->dir[0])
		files_remove(r->dir);
}

static int take_step(struct tx *tx, struct deed *d, struct deed_step *s,
		     struct err *err)
{
	const char *digest;
	struct record was;

	switch (s->type) {
	case DEED_PUT:
		return tx_put(tx, s->kind, &s->meta, err);
	case DEED_DELETE:
		return tx_delete(tx, s->kind, s->id, err);
	case DEED_FAIL:
		return err_set(err, ERR_QUOTA, "as it was told");
	case DEED_REMEMBER:
		tx_remember(tx, s->id, "digest", s->kind, s->meta.id);
		return 0;
	case DEED_RECALL:
		d->recalled = tx_recall(tx, s->id, &digest, &was);
		d->recalled_revision = d->recalled ? was.revision : 0;
		return 0;
	}
	return 0;
}

static int run(struct tx *tx, void *ctx, struct err *err)
{
	struct deed *d = ctx;

	d->runs++;
	d->at = tx_time(tx);
	for (size_t i = 0; i < d->n; i++)
		if (take_step(tx, d, &d->steps[i], err) < 0)
			return -1;
	return 0;
}

static void answered(struct txn *t, const struct err *err)
{
	struct deed *d = t->ctx;
	static unsigned order;

	d->answers++;
	d->order = ++order;
	d->err.code = ERR_NONE;
	if (err)
		d->err = *err;
}

static struct deed_step *next_step(struct deed *d, enum deed_type type)
{
	if (d->n == DEED_STEPS)
		abort();
	d->steps[d->n].type = type;
	return &d->steps[d->n++];
}

void deed_shelf(struct deed *d, const char *id, const char *name)
{
	struct deed_step *s = next_step(d, DEED_PUT);

	s->kind = &shelf_kind;
	s->shelf = shelf_of(id, name);
}

void deed_book(struct deed *d, const struct book *book)
{
	struct deed_step *s = next_step(d, DEED_PUT);

	s->kind = &book_kind;
	s->book = *book;
}

void deed_delete(struct deed *d, const struct kind *k, const char *id)
{
	struct deed_step *s = next_step(d, DEED_DELETE);

	s->kind = k;
	s->id = id;
}

void deed_fail(struct deed *d)
{
	next_step(d, DEED_FAIL);
}

void deed_remember(struct deed *d, const char *key, const char *id)
{
	struct deed_step *s = next_step(d, DEED_REMEMBER);

	s->kind = &shelf_kind;
	s->id = key;
	s->meta.id = id;
}

void deed_recall(struct deed *d, const char *key)
{
	next_step(d, DEED_RECALL)->id = key;
}

void deed_start(struct deed *d, struct store *s)
{
	d->txn = (struct txn){.fn = run, .done = answered, .ctx = d};
	store_transact(s, &d->txn);
}

enum err_code deed_do(struct deed *d, struct rig *r)
{
	deed_start(d, r->store);
	r->ops->settle(r);
	return d->err.code;
}

unsigned rig_seeds(unsigned many, unsigned percent)
{
	const char *text = getenv("SEEDS");
	unsigned long n = text ? strtoul(text, NULL, 10) * percent / 100 : many;

	return n ? (unsigned)n : 1;
}

/*
 * kept - a store in memory with what every installation has, for tests of what
 * reads it: one a program.
 */
#pragma once

#include <stdlib.h>

#include "identity/bootstrap.h"
#include "store/memory.h"
#include "store/read.h"
#include "test.h"

static struct {
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct random_seeded random;
	struct arena arena;
	struct err err; /* of the last kept_try() */
} kept;

typedef int kept_fn(struct tx *tx, void *ctx, struct err *err);

static void kept_settle(void)
{
	while (memory_pending(kept.backend))
		memory_answer(kept.backend, MEMORY_WRITTEN);
}

static void kept_done(struct txn *t, const struct err *err)
{
	(void)t;
	kept.err = err ? *err : (struct err){0};
}

/* Run FN as a transaction to its end; 0, or -1 and why in kept.err. */
static int kept_try(kept_fn *fn, void *ctx)
{
	struct txn t = {.fn = fn, .done = kept_done, .ctx = ctx};

	kept.err = (struct err){.code = ERR_INTERNAL};
	store_transact(kept.store, &t);
	kept_settle();
	return kept.err.code ? -1 : 0;
}

struct kept_put {
	const struct kind *kind;
	void *object;
};

static int kept_write(struct tx *tx, void *ctx, struct err *err)
{
	struct kept_put *p = ctx;

	return tx_put(tx, p->kind, p->object, err);
}

static void kept_put(const struct kind *k, void *object)
{
	int rc = kept_try(kept_write, &(struct kept_put){k, object});

	CHECK(rc == 0);
	if (rc < 0)
		printf("# %s\n", kept.err.msg);
}

static int kept_bootstrap(struct tx *tx, void *ctx, struct err *err)
{
	return bootstrap(tx, ctx, err);
}

/* With CONF's observer and clock, or the system's; what every installation has
 * is there with WHOLE. */
static void kept_open(struct store_conf conf, bool whole)
{
	struct err err = {0};

	random_seed(&kept.random, 1);
	conf.random = &kept.random.base;
	if (!conf.clock)
		conf.clock = &clock_system;
	arena_init(&kept.arena, (size_t)64 << 20);
	kept.disk = disk_new();
	kept.backend = memory_open(kept.disk);
	if (store_open(&conf, kept.backend, &kept.store, &err) < 0)
		abort();
	if (whole)
		CHECK(kept_try(kept_bootstrap, NULL) == 0);
}

static void kept_close(void)
{
	store_close(kept.store);
	disk_free(kept.disk);
	arena_release(&kept.arena);
}

static struct meta kept_meta(const char *id, const char *name)
{
	return (struct meta){.id = id,
			     .name = name,
			     .generation = 1,
			     .created_by = "test",
			     .updated_by = "test",
			     .created_at = 1,
			     .updated_at = 1};
}

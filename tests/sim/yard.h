/*
 * yard - the engine, a store in memory and a simulated cloud, in one thread on
 * a clock that is stepped.
 *
 * Calls to the cloud and commits of the store happen when the yard says so, and
 * a crash may come before, between and after them.  The cloud's truth is on
 * disk, as that of another machine would be: it survives.
 */
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "model/server.h"
#include "reconcile/engine.h"
#include "store/memory.h"
#include "store/read.h"

struct job;
struct provider;
struct region;
struct sim_cloud;

#define YARD_ORGANIZATION "11111111-1111-4111-8111-111111111111"
#define YARD_PROJECT      "22222222-2222-4222-8222-222222222222"
#define YARD_REGION       "33333333-3333-4333-8333-333333333333"
#define YARD_NETWORK      "44444444-4444-4444-8444-444444444444"
#define YARD_VOLUME       "55555555-5555-4555-8555-555555555555"

struct yard {
	struct clock clock; /* first */
	int64_t now;
	struct random_seeded random;
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct engine *engine;
	struct list jobs;
	uint64_t wake;
	char folder[32];
	uint64_t calls; /* that the cloud has had */
};

/* Everything made, the region open with OPTIONS (JSON or NULL). */
void yard_open(struct yard *y, const char *options);
void yard_close(struct yard *y);

/* Have the region's cloud behave otherwise from now on. */
void yard_options(struct yard *y, const char *options);

/* Do what can be done now; false when there is nothing. */
bool yard_step(struct yard *y);

/* Let everything happen for MS; time passes only when nothing else can. */
void yard_run(struct yard *y, int64_t ms);

/* The process dies and starts again: calls not run never happen. */
void yard_crash(struct yard *y);

/* A call to the cloud waits to be made. */
bool yard_calling(const struct yard *y);

/* Have the waiting call made; with its answer, or without. */
void yard_call(struct yard *y, bool answer);

/* A transaction, durable when this returns. */
void yard_transact(struct yard *y,
		   int (*fn)(struct tx *tx, void *ctx, struct err *err),
		   void *ctx);

/* As the API does it: an instance with its allocation and server. */
struct instance yard_spec(const struct yard *y, const char *name);
const char *yard_create(struct yard *y, const struct instance *i);

/* Change an instance, or begin its deletion, as the API does. */
void yard_change(struct yard *y, const char *id, void (*fn)(struct instance *i),
		 int action);
void yard_delete(struct yard *y, const char *id);

const struct instance *yard_instance(const struct yard *y, const char *id);
const struct server *yard_server(const struct yard *y, const char *id);
bool yard_told(const struct yard *y, const char *id, const char *reason);

/* The id of the sim's flavor or image of that name. */
const char *yard_id(const struct kind *k, const char *name);

/* What there really is, or NULL while the region is not open; its machines. */
struct sim_cloud *yard_cloud(struct yard *y);
size_t yard_machines(struct yard *y);

/* Have the cloud make a machine that carries the tag of instance ID's server. */
void yard_stray(struct yard *y, const char *id);

/* Have it make one that carries these tags; its id is the answer. */
const char *yard_launch(struct yard *y, const char *server,
			const char *installation);

/* Somebody else stops a machine, or starts it; false when they cannot. */
bool yard_power(struct yard *y, const char *machine, bool on);

/* Have the region's machines looked at that often. */
void yard_observe(struct yard *y, int64_t seconds);

/* Have orphans removed after so long, or only reported when it is 0. */
void yard_remove_orphans(struct yard *y, int64_t seconds);
const struct region *yard_region(const struct yard *y);

/* What the documents have: allocations, servers, … */
size_t yard_count(const struct yard *y, const struct kind *k);

/* The region's provider is open. */
bool yard_open_now(struct yard *y);

/* It, to be meddled with: another driver's table, for one; or NULL. */
struct provider *yard_provider(struct yard *y);

/* What happens to a machine without anybody asking; see sim_cloud.h.  False
 * when it cannot. */
bool yard_drift(struct yard *y, const char *machine, const char *what);

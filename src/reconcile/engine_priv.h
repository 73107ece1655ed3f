/* engine_priv - what the engine's own files share; others use controller.h. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "reconcile/controller.h"
#include "reconcile/engine.h"
#include "reconcile/queue.h"
#include "reconcile/regions.h"
#include "store/read.h"

enum { CONTROLLERS_MOST = 16 };

enum work_state {
	WORK_WAITING,  /* for a time, for others, or for its turn */
	WORK_STEPPING, /* its controller has it */
	WORK_ASKING,   /* a provider */
	WORK_WRITING,
};

/* One work's interest in another object. */
struct awaiting {
	struct list link; /* of the object's */
	struct awaiting *next;
	struct awaited *object; /* NULL: it has changed */
	struct work *work;
};

/* An object that somebody waits for. */
struct awaited {
	struct list waiters; /* of struct awaiting; never empty */
	struct map *among;
	char id[40];
};

/* A copy of an object, until the next step. */
struct copied {
	struct copied *next;
	void *object;
};

struct work {
	struct queued queued;
	struct engine *engine;
	const struct controller *controller;
	struct map *among; /* the controller's works */
	enum work_state state;
	bool poked; /* while its call was under way */
	int64_t now;
	int64_t failures; /* that are not written down */
	struct awaiting *awaiting;
	struct arena arena;
	struct copied *copies;
	struct asking asking;
	struct txn txn;
	void *txn_ctx;
	int (*txn_fn)(struct tx *tx, void *ctx, struct err *err);
	char id[40];
	_Alignas(16) char memo[];
};

struct engine {
	struct engine_conf conf;
	int64_t started;
	struct watcher watcher;
	struct map works[CONTROLLERS_MOST]; /* by id, one a controller */
	size_t n_works;
	struct map awaited[KINDS_MOST]; /* by id */
	bool follows[KINDS_MOST];
	struct cursor cursors[KINDS_MOST];
	struct queue queue;
	struct regions *regions;
	uint64_t armed; /* when the caller was told to come; QUEUE_NEVER */
	uint64_t steps;
	struct list live; /* of struct live */
	size_t n_live;
	struct list looks; /* of struct look: see looks.c */
	size_t n_looks;
};

void live_release(struct engine *e);

/* Every controller, ended by NULL. */
extern const struct controller *const controllers[];

/* Have engine_turn() called by then. */
void engine_arm(struct engine *e, uint64_t mono_ms);

/* From now on changes of kind K are looked at. */
void engine_follow(struct engine *e, const struct kind *k);

/* Step W, or have it stepped after what it is about. */
void work_poke(struct work *w);

/* The same, but that a call of it that waits keeps its place. */
void work_nudge(struct work *w);

/* Those who wait for that object. */
void engine_poke_waiters(struct engine *e, const struct kind *k,
			 const char *id);

/* The work of controller C for object ID, made if there is none. */
struct work *engine_work(struct engine *e, const struct controller *c,
			 const char *id);

struct work *work_new(struct engine *e, size_t controller, const char *id);
void work_free(struct work *w);
void work_release(struct work *w); /* the same, but that it stays in its map */
void work_step(struct work *w);

/* Controller C is calling or writing about object ID. */
bool work_other_busy(const struct work *w, const struct controller *c,
		     const char *id);
const char *work_installation(const struct work *w);

/* The provider of a region is opened by a call of its own. */
void work_open(struct work *w, struct site *s, struct opening *o);
struct site *work_site(struct work *w, const char *region_id);

/*
 * controller - what makes one kind of object so, and what it may do.
 *
 * A controller is a const table.  Its keys are the ids of one kind; a key that
 * is looked after is a struct work, made when the object changes, or is found
 * at the start, and wants something.  A work is stepped by one turn at a time,
 * once however often it was poked.
 *
 * A step looks at the store and ends by doing ONE thing: work_transact(),
 * work_call(), or waiting with work_wait() and work_await().  A step that does
 * none of these is done: the work and its memo are forgotten until the object
 * changes.  What was begun is followed by another step, which looks anew.
 * Nothing that matters may rest on a work: a crash forgets all of them.
 *
 * One thread, the engine's; only call.run happens on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/kind.h"
#include "provider/provider.h"

struct random;
struct record;
struct store;
struct tx;
struct work;

struct controller {
	const char *name; /* the source of its events */
	const struct kind *kind;
	size_t memo; /* bytes kept while there is a work, zeroed at first */

	/* Something is to be done about OBJECT, or may be by and by.  Asked of
	 * every object at the start and when one changes: cheap, and about
	 * nothing but the object.  A deleted one is never asked about. */
	bool (*wants)(const void *object);
	void (*step)(struct work *w);
	/* Free what the memo holds; may be NULL. */
	void (*release)(void *memo);
};

/* What is called first when a region cannot do everything at once. */
enum call_rank { CALL_DELETE, CALL_CREATE, CALL_OBSERVE, CALL_RANKS };

/* A call to a provider, alone or at the beginning of something larger; it lies,
 * with its inputs and results, in the work's arena. */
struct call {
	/* On a worker: may touch nothing but what hangs on C, and the arena,
	 * which is the work's.  Run again when the provider was too busy. */
	int (*run)(struct provider *p, struct call *c, struct arena *a,
		   struct err *err);
	/* On the engine's thread: the one thing to do next, as in a step, but
	 * that one that does nothing is followed by a step.  Not called when
	 * the call never began. */
	void (*done)(struct work *w, struct call *c);
	enum call_rank rank;
	struct err err; /* code ERR_NONE: it succeeded */
	int64_t began;  /* wall time */
};

/* What a region's provider was found to be. */
struct place {
	const struct provider *provider; /* for provider_can() */
	struct provider_facts facts;
};

const char *work_id(const struct work *w);
void *work_memo(struct work *w); /* of the controller's size */
struct store *work_store(struct work *w);
struct random *work_random(struct work *w);
int64_t work_now(const struct work *w);        /* store_time() of this step */
int64_t work_started(const struct work *w);    /* and when the engine began */
int64_t work_even_since(const struct work *w); /* store_even_since() */

/* How much the clock is behind work_now(): it was put back. */
int64_t work_behind(const struct work *w);

/* Memory until the next step begins: calls and transactions may use it. */
struct arena *work_arena(struct work *w);

/* The object as readers see it, during this step; NULL when it is gone. */
const void *work_get(struct work *w, const struct kind *k, const char *id);

/* The same of one that is there, with everything it points to, as long as the
 * arena's. */
void *work_copy(struct work *w, const struct kind *k, const char *id);

/* The region's provider when it is open; NULL otherwise: then the work is
 * awaiting the region, and the step returns. */
const struct place *work_place(struct work *w, const char *region_id);

/* Run FN over the store, then step again: at once when it is durable or failed
 * with ERR_STALE (what it rested on has changed), later when it failed
 * otherwise.  FN sees what is not durable yet, and may be run again.  CTX lives
 * in the work's arena. */
void work_transact(struct work *w,
		   int (*fn)(struct tx *tx, void *ctx, struct err *err),
		   void *ctx);

/* Have C made when the region's turn comes, if ever: a work that is poked while
 * its call has not begun is stepped instead. */
void work_call(struct work *w, const char *region_id, struct call *c);

/* Step again at UNTIL (wall time) at the latest. */
void work_wait(struct work *w, int64_t until);

/* Step again when that object changes or goes; a region also when its provider
 * opens.  May be said of several, and together with work_wait(). */
void work_await(struct work *w, const struct kind *k, const char *id);

/* Step again after a while that grows with each failure in a row that is not
 * written down; tells the log. */
void work_fail(struct work *w, const struct err *err);

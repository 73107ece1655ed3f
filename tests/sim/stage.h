/*
 * stage - the engine in one thread: the real controllers and the real store on
 * a disk in memory, the simulated cloud in a folder, a clock that is stepped.
 *
 * Nothing happens by itself.  Calls to providers are jobs that wait until they
 * are run, and then to be answered, so that a crash can come in between.
 */
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "model/kind.h"
#include "store/memory.h"
#include "store/store.h"

struct cascade;
struct engine;
struct job;

struct stage {
	struct clock clock; /* first: a clock is cast to its stage */
	int64_t wall;
	uint64_t mono;
	struct random_seeded random;
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct engine *engine; /* NULL: there is none just now */
	struct cascade *cascade;
	struct list jobs; /* of struct job, by link */
	uint64_t wake;
	unsigned workers; /* that the engine is told of at the next start */
	size_t jobs_run;
	char folder[40];
};

void stage_init(struct stage *s, uint64_t seed);
void stage_release(struct stage *s);

/* Start, on what is there. */
void stage_boot(struct stage *s);

/* Drop everything but the disk and the cloud. */
void stage_crash(struct stage *s);

/* Write an object as the API would: one that is there gets its next
 * generation, if what is wanted changes. */
void stage_put(struct stage *s, const struct kind *k, void *object);

/* Have its deletion begun. */
void stage_delete(struct stage *s, const struct kind *k, const char *id);

/* As readers see it; NULL when it is not there. */
const void *stage_get(struct stage *s, const struct kind *k, const char *id);
size_t stage_count(struct stage *s, const struct kind *k);

/* The next job is run, and answered; false when there is none. */
bool stage_call(struct stage *s);

/* The next job is run, but never answered: it is lost with the next crash. */
bool stage_call_silently(struct stage *s);

/* What can be done without a call and without time passing. */
void stage_settle(struct stage *s);

/* Everything that can be done without time passing, calls too. */
void stage_run(struct stage *s);

/* The same, and as time passes, for so long. */
void stage_pass(struct stage *s, int64_t ms);

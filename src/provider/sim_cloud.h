/*
 * sim_cloud - a cloud with a truth of its own: machines, networks, security
 * groups, images and volumes, and the rules by which they come and go.
 *
 * It knows nothing of Muster.  All that happens in it happens in a call, at the
 * time that the clock then says: what was due by then is done first.  Given the
 * same options, times and calls it does the same.
 *
 * With a journal its truth outlives the process: each change is in the file
 * before the call is answered.
 *
 * One thread at a time; it never waits.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "provider/sim_options.h"
#include "provider/sim_wire.h"

struct sim_cloud;

enum sim_call {
	SIM_OFFERS,
	SIM_LAUNCH, /* asked with a struct sim_machine */
	SIM_DESCRIBE,
	SIM_TERMINATE,
	SIM_LIST,
	SIM_STOP,
	SIM_START,
	SIM_REBOOT,
	SIM_RESIZE,
	SIM_REBUILD,
	SIM_GROW,
	SIM_SET_TAGS,
	SIM_SET_ACCESS,
	SIM_CONSOLE,
	SIM_OUTPUT,
	SIM_ENSURE, /* asked with a struct sim_thing */
	SIM_REMOVE,
	SIM_ATTACH,
	SIM_DETACH,
	SIM_THINGS,
	SIM_CALLS, /* how many there are; looped over */
};

/* A call's name and what goes in and out; the rest is asked with a struct
 * sim_act. */
struct sim_method {
	const char *name;
	const struct field *asks;
	size_t asks_size;
	const struct field *answers; /* NULL: nothing */
	size_t answers_size;
	int (*run)(struct sim_cloud *c, const void *ask, struct arena *a,
		   void *answer, struct err *err);
};

extern const struct sim_method sim_methods[SIM_CALLS];

/* FILE is the journal's name, or NULL.  ERR_UNAVAILABLE when another has it
 * open. */
int sim_cloud_open(const struct sim_options *options, const struct clock *clock,
		   const char *file, struct sim_cloud **out, struct err *err);
void sim_cloud_close(struct sim_cloud *c); /* NULL is fine */

/* What is asked is done, or refused.  What goes wrong by chance is part of
 * it. */
int sim_cloud_call(struct sim_cloud *c, enum sim_call call, const void *ask,
		   struct arena *a, void *answer, struct err *err) MUST_CHECK;

/* How long, in milliseconds, the answer to the last call is to be held back. */
uint64_t sim_cloud_wait(const struct sim_cloud *c);

const struct sim_options *sim_cloud_options(const struct sim_cloud *c);

/* Behave otherwise from now on. */
void sim_cloud_set_options(struct sim_cloud *c, const struct sim_options *o);

/* CHANGED is called, during calls and drifts, with each machine to which
 * something happens, where the options say so. */
void sim_cloud_listen(struct sim_cloud *c,
		      void (*changed)(void *ctx, const char *id), void *ctx);

/* Everything there is, as JSON: machines, those that are gone and known, things,
 * and how often it was called since it was opened. */
void sim_cloud_truth(struct sim_cloud *c, struct buf *out);

/* How many machines there are that are not gone. */
size_t sim_cloud_machines(struct sim_cloud *c);

/* What happens to a machine without being asked: "kill" (it is gone), "vanish"
 * (as if it had never been), "halt", "boot", "fail", "confuse" (a state that
 * nobody has heard of), "untag", "resize" (it is a sim.small, or if it was one
 * a sim.medium), "hang" (its guest is not up any more), "wake" (it is). */
int sim_cloud_drift(struct sim_cloud *c, const char *id, const char *what,
		    struct err *err) MUST_CHECK;

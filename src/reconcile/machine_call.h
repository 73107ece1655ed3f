/*
 * machine_call - a call to a provider about one machine: what it was made for,
 * its inputs, and what came of it.
 */
#pragma once

#include "provider/calls.h"
#include "reconcile/controller.h"
#include "reconcile/machine_plan.h"

/* Machines that one search tells apart; more are as bad. */
enum { MACHINE_FOUND_MOST = 16 };

struct machine_call {
	struct call call; /* first: cast from struct call */
	enum machine_do what;
	bool hard;

	/* What it was made for: its answer is of no other. */
	const char *instance, *uid, *server;
	int64_t attempt, generation;

	/* Ours, as they are written down when it succeeded. */
	const char *flavor_id, *image_id, *volume_id, *tags_digest;
	struct items group_ids, sources;
	const char *host_key_seed;
	int64_t disk; /* which root disk it gets */

	/* The provider's. */
	const char *machine, *flavor, *volume;
	int64_t gib;
	struct machine_spec spec;

	struct machine found[MACHINE_FOUND_MOST];
	size_t n_found; /* may be more than are kept */
	bool listed;    /* describing: it was seen in a list of all */
	const char *device;
};

/* Run one: the call's run(). */
int machine_run(struct provider *p, struct call *c, struct arena *a,
		struct err *err);

/* Make the call that STEP says, in the work's arena.  ERR says why what it
 * needs cannot be put together. */
int machine_call_make(struct work *w, const struct machine_view *v,
		      const struct machine_step *step,
		      struct machine_call **ret, struct err *err) MUST_CHECK;

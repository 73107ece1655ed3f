/*
 * change - what has to be done to a machine to make it as it is wanted.
 *
 * Most of it is done while it runs: the controller sees that what is wanted and
 * what the provider was told differ, and tells it.  The rest is a change: it
 * restarts the machine or destroys something, so its owner must have said that
 * this is meant.  The API asks change_decide() what an update comes to, and
 * writes the change with the spec; controllers do what it says and nothing
 * else, and take it away when it is done.
 *
 * One that was never at the provider has nothing to lose: its change is written
 * all the same, so that the try under way is given up, and needs nobody's word.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"

struct flavor;
struct instance;
struct region;

enum change_action {
	CHANGE_REBOOT = 1,  /* asking the guest */
	CHANGE_HARD_REBOOT, /* not asking it */
	CHANGE_RESIZE,      /* another flavor, in place */
	CHANGE_REBUILD,     /* another root disk, in place */
	CHANGE_REPLACE,     /* another machine */
};

enum change_step {
	CHANGE_WAITING = 1,
	CHANGE_STOPPING,
	CHANGE_CHANGING,
	CHANGE_REMOVING, /* the machine that was */
	CHANGE_STARTING,
};

/* What the caller must have allowed; each includes those before it. */
enum change_need {
	CHANGE_NEEDS_NOTHING = 1,
	CHANGE_NEEDS_RESTART,
	CHANGE_NEEDS_REBUILD, /* something is lost */
};

struct change {
	int action; /* enum change_action; 0: there is none */
	int step;
	int64_t since;
	struct items loses; /* of const char *: "rootDisk", "publicIp", … */
};

extern const char *const change_action_names[];
extern const char *const change_step_names[];
extern const char *const change_need_names[];
extern const struct field change_fields[];

/* What is asked about: an instance as it was and as it is wanted. */
struct change_case {
	const struct instance *old, *new;
	const struct flavor *flavor; /* that it has; NULL: not known */
	const struct region *region;
};

struct change_plan {
	int action;          /* enum change_action; 0: while it runs */
	int need;            /* enum change_need */
	struct items fields; /* of const char *: pointers of what differs */
	struct items loses;  /* of const char * */
};

/* What making NEW of OLD comes to; the plan's lists are in A.  ERR names the
 * field that this region cannot change: ERR_INVALID or ERR_UNSUPPORTED. */
int change_decide(const struct change_case *c, struct arena *a,
		  struct change_plan *ret, struct err *err) MUST_CHECK;

/* What ACTION, asked for by a verb, comes to. */
void change_verb(const struct change_case *c, int action, struct arena *a,
		 struct change_plan *ret);

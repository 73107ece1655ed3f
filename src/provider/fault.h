/*
 * fault - what is to go wrong with calls to a provider, by a list of rules.
 *
 * For rehearsals and tests; it is the front that asks, so that a driver knows
 * nothing of it.  A rule takes the calls that it names: those after the first
 * few, at most so many, and of these by chance when it has one.  The first rule
 * that takes a call decides.  What chance decides follows from a seed and the
 * order of the calls.
 *
 * May be used from several threads at a time.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/field.h"

enum fault_action {
	FAULT_FAIL = 1,  /* the provider is not called */
	FAULT_LOSE,      /* it is, and its answer is lost */
	FAULT_DELAY,     /* it is, later */
	FAULT_DUPLICATE, /* it is, twice; the second answer counts */
};

struct fault {
	const char *call; /* "launch"; NULL: every one */
	int action;       /* enum fault_action */
	int64_t after;    /* how many calls pass first */
	int64_t times;    /* how many are taken; FIELD_NONE: all */
	int64_t rate;     /* of a thousand of these */
	int64_t ms;       /* how long a delay is */
	const char *code; /* what a failure is: "unavailable" */
};

/* The table of a rule, for options of drivers. */
extern const struct field fault_fields[];

struct faults;

/* The rules must live as long as it. */
struct faults *faults_new(const struct items *rules, int64_t seed);
void faults_free(struct faults *f); /* NULL is fine */

/* Which rule takes this call; NULL: none. */
const struct fault *faults_take(struct faults *f, const char *call);

/* Fill ERR as the rule says that a call fails. */
int fault_err(const struct fault *f, struct err *err);

/*
 * machine_record - writes down what became of an instance and its machine.
 *
 * One transaction: it reads both anew, sees that they are still what a call was
 * made for, applies what came of it and then everything that the planner wants
 * written down, until the next thing is a call or rest.
 *
 * What happened is told as events of the instance, with these reasons:
 * launched, running, starting, stopping, stopped, rebooted, retrying, parked,
 * adopted, consistency, expired, slowTermination, terminated, changeStep,
 * changeDone, changeDropped, ready, unready; and for what was asked for and not to be had
 * "offeringRefused" for what the spec says and "offeringRefused1",
 * "offeringRefused2", … for its alternatives, in their order, each with why.
 */
#pragma once

#include "reconcile/machine_call.h"
#include "reconcile/machine_view.h"

struct random;
struct tx;

struct machine_record {
	const char *instance;
	struct machine_known known;
	struct random *random;
	const struct machine_call *call; /* NULL: there was none */
};

/* CTX is a struct machine_record. */
int machine_record(struct tx *tx, void *ctx, struct err *err);

/* Looking at a machine told nothing new: there is nothing to write down. */
bool machine_unchanged(const struct machine_view *v,
		       const struct machine_call *c);

/* It is there and as it was; when it is recorded nothing else is written but
 * that it was seen. */
bool machine_same(const struct machine_view *v, const struct machine_call *c);

/* Of a machine that is in STATE, M tells of its guest what is written. */
bool machine_ready_same(const struct readiness *was, int state,
			const struct machine *m);

/* The instance's machine was seen at SEEN, or when its server says, and could
 * not be since: it is not known any more how it is.  That is for readers; what
 * the server was last seen to be is what controllers go by. */
int machine_write_stale(struct tx *tx, const char *instance, int64_t seen,
			struct err *err) MUST_CHECK;

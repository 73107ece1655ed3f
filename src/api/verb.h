/*
 * verb - what is asked of one object besides reading and changing it: its body,
 * its permission, its key, its plan and its trail, the same for all.
 *
 * The verb itself is a transaction function that begins with verb_begin() and
 * ends with verb_done().
 */
#pragma once

#include "api/call.h"

struct tx;

/* Read the body by the route's shape into c->object, and run FN as a change;
 * the answer is the call's object, unless FN says otherwise. */
void verb_run(struct call *c,
	      int (*fn)(struct tx *tx, void *ctx, struct err *err));

/* The call's object, which is there, may be done this to and is not being
 * deleted, in RET; NULL there when the request was answered before: FN then
 * returns 0. */
int verb_begin(struct call *c, struct tx *tx, const void **ret,
	       struct err *err) MUST_CHECK;

/* What was done is told to the audit trail and kept under the call's key. */
void verb_done(struct call *c, struct tx *tx);

/* Answer with ANSWER, a struct of the shape's own, instead of the object. */
void verb_answer(struct call *c, const void *answer);

/*
 * verb - what is asked of one object besides reading and changing it: its
 * permission, its key, its plan and its trail, the same for all.
 *
 * The verb itself is a transaction function that begins with verb_begin() and
 * ends with verb_done().
 */
#pragma once

#include "api/call.h"

struct tx;

/* Run FN as a change; the answer is the call's object, with 202, unless FN says
 * otherwise. */
void verb_run(struct call *c,
	      int (*fn)(struct tx *tx, void *ctx, struct err *err));

/* The call's object, which is there, may be done this to and is not being
 * deleted, in RET; NULL there when the request was answered before: FN then
 * returns 0. */
int verb_begin(struct call *c, struct tx *tx, const void **ret,
	       struct err *err) MUST_CHECK;

/* What was done is told to the audit trail and kept under the call's key. */
void verb_done(struct call *c, struct tx *tx);

/* Answer with ANSWER, a struct of the route's `answers`, instead of the object. */
void verb_answer(struct call *c, const void *answer);

/* Answer with the plan to do ACTION, instead: the change is to be taken back,
 * so this returns -1.  It went through every check. */
int call_plan(struct call *c, const char *action, const void *object);

/* Create an object of kind K from the one that the call names, as by a POST of
 * its own: MAKE fills OBJECT, zeroed but for what all nouns have in common, and
 * asks for permission; the call's `of` is what it is made of. */
void call_create(struct call *c, const struct kind *k,
		 int (*make)(struct call *c, struct tx *tx, void *object,
			     struct err *err));

/* The body, read by the route's table into OUT, which is zeroed; without one
 * it is as if it were empty. */
int call_body(struct call *c, void *out, struct err *err) MUST_CHECK;

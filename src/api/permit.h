/*
 * permit - whether this call may: the one place that asks.
 *
 * What the caller may not read is not there for it: the answer is the same as
 * for what does not exist.  What it may read but not do is forbidden.
 */
#pragma once

#include "api/call.h"

/* The caller may read OBJECT. */
bool permit_sees(const struct call *c, const struct kind *k,
		 const void *object);

/* What the caller is shown of R, which it may read: its JSON as it is, or in ROOM
 * without what is the platform's to know. */
void permit_show(const struct call *c, struct record *r, struct buf *room);

/* What the caller's objects may refer to, as the store's question in a
 * transaction: what it may read, and its own organization, project and regions,
 * which follow from what it names.  CTX is the call. */
bool permit_view(void *ctx, const struct kind *k, const void *object);

/* The caller may do VERB to OBJECT, of the call's noun; OBJECT may be NULL,
 * which is not found. */
int permit(struct call *c, enum verb verb, const void *object,
	   struct err *err) MUST_CHECK;

/* The caller may create OBJECT where it is to be. */
int permit_create(struct call *c, const void *object,
		  struct err *err) MUST_CHECK;

/* The caller may do VERB to the call's noun somewhere. */
int permit_anywhere(struct call *c, enum verb verb, struct err *err) MUST_CHECK;

/* The caller may do VERB to objects of K that are O's. */
int permit_noun(struct call *c, const struct kind *k, enum verb verb,
		struct owner o, struct err *err) MUST_CHECK;

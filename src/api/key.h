/*
 * key - requests that may be sent again: an Idempotency-Key stands for what was
 * answered the first time.
 */
#pragma once

#include "api/call.h"

struct tx;

/* The key that the call brings, if any. */
int key_read(struct call *c, struct err *err) MUST_CHECK;

/* Whether the request was answered before: then that is answered again, and
 * the transaction has nothing more to do. */
int key_replay(struct call *c, struct tx *tx, bool *ret_found,
	       struct err *err) MUST_CHECK;

/* This transaction's answer is object ID of kind K. */
void key_remember(struct call *c, struct tx *tx, const struct kind *k,
		  const char *id);

/* charge - what an object uses, counted with the object; see identity/quota.h. */
#pragma once

#include "api/call.h"
#include "model/quota.h"

struct tx;

/* OBJECT, of kind K, uses the N AMOUNTS and nothing else from now on; what it
 * used before is given back.  ERR_QUOTA when that is more than is allowed. */
int charge(struct call *c, struct tx *tx, const struct kind *k,
	   const void *object, const struct items *amounts,
	   struct err *err) MUST_CHECK;

/* The same for one amount. */
int charge_one(struct call *c, struct tx *tx, const struct kind *k,
	       const void *object, struct quota_amount amount,
	       struct err *err) MUST_CHECK;

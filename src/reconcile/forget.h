/*
 * forget - the end of a deletion: the document goes, and with it, in the same
 * transaction, what it was charged.
 */
#pragma once

#include "base/err.h"
#include "model/kind.h"

struct tx;

int forget(struct tx *tx, const struct kind *k, const char *id,
	   struct err *err) MUST_CHECK;

/* protect - what is in something keeps it from being deleted. */
#pragma once

#include "api/call.h"

struct instance;

/* The remove() of what takes instances along when it is deleted: refused while
 * one of them is protected, or a region is kept for the organization. */
int protect_container(struct call *c, struct tx *tx, const void *old,
		      struct err *err);

/* NEW may be protected from now on, as OLD was not: nothing that it goes with
 * is being deleted already. */
int protect_begin(struct tx *tx, const struct instance *old,
		  const struct instance *new, struct err *err);

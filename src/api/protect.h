/* protect - what is in something keeps it from being deleted. */
#pragma once

#include "api/call.h"

/* The remove() of what takes instances along when it is deleted: refused while
 * one of them is protected, or a region is kept for the organization. */
int protect_container(struct call *c, struct tx *tx, const void *old,
		      struct err *err);

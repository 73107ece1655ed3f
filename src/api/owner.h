/*
 * owner - whose something new is: it follows from the project or network that
 * it names, and never from what the caller says of it.
 *
 * What the caller does not see is not there; what it sees and may not add to is
 * forbidden.
 */
#pragma once

#include "api/call.h"

struct network;
struct tx;

/* Something of the call's noun may be created in project ID, whose
 * organization is in RET. */
int owner_project(struct call *c, struct tx *tx, const char *id,
		  const char **ret, struct err *err) MUST_CHECK;

/* The same in network ID, which is in RET. */
int owner_network(struct call *c, struct tx *tx, const char *id,
		  const struct network **ret, struct err *err) MUST_CHECK;

/* bootstrap - what every installation has: the built-in roles, and at first
 * an administrator. */
#pragma once

#include "base/err.h"

struct tx;

/* Bring the built-in roles up to date and, with SECRET, make the platform
 * administrator's service account, group and token. */
int bootstrap(struct tx *tx, const char *secret, struct err *err);

/* first - what a newcomer needs: a token, and what to do with it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct config;
struct loop;
struct store;

/* When there is no token yet, make the platform administrator's: into
 * admin.token in the data folder (mode 0600), and hashed into the store.  When
 * there is no region yet, make those that CONF wants to begin with: of this
 * host's machines, when it can run some, and with a simulated cloud.  Runs the
 * loop until that is durable. */
int first_start(struct store *s, struct loop *l, const struct config *conf,
		struct err *err) MUST_CHECK;

/* On a terminal: how to go on from here, with the regions that there are. */
void first_steps(const struct store *s, const struct config *conf,
		 const char *scheme, const char *address);

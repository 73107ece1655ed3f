/* first - what a newcomer needs: a token, and what to do with it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct config;
struct loop;
struct store;

/* When there is no token yet, make the platform administrator's: into
 * DATA/admin.token (mode 0600), and hashed into the store.  With REHEARSE, and
 * when there is no region yet, make one with a simulated cloud in it.  Runs the
 * loop until that is durable. */
int first_start(struct store *s, struct loop *l, const char *data,
		bool rehearse, struct err *err) MUST_CHECK;

/* On a terminal: how to go on from here. */
void first_steps(const struct config *conf, const char *scheme,
		 const char *address);

/* first - what a newcomer needs: a token, and what to do with it. */
#pragma once

#include "base/err.h"

struct loop;
struct store;

/* When there is no token yet, make the platform administrator's: into
 * DATA/admin.token (mode 0600), and hashed into the store.  Runs the loop
 * until that is durable. */
int first_start(struct store *s, struct loop *l, const char *data,
		struct err *err) MUST_CHECK;

/* On a terminal: how to go on from here. */
void first_steps(const char *data, const char *scheme, const char *address);

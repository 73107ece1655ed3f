/* shrink - a history that breaks a rule, made short. */
#pragma once

#include <stdbool.h>

#include "tape.h"

/* Leave out of T what BROKEN does not need: chunks, then single acts, then make
 * numbers small.  BROKEN plays it and says whether a rule is still broken; it is
 * called at most TRIES times.  How often it was is the answer. */
unsigned shrink(struct tape *t, bool (*broken)(const struct tape *t, void *ctx),
		void *ctx, unsigned tries);

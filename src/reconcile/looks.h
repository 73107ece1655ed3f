/* looks - who waits for a look at a machine, and who says that one is worth
 * it. */
#pragma once

#include "base/err.h"

struct engine;
struct work;

/* Nobody waits any more. */
void looks_release(struct engine *e);

/* Have looked at what providers say has changed. */
void looks_hear(struct engine *e);

/* Those who wait for a look at the work's instance are told that it was made
 * and is written down, or why it was not. */
void work_looked(struct work *w, const struct err *err);

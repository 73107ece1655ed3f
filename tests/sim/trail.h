/* trail - the audit trail held against what was answered. */
#pragma once

#include "world.h"

/* A was answered just now: what the disk must say of it already. */
void trail_answer(struct ask *a);

/* The trail as a whole; when STILL, nothing is on its way any more. */
void trail_check(struct world *w, bool still);

/* machine - the controller of instances and the machines behind them. */
#pragma once

#include "reconcile/controller.h"

extern const struct controller machine_controller;

/* Have work W, of that controller, look at its machine by a call that began at
 * SINCE or later; work_looked() follows. */
void machine_look(struct work *w, int64_t since);

/* Its provider says that something has happened to the machine. */
void machine_notice(struct work *w);

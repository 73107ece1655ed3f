/* knock - whether there is anybody behind a port that is published. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

/* A published port takes connections as soon as the machine runs, and drops them
 * until something in the guest listens.  Wait for that, at most MOST_MS; false
 * when that was not enough.  What is otherwise wrong is for whoever connects next
 * to tell. */
bool knock(const struct clock *clock, const char *address, int64_t port,
	   uint64_t most_ms);

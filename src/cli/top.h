/*
 * top - the machines of a project, or of all that one sees, as they are now.
 *
 * Held from watches of instances and events; drawn again when something came
 * and, for the ages, every second.
 */
#pragma once

#include "cli/cli.h"

extern const struct command_option top_options[];

int top_run(struct cli *c, int argc, char **argv);

/* One machine, as a line. */
struct top_row {
	char *id, *name, *state, *address, *change, *reason;
	int64_t created_at;
	unsigned turn; /* of the watch in which it was last told */
};

/* What needs somebody comes before what is under way, and that before the
 * rest; then by name.  For qsort() of struct top_row *. */
int top_compare(const void *a, const void *b);

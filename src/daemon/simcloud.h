/* simcloud - `muster simcloud`: the simulated cloud as a process of its own,
 * which outlives the servers that use it. */
#pragma once

#include "cli/cli.h"

extern const struct command_option simcloud_options[];
extern const struct command_example simcloud_examples[];

int run_simcloud(struct cli *c, int argc, char **argv);

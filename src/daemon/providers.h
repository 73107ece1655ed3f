/* providers - `muster provider`: the drivers there are, and whether one keeps
 * to the contract. */
#pragma once

#include "cli/command.h"

extern const struct command provider_commands[];

/* commands - the server's own commands: serve, backup, restore. */
#pragma once

#include "cli/command.h"

extern const struct command daemon_commands[];

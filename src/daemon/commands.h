/* commands - the server's part of the command line. */
#pragma once

#include "cli/command.h"

extern const struct command daemon_commands[];

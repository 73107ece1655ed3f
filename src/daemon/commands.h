/* commands - the server's own commands: serve, backup, restore and more */
#pragma once

#include "cli/cli.h"

extern const struct command daemon_commands[];
extern const struct command audit_commands[];
extern const struct command secrets_commands[];

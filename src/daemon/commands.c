#include "daemon/commands.h"

const struct command daemon_commands[] = {
	{0},
};

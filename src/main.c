/* muster - one program: the server's commands and the client's. */
#include "cli/cli.h"
#include "daemon/commands.h"

int main(int argc, char **argv)
{
	static const struct command *const tables[] = {
		cli_commands,
		daemon_commands,
		NULL,
	};

	return cli_main(tables, argc, argv);
}

/* muster - one program: the server's commands and the client's. */
#include "cli/cli.h"
#include "daemon/commands.h"

/* Read by jemalloc before main(): threads, of which there may be as many as
 * providers are asked things at once, share what is kept by few of them. */
extern const char *const malloc_conf;
const char *const malloc_conf = "narenas:4";

int main(int argc, char **argv)
{
	static const struct command *const tables[] = {
		cli_commands,
		daemon_commands,
		NULL,
	};

	return cli_main(tables, argc, argv);
}

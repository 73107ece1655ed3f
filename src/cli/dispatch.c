/* From the words typed to the command that is meant. */
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/page.h"

static const struct command_option root_options[] = {
	{"version", .doc = "Print the client's version."},
	{0},
};

static int show_help(struct cli *c, const struct page *p)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	if (p)
		help_page(c, p, &b);
	else
		help_overview(c, &b);
	cli_print(c, &b);
	return EXIT_OK;
}

/* Read the options before the next word; its index, or -1 when they are
 * wrong. */
static int read_head(struct cli *c, int argc, char **argv, bool *ret_help,
		     bool *ret_version, struct failure *p)
{
	const struct command_option *const tables[] = {root_options,
						       cli_options, NULL};
	struct args args;
	int next;

	p->usage = true;
	next = args_parse_head(tables, argc, argv, &c->arena, &args, &p->err);
	if (next < 0 || cli_take(c, &args, p) < 0)
		return -1;
	*ret_help = args_has(&args, "help");
	*ret_version = args_has(&args, "version");
	return next;
}

static int run_page(struct cli *c, struct page *p, int argc, char **argv)
{
	bool help = false, version = false;

	while (p->command->children) {
		struct failure failure = {.usage = true};
		int next = read_head(c, argc, argv, &help, &version, &failure);

		c->path = p->path;
		if (next < 0)
			return cli_fail(c, &failure, NULL, NULL);
		if (help)
			return show_help(c, p);
		if (next == argc)
			return cli_usage(c,
					 "'muster %s' needs a command after "
					 "it",
					 p->path);
		if (!page_find_child(c, p, argv[next], p)) {
			page_unknown(c, p, argv[next], &failure);
			return cli_fail(c, &failure, NULL, NULL);
		}
		argc -= next;
		argv += next;
	}
	c->path = p->path;
	c->command = p->command;
	c->kind = p->kind;
	/* Another program's --help comes behind what is ours. */
	if (args_want_help(p->command->passes_on && argc > 3 ? 3 : argc, argv))
		return show_help(c, p);
	return p->command->run(c, argc, argv);
}

int cli_run(struct cli *c, int argc, char **argv)
{
	struct failure failure = {.usage = true};
	bool help = false, version = false;
	struct page p;
	int next = read_head(c, argc, argv, &help, &version, &failure);

	c->argc = argc;
	c->argv = argv;
	if (next < 0)
		return cli_fail(c, &failure, NULL, NULL);
	if (version) {
		fprintf(c->out, "muster %s\n", MUSTER_VERSION);
		return EXIT_OK;
	}
	if (help && next == argc)
		return show_help(c, NULL);
	if (next == argc) {
		show_help(c, NULL);
		return EXIT_USAGE;
	}
	if (!page_find(c, argv[next], &p)) {
		page_unknown(c, NULL, argv[next], &failure);
		return cli_fail(c, &failure, NULL, NULL);
	}
	if (help)
		return show_help(c, &p);
	return run_page(c, &p, argc - next, argv + next);
}

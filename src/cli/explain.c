/* help, man and completion: the commands that explain the others. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/session.h"
#include "model/kind.h"

#define TEXT_MOST ((size_t)16 << 20)

const struct command_option man_options[] = {
	{"all", .argument = "DIR",
	 .doc = "Write every page into this directory."},
	{0},
};

/* The page that WORDS lead to. */
static int find(struct cli *c, const struct args *args, struct page *ret,
		struct failure *p)
{
	if (!page_find(c, args->words[0], ret))
		return page_unknown(c, NULL, args->words[0], p);
	for (size_t i = 1; i < args->n_words; i++)
		if (!page_find_child(c, ret, args->words[i], ret))
			return page_unknown(c, ret, args->words[i], p);
	return 0;
}

int session_help(struct cli *c, int argc, char **argv)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct failure p = {0};
	struct args args;
	struct page page;

	if (cli_parse(c, NULL, argc, argv, &args) < 0)
		return EXIT_USAGE;
	if (!args.n_words) {
		help_overview(c, &b);
	} else if (find(c, &args, &page, &p) < 0) {
		c->path = NULL;
		return cli_fail(c, &p, NULL, NULL);
	} else {
		help_page(c, &page, &b);
	}
	cli_print(c, &b);
	return EXIT_OK;
}

static int write_page(struct cli *c, const char *dir, const struct page *page,
		      struct failure *p)
{
	const char *path =
		arena_printf(&c->arena, "%s/muster%s%s.1", dir, page ? "-" : "",
			     page ? page->path : "");
	struct buf b = BUF_INIT(TEXT_MOST);
	FILE *f = fopen(path, "we");
	int rc = 0;

	man_page(c, page, &b);
	if (!f || fwrite(buf_str(&b), 1, b.len, f) != b.len)
		rc = -1;
	if (f && fclose(f) != 0)
		rc = -1;
	buf_release(&b);
	return rc < 0 ? err_set(&p->err, ERR_INVALID, "%s: %s", path,
				strerror(errno))
		      : 0;
}

static int write_all(struct cli *c, const char *dir)
{
	struct failure p = {0};
	struct page page;
	size_t i = 0;

	if (write_page(c, dir, NULL, &p) < 0)
		return cli_fail(c, &p, "write manual pages", NULL);
	while (page_next(c, &i, &page))
		if (write_page(c, dir, &page, &p) < 0)
			return cli_fail(c, &p, "write manual pages", NULL);
	return EXIT_OK;
}

int session_man(struct cli *c, int argc, char **argv)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct failure p = {0};
	struct args args;
	struct page page;

	if (cli_parse(c, man_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 1) < 0)
		return EXIT_USAGE;
	if (args_has(&args, "all"))
		return write_all(c, args_value(&args, "all"));
	if (args.n_words && find(c, &args, &page, &p) < 0) {
		c->path = NULL;
		return cli_fail(c, &p, NULL, NULL);
	}
	man_page(c, args.n_words ? &page : NULL, &b);
	cli_print(c, &b);
	return EXIT_OK;
}

int session_completion(struct cli *c, int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*write)(struct cli *c, struct buf *out);
	} shells[] = {
		{"bash", completion_bash},
		{"zsh", completion_zsh},
		{"fish", completion_fish},
	};
	struct buf b = BUF_INIT(TEXT_MOST);
	struct args args;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 1, 1) < 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		if (strcmp(shells[i].shell, args.words[0]) != 0)
			continue;
		shells[i].write(c, &b);
		cli_print(c, &b);
		return EXIT_OK;
	}
	return cli_usage(c,
			 "no completion for '%s': it is one of bash, zsh, "
			 "fish",
			 args.words[0]);
}

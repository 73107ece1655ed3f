#include "cli/help.h"

#include <stdlib.h>

#include "cli/flags.h"
#include "test.h"

static int run_other(struct cli *c, int argc, char **argv)
{
	fprintf(c->out, "%s with %d\n", argv[0], argc - 1);
	return 42;
}

static const struct command_option other_options[] = {
	{"depth", 'd', .argument = "N", .doc = "How deep."},
	{0},
};

/* Another room's table. */
static const struct command others[] = {
	{"other", "Do something else", "WHAT", "It's .dangerous.\n\n.Really.",
	 NULL, other_options, .run = run_other},
	{0},
};
static const struct command *const tables[] = {cli_commands, others, NULL};

static struct cli cli;
static char *text;
static size_t text_len;

/* Run the command line; what it printed is in text. */
static int run(int argc, char **argv)
{
	int rc;

	free(text);
	cli_init(&cli, tables);
	cli.out = cli.err = open_memstream(&text, &text_len);
	rc = cli_run(&cli, argc, argv);
	fclose(cli.out);
	cli_release(&cli);
	return rc;
}

static int run_words(const char *a, const char *b, const char *c)
{
	static char words[4][64];
	char *argv[5] = {words[0]};
	const char *given[] = {a, b, c};
	int argc = 1;

	snprintf(words[0], sizeof(words[0]), "muster");
	for (size_t i = 0; i < COUNT_OF(given) && given[i]; i++) {
		snprintf(words[i + 1], sizeof(words[0]), "%s", given[i]);
		argv[argc++] = words[i + 1];
	}
	return run(argc, argv);
}

/* Every option of every command is in the text that WRITE makes. */
static void check_all(void (*write)(struct cli *c, struct buf *out))
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct page p;
	size_t i = 0;

	cli_init(&cli, tables);
	write(&cli, &b);
	while (page_next(&cli, &i, &p)) {
		const struct command *k = p.command->children;

		CHECK(strstr(buf_str(&b), p.path));
		for (; k && k->name; k++) {
			struct page below = page_child(&cli, &p, k);
			const struct command_option *o =
				page_options(&cli, &below, NULL);

			CHECK(strstr(buf_str(&b), k->name));
			for (; o->name; o++)
				CHECK(strstr(buf_str(&b), o->name));
		}
	}
	CHECK(buf_ok(&b) && i > 8);
	buf_release(&b);
	cli_release(&cli);
}

static void completion_has_every_command(void)
{
	check_all(completion_bash);
	check_all(completion_zsh);
	check_all(completion_fish);
}

static void dashes_gone(const char *from, struct buf *to)
{
	for (; *from; from++)
		if (from[0] != '\\' || from[1] != '-')
			buf_addc(to, *from);
}

static void all_pages(struct cli *c, struct buf *out)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct page p;
	size_t i = 0;

	man_page(c, NULL, &b);
	while (page_next(c, &i, &p))
		man_page(c, &p, &b);
	dashes_gone(buf_str(&b), out);
	buf_release(&b);
}

static void manual_has_every_command(void)
{
	check_all(all_pages);
}

static void all_help(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	help_overview(c, out);
	while (page_next(c, &i, &p)) {
		const struct command *k = p.command->children;

		help_page(c, &p, out);
		for (; k && k->name; k++) {
			struct page below = page_child(c, &p, k);

			help_page(c, &below, out);
		}
	}
}

static void help_has_every_command(void)
{
	check_all(all_help);
}

static void roff_cannot_be_broken_into(void)
{
	CHECK(run_words("man", "other", NULL) == 0);
	CHECK(strstr(text, "It's .dangerous.\n.PP\n\\&.Really."));
	CHECK(strstr(text, "\\fB\\-\\-depth\\fR \\fIN\\fR"));
	CHECK(strstr(text, "EXIT STATUS"));
}

static void another_rooms_command_is_run(void)
{
	CHECK(run_words("other", "a", "--depth=3") == 42);
	CHECK_STR(text, "other with 2\n");
	CHECK(run_words("other", "--help", NULL) == 0);
	CHECK(strstr(text, "--depth N"));
}

static void every_help_has_its_examples(void)
{
	CHECK(run_words("help", "project", "create") == 0);
	CHECK(strstr(text, "muster project create my-project --organization "
			   "my-organization\n"));
	CHECK(run_words("projects", "update", "-h") == 0);
	CHECK(strstr(text, "Usage: muster project update [NAME-OR-ID]"));
}

static void a_wrong_word_is_told(void)
{
	CHECK(run_words("othr", NULL, NULL) == EXIT_USAGE);
	CHECK_STR(text, "muster: unknown command 'othr'; did you mean "
			"'other'?\nRun 'muster help' to see what it takes.\n");
	CHECK(run_words("help", "projects", "craete") == EXIT_USAGE);
	CHECK(strstr(text, "did you mean 'project create'?"));
	CHECK(run_words("context", NULL, NULL) == EXIT_USAGE);
	CHECK(run_words(NULL, NULL, NULL) == EXIT_USAGE);
}

int main(void)
{
	RUN(completion_has_every_command);
	RUN(manual_has_every_command);
	RUN(help_has_every_command);
	RUN(roff_cannot_be_broken_into);
	RUN(another_rooms_command_is_run);
	RUN(every_help_has_its_examples);
	RUN(a_wrong_word_is_told);
	free(text);
	return test_done();
}

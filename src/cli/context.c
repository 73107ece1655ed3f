/* context list, use and delete. */
#include <string.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"

static const struct command_example list_examples[] = {
	{"All of them; '*' is the one in use:", "muster context list"},
	{0},
};

static const struct command_example use_examples[] = {
	{"From now on:", "muster context use prod"},
	{"For one command:", "muster --context prod project list"},
	{0},
};

static const struct command_example delete_examples[] = {
	{"Forget a server and its token:", "muster context delete prod"},
	{0},
};

static struct node *text_node(struct cli *c, const char *text)
{
	return node_new_string(&c->arena, text, strlen(text));
}

/* Without tokens: they are nobody's to see. */
static struct node *as_document(struct cli *c, const struct settings *s)
{
	struct node *all = node_new_array(&c->arena);
	const struct context *list = s->contexts.at;

	for (size_t i = 0; i < s->contexts.n; i++) {
		struct node *n = node_new_object(&c->arena);
		bool current =
			s->current && strcmp(s->current, list[i].name) == 0;

		node_set(&c->arena, n, "name", text_node(c, list[i].name));
		node_set(&c->arena, n, "server", text_node(c, list[i].server));
		node_set(&c->arena, n, "current",
			 node_new_bool(&c->arena, current));
		node_append(&c->arena, all, n);
	}
	return all;
}

static void print_table(struct cli *c, const struct settings *s)
{
	const struct context *list = s->contexts.at;
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "", 0);
	table_column(&t, "NAME", 0);
	table_column(&t, "SERVER", 0);
	table_column(&t, "TOKEN", 0);
	for (size_t i = 0; i < s->contexts.n; i++) {
		bool current =
			s->current && strcmp(s->current, list[i].name) == 0;

		table_cell(&t, current ? "*" : "", TONE_GOOD);
		table_cell(&t, list[i].name, TONE_PLAIN);
		table_cell(&t, list[i].server, TONE_PLAIN);
		table_cell(&t, list[i].token ? "yes" : "no", TONE_FAINT);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static int context_list(struct cli *c, int argc, char **argv)
{
	const struct context *list;
	struct failure p = {0};
	struct settings s;
	struct args args;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (settings_load(&c->arena, &s, &p.err) < 0)
		return cli_fail(c, &p, "list contexts", NULL);
	list = s.contexts.at;
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML) {
		output_document(c, as_document(c, &s),
				c->output == OUTPUT_YAML);
	} else if (c->output == OUTPUT_NAME) {
		for (size_t i = 0; i < s.contexts.n; i++)
			fprintf(c->out, "context/%s\n",
				text_safe(&c->arena, list[i].name));
	} else if (s.contexts.n) {
		print_table(c, &s);
	} else {
		cli_say(c, "No contexts; 'muster login' makes one.");
	}
	return EXIT_OK;
}

static int no_context(struct cli *c, const struct settings *s, const char *name,
		      struct failure *p)
{
	const struct context *list = s->contexts.at;
	const char **names =
		arena_alloc(&c->arena, (s->contexts.n + 1) * sizeof(*names));
	const char *near;

	for (size_t i = 0; i < s->contexts.n; i++)
		names[i] = list[i].name;
	near = text_nearest(name, names);
	p->hint = near ? arena_printf(&c->arena, "did you mean '%s'?", near)
		       : "see 'muster context list'";
	return err_set(&p->err, ERR_NOT_FOUND, "there is no context '%s'",
		       name);
}

static int change(struct cli *c, int argc, char **argv, bool drop)
{
	const char *what = drop ? "delete context" : "use context", *name;
	struct failure p = {0};
	struct settings s;
	struct args args;
	int rc;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 1, 1) < 0)
		return EXIT_USAGE;
	name = args.words[0];
	rc = settings_load(&c->arena, &s, &p.err);
	if (rc == 0 && !settings_find(&s, name))
		rc = no_context(c, &s, name, &p);
	if (rc == 0 && drop)
		settings_drop(&s, name);
	else if (rc == 0)
		s.current = name;
	if (rc == 0)
		rc = settings_save(&s, &c->arena, &p.err);
	if (rc < 0)
		return cli_fail(c, &p, what, NULL);
	cli_say(c, drop ? "Deleted context '%s'." : "Now using context '%s'.",
		text_safe(&c->arena, name));
	return EXIT_OK;
}

static int context_use(struct cli *c, int argc, char **argv)
{
	return change(c, argc, argv, false);
}

static int context_delete(struct cli *c, int argc, char **argv)
{
	return change(c, argc, argv, true);
}

const struct command context_commands[] = {
	{"list", "List the contexts", "", "Tokens are not shown.",
	 list_examples, .run = context_list},
	{"use", "Choose the context that commands talk to", "NAME",
	 "It stays in use until another one is chosen.", use_examples,
	 .run = context_use},
	{"delete", "Forget a context with its token", "NAME",
	 "The token itself stays good: the server does not hear of it.",
	 delete_examples, .run = context_delete},
	{0},
};

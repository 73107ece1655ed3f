#include "cli/help.h"

#include <string.h>

#include "cli/noun.h"
#include "cli/text.h"

#define LEFT_MOST 26 /* columns of options before their texts */

static size_t line_width(const struct cli *c)
{
	size_t width = c->style.width ? c->style.width : 80;

	return width < 40 ? 40 : width > 100 ? 100 : width;
}

static void add_heading(struct cli *c, const char *text, struct buf *out)
{
	buf_addc(out, '\n');
	table_add_toned(out, &c->style, TONE_HEAD, text);
	buf_addc(out, '\n');
}

/* LEFT, then TEXT in lines of its own column. */
static void add_entry(struct cli *c, const char *left, const char *text,
		      size_t column, struct buf *out)
{
	size_t used = 2 + text_width(left);

	buf_adds(out, "  ");
	buf_adds(out, left);
	if (used + 2 > column) {
		buf_addc(out, '\n');
		used = 0;
	}
	text_add_spaces(out, column - used);
	text_add_wrapped(out, text, column, line_width(c));
	buf_addc(out, '\n');
}

static const char *option_left(struct cli *c, const struct command_option *o)
{
	struct buf b = BUF_INIT(1024);
	const char *text;

	if (o->letter)
		buf_addf(&b, "-%c, ", o->letter);
	buf_addf(&b, "--%s", o->name);
	if (o->argument && o->flags & OPTION_MAYBE)
		buf_addf(&b, "[=%s]", o->argument);
	else if (o->argument)
		buf_addf(&b, " %s", o->argument);
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void add_options(struct cli *c, const char *heading,
			const struct command_option *o, struct buf *out)
{
	size_t column = 0;

	if (!o->name)
		return;
	for (size_t i = 0; o[i].name; i++) {
		size_t width = text_width(option_left(c, &o[i]));

		if (width <= LEFT_MOST && width > column)
			column = width;
	}
	add_heading(c, heading, out);
	for (; o->name; o++)
		add_entry(c, option_left(c, o), o->doc, column + 4, out);
}

static void add_examples(struct cli *c, const struct page *p, struct buf *out)
{
	const struct command_example *e = p->command->examples;

	if (!e)
		return;
	add_heading(c, "Examples", out);
	for (size_t i = 0; e[i].line; i++) {
		if (e[i].text)
			buf_addf(out, "%s  %s\n", i ? "\n" : "",
				 page_text(c, p, e[i].text));
		buf_adds(out, "    ");
		table_add_toned(out, &c->style, TONE_GOOD,
				page_text(c, p, e[i].line));
		buf_addc(out, '\n');
	}
}

static void add_children(struct cli *c, const struct page *p, struct buf *out)
{
	const struct command *child = p->command->children;
	size_t column = 10;

	if (!child)
		return;
	for (size_t i = 0; child[i].name; i++)
		if (strlen(child[i].name) > column)
			column = strlen(child[i].name);
	add_heading(c, "Commands", out);
	for (; child->name; child++)
		add_entry(c, child->name, page_text(c, p, child->summary),
			  column + 4, out);
}

static bool is_noun(const struct page *p)
{
	return p->kind && p->command->children;
}

void help_page(struct cli *c, const struct page *p, struct buf *out)
{
	const char *more =
		c->style.width ? "'muster help' lists what every command "
				 "takes besides, and the exit statuses."
			       : "'muster help' lists what every command takes "
				 "besides.";

	table_add_toned(out, &c->style, TONE_HEAD, "Usage:");
	buf_addf(out, " muster %s\n\n", page_usage(c, p));
	if (is_noun(p))
		text_add_wrapped(out, p->command->help, 0, line_width(c));
	else
		buf_addf(out, "%s.", page_text(c, p, p->command->summary));
	buf_addc(out, '\n');
	if (!is_noun(p) && p->command->help) {
		buf_addc(out, '\n');
		text_add_wrapped(out, page_text(c, p, p->command->help), 0,
				 line_width(c));
		buf_addc(out, '\n');
	}
	add_children(c, p, out);
	add_options(c, "Options", page_options(c, p, NULL), out);
	add_examples(c, p, out);
	buf_addc(out, '\n');
	text_add_wrapped(out, more, 0, line_width(c));
	buf_addc(out, '\n');
	if (p->command->children)
		buf_addf(out, "'muster help %s COMMAND' explains a command.\n",
			 p->path);
}

static const char *first_sentence(struct cli *c, const char *text)
{
	const char *end = strstr(text, ".  ");
	size_t len = end ? (size_t)(end - text) : strlen(text);

	if (len && text[len - 1] == '.')
		len--;
	return arena_memdup(&c->arena, text, len);
}

static void add_commands(struct cli *c, bool nouns, struct buf *out)
{
	size_t column = 0, i = 0;
	struct page p;

	while (page_next(c, &i, &p))
		if (strlen(p.path) > column)
			column = strlen(p.path);
	for (i = 0; page_next(c, &i, &p);)
		if (is_noun(&p) == nouns)
			add_entry(c, p.path,
				  first_sentence(c, p.command->summary),
				  column + 4, out);
}

static void add_exits(struct cli *c, struct buf *out)
{
	add_heading(c, "Exit status", out);
	for (size_t i = 0; command_exits[i]; i++)
		add_entry(c, arena_printf(&c->arena, "%zu", i),
			  command_exits[i], 5, out);
}

void help_overview(struct cli *c, struct buf *out)
{
	buf_adds(out, "muster runs instances, groups of them and warm pools on "
		      "many clouds.\n\n");
	table_add_toned(out, &c->style, TONE_HEAD, "Usage:");
	buf_adds(out, " muster [options] COMMAND ...\n");
	add_heading(c, "Nouns", out);
	add_commands(c, true, out);
	buf_adds(out, "\n  Each can:");
	for (const struct command *k = noun_verbs; k->name; k++)
		buf_addf(out, " %s%s", k->name, k[1].name ? "," : ".\n");
	add_heading(c, "Commands", out);
	add_commands(c, false, out);
	add_options(c, "Options of every command", cli_options, out);
	add_exits(c, out);
	add_heading(c, "First steps", out);
	buf_adds(out, "    muster login --token-file ./var/admin.token\n"
		      "    muster organization create acme\n"
		      "    muster project create web --organization acme\n"
		      "    muster project list\n\n"
		      "'muster help COMMAND' explains a command, and so does "
		      "--help after it.\n");
}

/* Manual pages, in man(7)'s macros. */
#include <ctype.h>
#include <string.h>

#include "base/field_ops.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/text.h"
#include "model/kind.h"

/* TEXT as roff reads it: no line begins a request by accident, and a dash is
 * one that can be copied. */
static void add_roff(struct buf *out, const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			buf_adds(out, "\\&");
		begins = *text == '\n';
		if (*text == '\\')
			buf_adds(out, "\\e");
		else if (*text == '-')
			buf_adds(out, "\\-");
		else if (text[0] == '\n' && text[1] == '\n')
			buf_adds(out, "\n.PP");
		else
			buf_addc(out, *text);
	}
}

static void add_text(struct buf *out, const char *text)
{
	add_roff(out, text);
	buf_addc(out, '\n');
}

static void add_option(struct buf *out, const struct command_option *o)
{
	buf_adds(out, ".TP\n");
	if (o->letter) {
		buf_adds(out, "\\fB\\-");
		buf_addc(out, o->letter);
		buf_adds(out, "\\fR, ");
	}
	buf_adds(out, "\\fB\\-\\-");
	add_roff(out, o->name);
	buf_adds(out, "\\fR");
	if (o->argument) {
		buf_adds(out, o->flags & OPTION_MAYBE ? "[=\\fI" : " \\fI");
		add_roff(out, o->argument);
		buf_adds(out, o->flags & OPTION_MAYBE ? "\\fR]" : "\\fR");
	}
	buf_addc(out, '\n');
	add_text(out, o->doc);
}

static void add_options(struct buf *out, const struct command_option *o)
{
	for (; o && o->name; o++)
		add_option(out, o);
}

/* BEFORE begins the first one, as a section or a paragraph. */
static void add_examples(struct cli *c, const struct page *p,
			 const char *before, struct buf *out)
{
	const struct command_example *e = p->command->examples;

	for (; e && e->line; e++) {
		if (e->text) {
			buf_adds(out, before);
			add_text(out, page_text(c, p, e->text));
		}
		before = ".PP\n";
		buf_adds(out, ".PP\n.RS 4\n.nf\n");
		add_text(out, page_text(c, p, e->line));
		buf_adds(out, ".fi\n.RE\n");
	}
}

static void add_title(struct buf *out, const char *name, const char *summary)
{
	buf_adds(out, ".TH \"");
	for (const char *p = name; *p; p++)
		buf_addc(out, (char)toupper((unsigned char)*p));
	buf_adds(out, "\" 1 \"\" \"muster " MUSTER_VERSION
		      "\" \"Muster Manual\"\n.SH NAME\n");
	add_roff(out, name);
	buf_adds(out, " \\- ");
	add_text(out, summary);
}

static void add_usage(struct cli *c, const struct page *p, struct buf *out)
{
	buf_adds(out, "\\fBmuster\\fR ");
	add_text(out, page_usage(c, p));
}

static void add_exits(struct buf *out)
{
	buf_adds(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; command_exits[i]; i++) {
		buf_addf(out, ".TP\n.B %zu\n", i);
		add_text(out, command_exits[i]);
	}
}

static void add_see_also(struct cli *c, const char *but, struct buf *out)
{
	const char *before = "";
	struct page p;
	size_t i = 0;

	buf_adds(out, ".SH SEE ALSO\n");
	if (but) {
		buf_adds(out, ".BR muster (1)\n");
		return;
	}
	while (page_next(c, &i, &p)) {
		buf_adds(out, before);
		buf_adds(out, "\\fBmuster\\-");
		add_roff(out, p.path);
		buf_adds(out, "\\fR(1)");
		before = ",\n";
	}
	buf_addc(out, '\n');
}

static void add_field(struct buf *out, const struct field *f, const char *path)
{
	static const struct {
		unsigned flag;
		const char *text;
	} notes[] = {
		{FIELD_REQUIRED, "required"},
		{FIELD_IMMUTABLE, "set once"},
		{FIELD_READ_ONLY, "read-only"},
		{FIELD_SECRET, "never shown"},
	};
	const char *before = "  (";

	buf_adds(out, ".TP\n\\fB");
	add_roff(out, path);
	buf_adds(out, "\\fR\n");
	add_roff(out, f->doc ? f->doc : "");
	for (size_t i = 0; i < COUNT_OF(notes); i++) {
		if (!(f->flags & notes[i].flag))
			continue;
		buf_adds(out, before);
		add_roff(out, notes[i].text);
		before = ", ";
	}
	buf_adds(out, before[0] == ',' ? ")\n" : "\n");
}

static void add_fields(struct cli *c, const struct field *fields,
		       const char *path, struct buf *out)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		const char *here = arena_printf(&c->arena, "%s%s%s", path,
						*path ? "." : "", f->name);

		add_field(out, f, here);
		if (f->type == FIELD_OBJECT)
			add_fields(c, f->fields, here, out);
	}
}

/* One command, under a heading of its own when it is one of several. */
static void add_child(struct cli *c, const struct page *p, struct buf *out)
{
	buf_adds(out, ".SS muster ");
	add_text(out, page_usage(c, p));
	add_roff(out, page_text(c, p, p->command->summary));
	buf_adds(out, ".\n.PP\n");
	if (p->command->help)
		add_text(out, page_text(c, p, p->command->help));
	add_options(out, page_options(c, p, NULL));
	add_examples(c, p, ".PP\n", out);
}

static void command_page(struct cli *c, const struct page *p, struct buf *out)
{
	const struct command *child = p->command->children;

	add_title(out, arena_printf(&c->arena, "muster-%s", p->path),
		  page_text(c, p, p->command->summary));
	buf_adds(out, ".SH SYNOPSIS\n");
	if (!child)
		add_usage(c, p, out);
	for (const struct command *k = child; k && k->name; k++) {
		struct page below = page_child(c, p, k);

		add_usage(c, &below, out);
		if (k[1].name)
			buf_adds(out, ".br\n");
	}
	buf_adds(out, ".SH DESCRIPTION\n");
	add_text(out, page_text(c, p,
				p->command->help ? p->command->help
						 : p->command->summary));
	if (!child && (p->command->options || p->command->fields)) {
		buf_adds(out, ".SH OPTIONS\n");
		add_options(out, page_options(c, p, NULL));
	}
	if (child)
		buf_adds(out, ".SH COMMANDS\n");
	for (; child && child->name; child++) {
		struct page below = page_child(c, p, child);

		add_child(c, &below, out);
	}
	if (p->kind && p->command->children) {
		buf_adds(out, ".SH FIELDS\nOf its document, as JSON and YAML "
			      "have it:\n");
		add_fields(c, p->kind->fields, "", out);
	}
	add_examples(c, p, ".SH EXAMPLES\n", out);
	add_exits(out);
	add_see_also(c, "muster", out);
}

static void add_environment(struct buf *out)
{
	static const char *const rows[][2] = {
		{"MUSTER_SERVER", "The server to talk to; --server overrides."},
		{"MUSTER_TOKEN", "The token to send; --token overrides."},
		{"MUSTER_CA_FILE",
		 "Whose certificates to trust; --ca-file overrides."},
		{"MUSTER_CONTEXT", "The context to use; --context overrides."},
		{"NO_COLOR", "No colours when it is set and not empty."},
		{"XDG_CONFIG_HOME",
		 "Where settings are kept, instead of ~/.config."},
	};

	buf_adds(out, ".SH ENVIRONMENT\n");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		buf_adds(out, ".TP\n.B ");
		add_text(out, rows[i][0]);
		add_text(out, rows[i][1]);
	}
}

static void main_page(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	add_title(out, "muster", "a compute control plane");
	buf_adds(out, ".SH SYNOPSIS\n\\fBmuster\\fR [options] COMMAND ...\n"
		      ".SH DESCRIPTION\n");
	add_text(out, "Muster runs instances, groups of them and warm pools on "
		      "many clouds and on hosts of your own.  'muster serve' "
		      "is the server; the other commands are its client.");
	buf_adds(out, ".SH COMMANDS\n");
	while (page_next(c, &i, &p)) {
		buf_adds(out, ".TP\n\\fB");
		add_roff(out, p.path);
		buf_adds(out, "\\fR\n");
		add_text(out, page_text(c, &p, p.command->summary));
	}
	buf_adds(out, ".SH OPTIONS\nThese belong to every command:\n");
	add_options(out, cli_options);
	add_exits(out);
	add_environment(out);
	buf_adds(out, ".SH FILES\n.TP\n.I ~/.config/muster/config.yaml\n");
	add_text(out,
		 "The contexts: servers, and the tokens for them.  Written "
		 "by 'muster login'; nobody else may read it.");
	add_see_also(c, NULL, out);
}

void man_page(struct cli *c, const struct page *p, struct buf *out)
{
	if (p)
		command_page(c, p, out);
	else
		main_page(c, out);
}

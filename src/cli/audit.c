#include "cli/audit.h"

#include <string.h>

#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "http/uri.h"

#define PAGE 1000

/* An option and the query word it becomes. */
static const struct {
	const char *option, *word;
} filters[] = {
	{"who", "who"},
	{"kind", "kind"},
	{"object", "objectId"},
	{"organization-id", "organizationId"},
	{"project-id", "projectId"},
	{"action", "action"},
	{"result", "result"},
	{"since", "since"},
	{"until", "until"},
};

#define FILTER_OPTIONS                                                         \
	{"who", .argument = "WHO",                                             \
	 .doc = "Only what this caller did: an id or a name."},                \
		{"kind", .argument = "KIND",                                   \
		 .doc = "Only of this kind of object."},                       \
		{"object", .argument = "ID", .doc = "Only of this object."},   \
		{"organization-id", .argument = "ID",                          \
		 .doc = "Only of this organization."},                         \
		{"project-id", .argument = "ID",                               \
		 .doc = "Only of this project."},                              \
		{"action", .argument = "ACTION",                               \
		 .doc = "Only this: create, update, delete, ..."},             \
		{"result", .argument = "RESULT",                               \
		 .doc = "Only what ended so: ok, or a problem's code."},       \
		{"since", .argument = "TIME",                                  \
		 .doc = "From this time on: 2026-01-31T12:00:00Z."},           \
	{                                                                      \
		"until", .argument = "TIME", .doc = "Before this time."        \
	}

const struct command_option audit_list_options[] = {
	FILTER_OPTIONS,
	{"limit", .argument = "N", .doc = "At most that many; 100."},
	{0},
};

const struct command_option audit_export_options[] = {
	FILTER_OPTIONS,
	{0},
};

static void add_filters(const struct args *args, struct buf *target)
{
	for (size_t i = 0; i < COUNT_OF(filters); i++) {
		const char *value = args_value(args, filters[i].option);

		if (!value)
			continue;
		buf_addf(target, "&%s=", filters[i].word);
		uri_add_escaped(target, value);
	}
}

/* Page after page, each entry given to EACH, at most MOST (0: all). */
static int read_pages(struct cli *c, const struct args *args, uint64_t most,
		      void (*each)(struct cli *c, const struct node *entry,
				   void *ctx),
		      void *ctx, struct failure *p)
{
	const char *next = "";
	uint64_t n = 0;

	while (next && (!most || n < most)) {
		struct buf target = BUF_INIT(65536);
		uint64_t left = most ? most - n : PAGE;
		struct node *page = NULL;
		const struct node *items;
		int rc;

		buf_addf(&target, "/v1/audit?limit=%llu",
			 (unsigned long long)(left < PAGE ? left : PAGE));
		if (*next)
			buf_addf(&target, "&after=%s", next);
		add_filters(args, &target);
		rc = request_get(c, buf_str(&target), &page, p);
		buf_release(&target);
		if (rc < 0)
			return -1;
		items = node_get(page, "items");
		for (size_t i = 0; i < node_count(items); i++, n++)
			each(c, node_at(items, i), ctx);
		next = node_text(page, "next");
	}
	return 0;
}

static void print_line(struct cli *c, const struct node *entry, void *ctx)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	(void)ctx;
	json_write(entry, false, &b);
	buf_addc(&b, '\n');
	cli_print(c, &b);
}

int audit_export(struct cli *c, int argc, char **argv)
{
	struct failure p = {0};
	struct args args;

	if (cli_parse(c, audit_export_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (read_pages(c, &args, 0, print_line, NULL, &p) < 0)
		return cli_fail(c, &p, "export the audit trail", NULL);
	return EXIT_OK;
}

static void keep(struct cli *c, const struct node *entry, void *ctx)
{
	union {
		const struct node *read;
		struct node *write;
	} n = {entry};

	node_append(&c->arena, ctx, n.write);
}

static void add_cell(struct table *t, const struct node *entry,
		     const char *path, enum tone tone)
{
	const char *text = node_text(entry, path);

	table_cell(t, text ? text : "", tone);
}

static void print_table(struct cli *c, const struct node *items)
{
	struct buf b = BUF_INIT((size_t)64 << 20);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "SEQ", TABLE_RIGHT);
	table_column(&t, "AT", 0);
	table_column(&t, "WHO", TABLE_CUT);
	table_column(&t, "ACTION", 0);
	table_column(&t, "KIND", 0);
	table_column(&t, "OBJECT", TABLE_CUT);
	table_column(&t, "RESULT", 0);
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *e = node_at(items, i);
		const char *result = node_text(e, "result");
		bool ok = !result || strcmp(result, "ok") == 0;

		table_cell(
			&t,
			arena_printf(&c->arena, "%lld",
				     (long long)node_int(node_get(e, "seq"))),
			TONE_FAINT);
		add_cell(&t, e, "at", TONE_PLAIN);
		add_cell(&t, e, "who.name", TONE_PLAIN);
		add_cell(&t, e, "action", TONE_PLAIN);
		add_cell(&t, e, "kind", TONE_PLAIN);
		add_cell(&t, e, "objectId", TONE_FAINT);
		add_cell(&t, e, "result", ok ? TONE_GOOD : TONE_BAD);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

int audit_list(struct cli *c, int argc, char **argv)
{
	struct node *items = node_new_array(&c->arena);
	struct failure p = {0};
	const char *limit;
	int64_t most = 100;
	struct args args;

	if (cli_parse(c, audit_list_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	limit = args_value(&args, "limit");
	if (limit && (text_int(limit, &most) < 0 || most < 1))
		return cli_usage(c, "--limit: '%s' is not a number above 0",
				 limit);
	if (read_pages(c, &args, (uint64_t)most, keep, items, &p) < 0)
		return cli_fail(c, &p, "list the audit trail", NULL);
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
		output_document(c, items, c->output == OUTPUT_YAML);
	else if (node_count(items))
		print_table(c, items);
	else
		cli_say(c, "No entries.");
	return EXIT_OK;
}

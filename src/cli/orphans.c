/* The machines of a region that are nobody's. */
#include "cli/output.h"
#include "cli/request.h"
#include "cli/table.h"
#include "cli/verbs.h"

#define TEXT_MOST ((size_t)1 << 20)

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void print(struct cli *c, const struct node *items)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "PROVIDER ID", 0);
	table_column(&t, "SERVER ID", 0);
	table_column(&t, "FIRST SEEN AT", 0);
	table_column(&t, "QUARANTINED UNTIL", 0);
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *o = node_at(items, i);

		table_cell(&t, or_dash(node_text(o, "providerId")), TONE_PLAIN);
		table_cell(&t, or_dash(node_text(o, "serverId")), TONE_PLAIN);
		table_cell(&t, or_dash(node_text(o, "firstSeenAt")),
			   TONE_FAINT);
		table_cell(&t, or_dash(node_text(o, "quarantinedUntil")),
			   TONE_FAINT);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static const struct node *part(const struct node *n, const char *name)
{
	return n && node_type(n) == NODE_OBJECT ? node_get(n, name) : NULL;
}

int region_orphans(struct cli *c, int argc, char **argv)
{
	const struct node *items;
	struct node *doc = NULL;
	struct failure p = {0};
	struct resolved found;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0 ||
	    request_get(c, arena_printf(&c->arena, "/v1/regions/%s", found.id),
			&doc, &p) < 0)
		return noun_fail(&v, &p);
	items = part(part(part(doc, "status"), "monitor"), "orphans");
	if (!items)
		items = node_new_array(&c->arena);
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
		output_document(c, items, c->output == OUTPUT_YAML);
	else if (node_count(items))
		print(c, items);
	else
		cli_say(c, "No machine there is nobody's.");
	return EXIT_OK;
}

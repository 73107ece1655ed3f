/* What a region has of ours that is nobody's. */
#include <string.h>

#include "cli/output.h"
#include "cli/request.h"
#include "cli/table.h"
#include "cli/verbs.h"

#define TEXT_MOST ((size_t)1 << 20)

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static const struct node *part(const struct node *n, const char *name)
{
	return n && node_type(n) == NODE_OBJECT ? node_get(n, name) : NULL;
}

/* What becomes of one when POLICY is remove, and that it is not. */
static const char *removal(struct cli *c, const struct node *o, bool removes)
{
	const struct node *kept = part(o, "kept");
	const char *from = or_dash(node_text(o, "quarantinedUntil"));

	if (kept && node_bool(kept))
		return "never: what it names is known";
	return removes ? from
		       : arena_printf(&c->arena,
				      "if the policy were remove: %s", from);
}

static void print(struct cli *c, const struct node *items, bool plan,
		  bool removes)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "KIND", 0);
	table_column(&t, "PROVIDER ID", 0);
	table_column(&t, "MADE FOR", 0);
	table_column(&t, "FIRST SEEN AT", 0);
	table_column(&t, plan ? "REMOVAL" : "QUARANTINED UNTIL", 0);
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *o = node_at(items, i);
		const char *of = node_text(o, "serverId");

		table_cell(&t, or_dash(node_text(o, "kind")), TONE_PLAIN);
		table_cell(&t, or_dash(node_text(o, "providerId")), TONE_PLAIN);
		table_cell(&t, or_dash(of ? of : node_text(o, "objectId")),
			   TONE_PLAIN);
		table_cell(&t, or_dash(node_text(o, "firstSeenAt")),
			   TONE_FAINT);
		table_cell(&t,
			   plan ? removal(c, o, removes)
				: or_dash(node_text(o, "quarantinedUntil")),
			   plan ? TONE_PLAIN : TONE_FAINT);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static bool does_remove(const struct node *region)
{
	const char *policy = node_text(region, "spec.orphanPolicy");

	return policy && strcmp(policy, "remove") == 0;
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
		print(c, items, v.planning, does_remove(doc));
	else
		cli_say(c, "Nothing there is nobody's.");
	return EXIT_OK;
}

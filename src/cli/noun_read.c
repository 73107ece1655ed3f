/* list and get. */
#include <string.h>

#include "cli/noun.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"

int noun_list(struct cli *c, int argc, char **argv)
{
	struct failure p = {0};
	struct buf query = BUF_INIT(65536);
	struct node *items = NULL;
	const char *limit;
	int64_t most = 0;
	struct verb v;
	int rc;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 0, 0) < 0)
		return EXIT_USAGE;
	limit = args_value(&v.args, "limit");
	if (limit && (text_int(limit, &most) < 0 || most < 1))
		return cli_usage(c, "--limit: '%s' is not a number above 0",
				 limit);
	rc = flags_query(&v.flags, &v.args, &v.world, &query, &p);
	if (rc == 0)
		rc = request_list(c, v.kind, buf_str(&query), (size_t)most,
				  &items, &p);
	buf_release(&query);
	if (rc < 0)
		return noun_fail(&v, &p);
	output_list(c, v.kind, items);
	return EXIT_OK;
}

/* "?maxStalenessMs=5000", or "" when it was not said. */
static int read_staleness(struct verb *v, const char **ret)
{
	const char *value = args_value(&v->args, "max-staleness");
	uint64_t ms;

	*ret = "";
	if (!value)
		return 0;
	if (text_duration(value, &ms) < 0) {
		cli_usage(v->cli,
			  "--max-staleness: '%s' is not a duration like 5s "
			  "or 1m",
			  value);
		return -1;
	}
	*ret = arena_printf(&v->cli->arena, "?maxStalenessMs=%llu",
			    (unsigned long long)ms);
	return 0;
}

static int get_one(struct verb *v, const char *text, const char *query,
		   struct node **ret, struct failure *p)
{
	struct cli *c = v->cli;
	struct resolved found;
	const char *target;

	if (noun_resolve(v, text, &found, p) < 0)
		return -1;
	*ret = found.doc;
	if (*ret && !*query)
		return 0;
	target = arena_printf(&c->arena, "/v1/%s/%s%s", v->kind->plural,
			      found.id, query);
	if (request_get(c, target, ret, p) < 0)
		return -1;
	if (!*ret)
		return err_set(&p->err, ERR_INTERNAL,
			       "the server answered with nothing");
	return 0;
}

int noun_get(struct cli *c, int argc, char **argv)
{
	struct node *items = node_new_array(&c->arena);
	const char *query;
	int worst = EXIT_OK;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, SIZE_MAX) < 0 ||
	    read_staleness(&v, &query) < 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < v.args.n_words; i++) {
		struct failure p = {0};
		struct node *doc;
		int rc;

		if (get_one(&v, v.args.words[i], query, &doc, &p) == 0) {
			node_append(&c->arena, items, doc);
			continue;
		}
		rc = noun_fail(&v, &p);
		worst = worst ? worst : rc;
	}
	if (v.args.n_words == 1 && node_count(items))
		output_one(c, v.kind, node_at(items, 0));
	else if (node_count(items))
		output_list(c, v.kind, items);
	return worst;
}

/* The verbs that some nouns have besides: usage, rotate, add-member. */
#include <string.h>

#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "http/uri.h"
#include "model/group.h"
#include "model/serviceaccount.h"
#include "model/user.h"

static const char *const columns[] = {"used", "committed", "reserved", "limit",
				      "free"};

static void add_number(struct table *t, struct cli *c, const struct node *n)
{
	struct buf b = BUF_INIT(64);

	if (n)
		json_write(n, false, &b);
	table_cell(t, n ? arena_strdup(&c->arena, buf_str(&b)) : "-",
		   n ? TONE_PLAIN : TONE_FAINT);
	buf_release(&b);
}

static const char *text_or(const struct node *n, const char *key)
{
	const char *text = node_text(n, key);

	return text ? text : "-";
}

static void print_usage(struct cli *c, const struct node *items)
{
	struct buf b = BUF_INIT((size_t)1 << 20);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "KIND", 0);
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		table_column(&t, text_caps(&c->arena, columns[i]), TABLE_RIGHT);
	table_column(&t, "UNIT", TABLE_CUT);
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *one = node_at(items, i);

		table_cell(&t, text_or(one, "kind"), TONE_PLAIN);
		for (size_t j = 0; j < COUNT_OF(columns); j++)
			add_number(&t, c, node_get(one, columns[j]));
		table_cell(&t, text_or(one, "unit"), TONE_PLAIN);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static int run_usage(struct cli *c, int argc, char **argv)
{
	struct node *reply = NULL;
	struct failure p = {0};
	struct resolved found;
	const struct node *items;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0 ||
	    request_get(c,
			arena_printf(&c->arena, "/v1/%s/%s/usage",
				     v.kind->plural, found.id),
			&reply, &p) < 0)
		return noun_fail(&v, &p);
	items = reply ? node_get(reply, "items") : NULL;
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML || !items)
		output_document(c, items ? items : reply,
				c->output == OUTPUT_YAML);
	else
		print_usage(c, items);
	return EXIT_OK;
}

static int run_rotate(struct cli *c, int argc, char **argv)
{
	struct request r = {.method = "POST"};
	struct node *reply = NULL;
	struct failure p = {0};
	struct resolved found;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0)
		return noun_fail(&v, &p);
	r.target = arena_printf(&c->arena, "/v1/tokens/%s/rotate", found.id);
	if (request_send(c, &r, &reply, &p) < 0)
		return noun_fail(&v, &p);
	if (reply)
		output_done(c, v.kind, reply, "Rotated");
	return EXIT_OK;
}

/* The two lists of a group that hold members. */
static const struct {
	const char *option, *member;
	const struct kind *kind;
} lists[] = {
	{"user", "userIds", &user_kind},
	{"service-account", "serviceAccountIds", &serviceaccount_kind},
};

/* The members in list I of GROUP that were named, put in or taken out. */
struct membership {
	struct verb *verb;
	const struct node *group;
	bool adding;
};

static struct node *without(struct cli *c, const struct node *ids,
			    const char *id)
{
	struct node *rest = node_new_array(&c->arena);

	for (size_t i = 0; ids && i < node_count(ids); i++) {
		const char *one = node_string(node_at(ids, i), NULL);

		if (strcmp(one, id) != 0)
			node_append(
				&c->arena, rest,
				node_new_string(&c->arena, one, strlen(one)));
	}
	return rest;
}

static int change_list(const struct membership *m, size_t i, struct node *patch,
		       struct failure *p)
{
	struct cli *c = m->verb->cli;
	struct node *near = node_new_object(&c->arena);
	const struct args *args = &m->verb->args;
	const struct node *now = node_get(m->group, lists[i].member);

	resolve_learn(c, near, &group_kind, m->group);
	for (size_t n = 0; n < args->n; n++) {
		const struct arg *given = &args->given[n];
		struct resolved found;
		struct node *ids;

		if (strcmp(given->option->name, lists[i].option) != 0)
			continue;
		if (resolve_id(c, lists[i].kind, given->value, near, &found,
			       p) < 0)
			return -1;
		ids = without(c, now, found.id);
		if (m->adding)
			node_append(&c->arena, ids,
				    node_new_string(&c->arena, found.id,
						    strlen(found.id)));
		node_set(&c->arena, patch, lists[i].member, ids);
		now = ids;
	}
	return 0;
}

static int change_members(struct cli *c, int argc, char **argv, bool adding)
{
	struct request r = {.method = "PATCH",
			    .content_type = "application/merge-patch+json"};
	struct node *patch = node_new_object(&c->arena), *group, *reply;
	struct failure p = {0};
	struct resolved found;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (!args_has(&v.args, "user") && !args_has(&v.args, "service-account"))
		return cli_usage(c, "name a member: --user or "
				    "--service-account");
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0)
		return noun_fail(&v, &p);
	r.target = arena_printf(&c->arena, "/v1/groups/%s", found.id);
	if (request_get(c, r.target, &group, &p) < 0)
		return noun_fail(&v, &p);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		struct membership m = {&v, group, adding};

		if (change_list(&m, i, patch, &p) < 0)
			return noun_fail(&v, &p);
	}
	r.body = patch;
	/* Nobody's change in between is undone. */
	r.if_match =
		arena_printf(&c->arena, "%lld",
			     (long long)node_int(node_get(group, "revision")));
	if (request_send(c, &r, &reply, &p) < 0)
		return noun_fail(&v, &p);
	output_done(c, v.kind, reply ? reply : group, "Updated");
	return EXIT_OK;
}

static int run_add(struct cli *c, int argc, char **argv)
{
	return change_members(c, argc, argv, true);
}

static int run_remove(struct cli *c, int argc, char **argv)
{
	return change_members(c, argc, argv, false);
}

static const struct command_option member_options[] = {
	{"user", .flags = OPTION_MANY, .argument = "NAME-OR-ID",
	 .doc = "A person.", .refers = "user"},
	{"service-account", .flags = OPTION_MANY, .argument = "NAME-OR-ID",
	 .doc = "A service account.", .refers = "serviceaccount"},
	{0},
};

static const struct command_example usage_examples[] = {
	{"What is used of each quota kind, and how much is left:",
	 "muster {noun} usage my-{noun}"},
	{0},
};

static const struct command_example rotate_examples[] = {
	{"Replace a secret, straight into a file:",
	 "muster token rotate my-token -q >token"},
	{0},
};

static const struct command_example add_examples[] = {
	{"A person, and a program:",
	 "muster group add-member my-group --user ann --service-account ci"},
	{0},
};

static const struct command_example remove_examples[] = {
	{"A person:", "muster group remove-member my-group --user ann"},
	{0},
};

const struct command usage_verbs[] = {
	{"usage", "Show what {a} {noun} uses, and may use", "NAME-OR-ID",
	 "A line for each quota kind: what is used (committed and reserved "
	 "together), the limit, and what is left.",
	 usage_examples, .fields = COMMAND_NARROW, .run = run_usage},
	{0},
};

const struct command token_verbs[] = {
	{"rotate", "Give a token a new secret", "NAME-OR-ID",
	 "The old secret is void at once.  The new one is printed, and never "
	 "again; with --quiet, nothing but it is.",
	 rotate_examples, .fields = COMMAND_NARROW, .run = run_rotate},
	{0},
};

const struct command group_verbs[] = {
	{"add-member", "Put people or programs into a group", "NAME-OR-ID",
	 "Who is in it already stays.  You need to hold what the group's roles "
	 "permit.",
	 add_examples, member_options, .fields = COMMAND_NARROW,
	 .run = run_add},
	{"remove-member", "Take people or programs out of a group",
	 "NAME-OR-ID", "Who is not in it is passed over.", remove_examples,
	 member_options, .fields = COMMAND_NARROW, .run = run_remove},
	{0},
};

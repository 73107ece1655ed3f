#include "cli/apply.h"

#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "cli/difference.h"
#include "cli/output.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "model/project.h"

static const char *const allow_words[] = {"restart", "rebuild", NULL};

#define FILE_OPTION                                                            \
	{                                                                      \
		"file", 'f', .flags = OPTION_MANY, .argument = "FILE",         \
			     .doc = "A file, a folder of files, or '-' for "   \
				    "standard input.  May be repeated."        \
	}
#define PROJECT_OPTION                                                         \
	{                                                                      \
		"project", .argument = "NAME-OR-ID",                           \
			   .doc = "Whose the things are that do not say it.",  \
			   .refers = "project"                                 \
	}
#define PRUNE_OPTIONS                                                          \
	{"prune", .doc = "Delete what is in the manifest's projects, has the " \
			 "tag that --label names, and is not in it."},         \
	{                                                                      \
		"label", .argument = "KEY=VALUE",                              \
			 .doc = "The tag of what --prune may delete."          \
	}

const struct command_option apply_options[] = {
	FILE_OPTION,
	PROJECT_OPTION,
	PRUNE_OPTIONS,
	{"allow", .argument = "WORD",
	 .doc = "What may be done to machines: restart them, or rebuild them, "
		"which loses what is on their root disks.",
	 .choices = allow_words},
	{"plan", .doc = "Only show what would be done; nothing changes."},
	{"yes", 'y', .doc = "Do not ask."},
	{"wait", .doc = "Show the steps, and return when all is as it is "
			"wanted, at most --timeout later for each."},
	{0},
};

const struct command_option diff_options[] = {
	FILE_OPTION,
	PROJECT_OPTION,
	PRUNE_OPTIONS,
	{0},
};

/* The fields of an item that differ, for the eye. */
struct showing {
	struct apply *apply;
	const struct apply_item *item;
	struct table table;
};

static const char *value_text(struct cli *c, const struct node *n)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	const char *text;

	if (!n)
		return "-";
	if (node_type(n) == NODE_STRING)
		return resolve_name(c, node_string(n, NULL));
	json_write(n, false, &b);
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* Names for the ids that OLD and NEW may be. */
static void learn_names(struct showing *s, const char *path)
{
	struct cli *c = s->apply->cli;
	const struct field *f =
		field_find(s->item->kind->fields, path, NULL, NULL);
	struct node *both = node_new_array(&c->arena);
	union {
		const struct node *read;
		struct node *write;
	} old = {s->item->old}, new = {s->item->new};

	if (!f || !f->refers)
		return;
	if (old.read)
		node_append(&c->arena, both, old.write);
	if (new.read && !s->item->waits)
		node_append(&c->arena, both, new.write);
	resolve_names(c, f->refers, both, path);
}

static void on_difference(void *ctx, const char *path, const struct node *old,
			  const struct node *new)
{
	struct showing *s = ctx;
	struct cli *c = s->apply->cli;

	learn_names(s, path);
	table_cell(&s->table, "     ", TONE_PLAIN);
	table_cell(&s->table, path, TONE_PLAIN);
	table_cell(&s->table,
		   arena_printf(&c->arena, "%s -> %s", value_text(c, old),
				value_text(c, new)),
		   TONE_PLAIN);
}

/* What the server says that changes, and that cannot be seen: secrets. */
static void add_hidden(struct showing *s)
{
	struct arena *a = &s->apply->cli->arena;
	const struct node *list =
		s->item->plan ? node_get(s->item->plan, "changes") : NULL;

	for (size_t i = 0;
	     list && node_type(list) == NODE_ARRAY && i < node_count(list);
	     i++) {
		const char *pointer = node_string(node_at(list, i), NULL);
		char *path = arena_strdup(a, pointer + (*pointer == '/'));
		const struct field *f;

		for (char *p = path; *p; p++)
			if (*p == '/')
				*p = '.';
		f = field_find(s->item->kind->fields, path, NULL, NULL);
		if (!f || !(f->flags & FIELD_SECRET))
			continue;
		table_cell(&s->table, "     ", TONE_PLAIN);
		table_cell(&s->table, path, TONE_PLAIN);
		table_cell(&s->table, "(changes)", TONE_FAINT);
	}
}

static void show_fields(struct apply *a, const struct apply_item *item,
			struct buf *out)
{
	struct showing s = {a, item, {0}};

	table_init(&s.table, &a->cli->arena);
	table_column(&s.table, "", 0);
	table_column(&s.table, "", 0);
	table_column(&s.table, "", TABLE_CUT);
	difference_walk(item->old, item->new, &a->cli->arena, on_difference,
			&s);
	add_hidden(&s);
	table_write(&s.table, &a->cli->style, false, out);
}

static const struct {
	const char *sign;
	enum tone tone;
} signs[] = {
	[APPLY_NOTHING] = {"=", TONE_FAINT},
	[APPLY_CREATE] = {"+", TONE_GOOD},
	[APPLY_UPDATE] = {"~", TONE_BUSY},
	[APPLY_DELETE] = {"-", TONE_BAD},
};

static void show_item(struct apply *a, const struct apply_item *item,
		      struct buf *out)
{
	struct cli *c = a->cli;

	buf_adds(out, "  ");
	table_add_toned(out, &c->style, signs[item->action].tone,
			arena_printf(&c->arena, "%s %s %s",
				     signs[item->action].sign, item->kind->name,
				     text_safe(&c->arena, item->name)));
	if (item->need) {
		struct buf b = BUF_INIT(4096);

		plan_brief(item->plan, &b);
		buf_adds(out, "  ");
		table_add_toned(out, &c->style, TONE_BAD, buf_str(&b));
		buf_release(&b);
	}
	buf_addc(out, '\n');
	if (item->action == APPLY_UPDATE)
		show_fields(a, item, out);
}

static size_t count(const struct apply *a, enum apply_action action)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		n += a->items[i].action == action;
	return n;
}

static size_t count_changes(const struct apply *a)
{
	return a->n - count(a, APPLY_NOTHING);
}

/* "2 to create, 1 to change" */
static void add_counts(const struct apply *a, struct buf *out)
{
	static const struct {
		enum apply_action action;
		const char *what;
	} rows[] = {
		{APPLY_CREATE, "to create"},
		{APPLY_UPDATE, "to change"},
		{APPLY_DELETE, "to delete"},
		{APPLY_NOTHING, "as wanted"},
	};
	const char *before = " ";

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t n = count(a, rows[i].action);

		if (!n)
			continue;
		buf_addf(out, "%s%zu %s", before, n, rows[i].what);
		before = ", ";
	}
	buf_addc(out, '\n');
}

void apply_show(struct apply *a)
{
	struct buf b = BUF_INIT((size_t)64 << 20);

	if (!count_changes(a)) {
		cli_say(a->cli,
			"Nothing to do: all %zu are as they are "
			"wanted.",
			a->n);
		return;
	}
	table_add_toned(&b, &a->cli->style, TONE_HEAD, "Plan:");
	add_counts(a, &b);
	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].action != APPLY_NOTHING)
			show_item(a, &a->items[i], &b);
	cli_print(a->cli, &b);
	fflush(a->cli->out);
}

/* Read the files and find out what there is to do.  The exit status when that
 * went wrong, else 0. */
static int prepare(struct apply *a, const struct args *args)
{
	struct cli *c = a->cli;
	struct failure p = {0};
	const char *project = args_value(args, "project");
	const char *label = args_value(args, "label");
	struct resolved found;
	int rc = 0;

	if (!args_has(args, "file"))
		return cli_usage(c, "which manifest?  Name it with -f");
	if (args_has(args, "prune") != (label != NULL) ||
	    (label && !strchr(label, '=')))
		return cli_usage(c, "--prune and --label KEY=VALUE go "
				    "together");
	for (size_t i = 0; rc == 0 && i < args->n; i++)
		if (strcmp(args->given[i].option->name, "file") == 0)
			rc = manifest_read(c, args->given[i].value,
					   &a->manifest, &p);
	if (rc == 0 && project &&
	    (rc = resolve_id(c, &project_kind, project, NULL, &found, &p)) == 0)
		a->project = found.id;
	if (rc < 0 || apply_order(a, &p) < 0)
		return cli_fail(c, &p, "read the manifest", NULL);
	apply_plan(a);
	if (!a->errors && label && apply_prune(a, label, &p) < 0)
		return cli_fail(c, &p, "plan", NULL);
	if (!a->errors)
		return 0;
	cli_say(c, "Nothing was changed.");
	return EXIT_USAGE;
}

/* Everything that needs a word has it. */
static int check_allowed(struct apply *a)
{
	const char *most = NULL;

	for (size_t i = 0; i < a->n; i++) {
		const char *need = a->items[i].need;

		if (!plan_is_allowed(need, a->allow) &&
		    !(most && strcmp(most, "rebuild") == 0))
			most = need;
	}
	if (!most)
		return 0;
	fprintf(a->cli->err,
		"muster: some of it restarts machines or destroys something, "
		"and has to be allowed\n  to do it: %s\n",
		cli_again(a->cli, most));
	return -1;
}

static bool confirmed(struct cli *c)
{
	char answer[16] = "";

	fprintf(c->err, "Apply? [y/N] ");
	fflush(c->err);
	return fgets(answer, sizeof(answer), c->in) &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static int send(struct apply *a, struct apply_item *item, struct node **ret,
		struct failure *p)
{
	struct arena *arena = &a->cli->arena;
	struct request r = {.body = item->body};
	const char *allow = item->need || item->waits ? a->allow : NULL;

	if (item->doc && item->waits && apply_translate(a, item, p) < 0)
		return -1;
	r.body = item->body;
	r.method = item->action == APPLY_CREATE   ? "POST"
		   : item->action == APPLY_UPDATE ? "PUT"
						  : "DELETE";
	if (item->action == APPLY_CREATE)
		r.target = arena_printf(arena, "/v1/%s", item->kind->plural);
	else
		r.target = arena_printf(
			arena, "/v1/%s/%s%s%s", item->kind->plural, item->id,
			item->action == APPLY_UPDATE && allow ? "?allow=" : "",
			item->action == APPLY_UPDATE && allow ? allow : "");
	*ret = NULL;
	return request_send(a->cli, &r, ret, p);
}

/* A deletion is waited for: what comes next may be in use until then. */
static int settle(struct apply *a, const struct apply_item *item,
		  struct node *doc, bool waits, struct failure *p)
{
	struct progress_goal goal = {
		.kind = item->kind,
		.doc = doc,
		.aim = item->action == APPLY_DELETE ? PROGRESS_GONE
						    : PROGRESS_SETTLED,
	};
	struct node *now;

	if (!doc ||
	    (item->action != APPLY_DELETE &&
	     (!waits || progress_judge(&goal, doc) == PROGRESS_REACHED)))
		return 0;
	cli_say(a->cli, "Waiting for %s %s", item->kind->name,
		text_safe(&a->cli->arena, item->name));
	return progress_wait(a->cli, &goal, &now, p);
}

static int carry_out(struct apply *a, bool waits)
{
	static const char *const done[] = {
		[APPLY_CREATE] = "Created",
		[APPLY_UPDATE] = "Updated",
		[APPLY_DELETE] = "Deleted",
	};
	struct cli *c = a->cli;

	for (size_t i = 0; i < a->n; i++) {
		struct apply_item *item = &a->items[i];
		struct node *reply, *named = node_new_object(&c->arena);
		struct failure p = {0};

		if (item->action == APPLY_NOTHING)
			continue;
		if (send(a, item, &reply, &p) < 0 ||
		    settle(a, item, reply, waits, &p) < 0) {
			cli_say(c,
				"%zu of %zu were done before this; apply "
				"again to go on.",
				i, a->n);
			return cli_fail(c, &p,
					arena_printf(&c->arena, "apply %s %s",
						     item->kind->name,
						     item->name),
					NULL);
		}
		if (reply && node_text(reply, "id"))
			item->id = node_text(reply, "id");
		node_set(&c->arena, named, "name",
			 node_new_string(&c->arena, item->name,
					 strlen(item->name)));
		output_done(c, item->kind, reply ? reply : named,
			    done[item->action]);
	}
	return EXIT_OK;
}

int apply_run(struct cli *c, int argc, char **argv)
{
	struct apply a = {.cli = c};
	struct args args;
	int rc;

	if (cli_parse(c, apply_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	a.allow = args_value(&args, "allow");
	rc = prepare(&a, &args);
	if (rc)
		return rc;
	if (!c->quiet || args_has(&args, "plan"))
		apply_show(&a);
	if (args_has(&args, "plan") || !count_changes(&a))
		return EXIT_OK;
	if (check_allowed(&a) < 0)
		return EXIT_CONFLICT;
	if (c->ask && !args_has(&args, "yes") && !confirmed(c)) {
		cli_say(c, "Nothing was changed.");
		return EXIT_REFUSED;
	}
	return carry_out(&a, args_has(&args, "wait"));
}

int apply_diff(struct cli *c, int argc, char **argv)
{
	struct apply a = {.cli = c};
	struct args args;
	int rc;

	if (cli_parse(c, diff_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	rc = prepare(&a, &args);
	/* 1 is for what differs. */
	if (rc)
		return rc == EXIT_REFUSED ? EXIT_USAGE : rc;
	apply_show(&a);
	return count_changes(&a) ? EXIT_REFUSED : EXIT_OK;
}

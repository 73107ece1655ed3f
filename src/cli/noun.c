#include "cli/noun.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/uuid.h"
#include "cli/page.h"
#include "cli/request.h"
#include "cli/text.h"
#include "model/kind.h"
#include "model/network.h"

#define FILE_OPTION                                                            \
	{                                                                      \
		"file", 'f',                                                   \
			.argument = "FILE",                                    \
			.doc = "Read the document from a YAML or JSON file, "  \
			       "'-' for "                                      \
			       "standard input; flags override what it says.", \
	}
#define PLAN_OPTION                                                            \
	{                                                                      \
		"plan",                                                        \
			.doc = "Only show what would be done; nothing "        \
			       "changes.",                                     \
	}
#define WAIT_OPTION                                                            \
	{                                                                      \
		"wait", .flags = OPTION_MAYBE, .argument = "STATE",            \
			.doc = "Return when it is in that state, at most "     \
			       "--timeout "                                    \
			       "later.",                                       \
	}
#define MATCH_OPTION                                                           \
	{                                                                      \
		"if-match", .argument = "REVISION",                            \
			    .doc = "Refuse if it has changed since that "      \
				   "revision.",                                \
	}

static const struct command_option list_options[] = {
	{"limit", .argument = "N", .doc = "At most that many."},
	{0},
};

static const struct command_option create_options[] = {
	FILE_OPTION,
	PLAN_OPTION,
	WAIT_OPTION,
	{0},
};

static const struct command_option update_options[] = {
	FILE_OPTION,
	{"merge", .doc = "Merge the file into what is there, rather than "
			 "replace it; null removes."},
	MATCH_OPTION,
	PLAN_OPTION,
	WAIT_OPTION,
	{0},
};

static const struct command_option delete_options[] = {
	{"yes", 'y', .doc = "Do not ask."},
	MATCH_OPTION,
	PLAN_OPTION,
	{"wait", .doc = "Return when it is gone, at most --timeout later."},
	{0},
};

static const struct command_example list_examples[] = {
	{"All of them, and with ids and full times:", "muster {noun} list"},
	{NULL, "muster {noun} list -o wide"},
	{"Those with a tag, for a script:",
	 "muster {noun} list --tag env=prod -o name"},
	{0},
};

static const struct command_example get_examples[] = {
	{"By name:", "muster {noun} get my-{noun}"},
	{"As a document that 'update -f' reads:",
	 "muster {noun} get my-{noun} -o yaml"},
	{0},
};

static const struct command_example create_examples[] = {
	{"By flags:", "muster {noun} create my-{noun}{required}"},
	{"See what would happen first:",
	 "muster {noun} create my-{noun}{required} --plan"},
	{"From a file, under another name:",
	 "muster {noun} create -f {noun}.yaml --name other"},
	{0},
};

static const struct command_example update_examples[] = {
	{"Change a field and a tag:",
	 "muster {noun} update my-{noun} --description 'For the web team' "
	 "--tag env=prod"},
	{"Remove the description:",
	 "muster {noun} update my-{noun} --description ''"},
	{"Edit all of it:", "muster {noun} get my-{noun} -o yaml >{noun}.yaml"},
	{NULL, "muster {noun} update my-{noun} -f {noun}.yaml"},
	{0},
};

static const struct command_example delete_examples[] = {
	{"Asking first:", "muster {noun} delete my-{noun}"},
	{"Two at once, from a script:",
	 "muster {noun} delete one two --yes --wait"},
	{0},
};

static const struct command_example watch_examples[] = {
	{"Everything that happens to {nouns}:", "muster {noun} watch"},
	{"To one of them, a line of JSON an event:",
	 "muster {noun} watch my-{noun} -o json"},
	{0},
};

#define LIST_VERB                                                              \
	{                                                                      \
		"list", "List {nouns}", "",                                    \
			"Prints every one that you may see, or those that "    \
			"the flags let through.",                              \
			list_examples, list_options,                           \
			.fields = COMMAND_FILTERS, .run = noun_list            \
	}
#define GET_VERB                                                               \
	{                                                                      \
		"get", "Show {a} {noun}", "NAME-OR-ID...",                     \
			"Prints every field of one or several.", get_examples, \
			.fields = COMMAND_NARROW, .run = noun_get              \
	}
#define WATCH_VERB                                                             \
	{                                                                      \
		"watch", "Show changes of {nouns} as they happen",             \
			"[NAME-OR-ID]",                                        \
			"Prints those that are there, then a line for each "   \
			"change, until interrupted.  A lost connection is "    \
			"made again, and nothing is missed.",                  \
			watch_examples, .fields = COMMAND_FILTERS,             \
					.run = noun_watch                      \
	}

const struct command noun_verbs[] = {
	LIST_VERB,
	GET_VERB,
	{"create", "Create {a} {noun}", "[NAME]",
	 "The document is made from the flags, from a file, or from a file "
	 "with flags over it.  It is sent with a key of its own, so that one "
	 "is created even if the connection is lost and it is sent again.",
	 create_examples, create_options, .fields = COMMAND_CREATE,
	 .run = noun_create},
	{"update", "Change {a} {noun}", "[NAME-OR-ID]",
	 "Flags change just what they name; an empty value removes a field.  "
	 "With a file the whole document is replaced, or with --merge the "
	 "file is merged into it.",
	 update_examples, update_options, .fields = COMMAND_UPDATE,
	 .run = noun_update},
	{"delete", "Delete {nouns}", "NAME-OR-ID...",
	 "Asks first on a terminal.  All are tried, even if one fails.",
	 delete_examples, delete_options, .fields = COMMAND_NARROW,
	 .run = noun_delete},
	WATCH_VERB,
	{0},
};

const struct command noun_reading_verbs[] = {
	LIST_VERB,
	GET_VERB,
	WATCH_VERB,
	{0},
};

/* The id of what is called TEXT; where it is becomes known with it. */
static int look_up(struct verb *v, const struct kind *k, const char *text,
		   const char **ret_id, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	const char *key = arena_printf(a, "%s %s", k->name, text);
	const struct node *known = node_get(v->found, key);
	struct resolved found;

	if (known) {
		*ret_id = node_string(known, NULL);
		return 0;
	}
	if (resolve_id(v->cli, k, text, v->near, &found, p) < 0)
		return -1;
	if (found.doc)
		resolve_learn(v->cli, v->near, k, found.doc);
	node_set(a, v->found, key,
		 node_new_string(a, found.id, strlen(found.id)));
	*ret_id = found.id;
	return 0;
}

/* Where a thing with that id is. */
static int learn_by_id(struct verb *v, const struct kind *k, const char *id,
		       struct failure *p)
{
	const char *target =
		arena_printf(&v->cli->arena, "/v1/%s/%s", k->plural, id);
	struct node *doc = NULL;

	if (request_get(v->cli, target, &doc, p) < 0)
		return -1;
	if (doc)
		resolve_learn(v->cli, v->near, k, doc);
	return 0;
}

/* Learn from the flag at ROW, when it was given, where things are. */
static int learn_from_flag(struct verb *v, const struct flag *row,
			   const char *option, struct failure *p)
{
	const struct field *f = row->field;
	const struct kind *k = f->refers ? kind_find(f->refers) : NULL;
	const char *value = args_value(&v->args, option), *id;

	if (!k || !value || !*value || strchr(row->path, '.') ||
	    f->type != FIELD_STRING)
		return 0;
	if (row->role == FLAG_NAME && !uuid_valid(value, strlen(value)))
		return look_up(v, k, value, &id, p);
	if (!uuid_valid(value, strlen(value)))
		return 0;
	if (!node_get(v->near, f->name))
		node_set(&v->cli->arena, v->near, f->name,
			 node_new_string(&v->cli->arena, value, strlen(value)));
	/* Of these alone it matters where they are themselves. */
	return k == &network_kind ? learn_by_id(v, k, value, p) : 0;
}

static int make_near(struct verb *v, struct failure *p)
{
	if (v->near)
		return 0;
	v->near = node_new_object(&v->cli->arena);
	if (v->subject && learn_by_id(v, v->kind, v->subject, p) < 0)
		return -1;
	/* What only tells names apart tells those of the others apart, too. */
	for (int narrows = 1; narrows >= 0; narrows--)
		for (size_t i = 0; i < v->flags.n; i++)
			if (v->flags.rows[i].narrows == narrows &&
			    learn_from_flag(v, &v->flags.rows[i],
					    v->flags.options[i].name, p) < 0)
				return -1;
	return 0;
}

static int resolve(void *ctx, const char *kind, const char *text,
		   const char **ret_id, struct failure *p)
{
	struct verb *v = ctx;
	const struct kind *k = kind_find(kind);

	*ret_id = text;
	if (!k || uuid_valid(text, strlen(text)))
		return 0;
	return make_near(v, p) < 0 ? -1 : look_up(v, k, text, ret_id, p);
}

int noun_resolve(struct verb *v, const char *text, struct resolved *ret,
		 struct failure *p)
{
	if (!uuid_valid(text, strlen(text)) && make_near(v, p) < 0)
		return -1;
	return resolve_id(v->cli, v->kind, text, v->near, ret, p);
}

/* What is being tried, for "cannot …": a common verb and its noun, or what the
 * verb's summary says. */
static const char *what_of(struct cli *c, const struct command *command)
{
	char *what;

	if (command_find(noun_verbs, command->name))
		return arena_printf(&c->arena, "%s %s", command->name,
				    command->fields == COMMAND_FILTERS
					    ? c->kind->plural
					    : c->kind->name);
	what = arena_strdup(&c->arena,
			    cli_expand(&c->arena, command->summary, c->kind));
	what[0] = (char)tolower((unsigned char)what[0]);
	return what;
}

/* Of a command whose last words are another's the options end with these. */
static int parse(const struct command *command,
		 const struct command_option *const *tables, int argc,
		 char **argv, struct verb *v, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	struct args *args = &v->args, more;
	int at;

	if (!command->passes_on)
		return args_parse(tables, argc, argv, a, args, &p->err);
	at = args_parse_head(tables, argc, argv, a, args, &p->err);
	if (at < 0 || at == argc)
		return at < 0 ? -1 : 0;
	args->words[args->n_words++] = argv[at];
	argv += at;
	argc -= at;
	at = args_parse_head(tables, argc, argv, a, &more, &p->err);
	if (at < 0)
		return -1;
	for (size_t i = 0; i < more.n; i++)
		args->given[args->n++] = more.given[i];
	for (; at < argc; at++)
		args->words[args->n_words++] = argv[at];
	return 0;
}

int noun_begin(struct verb *v, struct cli *c, int argc, char **argv)
{
	const struct command *command = c->command;
	struct page page = {c->path, command, c->kind};
	const struct command_option *tables[] = {cli_options, cli_options,
						 cli_options, NULL};
	struct failure p = {.usage = true};

	*v = (struct verb){
		.cli = c,
		.kind = c->kind,
		.found = node_new_object(&c->arena),
		.what = what_of(c, command),
	};
	page_options(c, &page, &v->flags);
	if (v->flags.n)
		tables[0] = v->flags.options;
	if (command->options)
		tables[1] = command->options;
	v->world = (struct flags_world){
		.arena = &c->arena,
		.now = clock_wall(c->clock),
		.resolve = resolve,
		.ctx = v,
	};
	if (parse(command, tables, argc, argv, v, &p) < 0 ||
	    cli_take(c, &v->args, &p) < 0) {
		cli_fail(c, &p, NULL, NULL);
		return -1;
	}
	v->planning = args_has(&v->args, "plan");
	return 0;
}

int noun_fail(const struct verb *v, const struct failure *p)
{
	return cli_fail(v->cli, p, v->what, &v->flags);
}

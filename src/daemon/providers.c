#include "daemon/providers.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/field_ops.h"
#include "base/uuid.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "daemon/given.h"
#include "model/region.h"
#include "provider/driver.h"
#include "provider/front.h"
#include "provider/verify.h"

#define TEXT_MOST ((size_t)1 << 20)

static void set_text(struct arena *a, struct node *n, const char *key,
		     const char *text)
{
	if (text)
		node_set(a, n, key, node_new_string(a, text, strlen(text)));
}

static const char *const type_names[] = {
	[FIELD_STRING] = "string", [FIELD_INT] = "integer",
	[FIELD_BOOL] = "boolean",  [FIELD_TIME] = "time",
	[FIELD_ENUM] = "word",     [FIELD_RAW] = "object",
	[FIELD_TAGS] = "tags",     [FIELD_OBJECT] = "object",
	[FIELD_LIST] = "list",
};

/* A table of fields as rows of name, type, default and documentation. */
static struct node *describe_fields(const struct field *fields, struct arena *a)
{
	struct node *list = node_new_array(a);
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		struct node *row = node_new_object(a);
		struct err err;

		set_text(a, row, "name", f->name);
		set_text(a, row, "type", type_names[f->type]);
		if (f->fallback)
			node_set(a, row, "default",
				 json_parse(f->fallback, strlen(f->fallback), a,
					    &err));
		if (f->flags & FIELD_REQUIRED)
			node_set(a, row, "required", node_new_bool(a, true));
		set_text(a, row, "doc", f->doc);
		if (f->type == FIELD_LIST && f->item == FIELD_OBJECT)
			node_set(a, row, "fields",
				 describe_fields(f->fields, a));
		node_append(a, list, row);
	}
	return list;
}

static struct node *describe_driver(const struct driver *d, struct arena *a)
{
	struct node *n = node_new_object(a);

	set_text(a, n, "name", d->name);
	set_text(a, n, "title", d->title);
	set_text(a, n, "doc", d->doc);
	if (d->options)
		node_set(a, n, "options", describe_fields(d->options, a));
	if (d->credentials)
		node_set(a, n, "credentials",
			 describe_fields(d->credentials, a));
	return n;
}

static void print_fields(struct cli *c, const char *title,
			 const struct field *fields)
{
	struct field_walk w = field_walk(fields);
	struct buf b = BUF_INIT(TEXT_MOST);
	const struct field *f;
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, title, 0);
	table_column(&t, "TYPE", 0);
	table_column(&t, "DEFAULT", 0);
	table_column(&t, "MEANING", TABLE_CUT);
	while ((f = field_walk_next(&w, NULL))) {
		table_cell(&t, f->name, TONE_PLAIN);
		table_cell(&t, type_names[f->type], TONE_FAINT);
		table_cell(&t, f->fallback ? f->fallback : "", TONE_FAINT);
		table_cell(&t, f->doc ? f->doc : "", TONE_PLAIN);
	}
	buf_addc(&b, '\n');
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static void print_driver(struct cli *c, const struct driver *d)
{
	fprintf(c->out, "%s - %s\n\n%s\n", d->name, d->title, d->doc);
	if (d->options)
		print_fields(c, "OPTION", d->options);
	if (d->credentials)
		print_fields(c, "CREDENTIAL", d->credentials);
}

static void print_table(struct cli *c)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct table t;

	table_init(&t, &c->arena);
	table_column(&t, "NAME", 0);
	table_column(&t, "TITLE", TABLE_CUT);
	for (size_t i = 0; drivers[i]; i++) {
		table_cell(&t, drivers[i]->name, TONE_PLAIN);
		table_cell(&t, drivers[i]->title, TONE_PLAIN);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static int run_list(struct cli *c, int argc, char **argv)
{
	struct node *list = node_new_array(&c->arena);
	struct args args;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 1) < 0)
		return EXIT_USAGE;
	if (args.n_words && !driver_find(args.words[0])) {
		fprintf(c->err, "muster: there is no provider \"%s\"\n",
			args.words[0]);
		return EXIT_NOT_FOUND;
	}
	for (size_t i = 0; drivers[i]; i++) {
		if (args.n_words &&
		    strcmp(drivers[i]->name, args.words[0]) != 0)
			continue;
		if (c->output == OUTPUT_NAME)
			fprintf(c->out, "%s\n", drivers[i]->name);
		else if (args.n_words || c->output == OUTPUT_WIDE)
			if (c->output < OUTPUT_JSON)
				print_driver(c, drivers[i]);
		node_append(&c->arena, list,
			    describe_driver(drivers[i], &c->arena));
	}
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
		output_document(c, list, c->output == OUTPUT_YAML);
	else if (!args.n_words && c->output < OUTPUT_WIDE)
		print_table(c);
	return EXIT_OK;
}

static const struct command_option verify_options[] = {
	{"provider", .argument = "NAME",
	 .doc = "The driver, when no region is named."},
	{"options", .argument = "FILE|JSON",
	 .doc = "Its options, instead of the region's."},
	{"credentials", .argument = "FILE",
	 .doc = "What it signs in with: a server does not tell a region's."},
	{"flavor", .argument = "ID",
	 .doc = "The provider's id of the flavor to launch; the least one when "
		"not given."},
	{"image", .argument = "ID",
	 .doc = "The provider's id of the image to launch."},
	{"import", .argument = "URI",
	 .doc = "Where an image to import is to be had; one of Debian's, from "
		"the Internet, when not given."},
	{"zone", .argument = "ZONE", .doc = "Where to launch."},
	{"patience", .argument = "DURATION",
	 .doc = "How long one thing may take; as long as the driver says when "
		"not given."},
	{0},
};

/* What is to be verified. */
struct target {
	const char *provider;
	const struct node *options, *credentials;
};

static int read_region(struct cli *c, const char *name, struct target *t,
		       struct failure *p)
{
	struct resolved region;
	const struct node *spec;

	if (resolve_id(c, &region_kind, name, NULL, &region, p) < 0)
		return -1;
	if (!region.doc &&
	    request_get(c,
			arena_join(&c->arena, "/v1/regions/", region.id, NULL),
			&region.doc, p) < 0)
		return -1;
	spec = node_get(region.doc, "spec");
	t->provider = spec ? node_text(spec, "provider") : NULL;
	t->options = spec ? node_get(spec, "options") : NULL;
	return 0;
}

static int read_target(struct cli *c, const struct args *args, struct target *t,
		       struct failure *p)
{
	const char *options = args_value(args, "options");
	const char *credentials = args_value(args, "credentials");

	*t = (struct target){.provider = args_value(args, "provider")};
	if (args->n_words && read_region(c, args->words[0], t, p) < 0)
		return -1;
	if (!t->provider)
		return failure_usage(p, "name a region, or a --provider");
	if (options) {
		t->options = given_document(options, &c->arena, &p->err);
		if (!t->options)
			return -1;
	}
	if (credentials) {
		t->credentials =
			given_document(credentials, &c->arena, &p->err);
		if (!t->credentials)
			return -1;
	}
	return 0;
}

struct telling {
	struct cli *cli;
	unsigned n;
};

static void tell(void *ctx, const char *check, enum verify_outcome outcome,
		 const char *why)
{
	struct telling *t = ctx;

	fprintf(t->cli->out, "%s %u - %s%s%s\n",
		outcome == VERIFY_FAILED ? "not ok" : "ok", ++t->n, check,
		outcome == VERIFY_SKIPPED ? " # SKIP " : "",
		outcome == VERIFY_SKIPPED ? why : "");
	if (outcome == VERIFY_FAILED)
		fprintf(t->cli->out, "  # %s\n", why);
	fflush(t->cli->out);
}

static int verify_open(struct cli *c, const struct args *args,
		       struct provider *p)
{
	struct telling telling = {.cli = c};
	struct verify_conf conf = {.provider = p,
				   .flavor = args_value(args, "flavor"),
				   .image = args_value(args, "image"),
				   .zone = args_value(args, "zone"),
				   .import = args_value(args, "import"),
				   .tell = tell,
				   .ctx = &telling};
	const char *patience = args_value(args, "patience");
	struct verify_result r;

	if (patience && text_duration(patience, &conf.patience_ms) < 0)
		return cli_usage(c,
				 "--patience: '%s' is not a duration like 30s",
				 patience);
	verify_run(&conf, &r);
	fprintf(c->out, "%u passed, %u failed, %u orphans\n", r.passed,
		r.failed, r.orphans);
	return r.failed || r.orphans ? EXIT_REFUSED : EXIT_OK;
}

/* A folder for what a driver keeps on this machine.  Who runs machines may be
 * another user, and must come through. */
static int make_folder(struct cli *c, const char **ret, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *path = arena_join(&c->arena, tmp && *tmp ? tmp : "/tmp",
				"/muster-verify-XXXXXX", NULL);

	if (!mkdtemp(path) || chmod(path, 0711) < 0)
		return err_set(err, ERR_PROVIDER, "cannot make %s: %s", path,
			       strerror(errno));
	*ret = path;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

static int run_verify(struct cli *c, int argc, char **argv)
{
	char installation[UUID_LEN + 1];
	struct provider_conf conf = {.region = "verify",
				     .installation = installation};
	struct failure p = {0};
	struct provider *provider;
	struct target t;
	struct args args;
	int rc;

	if (cli_parse(c, verify_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 1) < 0)
		return EXIT_USAGE;
	uuid_v7(clock_wall(c->clock), 0, c->random, installation);
	if (read_target(c, &args, &t, &p) < 0)
		return cli_fail(c, &p, "verify", NULL);
	conf.options = t.options;
	conf.credentials = t.credentials;
	if (make_folder(c, &conf.folder, &p.err) < 0)
		return cli_fail(c, &p, "verify", NULL);
	if (provider_open(t.provider, &conf, &provider, &p.err) < 0) {
		rc = cli_fail(c, &p, "open the provider", NULL);
	} else {
		cli_say(c,
			"Launching and terminating machines of installation "
			"%s.",
			installation);
		rc = verify_open(c, &args, provider);
		provider_close(provider);
	}
	nftw(conf.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return rc;
}

static const struct command_example list_examples[] = {
	{"What there is:", "muster provider list"},
	{"The options of one:", "muster provider list sim"},
	{"Everything, for a script:", "muster provider list -o json"},
	{0},
};

static const struct command_example verify_examples[] = {
	{"The account of a region, with its credentials:",
	 "muster provider verify eu-1 --credentials eu-1.yaml"},
	{"Before there is a region:",
	 "muster provider verify --provider sim --options "
	 "'{\"consistencyMs\": 500}'"},
	{0},
};

const struct command provider_commands[] = {
	{"list", "List the providers there are, and what they are told",
	 "[NAME]",
	 "Without a name one line each; with one, its options and what they "
	 "mean.",
	 list_examples, .run = run_list},
	{"verify", "Check that a provider keeps to the contract", "[REGION]",
	 "Launches a few of the least machines there are, does everything to "
	 "them that the provider says it can, terminates them, and looks for "
	 "what was left behind.  On a real account this costs a little.  The "
	 "calls are made from this machine; nothing of a running server is "
	 "touched.",
	 verify_examples, verify_options, .run = run_verify},
	{0},
};

/* build - a guest image, made here and brought into a region. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/recipe.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/kind.h"

enum { LOG_MOST = 8192 };

struct build {
	struct verb verb;
	const char *recipe; /* "tiny" */
	const char *to;     /* the file that is made */
	bool imports;       /* it is only there to be imported */
	struct node *patch; /* what the flags say of the image */
};

static void say_step(void *ctx, const char *words)
{
	const struct build *b = ctx;

	cli_say(b->verb.cli, "%s...", text_safe(&b->verb.cli->arena, words));
}

/* A server reads files of its import folder only. */
static int choose_import(struct build *b, struct failure *p)
{
	struct arena *a = &b->verb.cli->arena;
	const char *data = args_value(&b->verb.args, "data");
	const char *folder =
		arena_join(a, data ? data : "./var", "/import", NULL);
	char whole[PATH_MAX];

	if (!realpath(folder, whole)) {
		p->hint = "Run it where the server runs, and say with --data "
			  "where its data folder is; or make a file with "
			  "--to, put it where the server can fetch it, and "
			  "import that: muster image create --uri";
		return err_set(&p->err, ERR_NOT_FOUND, "%s: %s", folder,
			       strerror(errno));
	}
	b->imports = true;
	b->to = arena_printf(a, "%s/%s-%ld.qcow2", whole, b->recipe,
			     (long)getpid());
	return 0;
}

/* A flag that says something of an image in a region; NULL: none is given. */
static const char *given_flag(const struct build *b)
{
	const struct flags *f = &b->verb.flags;

	for (size_t i = 0; i < f->n; i++)
		if (args_has(&b->verb.args, f->options[i].name))
			return f->options[i].name;
	return NULL;
}

/* Whatever would be refused afterwards is refused before there is an image. */
static int choose(struct build *b, struct failure *p)
{
	const struct args *args = &b->verb.args;
	const char *to = args_value(args, "to"), *flag = given_flag(b);
	bool region = args_has(args, "region") || args_has(args, "region-id");

	if (to && region)
		return failure_usage(p, "it goes to a file (--to) or to a "
					"region (--region), not to both");
	if (region && !args_has(args, "project") &&
	    !args_has(args, "project-id"))
		return failure_usage(p, "in a region it is a project's: say "
					"whose with --project");
	if (region)
		return choose_import(b, p);
	if (flag)
		return failure_usage(p,
				     "--%s is of an image in a region: say "
				     "which with --region",
				     flag);
	b->to = to && *to ? to
			  : arena_join(&b->verb.cli->arena, b->recipe, ".qcow2",
				       NULL);
	return 0;
}

/* What programs said last. */
static void show_log(struct cli *c, char *log)
{
	char *rest, *line = strtok_r(log, "\n", &rest);

	for (; line; line = strtok_r(NULL, "\n", &rest))
		fprintf(c->err, "  %s\n", text_safe(&c->arena, line));
}

static int make(struct build *b, struct recipe_made *ret, struct failure *p)
{
	struct cli *c = b->verb.cli;
	uint64_t began = clock_mono(c->clock);
	struct buf log = BUF_INIT(LOG_MOST);
	struct recipe r = {
		.name = b->recipe,
		.to = b->to,
		.step = say_step,
		.ctx = b,
		.log = &log,
	};
	int rc = recipe_make(&r, &c->arena, ret, &p->err);

	if (rc < 0 && log.len)
		show_log(c, log.data);
	if (rc == 0)
		cli_say(c, "Made %s: %.1f MiB, in %.1f s.",
			b->imports ? "the image" : b->to,
			(double)ret->bytes / (1 << 20),
			(double)(clock_mono(c->clock) - began) / 1000);
	buf_release(&log);
	return rc;
}

/* As sha256sum(1) says it, or with all that is known of it. */
static void show(const struct build *b, const struct recipe_made *made)
{
	struct cli *c = b->verb.cli;
	struct arena *a = &c->arena;
	struct node *doc;

	if (c->output != OUTPUT_JSON && c->output != OUTPUT_YAML) {
		fprintf(c->out, "%s  %s\n", made->sha256, b->to);
		return;
	}
	doc = node_new_object(a);
	node_set(a, doc, "file", node_new_string(a, b->to, strlen(b->to)));
	node_set(a, doc, "sizeBytes", node_new_int(a, made->bytes));
	node_set(a, doc, "spec", made->spec);
	output_document(c, doc, c->output == OUTPUT_YAML);
}

static int import(struct build *b, const struct recipe_made *made)
{
	struct cli *c = b->verb.cli;
	struct arena *a = &c->arena;
	struct node *doc = node_new_object(a);
	const char *name = b->recipe;
	struct request r = {.method = "POST", .target = "/v1/images"};
	struct failure p = {0};
	struct node *reply = NULL;
	struct progress_goal goal = {b->verb.kind, NULL, PROGRESS_STATE,
				     "ready"};
	const char *uri = arena_join(a, "file://", b->to, NULL);

	node_set(a, made->spec, "uri", node_new_string(a, uri, strlen(uri)));
	node_set(a, doc, "name", node_new_string(a, name, strlen(name)));
	node_set(a, doc, "spec", made->spec);
	r.body = node_merge(a, doc, b->patch);
	if (request_send(c, &r, &reply, &p) < 0) {
		unlink(b->to);
		return noun_fail(&b->verb, &p);
	}
	goal.doc = reply;
	if (noun_wait(&b->verb, &goal, &reply, &p) < 0) {
		cli_say(c, "The image is still in %s.", b->to);
		return noun_fail(&b->verb, &p);
	}
	unlink(b->to); /* the server has a copy of its own */
	output_done(c, b->verb.kind, reply, "Created");
	return EXIT_OK;
}

static int check_recipe(struct build *b, struct failure *p)
{
	b->recipe = b->verb.args.words[0];
	for (size_t i = 0; recipe_names[i]; i++)
		if (strcmp(recipe_names[i], b->recipe) == 0)
			return 0;
	return failure_usage(p,
			     "there is no '%s': 'tiny' and 'debian' can be "
			     "built",
			     b->recipe);
}

int image_build(struct cli *c, int argc, char **argv)
{
	struct recipe_made made;
	struct failure p = {0};
	struct build b = {0};

	if (noun_begin(&b.verb, c, argc, argv) < 0 ||
	    cli_words(c, &b.verb.args, 1, 1) < 0)
		return EXIT_USAGE;
	/* What names mean is asked before there is much to lose. */
	if (check_recipe(&b, &p) < 0 || choose(&b, &p) < 0 ||
	    (b.imports && flags_patch(&b.verb.flags, &b.verb.args,
				      &b.verb.world, &b.patch, &p) < 0) ||
	    make(&b, &made, &p) < 0)
		return noun_fail(&b.verb, &p);
	node_set(&c->arena, made.spec, "checksum",
		 node_new_string(
			 &c->arena,
			 arena_join(&c->arena, "sha256:", made.sha256, NULL),
			 7 + strlen(made.sha256)));
	if (!b.imports) {
		show(&b, &made);
		return EXIT_OK;
	}
	return import(&b, &made);
}

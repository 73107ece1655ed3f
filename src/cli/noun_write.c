/* create, update and delete. */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/text.h"
#include "model/kind.h"

static const char *target_of(const struct verb *v, const char *id)
{
	const char *allow = args_value(&v->args, "allow");
	bool plan = v->planning;

	return arena_printf(&v->cli->arena, "/v1/%s%s%s%s%s%s", v->kind->plural,
			    id ? "/" : "", id ? id : "",
			    plan ? "?plan=true" : "",
			    allow ? (plan ? "&allow=" : "?allow=") : "",
			    allow ? allow : "");
}

/* The document that --file names; NULL in *RET when there is no --file. */
static int read_document(const struct verb *v, struct node **ret,
			 struct failure *p)
{
	const char *path = args_value(&v->args, "file"), *text;
	struct arena *a = &v->cli->arena;
	size_t len, blank;

	*ret = NULL;
	if (!path)
		return 0;
	p->usage = true;
	if (settings_read_file(path, a, &text, &len, &p->err) < 0)
		return -1;
	blank = strspn(text, " \t\r\n");
	*ret = text[blank] == '{' ? json_parse(text, len, a, &p->err)
				  : yaml_parse(text, len, a, &p->err);
	if (!*ret)
		return err_wrap(&p->err, "%s", path);
	if (node_type(*ret) != NODE_OBJECT)
		return failure_usage(p, "%s holds %s, not a document", path,
				     node_type_name(*ret));
	p->usage = false;
	return 0;
}

/* The state that what was created comes to by itself. */
static const char *usual_state(const struct field *f, const struct node *doc)
{
	static const char *const usual[] = {
		"running", "ready", "available", "active", "provisioned", NULL};
	const char *power = node_text(doc, "spec.power");

	if (power && strcmp(power, "off") == 0)
		return "stopped";
	for (size_t u = 0; usual[u]; u++)
		for (size_t i = 1; f->names && f->names[i]; i++)
			if (strcmp(f->names[i], usual[u]) == 0)
				return f->names[i];
	return NULL;
}

/* What --wait asks for; false when there is nothing to wait for. */
static bool wanted(const struct verb *v, bool creates, const struct node *doc,
		   struct progress_goal *ret)
{
	const char *state = args_value(&v->args, "wait");
	const struct field *f = flags_state(v->kind, &v->cli->arena, NULL);

	*ret = (struct progress_goal){.kind = v->kind, .doc = doc};
	if (!state || v->planning || !f || !node_text(doc, "id"))
		return false;
	ret->aim = !*state && !creates ? PROGRESS_SETTLED : PROGRESS_STATE;
	ret->state = *state ? state : usual_state(f, doc);
	return ret->aim == PROGRESS_SETTLED || ret->state;
}

/* What follows --wait is a state of the noun. */
static int check_wait(const struct verb *v, struct failure *p)
{
	const char *state = args_value(&v->args, "wait");
	const struct field *f = flags_state(v->kind, &v->cli->arena, NULL);

	if (!state || !*state)
		return 0;
	if (!f)
		return failure_usage(p, "--wait: %s have no state to wait for",
				     v->kind->plural);
	for (size_t i = 1; f->names && f->names[i]; i++)
		if (strcmp(f->names[i], state) == 0)
			return 0;
	return failure_usage(p, "--wait: '%s' is not a state of %s", state,
			     v->kind->plural);
}

int noun_wait(struct verb *v, const struct progress_goal *goal,
	      struct node **doc, struct failure *p)
{
	struct cli *c = v->cli;
	const char *name = node_text(*doc, "name");

	if (goal->aim != PROGRESS_GONE &&
	    progress_judge(goal, *doc) == PROGRESS_REACHED)
		return 0;
	v->what = arena_printf(&c->arena, "wait for %s %s", goal->kind->name,
			       name ? name : node_text(*doc, "id"));
	return progress_wait(c, goal, doc, p);
}

void noun_done(const struct verb *v, const struct node *doc, const char *done)
{
	struct cli *c = v->cli;
	const char *state = node_text(doc, "status.state");
	const char *inside = node_text(doc, "status.privateIp");
	const char *outside = node_text(doc, "status.publicIp");

	output_done(c, v->kind, doc, done);
	if (!state || !args_has(&v->args, "wait") ||
	    c->output != OUTPUT_DEFAULT)
		return;
	if (strcmp(state, "running") != 0)
		inside = outside = NULL;
	cli_say(c, "It is %s%s%s%s%s.", text_safe(&c->arena, state),
		inside ? ", at " : "",
		inside ? text_safe(&c->arena, inside) : "",
		outside ? ", from outside at " : "",
		outside ? text_safe(&c->arena, outside) : "");
}

/* Send R, wait if asked to, and say what was done. */
static int carry_out(struct verb *v, const struct request *r, const char *done)
{
	struct cli *c = v->cli;
	struct node *reply = NULL;
	struct failure p = {0};
	struct progress_goal goal;
	bool creates = strcmp(r->method, "POST") == 0;

	if (check_wait(v, &p) < 0 || request_send(c, r, &reply, &p) < 0)
		return noun_fail(v, &p);
	if (!reply)
		return EXIT_OK;
	if (v->planning) {
		output_plan(c, v->kind, reply);
		return EXIT_OK;
	}
	if (wanted(v, creates, reply, &goal) &&
	    noun_wait(v, &goal, &reply, &p) < 0)
		return noun_fail(v, &p);
	noun_done(v, reply, done);
	return EXIT_OK;
}

int noun_create(struct cli *c, int argc, char **argv)
{
	struct request r = {.method = "POST"};
	struct node *document, *patch;
	struct failure p = {0};
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 0, 1) < 0)
		return EXIT_USAGE;
	if (read_document(&v, &document, &p) < 0 ||
	    flags_patch(&v.flags, &v.args, &v.world, &patch, &p) < 0)
		return noun_fail(&v, &p);
	if (v.args.n_words && node_get(patch, "name"))
		return cli_usage(c, "the name is given twice: '%s' and --name",
				 v.args.words[0]);
	if (v.args.n_words)
		node_set(&c->arena, patch, "name",
			 node_new_string(&c->arena, v.args.words[0],
					 strlen(v.args.words[0])));
	if (!document && !node_count(patch))
		return cli_usage(c, "nothing to create: give a name and flags, "
				    "or a file with -f");
	r.target = target_of(&v, NULL);
	r.body = node_merge(&c->arena, document, patch);
	return carry_out(&v, &r, "Created");
}

/* PATCH over DOCUMENT, which is a patch too: nulls stay. */
static struct node *put_over(struct arena *a, struct node *document,
			     const struct node *patch)
{
	struct node_walk w = node_walk(patch);
	struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key))) {
		struct node *old = node_get(document, key);

		if (old && node_type(old) == NODE_OBJECT &&
		    node_type(n) == NODE_OBJECT)
			n = put_over(a, old, n);
		node_set(a, document, key, n);
	}
	return document;
}

/* Whether there is anything to send. */
static int check_update(const struct verb *v, const struct node *document)
{
	bool changes = document != NULL;

	if (!document && args_has(&v->args, "merge")) {
		cli_usage(v->cli, "--merge is about a file: give one with -f");
		return -1;
	}
	for (size_t i = 0; i < v->flags.n && !changes; i++)
		changes = !v->flags.rows[i].narrows &&
			  args_has(&v->args, v->flags.options[i].name);
	if (changes)
		return 0;
	cli_usage(v->cli, "nothing to change: give a flag, or a file with -f");
	return -1;
}

static void update_request(const struct verb *v, struct node *document,
			   struct node *patch, struct request *r)
{
	struct arena *a = &v->cli->arena;

	r->if_match = args_value(&v->args, "if-match");
	if (document && !args_has(&v->args, "merge")) {
		r->method = "PUT";
		r->body = node_merge(a, document, patch);
		return;
	}
	r->method = "PATCH";
	r->content_type = "application/merge-patch+json";
	r->body = document ? put_over(a, document, patch) : patch;
}

/* What to update: the word typed, or what the document says it is. */
static const char *subject(const struct verb *v, const struct node *document)
{
	const char *text;

	if (v->args.n_words)
		return v->args.words[0];
	if (!document)
		return NULL;
	text = node_text(document, "id");
	return text ? text : node_text(document, "name");
}

static int update(struct cli *c, int argc, char **argv, bool planning)
{
	struct request r = {0};
	struct node *document, *patch;
	struct failure p = {0};
	struct resolved found;
	const char *text;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 0, 1) < 0)
		return EXIT_USAGE;
	v.planning = v.planning || planning;
	if (read_document(&v, &document, &p) < 0)
		return noun_fail(&v, &p);
	text = subject(&v, document);
	if (!text)
		return cli_usage(c, "which %s?  Give its name or id",
				 v.kind->name);
	if (check_update(&v, document) < 0)
		return EXIT_USAGE;
	if (noun_resolve(&v, text, &found, &p) < 0)
		return noun_fail(&v, &p);
	v.subject = found.id;
	v.near = NULL; /* with the subject more is known */
	if (flags_patch(&v.flags, &v.args, &v.world, &patch, &p) < 0)
		return noun_fail(&v, &p);
	update_request(&v, document, patch, &r);
	r.target = target_of(&v, found.id);
	return carry_out(&v, &r, "Updated");
}

int noun_update(struct cli *c, int argc, char **argv)
{
	return update(c, argc, argv, false);
}

int noun_plan(struct cli *c, int argc, char **argv)
{
	return update(c, argc, argv, true);
}

static bool confirm(struct cli *c, const struct verb *v)
{
	char answer[16] = "";

	fprintf(c->err, "Delete %s",
		v->args.n_words == 1 ? v->kind->name : v->kind->plural);
	for (size_t i = 0; i < v->args.n_words; i++)
		fprintf(c->err, "%s %s", i ? "," : "",
			text_safe(&c->arena, v->args.words[i]));
	fprintf(c->err, "? [y/N] ");
	fflush(c->err);
	return fgets(answer, sizeof(answer), c->in) &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static void say_deleted(struct verb *v, const char *text, const char *id,
			const struct node *reply)
{
	struct cli *c = v->cli;
	bool under_way = reply && node_text(reply, "deletedAt") &&
			 !args_has(&v->args, "wait");
	struct node *doc = node_new_object(&c->arena);

	if (reply && c->output != OUTPUT_DEFAULT) {
		output_one(c, v->kind, reply);
		return;
	}
	node_set(&c->arena, doc, "id",
		 node_new_string(&c->arena, id, strlen(id)));
	if (strcmp(text, id) != 0)
		node_set(&c->arena, doc, "name",
			 node_new_string(&c->arena, text, strlen(text)));
	output_done(c, v->kind, doc, under_way ? "Deleting" : "Deleted");
}

static int delete_one(struct verb *v, const char *text)
{
	struct cli *c = v->cli;
	struct request r = {
		.method = "DELETE",
		.if_match = args_value(&v->args, "if-match"),
	};
	struct node *reply = NULL;
	struct failure p = {0};
	struct resolved found;

	if (noun_resolve(v, text, &found, &p) < 0)
		return noun_fail(v, &p);
	r.target = target_of(v, found.id);
	if (request_send(c, &r, &reply, &p) < 0)
		return noun_fail(v, &p);
	if (v->planning) {
		if (reply)
			output_plan(c, v->kind, reply);
		return EXIT_OK;
	}
	if (reply && args_has(&v->args, "wait")) {
		struct progress_goal goal = {v->kind, reply, PROGRESS_GONE,
					     NULL};
		struct node *gone = reply;

		if (noun_wait(v, &goal, &gone, &p) < 0)
			return noun_fail(v, &p);
	}
	say_deleted(v, text, found.id, reply);
	return EXIT_OK;
}

int noun_delete(struct cli *c, int argc, char **argv)
{
	int worst = EXIT_OK;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, SIZE_MAX) < 0)
		return EXIT_USAGE;
	if (args_has(&v.args, "if-match") && v.args.n_words > 1)
		return cli_usage(c, "--if-match is about one %s", v.kind->name);
	if (c->ask && !args_has(&v.args, "yes") && !v.planning &&
	    !confirm(c, &v)) {
		cli_say(c, "Nothing was deleted.");
		return EXIT_REFUSED;
	}
	for (size_t i = 0; i < v.args.n_words; i++) {
		int rc = delete_one(&v, v.args.words[i]);

		worst = worst ? worst : rc;
	}
	return worst;
}

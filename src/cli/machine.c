/* The verbs that do something to a machine: start, stop, reboot, rebuild, … */
#include <string.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/region.h"
#include "model/volume.h"

struct action {
	const struct kind *kind;
	const char *verb;
	const char *begun, *done; /* without and with --wait */
	const char *state;        /* that is aimed at, or NULL */
	enum progress_aim aim;
	int paused; /* it sets this instead: 1 or 0; -1: it does not */
};

static const struct action actions[] = {
	{&instance_kind, "start", "Starting", "Started", "running",
	 PROGRESS_STATE, -1},
	{&instance_kind, "stop", "Stopping", "Stopped", "stopped",
	 PROGRESS_STATE, -1},
	{&instance_kind, "reboot", "Rebooting", "Rebooted", NULL,
	 PROGRESS_SETTLED, -1},
	{&instance_kind, "rebuild", "Rebuilding", "Rebuilt", NULL,
	 PROGRESS_SETTLED, -1},
	{&instance_kind, "pause", "Paused", "Paused", NULL, PROGRESS_SETTLED,
	 1},
	{&instance_kind, "resume", "Resumed", "Resumed", NULL, PROGRESS_SETTLED,
	 0},
	{&region_kind, "pause", "Paused", "Paused", NULL, PROGRESS_SETTLED, 1},
	{&region_kind, "resume", "Resumed", "Resumed", NULL, PROGRESS_SETTLED,
	 0},
	{&region_kind, "sync", "Reading the catalogue of", "Read", NULL,
	 PROGRESS_SYNCED, -1},
	{&region_kind, "accept", "Accepted what is missing from",
	 "Accepted what is missing from", NULL, PROGRESS_SETTLED, -1},
};

static const struct action *find_action(const struct kind *k, const char *verb)
{
	for (size_t i = 0; i < COUNT_OF(actions); i++)
		if (actions[i].kind == k && strcmp(actions[i].verb, verb) == 0)
			return &actions[i];
	return NULL;
}

static void set_text(struct arena *a, struct node *n, const char *key,
		     const char *text)
{
	node_set(a, n, key, node_new_string(a, text, strlen(text)));
}

/* What is sent with it, from the options that were given. */
static int make_body(struct verb *v, const struct action *act,
		     struct node **ret, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	struct node *body = node_new_object(a), *spec = node_new_object(a);
	const char *image = args_value(&v->args, "image");

	if (act->paused >= 0) {
		node_set(a, spec, "paused", node_new_bool(a, act->paused));
		node_set(a, body, "spec", spec);
	}
	if (args_has(&v->args, "hard"))
		node_set(a, body, "hard", node_new_bool(a, true));
	if (image) {
		if (v->world.resolve(v, "image", image, &image, p) < 0)
			return -1;
		set_text(a, body, "imageId", image);
	}
	*ret = node_count(body) ? body : NULL;
	return 0;
}

static int make_request(struct verb *v, const struct action *act,
			struct request *r, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	const char *allow = args_value(&v->args, "allow");
	struct node *body;

	if (make_body(v, act, &body, p) < 0)
		return -1;
	*r = (struct request){.method = "POST", .body = body};
	if (act->paused >= 0) {
		r->method = "PATCH";
		r->content_type = "application/merge-patch+json";
		r->target = arena_printf(a, "/v1/%s/%s", v->kind->plural,
					 v->subject);
		return 0;
	}
	r->target = arena_printf(
		a, "/v1/%s/%s/%s%s%s%s%s", v->kind->plural, v->subject,
		act->verb, allow || v->planning ? "?" : "",
		v->planning ? "plan=true" : "",
		allow ? (v->planning ? "&allow=" : "allow=") : "",
		allow ? allow : "");
	return 0;
}

static int act_on(struct verb *v, const struct action *act, const char *text)
{
	struct cli *c = v->cli;
	struct node *reply = NULL;
	struct failure p = {0};
	struct resolved found;
	struct request r;
	bool waits = args_has(&v->args, "wait");

	v->what = arena_printf(&c->arena, "%s %s %s", act->verb, v->kind->name,
			       text);
	v->subject = NULL;
	v->near = NULL;
	if (noun_resolve(v, text, &found, &p) < 0)
		return noun_fail(v, &p);
	v->subject = found.id;
	v->near = NULL; /* with the subject more is known */
	if (make_request(v, act, &r, &p) < 0 ||
	    request_send(c, &r, &reply, &p) < 0)
		return noun_fail(v, &p);
	if (!reply)
		return EXIT_OK;
	if (v->planning) {
		output_plan(c, v->kind, reply);
		return EXIT_OK;
	}
	if (waits && act->paused < 0) {
		struct progress_goal goal = {v->kind, reply, act->aim,
					     act->state};

		if (noun_wait(v, &goal, &reply, &p) < 0)
			return noun_fail(v, &p);
	}
	noun_done(v, reply, waits ? act->done : act->begun);
	return EXIT_OK;
}

int machine_act(struct cli *c, int argc, char **argv)
{
	const struct action *act = find_action(c->kind, argv[0]);
	int worst = EXIT_OK;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, SIZE_MAX) < 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < v.args.n_words; i++) {
		int rc = act_on(&v, act, v.args.words[i]);

		worst = worst ? worst : rc;
	}
	return worst;
}

int machine_snapshot(struct cli *c, int argc, char **argv)
{
	struct node *body = node_new_object(&c->arena), *reply = NULL;
	struct request r = {.method = "POST", .body = body};
	struct failure p = {0};
	struct resolved found;
	const char *name;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	name = args_value(&v.args, "name");
	if (!name || !*name)
		return cli_usage(c, "what is the image to be called?  Give it "
				    "--name");
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0)
		return noun_fail(&v, &p);
	set_text(&c->arena, body, "name", name);
	r.target = arena_printf(&c->arena, "/v1/%s/%s/snapshot", v.kind->plural,
				found.id);
	if (request_send(c, &r, &reply, &p) < 0)
		return noun_fail(&v, &p);
	if (!reply)
		return EXIT_OK;
	if (args_has(&v.args, "wait")) {
		struct progress_goal goal = {&image_kind, reply, PROGRESS_STATE,
					     "ready"};

		if (noun_wait(&v, &goal, &reply, &p) < 0)
			return noun_fail(&v, &p);
	}
	output_done(c, &image_kind, reply, "Created");
	return EXIT_OK;
}

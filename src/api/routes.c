#include "api/routes.h"

#include <string.h>

#include "model/organization.h"
#include "model/project.h"

static const char *const none[] = {NULL};
static const char *const list_words[] = {"limit", "after", "at", NULL};
static const char *const get_words[] = {"at", "wait", "timeoutMs", NULL};
static const char *const change_words[] = {"plan", NULL};
static const char *const json[] = {"application/json", NULL};
static const char *const patch[] = {"application/merge-patch+json",
				    "application/json", NULL};

const struct route routes[] = {
	{"GET", "/healthz", NULL, none, NULL, "Whether the process is alive.",
	 handle_health, ROUTE_PUBLIC | ROUTE_PROBE},
	{"GET", "/readyz", NULL, none, NULL,
	 "Whether it takes requests: 503 while it starts or stops.",
	 handle_ready, ROUTE_PUBLIC | ROUTE_PROBE},
	{"GET", "/metrics", NULL, none, NULL, "Numbers for Prometheus.",
	 handle_metrics, ROUTE_PUBLIC | ROUTE_PROBE},
	{"GET", "/v1/version", NULL, none, NULL, "The version of the server.",
	 handle_version, ROUTE_PUBLIC},
	{"GET", "/v1/openapi.json", NULL, none, NULL, "This document.",
	 handle_openapi, ROUTE_PUBLIC},
	{"GET", "/v1/whoami", "read", none, NULL,
	 "Who is calling, and what they may do.", handle_whoami, 0},
	{"GET", "/v1/{noun}", "read", list_words, NULL,
	 "List, or watch with Accept: text/event-stream.", handle_list,
	 ROUTE_FILTERS},
	{"POST", "/v1/{noun}", "create", change_words, json, "Create.",
	 handle_create, 0},
	{"GET", "/v1/{noun}/{id}", "read", get_words, NULL,
	 "Read; with wait, once it has come to that.", handle_get, 0},
	{"PUT", "/v1/{noun}/{id}", "update", change_words, json,
	 "Replace what can be set.", handle_replace, 0},
	{"PATCH", "/v1/{noun}/{id}", "update", change_words, patch,
	 "Change some fields: a JSON merge patch.", handle_patch, 0},
	{"DELETE", "/v1/{noun}/{id}", "delete", change_words, NULL, "Delete.",
	 handle_delete, 0},
	{0},
};

const struct noun nouns[] = {
	{.kind = &organization_kind},
	{.kind = &project_kind},
};

const size_t n_nouns = COUNT_OF(nouns);

static const struct noun *noun_find(const char *plural)
{
	for (size_t i = 0; i < n_nouns; i++)
		if (strcmp(nouns[i].kind->plural, plural) == 0)
			return &nouns[i];
	return NULL;
}

/* SEGMENT is what the piece of a route's path at *STEP stands for, which is
 * moved past it. */
static bool step_fits(struct call *c, const char **step, const char *segment)
{
	const char *p = *step;

	if (*p != '{') {
		/* Most routes differ in the first letter. */
		for (; *segment && *p == *segment; p++)
			segment++;
		*step = p;
		return !*segment && (!*p || *p == '/');
	}
	*step += strcspn(p, "/");
	if (p[1] == 'n')
		c->noun = noun_find(segment);
	else
		c->id = segment;
	return p[1] != 'n' || c->noun;
}

static bool path_fits(struct call *c, const char *path)
{
	size_t i = 0;

	c->noun = NULL;
	c->id = NULL;
	while (*path++ == '/')
		if (i == c->uri.n_segments ||
		    !step_fits(c, &path, c->uri.segments[i++]))
			return false;
	return i == c->uri.n_segments;
}

static void allow_add(struct buf *allow, const char *method)
{
	buf_addf(allow, "%s%s", allow->len ? ", " : "", method);
	if (strcmp(method, "GET") == 0)
		buf_adds(allow, ", HEAD");
}

int route_find(struct call *c, const char *method, struct buf *allow,
	       struct err *err)
{
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	for (const struct route *r = routes; r->method; r++) {
		if (!path_fits(c, r->path))
			continue;
		if (strcmp(r->method, method) == 0) {
			c->route = r;
			return 0;
		}
		allow_add(allow, r->method);
	}
	if (!allow->len)
		return err_set(err, ERR_NOT_FOUND, "there is nothing at %s",
			       c->uri.path);
	buf_adds(allow, ", OPTIONS");
	return err_set(err, ERR_METHOD, "%s does not take %s; it takes %s",
		       c->uri.path, method, buf_str(allow));
}

#include "api/routes.h"

#include <string.h>

#include "api/audit.h"
#include "api/consoles.h"
#include "api/identities.h"
#include "api/instances.h"
#include "api/protect.h"
#include "api/quotas.h"
#include "api/regional.h"
#include "model/event.h"
#include "model/flavor.h"
#include "model/group.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/role.h"
#include "model/securitygroup.h"
#include "model/server.h"
#include "model/serviceaccount.h"
#include "model/sshca.h"
#include "model/token.h"
#include "model/user.h"
#include "model/volume.h"

static const char *const none[] = {NULL};
static const char *const list_words[] = {"limit", "after", "at", NULL};
static const char *const get_words[] = {"at", "wait", "timeoutMs", NULL};
static const char *const change_words[] = {"plan", NULL};
static const char *const risky_words[] = {"plan", "allow", NULL};
static const char *const ticket_words[] = {"ticket", NULL};
static const char *const output_words[] = {"length", NULL};
static const char *const audit_words[] = {
	"limit",     "after",  "who",    "kind",  "objectId", "organizationId",
	"projectId", "action", "result", "since", "until",    NULL};
static const char *const json[] = {"application/json", NULL};
static const char *const patch[] = {"application/merge-patch+json",
				    "application/json", NULL};

const struct route routes[] = {
	/* What is asked for most comes first; those of one path lie together. */
	ROUTE("GET", "/v1/{noun}/{id}", NEED_READ, get_words, NULL,
	      "Read; with wait, once it has come to that.", handle_get, 0),
	ROUTE("PUT", "/v1/{noun}/{id}", NEED_UPDATE, change_words, json,
	      "Replace what can be set.", handle_replace, 0),
	ROUTE("PATCH", "/v1/{noun}/{id}", NEED_UPDATE, change_words, patch,
	      "Change some fields: a JSON merge patch.", handle_patch, 0),
	ROUTE("DELETE", "/v1/{noun}/{id}", NEED_DELETE, change_words, NULL,
	      "Delete.", handle_delete, 0),
	ROUTE("GET", "/v1/{noun}", NEED_READ, list_words, NULL,
	      "List, or watch with Accept: text/event-stream.", handle_list,
	      ROUTE_FILTERS),
	ROUTE("POST", "/v1/{noun}", NEED_CREATE, change_words, json, "Create.",
	      handle_create, 0),
	ROUTE("GET", "/v1/{noun}/{id}/events", NEED_READ, list_words, NULL,
	      "What happened to it.", handle_events, 0),
	ROUTE("GET", "/healthz", NEED_NOTHING, none, NULL,
	      "Whether the process is alive.", handle_health, ROUTE_PROBE),
	ROUTE("GET", "/readyz", NEED_NOTHING, none, NULL,
	      "Whether it takes requests: 503 while it starts or stops.",
	      handle_ready, ROUTE_PROBE),
	ROUTE("GET", "/metrics", NEED_NOTHING, none, NULL,
	      "Numbers for Prometheus.", handle_metrics, ROUTE_PROBE),
	ROUTE("GET", "/v1/version", NEED_NOTHING, none, NULL,
	      "The version of the server.", handle_version, 0),
	ROUTE("GET", "/v1/login", NEED_NOTHING, none, NULL,
	      "Where people can sign in.", handle_login, 0),
	ROUTE("GET", "/v1/openapi.json", NEED_NOTHING, none, NULL,
	      "This document.", handle_openapi, 0),
	ROUTE("GET", "/v1/whoami", NEED_CALLER, none, NULL,
	      "Who is calling, and what they may do.", handle_whoami, 0),
	ROUTE("GET", "/v1/audit", NEED_CALLER, audit_words, NULL,
	      "Who did what, newest first; all of it as lines with Accept: "
	      "application/x-ndjson.",
	      handle_audit, ROUTE_LINES),
	ROUTE("POST", "/v1/tokens/{id}/rotate", NEED_ROTATE, none, NULL,
	      "Give a token a new secret; the old one is void at once.",
	      handle_rotate, 0),
	ROUTE("POST", "/v1/regions/{id}/sync", NEED_SYNC, none, NULL,
	      "Read its flavors and images from the provider now.", handle_sync,
	      0, NULL, &region_kind),
	ROUTE("POST", "/v1/regions/{id}/accept", NEED_SYNC, none, NULL,
	      "Accept that the machines that are missing are gone.",
	      handle_accept, 0, NULL, &region_kind),
	ROUTE("POST", "/v1/volumes/{id}/snapshot", NEED_SNAPSHOT, change_words,
	      json, "Make an image of what is on it.", handle_volume_snapshot,
	      0, volume_snapshot_fields, &image_kind),
	ROUTE("GET", "/v1/organizations/{id}/usage", NEED_READ, none, NULL,
	      "What it uses of each quota kind, and may use.", handle_usage, 0),
	ROUTE("GET", "/v1/projects/{id}/usage", NEED_READ, none, NULL,
	      "What it uses of each quota kind, and may use.", handle_usage, 0),
	ROUTE("POST", "/v1/instances/{id}/start", NEED_START, change_words,
	      NULL, "Have it run; 202.", handle_start, 0, NULL, &instance_kind),
	ROUTE("POST", "/v1/instances/{id}/stop", NEED_STOP, change_words, NULL,
	      "Have it stopped; 202.", handle_stop, 0, NULL, &instance_kind),
	ROUTE("POST", "/v1/instances/{id}/reboot", NEED_REBOOT, change_words,
	      json, "Restart it; 202.", handle_reboot, ROUTE_BODY_OPTIONAL,
	      reboot_fields, &instance_kind),
	ROUTE("POST", "/v1/instances/{id}/rebuild", NEED_REBUILD, risky_words,
	      json, "Put its image, or another, onto its root disk; 202.",
	      handle_rebuild, ROUTE_BODY_OPTIONAL, rebuild_fields,
	      &instance_kind),
	ROUTE("POST", "/v1/instances/{id}/snapshot", NEED_SNAPSHOT,
	      change_words, json, "Make an image of its root disk.",
	      handle_snapshot, 0, snapshot_fields, &image_kind),
	ROUTE("POST", "/v1/instances/{id}/console", NEED_CONSOLE, none, json,
	      "An address to reach its console at.", handle_console,
	      ROUTE_BODY_OPTIONAL | ROUTE_SECRET, console_fields, NULL,
	      console_answer),
	ROUTE("GET", "/v1/instances/{id}/console", NEED_TICKET, ticket_words,
	      NULL,
	      "Its console, as a WebSocket: the address that a POST has given.",
	      handle_console_connect, ROUTE_UPGRADE),
	ROUTE("GET", "/v1/instances/{id}/consoleoutput", NEED_CONSOLE_OUTPUT,
	      output_words, NULL, "The end of what the machine has printed.",
	      handle_console_output, 0, NULL, NULL, output_answer),
	ROUTE("POST", "/v1/instances/{id}/sshcertificate", NEED_SSH_CERTIFICATE,
	      none, json, "Sign a public key, for a short time.",
	      handle_ssh_certificate, 0, certificate_fields, NULL,
	      certificate_answer),
	ROUTE("GET", "/v1/instances/{id}/sshkey", NEED_SSH_KEY, none, NULL,
	      "The key pair that was made with it.", handle_ssh_key,
	      ROUTE_SECRET, NULL, NULL, ssh_key_answer),
	{0},
};

const struct noun nouns[] = {
	{.kind = &organization_kind,
	 .cascades = true,
	 .update = organization_update,
	 .remove = protect_container},
	{.kind = &project_kind, .cascades = true, .remove = protect_container},
	{.kind = &user_kind, .update = user_update},
	{.kind = &serviceaccount_kind},
	{.kind = &role_kind,
	 .create = role_create,
	 .update = role_update,
	 .remove = role_remove},
	{.kind = &group_kind, .create = group_create, .update = group_update},
	{.kind = &token_kind, .create = token_create, .permits = true},
	{.kind = &quotakind_kind,
	 .update = quotakind_update,
	 .remove = quotakind_remove},
	{.kind = &quota_kind,
	 .create = quota_create,
	 .update = quota_update,
	 .remove = quota_remove},
	{.kind = &allocation_kind,
	 .create = allocation_create,
	 .update = allocation_update,
	 .remove = allocation_remove},
	{.kind = &region_kind,
	 .cascades = true,
	 .create = region_create,
	 .update = region_update,
	 .remove = region_remove},
	{.kind = &flavor_kind},
	{.kind = &image_kind,
	 .create = image_create,
	 .permits = true,
	 .update = image_update,
	 .remove = image_remove},
	{.kind = &network_kind,
	 .cascades = true,
	 .create = network_create,
	 .permits = true,
	 .update = network_update,
	 .remove = protect_container},
	{.kind = &securitygroup_kind,
	 .create = securitygroup_create,
	 .permits = true,
	 .update = securitygroup_update},
	{.kind = &sshca_kind, .create = sshca_create, .permits = true},
	{.kind = &volume_kind,
	 .create = volume_create,
	 .permits = true,
	 .update = volume_update,
	 .remove = volume_remove},
	{.kind = &instance_kind,
	 .cascades = true,
	 .create = instance_create,
	 .permits = true,
	 .written = instance_written,
	 .update = instance_update,
	 .remove = instance_remove,
	 .words = instance_words,
	 .read_words = instance_read_words},
	{.kind = &server_kind},
	{.kind = &event_kind},
};

const size_t n_nouns = COUNT_OF(nouns);

const struct noun *noun_find(const char *plural)
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
	*step = strchrnul(p, '/');
	if (p[1] == 'n')
		return c->noun;
	c->id = segment;
	return true;
}

static bool path_fits(struct call *c, const char *path)
{
	size_t i = 0;

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

enum verb route_verb(const struct route *r)
{
	return (enum verb)(r->need - NEED_VERB);
}

bool route_has(const struct route *r, const struct kind *k)
{
	return !k->read_only || strcmp(r->method, "GET") == 0;
}

const char *const *route_words(const struct route *r, const struct noun *n)
{
	if (r->need == NEED_UPDATE)
		return n->words;
	return r->handle == handle_get ? n->read_words : NULL;
}

static bool route_fits(struct call *c, const struct route *r)
{
	return path_fits(c, r->path) &&
	       (!c->noun || route_has(r, c->noun->kind));
}

int route_find(struct call *c, const char *method, struct buf *allow,
	       struct err *err)
{
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	/* The noun stands in the second place: "/v1/tokens/{id}/rotate". */
	c->noun = c->uri.n_segments > 1 ? noun_find(c->uri.segments[1]) : NULL;
	for (const struct route *r = routes; r->method; r++)
		if (strcmp(r->method, method) == 0 && route_fits(c, r)) {
			c->route = r;
			return 0;
		}
	for (const struct route *r = routes; r->method; r++)
		if (route_fits(c, r))
			allow_add(allow, r->method);
	if (!allow->len)
		return err_set(err, ERR_NOT_FOUND, "there is nothing at %s",
			       c->uri.path);
	buf_adds(allow, ", OPTIONS");
	return err_set(err, ERR_METHOD, "%s does not take %s; it takes %s",
		       c->uri.path, method, buf_str(allow));
}

/*
 * Every route, by every role, on what is one's own, a neighbour's and a
 * stranger's: allowed, forbidden or not there, exactly as the roles say.
 *
 * The routes and nouns are those of the API's own tables, so that a new one is
 * covered by itself.  What to expect is worked out here from the words of the
 * roles alone, by other code than the server's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/routes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "compute.h"
#include "model/event.h"
#include "model/group.h"
#include "model/image.h"
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
#include "model/user.h"
#include "model/volume.h"
#include "store/read.h"
#include "test.h"
#include "world.h"

/* Where an object lies, seen from the caller, who is in organization A and
 * its project 1. */
enum place { OWN, NEIGHBOUR, STRANGER, PLACES };

static const char *const place_names[] = {"own project", "other project",
					  "other organization"};

/* Those built in, one that permits next to nothing, and having none. */
enum { ROLES = 8, BARE = 6, NOBODY = 7 };

static const char *const bare[] = {"organizations:read", "projects:read", NULL};
static const struct built_in_role bare_role = {.name = "bare",
					       .organization = bare};
static const struct built_in_role nobody_role = {.name = "nobody"};

static const struct built_in_role *role_at(size_t i)
{
	if (i == BARE)
		return &bare_role;
	return i == NOBODY ? &nobody_role : &built_in_roles[i];
}

struct rig {
	struct world w;
	char org[2][40];          /* A and B */
	char project[PLACES][40]; /* A's 1, A's 2, B's */
	char user[2][40], account[2][40], role[2][40], group[2][40];
	char token[PLACES][40], quota[PLACES][40], allocation[PLACES][40];
	char event[PLACES][40]; /* that the token was rotated */
	struct compute compute; /* an open region */
	char image[PLACES][40], network[PLACES][40], sgroup[PLACES][40];
	char sshca[PLACES][40], volume[PLACES][40];
	char instance[PLACES][40], server[PLACES][40];
	char bare[40];           /* the custom role */
	char secrets[ROLES][96]; /* Authorization, by role */
};

static const char *org_of(const struct rig *r, enum place p)
{
	return r->org[p == STRANGER];
}

/* One request, answered; the caller frees. */
static struct ask *request(struct rig *r, const char *bearer,
			   const char *method, const char *target,
			   const char *body)
{
	struct ask *a = ask_new(&r->w, ASK_GET, method);

	a->headers[0].value = bearer;
	snprintf(a->target, sizeof(a->target), "%s", target);
	snprintf(a->body, sizeof(a->body), "%s", body ? body : "");
	if (body)
		ask_header(a, "Content-Type",
			   strcmp(method, "PATCH") == 0
				   ? "application/merge-patch+json"
				   : "application/json");
	ask_send(a);
	while (!a->status && memory_pending(r->w.backend))
		memory_answer(r->w.backend, MEMORY_WRITTEN);
	return a;
}

static void field(const struct ask *a, const char *name, char *to, size_t room)
{
	struct arena arena;
	struct err err;
	struct node *n;
	const char *text;

	arena_init(&arena, (size_t)4 << 20);
	n = json_parse(a->reply, a->len, &arena, &err);
	text = n ? node_text(n, name) : NULL;
	snprintf(to, room, "%s", text ? text : "");
	arena_release(&arena);
}

/* Create as the platform's administrator; its id into TO. */
static void create(struct rig *r, const char *noun, const char *body, char *to)
{
	char target[64];
	struct ask *a;

	snprintf(target, sizeof(target), "/v1/%s", noun);
	a = request(r, r->w.bearer, "POST", target, body);
	if (a->status != 201)
		printf("# %s: %d %s\n", noun, a->status, a->reply);
	CHECK(a->status == 201);
	field(a, "id", to, 40);
	ask_free(a);
}

static void fill_organization(struct rig *r, int i)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"name\":\"org-%d\"}", i);
	create(r, "organizations", body, r->org[i]);
	snprintf(body, sizeof(body),
		 "{\"name\":\"u\",\"email\":\"u@example.org\","
		 "\"organizationId\":\"%s\"}",
		 r->org[i]);
	create(r, "users", body, r->user[i]);
	snprintf(body, sizeof(body),
		 "{\"name\":\"s\",\"organizationId\":\"%s\"}", r->org[i]);
	create(r, "serviceaccounts", body, r->account[i]);
	create(r, "roles", body, r->role[i]);
	create(r, "groups", body, r->group[i]);
}

/* Something happens to the token; the event's id into TO. */
static void rotate(struct rig *r, const char *token, char *to)
{
	char target[80];
	struct ask *a;

	snprintf(target, sizeof(target), "/v1/tokens/%s/rotate", token);
	a = request(r, r->w.bearer, "POST", target, NULL);
	CHECK(a->status == 200);
	uuid_v5(token, "rotated", to);
	ask_free(a);
}

static void fill_project(struct rig *r, enum place p)
{
	char body[512], object[40];

	snprintf(body, sizeof(body),
		 "{\"name\":\"p-%d\",\"organizationId\":\"%s\"}", p,
		 org_of(r, p));
	create(r, "projects", body, r->project[p]);
	snprintf(body, sizeof(body),
		 "{\"name\":\"t-%d\",\"serviceAccountId\":\"%s\","
		 "\"projectId\":\"%s\"}",
		 p, r->account[p == STRANGER], r->project[p]);
	create(r, "tokens", body, r->token[p]);
	rotate(r, r->token[p], r->event[p]);
	snprintf(body, sizeof(body),
		 "{\"organizationId\":\"%s\",\"projectId\":\"%s\"}",
		 org_of(r, p), r->project[p]);
	create(r, "quotas", body, r->quota[p]);
	uuid_v5(r->project[p], "object", object);
	snprintf(body, sizeof(body),
		 "{\"organizationId\":\"%s\",\"projectId\":\"%s\","
		 "\"objectKind\":\"thing\",\"objectId\":\"%s\"}",
		 org_of(r, p), r->project[p], object);
	create(r, "allocations", body, r->allocation[p]);
}

/* The members of a good network, volume and so on, but for its name. */
static void compute_body(const struct rig *r, const struct kind *k,
			 enum place p, char *to, size_t room)
{
	const char *spec = "{}";

	if (k == &securitygroup_kind || k == &instance_kind) {
		snprintf(to, room,
			 "\"networkId\":\"%s\",\"spec\":{\"flavorId\":\"%s\","
			 "\"imageId\":\"%s\"}",
			 r->network[p], r->compute.flavor, r->compute.image);
		if (k == &securitygroup_kind)
			snprintf(to, room, "\"networkId\":\"%s\"",
				 r->network[p]);
		return;
	}
	if (k == &sshca_kind) {
		snprintf(to, room, "\"projectId\":\"%s\"", r->project[p]);
		return;
	}
	if (k == &network_kind) /* the first is there when others are tried */
		spec = *r->network[p] ? "{\"prefix\":\"10.0.1.0/24\"}"
				      : "{\"prefix\":\"10.0.0.0/24\"}";
	else if (k == &volume_kind)
		spec = "{\"sizeGiB\":1}";
	else
		spec = "{\"uri\":\"https://example.org/i\",\"architecture\":"
		       "\"x86_64\"}";
	snprintf(to, room,
		 "\"projectId\":\"%s\",\"regionId\":\"%s\",\"spec\":%s",
		 r->project[p], r->compute.region, spec);
}

static void fill_compute(struct rig *r, enum place p)
{
	const struct {
		const struct kind *kind;
		char *to;
	} all[] = {
		{&network_kind, r->network[p]},
		{&securitygroup_kind, r->sgroup[p]},
		{&sshca_kind, r->sshca[p]},
		{&volume_kind, r->volume[p]},
		{&image_kind, r->image[p]},
	};

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		char body[400], rest[360];

		compute_body(r, all[i].kind, p, rest, sizeof(rest));
		snprintf(body, sizeof(body), "{\"name\":\"c-%d\",%s}", p, rest);
		create(r, all[i].kind->plural, body, all[i].to);
	}
	compute_run(&r->w, &r->compute, r->network[p], r->instance[p],
		    r->server[p]);
}

static void fill_bare(struct rig *r)
{
	char body[256];

	CHECK(n_built_in_roles == BARE);
	snprintf(body, sizeof(body),
		 "{\"name\":\"bare\",\"organizationId\":\"%s\","
		 "\"organization\":[\"%s\",\"%s\"]}",
		 r->org[0], bare[0], bare[1]);
	create(r, "roles", body, r->bare);
}

/* A service account in organization A with that one role, in project 1. */
static void fill_caller(struct rig *r, size_t i)
{
	const struct built_in_role *role = role_at(i);
	bool platform = role->platform;
	char body[512], account[40], group[40], org[80] = "", more[256] = "";
	struct ask *a;

	if (!platform)
		snprintf(org, sizeof(org), ",\"organizationId\":\"%s\"",
			 r->org[0]);
	snprintf(body, sizeof(body), "{\"name\":\"caller-%zu\"%s}", i, org);
	create(r, "serviceaccounts", body, account);
	if (i != NOBODY && !platform)
		snprintf(more, sizeof(more), ",\"projectIds\":[\"%s\"]",
			 r->project[OWN]);
	if (i != NOBODY) {
		snprintf(body, sizeof(body),
			 "{\"name\":\"callers-%zu\"%s,\"roleIds\":[\"%s\"],"
			 "\"serviceAccountIds\":[\"%s\"]%s}",
			 i, org, i == BARE ? r->bare : role->id, account, more);
		create(r, "groups", body, group);
	}
	snprintf(body, sizeof(body),
		 "{\"name\":\"caller-%zu\",\"serviceAccountId\":\"%s\"}", i,
		 account);
	a = request(r, r->w.bearer, "POST", "/v1/tokens", body);
	memcpy(r->secrets[i], "Bearer ", 7);
	field(a, "token", r->secrets[i] + 7, sizeof(r->secrets[i]) - 7);
	CHECK(r->secrets[i][7]);
	ask_free(a);
}

static struct rig *rig_new(void)
{
	struct rig *r = xcalloc(1, sizeof(*r));

	world_init(&r->w, 1);
	r->w.store_conf.log_revisions = 100000;
	r->w.small_log = false;
	world_boot(&r->w);
	for (int i = 0; i < 2; i++)
		fill_organization(r, i);
	compute_open(&r->w, "open", NULL, &r->compute);
	for (int p = 0; p < PLACES; p++) {
		fill_project(r, (enum place)p);
		fill_compute(r, (enum place)p);
	}
	fill_bare(r);
	for (size_t i = 0; i < ROLES; i++)
		fill_caller(r, i);
	return r;
}

static void rig_free(struct rig *r)
{
	CHECK(!r->w.model.why[0]);
	if (r->w.model.why[0])
		printf("# %s\n", r->w.model.why);
	world_release(&r->w);
	free(r);
}

/* WORDS permit VERB on NOUN. */
static bool words_permit(const char *const *words, const char *noun,
			 const char *verb)
{
	for (; words && *words; words++) {
		char word[80];
		const char *forms[4][2] = {
			{noun, verb}, {"*", verb}, {noun, "*"}, {"*", "*"}};

		for (int i = 0; i < 4; i++) {
			snprintf(word, sizeof(word), "%s:%s", forms[i][0],
				 forms[i][1]);
			if (strcmp(word, *words) == 0)
				return true;
		}
	}
	return false;
}

/* Whether role I permits it in PLACE; in_project: the thing lies in a project
 * and not just in the organization. */
static bool permits(size_t i, const char *noun, const char *verb,
		    enum place place, bool in_project)
{
	const struct built_in_role *b = role_at(i);

	if (words_permit(b->platform, noun, verb))
		return true;
	if (place != STRANGER && words_permit(b->organization, noun, verb))
		return true;
	return place == OWN && in_project &&
	       words_permit(b->project, noun, verb);
}

static bool permits_somewhere(size_t i, const char *noun, const char *verb)
{
	return permits(i, noun, verb, OWN, true) ||
	       permits(i, noun, verb, OWN, false);
}

/* The object of kind K in PLACE, and whether it lies in a project; NULL: the
 * noun has none there of its own. */
static const char *object_in(const struct rig *r, const struct kind *k,
			     enum place p, bool *ret_in_project)
{
	const struct {
		const struct kind *kind;
		const char *id;
		bool in_project;
	} objects[] = {
		{&organization_kind, r->org[p == STRANGER], false},
		{&project_kind, r->project[p], true},
		{&user_kind, r->user[p == STRANGER], false},
		{&serviceaccount_kind, r->account[p == STRANGER], false},
		{&role_kind, r->role[p == STRANGER], false},
		{&group_kind, r->group[p == STRANGER], false},
		{&token_kind, r->token[p], true},
		{&quotakind_kind, built_in_quotakinds[0].id, false},
		{&quota_kind, r->quota[p], true},
		{&allocation_kind, r->allocation[p], true},
		{&region_kind, r->compute.region, false},
		{&flavor_kind, r->compute.flavor, false},
		{&image_kind, r->image[p], true},
		{&network_kind, r->network[p], true},
		{&securitygroup_kind, r->sgroup[p], true},
		{&sshca_kind, r->sshca[p], true},
		{&volume_kind, r->volume[p], true},
		{&instance_kind, r->instance[p], true},
		{&server_kind, r->server[p], false},
		{&event_kind, r->event[p], true},
	};

	for (size_t i = 0; i < COUNT_OF(objects); i++) {
		if (objects[i].kind != k)
			continue;
		*ret_in_project = objects[i].in_project;
		return objects[i].id;
	}
	printf("# the matrix has no %s: add one to object_in()\n", k->name);
	CHECK(!"every noun is in the matrix");
	return "";
}

static const char *verb_of(const struct route *route)
{
	static const char *const verbs[] = {
		[NEED_READ] = "read",
		[NEED_CREATE] = "create",
		[NEED_UPDATE] = "update",
		[NEED_DELETE] = "delete",
		[NEED_ROTATE] = "rotate",
		[NEED_START] = "start",
		[NEED_STOP] = "stop",
		[NEED_REBOOT] = "reboot",
		[NEED_REBUILD] = "rebuild",
		[NEED_SNAPSHOT] = "snapshot",
		[NEED_CONSOLE] = "console",
		[NEED_CONSOLE_OUTPUT] = "consoleoutput",
		[NEED_SSH_CERTIFICATE] = "sshcertificate",
		[NEED_SSH_KEY] = "sshkey",
		[NEED_SYNC] = "sync",
	};

	return verbs[route->need];
}

/* Nobody's: everyone reads them, and the platform alone writes them. */
static bool is_open(const struct kind *k)
{
	return k == &quotakind_kind || k == &region_kind || k == &flavor_kind;
}

static bool at_platform(size_t role, const struct kind *k, const char *verb)
{
	return words_permit(role_at(role)->platform, k->plural, verb);
}

/* The place of an object that has no owner is everyone's. */
static bool can_read(size_t role, const struct kind *k, enum place p,
		     bool in_project)
{
	if (is_open(k))
		return permits_somewhere(role, k->plural, "read");
	if (k == &server_kind)
		return at_platform(role, k, "read");
	/* Whoever sees the token sees what happened to it. */
	if (k == &event_kind)
		return permits(role, "tokens", "read", p, in_project);
	return permits(role, k->plural, "read", p, in_project);
}

static bool can_do(size_t role, const struct kind *k, const char *verb,
		   enum place p, bool in_project)
{
	/* What is the platform's own takes the platform's rights. */
	if (is_open(k) || k == &server_kind)
		return strcmp(verb, "read") == 0
			       ? can_read(role, k, p, in_project)
			       : at_platform(role, k, verb);
	if (k == &event_kind)
		return strcmp(verb, "read") == 0 &&
		       can_read(role, k, p, in_project);
	return permits(role, k->plural, verb, p, in_project);
}

struct case_ {
	struct rig *r;
	const struct route *route;
	const struct kind *kind;
	size_t role;
	enum place place;
};

static void expect(const struct case_ *c, const struct ask *a, int want,
		   int or_else)
{
	if (a->status == want || a->status == or_else)
		return;
	printf("# %s %s by %s on %s of %s: %d, not %d: %.160s\n",
	       c->route->method, c->route->path, role_at(c->role)->name,
	       c->kind ? c->kind->name : "-", place_names[c->place], a->status,
	       want, a->reply);
	CHECK(!"as the table says");
}

static void target_of(const struct case_ *c, const char *id, char *to,
		      size_t room)
{
	const char *p = c->route->path;
	size_t n = 0;

	while (*p && n + 64 < room) {
		if (strncmp(p, "{noun}", 6) == 0) {
			n += (size_t)snprintf(to + n, room - n, "%s",
					      c->kind->plural);
			p += 6;
		} else if (strncmp(p, "{id}", 4) == 0) {
			n += (size_t)snprintf(to + n, room - n, "%s", id);
			p += 4;
		} else {
			to[n++] = *p++;
		}
	}
	to[n] = '\0';
	/* Nothing is to change: a plan goes through the same checks. */
	if (c->route->need >= NEED_CREATE && c->route->need <= NEED_DELETE)
		snprintf(to + n, room - n, "?plan=true");
}

static void try_one(const struct case_ *c)
{
	const char *verb = verb_of(c->route);
	bool in_project;
	const char *id = object_in(c->r, c->kind, c->place, &in_project);
	bool usage = strstr(c->route->path, "/usage");
	char target[200];
	struct ask *a;

	target_of(c, id, target, sizeof(target));
	a = request(c->r, c->r->secrets[c->role], c->route->method, target,
		    c->route->consumes ? "{\"description\":\"x\"}" : NULL);
	if (!can_read(c->role, c->kind, c->place, in_project))
		expect(c, a, 404, 404);
	else if (usage)
		expect(c, a,
		       permits(c->role, "quotas", "read", c->place, in_project)
			       ? 200
			       : 403,
		       0);
	else if (!can_do(c->role, c->kind, verb, c->place, in_project))
		expect(c, a, 403, 403);
	else if (c->route->need == NEED_READ || c->route->need == NEED_UPDATE)
		/* A PUT of one field leaves out what others need: 422. */
		expect(c, a, 200,
		       strcmp(c->route->method, "PUT") == 0 ? 422 : 200);
	else if (c->route->need > NEED_ROTATE)
		/* It was let in: what the handler makes of it is not asked. */
		expect(c, a,
		       a->status == 403 || a->status == 404 ? 0 : a->status, 0);
	else if (c->route->need == NEED_ROTATE)
		/* Nobody gives what they do not hold. */
		expect(c, a, 200, 403);
	else
		expect(c, a, 200, 409);
	ask_free(a);
}

/* A list shows exactly what may be read. */
static void try_list(const struct case_ *c)
{
	bool in_project;
	const char *id = object_in(c->r, c->kind, c->place, &in_project);
	char target[200];
	struct ask *a;

	target_of(c, id, target, sizeof(target));
	a = request(c->r, c->r->secrets[c->role], "GET", target, NULL);
	if (c->kind != &event_kind &&
	    !permits_somewhere(c->role, c->kind->plural, "read")) {
		expect(c, a, 403, 403);
	} else {
		bool shown = a->status == 200 && strstr(a->reply, id);

		expect(c, a, 200, 200);
		if (shown != can_read(c->role, c->kind, c->place, in_project)) {
			printf("# the list of %s for %s %s that of %s\n",
			       c->kind->plural, role_at(c->role)->name,
			       shown ? "shows" : "hides",
			       place_names[c->place]);
			CHECK(!"a list shows what may be read");
		}
	}
	ask_free(a);
}

/* A body that would be good, if it were permitted. */
static void body_for(const struct case_ *c, char *to, size_t room,
		     bool *ret_in_project)
{
	const char *org = org_of(c->r, c->place);
	const char *project = c->r->project[c->place];

	*ret_in_project = false;
	if (c->kind == &organization_kind) {
		snprintf(to, room, "{\"name\":\"new\"}");
	} else if (c->kind == &quotakind_kind) {
		snprintf(to, room, "{\"name\":\"new\",\"unit\":\"new\"}");
	} else if (c->kind == &user_kind) {
		snprintf(to, room,
			 "{\"name\":\"new\",\"email\":\"n@example.org\","
			 "\"organizationId\":\"%s\"}",
			 org);
	} else if (c->kind == &token_kind) {
		*ret_in_project = true;
		snprintf(to, room,
			 "{\"name\":\"new\",\"serviceAccountId\":\"%s\","
			 "\"projectId\":\"%s\"}",
			 c->r->account[c->place == STRANGER], project);
	} else if (c->kind == &quota_kind || c->kind == &allocation_kind) {
		*ret_in_project = true;
		snprintf(to, room,
			 "{\"organizationId\":\"%s\",\"projectId\":\"%s\"%s}",
			 org, project,
			 c->kind == &quota_kind
				 ? ""
				 : ",\"objectKind\":\"x\",\"objectId\":"
				   "\"00000000-0000-7000-8000-000000000009\"");
	} else if (c->kind == &region_kind) {
		snprintf(to, room,
			 "{\"name\":\"new\",\"spec\":{\"provider\":\"sim\"}}");
	} else if (kind_index(c->kind) >= kind_index(&image_kind)) {
		char rest[360];

		*ret_in_project = true;
		compute_body(c->r, c->kind, c->place, rest, sizeof(rest));
		snprintf(to, room, "{\"name\":\"new\",%s}", rest);
	} else {
		snprintf(to, room,
			 "{\"name\":\"new\",\"organizationId\":\"%s\"}", org);
	}
}

/* The caller does not see where it would be. */
static bool is_unseen(const struct case_ *c, bool in_project)
{
	if (c->kind == &securitygroup_kind || c->kind == &instance_kind)
		return !permits(c->role, "networks", "read", c->place, true);
	if (kind_index(c->kind) >= kind_index(&image_kind))
		return !permits(c->role, "projects", "read", c->place, true);
	return !permits(c->role, "organizations", "read", c->place, false) ||
	       (in_project &&
		!permits(c->role, "projects", "read", c->place, true));
}

static void try_create(const struct case_ *c)
{
	char target[200], body[500];
	bool in_project, may, unseen;
	struct ask *a;

	body_for(c, body, sizeof(body), &in_project);
	may = permits(c->role, c->kind->plural, "create", c->place, in_project);
	/* Where it would be is not the caller's to see. */
	unseen = is_unseen(c, in_project);
	target_of(c, "", target, sizeof(target));
	a = request(c->r, c->r->secrets[c->role], "POST", target, body);
	if (c->kind == &organization_kind || is_open(c->kind))
		expect(c, a,
		       at_platform(c->role, c->kind, "create") ? 200 : 403, 0);
	else if ((c->kind == &token_kind &&
		  !permits(c->role, "serviceaccounts", "read", c->place,
			   false)) ||
		 (!may && unseen))
		expect(c, a, 422, 422);
	else if (may)
		expect(c, a, 200, c->kind == &quota_kind ? 409 : 200);
	else
		expect(c, a, 403, 403);
	ask_free(a);
}

/* What the server alone writes takes no change from anybody. */
static void try_change(const struct case_ *c)
{
	char target[200];
	struct ask *a;

	target_of(c, c->r->event[c->place], target, sizeof(target));
	a = request(c->r, c->r->secrets[c->role], c->route->method, target,
		    c->route->consumes ? "{}" : NULL);
	expect(c, a, 405, 405);
	ask_free(a);
}

static void try_case(const struct case_ *c)
{
	if (c->kind->read_only && c->route->need != NEED_READ) {
		try_change(c);
		return;
	}
	if (c->route->need == NEED_CREATE)
		try_create(c);
	else if (strstr(c->route->path, "{id}"))
		try_one(c);
	else
		try_list(c);
}

static const struct kind *kind_in_path(const char *path)
{
	for (size_t i = 0; i < n_nouns; i++) {
		char start[64];

		snprintf(start, sizeof(start), "/v1/%s/",
			 nouns[i].kind->plural);
		if (strncmp(path, start, strlen(start)) == 0)
			return nouns[i].kind;
	}
	return NULL;
}

static size_t try_route(struct rig *r, const struct route *route)
{
	size_t n = 0;

	for (size_t k = 0; k < n_nouns; k++) {
		const struct kind *only = kind_in_path(route->path);

		if (only ? nouns[k].kind != only
			 : !strstr(route->path, "{noun}"))
			continue;
		for (size_t role = 0; role < ROLES; role++)
			for (int p = 0; p < PLACES; p++, n++) {
				struct case_ c = {r, route, nouns[k].kind, role,
						  (enum place)p};

				try_case(&c);
			}
	}
	return n;
}

static void every_route_by_every_role_in_every_place(void)
{
	struct rig *r = rig_new();
	size_t n = 0;

	for (const struct route *route = routes; route->method; route++) {
		size_t cases =
			route->need > NEED_CALLER ? try_route(r, route) : 1;

		if (!cases)
			printf("# not in the matrix: %s %s\n", route->method,
			       route->path);
		CHECK(cases > 0);
		n += cases;
	}
	printf("# %zu cases\n", n);
	rig_free(r);
}

static void without_a_token_only_what_needs_none_is_answered(void)
{
	struct rig *r = rig_new();

	for (const struct route *route = routes; route->method; route++) {
		struct case_ c = {r, route, &project_kind, 0, OWN};
		char target[200];
		struct ask *a;

		target_of(&c, r->project[OWN], target, sizeof(target));
		a = request(r, "Bearer muster_wrong", route->method, target,
			    route->consumes ? "{}" : NULL);
		if (route->need == NEED_NOTHING)
			expect(&c, a, 200, 200);
		else
			expect(&c, a, 401, 401);
		ask_free(a);
	}
	rig_free(r);
}

int main(void)
{
	log_setup(LOG_ERROR, false);
	RUN(every_route_by_every_role_in_every_place);
	RUN(without_a_token_only_what_needs_none_is_answered);
	return test_done();
}

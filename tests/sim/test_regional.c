/*
 * What is in regions, by the rules that need one that is ready: who sees it,
 * what may be made in it, what is counted, and what may be deleted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "compute.h"
#include "model/flavor.h"
#include "model/image.h"
#include "model/role.h"
#include "model/volume.h"
#include "reconcile/cascade.h"
#include "store/read.h"
#include "test.h"
#include "world.h"

/* A tenant: an organization, a project, and one who may use it. */
struct tenant {
	char org[40], project[40], network[40];
	char bearer[96];
};

struct rig {
	struct world w;
	struct tenant a, b;
	struct compute open, only_a; /* one for everyone, one for A alone */
	int status;                  /* of the last answer */
	char reply[4096];
};

#define USER "00000000-0000-5000-8000-000000000005"

static void text_of(const char *reply, const char *name, char *to, size_t room)
{
	struct arena arena;
	struct err err;
	struct node *n;
	const char *text;

	arena_init(&arena, (size_t)4 << 20);
	n = json_parse(reply, strlen(reply), &arena, &err);
	text = n ? node_text(n, name) : NULL;
	snprintf(to, room, "%s", text ? text : "");
	arena_release(&arena);
}

static int ask(struct rig *r, const char *bearer, const char *method,
	       const char *target, const char *body)
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
	r->status = a->status;
	snprintf(r->reply, sizeof(r->reply), "%.*s", (int)a->len,
		 a->reply ? a->reply : "");
	ask_free(a);
	return r->status;
}

/* Asks by NOUN and ID; ID may have more behind it, or be empty. */
static int on(struct rig *r, const char *bearer, const char *method,
	      const char *noun, const char *id, const char *body)
{
	char target[200];

	snprintf(target, sizeof(target), "/v1/%s%s%s", noun, *id ? "/" : "",
		 id);
	return ask(r, bearer, method, target, body);
}

static bool says(const struct rig *r, int status, const char *words)
{
	bool good = r->status == status && strstr(r->reply, words);

	if (!good)
		printf("# wanted %d \"%s\", got %d %.300s\n", status, words,
		       r->status, r->reply);
	return good;
}

static void make(struct rig *r, const char *bearer, const char *noun,
		 const char *body, char to[40])
{
	on(r, bearer, "POST", noun, "", body);
	CHECK(says(r, 201, "\"id\""));
	text_of(r->reply, "id", to, 40);
}

static void fill_network(struct rig *r, struct tenant *t,
			 const struct compute *c, const char *name)
{
	char body[400];

	snprintf(body, sizeof(body),
		 "{\"name\":\"%s\",\"projectId\":\"%s\",\"regionId\":\"%s\","
		 "\"spec\":{\"prefix\":\"10.0.0.0/24\"}}",
		 name, t->project, c->region);
	make(r, t->bearer, "networks", body, t->network);
}

static void fill_tenant(struct rig *r, struct tenant *t, const char *name)
{
	const char *admin = r->w.bearer;
	char body[500], account[40], group[40];

	snprintf(body, sizeof(body), "{\"name\":\"%s\"}", name);
	make(r, admin, "organizations", body, t->org);
	snprintf(body, sizeof(body),
		 "{\"name\":\"p-%s\",\"organizationId\":\"%s\"}", name, t->org);
	make(r, admin, "projects", body, t->project);
	snprintf(body, sizeof(body),
		 "{\"name\":\"u-%s\",\"organizationId\":\"%s\"}", name, t->org);
	make(r, admin, "serviceaccounts", body, account);
	snprintf(body, sizeof(body),
		 "{\"name\":\"g-%s\",\"organizationId\":\"%s\",\"roleIds\":["
		 "\"" USER "\"],\"serviceAccountIds\":[\"%s\"],"
		 "\"projectIds\":[\"%s\"]}",
		 name, t->org, account, t->project);
	make(r, admin, "groups", body, group);
	snprintf(body, sizeof(body),
		 "{\"name\":\"t-%s\",\"serviceAccountId\":\"%s\"}", name,
		 account);
	on(r, admin, "POST", "tokens", "", body);
	CHECK(r->status == 201);
	memcpy(t->bearer, "Bearer ", 7);
	text_of(r->reply, "token", t->bearer + 7, sizeof(t->bearer) - 7);
}

static struct rig *rig_new(void)
{
	struct rig *r = xcalloc(1, sizeof(*r));

	world_init(&r->w, 1);
	r->w.store_conf.log_revisions = 100000;
	r->w.small_log = false;
	world_boot(&r->w);
	fill_tenant(r, &r->a, "a");
	fill_tenant(r, &r->b, "b");
	compute_open(&r->w, "open", NULL, &r->open);
	compute_open(&r->w, "only-a", r->a.org, &r->only_a);
	fill_network(r, &r->a, &r->open, "net-a");
	fill_network(r, &r->b, &r->open, "net-b");
	return r;
}

static void rig_free(struct rig *r)
{
	CHECK(!r->w.model.why[0]);
	world_release(&r->w);
	free(r);
}

static void a_region_is_seen_by_whom_it_is_for(void)
{
	struct rig *r = rig_new();
	const struct {
		const char *noun, *id;
	} things[] = {{"regions", r->only_a.region},
		      {"flavors", r->only_a.flavor},
		      {"images", r->only_a.image}};

	for (size_t i = 0; i < COUNT_OF(things); i++) {
		const char *noun = things[i].noun, *id = things[i].id;
		char deeper[80];

		CHECK(on(r, r->a.bearer, "GET", noun, id, NULL) == 200);
		CHECK(on(r, r->w.bearer, "GET", noun, id, NULL) == 200);
		CHECK(on(r, r->b.bearer, "GET", noun, id, NULL) == 404);
		snprintf(deeper, sizeof(deeper), "%s/events", id);
		CHECK(on(r, r->b.bearer, "GET", noun, deeper, NULL) == 404);
		on(r, r->a.bearer, "GET", noun, "", NULL);
		CHECK(says(r, 200, id));
		on(r, r->b.bearer, "GET", noun, "", NULL);
		CHECK(r->status == 200 && !strstr(r->reply, id));
	}
	CHECK(on(r, r->b.bearer, "GET", "regions", r->open.region, NULL) ==
	      200);
	rig_free(r);
}

static void nothing_is_made_in_a_region_that_is_not_seen(void)
{
	static const char *const specs[][2] = {
		{"networks", "{\"prefix\":\"10.1.0.0/24\"}"},
		{"volumes", "{\"sizeGiB\":1}"},
		{"images",
		 "{\"architecture\":\"x86_64\",\"uri\":\"https://x/y\"}"},
	};
	struct rig *r = rig_new();

	for (size_t i = 0; i < COUNT_OF(specs); i++) {
		const struct tenant *who[] = {&r->b, &r->a};

		for (size_t t = 0; t < COUNT_OF(who); t++) {
			char body[400];

			snprintf(body, sizeof(body),
				 "{\"name\":\"x\",\"projectId\":\"%s\","
				 "\"regionId\":\"%s\",\"spec\":%s}",
				 who[t]->project, r->only_a.region,
				 specs[i][1]);
			on(r, who[t]->bearer, "POST", specs[i][0], "", body);
			CHECK(t ? r->status == 201
				: says(r, 422, "there is no region"));
		}
	}
	rig_free(r);
}

/* The events of what has no owner are for whom it is. */
static void what_happens_to_a_region_is_told_to_whom_it_is_for(void)
{
	struct rig *r = rig_new();
	char deeper[80];

	snprintf(deeper, sizeof(deeper), "%s/sync", r->only_a.region);
	CHECK(on(r, r->a.bearer, "POST", "regions", deeper, NULL) == 403);
	CHECK(on(r, r->b.bearer, "POST", "regions", deeper, NULL) == 404);
	CHECK(on(r, r->w.bearer, "POST", "regions", deeper, NULL) == 202);
	CHECK(!strstr(r->reply, "syncedAt"));
	on(r, r->w.bearer, "DELETE", "regions", r->only_a.region, NULL);
	CHECK(says(r, 202, "deletedAt"));
	on(r, r->a.bearer, "GET", "events", "", NULL);
	CHECK(r->status == 200);
	on(r, r->b.bearer, "GET", "events", "", NULL);
	CHECK(r->status == 200 && !strstr(r->reply, r->only_a.region));
	rig_free(r);
}

/* Only the platform says that machines are gone, and those that are missing. */
static void what_is_missing_is_accepted_by_an_operator(void)
{
	struct rig *r = rig_new();
	char deeper[80];

	snprintf(deeper, sizeof(deeper), "%s/accept", r->only_a.region);
	CHECK(on(r, r->a.bearer, "POST", "regions", deeper, NULL) == 403);
	CHECK(on(r, r->b.bearer, "POST", "regions", deeper, NULL) == 404);
	CHECK(on(r, r->w.bearer, "POST", "regions", deeper, NULL) == 202);
	CHECK(!strstr(r->reply, "\"accepted\""));
	compute_lose(&r->w, r->only_a.region, 7);
	CHECK(on(r, r->w.bearer, "POST", "regions", deeper, NULL) == 202);
	CHECK(strstr(r->reply, "\"accepted\":7"));
	rig_free(r);
}

static void
a_region_goes_with_what_it_offers_and_not_with_what_others_have(void)
{
	struct rig *r = rig_new();
	const char *admin = r->w.bearer;
	char deeper[80];

	on(r, admin, "DELETE", "organizations", r->a.org, NULL);
	CHECK(says(r, 409, "is kept for the organization"));
	on(r, admin, "DELETE", "regions", r->open.region, NULL);
	CHECK(says(r, 409, "is in use by network \\\"net-a\\\""));
	snprintf(deeper, sizeof(deeper), "%s?plan=true", r->only_a.region);
	CHECK(on(r, admin, "DELETE", "regions", deeper, NULL) == 200);
	CHECK(on(r, admin, "DELETE", "regions", r->only_a.region, NULL) == 202);
	for (int i = 0; i < 100 && memory_pending(r->w.backend); i++) {
		memory_answer(r->w.backend, MEMORY_WRITTEN);
		cascade_tick(r->w.cascade);
	}
	CHECK(on(r, admin, "GET", "flavors", r->only_a.flavor, NULL) == 404);
	CHECK(on(r, admin, "GET", "images", r->only_a.image, NULL) == 404);
	CHECK(on(r, admin, "GET", "regions", r->only_a.region, NULL) == 404);
	rig_free(r);
}

static void ask_volume(struct rig *r, const char *spec)
{
	char body[400];

	snprintf(body, sizeof(body),
		 "{\"name\":\"v\",\"projectId\":\"%s\",\"regionId\":\"%s\","
		 "\"spec\":%s}",
		 r->a.project, r->open.region, spec);
	on(r, r->a.bearer, "POST", "volumes", "", body);
}

static void a_volume_lies_in_a_zone_of_its_region(void)
{
	struct rig *r = rig_new();
	char spec[200];

	ask_volume(r, "{\"sizeGiB\":1,\"zone\":\"z\"}");
	CHECK(says(r, 422, "has no zone \\\"z\\\""));
	snprintf(spec, sizeof(spec), "{\"sizeGiB\":1,\"imageId\":\"%s\"}",
		 r->only_a.image);
	ask_volume(r, spec);
	CHECK(says(r, 422, "there is no image"));
	snprintf(spec, sizeof(spec), "{\"sizeGiB\":1,\"imageId\":\"%s\"}",
		 r->open.image);
	ask_volume(r, spec);
	CHECK(says(r, 201, "\"pending\""));
	rig_free(r);
}

/* A volume as its controller leaves it. */
static int set_state(struct tx *tx, void *ctx, struct err *err)
{
	const struct volume *old = tx_get(tx, &volume_kind, ctx);
	struct volume v = *old;

	v.status.backed.state = BACKED_READY;
	return tx_put(tx, &volume_kind, &v, err);
}

static void set_done(struct txn *t, const struct err *err)
{
	(void)t;
	CHECK(!err);
}

static void make_ready(struct rig *r, char *volume)
{
	struct txn t = {.fn = set_state, .done = set_done, .ctx = volume};

	store_transact(r->w.store, &t);
	while (memory_pending(r->w.backend))
		memory_answer(r->w.backend, MEMORY_WRITTEN);
}

static void a_snapshot_of_a_volume_is_an_image_of_its_project(void)
{
	struct rig *r = rig_new();
	char volume[40], deeper[80];

	ask_volume(r, "{\"sizeGiB\":7}");
	text_of(r->reply, "id", volume, sizeof(volume));
	snprintf(deeper, sizeof(deeper), "%s/snapshot", volume);
	on(r, r->a.bearer, "POST", "volumes", deeper, "{\"name\":\"s\"}");
	CHECK(says(r, 409, "is not ready"));
	make_ready(r, volume);
	on(r, r->a.bearer, "POST", "volumes", deeper, "{}");
	CHECK(says(r, 422, "/name"));
	on(r, r->b.bearer, "POST", "volumes", deeper, "{\"name\":\"s\"}");
	CHECK(r->status == 404);
	on(r, r->a.bearer, "POST", "volumes", deeper, "{\"name\":\"s\"}");
	CHECK(says(r, 201, "\"source\":\"volume\""));
	CHECK(strstr(r->reply, volume) && strstr(r->reply, r->a.project));
	CHECK(strstr(r->reply, "\"minDiskGiB\":7"));
	rig_free(r);
}

static void a_protected_instance_keeps_what_it_is_in(void)
{
	struct rig *r = rig_new();
	char instance[40], server[40];
	const struct {
		const char *noun, *id;
	} around[] = {{"networks", r->b.network},
		      {"projects", r->b.project},
		      {"organizations", r->b.org}};

	compute_run(&r->w, &r->open, r->b.network, instance, server);
	on(r, r->w.bearer, "PATCH", "instances", instance,
	   "{\"spec\":{\"deleteProtection\":true}}");
	CHECK(r->status == 200);
	for (size_t i = 0; i < COUNT_OF(around); i++) {
		on(r, r->w.bearer, "DELETE", around[i].noun, around[i].id,
		   NULL);
		CHECK(says(r, 409, instance));
	}
	on(r, r->w.bearer, "PATCH", "instances", instance,
	   "{\"spec\":{\"deleteProtection\":false}}");
	CHECK(r->status == 200);
	on(r, r->b.bearer, "DELETE", "networks", r->b.network, NULL);
	CHECK(says(r, 202, "\"deleting\""));
	/* Asking again is as good. */
	on(r, r->b.bearer, "DELETE", "networks", r->b.network, NULL);
	CHECK(says(r, 202, "deletedAt"));
	rig_free(r);
}

static void what_an_instance_uses_is_not_deleted(void)
{
	struct rig *r = rig_new();
	char instance[40], server[40];

	compute_run(&r->w, &r->open, r->a.network, instance, server);
	on(r, r->w.bearer, "DELETE", "images", r->open.image, NULL);
	CHECK(says(r, 409, "is the region's own"));
	on(r, r->a.bearer, "DELETE", "images", r->open.image, NULL);
	CHECK(r->status == 403);
	rig_free(r);
}

int main(void)
{
	log_setup(LOG_ERROR, false);
	RUN(a_region_is_seen_by_whom_it_is_for);
	RUN(nothing_is_made_in_a_region_that_is_not_seen);
	RUN(what_happens_to_a_region_is_told_to_whom_it_is_for);
	RUN(what_is_missing_is_accepted_by_an_operator);
	RUN(a_region_goes_with_what_it_offers_and_not_with_what_others_have);
	RUN(a_volume_lies_in_a_zone_of_its_region);
	RUN(a_snapshot_of_a_volume_is_an_image_of_its_project);
	RUN(a_protected_instance_keeps_what_it_is_in);
	RUN(what_an_instance_uses_is_not_deleted);
	return test_done();
}

#include "users.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "identity/quota.h"
#include "judge.h"
#include "model/flavor.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/project.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "rig.h"
#include "store/read.h"
#include "tape.h"

/* Nobody is to see it but the machine. */
#define USER_DATA "I2Nsb3VkLWNvbmZpZwo="

enum { NAMES = 3 };

struct ask *user_asks(struct rig *r, const char *method, const char *target,
		      ...)
{
	struct ask *a = ask_new(r, method);
	va_list ap;

	va_start(ap, target);
	vsnprintf(a->target, sizeof(a->target), target, ap);
	va_end(ap);
	return a;
}

void user_says(struct ask *a, const char *fmt, ...)
{
	size_t n = strlen(a->body);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->body + n, sizeof(a->body) - n, fmt, ap);
	va_end(ap);
}

/* What it writes says whose doing it is: what is created, and what is changed
 * but by a verb. */
static void sign(struct ask *a)
{
	bool creates = strcmp(a->x.method, "POST") == 0;
	char body[sizeof(a->body) - 40];

	if (a->body[0] != '{' || !strchr(a->target + 4, '/') != creates)
		return;
	a->op = a->request;
	memcpy(body, a->body + 1, sizeof(body));
	body[sizeof(body) - 1] = 0;
	snprintf(a->body, sizeof(a->body), "{\"description\":\"op-%ld\",%s",
		 a->op, body);
}

static void with_key(struct rig *r, struct ask *a)
{
	struct request *last = &r->last;

	snprintf(a->key, sizeof(a->key), "key-%ld", a->request);
	ask_header(a, "Idempotency-Key", a->key);
	snprintf(last->method, sizeof(last->method), "%s", a->x.method);
	memcpy(last->target, a->target, sizeof(a->target));
	memcpy(last->body, a->body, sizeof(a->body));
	memcpy(last->key, a->key, sizeof(a->key));
	last->op = a->op;
}

void user_sends(struct ask *a)
{
	if (a->body[0])
		ask_header(a, "Content-Type",
			   strcmp(a->x.method, "PATCH") == 0
				   ? "application/merge-patch+json"
				   : "application/json");
	sign(a);
	if (strcmp(a->x.method, "POST") == 0 && roll(a->rig, 4))
		with_key(a->rig, a);
	ask_send(a);
	if (a->rig->answered)
		users_reap(a->rig);
}

/* The same once more. */
static void repeat(struct rig *r)
{
	const struct request *last = &r->last;
	struct ask *a;

	if (!last->key[0])
		return;
	a = ask_new(r, "POST");
	memcpy(a->target, last->target, sizeof(a->target));
	memcpy(a->body, last->body, sizeof(a->body));
	memcpy(a->key, last->key, sizeof(a->key));
	a->op = last->op;
	a->repeats = true;
	ask_header(a, "Idempotency-Key", a->key);
	if (a->body[0])
		ask_header(a, "Content-Type", "application/json");
	ask_send(a);
	if (r->answered)
		users_reap(r);
}

void users_reap(struct rig *r)
{
	struct list *l, *next;

	r->answered = false;
	for (l = r->asks.next; l != &r->asks; l = next) {
		struct ask *a = CONTAINER_OF(l, struct ask, link);
		struct verdict_ask v = ask_verdict(a);

		next = l->next;
		if (!a->status)
			continue;
		tell(r, "answered %d: %s %s: %.300s", a->status, a->x.method,
		     a->target, a->reply);
		judge_answered(r->judge, a->asked, &v);
		ask_free(a);
	}
}

static const char *offer(struct rig *r, const struct kind *k, const char *name)
{
	static char ids[8][37];
	static unsigned next;
	char *id = ids[next++ % 8], path[64];

	snprintf(path, sizeof(path), "%s/%s", k->name, name);
	uuid_v5(r->start->region, path, id);
	return id;
}

static size_t count(const struct rig *r, const struct kind *k)
{
	struct scan scan = store_scan(r->store, 0, k, NULL);
	struct record record;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &record, &effort))
		n++;
	return n;
}

/* The N-th of a kind, round and round; NULL when there is none. */
static const void *nth(const struct rig *r, const struct kind *k, uint64_t n)
{
	struct scan scan = store_scan(r->store, 0, k, NULL);
	struct record record;
	size_t there = count(r, k), effort = 0;

	if (!there)
		return NULL;
	for (n %= there; scan_next(&scan, &record, &effort); n--)
		if (n == 0)
			return record.object;
	return NULL;
}

static void make_network(struct rig *r, const char *project, unsigned n)
{
	struct ask *a = user_asks(r, "POST", "/v1/networks");

	user_says(a,
		  "{\"name\":\"net-%u\",\"projectId\":\"%s\",\"regionId\":"
		  "\"%s\",\"spec\":{\"prefix\":\"10.%u.0.0/24\"}}",
		  n, project, r->start->region, n);
	user_sends(a);
}

void users_begin(struct rig *r)
{
	judge_secret(r->judge, USER_DATA);
	make_network(r, r->start->projects[0], 0);
	make_network(r, r->start->projects[1], 1);
}

static void more_spec(struct rig *r, struct ask *a, const struct network *net)
{
	const struct securitygroup *g = nth(r, &securitygroup_kind, roll(r, 4));
	const struct volume *v = nth(r, &volume_kind, roll(r, 4));

	if (roll(r, 3) == 0)
		user_says(a, ",\"alternatives\":[{\"flavorId\":\"%s\"}]",
			  offer(r, &flavor_kind, "sim.medium"));
	if (roll(r, 6) == 0)
		user_says(a, ",\"power\":\"off\"");
	if (roll(r, 6) == 0)
		user_says(a, ",\"publicIp\":true");
	if (roll(r, 8) == 0)
		user_says(a, ",\"userData\":\"" USER_DATA "\"");
	if (g && strcmp(g->network_id, net->meta.id) == 0 && roll(r, 2))
		user_says(a, ",\"securityGroupIds\":[\"%s\"]", g->meta.id);
	if (v && roll(r, 3) == 0)
		user_says(a,
			  ",\"volumes\":[{\"volumeId\":\"%s\","
			  "\"deleteWithInstance\":%s}]",
			  v->meta.id, roll(r, 2) ? "true" : "false");
}

static void create(struct rig *r, const struct act *act)
{
	const struct network *net = nth(r, &network_kind, act->who);
	struct ask *a;

	if (!net)
		return;
	a = user_asks(r, "POST", "/v1/instances%s",
		      act->what % 16 ? "" : "?plan=true");
	user_says(a,
		  "{\"name\":\"web-%u\",\"networkId\":\"%s\",\"spec\":{"
		  "\"flavorId\":\"%s\",\"imageId\":\"%s\"",
		  act->what % NAMES, net->meta.id,
		  offer(r, &flavor_kind, "sim.small"),
		  offer(r, &image_kind, "debian-12"));
	more_spec(r, a, net);
	user_says(a, "}}");
	user_sends(a);
}

static void verb(struct rig *r, const struct instance *i, const char *verb,
		 const char *body)
{
	struct ask *a =
		user_asks(r, "POST", "/v1/instances/%s/%s", i->meta.id, verb);

	user_says(a, "%s", body);
	user_sends(a);
}

static void patch(struct rig *r, const struct instance *i, const char *words,
		  const char *body)
{
	struct ask *a =
		user_asks(r, "PATCH", "/v1/instances/%s%s", i->meta.id, words);

	user_says(a, "%s", body);
	user_sends(a);
}

static void power(struct rig *r, const struct instance *i, uint32_t what)
{
	switch (what % 4) {
	case 0:
		verb(r, i, "start", "");
		break;
	case 1:
		verb(r, i, "stop", "");
		break;
	default:
		patch(r, i, "",
		      what % 4 == 2 ? "{\"spec\":{\"power\":\"off\"}}"
				    : "{\"spec\":{\"power\":\"on\"}}");
	}
}

static void resize(struct rig *r, const struct instance *i, uint32_t what)
{
	static const char *const allow[] = {"?allow=restart", "?allow=rebuild",
					    ""};
	char body[128];

	snprintf(body, sizeof(body), "{\"spec\":{\"flavorId\":\"%s\"}}",
		 offer(r, &flavor_kind,
		       what / 3 % 2 ? "sim.small" : "sim.medium"));
	patch(r, i, allow[what % 3], body);
}

static void rebuild(struct rig *r, const struct instance *i, uint32_t what)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"imageId\":\"%s\"}",
		 offer(r, &image_kind,
		       what / 4 % 2 ? "debian-12" : "ubuntu-24.04"));
	verb(r, i, what % 4 ? "rebuild?allow=rebuild" : "rebuild", body);
}

static void patch_volumes(struct rig *r, const struct instance *i)
{
	const struct volume *v = nth(r, &volume_kind, roll(r, 4));
	char body[160];

	if (i->spec.volumes.n || !v)
		snprintf(body, sizeof(body), "{\"spec\":{\"volumes\":[]}}");
	else
		snprintf(body, sizeof(body),
			 "{\"spec\":{\"volumes\":[{\"volumeId\":\"%s\"}]}}",
			 v->meta.id);
	patch(r, i, "", body);
}

static void patch_expiry(struct rig *r, const struct instance *i)
{
	char body[128], when[CLOCK_TEXT_LEN + 1];

	clock_format(r->wall + 1000 + (int64_t)roll(r, 600000), when);
	snprintf(body, sizeof(body), "{\"spec\":{\"expiresAt\":\"%s\"}}", when);
	patch(r, i, "", body);
}

static void patch_some(struct rig *r, const struct instance *i, uint32_t what)
{
	char body[128];

	switch (what % 8) {
	case 0:
		patch_volumes(r, i);
		break;
	case 1:
		patch(r, i, "",
		      i->spec.paused ? "{\"spec\":{\"paused\":false}}"
				     : "{\"spec\":{\"paused\":true}}");
		break;
	case 2:
		patch(r, i, "",
		      i->spec.delete_protection
			      ? "{\"spec\":{\"deleteProtection\":false}}"
			      : "{\"spec\":{\"deleteProtection\":true}}");
		break;
	case 3:
		patch_expiry(r, i);
		break;
	case 4:
		patch(r, i, "",
		      i->spec.public_ip ? "{\"spec\":{\"publicIp\":false}}"
					: "{\"spec\":{\"publicIp\":true}}");
		break;
	case 5:
		patch(r, i, "?allow=rebuild",
		      i->spec.market == MARKET_SPOT
			      ? "{\"spec\":{\"market\":\"onDemand\"}}"
			      : "{\"spec\":{\"market\":\"spot\"}}");
		break;
	default:
		snprintf(body, sizeof(body), "{\"tags\":{\"t\":\"%u\"}}", what);
		patch(r, i, "", body);
	}
}

static void remove_one(struct rig *r, const char *plural, const struct meta *m)
{
	if (m)
		user_sends(user_asks(r, "DELETE", "/v1/%s/%s", plural, m->id));
}

/* Volumes and groups. */
static void make_thing(struct rig *r, const struct act *act, bool volume)
{
	const struct network *net = nth(r, &network_kind, act->who);
	struct ask *a;

	if (!net)
		return;
	a = user_asks(r, "POST", volume ? "/v1/volumes" : "/v1/securitygroups");
	if (volume)
		user_says(a,
			  "{\"name\":\"disk-%u\",\"projectId\":\"%s\","
			  "\"regionId\":\"%s\",\"spec\":{\"sizeGiB\":5}}",
			  act->what % 5, net->project_id, r->start->region);
	else
		user_says(a,
			  "{\"name\":\"group-%u\",\"networkId\":\"%s\","
			  "\"spec\":{\"rules\":[{\"direction\":\"ingress\","
			  "\"protocol\":\"tcp\",\"ports\":\"22\"}]}}",
			  act->what % 5, net->meta.id);
	user_sends(a);
}

static void network(struct rig *r, const struct act *act)
{
	const struct project *p = nth(r, &project_kind, act->who);

	switch (act->what % 9) {
	case 0:
		if (p)
			make_network(r, p->meta.id, act->seed % 6);
		break;
	case 1:
		remove_one(r, "networks", nth(r, &network_kind, act->who));
		break;
	case 2:
	case 3:
		make_thing(r, act, false);
		break;
	case 4:
		remove_one(r, "securitygroups",
			   nth(r, &securitygroup_kind, act->who));
		break;
	case 5:
	case 6:
	case 7:
		make_thing(r, act, true);
		break;
	default:
		remove_one(r, "volumes", nth(r, &volume_kind, act->who));
	}
}

static void project(struct rig *r, const struct act *act)
{
	struct ask *a;

	if (act->what % 3 == 0) {
		remove_one(r, "projects", nth(r, &project_kind, act->who));
		return;
	}
	a = user_asks(r, "POST", "/v1/projects");
	user_says(a, "{\"name\":\"p%u\",\"organizationId\":\"%s\"}",
		  act->who % 5, r->start->organization);
	user_sends(a);
}

static void quota(struct rig *r, const struct act *act)
{
	struct ask *a;
	char id[37];

	quota_id(r->start->organization, id);
	a = user_asks(r, "PATCH", "/v1/quotas/%s", id);
	user_says(a,
		  "{\"limits\":[{\"kind\":\"instances\",\"limit\":%u},"
		  "{\"kind\":\"vcpus\",\"limit\":%u}]}",
		  1 + act->what % 8, 2 + act->who % 16);
	user_sends(a);
}

static void read_some(struct rig *r, const struct act *act)
{
	const struct instance *i = nth(r, &instance_kind, act->who);
	uint64_t newest = store_revision(r->store), at;

	switch (act->what % 6) {
	case 0:
		user_sends(user_asks(r, "GET", "/v1/instances?limit=%u",
				     1 + act->seed % 4));
		break;
	case 1:
		at = 1 + act->seed % newest;
		user_sends(user_asks(r, "GET", "/v1/servers?at=%llu",
				     (unsigned long long)at));
		break;
	case 2:
		user_sends(user_asks(r, "GET", "/v1/organizations/%s/usage",
				     r->start->organization));
		break;
	case 3:
		if (i)
			user_sends(user_asks(r, "GET",
					     "/v1/instances/%s/consoleoutput",
					     i->meta.id));
		break;
	case 4:
		if (i)
			user_sends(
				user_asks(r, "GET",
					  "/v1/instances/%s?wait=%s"
					  "&timeoutMs=%u",
					  i->meta.id,
					  act->seed % 2 ? "running" : "deleted",
					  act->seed % 9000));
		break;
	default:
		if (i)
			user_sends(user_asks(
				r, "GET", "/v1/instances/%s%s", i->meta.id,
				act->seed % 2 ? "?maxStalenessMs=1000" : ""));
	}
}

static void operate(struct rig *r, const struct act *act)
{
	static const char *const bodies[] = {
		"{\"spec\":{\"paused\":true}}",
		"{\"spec\":{\"paused\":false}}",
		"{\"spec\":{\"orphanPolicy\":\"remove\"}}",
		"{\"spec\":{\"orphanPolicy\":\"report\"}}",
		"{\"spec\":{\"observeSeconds\":30}}",
		"{\"spec\":{\"callsAtOnce\":1}}",
		"{\"spec\":{\"options\":{\"pollMs\":500}}}",
	};
	uint32_t what = act->what % 9;
	struct ask *a;

	if (what >= 7) {
		user_sends(user_asks(r, "POST", "/v1/regions/%s/%s",
				     r->start->region,
				     what == 7 ? "accept" : "sync"));
		return;
	}
	a = user_asks(r, "PATCH", "/v1/regions/%s", r->start->region);
	user_says(a, "%s", bodies[what]);
	user_sends(a);
}

/* Of those that are about an instance that is there. */
static void about_instance(struct rig *r, const struct act *act)
{
	const struct instance *i = nth(r, &instance_kind, act->who);

	if (!i)
		return;
	switch (act->kind) {
	case ACT_POWER:
		power(r, i, act->what);
		break;
	case ACT_REBOOT:
		verb(r, i, "reboot", act->what % 2 ? "{\"hard\":true}" : "{}");
		break;
	case ACT_RESIZE:
		resize(r, i, act->what);
		break;
	case ACT_REBUILD:
		rebuild(r, i, act->what);
		break;
	case ACT_PATCH:
		patch_some(r, i, act->what);
		break;
	default:
		remove_one(r, "instances", &i->meta);
	}
}

void users_act(struct rig *r, const struct act *act)
{
	switch (act->kind) {
	case ACT_CREATE:
		create(r, act);
		break;
	case ACT_REPEAT:
		repeat(r);
		break;
	case ACT_NETWORK:
		network(r, act);
		break;
	case ACT_PROJECT:
		project(r, act);
		break;
	case ACT_QUOTA:
		quota(r, act);
		break;
	case ACT_READ:
		read_some(r, act);
		break;
	case ACT_WATCH:
		stream_turn(r, act->who % STREAMS, act->what % 2);
		break;
	case ACT_OPERATE:
		operate(r, act);
		break;
	default:
		about_instance(r, act);
	}
}

#include "bench.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "model/quota.h"
#include "model/server.h"
#include "provider/sim_wire.h"
#include "stepped.h"
#include "store/line.h"
#include "store/memory.h"

#define BORN "\"createdAt\":\"2026-01-01T00:00:00.000Z\""
#define OWNED                                                                  \
	"\"organizationId\":\"" ORGANIZATION "\",\"projectId\":\"" PROJECT "\""

const struct pair pair_new = {.state = "pending",
			      .provisioning = "pending",
			      .power = "on",
			      .phase = "intended",
			      .seen = "pending",
			      .generation = 1,
			      .number = 1,
			      .attempt = 1};

const struct pair pair_running = {.state = "running",
				  .provisioning = "provisioned",
				  .power = "on",
				  .launched = "2026-01-01T00:01:00.000Z",
				  .phase = "launched",
				  .seen = "running",
				  .generation = 1,
				  .number = 1,
				  .attempt = 1};

static void must(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "bench: %s\n", err->msg);
		abort();
	}
}

void bench_put(struct bench *b, const char *kind, const char *id,
	       const char *fmt, ...)
{
	char json[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(json, sizeof(json), fmt, ap);
	va_end(ap);
	line_begin(&b->row, '+', kind, 1, id);
	buf_addf(&b->row, " {\"id\":\"%s\",\"revision\":%llu", id,
		 (unsigned long long)b->revision + 1);
	if (json[0])
		buf_addf(&b->row, ",%s", json);
	buf_adds(&b->row, "}\n");
}

void bench_drop(struct bench *b, const char *kind, const char *id)
{
	line_begin(&b->row, '-', kind, 1, id);
	buf_addc(&b->row, '\n');
}

void bench_row(struct bench *b)
{
	struct row row = {++b->revision, now, buf_str(&b->row), b->row.len};

	judge_row(b->j, &row, now);
	buf_clear(&b->row);
}

/* A member, if there is one. */
static const char *member(char to[96], const char *name, const char *value)
{
	to[0] = '\0';
	if (value)
		snprintf(to, 96, ",\"%s\":\"%s\"", name, value);
	return to;
}

void bench_instance(struct bench *b, const struct pair *p)
{
	char d[96], l[96], m[96], t[96], c[128] = "";

	if (p->action)
		snprintf(c, sizeof(c),
			 ",\"change\":{\"action\":\"%s\",\"step\":"
			 "\"waiting\"}",
			 p->action);
	bench_put(b, "instance", b->id,
		  "\"generation\":%d%s," BORN
		  "%s,\"name\":\"%s\",\"uid\":\"%s\"," OWNED
		  ",\"regionId\":\"" REGION "\",\"networkId\":\"" NETWORK
		  "\",\"spec\":{\"flavorId\":\"" FLAVOR
		  "\",\"imageId\":\"" IMAGE "\"%s,\"power\":\"%s\"},"
		  "\"status\":{\"state\":\"%s\",\"provisioning\":\"%s\","
		  "\"serverId\":\"%s\"%s%s%s}",
		  p->generation, member(t, "description", p->description),
		  member(d, "deletedAt", p->deleted), b->name, b->uid,
		  p->more ? p->more : "", p->power, p->state, p->provisioning,
		  b->server, member(m, "providerId", p->machine),
		  member(l, "launchedAt", p->launched), c);
}

void bench_server(struct bench *b, const struct pair *p)
{
	char m[96];

	bench_put(b, "server", b->server,
		  "\"generation\":1," BORN ",\"name\":\"%s\","
		  "\"instanceId\":\"%s\",\"instanceUid\":\"%s"
		  "\",\"regionId\":\"" REGION "\",\"networkId\":\"" NETWORK
		  "\",\"number\":%d,\"asked\":{\"flavorId\":\"" FLAVOR
		  "\",\"imageId\":\"" IMAGE "\",\"market\":\"onDemand\"},"
		  "\"attempt\":{\"number\":%d,\"offering\":0,"
		  "\"token\":\"%s\"},\"status\":{\"phase\":\"%s\","
		  "\"state\":\"%s\"%s%s}",
		  b->name, b->id, b->uid, p->number, p->attempt, b->token,
		  p->phase, p->seen, member(m, "providerId", p->machine),
		  p->told ? p->told : "");
}

void bench_allocation(struct bench *b, int vcpus)
{
	bench_put(b, "allocation", b->allocation,
		  OWNED ",\"objectKind\":\"instance\",\"objectId\":\"%s\","
			"\"amounts\":[{\"kind\":\"instances\",\"committed\":1,"
			"\"reserved\":0},{\"kind\":\"vcpus\",\"committed\":%d,"
			"\"reserved\":0},{\"kind\":\"memoryMiB\","
			"\"committed\":1024,\"reserved\":0}]",
		  b->id, vcpus);
}

void bench_pair(struct bench *b, const struct pair *p)
{
	struct pair q = *p;

	if (!q.machine && b->machine[0] && strcmp(q.phase, "intended") != 0)
		q.machine = b->machine;
	bench_server(b, &q);
	bench_instance(b, &q);
	bench_row(b);
}

static void put_network(struct bench *b, const char *state)
{
	bench_put(b, "network", NETWORK,
		  "\"generation\":1," BORN ",\"name\":\"net\"," OWNED
		  ",\"regionId\":\"" REGION
		  "\",\"spec\":{\"prefix\":\"10.0.0.0/16\"},"
		  "\"status\":{\"state\":\"%s\",\"providerId\":\"%s\"}",
		  state, b->network);
}

/* The network, in the store and at the cloud. */
static void furnish_network(struct bench *b)
{
	struct sim_thing ask = {.kind = "network",
				.ours = NETWORK,
				.name = "net",
				.prefix = "10.0.0.0/16"};
	struct sim_thing made;
	struct arena a;
	struct err err;
	char id[37];

	allocation_id(ORGANIZATION, NETWORK, id);
	put_network(b, "pending");
	bench_put(b, "allocation", id,
		  OWNED ",\"objectKind\":\"network\",\"objectId\":\"" NETWORK
			"\",\"amounts\":[{\"kind\":\"networks\",\"committed\":"
			"1,\"reserved\":0}]");
	bench_row(b);
	arena_init(&a, 1 << 20);
	must(sim_cloud_call(b->cloud, SIM_ENSURE, &ask, &a, &made, &err), &err);
	snprintf(b->network, sizeof(b->network), "%s", made.id);
	arena_release(&a);
	judge_called(b->j, b->cloud, b->revision, now);
	put_network(b, "ready");
	bench_row(b);
}

static void furnish(struct bench *b)
{
	bench_put(b, "organization", ORGANIZATION, "\"name\":\"org\"");
	bench_put(b, "project", PROJECT,
		  "\"name\":\"project\",\"organizationId\":\"" ORGANIZATION
		  "\"");
	bench_put(b, "region", REGION,
		  "\"name\":\"region\",\"spec\":{\"provider\":\"sim\","
		  "\"observeSeconds\":60,\"orphanPolicy\":\"report\"},"
		  "\"status\":{\"state\":\"ready\"}");
	bench_put(b, "flavor", FLAVOR,
		  "\"name\":\"sim.small\",\"providerId\":\"sim.small\","
		  "\"vcpus\":1,\"memoryMiB\":1024");
	bench_put(b, "image", IMAGE,
		  "\"name\":\"debian-12\",\"status\":{\"state\":\"ready\","
		  "\"providerId\":\"debian-12\"}");
	bench_put(b, "quotakind", "vcpus", "\"name\":\"vcpus\"");
	bench_row(b);
	furnish_network(b);
}

void bench_next_token(struct bench *b, int attempt)
{
	char name[80];

	snprintf(name, sizeof(name), "launch/%d/" FLAVOR "//onDemand", attempt);
	uuid_v5(b->server, name, b->token);
}

static void name_all(struct bench *b, const char *name, const char *uid)
{
	b->name = name;
	b->uid = uid;
	uuid_v5(NETWORK, name, b->id);
	server_id(uid, 1, b->server);
	bench_next_token(b, 1);
	allocation_id(ORGANIZATION, b->id, b->allocation);
}

void bench_other(struct bench *b)
{
	name_all(b, "db", "88888888-8888-7888-8888-888888888880");
}

void bench_open(struct bench *b)
{
	struct sim_options o;
	struct arena a;
	struct err err;

	memset(b, 0, sizeof(*b));
	b->row = BUF_INIT(1 << 20);
	b->j = judge_new();
	arena_init(&a, 1 << 20);
	must(sim_options_read(NULL, &a, &o, &err), &err);
	o.launch_ms = o.stop_ms = o.start_ms = o.terminate_ms = 0;
	o.consistency_ms = 0;
	must(sim_cloud_open(&o, &stepped, NULL, &b->cloud, &err), &err);
	arena_release(&a);
	name_all(b, "web", "88888888-8888-7888-8888-888888888888");
	furnish(b);
}

void bench_close(struct bench *b)
{
	buf_release(&b->row);
	sim_cloud_close(b->cloud);
	judge_free(b->j);
}

void bench_create(struct bench *b)
{
	bench_allocation(b, 1);
	bench_pair(b, &pair_new);
}

static void make(struct bench *b, const char *server, const char *installation,
		 const char *token)
{
	struct field_tag tags[] = {{TAG_SERVER, server},
				   {TAG_INSTALLATION, installation}};
	struct sim_machine made, ask = {.name = "web",
					.token = token,
					.flavor = "sim.small",
					.image = "debian-12",
					.network = b->network,
					.root_disk_gib = 10,
					.tags = {tags, installation ? 2 : 0}};
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	must(sim_cloud_call(b->cloud, SIM_LAUNCH, &ask, &a, &made, &err), &err);
	snprintf(b->machine, sizeof(b->machine), "%s", made.id);
	arena_release(&a);
}

void bench_make(struct bench *b, const char *server, const char *installation,
		const char *token)
{
	make(b, server, installation, token);
	judge_called(b->j, b->cloud, b->revision, now);
}

void bench_stray(struct bench *b, const char *server, const char *installation)
{
	judge_meddled(b->j, b->cloud);
	make(b, server, installation, NULL);
	judge_meddled(b->j, b->cloud);
}

void bench_meddle(struct bench *b, const char *what)
{
	struct err err;

	judge_meddled(b->j, b->cloud);
	must(sim_cloud_drift(b->cloud, b->machine, what, &err), &err);
	judge_meddled(b->j, b->cloud);
}

void bench_region(struct bench *b, const char *policy, int64_t ms)
{
	char until[CLOCK_TEXT_LEN + 1];

	clock_format(now + ms, until);
	bench_put(b, "region", REGION,
		  "\"name\":\"region\",\"spec\":{\"provider\":\"sim\","
		  "\"observeSeconds\":60,\"orphanPolicy\":\"%s\"},"
		  "\"status\":{\"state\":\"ready\",\"monitor\":{"
		  "\"orphans\":[{\"providerId\":\"%s\","
		  "\"quarantinedUntil\":\"%s\"}]}}",
		  policy, b->machine, until);
	bench_row(b);
}

void bench_remove_network(struct bench *b)
{
	struct sim_act act = {
		.kind = "network", .ours = NETWORK, .id = b->network};
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	must(sim_cloud_call(b->cloud, SIM_REMOVE, &act, &a, NULL, &err), &err);
	arena_release(&a);
	judge_called(b->j, b->cloud, b->revision, now);
}

void bench_call(struct bench *b, enum sim_call call, const char *flavor)
{
	struct sim_act act = {.id = b->machine, .flavor = flavor};
	struct sim_machine whole = {.id = b->machine, .image = flavor};
	struct sim_machine shown;
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	must(sim_cloud_call(b->cloud, call,
			    call == SIM_REBUILD ? (const void *)&whole : &act,
			    &a, &shown, &err),
	     &err);
	arena_release(&a);
	judge_called(b->j, b->cloud, b->revision, now);
}

void bench_launch(struct bench *b)
{
	bench_create(b);
	bench_make(b, b->server, DISK_INSTALLATION, b->token);
	bench_pair(b, &pair_running);
}

void bench_wait(int64_t ms)
{
	step(NULL, (uint64_t)ms);
}

int64_t bench_now(void)
{
	return now;
}

bool condemned(struct bench *b, enum judge_class class, const char *words)
{
	const char *why = judge_verdict(b->j);
	bool ok = why && judge_class(b->j) == class && strstr(why, words);

	if (!ok)
		printf("# %s: %s, not %s\n",
		       judge_class_names[judge_class(b->j)],
		       why ? why : "nothing", words);
	return ok;
}

bool acquitted(struct bench *b)
{
	const char *why = judge_verdict(b->j);

	if (why)
		printf("# %s: %s\n", judge_class_names[judge_class(b->j)], why);
	return !why;
}

#include "yard.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uuid.h"
#include "loop/pool.h"
#include "model/deletion.h"
#include "model/event.h"
#include "model/image.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/usage.h"
#include "model/volume.h"
#include "provider/sim.h"
#include "provider/sim_cloud.h"
#include "reconcile/engine_priv.h"
#include "rig/files.h"

#define TURNS_MOST 200000

static int64_t wall(const struct clock *c)
{
	return ((const struct yard *)c)->now;
}

static uint64_t mono(const struct clock *c)
{
	return (uint64_t)((const struct yard *)c)->now;
}

static void run_job(void *ctx, struct job *j)
{
	struct yard *y = ctx;

	list_add(&y->jobs, &j->link);
}

static void wake(void *ctx, uint64_t mono_ms)
{
	struct yard *y = ctx;

	y->wake = mono_ms;
}

static void ring(void *ctx)
{
	struct yard *y = ctx;

	y->wake = (uint64_t)y->now;
}

static void must(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "yard: %s\n", err->msg);
		abort();
	}
}

static void start(struct yard *y)
{
	struct store_conf conf = {.clock = &y->clock,
				  .random = &y->random.base,
				  .log_revisions = 1000000,
				  .log_age_ms = 3600000,
				  .log_bytes = (size_t)1 << 30,
				  .batch_most = 128,
				  .pending_most = 4096};
	struct err err;

	y->backend = memory_open(y->disk);
	must(store_open(&conf, y->backend, &y->store, &err), &err);
	y->wake = QUEUE_NEVER;
	list_init(&y->jobs);
	y->engine = engine_new(&(struct engine_conf){
		.store = y->store,
		.clock = &y->clock,
		.random = &y->random.base,
		.installation = DISK_INSTALLATION,
		.folder = y->folder,
		.run = run_job,
		.wake = wake,
		.ring = ring,
		.ctx = y,
	});
}

static void stop(struct yard *y)
{
	engine_free(y->engine);
	store_close(y->store);
}

void yard_crash(struct yard *y)
{
	stop(y);
	y->now += 1;
	start(y);
}

bool yard_calling(const struct yard *y)
{
	return !list_empty(&y->jobs);
}

void yard_call(struct yard *y, bool answer)
{
	struct job *j = CONTAINER_OF(list_pop(&y->jobs), struct job, link);

	y->calls++;
	j->run(j);
	if (answer)
		j->done(j);
}

bool yard_step(struct yard *y)
{
	if (memory_pending(y->backend)) {
		memory_answer(y->backend, MEMORY_WRITTEN);
	} else if (y->wake <= (uint64_t)y->now) {
		y->wake = QUEUE_NEVER;
		engine_turn(y->engine);
	} else if (yard_calling(y)) {
		yard_call(y, true);
	} else {
		return false;
	}
	return true;
}

void yard_run(struct yard *y, int64_t ms)
{
	int64_t end = y->now + ms;

	for (int n = 0; n < TURNS_MOST; n++) {
		if (yard_step(y))
			continue;
		if (y->wake > (uint64_t)end) {
			y->now = end;
			return;
		}
		y->now = (int64_t)y->wake;
	}
	fprintf(stderr, "yard: it never rests\n");
	abort();
}

static void done(struct txn *t, const struct err *err)
{
	if (err)
		fprintf(stderr, "# yard: %s\n", err->msg);
	assert(!err);
	*(bool *)t->ctx = true;
}

struct running {
	int (*fn)(struct tx *tx, void *ctx, struct err *err);
	void *ctx;
	bool done; /* last */
};

static int run_fn(struct tx *tx, void *ctx, struct err *err)
{
	struct running *r = CONTAINER_OF(ctx, struct running, done);

	return r->fn(tx, r->ctx, err);
}

void yard_transact(struct yard *y,
		   int (*fn)(struct tx *tx, void *ctx, struct err *err),
		   void *ctx)
{
	struct running r = {fn, ctx, false};
	struct txn t = {.fn = run_fn, .done = done, .ctx = &r.done};

	store_transact(y->store, &t);
	while (!r.done)
		memory_answer(y->backend, MEMORY_WRITTEN);
}

static void named(struct meta *m, const char *id, const char *name)
{
	m->id = id;
	m->name = name;
	m->generation = 1;
	m->created_at = m->updated_at = 1;
}

static int furnish(struct tx *tx, void *ctx, struct err *err)
{
	struct organization o = {0};
	struct project p = {.organization_id = YARD_ORGANIZATION};
	struct region r = {.spec = {.provider = "sim",
				    .options = ctx,
				    .sync_seconds = 3000,
				    .calls_at_once = 16},
			   .status.state = BACKED_PENDING};
	struct network n = {.organization_id = YARD_ORGANIZATION,
			    .project_id = YARD_PROJECT,
			    .region_id = YARD_REGION,
			    .spec.prefix = "10.0.0.0/16",
			    .status.backed.state = BACKED_PENDING};
	struct volume v = {.organization_id = YARD_ORGANIZATION,
			   .project_id = YARD_PROJECT,
			   .region_id = YARD_REGION,
			   .spec.size_gib = 5,
			   .status.backed.state = BACKED_PENDING};

	named(&o.meta, YARD_ORGANIZATION, "org");
	named(&p.meta, YARD_PROJECT, "project");
	named(&r.meta, YARD_REGION, "region");
	named(&n.meta, YARD_NETWORK, "network");
	named(&v.meta, YARD_VOLUME, "volume");
	return tx_put(tx, &organization_kind, &o, err) < 0 ||
			       tx_put(tx, &project_kind, &p, err) < 0 ||
			       tx_put(tx, &region_kind, &r, err) < 0 ||
			       tx_put(tx, &network_kind, &n, err) < 0 ||
			       tx_put(tx, &volume_kind, &v, err) < 0
		       ? -1
		       : 0;
}

void yard_open(struct yard *y, const char *options)
{
	static char none[] = "{}";
	char text[1024];

	memset(y, 0, sizeof(*y));
	y->clock = (struct clock){wall, mono};
	y->now = 1800000000000;
	random_seed(&y->random, 7);
	files_new(y->folder);
	y->disk = disk_new();
	start(y);
	snprintf(text, sizeof(text), "%s", options ? options : none);
	yard_transact(y, furnish, text);
	yard_run(y, 10000);
}

static int set_options(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	r.spec.options = ctx;
	r.meta.generation++;
	r.meta.updated_at = tx_time(tx);
	return tx_put(tx, &region_kind, &r, err);
}

void yard_options(struct yard *y, const char *options)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", options);
	yard_transact(y, set_options, text);
}

void yard_close(struct yard *y)
{
	stop(y);
	disk_free(y->disk);
	files_remove(y->folder);
}

const char *yard_id(const struct kind *k, const char *name)
{
	static char ids[16][37];
	static unsigned next;
	char *id = ids[next++ % 16], path[96];

	snprintf(path, sizeof(path), "%s/%s", k->name, name);
	uuid_v5(YARD_REGION, path, id);
	return id;
}

struct instance yard_spec(const struct yard *y, const char *name)
{
	(void)y;
	return (struct instance){
		.meta.name = name,
		.organization_id = YARD_ORGANIZATION,
		.project_id = YARD_PROJECT,
		.region_id = YARD_REGION,
		.network_id = YARD_NETWORK,
		.spec = {.flavor_id = yard_id(&flavor_kind, "sim.small"),
			 .image_id = yard_id(&image_kind, "debian-12"),
			 .market = MARKET_ON_DEMAND,
			 .root_disk.size_gib = FIELD_NONE,
			 .power = POWER_ON,
			 .ssh_key = SSH_KEY_NONE},
		.status = {.state = INSTANCE_PENDING,
			   .provisioning = PROVISIONING_PENDING,
			   .health = HEALTH_UNKNOWN},
	};
}

static int put_allocation(struct tx *tx, const struct instance *i,
			  const struct flavor *const *flavors, size_t n,
			  struct err *err)
{
	struct quota_amount amounts[USAGE_MOST];
	struct allocation a = {.organization_id = i->organization_id,
			       .project_id = i->project_id,
			       .object_kind = "instance",
			       .object_id = i->meta.id,
			       .amounts = {amounts, 0}};
	char id[37];

	a.amounts.n = usage_of(i, flavors, n, amounts);
	allocation_id(i->organization_id, i->meta.id, id);
	a.meta.id = id;
	a.meta.generation = 1;
	return tx_put(tx, &allocation_kind, &a, err);
}

static int create(struct tx *tx, void *ctx, struct err *err)
{
	struct instance *i = ctx;
	const struct flavor *flavors[OFFERINGS_MOST] = {0};
	struct alternative what;
	struct random_seeded r;
	struct server s;
	char id[37];
	size_t n;

	instance_id(i->network_id, i->meta.name, id);
	i->meta.id = arena_strdup(tx_arena(tx), id);
	i->meta.generation = 1;
	i->meta.created_at = i->meta.updated_at = tx_time(tx);
	tx_new_id(tx, id);
	i->uid = arena_strdup(tx_arena(tx), id);
	for (n = 0; instance_offering(i, n, &what); n++)
		flavors[n] = tx_get(tx, &flavor_kind, what.flavor_id);
	if (!flavors[0])
		return err_set(err, ERR_INVALID, "there is no such flavor");
	random_seed(&r, strtoull(i->uid + 24, NULL, 16));
	server_begin(i, flavors[0], 1, &r.base, tx_arena(tx), &s);
	s.meta.generation = 1;
	s.meta.created_at = s.meta.updated_at = tx_time(tx);
	i->status.server_id = s.meta.id;
	return tx_put(tx, &instance_kind, i, err) < 0 ||
			       tx_put(tx, &server_kind, &s, err) < 0 ||
			       put_allocation(tx, i, flavors, n, err) < 0
		       ? -1
		       : 0;
}

const char *yard_create(struct yard *y, const struct instance *i)
{
	static char ids[64][37];
	static unsigned next;
	char *id = ids[next++ % 64];
	struct instance new = *i;

	yard_transact(y, create, &new);
	instance_id(i->network_id, i->meta.name, id);
	return id;
}

struct changing {
	const char *id;
	void (*fn)(struct instance *i);
	int action;
};

static int change(struct tx *tx, void *ctx, struct err *err)
{
	const struct changing *c = ctx;
	const struct instance *old = tx_get(tx, &instance_kind, c->id);
	struct instance new = *old;

	if (!c->fn && !c->action) {
		deletion_begin(&instance_kind, &new, tx_time(tx), "test");
	} else {
		if (c->fn)
			c->fn(&new);
		if (c->action)
			new.status.change =
				(struct change){.action = c->action,
						.step = CHANGE_WAITING,
						.since = tx_time(tx)};
		new.meta.generation++;
		new.meta.updated_at = tx_time(tx);
	}
	return tx_put(tx, &instance_kind, &new, err);
}

void yard_change(struct yard *y, const char *id, void (*fn)(struct instance *i),
		 int action)
{
	struct changing c = {id, fn, action};

	yard_transact(y, change, &c);
}

void yard_delete(struct yard *y, const char *id)
{
	yard_change(y, id, NULL, 0);
}

const struct instance *yard_instance(const struct yard *y, const char *id)
{
	struct record r;

	return store_get(y->store, 0, &instance_kind, id, &r) ? r.object : NULL;
}

const struct server *yard_server(const struct yard *y, const char *id)
{
	const struct instance *i = yard_instance(y, id);
	struct record r;

	return i && store_get(y->store, 0, &server_kind, i->status.server_id,
			      &r)
		       ? r.object
		       : NULL;
}

bool yard_told(const struct yard *y, const char *id, const char *reason)
{
	char event[37];
	struct record r;

	uuid_v5(id, reason, event);
	return store_get(y->store, 0, &event_kind, event, &r);
}

struct provider *yard_provider(struct yard *y)
{
	const struct place *p =
		site_place(regions_site(y->engine->regions, YARD_REGION));
	/* The test may meddle with what controllers may only look at. */
	union {
		const struct provider *read;
		struct provider *write;
	} provider = {p ? p->provider : NULL};

	return provider.write;
}

struct sim_cloud *yard_cloud(struct yard *y)
{
	struct provider *p = yard_provider(y);

	return p ? sim_truth(p) : NULL;
}

size_t yard_machines(struct yard *y)
{
	struct sim_cloud *c = yard_cloud(y);

	return c ? sim_cloud_machines(c) : 0;
}

bool yard_open_now(struct yard *y)
{
	return yard_cloud(y) != NULL;
}

bool yard_drift(struct yard *y, const char *machine, const char *what)
{
	struct err err;

	return sim_cloud_drift(yard_cloud(y), machine, what, &err) == 0;
}

size_t yard_count(const struct yard *y, const struct kind *k)
{
	struct scan scan = store_scan(y->store, 0, k, NULL);
	struct record r;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &r, &effort))
		n++;
	return n;
}

const char *yard_launch(struct yard *y, const char *server,
			const char *installation)
{
	static char id[64];
	struct field_tag tags[] = {{TAG_SERVER, server},
				   {TAG_INSTALLATION, installation}};
	struct record net;
	struct sim_machine ask = {.name = "stray",
				  .flavor = "sim.small",
				  .image = "debian-12",
				  .root_disk_gib = 10,
				  .tags = {tags, 2}};
	struct sim_machine made;
	struct arena a;
	struct err err;

	store_get(y->store, 0, &network_kind, YARD_NETWORK, &net);
	ask.network =
		((const struct network *)net.object)->status.backed.provider;
	arena_init(&a, 1 << 20);
	must(sim_cloud_call(yard_cloud(y), SIM_LAUNCH, &ask, &a, &made, &err),
	     &err);
	snprintf(id, sizeof(id), "%s", made.id);
	arena_release(&a);
	return id;
}

void yard_stray(struct yard *y, const char *id)
{
	yard_launch(y, yard_server(y, id)->meta.id, DISK_INSTALLATION);
}

bool yard_power(struct yard *y, const char *machine, bool on)
{
	struct sim_act ask = {.id = machine};
	struct arena a;
	struct err err;
	int r;

	arena_init(&a, 1 << 20);
	r = sim_cloud_call(yard_cloud(y), on ? SIM_START : SIM_STOP, &ask, &a,
			   NULL, &err);
	arena_release(&a);
	return r == 0;
}

static int set_observing(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	r.spec.observe_seconds = *(int64_t *)ctx;
	r.meta.generation++;
	return tx_put(tx, &region_kind, &r, err);
}

void yard_observe(struct yard *y, int64_t seconds)
{
	yard_transact(y, set_observing, &seconds);
}

static int set_removing(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);
	int64_t seconds = *(int64_t *)ctx;

	r.spec.orphan_policy = seconds ? ORPHANS_REMOVE : ORPHANS_REPORT;
	r.spec.orphan_quarantine_seconds = seconds ? seconds : 3600;
	r.meta.generation++;
	return tx_put(tx, &region_kind, &r, err);
}

void yard_remove_orphans(struct yard *y, int64_t seconds)
{
	yard_transact(y, set_removing, &seconds);
}

const struct region *yard_region(const struct yard *y)
{
	struct record r;

	return store_get(y->store, 0, &region_kind, YARD_REGION, &r) ? r.object
								     : NULL;
}

#include "compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "model/image.h"
#include "model/network.h"
#include "model/region.h"
#include "model/server.h"
#include "store/read.h"
#include "test.h"

struct put {
	struct txn txn;
	const struct kind *kind;
	void *object;
	bool done;
};

static int put_fn(struct tx *tx, void *ctx, struct err *err)
{
	struct put *p = ctx;
	struct meta *meta = p->object;

	meta->generation = 1;
	meta->created_at = meta->updated_at = tx_time(tx);
	meta->created_by = meta->updated_by = "muster";
	return tx_put(tx, p->kind, p->object, err);
}

static void put_done(struct txn *t, const struct err *err)
{
	struct put *p = t->ctx;

	if (err)
		printf("# %s: %s\n", p->kind->name, err->msg);
	CHECK(!err);
	p->done = true;
}

static void put(struct world *w, const struct kind *k, void *object)
{
	struct put p = {.kind = k, .object = object};

	p.txn = (struct txn){.fn = put_fn, .done = put_done, .ctx = &p};
	store_transact(w->store, &p.txn);
	while (!p.done && memory_pending(w->backend))
		memory_answer(w->backend, MEMORY_WRITTEN);
	CHECK(p.done);
}

#define LIST(array)                                                            \
	{                                                                      \
		array, COUNT_OF(array)                                         \
	}

static void put_region(struct world *w, const char *name, const char *only,
		       const char *id)
{
	static const char *able[] = {
		"stop",     "reboot",  "resize",        "rebuild",
		"tag",      "access",  "console",       "consoleOutput",
		"import",   "volumes", "snapshot",      "growRootDisk",
		"networks", "spot",    "securityGroups"};
	static struct zone zones[] = {{"a", true}, {"b", true}};
	struct region r = {.meta = {.id = id, .name = name}};

	r.spec.provider = "sim";
	r.spec.sync_seconds = 300;
	r.spec.orphan_policy = ORPHANS_REPORT;
	r.spec.orphan_quarantine_seconds = 3600;
	r.spec.calls_at_once = 16;
	if (only)
		r.spec.organization_ids = (struct items){&only, 1};
	r.status.state = BACKED_READY;
	r.status.capabilities = (struct items)LIST(able);
	r.status.zones = (struct items)LIST(zones);
	put(w, &region_kind, &r);
}

void compute_open(struct world *w, const char *name, const char *only,
		  struct compute *ret)
{
	struct flavor f = {.meta = {.id = ret->flavor, .name = name}};
	struct image i = {.meta = {.id = ret->image, .name = name}};

	uuid_v5("00000000-0000-5000-8000-00000000000a", name, ret->region);
	uuid_v5(ret->region, "flavor/small", ret->flavor);
	uuid_v5(ret->region, "image/debian", ret->image);
	put_region(w, name, only, ret->region);
	f.region_id = i.region_id = ret->region;
	f.provider_id = "small";
	f.vcpus = 1;
	f.memory_mib = 1024;
	f.architecture = i.spec.architecture = ARCHITECTURE_X86_64;
	f.root_disk.model = DISK_RESIZABLE;
	f.root_disk.size_gib = f.root_disk.least = 10;
	f.root_disk.most = 100;
	put(w, &flavor_kind, &f);
	i.spec.virtualization = VIRTUALIZATION_ANY;
	i.status.backed.state = BACKED_READY;
	i.status.backed.provider = "debian";
	i.status.source = IMAGE_PROVIDER;
	put(w, &image_kind, &i);
}

static void put_instance(struct world *w, struct instance *i,
			 const struct flavor *f, char server[40])
{
	struct server s = {.meta = {.id = server, .name = i->meta.name}};
	struct random_seeded r;
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	random_seed(&r, 1);
	server_id(i->uid, 1, server);
	i->status.server_id = server;
	put(w, &instance_kind, i);
	server_begin(i, f, 1, &r.base, &a, &s);
	s.meta.id = server;
	s.meta.name = i->meta.name;
	s.status.phase = SERVER_LAUNCHED;
	s.status.state = INSTANCE_RUNNING;
	s.status.provider_id = "i-1";
	put(w, &server_kind, &s);
	arena_release(&a);
}

void compute_run(struct world *w, const struct compute *c, const char *network,
		 char instance[40], char server[40])
{
	char uid[40], name[40];
	struct instance i = {.meta = {.id = instance, .name = name}};
	const struct network *n;
	struct record r, flavor;

	CHECK(store_get(w->store, 0, &network_kind, network, &r));
	CHECK(store_get(w->store, 0, &flavor_kind, c->flavor, &flavor));
	n = r.object;
	snprintf(name, sizeof(name), "web-%s", network + 24);
	instance_id(network, name, instance);
	uuid_v5(instance, "uid", uid);
	i.uid = uid;
	i.organization_id = n->organization_id;
	i.project_id = n->project_id;
	i.region_id = n->region_id;
	i.network_id = network;
	i.spec.flavor_id = c->flavor;
	i.spec.image_id = c->image;
	i.spec.market = MARKET_ON_DEMAND;
	i.spec.root_disk.size_gib = FIELD_NONE;
	i.spec.ssh_key = SSH_KEY_NONE;
	i.spec.power = POWER_ON;
	i.status.state = INSTANCE_RUNNING;
	i.status.provisioning = PROVISIONING_PROVISIONED;
	i.status.health = HEALTH_HEALTHY;
	i.status.provider_id = "i-1";
	put_instance(w, &i, flavor.object, server);
}

void compute_lose(struct world *w, const char *region, int64_t missing)
{
	struct record old;
	struct region r;

	if (!store_get(w->store, 0, &region_kind, region, &old))
		abort();
	r = *(const struct region *)old.object;
	r.status.monitor.missing = r.status.monitor.of = missing;
	r.status.monitor.missing_since = 1;
	put(w, &region_kind, &r);
}

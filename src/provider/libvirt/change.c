/* What is changed about a machine that there is. */
#include <string.h>

#include "provider/libvirt/disk.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/room.h"
#include "provider/libvirt/tune.h"

#define ARENA_MOST ((size_t)64 << 20)

static int put_tags(struct domain_facts *f, struct arena *a, void *ctx,
		    struct err *err)
{
	(void)a;
	(void)err;
	f->tags = *(const struct items *)ctx;
	return 0;
}

int lv_set_tags(struct provider *p, const char *id, const struct items *tags,
		struct err *err)
{
	auto_found struct found m = {0};
	struct items copy = *tags;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	return facts_change(m.host, m.domain, put_tags, &copy, err);
}

static int put_size(struct domain_facts *f, struct arena *a, void *ctx,
		    struct err *err)
{
	(void)a;
	(void)err;
	f->root_disk_gib = *(const int64_t *)ctx;
	return 0;
}

static int grow(const struct found *m, int64_t gib, struct arena *a,
		struct err *err)
{
	bool active;

	if (m->host->fake)
		return 0;
	if (machine_is_active(m->host, m->domain, &active, err) < 0)
		return -1;
	if (!active)
		return m->host->disks->grow(m->host,
					    disk_name(m->uuid, DISK_ROOT, a),
					    gib * DISK_GIB, err);
	if (virDomainBlockResize(m->domain, "vda",
				 (unsigned long long)gib * DISK_GIB,
				 VIR_DOMAIN_BLOCK_RESIZE_BYTES) < 0)
		return host_err(m->host, "grow the root disk", err);
	return 0;
}

int lv_grow_root_disk(struct provider *p, const char *id, int64_t gib,
		      struct err *err)
{
	auto_found struct found m = {0};
	struct domain_facts f;
	struct arena a;
	int r = -1;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	arena_init(&a, ARENA_MOST);
	if (facts_load(m.host, m.domain, &a, &f, err) < 0)
		;
	else if (gib < f.root_disk_gib)
		err_set(err, ERR_INVALID,
			"the root disk has %lld GiB, and cannot shrink",
			(long long)f.root_disk_gib);
	else if (gib == f.root_disk_gib)
		r = 0;
	else if (grow(&m, gib, &a, err) == 0)
		r = facts_change(m.host, m.domain, put_size, &gib, err);
	arena_release(&a);
	return r;
}

/* Of a machine that is off: what it has when it starts next. */
static int reshape(const struct found *m, const struct flavor_options *to,
		   struct err *err)
{
	unsigned next = VIR_DOMAIN_AFFECT_CONFIG;
	unsigned long kib = (unsigned long)to->memory_mib * 1024;
	unsigned cpus = (unsigned)to->vcpus;

	if (virDomainSetVcpusFlags(m->domain, cpus,
				   next | VIR_DOMAIN_VCPU_MAXIMUM) < 0 ||
	    virDomainSetVcpusFlags(m->domain, cpus, next) < 0 ||
	    virDomainSetMemoryFlags(m->domain, kib,
				    next | VIR_DOMAIN_MEM_MAXIMUM) < 0 ||
	    virDomainSetMemoryFlags(m->domain, kib, next) < 0)
		return host_err(m->host, "resize the machine", err);
	return 0;
}

static int put_flavor(struct domain_facts *f, struct arena *a, void *ctx,
		      struct err *err)
{
	(void)a;
	(void)err;
	f->flavor = *(const char *const *)ctx;
	return 0;
}

/* What it takes more than it has must be there. */
static int hold_more(const struct found *m, const struct flavor_options *from,
		     const struct flavor_options *to, struct hold **ret,
		     struct err *err)
{
	struct place_ask more = {.cpus = to->vcpus,
				 .memory_mib = to->memory_mib};

	more.cpus -= from ? from->vcpus : 0;
	more.memory_mib -= from ? from->memory_mib : 0;
	if (more.cpus < 0)
		more.cpus = 0;
	if (more.memory_mib < 0)
		more.memory_mib = 0;
	if (!more.cpus && !more.memory_mib)
		return 0;
	return room_take(m->host->lv, &more, m->host, ret, err);
}

static int resize(struct found *m, const struct domain_facts *f,
		  const struct flavor_options *to, struct err *err)
{
	const struct flavor_options *from = lv_flavor(m->host->lv, f->flavor);
	struct hold *hold = NULL;
	const char *name = to->name;
	bool active;
	int r = -1;

	if (machine_is_active(m->host, m->domain, &active, err) < 0)
		return -1;
	if (active)
		return err_set(err, ERR_CONFLICT,
			       "the machine must be stopped to be resized");
	if (from && from->local_gib != to->local_gib)
		return err_set(err, ERR_UNSUPPORTED,
			       "flavor %s has another local disk", to->name);
	if (hold_more(m, from, to, &hold, err) < 0)
		return -1;
	if (reshape(m, to, err) == 0 && tune(m, from, to, err) == 0)
		r = facts_change(m->host, m->domain, put_flavor, &name, err);
	room_end(m->host->lv, hold, r == 0);
	return r;
}

int lv_resize(struct provider *p, const char *id, const char *flavor,
	      struct err *err)
{
	const struct flavor_options *to = lv_flavor(lv_of(p), flavor);
	auto_found struct found m = {0};
	struct domain_facts f;
	struct arena a;
	int r;

	if (!to)
		return err_set(err, ERR_INVALID, "there is no flavor %s",
			       flavor);
	if (machine_find(p, id, &m, err) < 0)
		return -1;
	arena_init(&a, ARENA_MOST);
	r = facts_load(m.host, m.domain, &a, &f, err);
	if (r == 0 && (!f.flavor || strcmp(f.flavor, flavor) != 0))
		r = resize(&m, &f, to, err);
	arena_release(&a);
	return r;
}

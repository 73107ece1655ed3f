/*
 * launch.c - a launch: looked for, placed, its files made, defined, and its first start begun.
 *
 * Each step can be made again, so a launch that was begun by a call that was
 * never answered, or by a process that is no more, is finished by the same call
 * again.  What is refused is undone.
 */
#include "provider/libvirt/launch.h"

#include <string.h>

#include "provider/libvirt/boot.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/intent.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/room.h"
#include "provider/libvirt/seed.h"
#include "provider/libvirt/sweep.h"

#define XML_MOST  ((size_t)4 << 20)
#define SEED_MOST ((size_t)32 << 20)

struct launch {
	struct lv *lv;
	const struct machine_spec *spec;
	const struct flavor_options *flavor;
	struct arena *a;
	struct host *host;
	struct nic nic;
	char uuid[VIR_UUID_STRING_BUFLEN];
	bool sent; /* the host was told: it may be there */
};

/* The domain that an earlier call has made; NULL when there is none. */
static int look_on(struct host *h, const char *uuid, virDomainPtr *ret,
		   struct err *err)
{
	*ret = NULL;
	if (host_domain(h, uuid, ret, err) == 0)
		return 0;
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int look_on_all(struct launch *l, virDomainPtr *ret, struct err *err)
{
	struct err deaf = {0};

	for (size_t i = 0; i < l->lv->n_hosts; i++) {
		l->host = l->lv->hosts[i];
		if (look_on(l->host, l->uuid, ret, err) < 0)
			deaf = *err;
		else if (*ret)
			return 0;
	}
	l->host = NULL;
	if (!deaf.code)
		return 0;
	*err = deaf;
	return err_wrap(err, "the machine may be there");
}

/* The host is left where it was begun, if it was. */
static int find(struct launch *l, virDomainPtr *ret, struct err *err)
{
	*ret = NULL;
	if (l->lv->n_hosts == 1)
		return look_on_all(l, ret, err);
	switch (intent_read(l->lv, l->uuid, &l->host)) {
	case INTENT_UNKNOWN:
		return look_on_all(l, ret, err);
	case INTENT_NONE:
		return 0;
	case INTENT_HOST:
		break;
	}
	if (!l->host)
		return err_set(err, ERR_UNAVAILABLE,
			       "it was begun on a host that is not one of the "
			       "region's any more");
	return look_on(l->host, l->uuid, ret, err);
}

static int64_t root_gib(const struct launch *l)
{
	int64_t gib = l->spec->root_disk_gib;

	return gib > 0 ? gib : l->flavor->disk_gib;
}

int launch_make_root(struct host *h, const char *uuid, const char *image,
		     int64_t gib, struct arena *a, struct err *err)
{
	struct image_base base;

	if (image_on(h->lv, h, image, a, &base, err) < 0)
		return -1;
	if (base.bytes > gib * DISK_GIB)
		return err_set(
			err, ERR_INVALID,
			"image %s needs a root disk of %lld GiB", image,
			(long long)((base.bytes + DISK_GIB - 1) / DISK_GIB));
	if (h->fake)
		return 0;
	return h->disks->overlay(h, disk_name(uuid, DISK_ROOT, a), base.disk,
				 gib * DISK_GIB, err);
}

int launch_make_seed(struct host *h, const char *disk,
		     const struct machine_spec *spec, const char *instance,
		     const struct nic *nic, struct err *err)
{
	struct buf iso = BUF_INIT(SEED_MOST);
	int r = seed_iso(spec, instance, nic, &iso, err);

	if (r == 0)
		r = h->disks->write(h, disk, buf_str(&iso), iso.len, err);
	/* Keys and whatever users send are in it. */
	if (iso.data)
		explicit_bzero(iso.data, iso.len);
	buf_release(&iso);
	return r;
}

static int make_files(struct launch *l, struct err *err)
{
	struct host *h = l->host;

	if (launch_make_root(h, l->uuid, l->spec->image, root_gib(l), l->a,
			     err) < 0)
		return -1;
	if (h->fake)
		return 0;
	if (launch_make_seed(h, disk_name(l->uuid, DISK_SEED, l->a), l->spec,
			     l->uuid, &l->nic, err) < 0)
		return -1;
	/* What a machine writes by itself its pool would not know of, and looks
	 * all of itself through for it when it is to be removed. */
	if (!h->embedded &&
	    h->disks->blank(h, disk_name(l->uuid, DISK_CONSOLE, l->a), 0, err) <
		    0)
		return -1;
	if (!l->flavor->local_gib)
		return 0;
	return h->disks->blank(h, disk_name(l->uuid, DISK_LOCAL, l->a),
			       l->flavor->local_gib * DISK_GIB, err);
}

static int add_disk(const struct launch *l, const char *what, struct domain *d,
		    struct err *err)
{
	struct domain_disk *disks = d->disks.at, *to = &disks[d->disks.n];
	bool seed = strcmp(what, DISK_SEED) == 0;

	*to = (struct domain_disk){
		.target = arena_printf(l->a, "vd%c", 'a' + (int)d->disks.n),
		.format = seed ? "raw" : "qcow2",
		.serial = seed ? "seed" : NULL,
		.readonly = seed,
		.iops = seed ? 0 : l->flavor->disk_iops,
		.mib_per_second = seed ? 0 : l->flavor->disk_mib_per_second,
	};
	d->disks.n++;
	return l->host->disks->path(l->host, disk_name(l->uuid, what, l->a),
				    l->a, &to->path, err);
}

static int add_disks(const struct launch *l, struct domain *d, struct err *err)
{
	struct host *h = l->host;

	if (h->fake)
		return 0;
	d->disks.at = arena_alloc(l->a, 3 * sizeof(struct domain_disk));
	if (add_disk(l, DISK_ROOT, d, err) < 0 ||
	    add_disk(l, DISK_SEED, d, err) < 0)
		return -1;
	if (l->flavor->local_gib && add_disk(l, DISK_LOCAL, d, err) < 0)
		return -1;
	return h->disks->path(h, disk_name(l->uuid, DISK_CONSOLE, l->a), l->a,
			      &d->console_log, err);
}

static struct domain_facts facts_of(const struct launch *l)
{
	const struct machine_spec *s = l->spec;

	return (struct domain_facts){
		.installation = l->lv->base.installation,
		.server = s->server,
		.token = s->token,
		.name = s->name,
		.flavor = s->flavor,
		.image = s->image,
		.zone = s->zone,
		.network = s->network,
		.groups = s->groups,
		.sources = s->sources,
		.public_ip = s->public_ip,
		.tags = s->tags,
		.mac = l->nic.mac,
		.address = l->nic.address,
		.address6 = l->nic.address6,
		.root_disk_gib = root_gib(l),
		.created_at = clock_wall(l->lv->conf->clock),
	};
}

static int define(struct launch *l, virDomainPtr *ret, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	struct buf xml = BUF_INIT(XML_MOST);
	struct domain d = {
		.uuid = l->uuid,
		.vcpus = l->flavor->vcpus,
		.memory_mib = l->flavor->memory_mib,
		.cpu_percent = l->flavor->cpu_percent,
		.cpu_shares = l->flavor->cpu_shares,
		.fake = l->host->fake,
		.nic = l->nic,
		.facts = facts_of(l),
	};
	int r = -1;

	if (host_powers(l->host, &d.powers, err) == 0 &&
	    add_disks(l, &d, err) == 0 && domain_write(&d, &xml, err) == 0 &&
	    host_take(l->host, &conn, err) == 0) {
		l->sent = true;
		*ret = virDomainDefineXML(conn, buf_str(&xml));
		r = *ret ? 0 : host_err(l->host, "define the machine", err);
	}
	buf_release(&xml);
	return r;
}

/* Nobody knows what came of it: it is left for the same call again. */
static bool is_open(const struct err *err)
{
	return err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT;
}

/* A launch that was refused leaves nothing behind; what cannot be removed now is
 * swept later, and so is what is left of one that is never repeated. */
static void undo(struct launch *l, const struct err *why)
{
	struct err err;

	if (is_open(why) || nic_drop(l->lv, l->host, l->uuid, &err) < 0 ||
	    machine_remove_files(l->host, l->uuid, l->a, &err) < 0)
		sweep_later(l->host, l->uuid, l->sent);
	if (!is_open(why) || !l->sent)
		intent_drop(l->lv, l->uuid);
}

/* On the host that was chosen. */
static int make(struct launch *l, virDomainPtr *ret, struct err *err)
{
	if (intent_write(l->lv, l->uuid, l->host, err) < 0)
		return -1;
	if (nic_make(l->host, l->spec, l->uuid, l->a, &l->nic, err) == 0 &&
	    make_files(l, err) == 0 && define(l, ret, err) == 0)
		return 0;
	undo(l, err);
	return -1;
}

static int place(struct launch *l, struct hold **ret, struct err *err)
{
	const struct place_ask ask = {
		.zone = l->spec->zone,
		.cpus = l->flavor->vcpus,
		.memory_mib = l->flavor->memory_mib,
		.disk_gib = root_gib(l) + l->flavor->local_gib,
	};

	/* Where it was begun, if it can be: there is what was made of it. */
	if ((!l->host || room_take(l->lv, &ask, l->host, ret, err) < 0) &&
	    room_take(l->lv, &ask, NULL, ret, err) < 0)
		return -1;
	l->host = (*ret)->host;
	return 0;
}

static int finish(struct launch *l, virDomainPtr domain, struct machine *ret,
		  struct err *err)
{
	struct domain_facts f;

	if (facts_load(l->host, domain, l->a, &f, err) < 0)
		return -1;
	if (!f.started && !f.failure)
		boot_begin(l->host, l->uuid);
	return machine_tell(l->host, domain, &f, l->a, ret, err);
}

int lv_launch(struct provider *p, const struct machine_spec *spec,
	      struct arena *a, struct machine *ret, struct err *err)
{
	struct launch l = {.lv = lv_of(p), .spec = spec, .a = a};
	auto_domain virDomainPtr domain = NULL;
	struct hold *hold = NULL;

	l.flavor = lv_flavor(l.lv, spec->flavor);
	if (!l.flavor) {
		err_set(err, ERR_INVALID, "there is no flavor %s",
			spec->flavor);
		err->scope = ERR_SCOPE_FLAVOR;
		return -1;
	}
	domain_uuid(l.lv->base.installation, spec->token, l.uuid);
	if (find(&l, &domain, err) < 0)
		return -1;
	l.sent = domain;
	if (!domain) {
		int r;

		if (place(&l, &hold, err) < 0)
			return -1;
		r = make(&l, &domain, err);
		room_end(l.lv, hold, r == 0);
		if (r < 0)
			return -1;
	}
	return finish(&l, domain, ret, err);
}

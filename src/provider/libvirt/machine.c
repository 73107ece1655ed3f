#include "provider/libvirt/machine.h"

#include <string.h>
#include <unistd.h>

#include "model/instance.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/nic.h"
#include "provider/libvirt/publish.h"
#include "provider/libvirt/ready.h"

#define ARENA_MOST ((size_t)4 << 20)

void found_release(struct found *m)
{
	host_domain_drop(&m->domain);
}

static bool is_ours(const struct lv *lv, const struct domain_facts *f)
{
	const char *whose = lv->base.installation;

	return f->installation && whose && strcmp(f->installation, whose) == 0;
}

/* Strangers are not ours to see. */
static int check_ours(struct found *m, struct arena *a, struct domain_facts *f,
		      struct err *err)
{
	int r = facts_load(m->host, m->domain, a, f, err);

	if (r == 0 && !is_ours(m->host->lv, f))
		r = err_set(err, ERR_NOT_FOUND, "the machine is not ours");
	m->stranger = r < 0 && err->code == ERR_NOT_FOUND;
	return r;
}

int machine_find_facts(struct provider *p, const char *id, struct arena *a,
		       struct found *ret, struct domain_facts *ret_facts,
		       struct err *err)
{
	bool other;

	ret->domain = NULL;
	ret->host = host_of_machine(lv_of(p), id, ret->uuid, &other);
	if (!ret->host && other)
		return err_set(err, ERR_UNAVAILABLE,
			       "the host of machine %s is not one of the "
			       "region's any more",
			       id);
	if (!ret->host)
		return err_set(err, ERR_NOT_FOUND, "there is no machine %s",
			       id);
	if (host_domain(ret->host, ret->uuid, &ret->domain, err) < 0)
		return -1;
	if (check_ours(ret, a, ret_facts, err) == 0)
		return 0;
	found_release(ret);
	return -1;
}

int machine_find(struct provider *p, const char *id, struct found *ret,
		 struct err *err)
{
	struct domain_facts f;
	struct arena a;
	int r;

	arena_init(&a, ARENA_MOST);
	r = machine_find_facts(p, id, &a, ret, &f, err);
	arena_release(&a);
	return r;
}

int machine_tell(struct host *h, virDomainPtr d, const struct domain_facts *f,
		 struct arena *a, struct machine *ret, struct err *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	const char *native, *why;
	int state, reason;

	if (virDomainGetUUIDString(d, uuid) < 0 ||
	    virDomainGetState(d, &state, &reason, 0) < 0)
		return host_err(h, "ask for the machine's state", err);
	state = domain_state(state, reason, f->started, &native, &why);
	if (state == INSTANCE_PENDING && f->failure) {
		state = INSTANCE_FAILED;
		why = f->failure;
	}
	/* Its launch is not over: it has no ports yet. */
	if (state == INSTANCE_RUNNING && !f->started)
		state = INSTANCE_PENDING;
	if (state == INSTANCE_RUNNING && f->stopped_at)
		state = INSTANCE_STOPPING;
	*ret = (struct machine){
		.id = host_machine_id(h, uuid, a),
		.state = state,
		.native_state = native,
		.reason = why,
		.flavor = f->flavor,
		.image = f->image,
		.zone = h->options->zone,
		.host = h->name,
		.private_ip = f->address,
		.private_ip6 = f->address6,
		.mac = f->mac,
		.tags = f->tags,
		.created_at = f->created_at,
	};
	/* Nothing is forwarded to a machine that is off. */
	if (state == INSTANCE_RUNNING)
		ret->ports = f->ports;
	ready_tell(h, d, ret);
	return 0;
}

int machine_is_active(const struct host *h, virDomainPtr d, bool *ret,
		      struct err *err)
{
	int r = virDomainIsActive(d);

	if (r < 0)
		return host_err(h, "ask whether the machine runs", err);
	*ret = r;
	return 0;
}

static int has_started(struct domain_facts *f, struct arena *a, void *ctx,
		       struct err *err)
{
	(void)a;
	(void)ctx;
	(void)err;
	f->started = true;
	f->stopped_at = 0;
	return 0;
}

int machine_boot(struct host *h, virDomainPtr d, struct err *err)
{
	bool active = false;

	/* Somebody may have been faster. */
	if (virDomainCreate(d) < 0) {
		host_err(h, "start the machine", err);
		if (virDomainIsActive(d) != 1)
			return -1;
	}
	if (h->embedded)
		return publish_ports(h, d, err);
	if (facts_change(h, d, has_started, NULL, err) == 0)
		return 0;
	return machine_is_active(h, d, &active, err) < 0 || !active ? -1 : 0;
}

int machine_kill(const struct host *h, virDomainPtr d, struct err *err)
{
	if (virDomainDestroy(d) == 0)
		return 0;
	host_err(h, "destroy the machine", err);
	/* It may be off, or have ended meanwhile. */
	return virDomainIsActive(d) == 0 ? 0 : -1;
}

/* What QEMU says of itself; on other hosts it is their libvirtd's. */
static void remove_log(const struct host *h, const char *uuid, struct arena *a)
{
	char name[DOMAIN_NAME_SIZE];

	domain_name(uuid, name);
	unlink(arena_join(a, h->folder, "/log/qemu/", name, ".log", NULL));
}

int machine_remove_files(struct host *h, const char *uuid, struct arena *a,
			 struct err *err)
{
	static const char *const what[] = {DISK_ROOT, DISK_SEED, DISK_LOCAL,
					   DISK_CONSOLE};

	if (h->fake)
		return 0;
	if (h->embedded)
		remove_log(h, uuid, a);
	for (size_t i = 0; i < COUNT_OF(what); i++)
		if (h->disks->remove(h, disk_name(uuid, what[i], a), err) < 0)
			return -1;
	return 0;
}

#include "provider/libvirt/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/xml.h"

/* A guest that does nothing but switch itself off takes about one; where KVM
 * only pretends to be there it takes for ever. */
enum { PATIENCE_MS = 4000, LOOK_MS = 25 };

#define DISK   "muster-probe.raw"
#define PREFIX "probe-"

/* What is tried. */
struct trial {
	bool kvm, limits;
};

enum outcome { WORKS, HANGS, FAILS };

/* A boot sector: switch off, by the register that ACPI has for it. */
static void make_sector(unsigned char out[512])
{
	static const unsigned char code[] = {
		0xfa,             /* cli */
		0xba, 0x04, 0x06, /* mov dx, 0x604 */
		0xb8, 0x00, 0x20, /* mov ax, 0x2000 */
		0xef,             /* out dx, ax */
		0xf4,             /* hlt */
		0xeb, 0xfd,       /* jmp to hlt */
	};

	memset(out, 0, 512);
	memcpy(out, code, sizeof(code));
	out[510] = 0x55;
	out[511] = 0xaa;
}

static int write_xml(const struct trial *t, const char *path, struct buf *out,
		     struct err *err)
{
	const struct domain_disk disk = {.path = path,
					 .target = "vda",
					 .format = "raw",
					 .readonly = true};
	char name[UUID_LEN + 1];
	struct xml *x = xml_new();

	uuid_v7(clock_wall(&clock_system), 0, &random_system, name);
	xml_begin(x, "domain");
	xml_attr(x, "type", t->kvm ? "kvm" : "qemu");
	xml_begin(x, "name");
	xml_text(x, PREFIX);
	xml_text(x, name);
	xml_end(x);
	xml_leaf_int(x, "memory", 16 * 1024);
	if (t->limits) {
		xml_begin(x, "cputune");
		xml_leaf_int(x, "shares", 1024);
		xml_end(x);
	}
	xml_begin(x, "os");
	xml_begin(x, "type");
	xml_attr(x, "arch", "x86_64");
	xml_attr(x, "machine", PROBE_MACHINE);
	xml_text(x, "hvm");
	xml_end(x);
	xml_end(x);
	xml_begin(x, "features");
	xml_leaf(x, "acpi", "");
	xml_end(x);
	xml_begin(x, "devices");
	domain_add_disk(x, &disk);
	xml_end(x);
	xml_end(x);
	return xml_finish(x, out, err);
}

static enum outcome wait_for_end(struct host *h, virDomainPtr d)
{
	const struct provider_conf *conf = h->lv->conf;
	int state, reason;

	for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
		/* It is gone with its end. */
		if (virDomainGetState(d, &state, &reason, 0) < 0 ||
		    state == VIR_DOMAIN_SHUTOFF)
			return WORKS;
		conf->sleep(conf->ctx, LOOK_MS);
	}
	virDomainDestroy(d);
	return HANGS;
}

/* FAILS: it could not be started, and ERR says why. */
static enum outcome try_it(struct host *h, virConnectPtr conn, const char *path,
			   const struct trial *t, struct err *err)
{
	auto_domain virDomainPtr d = NULL;
	struct buf xml = BUF_INIT(65536);

	if (write_xml(t, path, &xml, err) == 0) {
		/* It goes with us; embedded libvirts cannot do that. */
		d = virDomainCreateXML(
			conn, buf_str(&xml),
			h->embedded ? 0 : VIR_DOMAIN_START_AUTODESTROY);
		if (!d)
			host_err(h, "start a guest", err);
	}
	buf_release(&xml);
	return d ? wait_for_end(h, d) : FAILS;
}

/* What a process that was killed meanwhile has left in its own libvirt. */
static void clear(virConnectPtr conn)
{
	virDomainPtr *all = NULL;
	int n = virConnectListAllDomains(conn, &all,
					 VIR_CONNECT_LIST_DOMAINS_TRANSIENT);

	for (int i = 0; i < n; i++) {
		const char *name = virDomainGetName(all[i]);

		if (name && strncmp(name, PREFIX, strlen(PREFIX)) == 0)
			virDomainDestroy(all[i]);
		host_domain_drop(&all[i]);
	}
	free(all);
}

static bool wants_limits(const struct lv *lv)
{
	const struct flavor_options *f = lv->options.flavors.at;

	for (size_t i = 0; i < lv->options.flavors.n; i++)
		if (f[i].cpu_percent || f[i].cpu_shares)
			return true;
	return false;
}

/* Without limits, if it is they that are in the way. */
static enum outcome try_with(struct host *h, virConnectPtr conn,
			     const char *path, bool kvm, bool *limits,
			     struct err *err)
{
	struct trial t = {kvm, *limits};
	enum outcome o = try_it(h, conn, path, &t, err);

	if (o != FAILS || !*limits)
		return o;
	t.limits = false;
	o = try_it(h, conn, path, &t, err);
	*limits &= o == FAILS;
	return o;
}

static int probe(struct host *h, virConnectPtr conn, const char *path,
		 struct host_powers *ret, char *why, size_t why_size,
		 struct err *err)
{
	enum outcome o = FAILS;
	struct err no = {0};

	ret->limits = wants_limits(h->lv);
	if (h->lv->options.tcg) {
		snprintf(why, why_size, "the region says so");
	} else {
		o = try_with(h, conn, path, true, &ret->limits, &no);
		ret->kvm = o == WORKS;
		snprintf(why, why_size, "%s",
			 o == HANGS ? "KVM is there and its guests do not run"
				    : no.provider_msg);
	}
	if (ret->kvm)
		return 0;
	ret->why = why;
	/* Whether QEMU can be used at all, and the limits. */
	if (!wants_limits(h->lv) && o == HANGS)
		return 0;
	ret->limits = wants_limits(h->lv);
	if (try_with(h, conn, path, false, &ret->limits, err) == FAILS)
		return -1;
	return 0;
}

int probe_powers(struct host *h, struct host_powers *ret, char *why,
		 size_t why_size, struct err *err)
{
	struct host_powers powers = {.machine = PROBE_MACHINE};
	auto_conn virConnectPtr conn = NULL;
	unsigned char sector[512];
	const char *path;
	struct err ignored;
	struct arena a;
	int r = -1;

	if (host_take(h, &conn, err) < 0)
		return -1;
	if (h->fake) {
		snprintf(why, why_size, "it only pretends to run machines");
		powers.why = why;
		*ret = powers;
		return 0;
	}
	if (h->embedded)
		clear(conn);
	make_sector(sector);
	arena_init(&a, (size_t)1 << 20);
	if (h->disks->write(h, DISK, sector, sizeof(sector), err) == 0 &&
	    h->disks->path(h, DISK, &a, &path, err) == 0)
		r = probe(h, conn, path, &powers, why, why_size, err);
	(void)!h->disks->remove(h, DISK, &ignored);
	arena_release(&a);
	if (r == 0)
		*ret = powers;
	return r;
}

#include "provider/libvirt/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/records.h"
#include "provider/libvirt/xml.h"

/* A guest that does nothing but switch itself off takes about one; where KVM
 * only pretends to be there it takes for ever. */
enum { PATIENCE_MS = 4000, LOOK_MS = 25 };

#define NAME "muster-probe"

/* What is tried, and what it is called. */
struct trial {
	bool kvm, limits;
	const char *name, *path;
};

enum outcome { WORKS, HANGS, FAILS };

/* A boot sector: wait for half a second, for libvirt takes one that ends while
 * it is still being started for one that failed; then switch off, by the
 * register that ACPI has for it. */
static void make_sector(unsigned char out[512])
{
	static const unsigned char code[] = {
		0xfb,                   /* sti */
		0x31, 0xc0,             /* xor ax, ax */
		0x8e, 0xd8,             /* mov ds, ax */
		0x8b, 0x1e, 0x6c, 0x04, /* mov bx, [0x46c]: the clock's ticks */
		0xf4,                   /* hlt: until the next one */
		0xa1, 0x6c, 0x04,       /* mov ax, [0x46c] */
		0x29, 0xd8,             /* sub ax, bx */
		0x3d, 0x09, 0x00,       /* cmp ax, 9 */
		0x72, 0xf5,             /* jb to hlt */
		0xfa,                   /* cli */
		0xba, 0x04, 0x06,       /* mov dx, 0x604 */
		0xb8, 0x00, 0x20,       /* mov ax, 0x2000 */
		0xef,                   /* out dx, ax */
		0xf4,                   /* hlt */
		0xeb, 0xfd,             /* jmp to hlt */
	};

	memset(out, 0, 512);
	memcpy(out, code, sizeof(code));
	out[510] = 0x55;
	out[511] = 0xaa;
}

static int write_xml(const struct trial *t, struct buf *out, struct err *err)
{
	const struct domain_disk disk = {.path = t->path,
					 .target = "vda",
					 .format = "raw",
					 .readonly = true};
	struct xml *x = xml_new();

	xml_begin(x, "domain");
	xml_attr(x, "type", t->kvm ? "kvm" : "qemu");
	xml_leaf(x, "name", t->name);
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

static enum outcome wait_for_end(struct host *h, virDomainPtr d,
				 struct err *err)
{
	const struct provider_conf *conf = h->lv->conf;
	int state, reason;

	for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
		if (virDomainGetState(d, &state, &reason, 0) < 0) {
			host_err(h, "look at a guest", err);
			/* It is gone with its end. */
			return err->code == ERR_NOT_FOUND ? WORKS : FAILS;
		}
		if (state == VIR_DOMAIN_SHUTOFF)
			return WORKS;
		conf->sleep(conf->ctx, LOOK_MS);
	}
	virDomainDestroy(d);
	return HANGS;
}

/* FAILS: it could not be started, and ERR says why. */
static enum outcome try_it(struct host *h, virConnectPtr conn,
			   const struct trial *t, struct err *err)
{
	/* Where libvirt can, it ends with us. */
	unsigned flags = h->embedded ? 0 : VIR_DOMAIN_START_AUTODESTROY;
	auto_domain virDomainPtr d = NULL;
	struct buf xml = BUF_INIT(65536);

	if (write_xml(t, &xml, err) == 0) {
		d = virDomainCreateXML(conn, buf_str(&xml), flags);
		if (!d)
			host_err(h, "start a guest", err);
	}
	buf_release(&xml);
	return d ? wait_for_end(h, d, err) : FAILS;
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
static enum outcome try_with(struct host *h, virConnectPtr conn, struct trial t,
			     bool *limits, struct err *err)
{
	enum outcome o;

	t.limits = *limits;
	o = try_it(h, conn, &t, err);
	if (o != FAILS || !*limits)
		return o;
	t.limits = false;
	o = try_it(h, conn, &t, err);
	*limits = o == FAILS;
	return o;
}

static int probe(struct host *h, virConnectPtr conn, struct trial t,
		 struct host_powers *ret, char *why, struct err *err)
{
	enum outcome o = FAILS;
	struct err no = {0};

	ret->limits = wants_limits(h->lv);
	if (h->lv->options.tcg) {
		snprintf(why, PROBE_WHY, "the region says so");
	} else {
		t.kvm = true;
		o = try_with(h, conn, t, &ret->limits, &no);
		ret->kvm = o == WORKS;
		snprintf(why, PROBE_WHY, "%s",
			 o == HANGS ? "KVM is there and its guests do not run"
				    : no.provider_msg);
	}
	if (ret->kvm)
		return 0;
	ret->why = why;
	/* Whether QEMU can be used at all, and the limits. */
	if (o == HANGS || (h->lv->options.tcg && !wants_limits(h->lv)))
		return 0;
	ret->limits = wants_limits(h->lv);
	t.kvm = false;
	if (try_with(h, conn, t, &ret->limits, err) == FAILS)
		return -1;
	return 0;
}

/* One that a process before us did not live to end, or a libvirtd: where KVM only
 * pretends, a guest does not end by itself. */
static void end_before(virConnectPtr conn, const char *name)
{
	auto_domain virDomainPtr d = virDomainLookupByName(conn, name);

	if (d)
		virDomainDestroy(d);
}

/* The same in every process, and nobody else's: others may try on that host,
 * too.  Embedded, there are none. */
static const char *name_on(const struct host *h, struct arena *a)
{
	char unique[VIR_UUID_STRING_BUFLEN];

	if (h->embedded)
		return NAME;
	domain_uuid(h->lv->base.installation,
		    arena_join(a, h->lv->conf->region, "/", h->name, NULL),
		    unique);
	return arena_join(a, NAME "-", unique, NULL);
}

/* What was found out, as it is kept until this machine boots anew. */
struct found_out {
	bool kvm, limits, wanted, tcg;
	const char *why;
};

#define AT(member) offsetof(struct found_out, member)

static const struct field found_fields[] = {
	{"kvm", FIELD_BOOL, 0, AT(kvm), "It works."},
	{"limits", FIELD_BOOL, 0, AT(limits), "They can be kept."},
	{"wanted", FIELD_BOOL, 0, AT(wanted), "They were tried."},
	{"tcg", FIELD_BOOL, 0, AT(tcg), "KVM was not."},
	{"why", FIELD_STRING, 0, AT(why), "KVM does not work."},
	{0},
};

static bool boot_id(char out[UUID_LEN + 1])
{
	auto_close int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	out[UUID_LEN] = '\0';
	return fd >= 0 && read(fd, out, UUID_LEN) == UUID_LEN;
}

static struct records memory(const struct host *h, struct arena *a)
{
	return (struct records){
		.folder = arena_join(a, h->folder, "/powers", NULL),
		.fields = found_fields,
		.size = sizeof(struct found_out)};
}

/* Of an embedded host: it is up as long as we can be. */
static bool recall(const struct host *h, struct arena *a,
		   struct host_powers *ret, char *why)
{
	struct records kept = memory(h, a);
	struct found_out f = {0};
	char boot[UUID_LEN + 1];
	struct err none;

	if (!boot_id(boot) || records_get(&kept, boot, a, &f, &none) < 0 ||
	    f.tcg != h->lv->options.tcg || f.wanted != wants_limits(h->lv))
		return false;
	snprintf(why, PROBE_WHY, "%s", f.why ? f.why : "");
	ret->kvm = f.kvm;
	ret->limits = f.limits;
	ret->why = f.kvm ? NULL : why;
	return true;
}

static void keep(const struct host *h, struct arena *a,
		 const struct host_powers *powers)
{
	const struct found_out f = {powers->kvm, powers->limits,
				    wants_limits(h->lv), h->lv->options.tcg,
				    powers->why};
	struct records kept = memory(h, a);
	char boot[UUID_LEN + 1];
	struct err ignored;

	if (boot_id(boot) && records_open(&kept, &ignored) == 0)
		(void)!records_put(&kept, boot, &f, &ignored);
}

static int find_out(struct host *h, virConnectPtr conn, struct arena *a,
		    struct host_powers *ret, char *why, struct err *err)
{
	struct trial t = {.name = name_on(h, a)};
	const char *disk = arena_join(a, t.name, ".raw", NULL);
	unsigned char sector[512];
	struct err ignored;
	int r = -1;

	end_before(conn, t.name);
	make_sector(sector);
	if (h->disks->write(h, disk, sector, sizeof(sector), err) == 0 &&
	    h->disks->path(h, disk, a, &t.path, err) == 0)
		r = probe(h, conn, t, ret, why, err);
	(void)!h->disks->remove(h, disk, &ignored);
	if (r == 0 && h->embedded)
		keep(h, a, ret);
	return r;
}

int probe_powers(struct host *h, struct host_powers *ret, char *why,
		 struct err *err)
{
	struct host_powers powers = {.machine = PROBE_MACHINE};
	auto_conn virConnectPtr conn = NULL;
	struct arena a;
	int r = 0;

	if (host_take(h, &conn, err) < 0)
		return -1;
	if (h->fake) {
		snprintf(why, PROBE_WHY, "it only pretends to run machines");
		powers.why = why;
		*ret = powers;
		return 0;
	}
	arena_init(&a, (size_t)1 << 20);
	if (!h->embedded || !recall(h, &a, &powers, why))
		r = find_out(h, conn, &a, &powers, why, err);
	arena_release(&a);
	if (r == 0)
		*ret = powers;
	return r;
}

/* Volumes of machines, that run and that do not. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/volume.h"
#include "provider/libvirt/xml.h"

#define ARENA_MOST ((size_t)64 << 20)
#define XML_MOST   ((size_t)64 << 10)

/* A guest lets go of a disk in its own time. */
enum { DETACH_MS = 20000, GLANCE_MS = 100, SERIAL_LEN = 20 };

static const struct xml_node *first_disk(const struct xml_doc *doc)
{
	return xml_child(xml_root(doc), "devices/disk");
}

static const char *file_of(const struct xml_node *disk, struct arena *a)
{
	const char *path = xml_get(xml_child(disk, "source"), "file", a);
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static const char *target_of(const struct xml_node *disk, struct arena *a)
{
	return xml_get(xml_child(disk, "target"), "dev", a);
}

const char *volume_target(const char *xml, const char *disk, struct arena *a)
{
	struct err odd = {0};
	struct xml_doc *doc = xml_parse(xml, strlen(xml), &odd);
	const struct xml_node *n = doc ? first_disk(doc) : NULL;
	const char *found = NULL;

	for (; n && !found; n = xml_next(n)) {
		const char *file = file_of(n, a);

		if (file && strcmp(file, disk) == 0)
			found = target_of(n, a);
	}
	xml_free(doc);
	return found;
}

static int describe(const struct host *h, virDomainPtr d, unsigned flags,
		    char **ret, struct err *err)
{
	*ret = virDomainGetXMLDesc(d, flags);
	return *ret ? 0 : host_err(h, "look at the machine", err);
}

/* DISK as D has it now, and as it will have it when it starts next; NULL: it
 * has it not.  One that is off has only the latter. */
struct places {
	const char *live, *config;
};

static int find_places(const struct host *h, virDomainPtr d, const char *disk,
		       struct arena *a, struct places *ret, struct err *err)
{
	auto_free char *live = NULL, *config = NULL;
	bool active;

	if (machine_is_active(h, d, &active, err) < 0 ||
	    describe(h, d, VIR_DOMAIN_XML_INACTIVE, &config, err) < 0)
		return -1;
	*ret = (struct places){.config = volume_target(config, disk, a)};
	if (!active)
		return 0;
	if (describe(h, d, 0, &live, err) < 0)
		return -1;
	ret->live = volume_target(live, disk, a);
	return 0;
}

int volume_user(struct host *h, const char *disk, struct arena *a,
		virDomainPtr *ret, const char **ret_target, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	virDomainPtr *all = NULL;
	int n;

	*ret = NULL;
	if (host_take(h, &conn, err) < 0)
		return -1;
	n = virConnectListAllDomains(conn, &all, 0);
	if (n < 0)
		return host_err(h, "list the machines", err);
	for (int i = 0; i < n; i++) {
		struct places p = {0};
		struct err gone = {0};

		if (!*ret && find_places(h, all[i], disk, a, &p, &gone) == 0 &&
		    (p.live || p.config)) {
			*ret = all[i];
			*ret_target = p.live ? p.live : p.config;
		} else {
			virDomainFree(all[i]);
		}
	}
	free(all);
	return 0;
}

static void mark_taken(const char *xml, struct arena *a, bool taken[26])
{
	struct err odd = {0};
	struct xml_doc *doc = xml_parse(xml, strlen(xml), &odd);
	const struct xml_node *n = doc ? first_disk(doc) : NULL;

	for (; n; n = xml_next(n)) {
		const char *t = target_of(n, a);

		if (t && strncmp(t, "vd", 2) == 0 && t[2] >= 'a' &&
		    t[2] <= 'z' && !t[3])
			taken[t[2] - 'a'] = true;
	}
	xml_free(doc);
}

/* A name that it has for no other disk, neither now nor when it starts. */
static int free_target(const struct host *h, virDomainPtr d, struct arena *a,
		       const char **ret, struct err *err)
{
	auto_free char *live = NULL, *config = NULL;
	bool taken[26] = {0};

	if (describe(h, d, 0, &live, err) < 0 ||
	    describe(h, d, VIR_DOMAIN_XML_INACTIVE, &config, err) < 0)
		return -1;
	mark_taken(live, a, taken);
	mark_taken(config, a, taken);
	for (int i = 0; i < 26; i++)
		if (!taken[i]) {
			*ret = arena_printf(a, "vd%c", 'a' + i);
			return 0;
		}
	return err_set(err, ERR_QUOTA, "the machine has too many disks");
}

static int write_disk(struct host *h, const char *id, const char *target,
		      struct arena *a, struct buf *out, struct err *err)
{
	struct domain_disk disk = {
		.target = target,
		.format = "qcow2",
		.serial = arena_memdup(a, id, SERIAL_LEN),
	};
	struct xml *x;

	if (h->disks->path(h, volume_disk(id, a), a, &disk.path, err) < 0)
		return -1;
	x = xml_new();
	domain_add_disk(x, &disk);
	return xml_finish(x, out, err);
}

static unsigned flags_of(bool live, bool config)
{
	return (live ? VIR_DOMAIN_AFFECT_LIVE : 0U) |
	       (config ? VIR_DOMAIN_AFFECT_CONFIG : 0U);
}

/* Where it is not yet: a call that was cut off may have done one of two. */
static int attach_to(struct found *m, const char *id, struct arena *a,
		     const char **ret, struct err *err)
{
	struct buf xml = BUF_INIT(XML_MOST);
	struct host *h = m->host;
	struct places p;
	const char *target;
	bool active;
	int rc;

	if (machine_is_active(h, m->domain, &active, err) < 0 ||
	    find_places(h, m->domain, volume_disk(id, a), a, &p, err) < 0)
		return -1;
	target = p.live ? p.live : p.config;
	if (!target && free_target(h, m->domain, a, &target, err) < 0)
		return -1;
	*ret = arena_join(a, "/dev/", target, NULL);
	if (p.config && (p.live || !active))
		return 0;
	rc = write_disk(h, id, target, a, &xml, err);
	if (rc == 0 && virDomainAttachDeviceFlags(
			       m->domain, buf_str(&xml),
			       flags_of(active && !p.live, !p.config)) < 0)
		rc = host_err(h, "attach the volume", err);
	buf_release(&xml);
	return rc;
}

/* Another machine has it: two would destroy what is on it. */
static int check_free(const struct found *m, const char *id, struct arena *a,
		      struct err *err)
{
	auto_domain virDomainPtr user = NULL;
	char uuid[VIR_UUID_STRING_BUFLEN] = "";
	const char *target;

	if (volume_user(m->host, volume_disk(id, a), a, &user, &target, err) <
	    0)
		return -1;
	if (!user || (virDomainGetUUIDString(user, uuid) == 0 &&
		      strcmp(uuid, m->uuid) == 0))
		return 0;
	err_set(err, ERR_CONFLICT, "another machine has the volume");
	err->retry = ERR_RETRY_LATER;
	return -1;
}

/* Nowhere in use where it is now, and then here. */
static int bring(struct found *m, struct volume_record *v, struct arena *a,
		 struct err *err)
{
	struct found old = *m;
	const char *disk;
	int there;

	if (v->host && strcmp(v->host, m->host->name) != 0 &&
	    (volume_find(m->host->lv, v->id, a, &old.host, &disk, err) < 0 ||
	     check_free(&old, v->id, a, err) < 0))
		return -1;
	there = volume_bring(m->host->lv, v, m->host, err);
	if (there != 0)
		return there < 0 ? -1 : 0;
	err_set(err, ERR_UNAVAILABLE, "the volume is being brought to host %s",
		m->host->name);
	err->retry_after_ms = 1000;
	return -1;
}

int lv_attach(struct provider *p, const char *machine, const char *volume,
	      struct arena *a, const char **ret_device, struct err *err)
{
	auto_found struct found m = {0};
	struct volume_record v;

	if (machine_find(p, machine, &m, err) < 0 ||
	    volume_get(lv_of(p), volume, a, &v, err) < 0 ||
	    bring(&m, &v, a, err) < 0)
		return -1;
	if (m.host->fake) {
		*ret_device = "/dev/vdb";
		return 0;
	}
	if (check_free(&m, v.id, a, err) < 0)
		return -1;
	return attach_to(&m, v.id, a, ret_device, err);
}

static int wait_until_gone(const struct found *m, const char *disk,
			   struct arena *a, struct err *err)
{
	const struct provider_conf *conf = m->host->lv->conf;
	uint64_t until = clock_mono(conf->clock) + DETACH_MS;
	struct places p;

	for (;;) {
		if (find_places(m->host, m->domain, disk, a, &p, err) < 0)
			return -1;
		if (!p.live && !p.config)
			return 0;
		if (clock_mono(conf->clock) >= until)
			return err_set(err, ERR_UNAVAILABLE,
				       "the machine has not let go of the "
				       "volume yet");
		conf->sleep(conf->ctx, GLANCE_MS);
	}
}

static int detach_from(struct found *m, const char *id, struct arena *a,
		       struct err *err)
{
	const char *disk = volume_disk(id, a);
	struct buf xml = BUF_INIT(XML_MOST);
	struct places p;
	int rc;

	if (find_places(m->host, m->domain, disk, a, &p, err) < 0)
		return -1;
	if (!p.live && !p.config)
		return 0;
	rc = write_disk(m->host, id, p.live ? p.live : p.config, a, &xml, err);
	/* One that was asked for before and goes on is waited for as well. */
	if (rc == 0 && p.config &&
	    virDomainDetachDeviceFlags(m->domain, buf_str(&xml),
				       VIR_DOMAIN_AFFECT_CONFIG) < 0)
		rc = host_err(m->host, "detach the volume", err);
	if (rc == 0 && p.live)
		virDomainDetachDeviceFlags(m->domain, buf_str(&xml),
					   VIR_DOMAIN_AFFECT_LIVE);
	buf_release(&xml);
	return rc < 0 ? -1 : wait_until_gone(m, disk, a, err);
}

int lv_detach(struct provider *p, const char *machine, const char *volume,
	      struct err *err)
{
	auto_found struct found m = {0};
	struct arena a;
	int rc;

	/* A machine that is gone has nothing. */
	if (machine_find(p, machine, &m, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (m.host->fake || image_id_check(volume, err) < 0)
		return 0;
	arena_init(&a, ARENA_MOST);
	rc = detach_from(&m, volume, &a, err);
	arena_release(&a);
	return rc;
}

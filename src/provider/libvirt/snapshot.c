#include "provider/libvirt/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/image.h"
#include "provider/libvirt/backup.h"
#include "provider/libvirt/boot.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/job.h"
#include "provider/libvirt/library.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/volume.h"

#define ARENA_MOST ((size_t)16 << 20)

/* How long a machine's first start is waited for before somebody else may have
 * the turn. */
enum { STARTS_LOOKS = 120, STARTS_LOOK_MS = 500 };

/* One while it is made. */
struct taking {
	struct snapshot want;
	struct job *job;
	struct arena *a;
	struct host *host;
	const char *from;   /* the disk, */
	const char *target; /* what a machine that runs calls it, or NULL */
	const char *copy;   /* and its copy on the host */
	virDomainPtr domain;
	struct image_record record;
};

/* What a job is given: words of its own. */
struct kept {
	struct snapshot want;
	char *id, *machine, *volume;
};

static void kept_free(void *ctx)
{
	struct kept *k = ctx;

	free(k->id);
	free(k->machine);
	free(k->volume);
	free(k);
}

static const char *copy_of(const char *id, struct arena *a)
{
	return arena_join(a, "snapshot-", id, ".qcow2", NULL);
}

int snapshot_check(const struct snapshot *s, struct err *err)
{
	auto_found struct found m = {0};

	if (s->volume)
		return volume_check(s->lv, s->volume, err);
	if (!s->machine)
		return err_set(err, ERR_INVALID, "it is to be made of nothing");
	return machine_find(&s->lv->base, s->machine, &m, err);
}

void snapshot_let_go(struct lv *lv, const char *machine)
{
	auto_found struct found m = {0};
	struct err gone = {0};
	bool active = false;

	if (machine_find(&lv->base, machine, &m, &gone) == 0 && m.domain &&
	    machine_is_active(m.host, m.domain, &active, &gone) == 0 && active)
		backup_let_go(m.domain);
}

int snapshot_clean(struct host *h, const char *id, struct err *err)
{
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = h->disks->remove(h, copy_of(id, &a), err);
	arena_release(&a);
	return rc;
}

/* The disk, and the machine that may be running with it. */
static int find_source(struct taking *t, struct found *m, struct err *err)
{
	struct lv *lv = t->want.lv;

	if (t->want.volume)
		return volume_find(lv, t->want.volume, t->a, &t->host, &t->from,
				   err);
	if (machine_find(&lv->base, t->want.machine, m, err) < 0)
		return -1;
	t->host = m->host;
	t->domain = m->domain;
	t->from = disk_name(m->uuid, "root.qcow2", t->a);
	t->target = "vda";
	return 0;
}

/* A volume's machine is whichever has it. */
static int find_user(struct taking *t, virDomainPtr *ret, struct err *err)
{
	const char *device;

	if (!t->want.volume)
		return 0;
	if (volume_user(t->host, t->from, t->a, ret, &device, err) < 0)
		return -1;
	t->domain = *ret;
	t->target = device;
	return 0;
}

/* A machine that was just launched is off only until its first start, which a
 * copy of its disk would be in the way of. */
static int await_start(const struct taking *t, struct err *err)
{
	const struct provider_conf *conf = t->host->lv->conf;
	char uuid[VIR_UUID_STRING_BUFLEN];
	struct domain_facts f;

	if (!t->domain)
		return 0;
	if (virDomainGetUUIDString(t->domain, uuid) < 0)
		return host_err(t->host, "ask for the machine's id", err);
	for (int i = 0; i < STARTS_LOOKS && !atomic_load(&t->job->stop); i++) {
		if (facts_load(t->host, t->domain, t->a, &f, err) < 0)
			return -1;
		if (f.started || f.failure)
			return 0;
		atomic_store(&t->job->stage, "waiting for its start");
		boot_begin(t->host, uuid);
		conf->sleep(conf->ctx, STARTS_LOOK_MS);
	}
	return err_set(err, ERR_UNAVAILABLE, "the machine is being started");
}

/* The host knows of what it made itself, and so of what is copied into it. */
static int make_room(struct taking *t, struct err *err)
{
	virDomainBlockInfo info;

	if (virDomainGetBlockInfo(t->domain, t->target, &info, 0) < 0)
		return host_err(t->host, "look at the disk", err);
	return t->host->disks->blank(t->host, t->copy, (int64_t)info.capacity,
				     err);
}

static int copy_live(struct taking *t, struct err *err)
{
	struct backup b = {.host = t->host,
			   .domain = t->domain,
			   .target = t->target,
			   .stop = &t->job->stop};

	if (make_room(t, err) < 0 ||
	    t->host->disks->path(t->host, t->copy, t->a, &b.path, err) < 0 ||
	    backup_take(&b, err) < 0)
		return -1;
	t->record.consistency =
		b.frozen ? CONSISTENCY_FROZEN : CONSISTENCY_CRASH;
	return 0;
}

static int copy_off(struct taking *t, struct err *err)
{
	t->record.consistency = CONSISTENCY_OFFLINE;
	return t->host->disks->copy(t->host, t->from, t->copy, &t->job->stop,
				    err);
}

/* From the host into the library; on this machine it is the same file. */
static int fetch(struct taking *t, struct err *err)
{
	struct host *h = t->host;
	const char *part =
		library_path(t->want.lv->library, t->want.id, "part", t->a);
	const char *path;
	auto_close int fd = -1;

	unlink(part);
	if (h->embedded && h->disks->path(h, t->copy, t->a, &path, err) == 0 &&
	    link(path, part) == 0)
		return 0;
	fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot keep the image: %s", strerror(errno));
	return h->disks->download(h, t->copy, fd, &t->job->stop, err);
}

static int take(struct taking *t, struct err *err)
{
	auto_found struct found m = {0};
	auto_domain virDomainPtr user = NULL;
	bool active = false;

	if (find_source(t, &m, err) < 0 || find_user(t, &user, err) < 0 ||
	    await_start(t, err) < 0)
		return -1;
	atomic_store(&t->job->stage, "copying");
	t->copy = copy_of(t->want.id, t->a);
	if (snapshot_clean(t->host, t->want.id, err) < 0)
		return -1;
	if (t->domain &&
	    machine_is_active(t->host, t->domain, &active, err) < 0)
		return -1;
	if ((active ? copy_live(t, err) : copy_off(t, err)) < 0)
		return -1;
	return fetch(t, err);
}

static int go(struct taking *t, struct err *err)
{
	struct library *l = t->want.lv->library;
	struct err lost = {0};
	int rc;

	if (library_get(l, t->want.id, t->a, &t->record, err) < 0)
		return -1;
	if (t->record.stage == IMAGE_READY)
		return 0;
	rc = take(t, err);
	if (rc == 0)
		rc = library_finish(l, &t->record, INT64_MAX, t->a, err);
	if (t->host)
		(void)!snapshot_clean(t->host, t->want.id, &lost);
	if (rc == 0) {
		atomic_store(&t->job->stage, "spreading");
		image_spread(t->want.lv, &t->record, &t->job->stop);
	}
	return rc;
}

static int snapshot_run(struct job *j, struct err *err)
{
	struct taking t = {.want = ((struct kept *)j->ctx)->want, .job = j};
	struct err lost = {0};
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	t.a = &a;
	rc = go(&t, err);
	if (rc < 0 && !err_passes(err))
		(void)!library_remove(t.want.lv->library, t.want.id, &lost);
	arena_release(&a);
	return rc;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void snapshot_begin(const struct snapshot *s)
{
	struct kept *k = xcalloc(1, sizeof(*k));
	const struct job_plan plan = {snapshot_run, kept_free, k};

	k->id = copy(s->id);
	k->machine = copy(s->machine);
	k->volume = copy(s->volume);
	k->want = (struct snapshot){s->lv, k->id, k->machine, k->volume};
	jobs_begin(library_jobs(s->lv->library), s->id, &plan);
}

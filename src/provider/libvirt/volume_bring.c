/* A volume comes to a host: made there, of an image perhaps, or moved. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/job.h"
#include "provider/libvirt/library.h"
#include "provider/libvirt/volume.h"

#define ARENA_MOST ((size_t)16 << 20)

struct bringing {
	struct lv *lv;
	struct host *to;
	char *id;
};

static void bringing_free(void *ctx)
{
	struct bringing *b = ctx;

	free(b->id);
	free(b);
}

static struct host *host_of(struct lv *lv, const char *name)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (strcmp(lv->hosts[i]->name, name) == 0)
			return lv->hosts[i];
	return NULL;
}

static int settle(struct lv *lv, struct volume_record *v, const struct host *h,
		  struct err *err)
{
	v->host = h->name;
	v->moving = NULL;
	return records_put(&lv->volumes, v->id, v, err);
}

/* What is on the image, on a disk of the volume's size. */
static int make_of_image(struct bringing *b, struct volume_record *v,
			 const atomic_bool *stop, struct arena *a,
			 struct err *err)
{
	const char *disk = volume_disk(v->id, a);
	struct host *h = b->to;
	struct image_base base;
	long long gib;

	if (image_on(b->lv, h, v->image, a, &base, err) < 0)
		return -1;
	gib = (base.bytes - 1) / DISK_GIB + 1;
	if (gib > v->gib)
		return err_set(err, ERR_INVALID,
			       "the image needs a volume of %lld GiB", gib);
	if (h->disks->copy(h, base.disk, disk, stop, err) < 0)
		return -1;
	return h->disks->grow(h, disk, v->gib * DISK_GIB, err);
}

/* Through a file on this machine, which sees both. */
static int move(struct bringing *b, struct volume_record *v, struct host *from,
		const atomic_bool *stop, struct arena *a, struct err *err)
{
	const char *disk = volume_disk(v->id, a);
	const char *part = records_path(&b->lv->volumes, v->id, "part", a);
	auto_close int fd = -1;
	int rc;

	unlink(part);
	fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", part,
			       strerror(errno));
	rc = from->disks->download(from, disk, fd, stop, err);
	if (rc == 0)
		rc = b->to->disks->upload(b->to, disk, fd, stop, err);
	unlink(part);
	return rc;
}

static int bring_it(struct bringing *b, struct job *j, struct arena *a,
		    struct err *err)
{
	struct volume_record v;
	struct err lost = {0};
	struct host *from;

	atomic_store(&j->stage, "copying");
	if (volume_get(b->lv, b->id, a, &v, err) < 0)
		return -1;
	if (!v.host) {
		if (make_of_image(b, &v, &j->stop, a, err) < 0)
			return -1;
		return settle(b->lv, &v, b->to, err);
	}
	from = host_of(b->lv, v.host);
	if (from == b->to)
		return 0;
	if (!from)
		return err_set(err, ERR_UNAVAILABLE,
			       "the host %s is not one of the region's any "
			       "more",
			       v.host);
	if (move(b, &v, from, &j->stop, a, err) < 0 ||
	    settle(b->lv, &v, b->to, err) < 0)
		return -1;
	/* Two would be one too many; a later one is looked at as old. */
	(void)!from->disks->remove(from, volume_disk(v.id, a), &lost);
	return 0;
}

static int bring_run(struct job *j, struct err *err)
{
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = bring_it(j->ctx, j, &a, err);
	arena_release(&a);
	return rc;
}

static void begin(struct lv *lv, const struct volume_record *v, struct host *h)
{
	struct bringing *b = xcalloc(1, sizeof(*b));
	const struct job_plan plan = {bring_run, bringing_free, b};

	b->lv = lv;
	b->to = h;
	b->id = xstrdup(v->id);
	jobs_begin(library_jobs(lv->library), v->id, &plan);
}

/* An empty one takes no time. */
static int make_blank(struct lv *lv, struct volume_record *v, struct host *h,
		      struct err *err)
{
	struct arena a;
	int rc = 0;

	arena_init(&a, ARENA_MOST);
	if (!h->fake)
		rc = h->disks->blank(h, volume_disk(v->id, &a),
				     v->gib * DISK_GIB, err);
	arena_release(&a);
	return rc < 0 || settle(lv, v, h, err) < 0 ? -1 : 1;
}

int volume_bring(struct lv *lv, struct volume_record *v, struct host *h,
		 struct err *err)
{
	char word[64];

	switch (jobs_ask(library_jobs(lv->library), v->id, word, sizeof(word),
			 err)) {
	case JOB_FAILED:
		return -1;
	case JOB_RUNS:
		return 0;
	case JOB_NONE:
		break;
	}
	if (v->host && strcmp(v->host, h->name) == 0)
		return 1;
	/* Written down before there can be anything. */
	v->moving = h->name;
	if (records_put(&lv->volumes, v->id, v, err) < 0)
		return -1;
	if (!v->host && (!v->image || h->fake))
		return make_blank(lv, v, h, err);
	begin(lv, v, h);
	return 0;
}

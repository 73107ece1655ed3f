#include "provider/libvirt/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "model/status.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/import.h"
#include "provider/libvirt/library.h"
#include "provider/libvirt/snapshot.h"
#include "provider/libvirt/volume.h"

#define ARENA_MOST ((size_t)16 << 20)
#define ROOM_LEFT  ((uint64_t)1 << 30)

uint64_t image_most(const struct lv *lv)
{
	return (uint64_t)lv->options.image_gib * DISK_GIB;
}

static int make_folder(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_set(err, ERR_UNAVAILABLE, "mkdir %s: %s", path,
			       strerror(errno));
	return 0;
}

int image_open(struct lv *lv, struct err *err)
{
	auto_free char *data = NULL;

	if (!lv->folder)
		return 0;
	data = realpath(lv->conf->folder, NULL);
	if (!data)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", lv->conf->folder,
			       strerror(errno));
	lv->room_left = ROOM_LEFT;
	lv->import_folder = arena_join(&lv->arena, data, "/import", NULL);
	lv->volumes = (struct records){
		.folder = arena_join(&lv->arena, lv->folder, "/volumes", NULL),
		.fields = volume_record_fields,
		.size = sizeof(struct volume_record)};
	if (make_folder(lv->folder, 0711, err) < 0 ||
	    make_folder(lv->import_folder, 0700, err) < 0 ||
	    records_open(&lv->volumes, err) < 0)
		return -1;
	return library_open(arena_join(&lv->arena, lv->folder, "/images", NULL),
			    &lv->library, err);
}

void image_close(struct lv *lv)
{
	library_close(lv->library);
	lv->library = NULL;
}

int image_id_check(const char *id, struct err *err)
{
	if (id && uuid_valid(id, strlen(id)))
		return 0;
	return err_set(err, ERR_INVALID, "\"%.64s\" is no id", id ? id : "");
}

static const char *disk_of(const struct image_record *r, struct arena *a)
{
	return arena_join(a, "image-", r->id, ".", disk_format_names[r->format],
			  NULL);
}

/* Where a disk may be found half made, this one comes after it. */
static const char *mark_of(const char *id, struct arena *a)
{
	return arena_join(a, "image-", id, ".json", NULL);
}

static int is_on(struct host *h, const struct image_record *r, struct arena *a,
		 bool *ret, struct err *err)
{
	return disk_is(h, h->embedded ? disk_of(r, a) : mark_of(r->id, a), ret,
		       err);
}

static int bring(struct lv *lv, struct host *h, const struct image_record *r,
		 const atomic_bool *stop, struct arena *a, struct err *err)
{
	const char *path = library_path(lv->library, r->id,
					disk_format_names[r->format], a);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_set(err, ERR_INTERNAL, "image %s is lost", r->id);
	if (h->disks->upload(h, disk_of(r, a), fd, stop, err) < 0)
		return -1;
	if (h->embedded)
		return 0;
	return h->disks->write(h, mark_of(r->id, a), "{}", 2, err);
}

/* One at a time, for two would bring the same. */
static int ensure_on(struct lv *lv, struct host *h,
		     const struct image_record *r, const atomic_bool *stop,
		     struct arena *a, struct err *err)
{
	bool is;
	int rc;

	if (is_on(h, r, a, &is, err) < 0)
		return -1;
	if (is)
		return 0;
	pthread_mutex_lock(&lv->bringing);
	rc = is_on(h, r, a, &is, err);
	if (rc == 0 && !is)
		rc = bring(lv, h, r, stop, a, err);
	pthread_mutex_unlock(&lv->bringing);
	return rc;
}

void image_spread(struct lv *lv, const struct image_record *r,
		  const atomic_bool *stop)
{
	struct err later = {0};
	struct arena a;

	for (size_t i = 0; i < lv->n_hosts && !atomic_load(stop); i++) {
		if (lv->hosts[i]->fake)
			continue;
		arena_init(&a, ARENA_MOST);
		(void)!ensure_on(lv, lv->hosts[i], r, stop, &a, &later);
		arena_release(&a);
	}
}

static int find(struct lv *lv, const char *id, struct arena *a,
		struct image_record *ret, struct err *err)
{
	struct image_record r;

	if (!lv->library) {
		err_set(err, ERR_NOT_FOUND, "there is no image %.64s", id);
		return -1;
	}
	if (library_get(lv->library, id, a, &r, err) < 0)
		return -1;
	if (r.stage != IMAGE_READY) {
		err_set(err, ERR_NOT_FOUND, "image %s is not ready", id);
		return -1;
	}
	*ret = r;
	return 0;
}

int image_on(struct lv *lv, struct host *h, const char *id, struct arena *a,
	     struct image_base *ret, struct err *err)
{
	struct image_record r;

	if (find(lv, id, a, &r, err) < 0) {
		if (err->code == ERR_NOT_FOUND) {
			err->code = ERR_INVALID;
			err->retry = ERR_RETRY_AFTER_CHANGE;
		}
		return -1;
	}
	if (!h->fake && ensure_on(lv, h, &r, NULL, a, err) < 0)
		return err_wrap(err, "image %s", id);
	*ret = (struct image_base){disk_of(&r, a), r.bytes};
	return 0;
}

static struct backing backing_of(const struct image_record *r)
{
	return (struct backing){.id = r->id,
				.state = BACKED_READY,
				.native_state = "ready",
				.size = r->stored,
				.consistency = r->consistency};
}

/* How an image is begun that is not there yet. */
typedef int begin_fn(struct lv *lv, const struct image_spec *spec,
		     struct image_record *r, struct err *err);

static int begin_import(struct lv *lv, const struct image_spec *spec,
			struct image_record *r, struct err *err)
{
	const struct import i = {.lv = lv,
				 .id = r->id,
				 .uri = spec->uri,
				 .checksum = spec->checksum};

	r->uri = spec->uri;
	if (import_check(&i, err) < 0 || library_put(lv->library, r, err) < 0)
		return -1;
	import_begin(&i);
	return 0;
}

static int begin_snapshot(struct lv *lv, const struct image_spec *spec,
			  struct image_record *r, struct err *err)
{
	const struct snapshot s = {.lv = lv,
				   .id = r->id,
				   .machine = spec->machine,
				   .volume = spec->volume};

	r->machine = spec->machine;
	if (snapshot_check(&s, err) < 0 || library_put(lv->library, r, err) < 0)
		return -1;
	snapshot_begin(&s);
	return 0;
}

/* What is there of it, or a new record. */
static int find_or_make(struct lv *lv, const struct image_spec *spec,
			const char *id, struct arena *a,
			struct image_record *ret, struct err *err)
{
	struct err none = {0};

	if (library_get(lv->library, id, a, ret, &none) == 0)
		return 0;
	if (none.code != ERR_NOT_FOUND) {
		*err = none;
		return -1;
	}
	*ret = (struct image_record){.id = id,
				     .installation = lv->base.installation,
				     .name = spec->name,
				     .stage = IMAGE_MAKING,
				     .created_at = clock_wall(lv->conf->clock)};
	return 0;
}

/* A failure is told once; then it is begun again, if it is asked for.  The
 * record is read after the job was asked for, which may just have ended. */
static int ensure(struct provider *p, const struct image_spec *spec,
		  begin_fn *begin, struct arena *a, struct backing *ret,
		  struct err *err)
{
	const char *id = spec->id.provider ? spec->id.provider : spec->id.ours;
	struct lv *lv = lv_of(p);
	struct image_record r = {0};
	enum job_state state;
	char word[64] = "waiting";

	if (!lv->library)
		return err_set(err, ERR_UNSUPPORTED,
			       "there is no folder to keep images in");
	if (image_id_check(id, err) < 0)
		return -1;
	id = arena_strdup(a, id);
	state = jobs_ask(library_jobs(lv->library), id, word, sizeof(word),
			 err);
	if (state == JOB_FAILED ||
	    (state == JOB_NONE && find_or_make(lv, spec, id, a, &r, err) < 0))
		return -1;
	if (r.stage == IMAGE_READY) {
		*ret = backing_of(&r);
		return 0;
	}
	if (state == JOB_NONE && begin(lv, spec, &r, err) < 0)
		return -1;
	*ret = (struct backing){.id = id,
				.state = BACKED_CREATING,
				.native_state = arena_strdup(a, word)};
	return 0;
}

static int lv_import(struct provider *p, const struct image_spec *spec,
		     struct arena *a, struct backing *ret, struct err *err)
{
	return ensure(p, spec, begin_import, a, ret, err);
}

static int lv_snapshot(struct provider *p, const struct image_spec *spec,
		       struct arena *a, struct backing *ret, struct err *err)
{
	return ensure(p, spec, begin_snapshot, a, ret, err);
}

/* A machine's disk lies on it; both cannot be had. */
static int check_unused(struct host *h, const char *disk, struct arena *a,
			struct err *err)
{
	const struct disk_info *d;
	struct items all;

	if (h->disks->list(h, a, &all, err) < 0)
		return -1;
	d = all.at;
	for (size_t i = 0; i < all.n; i++)
		if (d[i].base && strcmp(d[i].base, disk) == 0) {
			err_set(err, ERR_CONFLICT,
				"the image is in use: the disk %s of a "
				"machine lies on it",
				d[i].name);
			err->retry = ERR_RETRY_LATER;
			return -1;
		}
	return 0;
}

static int remove_from(struct host *h, const struct image_record *r,
		       struct arena *a, struct err *err)
{
	const char *disk;

	if (h->fake)
		return 0;
	/* One that never was: a copy of a machine's disk may be left. */
	if (!r->format)
		return r->uri ? 0 : snapshot_clean(h, r->id, err);
	disk = disk_of(r, a);
	if (check_unused(h, disk, a, err) < 0)
		return -1;
	if (!h->embedded && h->disks->remove(h, mark_of(r->id, a), err) < 0)
		return -1;
	return h->disks->remove(h, disk, err);
}

static int drop(struct lv *lv, const char *id, struct arena *a, struct err *err)
{
	struct image_record r;
	struct err none = {0};

	jobs_stop(library_jobs(lv->library), id);
	if (library_get(lv->library, id, a, &r, &none) < 0)
		return none.code == ERR_NOT_FOUND ? 0 : (*err = none, -1);
	if (r.machine)
		snapshot_let_go(lv, r.machine);
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (remove_from(lv->hosts[i], &r, a, err) < 0)
			return -1;
	return library_remove(lv->library, id, err);
}

static int lv_remove_image(struct provider *p, const struct backing_id *id,
			   struct err *err)
{
	const char *which = id->provider ? id->provider : id->ours;
	struct lv *lv = lv_of(p);
	struct arena a;
	int rc;

	if (!lv->library || !which || !uuid_valid(which, strlen(which)))
		return 0;
	arena_init(&a, ARENA_MOST);
	rc = drop(lv, which, &a, err);
	arena_release(&a);
	return rc;
}

int image_things(struct lv *lv, const char *installation, struct arena *a,
		 struct buf *things, struct err *err)
{
	const struct image_record *r;
	struct items all;

	if (!lv->library)
		return 0;
	if (library_list(lv->library, a, &all, err) < 0)
		return -1;
	r = all.at;
	for (size_t i = 0; i < all.n; i++) {
		const struct thing t = {.kind = THING_IMAGE,
					.id = r[i].id,
					.ours = r[i].id,
					.created_at = r[i].created_at};

		if (!r[i].everyones && r[i].installation &&
		    strcmp(r[i].installation, installation) == 0)
			buf_add(things, &t, sizeof(t));
	}
	return 0;
}

const struct image_ops lv_image_ops = {
	.import = lv_import,
	.snapshot = lv_snapshot,
	.remove = lv_remove_image,
};

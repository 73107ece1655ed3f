#include "provider/libvirt/volume.h"

#include <string.h>

#include "base/uuid.h"
#include "model/status.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/job.h"
#include "provider/libvirt/library.h"
#include "provider/libvirt/machine.h"

#define ARENA_MOST ((size_t)64 << 20)

#define AT(member) offsetof(struct volume_record, member)

const struct field volume_record_fields[] = {
	{"id", FIELD_STRING, FIELD_REQUIRED, AT(id), "", &format_uuid},
	{"installation", FIELD_STRING, 0, AT(installation), "", &format_text},
	{"name", FIELD_STRING, 0, AT(name), "", &format_text},
	{"host", FIELD_STRING, 0, AT(host), "", &format_text},
	{"moving", FIELD_STRING, 0, AT(moving), "", &format_text},
	{"image", FIELD_STRING, 0, AT(image), "", &format_text},
	{"gib", FIELD_INT, FIELD_SPARSE, AT(gib), "", .max = INT64_MAX},
	{"createdAt", FIELD_TIME, 0, AT(created_at), ""},
	{0},
};

int volume_get(struct lv *lv, const char *id, struct arena *a,
	       struct volume_record *ret, struct err *err)
{
	if (lv->library && records_get(&lv->volumes, id, a, ret, err) == 0)
		return 0;
	if (!lv->library || err->code == ERR_NOT_FOUND)
		err_set(err, ERR_NOT_FOUND, "there is no volume %.64s", id);
	return -1;
}

int volume_check(struct lv *lv, const char *id, struct err *err)
{
	struct volume_record v;
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = volume_get(lv, id, &a, &v, err);
	arena_release(&a);
	return rc;
}

const char *volume_disk(const char *id, struct arena *a)
{
	return arena_join(a, "volume-", id, ".qcow2", NULL);
}

/* NULL with an error when it is not the region's any more. */
static struct host *host_named(const struct lv *lv, const char *name,
			       struct err *err)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (strcmp(lv->hosts[i]->name, name) == 0)
			return lv->hosts[i];
	err_set(err, ERR_UNAVAILABLE,
		"the host %s is not one of the region's any more", name);
	return NULL;
}

int volume_find(struct lv *lv, const char *id, struct arena *a,
		struct host **ret_host, const char **ret_disk, struct err *err)
{
	struct volume_record v;

	if (volume_get(lv, id, a, &v, err) < 0)
		return -1;
	if (!v.host)
		return err_set(err, ERR_CONFLICT,
			       "nothing was ever on the volume");
	*ret_host = host_named(lv, v.host, err);
	*ret_disk = volume_disk(id, a);
	return *ret_host ? 0 : -1;
}

/* With one host there is no question where. */
static struct host *only_host(const struct lv *lv)
{
	return lv->n_hosts == 1 ? lv->hosts[0] : NULL;
}

/* By whoever has it when it is in use. */
static int grow_disk(struct host *h, const struct volume_record *v, int64_t gib,
		     struct arena *a, struct err *err)
{
	const char *disk = volume_disk(v->id, a), *target;
	auto_domain virDomainPtr user = NULL;
	bool active = false;

	if (h->fake)
		return 0;
	if (volume_user(h, disk, a, &user, &target, err) < 0)
		return -1;
	if (user && machine_is_active(h, user, &active, err) < 0)
		return -1;
	if (!active)
		return h->disks->grow(h, disk, gib * DISK_GIB, err);
	if (virDomainBlockResize(user, target,
				 (unsigned long long)gib * DISK_GIB,
				 VIR_DOMAIN_BLOCK_RESIZE_BYTES) < 0)
		return host_err(h, "grow the volume", err);
	return 0;
}

static int grow(struct lv *lv, struct volume_record *v, int64_t gib,
		struct arena *a, struct err *err)
{
	if (gib <= v->gib)
		return 0;
	if (v->host) {
		struct host *h = host_named(lv, v->host, err);

		if (!h || grow_disk(h, v, gib, a, err) < 0)
			return -1;
	}
	v->gib = gib;
	return records_put(&lv->volumes, v->id, v, err);
}

static int make_record(struct lv *lv, const struct volume_spec *spec,
		       const char *id, struct volume_record *ret,
		       struct err *err)
{
	if (spec->size_gib < 1)
		return err_set(err, ERR_INVALID, "a volume needs a size");
	*ret = (struct volume_record){.id = id,
				      .installation = lv->base.installation,
				      .name = spec->name,
				      .image = spec->image,
				      .gib = spec->size_gib,
				      .created_at =
					      clock_wall(lv->conf->clock)};
	return records_put(&lv->volumes, id, ret, err);
}

static int find_or_make(struct lv *lv, const struct volume_spec *spec,
			const char *id, struct arena *a,
			struct volume_record *ret, struct err *err)
{
	struct err none = {0};

	if (volume_get(lv, id, a, ret, &none) == 0)
		return 0;
	if (none.code == ERR_NOT_FOUND)
		return make_record(lv, spec, id, ret, err);
	*err = none;
	return -1;
}

static int lv_ensure_volume(struct provider *p, const struct volume_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err)
{
	const char *id = spec->id.provider ? spec->id.provider : spec->id.ours;
	struct lv *lv = lv_of(p);
	struct host *h = only_host(lv);
	struct volume_record v;
	int there = 1;

	if (!lv->library)
		return err_set(err, ERR_UNSUPPORTED,
			       "there is no folder to keep volumes in");
	if (image_id_check(id, err) < 0)
		return -1;
	id = arena_strdup(a, id);
	if (find_or_make(lv, spec, id, a, &v, err) < 0)
		return -1;
	if (h && !v.host)
		there = volume_bring(lv, &v, h, err);
	if (there < 0 || (there && grow(lv, &v, spec->size_gib, a, err) < 0))
		return -1;
	*ret = (struct backing){.id = id,
				.state = there ? BACKED_READY : BACKED_CREATING,
				.native_state = there ? "ready" : "making",
				.size = v.gib};
	return 0;
}

static int remove_from(struct lv *lv, const char *host, const char *disk,
		       struct arena *a, struct err *err)
{
	auto_domain virDomainPtr user = NULL;
	const char *target;
	struct host *h;

	if (!host)
		return 0;
	h = host_named(lv, host, err);
	if (!h)
		return -1;
	if (h->fake)
		return 0;
	if (volume_user(h, disk, a, &user, &target, err) < 0)
		return -1;
	if (user) {
		err_set(err, ERR_CONFLICT, "the volume is attached");
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	return h->disks->remove(h, disk, err);
}

static int drop(struct lv *lv, const char *id, struct arena *a, struct err *err)
{
	const char *disk = volume_disk(id, a);
	struct volume_record v;
	struct err none = {0};

	jobs_stop(library_jobs(lv->library), id);
	if (volume_get(lv, id, a, &v, &none) < 0) {
		if (none.code == ERR_NOT_FOUND)
			return 0;
		*err = none;
		return -1;
	}
	if (remove_from(lv, v.host, disk, a, err) < 0 ||
	    remove_from(lv, v.moving, disk, a, err) < 0)
		return -1;
	return records_remove(&lv->volumes, id, err);
}

static int lv_remove_volume(struct provider *p, const struct backing_id *id,
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

int volume_things(struct lv *lv, const char *installation, struct arena *a,
		  struct buf *things, struct err *err)
{
	const struct volume_record *v;
	struct items all;

	if (!lv->library)
		return 0;
	if (records_list(&lv->volumes, a, &all, err) < 0)
		return -1;
	v = all.at;
	for (size_t i = 0; i < all.n; i++) {
		const struct thing t = {.kind = THING_VOLUME,
					.id = v[i].id,
					.ours = v[i].id,
					.created_at = v[i].created_at};

		if (v[i].installation &&
		    strcmp(v[i].installation, installation) == 0)
			buf_add(things, &t, sizeof(t));
	}
	return 0;
}

const struct volume_ops lv_volume_ops = {
	.ensure = lv_ensure_volume,
	.remove = lv_remove_volume,
	.attach = lv_attach,
	.detach = lv_detach,
};

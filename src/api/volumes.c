#include "model/volume.h"

#include <string.h>

#include "api/charge.h"
#include "api/owner.h"
#include "api/permit.h"
#include "api/regional.h"
#include "api/routes.h"
#include "api/verb.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/region.h"
#include "store/tx.h"

static int charge_volume(struct call *c, struct tx *tx, const struct volume *v,
			 struct err *err)
{
	struct quota_amount size = {.kind = "volumesGiB",
				    .committed = v->spec.size_gib};

	return charge_one(c, tx, &volume_kind, v, size, err);
}

/* What is on it at first must be there, in the same region, and fit. */
static int check_image(struct call *c, struct tx *tx, const struct volume *v,
		       struct err *err)
{
	static const char at[] = "/spec/imageId";
	const struct image *i;

	if (!v->spec.image_id)
		return 0;
	i = tx_get(tx, &image_kind, v->spec.image_id);
	if (!permit_sees(c, &image_kind, i) ||
	    !image_is_for(i, v->region_id, v->project_id))
		return err_at(err, ERR_INVALID, at, "there is no image %s",
			      v->spec.image_id);
	if (image_ready(i, at, err) < 0)
		return -1;
	if (i->spec.min_disk_gib > v->spec.size_gib)
		return err_at(err, ERR_INVALID, at,
			      "image \"%s\" needs %lld GiB, the volume has "
			      "%lld",
			      i->meta.name, (long long)i->spec.min_disk_gib,
			      (long long)v->spec.size_gib);
	return 0;
}

int volume_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct volume *v = object;
	const struct region *r;

	v->status.backed.state = BACKED_PENDING;
	if (owner_project(c, tx, v->project_id, &v->organization_id, err) < 0 ||
	    regional_find(c, tx, v->region_id, "/regionId", &r, err) < 0 ||
	    regional_can(r, "volumes", "volumes", err) < 0 ||
	    regional_zone(r, v->spec.zone, "/spec/zone", err) < 0 ||
	    check_image(c, tx, v, err) < 0)
		return -1;
	return charge_volume(c, tx, v, err);
}

int volume_update(struct call *c, struct tx *tx, const void *old, void *object,
		  struct err *err)
{
	const struct volume *was = old;
	struct volume *v = object;

	if (v->spec.size_gib < was->spec.size_gib)
		return err_at(err, ERR_INVALID, "/spec/sizeGiB",
			      "a volume cannot shrink: it has %lld GiB",
			      (long long)was->spec.size_gib);
	if (v->spec.size_gib == was->spec.size_gib)
		return 0;
	return charge_volume(c, tx, v, err);
}

/* An instance that wants it is a reference, and said by name as such; one that
 * has it still, and wants it no more, is not. */
int volume_remove(struct call *c, struct tx *tx, const void *old,
		  struct err *err)
{
	const struct volume *v = old;
	const struct meta *i;

	if (!v->status.instance_id)
		return 0;
	i = tx_get(tx, &instance_kind, v->status.instance_id);
	return err_set(err, ERR_CONFLICT,
		       "volume %s is attached to instance \"%s\"", v->meta.id,
		       i && permit_sees(c, &instance_kind, i)
			       ? i->name
			       : v->status.instance_id);
}

struct snapshot {
	const char *name, *description;
	int architecture;
};

const struct field volume_snapshot_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, offsetof(struct snapshot, name),
	 "What the image is called.", &format_text, .min = 1, .max = 128},
	{"description", FIELD_STRING, 0, offsetof(struct snapshot, description),
	 "A line for people.", &format_text, .max = 512},
	{"architecture", FIELD_ENUM, 0, offsetof(struct snapshot, architecture),
	 "What it runs on; absent: as the image that the volume was made of, "
	 "or x86_64.",
	 .names = architecture_names},
	{0},
};

static int check_snapshot(struct call *c, struct tx *tx, const struct volume *v,
			  struct err *err)
{
	const struct region *r;

	if (!permit_sees(c, &volume_kind, v))
		return err_set(err, ERR_NOT_FOUND, "there is no volume %s",
			       c->of);
	if (permit_noun(c, &volume_kind, VERB_SNAPSHOT,
			kind_owner(&volume_kind, v), err) < 0 ||
	    permit_noun(c, &image_kind, VERB_CREATE,
			kind_owner(&volume_kind, v), err) < 0)
		return -1;
	r = tx_get(tx, &region_kind, v->region_id);
	if (r && regional_can(r, "snapshot", "snapshots", err) < 0)
		return -1;
	if (v->meta.deleted_at)
		return err_set(err, ERR_CONFLICT,
			       "the volume is being deleted");
	if (v->status.backed.state != BACKED_READY)
		return err_set(err, ERR_CONFLICT,
			       "the volume is not ready: it is %s",
			       backed_names[v->status.backed.state]);
	return 0;
}

static int make_snapshot(struct call *c, struct tx *tx, void *object,
			 struct err *err)
{
	const struct volume *v = tx_get(tx, &volume_kind, c->of);
	const struct image *from;
	struct snapshot asked = {0};
	struct image *i = object;

	if (check_snapshot(c, tx, v, err) < 0 || call_body(c, &asked, err) < 0)
		return -1;
	from = v->spec.image_id ? tx_get(tx, &image_kind, v->spec.image_id)
				: NULL;
	if (from)
		i->spec = from->spec;
	i->spec.uri = i->spec.checksum = NULL;
	i->meta.name = asked.name;
	i->meta.description = asked.description;
	i->organization_id = v->organization_id;
	i->project_id = v->project_id;
	i->region_id = v->region_id;
	if (asked.architecture || !from)
		i->spec.architecture = asked.architecture ? asked.architecture
							  : ARCHITECTURE_X86_64;
	if (!from)
		i->spec.virtualization = VIRTUALIZATION_ANY;
	i->spec.min_disk_gib = v->spec.size_gib;
	i->status.backed.state = BACKED_PENDING;
	i->status.source = IMAGE_VOLUME;
	i->status.volume_id = v->meta.id;
	return 0;
}

void handle_volume_snapshot(struct call *c)
{
	call_create(c, &image_kind, make_snapshot);
}

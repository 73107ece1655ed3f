#include "api/instance_check.h"

#include <string.h>

#include "api/regional.h"
#include "model/image.h"
#include "model/region.h"
#include "store/tx.h"

struct checking {
	struct call *call;
	struct tx *tx;
	const struct instance *old, *new; /* OLD is NULL: it is made */
	struct instance_facts *facts;
};

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Where offering N says NAME. */
static const char *pointer_of(const struct checking *k, size_t n,
			      const char *name)
{
	if (n == 0)
		return arena_join(k->call->x->arena, "/spec/", name, NULL);
	return arena_printf(k->call->x->arena, "/spec/alternatives/%zu/%s",
			    n - 1, name);
}

/* It has had it before. */
static bool had_flavor(const struct instance *old, const char *id)
{
	struct alternative what;

	for (size_t n = 0; old && instance_offering(old, n, &what); n++)
		if (same(what.flavor_id, id))
			return true;
	return old && same(old->status.flavor_id, id);
}

static bool is_among(const struct items *items, const char *word)
{
	const char *const *list = items->at;

	for (size_t i = 0; i < items->n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static int check_flavor(struct checking *k, size_t n,
			const struct alternative *what, struct err *err)
{
	const struct region *r = k->facts->region;
	const struct flavor *f = tx_get(k->tx, &flavor_kind, what->flavor_id);
	const char *pointer = pointer_of(k, n, "flavorId");

	if (!f || strcmp(f->region_id, r->meta.id) != 0)
		return err_at(err, ERR_INVALID, pointer,
			      "there is no flavor %s in region \"%s\"",
			      what->flavor_id, r->meta.name);
	if (f->retired_at && !had_flavor(k->old, what->flavor_id))
		return err_at(err, ERR_INVALID, pointer,
			      "flavor \"%s\" is retired: the provider offers "
			      "it no more",
			      f->meta.name);
	if (what->zone && f->zones.n && !is_among(&f->zones, what->zone))
		return err_at(err, ERR_INVALID, pointer_of(k, n, "zone"),
			      "flavor \"%s\" is not offered in zone \"%s\"",
			      f->meta.name, what->zone);
	k->facts->flavors[n] = f;
	return 0;
}

static int check_offering(struct checking *k, size_t n,
			  const struct alternative *what, struct err *err)
{
	const struct region *r = k->facts->region;

	if (check_flavor(k, n, what, err) < 0 ||
	    regional_zone(r, what->zone, pointer_of(k, n, "zone"), err) < 0)
		return -1;
	if (what->market == MARKET_SPOT && !region_can(r, "spot"))
		return err_at(err, ERR_INVALID, pointer_of(k, n, "market"),
			      "region \"%s\" has no spot market", r->meta.name);
	return 0;
}

/* The same as before is not asked about again. */
static bool offers_changed(const struct checking *k)
{
	struct alternative was, is;

	if (!k->old ||
	    k->old->spec.alternatives.n != k->new->spec.alternatives.n)
		return true;
	for (size_t n = 0; instance_offering(k->new, n, &is); n++) {
		instance_offering(k->old, n, &was);
		if (!same(was.flavor_id, is.flavor_id) ||
		    !same(was.zone, is.zone) || was.market != is.market)
			return true;
	}
	return false;
}

static int check_public_ip(const struct checking *k, struct err *err)
{
	const struct region *r = k->facts->region;

	if (!k->new->spec.public_ip || (k->old && k->old->spec.public_ip) ||
	    !r->status.capabilities.n || region_can(r, "publicIp"))
		return 0;
	return err_at(err, ERR_INVALID, "/spec/publicIp",
		      "region \"%s\" has no public addresses", r->meta.name);
}

static int check_offerings(struct checking *k, struct err *err)
{
	bool changed = offers_changed(k);
	struct alternative what;
	size_t n;

	for (n = 0; instance_offering(k->new, n, &what); n++) {
		k->facts->flavors[n] =
			tx_get(k->tx, &flavor_kind, what.flavor_id);
		if (changed && check_offering(k, n, &what, err) < 0)
			return -1;
	}
	k->facts->n = n;
	return 0;
}

/* One of another project, or of another region, is not to be had. */
static int check_image(struct checking *k, struct err *err)
{
	static const char at[] = "/spec/imageId";
	const struct instance *new = k->new;
	const struct image *i = tx_get(k->tx, &image_kind, new->spec.image_id);

	k->facts->image = i;
	if (k->old && same(k->old->spec.image_id, new->spec.image_id))
		return 0;
	if (!i || !image_is_for(i, new->region_id, new->project_id))
		return err_at(err, ERR_INVALID, at,
			      "there is no image %s in region \"%s\"",
			      new->spec.image_id, k->facts->region->meta.name);
	return image_ready(i, at, err);
}

static int check_disk(const struct instance *i, const struct flavor *f,
		      struct err *err)
{
	static const char at[] = "/spec/rootDisk/sizeGiB";
	int64_t size = i->spec.root_disk.size_gib;
	const char *class = i->spec.root_disk.class;

	if (size != FIELD_NONE && f->root_disk.model == DISK_FIXED &&
	    size != f->root_disk.size_gib)
		return err_at(err, ERR_INVALID, at,
			      "flavor \"%s\" comes with a root disk of %lld "
			      "GiB, which cannot be chosen",
			      f->meta.name, (long long)f->root_disk.size_gib);
	if (size != FIELD_NONE && f->root_disk.model != DISK_FIXED &&
	    (size < f->root_disk.least ||
	     (f->root_disk.most && size > f->root_disk.most)))
		return err_at(err, ERR_INVALID, at,
			      "flavor \"%s\" takes a root disk of %lld to "
			      "%lld GiB",
			      f->meta.name, (long long)f->root_disk.least,
			      (long long)f->root_disk.most);
	if (class && !is_among(&f->root_disk.classes, class))
		return err_at(err, ERR_INVALID, "/spec/rootDisk/class",
			      "flavor \"%s\" has no root disk of class \"%s\"",
			      f->meta.name, class);
	return 0;
}

static bool fit_changed(const struct checking *k)
{
	const struct instance *old = k->old, *new = k->new;

	return !old || offers_changed(k) ||
	       !same(old->spec.image_id, new->spec.image_id) ||
	       old->spec.root_disk.size_gib != new->spec.root_disk.size_gib ||
	       !same(old->spec.root_disk.class, new->spec.root_disk.class);
}

/* Each flavor, the disk it gets and the image go together. */
static int check_fit(struct checking *k, struct err *err)
{
	const struct instance_facts *facts = k->facts;

	if (!fit_changed(k))
		return 0;
	for (size_t n = 0; n < facts->n; n++) {
		const struct flavor *f = facts->flavors[n];

		if (!f || !facts->image)
			continue;
		if (check_disk(k->new, f, err) < 0 ||
		    image_fits(facts->image, f, instance_root_disk(k->new, f),
			       n ? pointer_of(k, n, "flavorId")
				 : "/spec/imageId",
			       err) < 0)
			return -1;
	}
	return 0;
}

static int check_rest(struct checking *k, struct err *err)
{
	const struct instance *old = k->old, *new = k->new;
	const struct region *r = k->facts->region;

	if (!old && new->spec.power == POWER_OFF && !region_can(r, "stop"))
		return err_at(err, ERR_UNSUPPORTED, "/spec/power",
			      "region \"%s\" cannot stop machines",
			      r->meta.name);
	if (new->spec.expires_at &&
	    (!old || old->spec.expires_at != new->spec.expires_at) &&
	    new->spec.expires_at <= tx_time(k->tx))
		return err_at(err, ERR_INVALID, "/spec/expiresAt",
			      "must be a time to come");
	return 0;
}

int instance_check(struct call *c, struct tx *tx, const struct instance *old,
		   const struct instance *new, struct instance_facts *ret,
		   struct err *err)
{
	struct checking k = {c, tx, old, new, ret};

	*ret = (struct instance_facts){
		.region = tx_get(tx, &region_kind, new->region_id)};
	if (!ret->region)
		return err_at(err, ERR_INVALID, "/networkId",
			      "its region is not there any more");
	/* What the caller does not see is not there, before anything else is
	 * said of it. */
	if (tx_check_references(tx, &instance_kind, new, err) < 0 ||
	    check_offerings(&k, err) < 0 || check_public_ip(&k, err) < 0 ||
	    check_image(&k, err) < 0 || check_fit(&k, err) < 0 ||
	    instance_check_parts(c, tx, old, new, ret->region, err) < 0)
		return -1;
	return check_rest(&k, err);
}

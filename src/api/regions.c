#include <string.h>

#include "api/permit.h"
#include "api/regional.h"
#include "api/verb.h"
#include "base/json.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/region.h"
#include "model/volume.h"
#include "store/tx.h"

int regional_find(struct call *c, struct tx *tx, const char *id,
		  const char *pointer, const struct region **ret,
		  struct err *err)
{
	*ret = tx_get(tx, &region_kind, id);
	if (permit_view(c, &region_kind, *ret))
		return 0;
	return err_at(err, ERR_INVALID, pointer, "there is no region %s", id);
}

int regional_can(const struct region *r, const char *capability,
		 const char *what, struct err *err)
{
	/* Before it has been reached nobody knows: its controller will say. */
	if (!r->status.capabilities.n || region_can(r, capability))
		return 0;
	return err_set(err, ERR_UNSUPPORTED, "region \"%s\" has no %s",
		       r->meta.name, what);
}

int regional_zone(const struct region *r, const char *zone, const char *pointer,
		  struct err *err)
{
	const struct zone *zones = r->status.zones.at;

	if (!zone)
		return 0;
	for (size_t i = 0; i < r->status.zones.n; i++)
		if (strcmp(zones[i].name, zone) == 0)
			return 0;
	return err_at(err, ERR_INVALID, pointer,
		      "region \"%s\" has no zone \"%s\"", r->meta.name, zone);
}

/* TEXT, which is JSON, must be an object; NULL is absent, and so is what is
 * wrong. */
static const struct node *object_of(struct call *c, const char *text,
				    const char *pointer, struct violations *v)
{
	struct err err = {0};
	const struct node *n =
		text ? json_parse(text, strlen(text), c->x->arena, &err) : NULL;

	if (!n || node_type(n) == NODE_OBJECT)
		return n;
	violations_add(v, pointer, "must be an object, not %s",
		       node_type_name(n));
	return NULL;
}

static int check_region(struct call *c, const struct region *r, struct err *err)
{
	const struct api_conf *conf = &c->api->conf;
	const struct node *options, *credentials;
	struct violations v;

	violations_init(&v, c->x->arena);
	options = object_of(c, r->spec.options, "/spec/options", &v);
	credentials =
		object_of(c, r->spec.credentials, "/spec/credentials", &v);
	if (!v.n && conf->check_region)
		conf->check_region(r->spec.provider, options, credentials, &v);
	return v.n ? violations_err(&v, err) : 0;
}

int region_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct region *r = object;

	(void)tx;
	r->status.state = BACKED_PENDING;
	return check_region(c, r, err);
}

int region_update(struct call *c, struct tx *tx, const void *old, void *object,
		  struct err *err)
{
	(void)tx;
	(void)old;
	return check_region(c, object, err);
}

/* What it offers goes with it: see cascade.h.  What others have there does
 * not. */
int region_remove(struct call *c, struct tx *tx, const void *old,
		  struct err *err)
{
	static const struct kind *const owned[] = {&network_kind, &volume_kind,
						   &image_kind, &instance_kind};
	const struct meta *region = old;
	struct store_stats stats;

	store_stats(c->api->conf.store, &stats);
	for (size_t k = 0; k < COUNT_OF(owned); k++) {
		size_t n = stats.objects[kind_index(owned[k])] + stats.pending;
		const char **ids;

		/* Of images most are its own. */
		if (owned[k] != &image_kind && n > 1)
			n = 1;
		n = n ? tx_find(tx, owned[k], "regionId", region->id, n, &ids)
		      : 0;
		for (size_t i = 0; i < n; i++) {
			const struct meta *m = tx_get(tx, owned[k], ids[i]);

			if (kind_owner(owned[k], m).organization)
				return err_set(err, ERR_CONFLICT,
					       "region %s is in use by %s "
					       "\"%s\"",
					       region->id, owned[k]->name,
					       m->name);
		}
	}
	return 0;
}

/* Have SET change what is written of the region that a verb is about. */
static int revise(struct tx *tx, struct call *c, void (*set)(struct region *r),
		  struct err *err)
{
	struct region *r = arena_alloc(c->x->arena, sizeof(*r));
	const void *old;

	if (verb_begin(c, tx, &old, err) < 0)
		return -1;
	if (!old)
		return 0;
	memcpy(r, old, sizeof(*r));
	set(r);
	if (tx_put(tx, &region_kind, r, err) < 0)
		return -1;
	verb_done(c, tx);
	return 0;
}

static void forget_sync(struct region *r)
{
	r->status.synced_at = 0;
}

static int sync(struct tx *tx, void *ctx, struct err *err)
{
	return revise(tx, ctx, forget_sync, err);
}

void handle_sync(struct call *c)
{
	verb_run(c, sync);
}

/* What is missing is gone: the monitor may go by the provider's lists again.
 * Where nothing is, nothing is accepted. */
static void take_as_gone(struct region *r)
{
	r->status.monitor.accepted = r->status.monitor.missing;
}

static int accept_missing(struct tx *tx, void *ctx, struct err *err)
{
	return revise(tx, ctx, take_as_gone, err);
}

void handle_accept(struct call *c)
{
	verb_run(c, accept_missing);
}

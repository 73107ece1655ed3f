#include "api/protect.h"

#include "api/permit.h"
#include "api/routes.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "store/tx.h"

/* How many there are, and may come to be before this is durable. */
static size_t count_instances(const struct call *c)
{
	struct store_stats stats;

	store_stats(c->api->conf.store, &stats);
	return stats.objects[kind_index(&instance_kind)] + stats.pending;
}

static int refuse(struct call *c, const struct instance *i, const char *what,
		  struct err *err)
{
	if (!permit_sees(c, &instance_kind, i))
		return err_set(err, ERR_CONFLICT,
			       "an instance in the %s is protected from being "
			       "deleted",
			       what);
	return err_set(err, ERR_CONFLICT,
		       "instance \"%s\" (%s) in the %s is protected from being "
		       "deleted: take back its deleteProtection first",
		       i->meta.name, i->meta.id, what);
}

/* Without it the region would be everyone's. */
static int check_regions(struct tx *tx, const char *organization,
			 struct err *err)
{
	const struct meta *region;
	const char **ids;

	if (!tx_find(tx, &region_kind, "spec.organizationIds", organization, 1,
		     &ids))
		return 0;
	region = tx_get(tx, &region_kind, ids[0]);
	return err_set(err, ERR_CONFLICT,
		       "region \"%s\" (%s) is kept for the organization: "
		       "change its organizationIds first",
		       region->name, region->id);
}

int protect_container(struct call *c, struct tx *tx, const void *old,
		      struct err *err)
{
	const struct kind *k = c->noun->kind;
	const char *path = k == &organization_kind ? "organizationId"
			   : k == &network_kind    ? "networkId"
						   : "projectId";
	const char *id = ((const struct meta *)old)->id;
	size_t n = count_instances(c);
	const char **ids;

	if (k == &organization_kind && check_regions(tx, id, err) < 0)
		return -1;
	n = n ? tx_find(tx, &instance_kind, path, id, n, &ids) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct instance *in = tx_get(tx, &instance_kind, ids[i]);

		if (in->spec.delete_protection && !in->meta.deleted_at)
			return refuse(c, in, k->name, err);
	}
	return 0;
}

int protect_begin(struct tx *tx, const struct instance *old,
		  const struct instance *new, struct err *err)
{
	const struct {
		const struct kind *kind;
		const char *id;
	} in[] = {{&network_kind, new->network_id},
		  {&project_kind, new->project_id},
		  {&organization_kind, new->organization_id}};

	if (old->spec.delete_protection || !new->spec.delete_protection)
		return 0;
	for (size_t i = 0; i < COUNT_OF(in); i++) {
		const struct meta *m = tx_get(tx, in[i].kind, in[i].id);

		if (m && m->deleted_at)
			return err_at(err, ERR_CONFLICT,
				      "/spec/deleteProtection",
				      "its %s is being deleted, and the "
				      "instance with it",
				      in[i].kind->name);
	}
	return 0;
}

#include "api/protect.h"

#include "api/permit.h"
#include "api/routes.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
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

int protect_container(struct call *c, struct tx *tx, const void *old,
		      struct err *err)
{
	const struct kind *k = c->noun->kind;
	const char *path = k == &organization_kind ? "organizationId"
			   : k == &network_kind    ? "networkId"
						   : "projectId";
	size_t n = count_instances(c);
	const char **ids;

	n = n ? tx_find(tx, &instance_kind, path,
			((const struct meta *)old)->id, n, &ids)
	      : 0;
	for (size_t i = 0; i < n; i++) {
		const struct instance *in = tx_get(tx, &instance_kind, ids[i]);

		if (in->spec.delete_protection && !in->meta.deleted_at)
			return refuse(c, in, k->name, err);
	}
	return 0;
}

#include "api/charge.h"

#include "identity/quota.h"
#include "store/tx.h"

/* Whom the request is about is said by the amounts' error, but not by a field of
 * the request: there is none. */
int charge(struct call *c, struct tx *tx, const struct kind *k,
	   const void *object, const struct items *amounts, struct err *err)
{
	const struct meta *meta = object;
	struct owner o = kind_owner(k, object);
	struct allocation a = {.organization_id = o.organization,
			       .project_id = o.project,
			       .object_kind = k->name,
			       .object_id = meta->id,
			       .amounts = *amounts};
	const struct allocation *old;
	char id[37];

	quota_allocation_id(o.organization, meta->id, id);
	old = tx_get(tx, &allocation_kind, id);
	a.meta.generation = old ? old->meta.generation + 1 : 1;
	a.meta.created_at = old ? old->meta.created_at : tx_time(tx);
	a.meta.created_by = old ? old->meta.created_by : c->who->name;
	a.meta.updated_at = tx_time(tx);
	a.meta.updated_by = c->who->name;
	if (quota_charge(c->api->conf.sums, tx, &a, err) == 0)
		return 0;
	err->field[0] = '\0';
	return -1;
}

int charge_one(struct call *c, struct tx *tx, const struct kind *k,
	       const void *object, struct quota_amount amount, struct err *err)
{
	struct items one = {&amount, 1};

	return charge(c, tx, k, object, &one, err);
}

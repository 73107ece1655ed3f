#include "reconcile/forget.h"

#include "model/quota.h"
#include "store/tx.h"

int forget(struct tx *tx, const struct kind *k, const char *id, struct err *err)
{
	const char **ids;
	size_t n = tx_find(tx, &allocation_kind, "objectId", id, 1, &ids);

	if (n && tx_delete(tx, &allocation_kind, ids[0], err) < 0)
		return -1;
	return tx_delete(tx, k, id, err);
}

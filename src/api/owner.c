#include "api/owner.h"

#include "api/permit.h"
#include "api/routes.h"
#include "model/network.h"
#include "model/project.h"
#include "store/tx.h"

static int permit_in(struct call *c, struct owner o, struct err *err)
{
	return permit_noun(c, c->noun->kind, VERB_CREATE, o, err);
}

int owner_project(struct call *c, struct tx *tx, const char *id,
		  const char **ret, struct err *err)
{
	const struct project *p = tx_get(tx, &project_kind, id);

	if (!permit_sees(c, &project_kind, p))
		return err_at(err, ERR_INVALID, "/projectId",
			      "there is no project %s", id);
	*ret = p->organization_id;
	return permit_in(c, (struct owner){p->organization_id, id}, err);
}

int owner_network(struct call *c, struct tx *tx, const char *id,
		  const struct network **ret, struct err *err)
{
	const struct network *n = tx_get(tx, &network_kind, id);

	if (!permit_sees(c, &network_kind, n))
		return err_at(err, ERR_INVALID, "/networkId",
			      "there is no network %s", id);
	*ret = n;
	return permit_in(c, (struct owner){n->organization_id, n->project_id},
			 err);
}

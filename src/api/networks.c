#include "model/network.h"

#include <stdio.h>
#include <string.h>

#include "api/charge.h"
#include "api/owner.h"
#include "api/regional.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "store/tx.h"

/* Networks of a project that are looked at; a quota ends long before. */
#define NETWORKS_MOST 4096

static int check(struct call *c, const struct network *n, struct err *err)
{
	struct violations v;

	violations_init(&v, c->x->arena);
	network_check(n, &v);
	return v.n ? violations_err(&v, err) : 0;
}

/* Instances in two networks of a project reach each other by address: there
 * the same address is never two machines'. */
static int check_overlaps(struct tx *tx, const struct network *n,
			  struct err *err)
{
	const char **ids;
	size_t found = tx_find(tx, &network_kind, "projectId", n->project_id,
			       NETWORKS_MOST, &ids);

	for (size_t i = 0; i < found; i++) {
		const struct network *other = tx_get(tx, &network_kind, ids[i]);
		const char *pointer;

		if (strcmp(other->region_id, n->region_id) != 0)
			continue;
		pointer = network_overlaps(n, other);
		if (pointer)
			return err_at(err, ERR_CONFLICT, pointer,
				      "network \"%s\" (%s) of the project has "
				      "some of these addresses in the same "
				      "region",
				      other->meta.name, other->meta.id);
	}
	return 0;
}

int network_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct quota_amount one = {.kind = "networks", .committed = 1};
	struct network *n = object;
	const struct region *r;

	n->status.backed.state = BACKED_PENDING;
	if (owner_project(c, tx, n->project_id, &n->organization_id, err) < 0 ||
	    regional_find(c, tx, n->region_id, "/regionId", &r, err) < 0 ||
	    regional_can(r, "networks", "networks", err) < 0 ||
	    check(c, n, err) < 0 || check_overlaps(tx, n, err) < 0)
		return -1;
	return charge_one(c, tx, &network_kind, n, one, err);
}

int network_update(struct call *c, struct tx *tx, const void *old, void *object,
		   struct err *err)
{
	(void)tx;
	(void)old;
	return check(c, object, err);
}

/* Groups of another network mean nothing here.  One that the caller does not
 * see is not there: the reference is checked when it is written. */
static void check_peers(struct tx *tx, const struct securitygroup *g,
			struct violations *v)
{
	const struct rule *rules = g->spec.rules.at;
	char pointer[64];

	for (size_t i = 0; i < g->spec.rules.n; i++) {
		const struct securitygroup *peer =
			rules[i].group_id ? tx_get(tx, &securitygroup_kind,
						   rules[i].group_id)
					  : NULL;

		if (!peer ||
		    strcmp(peer->organization_id, g->organization_id) != 0 ||
		    strcmp(peer->network_id, g->network_id) == 0)
			continue;
		snprintf(pointer, sizeof(pointer),
			 "/spec/rules/%zu/securityGroupId", i);
		violations_add(v, pointer,
			       "the group is not of the same network");
	}
}

static int check_group(struct call *c, struct tx *tx,
		       const struct securitygroup *g, struct err *err)
{
	struct violations v;

	/* Before anything is said of a group, it must be the caller's to
	 * see. */
	if (tx_check_references(tx, &securitygroup_kind, g, err) < 0)
		return -1;
	violations_init(&v, c->x->arena);
	securitygroup_check(g, &v);
	check_peers(tx, g, &v);
	return v.n ? violations_err(&v, err) : 0;
}

int securitygroup_create(struct call *c, struct tx *tx, void *object,
			 struct err *err)
{
	struct securitygroup *g = object;
	const struct network *n;
	const struct region *r;

	if (owner_network(c, tx, g->network_id, &n, err) < 0)
		return -1;
	g->organization_id = n->organization_id;
	g->project_id = n->project_id;
	g->region_id = n->region_id;
	g->status.state = BACKED_PENDING;
	r = tx_get(tx, &region_kind, n->region_id);
	if (r && regional_can(r, "securityGroups", "security groups", err) < 0)
		return -1;
	return check_group(c, tx, g, err);
}

int securitygroup_update(struct call *c, struct tx *tx, const void *old,
			 void *object, struct err *err)
{
	(void)old;
	return check_group(c, tx, object, err);
}

#include "api/instances.h"

#include <string.h>

#include "api/charge.h"
#include "api/instance_check.h"
#include "api/instance_plan.h"
#include "api/owner.h"
#include "api/permit.h"
#include "api/protect.h"
#include "api/routes.h"
#include "identity/quota.h"
#include "identity/ssh.h"
#include "model/network.h"
#include "model/region.h"
#include "model/server.h"
#include "model/usage.h"
#include "store/tx.h"

const char *const instance_words[] = {"allow", NULL};
const char *const instance_read_words[] = {"maxStalenessMs", NULL};

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

const struct flavor *instance_flavor(struct tx *tx, const struct instance *i)
{
	return tx_get(tx, &flavor_kind,
		      i->status.flavor_id ? i->status.flavor_id
					  : i->spec.flavor_id);
}

static void amounts_of(struct call *c, const struct instance *i,
		       const struct flavor *const *flavors, size_t n,
		       struct items *ret)
{
	struct quota_amount *list =
		arena_alloc(c->x->arena, USAGE_MOST * sizeof(*list));

	*ret = (struct items){list, usage_of(i, flavors, n, list)};
}

/* Its owner follows from the network, and its id from the network and its name:
 * a second of the same name collides. */
static int take_place(struct call *c, struct tx *tx, struct instance *i,
		      struct err *err)
{
	const struct network *n;
	const struct meta *other;

	if (owner_network(c, tx, i->network_id, &n, err) < 0)
		return -1;
	i->organization_id = n->organization_id;
	i->project_id = n->project_id;
	i->region_id = n->region_id;
	instance_id(i->network_id, i->meta.name, c->new_id);
	other = tx_get(tx, &instance_kind, c->new_id);
	if (!other)
		return 0;
	return err_at(err, ERR_CONFLICT, "/name",
		      "there is an instance \"%s\" in network \"%s\"%s",
		      i->meta.name, n->meta.name,
		      other->deleted_at ? ", which is being deleted"
					: " already");
}

static void make_key(struct call *c, struct instance *i)
{
	struct ssh_pair pair;

	if (i->spec.ssh_key != SSH_KEY_GENERATED)
		return;
	ssh_make(c->api->conf.random, i->meta.name, c->x->arena, &pair);
	i->ssh_private_key = pair.private_key;
	i->status.ssh_public_key = pair.public_line;
}

int instance_create(struct call *c, struct tx *tx, void *object,
		    struct err *err)
{
	struct instance *i = object;
	struct instance_facts facts;
	struct instance_plan plan = {.action = "create", .new = i};
	char *uid = arena_alloc(c->x->arena, 37);
	char *server = arena_alloc(c->x->arena, 37);

	memset(&i->status, 0, sizeof(i->status));
	if (take_place(c, tx, i, err) < 0 ||
	    instance_check(c, tx, NULL, i, &facts, err) < 0)
		return -1;
	tx_new_id(tx, uid);
	server_id(uid, 1, server);
	i->uid = uid;
	i->status.server_id = server;
	i->status.state = INSTANCE_PENDING;
	i->status.provisioning = PROVISIONING_PENDING;
	i->status.health = HEALTH_UNKNOWN;
	i->status.price = *usage_price(facts.flavors[0], i->spec.market);
	make_key(c, i);
	amounts_of(c, i, facts.flavors, facts.n, &plan.amounts);
	if (c->plan)
		c->plan_json = instance_plan_write(c, tx, &plan);
	return charge(c, tx, &instance_kind, i, &plan.amounts, err);
}

/* The intent: durable, with everything that the launch is asked for, before
 * anybody calls the provider. */
int instance_written(struct call *c, struct tx *tx, const void *object,
		     struct err *err)
{
	const struct instance *i = object;
	struct server s;

	server_begin(i, tx_get(tx, &flavor_kind, i->spec.flavor_id), 1,
		     c->api->conf.random, c->x->arena, &s);
	s.meta.generation = 1;
	s.meta.created_at = s.meta.updated_at = tx_time(tx);
	s.meta.created_by = s.meta.updated_by = c->who->name;
	/* It is not the caller's: what the caller sees does not matter. */
	tx_set_view(tx, NULL, NULL);
	if (tx_put(tx, &server_kind, &s, err) < 0)
		return -1;
	tx_event(tx, &instance_kind, i->meta.id, "accepted", "%s asked for it",
		 c->who->name);
	return 0;
}

/* What it got is still one of those that are wanted. */
static bool is_wanted(const struct instance *i)
{
	struct alternative what;

	for (size_t n = 0; instance_offering(i, n, &what); n++)
		if (same(what.flavor_id, i->status.flavor_id))
			return true;
	return false;
}

/* It has run, and nothing that is planned or under way makes something else of
 * it: one that has not may yet come to be another of those that would do. */
static bool stays_as_it_is(const struct instance *i,
			   const struct change_plan *plan)
{
	int action = plan->action ? plan->action : i->status.change.action;

	return i->status.flavor_id && i->status.launched_at &&
	       action != CHANGE_RESIZE && action != CHANGE_REPLACE &&
	       is_wanted(i);
}

/* What it will use.  One that keeps its machine uses what that is. */
static void new_amounts(struct call *c, struct tx *tx,
			const struct instance *new,
			const struct change_plan *plan, struct items *ret)
{
	const struct flavor *flavors[OFFERINGS_MOST];
	struct alternative what;
	size_t n = 0;

	if (stays_as_it_is(new, plan)) {
		struct instance *got = arena_alloc(c->x->arena, sizeof(*got));

		*got = *new;
		got->spec.alternatives.n = 0;
		got->spec.market = new->status.market;
		flavors[0] = instance_flavor(tx, new);
		amounts_of(c, got, flavors, 1, ret);
		return;
	}
	for (; n < OFFERINGS_MOST && instance_offering(new, n, &what); n++)
		flavors[n] = tx_get(tx, &flavor_kind, what.flavor_id);
	amounts_of(c, new, flavors, n, ret);
}

/* The machine that there is keeps what it has until it is another, or is known
 * to be gone: AMOUNTS, and as much as that. */
static struct items charged_for(struct call *c, struct tx *tx,
				const struct instance *new,
				const struct items *amounts)
{
	const struct server *s =
		tx_get(tx, &server_kind, new->status.server_id);
	const struct flavor *f =
		s && s->status.phase != SERVER_GONE
			? tx_get(tx, &flavor_kind, s->asked.flavor_id)
			: NULL;
	struct quota_amount *list =
		arena_alloc(c->x->arena, USAGE_MOST * sizeof(*list));
	struct instance *got = arena_alloc(c->x->arena, sizeof(*got));
	struct items has;

	if (!f)
		return *amounts;
	*got = *new;
	got->spec.alternatives.n = 0;
	got->spec.market = s->asked.market;
	got->spec.public_ip = s->asked.public_ip;
	amounts_of(c, got, &f, 1, &has);
	return (struct items){list, usage_most(amounts, &has, list)};
}

static bool uses_the_same(struct tx *tx, const struct instance *i,
			  const struct items *amounts)
{
	const struct quota_amount *want = amounts->at, *have;
	const struct allocation *a;
	char id[37];

	quota_allocation_id(i->organization_id, i->meta.id, id);
	a = tx_get(tx, &allocation_kind, id);
	if (!a || a->amounts.n != amounts->n)
		return false;
	have = a->amounts.at;
	for (size_t n = 0; n < amounts->n; n++)
		if (strcmp(have[n].kind, want[n].kind) != 0 ||
		    have[n].committed != want[n].committed)
			return false;
	return true;
}

static void write_change(struct call *c, struct tx *tx, struct instance *new,
			 const struct change_plan *plan)
{
	int before = new->status.change.action, action = plan->action;

	if (!action)
		return;
	/* Both are wanted, and it was never at the provider. */
	if (before && before != action)
		action = CHANGE_REPLACE;
	new->status.change = (struct change){.action = action,
					     .step = CHANGE_WAITING,
					     .since = tx_time(tx),
					     .loses = plan->loses};
	tx_event(tx, &instance_kind, new->meta.id, "changeAccepted",
		 "%s asked for a %s", c->who->name,
		 change_action_names[action]);
}

int instance_change(struct call *c, struct tx *tx, const struct instance *old,
		    struct instance *new, const struct change_plan *plan,
		    struct err *err)
{
	struct instance_plan p = {
		.action = plan->action ? change_action_names[plan->action]
				       : "update",
		.old = old,
		.new = new,
		.change = plan};
	struct items charged;

	if (!same(old->spec.flavor_id, new->spec.flavor_id) ||
	    old->spec.market != new->spec.market) {
		const struct flavor *f =
			tx_get(tx, &flavor_kind, new->spec.flavor_id);

		if (f)
			new->status.price = *usage_price(f, new->spec.market);
	}
	/* Whatever is asked of it, it is tried again. */
	if (old->status.state == INSTANCE_FAILED && !old->status.launched_at)
		new->status.state = INSTANCE_PENDING;
	new_amounts(c, tx, new, plan, &p.amounts);
	if (instance_confirm(c, tx, &p, err) < 0)
		return -1;
	charged = charged_for(c, tx, new, &p.amounts);
	if (!uses_the_same(tx, new, &charged) &&
	    charge(c, tx, &instance_kind, new, &charged, err) < 0)
		return -1;
	write_change(c, tx, new, plan);
	return 0;
}

int instance_update(struct call *c, struct tx *tx, const void *old,
		    void *object, struct err *err)
{
	struct instance_facts facts;
	struct change_plan plan;
	struct change_case k = {
		.old = old, .new = object, .flavor = instance_flavor(tx, old)};

	if (protect_begin(tx, old, object, err) < 0 ||
	    instance_check(c, tx, old, object, &facts, err) < 0)
		return -1;
	k.region = facts.region;
	if (change_decide(&k, c->x->arena, &plan, err) < 0)
		return -1;
	return instance_change(c, tx, old, object, &plan, err);
}

/* What goes with the machine. */
static struct change_plan losses(struct call *c, struct tx *tx,
				 const struct instance *i)
{
	struct change_plan plan;
	struct change_case k = {.old = i,
				.new = i,
				.flavor = instance_flavor(tx, i),
				.region =
					tx_get(tx, &region_kind, i->region_id)};

	change_verb(&k, CHANGE_REPLACE, c->x->arena, &plan);
	plan.need = CHANGE_NEEDS_NOTHING;
	return plan;
}

int instance_remove(struct call *c, struct tx *tx, const void *old,
		    struct err *err)
{
	const struct instance *i = old;
	struct change_plan plan;

	if (i->spec.delete_protection)
		return err_set(err, ERR_CONFLICT,
			       "instance \"%s\" is protected from being "
			       "deleted: take back its deleteProtection first",
			       i->meta.name);
	if (!c->plan)
		return 0;
	plan = losses(c, tx, i);
	c->plan_json = instance_plan_write(
		c, tx,
		&(struct instance_plan){
			.action = "delete", .old = i, .change = &plan});
	return 0;
}

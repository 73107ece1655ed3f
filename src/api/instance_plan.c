#include "api/instance_plan.h"

#include <assert.h>
#include <string.h>

#include "base/field_ops.h"
#include "identity/quota.h"
#include "model/instance.h"
#include "model/usage.h"
#include "store/tx.h"

struct plan_quota {
	const char *kind, *scope;
	int64_t before, after, limit;
};

struct plan {
	const char *action, *kind, *allow;
	struct items changes, loses;
	struct {
		struct price before, after;
	} price;
	struct items quota; /* of struct plan_quota */
};

#define PRICE(member)                                                          \
	(offsetof(struct plan, price.member) - offsetof(struct plan, price))
#define TEXTS .item = FIELD_STRING, .size = sizeof(const char *)

static const struct field price_plan_fields[] = {
	{"before", FIELD_OBJECT, 0, PRICE(before), "What it is.",
	 .fields = price_fields},
	{"after", FIELD_OBJECT, 0, PRICE(after), "What it would be.",
	 .fields = price_fields},
	{0},
};

static const struct field quota_fields[] = {
	{"kind", FIELD_STRING, 0, offsetof(struct plan_quota, kind),
	 "The quota kind."},
	{"scope", FIELD_STRING, 0, offsetof(struct plan_quota, scope),
	 "Whose: the organization's, or the project's."},
	{"before", FIELD_INT, 0, offsetof(struct plan_quota, before),
	 "What is used of it."},
	{"after", FIELD_INT, 0, offsetof(struct plan_quota, after),
	 "What would be."},
	{"limit", FIELD_INT, 0, offsetof(struct plan_quota, limit),
	 "What may be; absent: there is no limit."},
	{0},
};

static const struct field plan_fields[] = {
	{"action", FIELD_STRING, 0, offsetof(struct plan, action),
	 "What would be done."},
	{"kind", FIELD_STRING, 0, offsetof(struct plan, kind), "To what."},
	{"allow", FIELD_STRING, 0, offsetof(struct plan, allow),
	 "What must be allowed for it."},
	{"changes", FIELD_LIST, FIELD_ALWAYS, offsetof(struct plan, changes),
	 "Pointers of the fields that change.", TEXTS},
	{"loses", FIELD_LIST, FIELD_ALWAYS, offsetof(struct plan, loses),
	 "What does not survive it.", TEXTS},
	{"price", FIELD_OBJECT, 0, offsetof(struct plan, price),
	 "What an hour costs.", .fields = price_plan_fields},
	{"quota", FIELD_LIST, FIELD_ALWAYS, offsetof(struct plan, quota),
	 "What is used of each quota.", .item = FIELD_OBJECT,
	 .fields = quota_fields, .size = sizeof(struct plan_quota)},
	{0},
};

static int64_t amount_of(const struct items *amounts, const char *kind)
{
	const struct quota_amount *list = amounts->at;

	for (size_t i = 0; i < amounts->n; i++)
		if (strcmp(list[i].kind, kind) == 0)
			return list[i].committed + list[i].reserved;
	return 0;
}

static void add_use(struct call *c, struct plan *p, struct owner o,
		    const char *kind, int64_t by)
{
	struct plan_quota *list = p->quota.at;
	int64_t limit = quota_limit_now(c->api->conf.store, o.organization,
					o.project, kind);
	struct quota_use use =
		quota_used(c->api->conf.sums,
			   o.project ? o.project : o.organization, kind);
	int64_t used = use.committed + use.reserved;

	/* A project without a limit of its own has the organization's. */
	if (o.project && limit == FIELD_NONE)
		return;
	list[p->quota.n++] = (struct plan_quota){
		kind, o.project ? "project" : "organization", used, used + by,
		limit};
}

static void add_quota(struct call *c, struct tx *tx,
		      const struct instance_plan *in, struct plan *p)
{
	const struct instance *i = in->new ? in->new : in->old;
	const struct allocation *a;
	const struct items none = {0}, *was = &none;
	size_t n = 0;
	const char *words[2 * USAGE_MOST];
	char id[37];

	assert(i);
	quota_allocation_id(i->organization_id, i->meta.id, id);
	a = tx_get(tx, &allocation_kind, id);
	if (a)
		was = &a->amounts;
	for (size_t k = 0; k < was->n && k < USAGE_MOST; k++)
		words[n++] = ((const struct quota_amount *)was->at)[k].kind;
	for (size_t k = 0; k < in->amounts.n; k++) {
		const struct quota_amount *list = in->amounts.at;

		if (!amount_of(was, list[k].kind))
			words[n++] = list[k].kind;
	}
	p->quota.at =
		arena_alloc(c->x->arena, 2 * n * sizeof(struct plan_quota) + 1);
	for (size_t k = 0; k < n; k++) {
		int64_t by = amount_of(&in->amounts, words[k]) -
			     amount_of(was, words[k]);
		struct owner o = {i->organization_id, i->project_id};

		add_use(c, p, (struct owner){o.organization, NULL}, words[k],
			by);
		add_use(c, p, o, words[k], by);
	}
}

const char *instance_plan_write(struct call *c, struct tx *tx,
				const struct instance_plan *in)
{
	struct plan p = {.action = in->action, .kind = "instance"};
	struct buf b = BUF_INIT((size_t)64 << 10);
	const char *json;

	/* What is used counts what is not durable yet. */
	tx_rest_on_all(tx);
	if (in->change) {
		p.changes = in->change->fields;
		p.loses = in->change->loses;
		if (in->change->need > CHANGE_NEEDS_NOTHING)
			p.allow = change_need_names[in->change->need];
	}
	if (in->old)
		p.price.before = in->old->status.price;
	if (in->new)
		p.price.after = in->new->status.price;
	add_quota(c, tx, in, &p);
	field_encode(plan_fields, &p, FIELD_PUBLIC, &b);
	json = arena_memdup(c->x->arena, buf_str(&b), b.len);
	buf_release(&b);
	return json;
}

int instance_allowed(struct call *c, int *ret, struct err *err)
{
	const char *word = call_arg(c, "allow");

	*ret = CHANGE_NEEDS_NOTHING;
	for (int n = CHANGE_NEEDS_RESTART; word && change_need_names[n]; n++)
		if (strcmp(word, change_need_names[n]) == 0)
			*ret = n;
	if (word && *ret == CHANGE_NEEDS_NOTHING)
		return err_set(err, ERR_INVALID,
			       "the query word allow must be restart or "
			       "rebuild");
	return 0;
}

static int ask(struct call *c, struct tx *tx, const struct instance_plan *p,
	       struct err *err)
{
	const char *const *loses = p->change->loses.at;
	struct buf words = BUF_INIT(512);

	for (size_t i = 0; i < p->change->loses.n; i++)
		buf_addf(&words, "%s%s", i ? ", " : ", which loses ", loses[i]);
	err_set(err, ERR_CONFIRMATION,
		"this needs a %s of the machine%s: allow it with ?allow=%s",
		change_action_names[p->change->action], buf_str(&words),
		change_need_names[p->change->need]);
	buf_release(&words);
	err->plan = instance_plan_write(c, tx, p);
	return -1;
}

int instance_confirm(struct call *c, struct tx *tx,
		     const struct instance_plan *p, struct err *err)
{
	const struct change *now = &p->old->status.change;
	int allowed;

	if (instance_allowed(c, &allowed, err) < 0)
		return -1;
	if (p->change->action && now->action && instance_was_launched(p->old))
		return err_set(err, ERR_CONFLICT,
			       "a %s of the machine is under way: wait for it "
			       "to end",
			       change_action_names[now->action]);
	if (c->plan)
		c->plan_json = instance_plan_write(c, tx, p);
	else if (p->change->need > allowed)
		return ask(c, tx, p, err);
	return 0;
}

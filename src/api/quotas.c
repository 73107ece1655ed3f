#include "api/quotas.h"

#include <string.h>

#include "api/permit.h"
#include "api/routes.h"
#include "identity/quota.h"
#include "store/tx.h"

int quotakind_update(struct call *c, struct tx *tx, const void *old,
		     void *object, struct err *err)
{
	(void)old;
	return quota_check_default(c->api->conf.sums, tx, object, err);
}

int quotakind_remove(struct call *c, struct tx *tx, const void *old,
		     struct err *err)
{
	const struct meta *meta = old;
	const char **ids;

	(void)c;
	if (tx_find(tx, &quota_kind, "limits.kind", meta->name, 1, &ids) ||
	    tx_find(tx, &allocation_kind, "amounts.kind", meta->name, 1, &ids))
		return err_set(err, ERR_CONFLICT,
			       "quotas or allocations name %s", meta->name);
	return 0;
}

/* A scope has one quota: its id follows from the scope's, so that a second
 * collides. */
int quota_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct quota *q = object;

	/* Before anything is said of a project, it must be the caller's to
	 * see. */
	if (tx_check_references(tx, &quota_kind, q, err) < 0)
		return -1;
	quota_id(q->project_id ? q->project_id : q->organization_id, c->new_id);
	if (tx_get(tx, &quota_kind, c->new_id))
		return err_set(err, ERR_CONFLICT,
			       "there is a quota already: %s", c->new_id);
	return quota_check_limits(c->api->conf.sums, tx, NULL, q, err);
}

int quota_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err)
{
	return quota_check_limits(c->api->conf.sums, tx, old, object, err);
}

int quota_remove(struct call *c, struct tx *tx, const void *old,
		 struct err *err)
{
	return quota_check_limits(c->api->conf.sums, tx, old, NULL, err);
}

/* What the server counts for its own objects is no one else's to say: it comes
 * and goes with them. */
static int check_foreign(const struct allocation *a, enum err_code code,
			 struct err *err)
{
	if (!kind_find(a->object_kind))
		return 0;
	return err_at(err, code, "/objectKind",
		      "what %s use is counted by the server alone",
		      kind_find(a->object_kind)->plural);
}

/* An object has one allocation: its id follows from the object's, and from its
 * organization's, so that what others have is not told. */
int allocation_create(struct call *c, struct tx *tx, void *object,
		      struct err *err)
{
	struct allocation *a = object;

	if (check_foreign(a, ERR_INVALID, err) < 0 ||
	    tx_check_references(tx, &allocation_kind, a, err) < 0)
		return -1;
	quota_allocation_id(a->organization_id, a->object_id, c->new_id);
	if (tx_get(tx, &allocation_kind, c->new_id))
		return err_set(err, ERR_CONFLICT,
			       "the object has an allocation already: %s",
			       c->new_id);
	return quota_charge(c->api->conf.sums, tx, a, err);
}

int allocation_update(struct call *c, struct tx *tx, const void *old,
		      void *object, struct err *err)
{
	if (check_foreign(old, ERR_CONFLICT, err) < 0)
		return -1;
	return quota_charge(c->api->conf.sums, tx, object, err);
}

int allocation_remove(struct call *c, struct tx *tx, const void *old,
		      struct err *err)
{
	(void)c;
	(void)tx;
	return check_foreign(old, ERR_CONFLICT, err);
}

static void add_use(struct call *c, const struct quotakind *k, struct owner o,
		    struct buf *out)
{
	const char *name = k->meta.name;
	struct quota_use use =
		quota_used(c->api->conf.sums,
			   o.project ? o.project : o.organization, name);
	int64_t limit = quota_limit_now(c->api->conf.store, o.organization,
					o.project, name);
	int64_t used = use.committed + use.reserved;

	buf_addf(out, "%s{\"kind\":\"%s\",\"unit\":",
		 out->data[out->len - 1] == '[' ? "" : ",", name);
	json_add_string(out, k->unit, strlen(k->unit));
	buf_addf(out, ",\"committed\":%lld,\"reserved\":%lld,\"used\":%lld",
		 (long long)use.committed, (long long)use.reserved,
		 (long long)used);
	if (limit != FIELD_NONE)
		buf_addf(out, ",\"limit\":%lld,\"free\":%lld", (long long)limit,
			 (long long)(limit > used ? limit - used : 0));
	buf_addc(out, '}');
}

/* A transaction that writes nothing: the sums count what is not durable yet, and
 * the answer waits for that. */
static int read_usage(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct store *s = c->api->conf.store;
	struct scan scan = store_scan(s, 0, &quotakind_kind, NULL);
	const void *object = tx_get(tx, c->noun->kind, c->id);
	struct buf out = BUF_INIT((size_t)1 << 20);
	struct record kind;
	struct owner o;
	size_t effort = 0;

	if (permit(c, VERB_READ, object, err) < 0)
		return -1;
	o = kind_owner(c->noun->kind, object);
	if (permit_noun(c, &quota_kind, VERB_READ, o, err) < 0)
		return -1;
	tx_rest_on_all(tx);
	buf_adds(&out, "{\"items\":[");
	while (scan_next(&scan, &kind, &effort))
		add_use(c, kind.object, o, &out);
	buf_adds(&out, "]}");
	c->planned = arena_memdup(c->x->arena, out.data, out.len);
	buf_release(&out);
	return 0;
}

void handle_usage(struct call *c)
{
	call_change(c, read_usage);
}

#include "identity/quota.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/volume.h"
#include "store/read.h"
#include "store/tx.h"

/* Names that no other derived id is made of. */
#define QUOTA_NAME "muster/quota"

struct sum {
	struct quota_use use;
	char key[]; /* "SCOPE/KIND" */
};

struct quota_sums {
	struct map map;
};

struct quota_sums *quota_sums_new(void)
{
	return xcalloc(1, sizeof(struct quota_sums));
}

void quota_sums_free(struct quota_sums *q)
{
	struct sum *s;
	size_t i = 0;

	if (!q)
		return;
	while ((s = map_next(&q->map, &i)))
		free(s);
	map_release(&q->map);
	free(q);
}

static void make_key(struct buf *b, const char *scope, const char *kind)
{
	buf_clear(b);
	buf_adds(b, scope);
	buf_addc(b, '/');
	buf_adds(b, kind);
}

static void add(struct quota_sums *q, const char *scope,
		const struct quota_amount *a, int by)
{
	struct buf key = BUF_INIT(256);
	struct sum *s;

	if (!scope)
		return;
	make_key(&key, scope, a->kind);
	s = map_get(&q->map, key.data);
	if (!s) {
		s = xcalloc(1, sizeof(*s) + key.len + 1);
		memcpy(s->key, key.data, key.len + 1);
		map_add(&q->map, s->key, s);
	}
	s->use.committed += by * a->committed;
	s->use.reserved += by * a->reserved;
	if (!s->use.committed && !s->use.reserved) {
		map_remove(&q->map, s->key);
		free(s);
	}
	buf_release(&key);
}

void quota_observe(void *ctx, const struct kind *k, const void *object, int by)
{
	const struct allocation *a = object;
	const struct quota_amount *amounts;

	if (k != &allocation_kind)
		return;
	amounts = a->amounts.at;
	for (size_t i = 0; i < a->amounts.n; i++) {
		add(ctx, a->organization_id, &amounts[i], by);
		add(ctx, a->project_id, &amounts[i], by);
	}
}

struct quota_use quota_used(const struct quota_sums *q, const char *scope,
			    const char *kind)
{
	struct buf key = BUF_INIT(256);
	const struct sum *s;

	make_key(&key, scope, kind);
	s = map_get(&q->map, key.data);
	buf_release(&key);
	return s ? s->use : (struct quota_use){0};
}

void quota_allocation_id(const char *organization, const char *object,
			 char out[37])
{
	allocation_id(organization, object, out);
}

void quota_id(const char *scope, char out[37])
{
	uuid_v5(scope, QUOTA_NAME, out);
}

static int64_t limit_in(const struct quota *q, const char *kind)
{
	const struct quota_limit *limits = q ? q->limits.at : NULL;

	for (size_t i = 0; q && i < q->limits.n; i++)
		if (strcmp(limits[i].kind, kind) == 0)
			return limits[i].limit;
	return FIELD_NONE;
}

static const struct quotakind *find_kind(struct tx *tx, const char *name)
{
	const char **ids;
	char key[80];
	struct buf b = BUF_INIT(sizeof(key));
	size_t n;

	buf_addf(&b, "/%s", name);
	n = tx_find(tx, &quotakind_kind, "@name", buf_str(&b), 1, &ids);
	buf_release(&b);
	return n ? tx_get(tx, &quotakind_kind, ids[0]) : NULL;
}

static const struct quota *find_quota(struct tx *tx, const char *scope)
{
	char id[37];

	quota_id(scope, id);
	return tx_get(tx, &quota_kind, id);
}

/* A project without a limit of its own is bound by its organization's. */
static int64_t limit_of(struct tx *tx, const char *scope, bool project,
			const struct quotakind *k)
{
	int64_t limit = limit_in(find_quota(tx, scope), k->meta.name);

	return limit == FIELD_NONE && !project ? k->fallback : limit;
}

static int check_scope(struct quota_sums *q, struct tx *tx, const char *scope,
		       bool project, const struct quotakind *k, struct err *err)
{
	struct quota_use use = quota_used(q, scope, k->meta.name);
	int64_t used = use.committed + use.reserved;
	int64_t limit = limit_of(tx, scope, project, k);

	/* Sums must not overflow, either. */
	if (limit == FIELD_NONE)
		limit = QUOTA_MOST;
	if (used <= limit)
		return 0;
	/* Others' writes, not yet durable, may be why. */
	tx_rest_on_all(tx);
	return err_at(err, ERR_QUOTA, "/amounts",
		      "the %s may use %lld %s (%s); with this it would be "
		      "%lld",
		      project ? "project" : "organization", (long long)limit,
		      k->meta.name, k->unit, (long long)used);
}

static const char *kind_at(const struct items *items, size_t size, size_t i)
{
	const void *at = (const char *)items->at + i * size;

	return *(const char *const *)at;
}

static int check_kinds(struct tx *tx, const struct items *items, size_t size,
		       const char *pointer, struct err *err)
{
	for (size_t i = 0; i < items->n; i++) {
		const char *kind = kind_at(items, size, i);

		if (!find_kind(tx, kind))
			return err_at(err, ERR_INVALID, pointer,
				      "there is no quota kind %s", kind);
		for (size_t j = 0; j < i; j++)
			if (strcmp(kind_at(items, size, j), kind) == 0)
				return err_at(err, ERR_INVALID, pointer,
					      "the quota kind %s is named "
					      "twice",
					      kind);
	}
	return 0;
}

/* It is written first, so that the sums have it; if it does not fit, the
 * transaction fails and takes it back. */
int quota_charge(struct quota_sums *q, struct tx *tx,
		 struct allocation *allocation, struct err *err)
{
	const struct quota_amount *amounts = allocation->amounts.at;
	char *id = arena_alloc(tx_arena(tx), 37);

	quota_allocation_id(allocation->organization_id, allocation->object_id,
			    id);
	allocation->meta.id = id;
	if (check_kinds(tx, &allocation->amounts, sizeof(*amounts), "/amounts",
			err) < 0 ||
	    tx_put(tx, &allocation_kind, allocation, err) < 0)
		return -1;
	for (size_t i = 0; i < allocation->amounts.n; i++) {
		const struct quotakind *k = find_kind(tx, amounts[i].kind);

		if (check_scope(q, tx, allocation->organization_id, false, k,
				err) < 0 ||
		    (allocation->project_id &&
		     check_scope(q, tx, allocation->project_id, true, k, err) <
			     0))
			return -1;
	}
	return 0;
}

static int check_limit(struct quota_sums *q, struct tx *tx, const char *scope,
		       const char *kind, int64_t limit, struct err *err)
{
	struct quota_use use = quota_used(q, scope, kind);
	int64_t used = use.committed + use.reserved;

	if (limit == FIELD_NONE || used <= limit)
		return 0;
	tx_rest_on_all(tx);
	return err_at(err, ERR_CONFLICT, "/limits",
		      "%lld %s are in use: the limit cannot be %lld",
		      (long long)used, kind, (long long)limit);
}

int quota_check_limits(struct quota_sums *q, struct tx *tx,
		       const struct quota *old, const struct quota *new,
		       struct err *err)
{
	static const struct quota none;
	const struct quota *was = old ? old : &none, *is = new ? new : &none;
	const struct quota *any = new ? is : was;
	const char *scope =
		any->project_id ? any->project_id : any->organization_id;
	const struct quota_limit *before = was->limits.at, *now = is->limits.at;

	if (check_kinds(tx, &is->limits, sizeof(*now), "/limits", err) < 0)
		return -1;
	for (size_t i = 0; i < is->limits.n; i++)
		if (check_limit(q, tx, scope, now[i].kind, now[i].limit, err) <
		    0)
			return -1;
	/* Where a limit goes away, the default holds again. */
	for (size_t i = 0; i < was->limits.n; i++) {
		const struct quotakind *k = find_kind(tx, before[i].kind);

		if (limit_in(is, before[i].kind) == FIELD_NONE &&
		    !any->project_id && k &&
		    check_limit(q, tx, scope, before[i].kind, k->fallback,
				err) < 0)
			return -1;
	}
	return 0;
}

int quota_check_default(struct quota_sums *q, struct tx *tx,
			const struct quotakind *new, struct err *err)
{
	const struct sum *s;
	size_t i = 0;

	while (new->fallback != FIELD_NONE && (s = map_next(&q->map, &i))) {
		size_t len = strcspn(s->key, "/");
		const char *scope = arena_memdup(tx_arena(tx), s->key, len);

		if (strcmp(s->key + len + 1, new->meta.name) != 0 ||
		    !tx_get(tx, &organization_kind, scope) ||
		    limit_in(find_quota(tx, scope), new->meta.name) !=
			    FIELD_NONE)
			continue;
		if (check_limit(q, tx, scope, new->meta.name, new->fallback,
				err) < 0)
			return err_at(err, ERR_CONFLICT, "/default",
				      "organization %s uses more of it and has "
				      "no limit of its own",
				      scope);
	}
	return 0;
}

int64_t quota_limit_now(const struct store *s, const char *organization,
			const char *project, const char *kind)
{
	struct scan scan = store_scan(s, 0, &quotakind_kind, NULL);
	int64_t limit = FIELD_NONE;
	struct record r;
	size_t effort = 0;
	char id[37];

	quota_id(project ? project : organization, id);
	if (store_get(s, 0, &quota_kind, id, &r))
		limit = limit_in(r.object, kind);
	if (limit != FIELD_NONE || project)
		return limit;
	while (scan_next(&scan, &r, &effort)) {
		const struct quotakind *k = r.object;

		if (strcmp(k->meta.name, kind) == 0)
			return k->fallback;
	}
	return FIELD_NONE;
}

static size_t compare(const struct quota_sums *a, const struct quota_sums *b,
		      const char *what, struct buf *out)
{
	const struct sum *s;
	size_t i = 0, n = 0;

	while ((s = map_next(&a->map, &i))) {
		const struct sum *t = map_get(&b->map, s->key);

		if (t && t->use.committed == s->use.committed &&
		    t->use.reserved == s->use.reserved)
			continue;
		buf_addf(out, "%s: %s %lld+%lld\n", s->key, what,
			 (long long)s->use.committed,
			 (long long)s->use.reserved);
		n++;
	}
	return n;
}

size_t quota_differences(const struct quota_sums *q, const struct store *s,
			 struct buf *out)
{
	struct quota_sums *anew = quota_sums_new();
	struct scan scan = store_scan(s, 0, &allocation_kind, NULL);
	struct record r;
	size_t effort = 0, n;

	while (scan_next(&scan, &r, &effort))
		quota_observe(anew, &allocation_kind, r.object, 1);
	n = compare(q, anew, "kept", out) + compare(anew, q, "added up", out);
	quota_sums_free(anew);
	return n;
}

static size_t check_use(const struct quota_sums *q, const struct store *s,
			struct owner o, struct buf *out)
{
	const char *scope = o.project ? o.project : o.organization;
	struct scan scan = store_scan(s, 0, &quotakind_kind, NULL);
	struct record r;
	size_t effort = 0, n = 0;

	while (scan_next(&scan, &r, &effort)) {
		const char *kind = ((const struct meta *)r.object)->name;
		struct quota_use use = quota_used(q, scope, kind);
		int64_t limit =
			quota_limit_now(s, o.organization, o.project, kind);
		int64_t used = use.committed + use.reserved;

		if (limit == FIELD_NONE || used <= limit)
			continue;
		buf_addf(out, "%s %s: uses %lld %s, and may use %lld\n",
			 o.project ? "project" : "organization", scope,
			 (long long)used, kind, (long long)limit);
		n++;
	}
	return n;
}

static bool kind_is_known(const struct store *s, const char *name)
{
	struct scan scan = store_scan(s, 0, &quotakind_kind, NULL);
	struct record r;
	size_t effort = 0;

	while (scan_next(&scan, &r, &effort))
		if (strcmp(((const struct meta *)r.object)->name, name) == 0)
			return true;
	return false;
}

static size_t check_object(const struct store *s, const struct allocation *a,
			   struct buf *out)
{
	const struct kind *k = kind_find(a->object_kind);
	char id[37];
	struct record r;
	size_t n = 0;

	quota_allocation_id(a->organization_id, a->object_id, id);
	if (strcmp(id, a->meta.id) != 0) {
		buf_addf(out, "allocation %s: its id is not its object's\n",
			 a->meta.id);
		n++;
	}
	if (!k)
		return n;
	if (store_get(s, 0, k, a->object_id, &r)) {
		const char *own = kind_owner(k, r.object).organization;

		if (own && strcmp(own, a->organization_id) == 0)
			return n;
	}
	buf_addf(out, "allocation %s: its %s %s is not there\n", a->meta.id,
		 k->name, a->object_id);
	return n + 1;
}

/* What is counted, is: each of these has its allocation. */
static size_t check_counted(const struct store *s, struct buf *out)
{
	static const struct kind *const counted[] = {
		&network_kind, &volume_kind, &instance_kind};
	size_t effort = 0, n = 0;

	for (size_t i = 0; i < COUNT_OF(counted); i++) {
		struct scan scan = store_scan(s, 0, counted[i], NULL);
		struct record r, allocation;

		while (scan_next(&scan, &r, &effort)) {
			struct owner o = kind_owner(counted[i], r.object);
			char id[37];

			if (o.organization)
				quota_allocation_id(o.organization, r.id, id);
			if (o.organization &&
			    store_get(s, 0, &allocation_kind, id, &allocation))
				continue;
			buf_addf(out, "%s %s: is not counted\n",
				 counted[i]->name, r.id);
			n++;
		}
	}
	return n;
}

size_t quota_breaches(const struct quota_sums *q, const struct store *s,
		      struct buf *out)
{
	static const struct kind *const levels[] = {&organization_kind,
						    &project_kind};
	struct scan scan;
	struct record r;
	size_t effort = 0, n = check_counted(s, out);

	for (size_t i = 0; i < COUNT_OF(levels); i++) {
		scan = store_scan(s, 0, levels[i], NULL);
		while (scan_next(&scan, &r, &effort))
			n += check_use(q, s, kind_owner(levels[i], r.object),
				       out);
	}
	scan = store_scan(s, 0, &allocation_kind, NULL);
	while (scan_next(&scan, &r, &effort)) {
		const struct allocation *a = r.object;
		const struct quota_amount *amounts = a->amounts.at;

		n += check_object(s, a, out);
		for (size_t i = 0; i < a->amounts.n; i++) {
			if (kind_is_known(s, amounts[i].kind))
				continue;
			buf_addf(out,
				 "allocation %s: there is no quota kind "
				 "%s\n",
				 a->meta.id, amounts[i].kind);
			n++;
		}
	}
	return n;
}

#include "identity/person.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "identity/oidc.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/user.h"
#include "store/read.h"

/* Users that one person may be, one in an organization. */
#define USERS_MOST ((size_t)1024)

/* Names derived from addresses (RFC 9562). */
#define SPACE_URL "6ba7b811-9dad-11d1-80b4-00c04fd430c8"

struct persons {
	struct store *store;
	struct map binding; /* id to struct binding */
};

/* A user that is being bound. */
struct binding {
	struct txn txn;
	struct persons *all;
	char id[UUID_LEN + 1];
	char *issuer, *subject, *email;
};

/* A person while they are looked for. */
struct match {
	struct persons *all;
	const struct oidc_person *person;
	struct arena *arena;
	const char *ids[USERS_MOST];  /* active users */
	const char *orgs[USERS_MOST]; /* theirs */
	size_t n;
	const char *barred[USERS_MOST]; /* organizations of the others */
	size_t n_barred;
	int state;        /* of one of those */
	const char *name; /* of the first that is active */
	bool in_group;    /* by an external name */
};

struct persons *persons_new(struct store *s)
{
	struct persons *all = xcalloc(1, sizeof(*all));

	all->store = s;
	return all;
}

static void binding_free(struct binding *b)
{
	free(b->issuer);
	free(b->subject);
	free(b->email);
	free(b);
}

void persons_free(struct persons *all)
{
	struct binding *b;
	size_t i = 0;

	if (!all)
		return;
	while ((b = map_next(&all->binding, &i)))
		binding_free(b);
	map_release(&all->binding);
	free(all);
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* The issuer may speak for people of this organization (NULL: the
 * platform). */
static bool covers(const struct store *s, const struct oidc_issuer *issuer,
		   const char *organization)
{
	const char *const *names = issuer->organizations.at;
	const struct meta *meta;
	struct record r;

	if (!issuer->organizations.n)
		return true;
	if (!organization ||
	    !store_get(s, 0, &organization_kind, organization, &r))
		return false;
	meta = r.object;
	for (size_t i = 0; i < issuer->organizations.n; i++)
		if (same(names[i], meta->id) || same(names[i], meta->name))
			return true;
	return false;
}

static int bind_user(struct tx *tx, void *ctx, struct err *err)
{
	struct binding *b = ctx;
	const struct user *old = tx_get(tx, &user_kind, b->id);
	struct buf entry = BUF_INIT(4096);
	struct user new;

	/* Somebody else came first, or it is another address by now. */
	if (!old || old->subject || old->state != USER_ACTIVE ||
	    strcasecmp(old->email, b->email) != 0 ||
	    (old->issuer && strcmp(old->issuer, b->issuer) != 0))
		return 0;
	new = *old;
	new.issuer = b->issuer;
	new.subject = b->subject;
	new.meta.generation++;
	new.meta.updated_at = tx_time(tx);
	new.meta.updated_by = arena_printf(tx_arena(tx), "user:%s", old->email);
	buf_addf(&entry, "{\"who\":{\"id\":\"%s\",\"name\":", b->id);
	json_add_string(&entry, new.meta.updated_by,
			strlen(new.meta.updated_by));
	buf_addf(&entry,
		 "},\"action\":\"bind\",\"kind\":\"user\",\"objectId\":\"%s\","
		 "\"organizationId\":\"%s\",\"before\":%lld,"
		 "\"result\":\"ok\"}",
		 b->id, old->organization_id, (long long)old->meta.revision);
	tx_audit(tx, old->organization_id, buf_str(&entry));
	buf_release(&entry);
	return tx_put(tx, &user_kind, &new, err);
}

/* A failure is met again, and told, when the call tries again. */
static void bound(struct txn *t, const struct err *err)
{
	struct binding *b = CONTAINER_OF(t, struct binding, txn);

	(void)err;
	map_remove(&b->all->binding, b->id);
	binding_free(b);
}

static void begin_binding(struct persons *all, const char *id,
			  const struct jwt_claims *c)
{
	struct binding *b;

	if (map_get(&all->binding, id))
		return;
	b = xcalloc(1, sizeof(*b));
	b->all = all;
	memcpy(b->id, id, sizeof(b->id));
	b->issuer = xstrdup(c->issuer);
	b->subject = xstrdup(c->subject);
	b->email = xstrdup(c->email);
	b->txn = (struct txn){.fn = bind_user, .done = bound, .ctx = b};
	map_add(&all->binding, b->id, b);
	store_transact(all->store, &b->txn);
}

static bool is_among(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (same(list[i], word))
			return true;
	return false;
}

/* The first of an organization counts: with many, its administrators could
 * crowd out those of others. */
static void add_user(struct match *m, const struct user *u)
{
	const char *org = u->organization_id;

	if (u->state != USER_ACTIVE) {
		if (m->n_barred == USERS_MOST ||
		    is_among(m->barred, m->n_barred, org))
			return;
		m->barred[m->n_barred++] = arena_strdup(m->arena, org);
		m->state = u->state;
		return;
	}
	if (m->n == USERS_MOST || is_among(m->orgs, m->n, org) ||
	    is_among(m->barred, m->n_barred, org))
		return;
	if (!m->n)
		m->name = arena_printf(m->arena, "user:%s", u->email);
	m->orgs[m->n] = arena_strdup(m->arena, org);
	m->ids[m->n++] = arena_strdup(m->arena, u->meta.id);
}

static void match_subject(struct match *m)
{
	const struct oidc_person *p = m->person;
	struct scan scan = store_scan(m->all->store, 0, &user_kind, NULL);
	size_t effort = 0;
	struct record r;

	(void)scan_narrow(&scan, "subject", p->claims.subject, NULL);
	while (scan_next(&scan, &r, &effort)) {
		const struct user *u = r.object;

		if (same(u->issuer, p->claims.issuer) &&
		    covers(m->all->store, p->issuer, u->organization_id))
			add_user(m, u);
	}
}

/* Those without a subject. */
static void match_email(struct match *m, const char *email)
{
	const struct oidc_person *p = m->person;
	struct scan scan = store_scan(m->all->store, 0, &user_kind, NULL);
	size_t effort = 0;
	struct record r;

	(void)scan_narrow(&scan, "email", email, NULL);
	while (scan_next(&scan, &r, &effort)) {
		const struct user *u = r.object;

		if (u->subject ||
		    (u->issuer && !same(u->issuer, p->claims.issuer)) ||
		    !covers(m->all->store, p->issuer, u->organization_id))
			continue;
		add_user(m, u);
	}
}

/* Begin to bind those that their address alone makes theirs, in organizations
 * where they are nobody yet; how many there are. */
static size_t bind_all(struct match *m)
{
	const struct jwt_claims *c = &m->person->claims;
	size_t known = m->n;
	char *lower;

	if (!c->email || !c->email_verified)
		return 0;
	match_email(m, c->email);
	lower = arena_strdup(m->arena, c->email);
	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (strcmp(lower, c->email) != 0)
		match_email(m, lower);
	for (size_t i = known; i < m->n; i++)
		begin_binding(m->all, m->ids[i], c);
	return m->n - known;
}

/* A group that an external name leads to. */
static bool counts(void *ctx, const struct group *g)
{
	struct match *m = ctx;

	if (!covers(m->all->store, m->person->issuer, g->organization_id) ||
	    is_among(m->barred, m->n_barred, g->organization_id))
		return false;
	m->in_group = true;
	return true;
}

static void add_grants(struct match *m, struct principal *ret)
{
	const struct oidc_person *p = m->person;
	struct group_query q = {.path = "userIds"};

	for (size_t i = 0; i < m->n; i++) {
		q.value = m->ids[i];
		access_groups(m->all->store, &q, m->arena, ret);
	}
	q = (struct group_query){"externalGroups", NULL, counts, m};
	for (size_t i = 0; i < p->claims.n_groups; i++) {
		q.value = arena_printf(m->arena, "%s/%s", p->issuer->name,
				       p->claims.groups[i]);
		access_groups(m->all->store, &q, m->arena, ret);
	}
}

/* Who is no user, but is in a group by its external name. */
static void name_stranger(struct match *m)
{
	const struct jwt_claims *c = &m->person->claims;
	char *id = arena_alloc(m->arena, UUID_LEN + 1);

	uuid_v5(SPACE_URL,
		arena_printf(m->arena, "%s#%s", c->issuer, c->subject), id);
	m->ids[m->n++] = id;
	m->name = arena_printf(m->arena, "external:%s/%s",
			       m->person->issuer->name,
			       c->email_verified ? c->email : c->subject);
}

static int nobody(const struct match *m, struct err *err)
{
	const struct oidc_person *p = m->person;

	if (m->n_barred)
		return err_set(err, ERR_UNAUTHENTICATED, "the user is %s",
			       m->state == USER_PENDING ? "pending"
							: "suspended");
	return err_set(err, ERR_UNAUTHENTICATED,
		       "the token is good, but nobody here is known by it: no "
		       "user has this subject of %s%s, and no group has one of "
		       "its groups",
		       p->issuer->name,
		       !p->claims.email ? " (it has no email)"
		       : p->claims.email_verified
			       ? " or its email"
			       : " (its email is not verified)");
}

int person_resolve(struct persons *all, const struct oidc_person *p,
		   struct arena *arena, struct principal *ret, struct err *err)
{
	struct match *m = arena_alloc(arena, sizeof(*m));

	*m = (struct match){.all = all, .person = p, .arena = arena};
	match_subject(m);
	if (bind_all(m))
		return 1;
	/* A suspended user bars from its own organization only: any of them
	 * could have made one for somebody else's people. */
	add_grants(m, ret);
	if (!m->n && !m->in_group)
		return nobody(m, err);
	if (!m->n)
		name_stranger(m);
	ret->id = m->ids[0];
	ret->ids = m->ids;
	ret->n_ids = m->n;
	ret->name = m->name;
	return 0;
}

#include "identity/access.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"
#include "identity/lastuse.h"
#include "identity/mtls.h"
#include "identity/oidc.h"
#include "identity/person.h"
#include "identity/token.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/role.h"
#include "model/serviceaccount.h"
#include "model/user.h"
#include "store/read.h"

/* Principals kept; when there are more, all are let go. */
#define KEPT_MOST  4096
#define ARENA_MOST ((size_t)1 << 30)

struct kept {
	char digest[65];
	int64_t expires_at;
	int64_t last_used_at; /* of one of our tokens; else INT64_MAX */
	struct principal principal;
	struct arena arena;
};

struct access {
	struct access_conf conf;
	struct persons *persons;
	struct lastuse *uses;
	struct map kept;   /* digest of what was brought to struct kept */
	uint64_t revision; /* of identities, when the first was kept */
	uint64_t looked;   /* the store's, when that was looked at */
};

struct access *access_new(const struct access_conf *conf)
{
	struct access *a = xcalloc(1, sizeof(*a));

	a->conf = *conf;
	a->persons = persons_new(conf->store);
	a->uses = lastuse_new(conf->store);
	return a;
}

static void drop_kept(struct access *a)
{
	struct kept *k;
	size_t i = 0;

	while ((k = map_next(&a->kept, &i))) {
		arena_release(&k->arena);
		free(k);
	}
	map_release(&a->kept);
}

void access_free(struct access *a)
{
	if (!a)
		return;
	drop_kept(a);
	persons_free(a->persons);
	lastuse_free(a->uses);
	free(a);
}

/* The newest revision at which anything that rights depend on changed. */
static uint64_t identity_revision(const struct store *s)
{
	static const struct kind *const matter[] = {
		&user_kind,  &serviceaccount_kind, &role_kind,
		&group_kind, &token_kind,          &organization_kind};
	uint64_t newest = 0;

	for (size_t i = 0; i < COUNT_OF(matter); i++) {
		uint64_t r = store_changed(s, matter[i]);

		if (r > newest)
			newest = r;
	}
	return newest;
}

/* Grants being gathered, at most one a place once they are put in order. */
struct gathered {
	struct grant *list;
	size_t n, room;
};

static int order(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_grants(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;
	int c = order(x->project, y->project);

	return c ? c : order(x->organization, y->organization);
}

static void put_in_order(struct gathered *g)
{
	size_t n = 0;

	if (g->n)
		qsort(g->list, g->n, sizeof(*g->list), compare_grants);
	for (size_t i = 0; i < g->n; i++) {
		if (n && compare_grants(&g->list[n - 1], &g->list[i]) == 0)
			rights_join(&g->list[n - 1].rights, &g->list[i].rights);
		else
			g->list[n++] = g->list[i];
	}
	g->n = n;
}

/* What many groups give in one place takes the room of one. */
static struct grant *gather_one(struct gathered *g)
{
	if (g->n == g->room) {
		put_in_order(g);
		if (g->n >= g->room / 2) {
			g->room = g->room ? 2 * g->room : 16;
			g->list = xrealloc(g->list, g->room, sizeof(*g->list));
		}
	}
	g->list[g->n] = (struct grant){0};
	return &g->list[g->n++];
}

/* A word of a version that knew more nouns permits nothing here. */
static struct rights rights_of(const struct items *words)
{
	const char *const *w = words->at;
	struct rights r = {0};

	for (size_t i = 0; i < words->n; i++)
		(void)rights_add(&r, w[i]);
	return r;
}

static void add_grant(struct gathered *to, struct owner where,
		      const struct rights *rights)
{
	*gather_one(to) = (struct grant){.organization = where.organization,
					 .project = where.project,
					 .rights = *rights};
}

static void add_role(const struct store *s, const struct group *g,
		     const char *role_id, struct gathered *to)
{
	const char *const *projects = g->project_ids.at;
	const struct role *role;
	struct rights rights;
	struct record r;

	if (!store_get(s, 0, &role_kind, role_id, &r))
		return;
	role = r.object;
	if (!g->organization_id) {
		rights = rights_of(&role->platform);
		if (role->platform.n)
			add_grant(to, (struct owner){0}, &rights);
		return;
	}
	rights = rights_of(&role->organization);
	if (role->organization.n)
		add_grant(to, (struct owner){g->organization_id, NULL},
			  &rights);
	rights = rights_of(&role->project);
	for (size_t i = 0; role->project.n && i < g->project_ids.n; i++)
		add_grant(to, (struct owner){g->organization_id, projects[i]},
			  &rights);
}

/* The places are named in the store's memory until they are kept. */
static void keep_grants(struct gathered *g, struct arena *arena,
			struct principal *ret)
{
	put_in_order(g);
	ret->n = g->n;
	ret->grants = arena_alloc(arena, g->n * sizeof(*g->list));
	for (size_t i = 0; i < g->n; i++) {
		struct grant *to = &ret->grants[i];

		*to = g->list[i];
		if (to->organization)
			to->organization =
				arena_strdup(arena, to->organization);
		if (to->project)
			to->project = arena_strdup(arena, to->project);
	}
	free(g->list);
}

void access_groups(const struct store *s, const struct group_query *q,
		   struct arena *arena, struct principal *ret)
{
	struct scan scan = store_scan(s, 0, &group_kind, NULL);
	struct gathered all = {0};
	size_t effort = 0;
	struct record r;

	if (!scan_narrow(&scan, q->path, q->value, NULL))
		return;
	for (size_t i = 0; i < ret->n; i++)
		*gather_one(&all) = ret->grants[i];
	while (scan_next(&scan, &r, &effort)) {
		const struct group *g = r.object;
		const char *const *roles = g->role_ids.at;

		if (q->counts && !q->counts(q->ctx, g))
			continue;
		for (size_t i = 0; i < g->role_ids.n; i++)
			add_role(s, g, roles[i], &all);
	}
	keep_grants(&all, arena, ret);
}

void access_grants(const struct store *s, const char *id, struct arena *arena,
		   struct principal *ret)
{
	struct group_query q = {"userIds", id, NULL, NULL};

	access_groups(s, &q, arena, ret);
	q.path = "serviceAccountIds";
	access_groups(s, &q, arena, ret);
}

/* The user or service account ID, by name and with its rights. */
static int resolve(const struct store *s, const char *id, struct arena *arena,
		   struct principal *ret, struct err *err)
{
	const struct meta *meta;
	const char **ids;
	struct record r;

	if (store_get(s, 0, &user_kind, id, &r)) {
		const struct user *u = r.object;

		if (u->state != USER_ACTIVE)
			return err_set(err, ERR_UNAUTHENTICATED,
				       "the user is %s",
				       u->state == USER_PENDING ? "pending"
								: "suspended");
		ret->name = arena_printf(arena, "user:%s", u->email);
	} else if (store_get(s, 0, &serviceaccount_kind, id, &r)) {
		meta = r.object;
		ret->name =
			arena_printf(arena, "serviceaccount:%s", meta->name);
	} else {
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token's owner is gone");
	}
	ids = arena_alloc(arena, sizeof(*ids));
	ids[0] = ret->id = arena_strdup(arena, id);
	ret->ids = ids;
	ret->n_ids = 1;
	access_grants(s, id, arena, ret);
	return 0;
}

static const struct token *find_token(const struct store *s, const char *digest)
{
	struct scan scan = store_scan(s, 0, &token_kind, NULL);
	struct record r;
	size_t effort = 0;

	(void)scan_narrow(&scan, "digest", digest, NULL);
	return scan_next(&scan, &r, &effort) ? r.object : NULL;
}

/* What a caller brings, taken apart. */
struct brought {
	const char *token;                /* or NULL */
	const char *subject;              /* of a certificate, or NULL */
	char digest[65];                  /* of either */
	const struct oidc_person *person; /* whom the token is for, or NULL */
};

static int make_stored(struct access *a, const char *digest, struct kept *k,
		       struct err *err)
{
	const struct store *s = a->conf.store;
	const struct token *t = find_token(s, digest);
	const char *owner;

	if (!t)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is not known");
	owner = t->user_id ? t->user_id : t->service_account_id;
	if (!owner)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token has no owner");
	k->expires_at = t->expires_at;
	k->last_used_at = t->last_used_at;
	k->principal.token_id = arena_strdup(&k->arena, t->meta.id);
	if (t->organization_id)
		k->principal.scope.organization =
			arena_strdup(&k->arena, t->organization_id);
	if (t->project_id)
		k->principal.scope.project =
			arena_strdup(&k->arena, t->project_id);
	return resolve(s, owner, &k->arena, &k->principal, err);
}

static int make_certified(struct access *a, const char *subject, struct kept *k,
			  struct err *err)
{
	const struct mtls_rule *rule =
		mtls_find(a->conf.mtls, a->conf.n_mtls, subject);
	const char *id = NULL;

	if (!rule)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "send a token: nobody is known by the "
			       "certificate of %.200s",
			       subject);
	id = mtls_account(a->conf.store, rule->service_account);
	if (!id)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the certificate stands for the service account "
			       "%s, which is not there",
			       rule->service_account);
	return resolve(a->conf.store, id, &k->arena, &k->principal, err);
}

static int make(struct access *a, const struct brought *b, struct kept *k,
		struct err *err)
{
	if (b->person)
		return person_resolve(a->persons, b->person, &k->arena,
				      &k->principal, err);
	if (b->token)
		return make_stored(a, b->digest, k, err);
	return make_certified(a, b->subject, k, err);
}

/* Let go of what may no longer be so. */
static void forget(struct access *a)
{
	uint64_t now = store_revision(a->conf.store), revision;

	if (now == a->looked && a->kept.count < KEPT_MOST)
		return;
	revision = identity_revision(a->conf.store);
	if (revision != a->revision || a->kept.count >= KEPT_MOST)
		drop_kept(a);
	a->revision = revision;
	a->looked = now;
}

static struct kept *kept_new(const char *digest)
{
	struct kept *k = xcalloc(1, sizeof(*k));

	memcpy(k->digest, digest, sizeof(k->digest));
	k->last_used_at = INT64_MAX;
	arena_init(&k->arena, ARENA_MOST);
	return k;
}

/* Keep K if it was made, as RC says. */
static int keep(struct access *a, struct kept *k, int rc, struct kept **ret)
{
	if (rc) {
		arena_release(&k->arena);
		free(k);
		return rc;
	}
	map_add(&a->kept, k->digest, k);
	*ret = k;
	return 0;
}

/* The kept principal, made when it is not there. */
static int look_up(struct access *a, const struct brought *b, struct kept **ret,
		   struct err *err)
{
	struct kept *k;

	*ret = map_get(&a->kept, b->digest);
	if (*ret)
		return 0;
	k = kept_new(b->digest);
	return keep(a, k, make(a, b, k, err), ret);
}

/* Two dots: a signed token of an issuer.  Ours have none. */
static bool is_signed(const char *token)
{
	const char *dot = strchr(token, '.');

	return strncmp(token, TOKEN_PREFIX, strlen(TOKEN_PREFIX)) != 0 && dot &&
	       strchr(dot + 1, '.');
}

static int take_apart(struct access *a, const struct credentials *brought,
		      struct brought *b, struct err *err)
{
	const char *header = brought->header;

	if (!header && brought->tls_subject && a->conf.n_mtls) {
		b->subject = brought->tls_subject;
		token_digest(b->subject, strlen(b->subject), b->digest);
		/* No token has a digest that begins like this. */
		b->digest[0] = 'm';
		return 0;
	}
	if (!header)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "send a token: Authorization: Bearer muster_…");
	if (strncasecmp(header, "Bearer ", 7) != 0)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "only bearer tokens are accepted");
	header += 7;
	b->token = header + strspn(header, " ");
	token_digest(b->token, strlen(b->token), b->digest);
	return is_signed(b->token) ? oidc_check(a->conf.oidc, b->token,
						b->digest, &b->person, err)
				   : 0;
}

static int impersonate(struct access *a, const struct principal *p,
		       const char *id, struct kept *k, struct err *err)
{
	struct principal *as = arena_alloc(&k->arena, sizeof(*as));
	const struct kind *kind = &user_kind;
	struct record r;

	if (!store_get(a->conf.store, 0, kind, id, &r)) {
		kind = &serviceaccount_kind;
		if (!store_get(a->conf.store, 0, kind, id, &r))
			kind = NULL;
	}
	/* Whom one may not act for is not there, whether or not they are. */
	if (!kind || !access_may(p, permission_noun(kind->plural),
				 VERB_IMPERSONATE, kind_owner(kind, r.object)))
		return err_set(err, ERR_FORBIDDEN,
			       "there is no user or service account %s that "
			       "you may act for",
			       id);
	if (resolve(a->conf.store, id, &k->arena, as, err) < 0) {
		err->code = ERR_FORBIDDEN;
		return -1;
	}
	k->principal = *access_copy(p, &k->arena);
	k->principal.as = as;
	k->principal.name =
		arena_printf(&k->arena, "%s as %s", p->name, as->name);
	return 0;
}

/* What K is when it acts for ID; kept, too, since a watch asks again and
 * again. */
static int act_as(struct access *a, const char *id, struct kept **k,
		  struct err *err)
{
	struct buf both = BUF_INIT((size_t)64 << 10);
	char digest[65];
	struct kept *acting;

	buf_addf(&both, "%s %s", (*k)->digest, id);
	token_digest(buf_str(&both), both.len, digest);
	buf_release(&both);
	digest[0] = 's'; /* as above: no token's digest */
	acting = map_get(&a->kept, digest);
	if (!acting) {
		acting = kept_new(digest);
		acting->expires_at = (*k)->expires_at;
		return keep(a, acting,
			    impersonate(a, &(*k)->principal, id, acting, err),
			    k);
	}
	*k = acting;
	return 0;
}

static void note_use(struct access *a, struct kept *k)
{
	int64_t now = clock_wall(a->conf.clock);

	if (k->last_used_at >= now - LASTUSE_EVERY_MS)
		return;
	k->last_used_at = now;
	lastuse_note(a->uses, k->principal.token_id);
}

int access_check(struct access *a, const struct credentials *brought,
		 const struct principal **ret, struct err *err)
{
	struct brought b = {0};
	struct kept *k;
	int rc = take_apart(a, brought, &b, err);

	forget(a);
	if (rc == 0)
		rc = look_up(a, &b, &k, err);
	if (rc)
		return rc;
	if (k->expires_at && k->expires_at <= clock_wall(a->conf.clock))
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token has expired");
	note_use(a, k);
	*ret = &k->principal;
	if (brought->act_as && act_as(a, brought->act_as, &k, err) < 0)
		return -1;
	*ret = &k->principal;
	return 0;
}

const struct principal *access_copy(const struct principal *p,
				    struct arena *arena)
{
	struct principal *copy = arena_alloc(arena, sizeof(*copy));
	const char **ids = arena_alloc(arena, p->n_ids * sizeof(*ids));

	*copy = *p;
	copy->id = arena_strdup(arena, p->id);
	for (size_t i = 0; i < p->n_ids; i++)
		ids[i] = arena_strdup(arena, p->ids[i]);
	copy->ids = ids;
	copy->name = arena_strdup(arena, p->name);
	if (p->as)
		copy->as = access_copy(p->as, arena);
	if (p->token_id)
		copy->token_id = arena_strdup(arena, p->token_id);
	copy->grants = arena_alloc(arena, p->n * sizeof(*p->grants));
	for (size_t i = 0; i < p->n; i++) {
		struct grant *g = &copy->grants[i];

		*g = p->grants[i];
		if (g->organization)
			g->organization = arena_strdup(arena, g->organization);
		if (g->project)
			g->project = arena_strdup(arena, g->project);
	}
	if (p->scope.organization)
		copy->scope.organization =
			arena_strdup(arena, p->scope.organization);
	if (p->scope.project)
		copy->scope.project = arena_strdup(arena, p->scope.project);
	return copy;
}

static bool same(const char *a, const char *b)
{
	return b && strcmp(a, b) == 0;
}

/* Something of O's lies within WHERE. */
static bool lies_in(struct owner where, struct owner o)
{
	if (where.project)
		return same(where.project, o.project);
	return !where.organization || same(where.organization, o.organization);
}

/* What is given in just that place, or NULL. */
static const struct grant *find_grant(const struct principal *p,
				      const char *organization,
				      const char *project)
{
	struct grant key = {.organization = organization, .project = project};

	return p->n ? bsearch(&key, p->grants, p->n, sizeof(key),
			      compare_grants)
		    : NULL;
}

/* The grants that reach what is O's, the widest first: of the platform, of its
 * organization, of its project.  Asked for one by one, since the first is often
 * enough. */
enum { REACH_LEVELS = 3 };

static const struct grant *reach(const struct principal *p, struct owner o,
				 int level)
{
	if (level == 0)
		return find_grant(p, NULL, NULL);
	if (!o.organization || (level == 2 && !o.project))
		return NULL;
	return find_grant(p, o.organization, level == 2 ? o.project : NULL);
}

bool access_is(const struct principal *p, const char *id)
{
	for (size_t i = 0; i < p->n_ids; i++)
		if (strcmp(p->ids[i], id) == 0)
			return true;
	return false;
}

bool access_may(const struct principal *p, int noun, enum verb verb,
		struct owner o)
{
	if (p->as && !access_may(p->as, noun, verb, o))
		return false;
	if (!lies_in(p->scope, o))
		return false;
	for (int level = 0; level < REACH_LEVELS; level++) {
		const struct grant *g = reach(p, o, level);

		if (g && rights_have(&g->rights, noun, verb))
			return true;
	}
	return false;
}

bool access_may_anywhere(const struct principal *p, int noun, enum verb verb)
{
	if (p->as && !access_may_anywhere(p->as, noun, verb))
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (rights_have(&p->grants[i].rights, noun, verb))
			return true;
	return false;
}

bool access_in(const struct principal *p, struct owner o)
{
	if (p->as && !access_in(p->as, o))
		return false;
	if ((p->scope.organization &&
	     !same(p->scope.organization, o.organization)) ||
	    (p->scope.project && o.project &&
	     !same(p->scope.project, o.project)))
		return false;
	for (size_t i = 0; i < p->n; i++) {
		const struct grant *g = &p->grants[i];

		if (!g->organization ||
		    (same(g->organization, o.organization) &&
		     (!g->project || !o.project ||
		      same(g->project, o.project))))
			return true;
	}
	return false;
}

bool access_holds(const struct principal *p, const struct rights *r,
		  struct owner o)
{
	struct rights all = {0};

	if (p->as && !access_holds(p->as, r, o))
		return false;
	if (!lies_in(p->scope, o))
		return false;
	for (int level = 0; level < REACH_LEVELS; level++) {
		const struct grant *g = reach(p, o, level);

		if (g)
			rights_join(&all, &g->rights);
	}
	return rights_cover(&all, r);
}

const char *access_only_organization(const struct principal *p)
{
	const char *only = p->scope.organization;

	for (size_t i = 0; !only && i < p->n; i++) {
		only = p->grants[i].organization;
		if (!only)
			return NULL;
	}
	for (size_t i = 0; i < p->n; i++)
		if (!p->scope.organization &&
		    !same(only, p->grants[i].organization))
			return NULL;
	return only;
}

#include "api/identities.h"

#include <string.h>

#include "api/permit.h"
#include "api/routes.h"
#include "model/group.h"
#include "model/role.h"
#include "model/serviceaccount.h"
#include "model/token.h"
#include "model/user.h"
#include "store/tx.h"

static void gather(struct rights *to, const struct items *words)
{
	const char *const *w = words->at;

	for (size_t i = 0; i < words->n; i++)
		(void)rights_add(to, w[i]);
}

static int cannot_grant(const char *what, struct err *err)
{
	return err_set(err, ERR_FORBIDDEN,
		       "%s gives permissions that you do not have yourself",
		       what);
}

/* Nobody gives what they do not hold: not to a group as it will be. */
static int check_role(struct call *c, const struct group *g,
		      const struct role *role, struct err *err)
{
	const char *const *projects = g->project_ids.at;
	struct rights r = {0};

	if (!g->organization_id) {
		gather(&r, &role->platform);
		return access_holds(c->who, &r, (struct owner){0})
			       ? 0
			       : cannot_grant("the role", err);
	}
	gather(&r, &role->organization);
	if (!access_holds(c->who, &r, (struct owner){g->organization_id, NULL}))
		return cannot_grant("the role", err);
	r = (struct rights){0};
	gather(&r, &role->project);
	for (size_t i = 0; i < g->project_ids.n; i++)
		if (!access_holds(
			    c->who, &r,
			    (struct owner){g->organization_id, projects[i]}))
			return cannot_grant("the role", err);
	return 0;
}

static bool has_role(const struct group *g, const char *id)
{
	const char *const *ids = g ? g->role_ids.at : NULL;

	for (size_t i = 0; g && i < g->role_ids.n; i++)
		if (strcmp(ids[i], id) == 0)
			return true;
	return false;
}

static int check_group(struct call *c, struct tx *tx, const struct group *old,
		       const struct group *g, struct err *err)
{
	const char *const *ids = g->role_ids.at;

	if (!g->organization_id && g->project_ids.n)
		return err_at(err, ERR_INVALID, "/projectIds",
			      "a group of the platform has no projects");
	for (size_t i = 0; i < g->role_ids.n; i++) {
		const struct role *role = tx_get(tx, &role_kind, ids[i]);

		/* A new one that the caller does not see is not there: the
		 * reference is checked when it is written. */
		if (role &&
		    (has_role(old, ids[i]) ||
		     permit_sees(c, &role_kind, role)) &&
		    check_role(c, g, role, err) < 0)
			return -1;
	}
	return 0;
}

int group_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	return check_group(c, tx, NULL, object, err);
}

int group_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err)
{
	return check_group(c, tx, old, object, err);
}

static int check_words(struct call *c, const struct items *words,
		       struct owner where, const char *pointer, struct err *err)
{
	const char *const *w = words->at;
	struct rights r = {0};

	for (size_t i = 0; i < words->n; i++)
		if (!rights_add(&r, w[i]))
			return err_at(err, ERR_INVALID, pointer,
				      "there is no permission %s", w[i]);
	if (!access_holds(c->who, &r, where))
		return cannot_grant("the role", err);
	return 0;
}

static int check_permissions(struct call *c, const struct role *role,
			     struct err *err)
{
	struct owner where = {role->organization_id, NULL};

	if (!role->organization_id)
		return err_at(err, ERR_INVALID, "/organizationId",
			      "is required: roles of the platform are built "
			      "in");
	if (role->platform.n)
		return err_at(err, ERR_INVALID, "/platform",
			      "a role of an organization permits nothing at "
			      "the platform");
	if (check_words(c, &role->organization, where, "/organization", err) <
	    0)
		return -1;
	return check_words(c, &role->project, where, "/project", err);
}

int role_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	(void)tx;
	return check_permissions(c, object, err);
}

static int check_not_built_in(const struct role *role, struct err *err)
{
	if (!role->built_in)
		return 0;
	return err_set(err, ERR_CONFLICT, "the role %s is built in, and fixed",
		       role->meta.name);
}

int role_update(struct call *c, struct tx *tx, const void *old, void *object,
		struct err *err)
{
	(void)tx;
	if (check_not_built_in(old, err) < 0)
		return -1;
	return check_permissions(c, object, err);
}

int role_remove(struct call *c, struct tx *tx, const void *old, struct err *err)
{
	(void)c;
	(void)tx;
	return check_not_built_in(old, err);
}

/* P is the user or service account ID, or holds all that WHAT, its rights,
 * are; and so is whom it acts for. */
static bool may_be(const struct principal *p, const char *id,
		   const struct principal *what)
{
	if (p->as && !may_be(p->as, id, what))
		return false;
	if (access_is(p, id))
		return true;
	for (size_t i = 0; i < what->n; i++) {
		const struct grant *g = &what->grants[i];

		if (!access_holds(p, &g->rights,
				  (struct owner){g->organization, g->project}))
			return false;
	}
	return true;
}

/* Who can speak for another may do what the other may: it must be the other, or
 * hold all of that. */
static int check_may_be(struct call *c, const char *id, const char *what,
			struct err *err)
{
	struct principal other = {0};
	struct arena arena;
	bool may;

	arena_init(&arena, (size_t)1 << 30);
	access_grants(c->api->conf.store, id, &arena, &other);
	may = may_be(c->who, id, &other);
	arena_release(&arena);
	return may ? 0 : cannot_grant(what, err);
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* All organizations share their names: that one is taken would tell of the
 * others. */
int organization_update(struct call *c, struct tx *tx, const void *old,
			void *object, struct err *err)
{
	const struct meta *was = old, *is = object;

	(void)tx;
	if (same(was->name, is->name) ||
	    access_may(c->who, permission_noun("organizations"), VERB_CREATE,
		       (struct owner){0}))
		return 0;
	return err_at(err, ERR_FORBIDDEN, "/name",
		      "the names of organizations are the platform's to "
		      "change");
}

/* Who a person is decides who may do what the user may. */
int user_update(struct call *c, struct tx *tx, const void *old, void *object,
		struct err *err)
{
	const struct user *was = old, *is = object;

	(void)tx;
	if (same(was->email, is->email) && same(was->issuer, is->issuer) &&
	    same(was->subject, is->subject) &&
	    (was->state == is->state || is->state != USER_ACTIVE))
		return 0;
	return check_may_be(c, was->meta.id, "the user", err);
}

static void new_secret(struct call *c, struct token *t)
{
	char *secret = arena_alloc(c->x->arena, TOKEN_LEN + 1);
	char *digest = arena_alloc(c->x->arena, 65);

	token_make(c->api->conf.random, secret);
	token_digest(secret, TOKEN_LEN, digest);
	t->digest = digest;
	c->secret = secret;
}

int token_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct token *t = object;
	const struct kind *k = t->user_id ? &user_kind : &serviceaccount_kind;
	const char *owner = t->user_id ? t->user_id : t->service_account_id;
	const void *target;

	if (!t->user_id == !t->service_account_id)
		return err_at(err, ERR_INVALID, "/serviceAccountId",
			      "name one owner: a userId or a "
			      "serviceAccountId");
	target = tx_get(tx, k, owner);
	if (!permit_sees(c, k, target))
		return err_at(err, ERR_INVALID,
			      t->user_id ? "/userId" : "/serviceAccountId",
			      "there is no %s %s", k->name, owner);
	if (!t->organization_id)
		t->organization_id = kind_owner(k, target).organization;
	if (permit_create(c, object, err) < 0)
		return -1;
	if (t->expires_at && t->expires_at <= tx_time(tx))
		return err_at(err, ERR_INVALID, "/expiresAt",
			      "must be a time to come");
	if (check_may_be(c, owner, "the token's owner", err) < 0)
		return -1;
	new_secret(c, t);
	return 0;
}

static int rotate(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct token *old = tx_get(tx, &token_kind, c->id);
	struct token *t = arena_alloc(c->x->arena, sizeof(*t));

	if (permit(c, VERB_ROTATE, old, err) < 0)
		return -1;
	*t = *old;
	if (check_may_be(c, t->user_id ? t->user_id : t->service_account_id,
			 "the token's owner", err) < 0)
		return -1;
	new_secret(c, t);
	t->meta.updated_at = tx_time(tx);
	t->meta.updated_by = c->who->name;
	call_audit(c, tx, "rotate", c->id);
	tx_event(tx, &token_kind, c->id, "rotated", "by %s", c->who->name);
	return tx_put(tx, &token_kind, t, err);
}

void handle_rotate(struct call *c)
{
	call_change(c, rotate);
}

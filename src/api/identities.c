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

static int check_group(struct call *c, struct tx *tx, const struct group *g,
		       struct err *err)
{
	const char *const *ids = g->role_ids.at;

	if (!g->organization_id && g->project_ids.n)
		return err_at(err, ERR_INVALID, "/projectIds",
			      "a group of the platform has no projects");
	for (size_t i = 0; i < g->role_ids.n; i++) {
		const struct role *role = tx_get(tx, &role_kind, ids[i]);

		/* The reference itself is checked when it is written. */
		if (role && permit_sees(c, &role_kind, role) &&
		    check_role(c, g, role, err) < 0)
			return -1;
	}
	return 0;
}

int group_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	return check_group(c, tx, object, err);
}

int group_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err)
{
	(void)old;
	return check_group(c, tx, object, err);
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

/* Whoever has a token may do what its owner may: its maker must be the owner,
 * or hold all of that. */
static int check_may_be(struct call *c, const char *owner, struct err *err)
{
	struct principal p = {0};

	if (access_is(c->who, owner))
		return 0;
	access_grants(c->api->conf.store, owner, c->x->arena, &p);
	for (size_t i = 0; i < p.n; i++) {
		const struct grant *g = &p.grants[i];

		if (!access_holds(c->who, &g->rights,
				  (struct owner){g->organization, g->project}))
			return cannot_grant("the token's owner", err);
	}
	return 0;
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
	if (check_may_be(c, owner, err) < 0)
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
			 err) < 0)
		return -1;
	new_secret(c, t);
	t->meta.updated_at = tx_time(tx);
	t->meta.updated_by = c->who->name;
	call_audit(c, tx, "rotate", c->id);
	return tx_put(tx, &token_kind, t, err);
}

void handle_rotate(struct call *c)
{
	call_change(c, rotate);
}

#include "api/permit.h"

#include "api/routes.h"
#include "model/event.h"
#include "model/organization.h"
#include "model/project.h"

static bool may(const struct call *c, const struct kind *k, enum verb verb,
		struct owner o)
{
	return access_may(c->who, (int)kind_index(k), verb, o);
}

bool permit_sees(const struct call *c, const struct kind *k, const void *object)
{
	struct owner o;

	if (!object)
		return false;
	o = kind_owner(k, object);
	/* An event is seen by whoever sees what it happened to. */
	if (k == &event_kind)
		k = kind_find(((const struct happening *)object)->object_kind);
	if (!k)
		return false;
	if (k->open && !o.organization && !o.project)
		return access_may_anywhere(c->who, (int)kind_index(k),
					   VERB_READ);
	return may(c, k, VERB_READ, o);
}

bool permit_view(void *ctx, const struct kind *k, const void *object)
{
	return permit_sees(ctx, k, object);
}

static int forbid(const struct kind *k, enum verb verb, struct err *err)
{
	return err_set(err, ERR_FORBIDDEN,
		       "this needs the permission %s:%s, which you do not have "
		       "here",
		       k->plural, verb_name(verb));
}

int permit(struct call *c, enum verb verb, const void *object, struct err *err)
{
	const struct kind *k = c->noun->kind;

	if (!permit_sees(c, k, object))
		return err_set(err, ERR_NOT_FOUND, "there is no %s %s", k->name,
			       c->id);
	if (verb == VERB_READ || may(c, k, verb, kind_owner(k, object)))
		return 0;
	return forbid(c->noun->kind, verb, err);
}

int permit_create(struct call *c, const void *object, struct err *err)
{
	const struct kind *k = c->noun->kind;
	struct owner o = kind_owner(k, object);

	if (may(c, k, VERB_CREATE, o))
		return 0;
	/* Whether the owner is there must not be told by the refusal. */
	if (k != &organization_kind && o.organization &&
	    !may(c, &organization_kind, VERB_READ,
		 (struct owner){o.organization, NULL}))
		return err_at(err, ERR_INVALID, "/organizationId",
			      "there is no organization %s", o.organization);
	if (k != &project_kind && o.project &&
	    !may(c, &project_kind, VERB_READ, o))
		return err_at(err, ERR_INVALID, "/projectId",
			      "there is no project %s", o.project);
	return forbid(k, VERB_CREATE, err);
}

int permit_anywhere(struct call *c, enum verb verb, struct err *err)
{
	if (c->noun->kind == &event_kind)
		return 0;
	if (access_may_anywhere(c->who, (int)kind_index(c->noun->kind), verb))
		return 0;
	return forbid(c->noun->kind, verb, err);
}

int permit_noun(struct call *c, const struct kind *k, enum verb verb,
		struct owner o, struct err *err)
{
	return may(c, k, verb, o) ? 0 : forbid(k, verb, err);
}

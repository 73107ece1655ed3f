#include "api/permit.h"

#include "api/routes.h"
#include "model/event.h"
#include "model/flavor.h"
#include "model/image.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"

static bool may(const struct call *c, const struct kind *k, enum verb verb,
		struct owner o)
{
	return access_may(c->who, (int)kind_index(k), verb, o);
}

static bool reaches(const struct call *c, const struct region *r)
{
	const char *const *ids = r->spec.organization_ids.at;

	for (size_t i = 0; i < r->spec.organization_ids.n; i++)
		if (access_in(c->who, (struct owner){ids[i], NULL}))
			return true;
	return !r->spec.organization_ids.n;
}

/* What a region offers is seen by whom the region is for. */
static bool reaches_id(const struct call *c, const char *region)
{
	struct record r;

	return store_get(c->api->conf.store, 0, &region_kind, region, &r) &&
	       reaches(c, r.object);
}

/* The caller may read OBJECT, which is open and has no owner. */
static bool sees_open(const struct call *c, const struct kind *k,
		      const void *object)
{
	if (!access_may_anywhere(c->who, (int)kind_index(k), VERB_READ))
		return false;
	if (k == &region_kind)
		return reaches(c, object);
	if (k == &flavor_kind)
		return reaches_id(c,
				  ((const struct flavor *)object)->region_id);
	if (k == &image_kind)
		return reaches_id(c, ((const struct image *)object)->region_id);
	return true;
}

/* An event is seen by whoever sees what it happened to, while that is there;
 * then by whoever may read what was its owner's. */
static bool sees_event(const struct call *c, const struct happening *h,
		       struct owner o)
{
	const struct kind *k = kind_find(h->object_kind);
	struct record r;

	if (!k)
		return false;
	if (!k->open || o.organization || o.project)
		return may(c, k, VERB_READ, o);
	return store_get(c->api->conf.store, 0, k, h->object_id, &r)
		       ? sees_open(c, k, r.object)
		       : may(c, k, VERB_READ, o);
}

bool permit_sees(const struct call *c, const struct kind *k, const void *object)
{
	struct owner o;

	if (!object)
		return false;
	o = kind_owner(k, object);
	if (k == &event_kind)
		return sees_event(c, object, o);
	if (k->open && !o.organization && !o.project)
		return sees_open(c, k, object);
	return may(c, k, VERB_READ, o);
}

/* Whom else a region is for, how it is reached and what its provider says are
 * not for those who use it. */
static void redact(const struct call *c, struct region *r, const char **ids)
{
	const char *const *all = r->spec.organization_ids.at;
	size_t n = 0;

	for (size_t i = 0; i < r->spec.organization_ids.n; i++)
		if (access_in(c->who, (struct owner){all[i], NULL}))
			ids[n++] = all[i];
	r->spec.organization_ids = (struct items){ids, n};
	r->spec.options = NULL;
	r->status.reason.provider_code = NULL;
	r->status.reason.provider_message = NULL;
}

void permit_show(const struct call *c, struct record *r, struct buf *room)
{
	const char *ids[FIELD_LIST_MOST];
	struct region shown;

	if (c->noun->kind != &region_kind ||
	    may(c, &region_kind, VERB_READ, (struct owner){0}))
		return;
	shown = *(const struct region *)r->object;
	redact(c, &shown, ids);
	buf_clear(room);
	field_encode(region_kind.fields, &shown, FIELD_PUBLIC, room);
	r->json = room->data;
	r->len = room->len;
}

bool permit_view(void *ctx, const struct kind *k, const void *object)
{
	const struct call *c = ctx;

	if (permit_sees(c, k, object))
		return true;
	if (!object)
		return false;
	if (k == &region_kind)
		return reaches(c, object);
	return (k == &organization_kind || k == &project_kind) &&
	       access_in(c->who, kind_owner(k, object));
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

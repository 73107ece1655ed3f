#include "reconcile/machine_view.h"

#include <string.h>

#include "model/image.h"
#include "model/network.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/usage.h"
#include "model/volume.h"
#include "provider/front.h"

struct gathering {
	const struct machine_look *look;
	struct machine_view *v;
	struct machine_waits *waits;
	struct arena *arena;
};

static const void *get(const struct gathering *g, const struct kind *k,
		       const char *id)
{
	return id ? g->look->get(g->look->ctx, k, id) : NULL;
}

static void wait_for(struct gathering *g, const struct kind *k, const char *id)
{
	struct machine_waits *w = g->waits;

	if (!w || !id || w->n == COUNT_OF(w->list))
		return;
	w->list[w->n].kind = k;
	w->list[w->n++].id = id;
}

static const char *waits_text(struct gathering *g, const struct kind *k,
			      const char *name, const struct backed *b)
{
	const char *why = b && b->reason.message ? b->reason.message : NULL;

	return arena_printf(g->arena, "waits for %s %s%s%.200s", k->name, name,
			    why ? ": " : "", why ? why : "");
}

/* Of what has to be ready, with B as its status, when it is not. */
static bool need(struct gathering *g, const struct kind *k, const char *id,
		 const void *object, const struct backed *b)
{
	const struct meta *m = object;

	if (b && b->state == BACKED_READY)
		return true;
	wait_for(g, k, id);
	if (!g->v->missing)
		g->v->missing = waits_text(g, k, m ? m->name : id, b);
	return false;
}

static void gather_needs(struct gathering *g)
{
	const struct instance *i = g->v->i;
	const char *const *groups = i->spec.security_group_ids.at;
	const struct network *net = get(g, &network_kind, i->network_id);
	const struct image *image = get(g, &image_kind, i->spec.image_id);

	need(g, &network_kind, i->network_id, net,
	     net ? &net->status.backed : NULL);
	need(g, &image_kind, i->spec.image_id, image,
	     image ? &image->status.backed : NULL);
	for (size_t n = 0; n < i->spec.security_group_ids.n; n++) {
		const struct securitygroup *s =
			get(g, &securitygroup_kind, groups[n]);

		need(g, &securitygroup_kind, groups[n], s,
		     s ? &s->status : NULL);
	}
}

/* Nobody else has it, and the provider does. */
static bool is_free(const struct volume *v, const struct instance *i)
{
	return v && !v->meta.deleted_at && v->status.backed.provider &&
	       v->status.backed.state == BACKED_READY &&
	       (!v->status.instance_id ||
		strcmp(v->status.instance_id, i->meta.id) == 0);
}

static void gather_volumes(struct gathering *g)
{
	const struct instance *i = g->v->i;
	const struct instance_volume *want = i->spec.volumes.at;

	for (size_t n = 0; n < i->spec.volumes.n && n < 32; n++) {
		const struct volume *v =
			get(g, &volume_kind, want[n].volume_id);

		if (is_free(v, i)) {
			g->v->volumes_ready |= 1u << n;
			continue;
		}
		wait_for(g, &volume_kind, want[n].volume_id);
		g->v->volume_waits = waits_text(
			g, &volume_kind, v ? v->meta.name : want[n].volume_id,
			v ? &v->status.backed : NULL);
	}
}

static int64_t charged(const struct allocation *a, const char *kind)
{
	const struct quota_amount *list = a->amounts.at;

	for (size_t i = 0; i < a->amounts.n; i++)
		if (strcmp(list[i].kind, kind) == 0)
			return list[i].committed;
	return 0;
}

/* What it may come to be was charged for: when it has run, the alternatives to
 * what it was are given back. */
static bool is_charged(struct gathering *g, const struct alternative *what,
		       const struct flavor *f)
{
	struct instance i = *g->v->i;
	struct quota_amount uses[USAGE_MOST];
	const struct allocation *a;
	char id[37];
	size_t n;

	allocation_id(i.organization_id, i.meta.id, id);
	a = get(g, &allocation_kind, id);
	if (!a || !f)
		return true;
	i.spec.alternatives = (struct items){0};
	i.spec.flavor_id = what->flavor_id;
	i.spec.market = what->market;
	n = usage_of(&i, &f, 1, uses);
	for (size_t k = 0; k < n; k++)
		if (uses[k].committed > charged(a, uses[k].kind))
			return false;
	return true;
}

static void gather_flavors(struct gathering *g)
{
	struct alternative what;

	for (size_t n = 0;
	     n < OFFERINGS_MOST && instance_offering(g->v->i, n, &what); n++) {
		g->v->flavors[n] = get(g, &flavor_kind, what.flavor_id);
		if (n && !is_charged(g, &what, g->v->flavors[n])) {
			g->v->flavors[n] = NULL;
			continue;
		}
		if (!g->v->flavors[n])
			wait_for(g, &flavor_kind, what.flavor_id);
	}
}

/* A call that somebody else made before we began is as late as we did, or was
 * even then on its way. */
static int64_t called_at(const struct server *s, const struct machine_known *k)
{
	int64_t before = k->started + (k->facts ? k->facts->call_ms : 0);
	int64_t at = s->attempt.called_at;

	if (s->meta.created_at <= k->started && at < before)
		at = before;
	if (k->number == s->number && k->attempt == s->attempt.number &&
	    at < k->called_at)
		at = k->called_at;
	return at && at < k->even ? k->even : at;
}

/* Where machines cannot be listed nobody would see what a call did that was on
 * its way when we began: each is looked at once, when there can be none. */
static int64_t look_at(const struct server *s, const struct machine_known *k)
{
	return k->facts && !k->facts->tags && s->meta.created_at <= k->started
		       ? k->started + k->facts->call_ms + 1
		       : 0;
}

void machine_view(const struct machine_look *look,
		  const struct machine_known *known, int64_t now,
		  struct arena *a, struct machine_view *ret,
		  struct machine_waits *waits)
{
	struct gathering g = {look, ret, waits, a};
	const struct region *r = get(&g, &region_kind, ret->i->region_id);

	ret->facts = known->facts;
	ret->can = known->can;
	ret->now = now;
	ret->behind = known->behind;
	ret->even = known->even;
	ret->called_at = ret->s ? called_at(ret->s, known) : 0;
	ret->look_at = ret->s ? look_at(ret->s, known) : 0;
	ret->region_paused = r && r->spec.paused;
	ret->region_touched = r ? r->meta.updated_at : 0;
	ret->missing = ret->volume_waits = NULL;
	ret->volumes_ready = 0;
	memset(ret->flavors, 0, sizeof(ret->flavors));
	if (ret->i->meta.deleted_at)
		return;
	gather_needs(&g);
	gather_volumes(&g);
	gather_flavors(&g);
}

unsigned machine_can(const struct provider *p)
{
	unsigned can = 0;

	for (unsigned c = 0; c < CAPABILITIES; c++)
		if (provider_can(p, (enum capability)c))
			can |= 1u << c;
	return can;
}

/* machine_side.c - what else is written with an instance: volumes, quota, and
 * the end of all of it. */
#include <string.h>

#include "model/deletion.h"
#include "model/quota.h"
#include "model/usage.h"
#include "model/volume.h"
#include "reconcile/machine_draft.h"

void draft_volume(struct draft *d, const char *id, const char *device)
{
	const struct volume *v = tx_get(d->tx, &volume_kind, id);
	struct volume new;

	if (!v)
		return;
	new = *v;
	new.status.instance_id = device ? d->i.meta.id : NULL;
	new.status.device = device &&device[0] ? device : NULL;
	draft_write(d, &volume_kind, &new);
}

void draft_release_volumes(struct draft *d)
{
	const struct server_volume *had = d->s.status.volumes.at;

	for (size_t n = 0; n < d->s.status.volumes.n; n++)
		draft_volume(d, had[n].volume_id, NULL);
	d->s.status.volumes = (struct items){0};
}

/* What it uses of HAD's kind as it is now, and no more than was charged. */
static int64_t amount(const struct quota_amount *uses, size_t n,
		      const struct quota_amount *had)
{
	int64_t now = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(uses[i].kind, had->kind) == 0)
			now = uses[i].committed;
	return now < had->committed ? now : had->committed;
}

/* The instance as if what it got were all that it had asked for. */
static size_t uses_now(const struct draft *d, const struct flavor *f,
		       struct quota_amount out[USAGE_MOST])
{
	struct instance i = d->i;

	i.spec.flavor_id = f->meta.id;
	i.spec.market = d->s.asked.market;
	i.spec.public_ip |= d->s.asked.public_ip;
	i.spec.alternatives = (struct items){0};
	return usage_of(&i, &f, 1, out);
}

static const char *allocation_of(struct draft *d)
{
	char id[37];

	allocation_id(d->i.organization_id, d->i.meta.id, id);
	return arena_strdup(d->arena, id);
}

/* What it has is what is wanted: it will not come to use more. */
static bool is_as_wanted(const struct draft *d)
{
	const struct change *c = &d->i.status.change;
	struct alternative what;

	if ((c->action == CHANGE_RESIZE || c->action == CHANGE_REPLACE) &&
	    c->step != CHANGE_STARTING)
		return false;
	for (size_t n = 0; instance_offering(&d->i, n, &what); n++)
		if (strcmp(what.flavor_id, d->s.asked.flavor_id) == 0)
			return true;
	return false;
}

void draft_narrow(struct draft *d)
{
	const struct allocation *old =
		tx_get(d->tx, &allocation_kind, allocation_of(d));
	const struct flavor *f =
		tx_get(d->tx, &flavor_kind, d->s.asked.flavor_id);
	const struct quota_amount *had;
	struct quota_amount *list, now[USAGE_MOST];
	struct allocation new;
	bool differs = false;
	size_t n_now;

	if (!old || !f || !is_as_wanted(d))
		return;
	n_now = uses_now(d, f, now);
	had = old->amounts.at;
	list = arena_alloc(d->arena, (old->amounts.n + 1) * sizeof(*list));
	for (size_t n = 0; n < old->amounts.n; n++) {
		list[n] = had[n];
		list[n].committed = amount(now, n_now, &had[n]);
		differs |= list[n].committed != had[n].committed;
	}
	if (!differs)
		return;
	new = *old;
	new.amounts.at = list;
	draft_write(d, &allocation_kind, &new);
}

/* Volumes that were to go with it begin to; others are nobody's now. */
static void finish_volumes(struct draft *d)
{
	const struct instance_volume *had = d->i.spec.volumes.at;

	draft_release_volumes(d);
	for (size_t n = 0; n < d->i.spec.volumes.n; n++) {
		const struct volume *v =
			tx_get(d->tx, &volume_kind, had[n].volume_id);
		struct volume new;

		if (!v || !had[n].delete_with_instance || v->meta.deleted_at)
			continue;
		new = *v;
		deletion_begin(&volume_kind, &new, d->now, "muster");
		draft_write(d, &volume_kind, &new);
	}
}

void draft_finish(struct draft *d)
{
	const char *allocation = allocation_of(d);

	finish_volumes(d);
	TELL(d, "terminated", "it is gone");
	if (d->has_server)
		draft_delete(d, &server_kind, d->s.meta.id);
	if (tx_get(d->tx, &allocation_kind, allocation))
		draft_delete(d, &allocation_kind, allocation);
	draft_delete(d, &instance_kind, d->i.meta.id);
	d->finished = true;
}

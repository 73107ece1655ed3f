/* instance_verbs - start, stop, reboot, rebuild and snapshot. */
#include <string.h>

#include "api/instance_check.h"
#include "api/instances.h"
#include "api/permit.h"
#include "api/regional.h"
#include "api/routes.h"
#include "api/verb.h"
#include "model/change.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/region.h"
#include "store/tx.h"

static int cannot(const struct region *r, const char *what, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "region \"%s\" cannot %s",
		       r->meta.name, what);
}

static const struct region *region_of(struct tx *tx, const struct instance *i)
{
	return tx_get(tx, &region_kind, i->region_id);
}

/* The next version of OLD. */
static struct instance *next_of(struct call *c, struct tx *tx,
				const struct instance *old)
{
	struct instance *new = arena_alloc(c->x->arena, sizeof(*new));

	*new = *old;
	new->meta.generation++;
	new->meta.updated_at = tx_time(tx);
	new->meta.updated_by = c->who->name;
	return new;
}

static int finish(struct call *c, struct tx *tx, struct instance *new,
		  const char *action, struct err *err)
{
	if (c->plan)
		return call_plan(c, action, new);
	if (tx_put(tx, &instance_kind, new, err) < 0)
		return -1;
	verb_done(c, tx);
	return 0;
}

/* Asking for what is so already is asking to try again, where something is in
 * the way. */
static int set_power(struct call *c, struct tx *tx, int power,
		     int settled_state, struct err *err)
{
	const struct instance *old;
	struct instance *new;
	struct instance_facts facts = {0};
	struct change_plan plan;
	struct change_case k = {0};

	if (verb_begin(c, tx, (const void **)&old, err) < 0)
		return -1;
	if (!old)
		return 0;
	facts.region = region_of(tx, old);
	if (!region_can(facts.region, "stop"))
		return cannot(facts.region, "stop and start machines", err);
	if (old->spec.power == power && old->status.state == settled_state)
		return c->plan ? call_plan(c, "none", old) : 0;
	new = next_of(c, tx, old);
	new->spec.power = power;
	k = (struct change_case){.old = old,
				 .new = new,
				 .flavor = instance_flavor(tx, old),
				 .region = facts.region};
	if (change_decide(&k, c->x->arena, &plan, err) < 0 ||
	    instance_change(c, tx, old, new, &plan, err) < 0)
		return -1;
	return finish(c, tx, new, "update", err);
}

static int start(struct tx *tx, void *ctx, struct err *err)
{
	return set_power(ctx, tx, POWER_ON, INSTANCE_RUNNING, err);
}

static int stop(struct tx *tx, void *ctx, struct err *err)
{
	return set_power(ctx, tx, POWER_OFF, INSTANCE_STOPPED, err);
}

void handle_start(struct call *c)
{
	verb_run(c, start);
}

void handle_stop(struct call *c)
{
	verb_run(c, stop);
}

struct reboot {
	bool hard;
};

const struct field reboot_fields[] = {
	{"hard", FIELD_BOOL, 0, offsetof(struct reboot, hard),
	 "Do not ask the guest first."},
	{0},
};

/* The verb says that it is meant. */
static int reboot(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct instance *old;
	struct instance *new;
	struct reboot asked = {0};
	struct change_plan plan;
	struct change_case k = {0};

	if (verb_begin(c, tx, (const void **)&old, err) < 0)
		return -1;
	if (!old)
		return 0;
	if (call_body(c, &asked, err) < 0)
		return -1;
	k = (struct change_case){.old = old,
				 .new = old,
				 .flavor = instance_flavor(tx, old),
				 .region = region_of(tx, old)};
	if (!region_can(k.region, "reboot"))
		return cannot(k.region, "reboot machines", err);
	if (!instance_was_launched(old) || old->spec.power == POWER_OFF ||
	    old->status.state == INSTANCE_STOPPED)
		return err_set(err, ERR_CONFLICT,
			       "the instance is not running: it is %s",
			       instance_state_names[old->status.state]);
	new = next_of(c, tx, old);
	new->meta.generation =
		old->meta.generation; /* nothing is wanted anew */
	change_verb(&k, asked.hard ? CHANGE_HARD_REBOOT : CHANGE_REBOOT,
		    c->x->arena, &plan);
	plan.need = CHANGE_NEEDS_NOTHING;
	if (instance_change(c, tx, old, new, &plan, err) < 0)
		return -1;
	return finish(c, tx, new, "reboot", err);
}

void handle_reboot(struct call *c)
{
	verb_run(c, reboot);
}

struct rebuild {
	const char *image_id;
};

const struct field rebuild_fields[] = {
	{"imageId", FIELD_STRING, 0, offsetof(struct rebuild, image_id),
	 "What it boots from then on; absent: the same again.", &format_uuid},
	{0},
};

static int rebuild(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct instance *old;
	struct instance *new;
	struct instance_facts facts;
	struct rebuild asked = {0};
	struct change_plan plan;
	struct change_case k = {0};

	if (verb_begin(c, tx, (const void **)&old, err) < 0)
		return -1;
	if (!old)
		return 0;
	if (call_body(c, &asked, err) < 0)
		return -1;
	new = next_of(c, tx, old);
	if (asked.image_id)
		new->spec.image_id = asked.image_id;
	if (instance_check(c, tx, old, new, &facts, err) < 0)
		return -1;
	k = (struct change_case){.old = old,
				 .new = new,
				 .flavor = instance_flavor(tx, old),
				 .region = facts.region};
	if (change_decide(&k, c->x->arena, &plan, err) < 0)
		return -1;
	if (!plan.action)
		change_verb(&k,
			    region_can(facts.region, "rebuild")
				    ? CHANGE_REBUILD
				    : CHANGE_REPLACE,
			    c->x->arena, &plan);
	if (instance_change(c, tx, old, new, &plan, err) < 0)
		return -1;
	return finish(c, tx, new, "rebuild", err);
}

void handle_rebuild(struct call *c)
{
	verb_run(c, rebuild);
}

struct snapshot {
	const char *name, *description;
};

const struct field snapshot_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, offsetof(struct snapshot, name),
	 "What the image is called.", &format_text, .min = 1, .max = 128},
	{"description", FIELD_STRING, 0, offsetof(struct snapshot, description),
	 "A line for people.", &format_text, .max = 512},
	{0},
};

static int check_snapshot(struct call *c, struct tx *tx,
			  const struct instance *i, struct err *err)
{
	struct owner o;
	const struct region *r;

	if (!permit_sees(c, &instance_kind, i))
		return err_set(err, ERR_NOT_FOUND, "there is no instance %s",
			       c->of);
	o = kind_owner(&instance_kind, i);
	if (permit_noun(c, &instance_kind, VERB_SNAPSHOT, o, err) < 0 ||
	    permit_noun(c, &image_kind, VERB_CREATE, o, err) < 0)
		return -1;
	r = region_of(tx, i);
	if (r && regional_can(r, "snapshot", "snapshots", err) < 0)
		return -1;
	if (i->meta.deleted_at)
		return err_set(err, ERR_CONFLICT,
			       "the instance is being deleted");
	if (!instance_was_launched(i) || !i->status.provider_id)
		return err_set(err, ERR_CONFLICT,
			       "there is nothing of the instance yet: it is %s",
			       instance_state_names[i->status.state]);
	return 0;
}

static int make_snapshot(struct call *c, struct tx *tx, void *object,
			 struct err *err)
{
	const struct instance *of = tx_get(tx, &instance_kind, c->of);
	const struct image *from;
	const struct flavor *f;
	struct snapshot asked = {0};
	struct image *i = object;

	if (check_snapshot(c, tx, of, err) < 0 || call_body(c, &asked, err) < 0)
		return -1;
	from = tx_get(tx, &image_kind, of->spec.image_id);
	f = instance_flavor(tx, of);
	if (from)
		i->spec = from->spec;
	i->spec.uri = i->spec.checksum = NULL;
	i->meta.name = asked.name;
	i->meta.description = asked.description;
	i->organization_id = of->organization_id;
	i->project_id = of->project_id;
	i->region_id = of->region_id;
	if (f) {
		i->spec.architecture = f->architecture;
		i->spec.min_disk_gib = instance_root_disk(of, f);
	}
	i->status.backed.state = BACKED_PENDING;
	i->status.source = IMAGE_SNAPSHOT;
	i->status.instance_id = of->meta.id;
	tx_event(tx, &instance_kind, of->meta.id, "snapshot",
		 "%s asked for an image \"%s\" of it", c->who->name,
		 asked.name);
	return 0;
}

void handle_snapshot(struct call *c)
{
	call_create(c, &image_kind, make_snapshot);
}

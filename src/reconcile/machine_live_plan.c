/* machine_live_plan.c - what is done to a machine while it runs, or is off. */
#include <string.h>

#include "reconcile/machine_plan_priv.h"

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(const struct items *a, const struct items *b)
{
	const char *const *x = a->at, *const *y = b->at;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same(x[i], y[i]))
			return false;
	return true;
}

static bool access_fits(const struct machine_view *v)
{
	const struct instance *i = v->i;
	const struct server *s = v->s;

	return !s->asked.access_begun &&
	       s->asked.public_ip == i->spec.public_ip &&
	       same_texts(&s->asked.security_group_ids,
			  &i->spec.security_group_ids) &&
	       same_texts(&s->asked.sources, &i->spec.sources);
}

/* What it has is among what may be had. */
static bool flavor_fits(const struct machine_view *v)
{
	struct alternative what;

	for (size_t n = 0; instance_offering(v->i, n, &what); n++)
		if (same(what.flavor_id, v->s->asked.flavor_id))
			return true;
	return false;
}

/* It was seen with another: somebody else's doing, or our own, before a crash
 * that kept it from being written down. */
static bool has_drifted(const struct machine_view *v)
{
	const struct flavor *f = v->flavors[0];
	const struct server *s = v->s;

	return f && s->status.native_flavor &&
	       same(s->asked.flavor_id, f->meta.id) &&
	       !same(s->status.native_flavor, f->provider_id);
}

static bool plan_power(const struct machine_view *v, struct machine_step *ret)
{
	bool on = v->i->spec.power != POWER_OFF;

	if (on == (v->s->status.state == INSTANCE_RUNNING))
		return false;
	if (!view_can(v, CAN_STOP))
		plan_park(ret, ERR_UNSUPPORTED, WAITS_CHANGE,
			  "the region cannot stop and start machines");
	else
		plan_do(ret, on ? MACHINE_START : MACHINE_STOP);
	return true;
}

static bool plan_settings(const struct machine_view *v,
			  struct machine_step *ret)
{
	const struct instance *i = v->i;
	const struct server *s = v->s;
	char digest[65];

	if (!access_fits(v) && view_can(v, CAN_ACCESS)) {
		if (v->missing)
			plan_await(v, ret, v->missing);
		else
			plan_do(ret, s->asked.access_begun
					     ? MACHINE_ACCESS
					     : MACHINE_BEGIN_ACCESS);
	} else if (i->spec.root_disk.size_gib > s->asked.root_disk_gib &&
		   view_can(v, CAN_GROW_ROOT_DISK)) {
		plan_do(ret, MACHINE_GROW);
	} else if ((!flavor_fits(v) || has_drifted(v)) &&
		   view_can(v, CAN_RESIZE_LIVE) && v->flavors[0]) {
		plan_do(ret, MACHINE_RESIZE);
	} else if (view_can(v, CAN_TAG) && s->asked.tags_begun) {
		plan_do(ret, MACHINE_TAG);
	} else if (view_can(v, CAN_TAG) &&
		   !same(s->asked.tags_digest,
			 machine_tags_digest(&i->meta.tags, digest))) {
		plan_do(ret, MACHINE_BEGIN_TAG);
	} else {
		return false;
	}
	return true;
}

static bool is_wanted(const struct instance *i, const char *volume)
{
	const struct instance_volume *want = i->spec.volumes.at;

	for (size_t n = 0; n < i->spec.volumes.n; n++)
		if (same(want[n].volume_id, volume))
			return true;
	return false;
}

/* What is known of a volume there: NULL when it was never to be attached. */
static const struct server_volume *attachment(const struct server *s,
					      const char *volume)
{
	const struct server_volume *have = s->status.volumes.at;

	for (size_t n = 0; n < s->status.volumes.n; n++)
		if (same(have[n].volume_id, volume))
			return &have[n];
	return NULL;
}

static bool plan_detach(const struct machine_view *v, struct machine_step *ret)
{
	const struct server_volume *have = v->s->status.volumes.at;

	for (size_t n = 0; n < v->s->status.volumes.n; n++) {
		if (is_wanted(v->i, have[n].volume_id))
			continue;
		plan_do(ret, MACHINE_DETACH);
		ret->volume = have[n].volume_id;
		return true;
	}
	return false;
}

/* That a volume is to be attached is written before the provider is told, so
 * that it is known where it may be, and that nobody else has it. */
static bool plan_attach(const struct machine_view *v, struct machine_step *ret)
{
	const struct instance_volume *want = v->i->spec.volumes.at;
	bool waits = false;

	for (size_t n = 0; n < v->i->spec.volumes.n; n++) {
		const struct server_volume *has =
			attachment(v->s, want[n].volume_id);

		if (has && has->device)
			continue;
		if (!(v->volumes_ready >> n & 1)) {
			waits = true;
			continue;
		}
		plan_do(ret, has ? MACHINE_ATTACH : MACHINE_CLAIM);
		ret->volume = want[n].volume_id;
		return true;
	}
	if (waits)
		plan_await(v, ret,
			   v->volume_waits ? v->volume_waits
					   : "waits for a volume");
	return waits;
}

/* What could not be done without a change, and there is none. */
static bool is_behind(const struct machine_view *v)
{
	return !same(v->s->asked.image_id, v->i->spec.image_id) ||
	       !flavor_fits(v) || !access_fits(v);
}

/* It runs, and its guest is looked at until it is up, or ought to be. */
static bool plan_guest(const struct machine_view *v, struct machine_step *ret)
{
	const struct readiness *r = &v->s->status.readiness;

	if (r->state != READINESS_WAITING)
		return false;
	if (v->now >= r->since + (int64_t)v->facts->launch_ms)
		plan_do(ret, MACHINE_GUEST_LATE);
	else
		plan_look(v, ret);
	return true;
}

/* At rest, once it has been looked at since we began. */
static void plan_still(const struct machine_view *v, struct machine_step *ret)
{
	if (plan_guest(v, ret))
		return;
	if (!view_unseen(v))
		plan_rest(ret, 0);
	else if (v->now < v->look_at)
		plan_rest(ret, v->look_at);
	else
		plan_do(ret, MACHINE_DESCRIBE);
}

static void plan_settle(const struct machine_view *v, struct machine_step *ret)
{
	const struct instance *i = v->i;
	bool settled = i->status.observed_generation == i->meta.generation &&
		       i->status.provisioning == PROVISIONING_PROVISIONED &&
		       !i->status.reason.code && !v->s->status.reason.code &&
		       !v->s->status.reason.failures;

	if (is_behind(v)) {
		plan_rest(ret, 0);
		return;
	}
	/* A crash must not find settled what was not seen. */
	if (settled || view_unseen(v))
		plan_still(v, ret);
	else
		plan_do(ret, MACHINE_SETTLE);
}

void plan_live(const struct machine_view *v, struct machine_step *ret)
{
	if (plan_power(v, ret) || plan_settings(v, ret) ||
	    plan_detach(v, ret) || plan_attach(v, ret))
		return;
	plan_settle(v, ret);
}

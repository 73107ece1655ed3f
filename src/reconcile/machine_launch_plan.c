/* machine_launch_plan.c - a machine that is to be: which, when, and again. */
#include "reconcile/machine_plan_priv.h"

/* The first offering that is not known to be sold out; otherwise false, with
 * when the first of them may be to be had again (0: never). */
static bool pick(const struct machine_view *v, size_t *ret, int64_t *ret_until)
{
	struct alternative what;

	*ret_until = 0;
	for (size_t n = 0; instance_offering(v->i, n, &what); n++) {
		const struct flavor *f = v->flavors[n];
		const struct shortage *s;

		if (!f)
			continue;
		s = flavor_shortage(f, what.zone, what.market, v->now);
		if (!s) {
			*ret = n;
			return true;
		}
		if (*ret_until == 0 || s->until < *ret_until)
			*ret_until = s->until;
	}
	return false;
}

static void plan_try(const struct machine_view *v, struct machine_step *ret)
{
	int64_t until, waits = v->s->status.reason.retry_at;
	size_t n;

	if (pick(v, &n, &until)) {
		plan_do(ret, MACHINE_TRY);
		ret->offering = n;
	} else if (until && waits > v->now) {
		plan_rest(ret, waits);
	} else if (until) {
		plan_park(ret, ERR_CAPACITY, WAITS_TIME,
			  "everything that would do is sold out");
		ret->until = until;
	} else {
		plan_await(v, ret, "waits for its flavor");
	}
}

/* What was asked for is not what is wanted any more. */
static void plan_obsolete(const struct machine_view *v,
			  struct machine_step *ret)
{
	int action = v->i->status.change.action;

	if (action == CHANGE_REBOOT || action == CHANGE_HARD_REBOOT) {
		plan_do(ret, MACHINE_DROP_CHANGE);
		ret->why = "there is no machine yet";
	} else if (v->called_at && !v->s->attempt.spent) {
		plan_do(ret, MACHINE_GIVE_UP);
		ret->code = ERR_CONFLICT;
		ret->why = "it is to be another machine";
	} else {
		plan_try(v, ret);
	}
}

/* Its offering was found to be sold out before it was asked for. */
static bool is_short(const struct machine_view *v)
{
	size_t n = (size_t)v->s->attempt.offering;

	return v->called_at == 0 && n < OFFERINGS_MOST && v->flavors[n] &&
	       flavor_shortage(v->flavors[n], v->s->asked.zone,
			       v->s->asked.market, v->now);
}

static bool has_new_change(const struct machine_view *v)
{
	const struct change *c = &v->i->status.change;

	return c->action && c->step != CHANGE_STARTING;
}

void plan_launch(const struct machine_view *v, struct machine_step *ret)
{
	const struct provider_facts *facts = v->facts;
	int64_t sure = v->called_at + facts->consistency_ms;

	if (has_new_change(v))
		plan_obsolete(v, ret);
	else if (plan_hold(v, ret))
		return;
	else if (v->s->attempt.spent || is_short(v))
		plan_try(v, ret);
	else if (v->missing)
		plan_await(v, ret, v->missing);
	else if (v->called_at && !facts->launch_tokens && v->now < sure)
		plan_rest(ret, sure);
	else
		plan_do(ret, MACHINE_LAUNCH);
}

/* It ran, and is gone without our doing. */
static void plan_lost(const struct machine_view *v, struct machine_step *ret)
{
	if (plan_was_parked(v))
		plan_rest(ret, 0);
	else
		plan_park(ret, ERR_NOT_FOUND, WAITS_CHANGE,
			  "the machine is no longer at the provider");
}

/* A change that destroys what there was goes on with another machine. */
static void plan_after_change(const struct machine_view *v,
			      struct machine_step *ret)
{
	switch (v->i->status.change.action) {
	case CHANGE_REBUILD:
	case CHANGE_REPLACE:
		if (!has_run(v))
			plan_try(v, ret);
		else if (v->flavors[0])
			plan_do(ret, MACHINE_NEXT);
		else
			plan_await(v, ret, "waits for its flavor");
		return;
	case CHANGE_RESIZE:
		if (!has_run(v)) {
			plan_try(v, ret);
			return;
		}
		break;
	default:
		break;
	}
	plan_do(ret, MACHINE_DROP_CHANGE);
	ret->why = "the machine is no longer at the provider";
}

void plan_after(const struct machine_view *v, struct machine_step *ret)
{
	bool changing = v->i->status.change.action && has_run(v);

	if (has_new_change(v) || changing) {
		plan_after_change(v, ret);
		return;
	}
	if (has_run(v)) {
		plan_lost(v, ret);
		return;
	}
	if (plan_hold(v, ret))
		return;
	if (v->s->attempt.refused >= MACHINE_REFUSED_MOST &&
	    !plan_was_parked(v))
		plan_park(ret, ERR_PROVIDER, WAITS_OPERATOR,
			  "no machine of it could be booted");
	else
		plan_try(v, ret);
}

/* machine_change_plan.c - what a change that was allowed does to a machine. */
#include <string.h>

#include "reconcile/machine_plan_priv.h"

static bool drop(struct machine_step *ret, const char *why)
{
	plan_do(ret, MACHINE_DROP_CHANGE);
	ret->why = why;
	return true;
}

static bool call(struct machine_step *ret, enum machine_do what)
{
	plan_do(ret, what);
	return true;
}

/* Nobody can tell what it does, and that has been so for long. */
static bool is_lost(const struct machine_view *v)
{
	int64_t since = v->s->meta.updated_at > v->even ? v->s->meta.updated_at
							: v->even;

	return v->s->status.state == INSTANCE_UNKNOWN &&
	       v->now >= since + (int64_t)v->facts->launch_ms;
}

/* It may be asked for something without being looked at first. */
static bool is_askable(const struct machine_view *v)
{
	const struct server *s = v->s;

	return s->status.state == INSTANCE_FAILED ||
	       (s->status.state == INSTANCE_UNKNOWN &&
		!s->status.reason.retry_at);
}

static bool drop_if_lost(const struct machine_view *v, struct machine_step *ret)
{
	if (!is_lost(v))
		return false;
	return drop(ret, "it is not known what the machine does");
}

static bool plan_reboot(const struct machine_view *v, struct machine_step *ret)
{
	const struct change *c = &v->i->status.change;
	int state = v->s->status.state;

	ret->hard = c->action == CHANGE_HARD_REBOOT;
	if (c->step == CHANGE_WAITING) {
		if (!view_can(v, CAN_REBOOT))
			return drop(ret, "the region cannot reboot machines");
		if (state == INSTANCE_RUNNING || (ret->hard && is_askable(v)))
			return call(ret, MACHINE_REBOOT);
	} else if (state == INSTANCE_RUNNING) {
		return call(ret, MACHINE_CHANGE_DONE);
	} else if (state == INSTANCE_PENDING && v->s->status.deadline &&
		   v->now >= v->s->status.deadline) {
		return drop(ret, "the machine did not come back in time");
	}
	if (state == INSTANCE_STOPPED || state == INSTANCE_FAILED)
		return drop(ret, "the machine does not run");
	return drop_if_lost(v, ret);
}

static bool plan_resize(const struct machine_view *v, struct machine_step *ret)
{
	const struct change *c = &v->i->status.change;
	int state = v->s->status.state;

	if (c->step == CHANGE_WAITING &&
	    strcmp(v->s->asked.flavor_id, v->i->spec.flavor_id) == 0)
		return call(ret, MACHINE_CHANGE_DONE);
	if (!view_can(v, CAN_RESIZE))
		return drop(ret, "the region cannot resize machines");
	if (!v->flavors[0]) {
		plan_await(v, ret, "waits for its flavor");
		return true;
	}
	if (state == INSTANCE_STOPPED ||
	    (state == INSTANCE_RUNNING && v->facts->resize_live))
		return call(ret, MACHINE_RESIZE);
	if (state == INSTANCE_RUNNING)
		return call(ret, MACHINE_STOP);
	if (state == INSTANCE_FAILED)
		return drop(ret, "the machine failed");
	return drop_if_lost(v, ret);
}

/* Something else is put in its place, once everything for that is there. */
static bool plan_anew(const struct machine_view *v, struct machine_step *ret)
{
	bool in_place = v->i->status.change.action == CHANGE_REBUILD;

	if (in_place && !view_can(v, CAN_REBUILD))
		return drop(ret, "the region cannot rebuild machines");
	if (v->missing)
		plan_await(v, ret, v->missing);
	else if (!in_place)
		plan_do(ret, MACHINE_GIVE_UP);
	else if (is_steady(v->s->status.state) || is_askable(v))
		plan_do(ret, MACHINE_REBUILD);
	else
		return false;
	return true;
}

static bool plan_starting(const struct machine_view *v,
			  struct machine_step *ret)
{
	switch (v->s->status.state) {
	case INSTANCE_RUNNING:
		return call(ret, MACHINE_CHANGE_DONE);
	case INSTANCE_STOPPED:
		if (v->i->spec.power != POWER_OFF)
			return false;
		return call(ret, MACHINE_CHANGE_DONE);
	case INSTANCE_FAILED:
		return drop(ret, "the machine failed");
	default:
		return drop_if_lost(v, ret);
	}
}

bool plan_change(const struct machine_view *v, struct machine_step *ret)
{
	const struct change *c = &v->i->status.change;

	if (c->step == CHANGE_STARTING)
		return plan_starting(v, ret);
	switch (c->action) {
	case CHANGE_REBOOT:
	case CHANGE_HARD_REBOOT:
		return plan_reboot(v, ret);
	case CHANGE_RESIZE:
		return plan_resize(v, ret);
	default:
		return plan_anew(v, ret);
	}
}

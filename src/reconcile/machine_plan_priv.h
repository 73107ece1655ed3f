/* machine_plan_priv - what the planner's files know of each other. */
#pragma once

#include "provider/front.h"
#include "reconcile/machine_plan.h"

/* Shared words. */
static inline bool view_can(const struct machine_view *v, enum capability c)
{
	return (v->can >> c & 1) != 0;
}

static inline bool is_steady(int state)
{
	return state == INSTANCE_RUNNING || state == INSTANCE_STOPPED;
}

/* It has been seen running: what is on it may be missed. */
static inline bool has_run(const struct machine_view *v)
{
	return v->i->status.launched_at != 0;
}

/* Nothing is done about it until somebody has done something. */
bool plan_parked(const struct machine_view *v);

/* It was parked, whatever happened since. */
bool plan_was_parked(const struct machine_view *v);

/* Rest while parked or backing off; false when there is no need to. */
bool plan_hold(const struct machine_view *v, struct machine_step *ret);

void plan_rest(struct machine_step *ret, int64_t until);
void plan_do(struct machine_step *ret, enum machine_do what);
void plan_park(struct machine_step *ret, enum err_code code, int waits_for,
	       const char *why);

/* Wait for what CODE and WHY say, unless that is what it says already. */
void plan_await(const struct machine_view *v, struct machine_step *ret,
		const char *why);

/* Look at the machine, or rest until it is worth it. */
void plan_look(const struct machine_view *v, struct machine_step *ret);

/* A machine that is intended; one that is gone while the instance is not. */
void plan_launch(const struct machine_view *v, struct machine_step *ret);
void plan_after(const struct machine_view *v, struct machine_step *ret);

/* What the change wants; false when it wants nothing for now. */
bool plan_change(const struct machine_view *v, struct machine_step *ret);

/* Power, settings, volumes; and that all is done. */
void plan_live(const struct machine_view *v, struct machine_step *ret);

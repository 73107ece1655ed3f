#include "reconcile/backed_plan.h"

static struct backed_step act(enum backed_act a)
{
	return (struct backed_step){.act = a};
}

static struct backed_step wait(int64_t until)
{
	return (struct backed_step){BACKED_WAIT, until};
}

static struct backed_step plan_deletion(const struct backed_view *v)
{
	const struct reason *r = &v->status.reason;

	if (v->used)
		return act(BACKED_AWAIT_USERS);
	if (!v->can || !v->reached)
		return act(BACKED_FORGET);
	/* What failed before it was to be deleted does not hold it up. */
	if (r->code && v->status.observed_at >= v->deleted_at &&
	    r->retry_at > v->now)
		return wait(r->retry_at);
	return act(BACKED_REMOVE);
}

/* What was tried last is what is wanted now. */
static bool is_told(const struct backed_view *v)
{
	return v->status.observed_generation == v->generation &&
	       v->region_changed_at <= v->status.observed_at;
}

static bool is_ready(const struct backed_view *v)
{
	return v->status.state == BACKED_READY && !v->status.reason.code &&
	       v->status.observed_generation == v->generation;
}

struct backed_step backed_plan(const struct backed_view *v)
{
	const struct reason *r = &v->status.reason;

	if (v->deleted_at)
		return plan_deletion(v);
	if (is_ready(v))
		return act(BACKED_REST);
	if (r->code && is_told(v)) {
		if (!r->retry_at)
			return act(BACKED_STAY_PARKED);
		if (r->retry_at > v->now)
			return wait(r->retry_at);
	}
	if (!v->reached)
		return act(BACKED_AWAIT_NEEDS);
	if (!v->can)
		return act(v->optional ? BACKED_ACCEPT : BACKED_REFUSE);
	if (v->lacks)
		return act(BACKED_AWAIT_NEEDS);
	if (v->status.deadline && v->now >= v->status.deadline)
		return act(BACKED_GIVE_UP);
	if (v->poll_at > v->now && is_told(v))
		return wait(v->poll_at);
	return act(BACKED_ENSURE);
}

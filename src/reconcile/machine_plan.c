/* machine_plan.c - which part of its life a machine is in, and how it ends. */
#include "reconcile/machine_plan.h"

#include <string.h>

#include "base/digest.h"
#include "reconcile/machine_plan_priv.h"

static const char *const words[MACHINE_DOS] = {
	[MACHINE_REST] = "rest",
	[MACHINE_LAUNCH] = "launch",
	[MACHINE_FIND] = "find",
	[MACHINE_DESCRIBE] = "describe",
	[MACHINE_TERMINATE] = "terminate",
	[MACHINE_STOP] = "stop",
	[MACHINE_START] = "start",
	[MACHINE_REBOOT] = "reboot",
	[MACHINE_RESIZE] = "resize",
	[MACHINE_REBUILD] = "rebuild",
	[MACHINE_GROW] = "grow",
	[MACHINE_TAG] = "tag",
	[MACHINE_ACCESS] = "access",
	[MACHINE_ATTACH] = "attach",
	[MACHINE_DETACH] = "detach",
	[MACHINE_BEGIN_ACCESS] = "begin access",
	[MACHINE_BEGIN_TAG] = "begin tag",
	[MACHINE_CLAIM] = "claim",
	[MACHINE_EXPIRE] = "expire",
	[MACHINE_TRY] = "try",
	[MACHINE_NEXT] = "next",
	[MACHINE_GIVE_UP] = "give up",
	[MACHINE_GONE] = "gone",
	[MACHINE_FINISH] = "finish",
	[MACHINE_PARK] = "park",
	[MACHINE_LATE] = "late",
	[MACHINE_GUEST_LATE] = "guest late",
	[MACHINE_CHANGE_DONE] = "change done",
	[MACHINE_DROP_CHANGE] = "drop change",
	[MACHINE_SETTLE] = "settle",
};

const char *machine_word(enum machine_do what)
{
	return words[what];
}

bool machine_calls(enum machine_do what)
{
	return what >= MACHINE_LAUNCH && what <= MACHINE_DETACH;
}

void plan_do(struct machine_step *ret, enum machine_do what)
{
	ret->what = what;
}

void plan_rest(struct machine_step *ret, int64_t until)
{
	ret->what = MACHINE_REST;
	ret->until = until;
}

void plan_park(struct machine_step *ret, enum err_code code, int waits_for,
	       const char *why)
{
	ret->what = MACHINE_PARK;
	ret->code = code;
	ret->waits_for = waits_for;
	ret->why = why;
}

bool plan_was_parked(const struct machine_view *v)
{
	const struct reason *r = &v->s->status.reason;

	return r->code && r->retry_at == 0 &&
	       (r->waits_for == WAITS_OPERATOR || r->waits_for == WAITS_CHANGE);
}

/* Parking writes both documents in one revision: an instance that is newer was
 * touched since.  Of a region only the time is known, and one that was touched
 * in the same millisecond is not taken for newer: with each look at the machines
 * that found the same it would be looked at again, at once. */
bool plan_parked(const struct machine_view *v)
{
	const struct server *s = v->s;

	if (!plan_was_parked(v) || v->i->meta.revision > s->meta.revision)
		return false;
	return s->status.reason.waits_for != WAITS_OPERATOR ||
	       v->region_touched <= s->meta.updated_at;
}

/* It waits for room, and its owner may have said since what would do, too. */
static bool may_be_had_now(const struct machine_view *v)
{
	const struct reason *r = &v->s->status.reason;

	return r->code && strcmp(r->code, err_name(ERR_CAPACITY)) == 0 &&
	       v->i->meta.revision > v->s->meta.revision;
}

bool plan_hold(const struct machine_view *v, struct machine_step *ret)
{
	const struct reason *r = &v->s->status.reason;

	if (plan_parked(v))
		plan_rest(ret, 0);
	else if (r->retry_at > v->now && !may_be_had_now(v))
		plan_rest(ret, r->retry_at);
	else
		return false;
	return true;
}

void plan_await(const struct machine_view *v, struct machine_step *ret,
		const char *why)
{
	const char *now = v->s->status.reason.message;

	if (now && strcmp(now, why) == 0)
		plan_rest(ret, 0);
	else
		plan_park(ret, ERR_UNAVAILABLE, 0, why);
}

static int64_t look_wait(const struct machine_view *v, int64_t age)
{
	if (age > MACHINE_POLL_MOST)
		return MACHINE_POLL_MOST;
	return age < v->facts->poll_ms ? v->facts->poll_ms : age;
}

/* Each look finds it twice as old as the one before. */
int64_t machine_look_again(const struct machine_view *v)
{
	return v->now + look_wait(v, v->now - v->s->meta.updated_at);
}

void plan_look(const struct machine_view *v, struct machine_step *ret)
{
	int64_t first = v->s->meta.updated_at + v->facts->poll_ms;

	if (v->now < first)
		plan_rest(ret, first);
	else
		plan_do(ret, MACHINE_DESCRIBE);
}

/* No launch of it has left anything behind. */
static bool was_never_launched(const struct machine_view *v)
{
	return !v->s->status.provider_id &&
	       (v->s->attempt.spent || v->called_at == 0);
}

/* It may be there, and its id is not known. */
static void plan_search(const struct machine_view *v, struct machine_step *ret)
{
	int64_t sure = v->called_at + v->facts->consistency_ms;

	if (v->now < sure)
		plan_rest(ret, sure);
	else
		plan_do(ret, MACHINE_FIND);
}

/* Volumes go first, unless that fails again and again: then they are let go with
 * the machine. */
static bool lets_go(const struct server *s)
{
	return s->status.phase != SERVER_LEAVING ||
	       s->status.reason.failures < MACHINE_DETACH_MOST;
}

/* Make the machine go, and see that it has gone. */
static void plan_leaving(const struct machine_view *v, struct machine_step *ret)
{
	const struct server *s = v->s;
	const struct server_volume *volumes = s->status.volumes.at;

	if (was_never_launched(v) || s->status.state == INSTANCE_TERMINATED) {
		plan_do(ret, MACHINE_GONE);
	} else if (!s->status.provider_id) {
		plan_search(v, ret);
	} else if (s->status.state == INSTANCE_TERMINATING) {
		if (s->status.deadline && v->now >= s->status.deadline)
			plan_do(ret, MACHINE_TERMINATE);
		else
			plan_look(v, ret);
	} else if (s->status.volumes.n && lets_go(s)) {
		plan_do(ret, MACHINE_DETACH);
		ret->volume = volumes[0].volume_id;
	} else {
		plan_do(ret, MACHINE_TERMINATE);
	}
}

/* Deletion never parks; what was in the way before it began is forgotten. */
static void plan_removal(const struct machine_view *v, struct machine_step *ret)
{
	const struct server *s = v->s;

	if (!s || s->status.phase == SERVER_GONE || was_never_launched(v))
		plan_do(ret, MACHINE_FINISH);
	else if (v->region_paused || !v->facts)
		plan_rest(ret, 0);
	else if (s->status.phase == SERVER_LEAVING &&
		 s->status.reason.retry_at > v->now)
		plan_rest(ret, s->status.reason.retry_at);
	else
		plan_leaving(v, ret);
}

static void give_up(struct machine_step *ret, enum err_code code,
		    const char *why)
{
	plan_do(ret, MACHINE_GIVE_UP);
	ret->code = code;
	ret->why = why;
	ret->refused = true;
}

/* It failed before anybody had anything from it. */
static bool plan_failed(const struct machine_view *v, struct machine_step *ret)
{
	const struct server *s = v->s;

	if (has_run(v) || s->status.state == INSTANCE_RUNNING)
		return false;
	if (s->status.state == INSTANCE_FAILED)
		give_up(ret, ERR_PROVIDER, "the machine failed to boot");
	else if (s->status.deadline && v->now >= s->status.deadline)
		give_up(ret, ERR_TIMEOUT, "the machine did not boot in time");
	else
		return false;
	return true;
}

/* On its way somewhere; it does not stay so for ever. */
static void plan_transient(const struct machine_view *v,
			   struct machine_step *ret)
{
	const struct server *s = v->s;
	bool stopping = s->status.state == INSTANCE_STOPPING;
	bool hard = s->status.reason.code &&
		    strcmp(s->status.reason.code, err_name(ERR_TIMEOUT)) == 0;

	if (!s->status.deadline || v->now < s->status.deadline) {
		plan_look(v, ret);
	} else if (stopping && !hard) {
		plan_do(ret, MACHINE_STOP);
		ret->hard = true;
	} else {
		plan_do(ret, MACHINE_LATE);
		ret->why = stopping ? "the machine did not stop in time"
				    : "the machine did not start in time";
	}
}

static void plan_launched(const struct machine_view *v,
			  struct machine_step *ret)
{
	const struct server *s = v->s;

	if (s->status.state == INSTANCE_TERMINATED) {
		plan_do(ret, MACHINE_GONE);
		return;
	}
	if (plan_failed(v, ret) || plan_hold(v, ret))
		return;
	if (v->i->status.change.action && plan_change(v, ret))
		return;
	switch (s->status.state) {
	case INSTANCE_PENDING:
	case INSTANCE_STOPPING:
		plan_transient(v, ret);
		break;
	case INSTANCE_TERMINATING: /* not our doing */
	case INSTANCE_UNKNOWN:
		plan_look(v, ret);
		break;
	case INSTANCE_FAILED: /* it ran: its owner decides */
		plan_rest(ret, 0);
		break;
	default:
		plan_live(v, ret);
	}
}

static void plan_alive(const struct machine_view *v, struct machine_step *ret)
{
	if (!v->s) {
		/* One that is named and not there is for an operator. */
		if (!v->i->status.server_id && v->flavors[0])
			plan_do(ret, MACHINE_NEXT);
		return;
	}
	if (v->region_paused || !v->facts) {
		plan_rest(ret, 0);
		return;
	}
	switch (v->s->status.phase) {
	case SERVER_INTENDED:
		plan_launch(v, ret);
		break;
	case SERVER_LAUNCHED:
		plan_launched(v, ret);
		break;
	case SERVER_LEAVING:
		if (!plan_hold(v, ret))
			plan_leaving(v, ret);
		break;
	default:
		plan_after(v, ret);
	}
}

void machine_plan(const struct machine_view *v, struct machine_step *ret)
{
	const struct instance *i = v->i;
	int64_t expires = i->spec.delete_protection ? 0 : i->spec.expires_at;

	/* By the clock, also where it was put back: nobody's time is over
	 * early. */
	expires += expires ? v->behind : 0;
	*ret = (struct machine_step){0};
	if (i->meta.deleted_at) {
		plan_removal(v, ret);
		return;
	}
	if (i->spec.paused)
		return;
	if (expires && v->now >= expires) {
		plan_do(ret, MACHINE_EXPIRE);
		return;
	}
	plan_alive(v, ret);
	if (ret->what == MACHINE_REST && expires &&
	    (ret->until == 0 || ret->until > expires))
		ret->until = expires;
}

const char *machine_tags_digest(const struct items *tags, char out[65])
{
	const struct field_tag *t = tags->at;
	unsigned char sum[DIGEST_SHA256_LEN];
	struct digest *d;

	if (!tags->n)
		return NULL;
	d = digest_new();
	for (size_t n = 0; n < tags->n; n++) {
		digest_add(d, t[n].key, strlen(t[n].key) + 1);
		digest_add(d, t[n].value, strlen(t[n].value) + 1);
	}
	digest_end(d, sum);
	digest_hex(sum, sizeof(sum), out);
	return out;
}

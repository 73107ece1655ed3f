#include "reconcile/monitor_plan.h"

#include <string.h>

int64_t monitor_pace(int64_t before, bool moving, uint32_t poll_ms,
		     int64_t most, int64_t took)
{
	int64_t least = poll_ms > MONITOR_FAST ? poll_ms : MONITOR_FAST;
	int64_t wait = before > 0 && !moving ? 2 * before : least;
	int64_t rare = 9 * took < most ? 9 * took : most;

	if (wait > most)
		wait = most;
	if (wait < least)
		wait = least;
	/* Looking is not all that we and the provider do: a tenth of the time,
	 * or half of it where even that is seldom. */
	if (wait < rare)
		wait = rare;
	return wait > took ? wait : took;
}

int64_t monitor_stale_at(int64_t last, int64_t most)
{
	return last + (3 * most > MONITOR_STALE ? 3 * most : MONITOR_STALE);
}

bool monitor_trips(size_t missing, size_t of, size_t accepted)
{
	size_t most = of / 10;

	if (most < MONITOR_MISSING_LEAST)
		most = MONITOR_MISSING_LEAST;
	return missing > most && missing > accepted;
}

bool monitor_judges(const struct instance *i, const struct server *s,
		    const struct provider_facts *f, int64_t began)
{
	int64_t since = s->meta.updated_at > s->status.answered_at
				? s->meta.updated_at
				: s->status.answered_at;

	if (!i || i->meta.deleted_at || i->status.change.action)
		return false;
	if (s->status.phase != SERVER_LAUNCHED || !s->status.provider_id ||
	    s->status.reason.retry_at)
		return false;
	switch (s->status.state) {
	case INSTANCE_RUNNING:
	case INSTANCE_STOPPED:
	case INSTANCE_FAILED:
	case INSTANCE_UNKNOWN:
		return began >= since + (int64_t)f->consistency_ms;
	default:
		return false;
	}
}

bool monitor_is_stray(const struct server *s, const char *machine)
{
	if (!s || s->status.phase == SERVER_GONE)
		return true;
	return s->status.provider_id &&
	       strcmp(s->status.provider_id, machine) != 0;
}

bool monitor_is_orphan(const struct provider_facts *f, int64_t since,
		       int64_t began)
{
	return began >=
	       since + (int64_t)f->launch_ms + (int64_t)f->consistency_ms;
}

bool monitor_removes(const struct region *r, const struct orphan *o,
		     const void *owner, int64_t now)
{
	return r->spec.orphan_policy == ORPHANS_REMOVE && !owner &&
	       now >= o->quarantined_until;
}

bool monitor_moves(const struct server *s)
{
	switch (s->status.phase) {
	case SERVER_LAUNCHED:
		return s->status.state == INSTANCE_PENDING ||
		       s->status.state == INSTANCE_STOPPING ||
		       s->status.state == INSTANCE_TERMINATING;
	case SERVER_LEAVING:
		return true;
	case SERVER_INTENDED:
		return s->attempt.called_at != 0;
	default:
		return false;
	}
}

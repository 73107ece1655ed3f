/* machine_ready.c - whether what runs is up: what the provider sees of the
 * guest, as it is written down. */
#include <string.h>

#include "reconcile/machine_draft.h"

/* What it is when the provider tells READY of a machine that is in STATE. */
static int next(const struct readiness *was, int state, int ready)
{
	if (state == INSTANCE_UNKNOWN)
		return was->state;
	if (state != INSTANCE_RUNNING || ready == READY_UNTOLD)
		return 0;
	if (ready == READY_NOW)
		return READINESS_READY;
	return was->state == READINESS_READY || was->state == READINESS_UNREADY
		       ? READINESS_UNREADY
		       : READINESS_WAITING;
}

static const char *words(const struct readiness *was, int state,
			 const struct machine *m)
{
	if (!next(was, state, m->ready))
		return NULL;
	return state == INSTANCE_UNKNOWN ? was->message : m->ready_why;
}

bool machine_ready_same(const struct readiness *was, int state,
			const struct machine *m)
{
	const char *why = words(was, state, m);

	return next(was, state, m->ready) == was->state &&
	       (why == was->message ||
		(why && was->message && strcmp(why, was->message) == 0));
}

void draft_ready(struct draft *d, const struct machine *m)
{
	struct readiness *r = &d->s.status.readiness;
	int state = d->s.status.state, is = next(r, state, m->ready);
	const char *why = words(r, state, m);

	if (is != r->state) {
		r->since = is ? d->now : 0;
		if (is == READINESS_READY)
			TELL(d, "ready", "its guest is up%s%s", why ? ": " : "",
			     why ? why : "");
		else if (is == READINESS_UNREADY)
			TELL(d, "unready", "its guest is not up any more%s%s",
			     why ? ": " : "", why ? why : "");
	}
	r->state = is;
	r->message = why;
}

void draft_late_guest(struct draft *d)
{
	struct readiness *r = &d->s.status.readiness;

	r->state = READINESS_UNREADY;
	r->since = d->now;
	TELL(d, "unready", "its guest did not come up in time%s%s",
	     r->message ? ": " : "", r->message ? r->message : "");
}

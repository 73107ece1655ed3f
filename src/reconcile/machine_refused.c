/*
 * machine_refused.c - a launch that did not come to a machine.
 *
 * Either it was refused clearly: then nothing is left of the try, and another
 * may be made elsewhere, later, or when somebody has changed something.  Or it
 * is not known what came of it: then it is asked for again, the same.
 */
#include "reconcile/machine_draft.h"
#include "reconcile/retry.h"

/* How long something that was sold out is not asked for, when the provider does
 * not say. */
#define SHORTAGE_MS (5 * 60 * 1000)

/* What an account may not have now, it may have when others have gone. */
#define QUOTA_MS      60000
#define QUOTA_MOST_MS (16 * 60000)

/* Shortages kept of one flavor. */
#define SHORTAGES_MOST 64

enum refusal {
	REFUSED_UNKNOWN, /* if it was */
	REFUSED_HERE,    /* there may be another offering */
	REFUSED_NOW,     /* time may help */
	REFUSED,
};

static enum refusal what_refusal(const struct err *e)
{
	switch (e->code) {
	case ERR_TIMEOUT:
	case ERR_UNAVAILABLE:
	case ERR_INTERNAL:
	case ERR_RATE:
		return REFUSED_UNKNOWN;
	case ERR_CAPACITY:
		return REFUSED_HERE;
	case ERR_QUOTA:
		return REFUSED_NOW;
	default:
		break;
	}
	if (e->retry == ERR_RETRY_ELSEWHERE)
		return REFUSED_HERE;
	return e->retry == ERR_RETRY_LATER ? REFUSED_UNKNOWN : REFUSED;
}

/* F with shortage S, which is not known of yet, among those that still hold. */
static void write_shortage(struct draft *d, const struct flavor *f,
			   const struct shortage *s)
{
	const struct shortage *had = f->shortages.at;
	struct flavor new = *f;
	struct shortage *list =
		arena_alloc(d->arena, SHORTAGES_MOST * sizeof(*list));
	size_t n = 0;

	list[n++] = *s;
	for (size_t i = 0; i < f->shortages.n && n < SHORTAGES_MOST; i++)
		if (had[i].until > d->now)
			list[n++] = had[i];
	new.shortages = (struct items){list, n};
	draft_write(d, &flavor_kind, &new);
}

/* Remember where it was not to be had; false when there is nowhere to. */
static bool remember(struct draft *d, const struct err *e)
{
	const struct flavor *f =
		tx_get(d->tx, &flavor_kind, d->s.asked.flavor_id);
	struct shortage s = {
		.zone = e->scope >= ERR_SCOPE_REGION ? NULL : d->s.asked.zone,
		.market = d->s.asked.market,
		.until = d->now +
			 (e->retry_after_ms ? e->retry_after_ms : SHORTAGE_MS),
		.message = arena_strdup(d->arena, e->msg),
	};

	if (!f)
		return false;
	/* Others found the same: they need not all write it down. */
	if (!flavor_shortage(f, s.zone, s.market, d->now))
		write_shortage(d, f, &s);
	return true;
}

void draft_offering_refused(struct draft *d, size_t n, const char *why)
{
	const struct flavor *f = n < OFFERINGS_MOST ? d->v.flavors[n] : NULL;
	struct alternative what = {0};
	const char *reason = "offeringRefused";

	instance_offering(&d->i, n, &what);
	if (n)
		reason = arena_printf(d->arena, "offeringRefused%zu", n);
	TELL(d, reason, "%s%s%s, %s: %s",
	     f ? f->meta.name : "a flavor that is not there",
	     what.zone ? " in " : "", what.zone ? what.zone : "",
	     what.market ? market_names[what.market] : "", why);
}

static struct reason quota_reason(struct draft *d, const struct err *e,
				  int64_t failures)
{
	struct reason r = reason_from(e, d->arena);
	int64_t wait = QUOTA_MS;

	for (int64_t n = 0; n < failures && wait < QUOTA_MOST_MS; n++)
		wait *= 2;
	if (e->retry_after_ms > wait)
		wait = e->retry_after_ms;
	r.failures = failures + 1;
	r.waits_for = WAITS_TIME;
	r.retry_at = d->now + wait;
	return r;
}

static void tell_retry(struct draft *d, const struct err *e)
{
	TELL(d, "retrying", "the launch is tried again: %s", e->msg);
}

/* Somebody or something has to change; unless that has happened meanwhile. */
static void park(struct draft *d, const struct machine_call *c, struct reason r)
{
	if (c->call.err.code == ERR_CONFLICT ||
	    c->call.err.code == ERR_UNAUTHENTICATED)
		r.waits_for = WAITS_OPERATOR;
	if (c->call.err.code == ERR_CONFLICT)
		TELL(d, "consistency", "%s", c->call.err.msg);
	if (d->i.meta.generation != c->generation) {
		r.waits_for = WAITS_TIME;
		r.retry_at = d->now;
	}
	draft_park(d, r);
}

void draft_refused(struct draft *d, const struct machine_call *c)
{
	const struct err *e = &c->call.err;
	enum refusal refusal = what_refusal(e);
	int64_t failures = d->s.status.reason.failures;
	struct random *random = d->record->random;

	/* Where there is more than one already, there is something left. */
	d->s.attempt.spent =
		refusal != REFUSED_UNKNOWN && e->code != ERR_CONFLICT;
	if (d->i.meta.deleted_at)
		return;
	if (refusal == REFUSED_HERE && !remember(d, e))
		refusal = REFUSED_NOW;
	switch (refusal) {
	case REFUSED_UNKNOWN:
		d->s.status.reason =
			retry_always(e, failures, d->now, random, d->arena);
		tell_retry(d, e);
		break;
	case REFUSED_HERE:
		d->s.status.reason = reason_from(e, d->arena);
		draft_offering_refused(d, (size_t)d->s.attempt.offering,
				       e->msg);
		break;
	case REFUSED_NOW:
		d->s.status.reason = quota_reason(d, e, failures);
		tell_retry(d, e);
		break;
	default:
		park(d, c, retry_reason(e, failures, d->now, random, d->arena));
	}
}

#include "reconcile/machine_record.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "reconcile/machine_draft.h"

/* What one transaction writes down at most, one after the other; the longest
 * way there is takes four. */
#define MOVES_MOST 8

static const void *look(void *ctx, const struct kind *k, const char *id)
{
	return tx_get(ctx, k, id);
}

static void look_around(struct draft *d)
{
	const struct machine_look how = {look, d->tx};

	d->v.i = &d->i;
	d->v.s = d->has_server ? &d->s : NULL;
	machine_view(&how, &d->record->known, d->now, d->arena, &d->v, NULL);
}

static bool open_draft(struct draft *d)
{
	const struct instance *i =
		tx_get(d->tx, &instance_kind, d->record->instance);
	const struct server *s;

	if (!i)
		return false;
	d->i = *i;
	d->was = i->status.state;
	s = i->status.server_id
		    ? tx_get(d->tx, &server_kind, i->status.server_id)
		    : NULL;
	d->has_server = s != NULL;
	if (s)
		d->s = *s;
	look_around(d);
	return true;
}

/* Nothing but us changes these, one thing at a time; only that the machine is
 * gone may be found by others meanwhile, and then the call does not matter. */
static bool is_of(const struct draft *d, const struct machine_call *c)
{
	return d->has_server && strcmp(d->i.uid, c->uid) == 0 &&
	       strcmp(d->s.meta.id, c->server) == 0 &&
	       d->s.attempt.number == c->attempt &&
	       d->s.status.phase != SERVER_GONE;
}

/* Whoever looks now sees two documents of one revision; see plan_parked(). */
static void stamp(struct draft *d)
{
	d->i.meta.revision = (int64_t)tx_revision(d->tx);
	d->s.meta.revision = d->i.meta.revision;
	d->s.meta.updated_at = d->now;
}

static int shown_state(const struct draft *d)
{
	const struct server *s = &d->s;

	if (d->i.meta.deleted_at)
		return INSTANCE_TERMINATING;
	switch (s->status.phase) {
	case SERVER_LAUNCHED:
		return s->status.stale_since &&
				       instance_may_become(s->status.state,
							   INSTANCE_UNKNOWN)
			       ? INSTANCE_UNKNOWN
			       : s->status.state;
	case SERVER_GONE:
		if (d->i.status.launched_at && !d->i.status.change.action)
			return INSTANCE_TERMINATED;
		return s->status.reason.waits_for == WAITS_OPERATOR
			       ? INSTANCE_FAILED
			       : INSTANCE_PENDING;
	default:
		return INSTANCE_PENDING;
	}
}

static bool is_stuck(const struct reason *r)
{
	return r->code && r->retry_at == 0 && r->waits_for;
}

static int shown_provisioning(const struct draft *d)
{
	const struct instance *i = &d->i;

	if (i->meta.deleted_at)
		return PROVISIONING_DEPROVISIONING;
	if (is_stuck(&d->s.status.reason))
		return PROVISIONING_ERROR;
	if (d->s.status.phase == SERVER_INTENDED && !i->status.launched_at)
		return d->s.attempt.number > 1 || d->s.attempt.called_at
			       ? PROVISIONING_PROVISIONING
			       : PROVISIONING_PENDING;
	return i->status.observed_generation == i->meta.generation &&
			       !i->status.change.action
		       ? PROVISIONING_PROVISIONED
		       : PROVISIONING_PROVISIONING;
}

/* Where nobody looks at the guest, one that runs does well. */
static int guest_health(int readiness)
{
	switch (readiness) {
	case READINESS_WAITING:
		return HEALTH_UNKNOWN;
	case READINESS_UNREADY:
		return HEALTH_DEGRADED;
	default:
		return HEALTH_HEALTHY;
	}
}

static int shown_health(const struct draft *d)
{
	switch (d->i.status.state) {
	case INSTANCE_RUNNING:
		if (d->s.status.reason.code)
			return HEALTH_DEGRADED;
		return guest_health(d->s.status.readiness.state);
	case INSTANCE_FAILED:
	case INSTANCE_TERMINATED:
		return HEALTH_ERROR;
	default:
		return HEALTH_UNKNOWN;
	}
}

/* What users see of the server. */
static void mirror(struct draft *d)
{
	struct instance *i = &d->i;
	const struct server *s = &d->s;
	bool there = s->status.phase == SERVER_LAUNCHED ||
		     s->status.phase == SERVER_LEAVING;

	i->status.state = shown_state(d);
	i->status.provisioning = shown_provisioning(d);
	i->status.health = shown_health(d);
	i->status.reason =
		s->status.reason.code ? s->status.reason : (struct reason){0};
	i->status.reason.provider_code = NULL;
	i->status.reason.provider_message = NULL;
	i->status.server_id = s->meta.id;
	i->status.provider_id = s->status.provider_id;
	i->status.flavor_id = there ? s->asked.flavor_id : NULL;
	i->status.market = there ? s->asked.market : 0;
	i->status.zone = s->status.zone;
	i->status.private_ip = s->status.private_ip;
	i->status.private_ip6 = s->status.private_ip6;
	i->status.public_ip = s->status.public_ip;
	i->status.mac = s->status.mac;
	i->status.ports = s->status.ports;
	i->status.readiness = s->status.readiness;
	i->status.ssh_host_key = s->status.ssh_host_key;
	i->status.native_state = s->status.native_state;
	if (s->status.observed_at)
		i->status.observed_at = s->status.observed_at;
	i->status.observed_by = s->status.observed_by;
	i->status.stale_since =
		s->status.phase == SERVER_LAUNCHED ? s->status.stale_since : 0;
	i->status.deadline = s->status.deadline;
}

void draft_write(struct draft *d, const struct kind *k, void *object)
{
	if (!d->failed)
		d->failed = tx_put(d->tx, k, object, d->err) < 0;
}

void draft_delete(struct draft *d, const struct kind *k, const char *id)
{
	if (!d->failed)
		d->failed = tx_delete(d->tx, k, id, d->err) < 0;
}

static void write_both(struct draft *d)
{
	mirror(d);
	assert(instance_may_become(d->was, d->i.status.state));
	draft_write(d, &server_kind, &d->s);
	draft_write(d, &instance_kind, &d->i);
}

/* Somebody has touched the instance since it was parked: it is newer than its
 * server; see plan_parked(). */
static bool is_touched(const struct draft *d)
{
	return d->s.status.reason.code &&
	       d->i.meta.revision > d->s.meta.revision;
}

static int write_sight(struct draft *d, bool server)
{
	mirror(d);
	assert(instance_may_become(d->was, d->i.status.state));
	if (server)
		draft_write(d, &server_kind, &d->s);
	draft_write(d, &instance_kind, &d->i);
	return d->failed ? -1 : 0;
}

/* It was seen as it was.  Both documents are of one revision now: what one that
 * was touched waited for is void. */
static int write_seen(struct draft *d)
{
	struct reason *r = &d->s.status.reason;

	if (is_touched(d) && r->waits_for && !r->retry_at)
		*r = (struct reason){.failures = r->failures};
	return write_sight(d, true);
}

int machine_write_stale(struct tx *tx, const char *instance, int64_t seen,
			struct err *err)
{
	const struct machine_record record = {.instance = instance};
	struct draft d = {.tx = tx,
			  .record = &record,
			  .arena = tx_arena(tx),
			  .now = tx_time(tx),
			  .err = err};

	if (!open_draft(&d) || !d.has_server || d.i.meta.deleted_at ||
	    d.s.status.phase != SERVER_LAUNCHED || d.s.status.stale_since)
		return 0;
	if (d.s.status.observed_at < seen)
		d.s.status.observed_at = seen;
	d.s.status.stale_since = d.now;
	return write_sight(&d, !is_touched(&d));
}

int machine_record(struct tx *tx, void *ctx, struct err *err)
{
	struct draft d = {.tx = tx,
			  .record = ctx,
			  .arena = tx_arena(tx),
			  .now = tx_time(tx),
			  .err = err};
	const struct machine_call *c = d.record->call;
	struct machine_step step;

	if (!open_draft(&d))
		return 0;
	if (c && is_of(&d, c) && machine_same(&d.v, c)) {
		draft_observed(&d, c);
		return write_seen(&d);
	}
	if (c && is_of(&d, c)) {
		draft_outcome(&d, c);
		d.changed = true;
		stamp(&d);
	} else if (c) {
		log_warn("machine", "%s: what a call was made for has changed",
			 d.i.meta.id);
	}
	for (int n = 0; n < MOVES_MOST && !d.finished && !d.failed; n++) {
		look_around(&d);
		machine_plan(&d.v, &step);
		if (step.what == MACHINE_REST || machine_calls(step.what))
			break;
		draft_move(&d, &step);
		d.changed = true;
		stamp(&d);
	}
	if (d.changed && !d.finished)
		write_both(&d);
	return d.failed ? -1 : 0;
}

struct reason draft_reason(struct draft *d, enum err_code code, const char *why)
{
	struct err e;

	err_set(&e, code, "%s", why);
	return reason_from(&e, d->arena);
}

void draft_park(struct draft *d, struct reason r)
{
	d->s.status.reason = r;
	if (is_stuck(&r))
		TELL(d, "parked", "waits for %s: %s",
		     r.waits_for == WAITS_CHANGE ? "a change" : "an operator",
		     r.message);
}

int64_t draft_deadline(const struct draft *d, int state)
{
	const struct provider_facts *f = d->v.facts;

	if (!f)
		return 0;
	switch (state) {
	case INSTANCE_UNKNOWN:
	case INSTANCE_PENDING:
		if (!d->i.status.launched_at)
			return d->s.status.answered_at + f->launch_ms;
		return state == INSTANCE_PENDING ? d->now + f->start_ms : 0;
	case INSTANCE_STOPPING:
	case INSTANCE_TERMINATING:
		return d->now + f->stop_ms;
	default:
		return 0;
	}
}

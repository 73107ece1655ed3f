/* machine_outcome.c - what a call came to, written into the documents. */
#include <string.h>

#include "model/usage.h"
#include "reconcile/machine_draft.h"
#include "reconcile/retry.h"

/* How often a machine may turn out to be other than it seemed, before the change
 * that wants something of it is given up. */
#define STALE_MOST 5

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_leaving(const struct machine_view *v)
{
	return v->i->meta.deleted_at || v->s->status.phase == SERVER_LEAVING;
}

/* "Not found" is believed of a call that began when a machine that was made
 * could be seen; it does not matter when it was answered. */
static bool is_sure(const struct machine_view *v, const struct machine_call *c)
{
	int64_t answered = v->s->status.answered_at;

	if (answered < v->even)
		answered = v->even;
	return v->facts &&
	       c->call.began >= answered + (int64_t)v->facts->consistency_ms;
}

/* It is still wanted that it stops. */
static bool is_to_stop(const struct instance *i)
{
	return i->spec.power == POWER_OFF ||
	       i->status.change.action == CHANGE_RESIZE;
}

/* What is so when a provider says that the machine is in state SEEN: what was
 * asked of it may take a while to show. */
static int settled_state(const struct machine_view *v, int seen)
{
	const struct server *s = v->s;
	int is = s->status.state;

	if (is_leaving(v) && is == INSTANCE_TERMINATING)
		return seen == INSTANCE_TERMINATED ? seen : is;
	if (is == INSTANCE_STOPPING && seen == INSTANCE_RUNNING &&
	    v->now < s->status.deadline && is_to_stop(v->i))
		return is;
	if (is == INSTANCE_PENDING && seen == INSTANCE_STOPPED &&
	    v->i->status.launched_at && v->facts &&
	    v->now < s->meta.updated_at + (int64_t)v->facts->consistency_ms)
		return is;
	return instance_may_become(is, seen) ? seen : is;
}

static void tell_state(struct draft *d, int before)
{
	const struct server *s = &d->s;

	if (s->status.state == before)
		return;
	if (s->status.state == INSTANCE_RUNNING)
		TELL(d, "running", "runs as %s%s%s", s->status.provider_id,
		     s->status.zone ? " in " : "",
		     s->status.zone ? s->status.zone : "");
	else if (s->status.state == INSTANCE_STOPPED)
		TELL(d, "stopped", "%s is off", s->status.provider_id);
}

/* The price is of what it got, when that is not what was asked for at first. */
static void first_run(struct draft *d)
{
	const struct flavor *f =
		tx_get(d->tx, &flavor_kind, d->s.asked.flavor_id);

	d->i.status.launched_at = d->now;
	if (f && (d->s.attempt.offering != 0 || d->s.number > 1))
		d->i.status.price = *usage_price(f, d->s.asked.market);
	draft_narrow(d);
}

static void set_state(struct draft *d, int state)
{
	int before = d->s.status.state;

	d->s.status.state = state;
	if (state != INSTANCE_RUNNING && state != INSTANCE_UNKNOWN)
		d->s.status.readiness = (struct readiness){0};
	if (state != before || !d->s.status.deadline)
		d->s.status.deadline = draft_deadline(d, state);
	if (state == INSTANCE_RUNNING && !d->i.status.launched_at &&
	    !is_leaving(&d->v))
		first_run(d);
	tell_state(d, before);
}

static void note_resize(struct draft *d, const char *flavor_id)
{
	struct change *change = &d->i.status.change;

	d->s.asked.flavor_id = flavor_id;
	d->s.attempt.offering = 0;
	if (change->action == CHANGE_RESIZE)
		change->step = CHANGE_STARTING;
	draft_narrow(d);
	TELL(d, "changeStep", "it has its new size");
}

/* It is being resized, and has its new size already: that was done and could not
 * be written down.  Not if that may be the size it had before the last. */
static bool was_resized(const struct draft *d)
{
	const struct flavor *f = d->v.flavors[0];
	const struct change *c = &d->i.status.change;
	const char *native = d->s.status.native_flavor;

	return c->action == CHANGE_RESIZE && f && d->v.facts && native &&
	       d->now >= c->since + d->v.facts->consistency_ms &&
	       strcmp(native, f->provider_id) == 0 &&
	       strcmp(d->s.asked.flavor_id, f->meta.id) != 0;
}

static void seen(struct draft *d, const struct machine *m)
{
	struct server *s = &d->s;

	s->status.native_state = m->native_state;
	if (m->flavor)
		s->status.native_flavor = m->flavor;
	if (was_resized(d))
		note_resize(d, d->v.flavors[0]->meta.id);
	s->status.zone = m->zone;
	s->status.host = m->host;
	s->status.private_ip = m->private_ip;
	s->status.private_ip6 = m->private_ip6;
	s->status.public_ip = m->public_ip;
	s->status.mac = m->mac;
	s->status.ports = m->ports;
	set_state(d, settled_state(&d->v, m->state));
	draft_ready(d, m);
}

/* A machine that is ours now. */
static void adopt(struct draft *d, const struct machine *m)
{
	struct server *s = &d->s;

	s->status.phase = is_leaving(&d->v) ? SERVER_LEAVING : SERVER_LAUNCHED;
	s->status.provider_id = m->id;
	s->status.answered_at = d->now;
	s->attempt.called_at = 0;
	s->status.deadline = 0;
	seen(d, m);
}

static void launched(struct draft *d, const struct machine_call *c)
{
	adopt(d, &c->found[0]);
	d->s.asked.tags_digest = c->tags_digest;
	d->s.status.ssh_host_key = c->spec.host_key.public_line;
	if (d->s.status.state != INSTANCE_RUNNING)
		TELL(d, "launched", "%s boots", d->s.status.provider_id);
}

static void found_several(struct draft *d, const struct machine_call *c)
{
	const char *list = "";

	for (size_t n = 0; n < c->n_found && n < MACHINE_FOUND_MOST; n++)
		list = arena_join(d->arena, list, n ? ", " : "", c->found[n].id,
				  NULL);
	TELL(d, "consistency", "%zu machines carry its server's tag: %s",
	     c->n_found, list);
	d->s.status.several = true;
	if (d->i.meta.deleted_at) {
		/* One after the other: see MACHINE_GONE. */
		adopt(d, &c->found[0]);
		return;
	}
	d->s.status.reason = draft_reason(
		d, ERR_INTERNAL, "more than one machine carries its tag");
	d->s.status.reason.waits_for = WAITS_OPERATOR;
}

static void found(struct draft *d, const struct machine_call *c)
{
	d->s.status.phase = SERVER_LEAVING;
	if (c->n_found > 1) {
		found_several(d, c);
		return;
	}
	d->s.status.several = false;
	if (c->n_found == 0) {
		d->s.attempt.spent = true;
		return;
	}
	adopt(d, &c->found[0]);
	TELL(d, "adopted", "%s was found by its tag", c->found[0].id);
}

static void terminated(struct draft *d)
{
	struct server *s = &d->s;
	bool again = s->status.state == INSTANCE_TERMINATING;

	s->status.phase = SERVER_LEAVING;
	if (!s->status.leaving_at)
		s->status.leaving_at = d->now;
	s->status.state = INSTANCE_TERMINATING;
	s->status.deadline = draft_deadline(d, INSTANCE_TERMINATING);
	if (again)
		TELL(d, "slowTermination",
		     "%s is not gone yet; it was asked to go once more",
		     s->status.provider_id);
}

static void stopped(struct draft *d, bool hard)
{
	struct change *change = &d->i.status.change;

	if (change->action == CHANGE_RESIZE && change->step == CHANGE_WAITING)
		change->step = CHANGE_STOPPING;
	/* It may have been seen to be off meanwhile, or gone. */
	if (!instance_may_become(d->s.status.state, INSTANCE_STOPPING))
		return;
	d->s.status.deadline = 0;
	set_state(d, INSTANCE_STOPPING);
	if (hard)
		d->s.status.reason = draft_reason(
			d, ERR_TIMEOUT,
			"it did not stop in time: its power was taken");
	TELL(d, "stopping", "%s %s", d->s.status.provider_id,
	     hard ? "loses its power" : "is asked to stop");
}

static void resized(struct draft *d, const struct machine_call *c)
{
	d->s.status.native_flavor = c->flavor;
	note_resize(d, c->flavor_id);
}

static void rebuilt(struct draft *d, const struct machine_call *c)
{
	d->s.asked.image_id = c->image_id;
	d->s.disk = c->disk;
	d->s.status.ssh_host_key = c->spec.host_key.public_line;
	d->i.status.change.step = CHANGE_STARTING;
	set_state(d, INSTANCE_PENDING);
	if (d->v.facts)
		d->s.status.deadline = d->now + d->v.facts->launch_ms;
	TELL(d, "changeStep", "it boots from its new root disk");
}

/* Its place was kept when it was claimed. */
static void attached(struct draft *d, const struct machine_call *c)
{
	const struct items *had = &d->s.status.volumes;
	struct server_volume *list =
		arena_alloc(d->arena, (had->n + 1) * sizeof(*list));
	const char *device = c->device ? c->device : "unknown";

	for (size_t n = 0; n < had->n; n++) {
		list[n] = ((const struct server_volume *)had->at)[n];
		if (strcmp(list[n].volume_id, c->volume_id) == 0)
			list[n].device = device;
	}
	d->s.status.volumes.at = list;
	draft_volume(d, c->volume_id, device);
}

static void detached(struct draft *d, const char *volume)
{
	struct server *s = &d->s;
	const struct server_volume *had = s->status.volumes.at;
	struct server_volume *list = arena_alloc(
		d->arena, (s->status.volumes.n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < s->status.volumes.n; i++)
		if (strcmp(had[i].volume_id, volume) != 0)
			list[n++] = had[i];
	s->status.volumes = (struct items){list, n};
	draft_volume(d, volume, NULL);
}

static void accessed(struct draft *d, const struct machine_call *c)
{
	d->s.asked.security_group_ids = c->group_ids;
	d->s.asked.sources = c->sources;
	d->s.asked.public_ip = c->spec.public_ip;
	d->s.asked.access_begun = false;
	draft_narrow(d);
	if (c->n_found)
		seen(d, &c->found[0]);
}

/* How what a call brought was seen; 0: it told nothing of the machine. */
static int seen_by(const struct machine_call *c)
{
	switch (c->what) {
	case MACHINE_LAUNCH:
		return OBSERVED_LAUNCH;
	case MACHINE_FIND:
		return c->n_found ? OBSERVED_LIST : 0;
	case MACHINE_DESCRIBE:
		return c->listed ? OBSERVED_LIST : OBSERVED_DESCRIBE;
	case MACHINE_ACCESS:
		return c->n_found ? OBSERVED_DESCRIBE : 0;
	default:
		return 0;
	}
}

void draft_observed(struct draft *d, const struct machine_call *c)
{
	struct server *s = &d->s;
	int by = seen_by(c);
	int64_t at = c->call.began ? c->call.began : d->now;

	if (!by)
		return;
	if (at > s->status.observed_at)
		s->status.observed_at = at;
	s->status.observed_by = by;
	s->status.stale_since = 0;
}

static void succeeded(struct draft *d, const struct machine_call *c)
{
	struct reason *r = &d->s.status.reason;

	draft_observed(d, c);
	/* Having looked is no success of what had failed before. */
	if (c->what != MACHINE_DESCRIBE || is_leaving(&d->v))
		*r = (struct reason){0};
	else if (r->retry_at)
		*r = (struct reason){.failures = r->failures};
	switch (c->what) {
	case MACHINE_LAUNCH:
		launched(d, c);
		break;
	case MACHINE_FIND:
		found(d, c);
		break;
	case MACHINE_DESCRIBE:
		seen(d, &c->found[0]);
		break;
	case MACHINE_TERMINATE:
		terminated(d);
		break;
	case MACHINE_STOP:
		stopped(d, c->hard);
		break;
	case MACHINE_START:
		set_state(d, INSTANCE_PENDING);
		TELL(d, "starting", "%s is started", d->s.status.provider_id);
		break;
	case MACHINE_REBOOT:
		set_state(d, INSTANCE_PENDING);
		d->i.status.change.step = CHANGE_CHANGING;
		break;
	case MACHINE_RESIZE:
		resized(d, c);
		break;
	case MACHINE_REBUILD:
		rebuilt(d, c);
		break;
	case MACHINE_GROW:
		d->s.asked.root_disk_gib = c->gib;
		break;
	case MACHINE_TAG:
		d->s.asked.tags_digest = c->tags_digest;
		d->s.asked.tags_begun = false;
		break;
	case MACHINE_ACCESS:
		accessed(d, c);
		break;
	case MACHINE_ATTACH:
		attached(d, c);
		break;
	default:
		detached(d, c->volume_id);
	}
}

/* The machine is not what we take it for, or not there: a look will tell. */
static bool is_stale(const struct machine_call *c)
{
	if (c->what == MACHINE_ATTACH) /* it may be about the volume */
		return false;
	return c->call.err.code == ERR_NOT_FOUND ||
	       c->call.err.code == ERR_CONFLICT;
}

/* It may have been stopped, or started, all the same: nobody heard the answer,
 * and what is wanted may be otherwise by the time that it is tried again. */
static bool may_be_done(const struct machine_call *c)
{
	switch (c->call.err.code) {
	case ERR_TIMEOUT:
	case ERR_INTERNAL:
		return c->what == MACHINE_STOP || c->what == MACHINE_START;
	default:
		return false;
	}
}

static bool is_of_change(const struct draft *d, const struct machine_call *c)
{
	switch (c->what) {
	case MACHINE_RESIZE:
	case MACHINE_REBUILD:
	case MACHINE_REBOOT:
		return d->i.status.change.action != 0;
	case MACHINE_STOP:
		return d->i.status.change.action == CHANGE_RESIZE;
	default:
		return false;
	}
}

/* The provider does not do what the change wants: it is not asked again. */
static void drop_change(struct draft *d, const struct err *e)
{
	TELL(d, "changeDropped", "%s: not done: %s",
	     change_action_names[d->i.status.change.action], e->msg);
	d->i.status.change = (struct change){0};
}

static void failed_leaving(struct draft *d, const struct err *e)
{
	int64_t before = d->s.status.phase == SERVER_LEAVING
				 ? d->s.status.reason.failures
				 : 0;

	d->s.status.phase = SERVER_LEAVING;
	d->s.status.reason =
		retry_always(e, before, d->now, d->record->random, d->arena);
}

static void failed(struct draft *d, const struct machine_call *c)
{
	const struct err *e = &c->call.err;
	int64_t before = d->s.status.reason.failures;
	bool stale = is_stale(c), passes = err_passes(e) || stale;
	struct reason r;

	if (e->retry == ERR_RETRY_ELSEWHERE ||
	    (c->what == MACHINE_ATTACH && e->code == ERR_CONFLICT))
		passes = true;
	if (is_of_change(d, c) && (!passes || (stale && before >= STALE_MOST)))
		drop_change(d, e);
	if (stale || may_be_done(c))
		set_state(d, INSTANCE_UNKNOWN);
	r = passes ? retry_always(e, before, d->now, d->record->random,
				  d->arena)
		   : retry_reason(e, before, d->now, d->record->random,
				  d->arena);
	draft_park(d, r);
}

/* Some failures say what was to be found out, or that it is so already. */
static bool is_answer(struct draft *d, const struct machine_call *c)
{
	if (c->call.err.code != ERR_NOT_FOUND)
		return false;
	switch (c->what) {
	case MACHINE_DESCRIBE:
		if (is_sure(&d->v, c)) {
			draft_observed(d, c);
			set_state(d, INSTANCE_TERMINATED);
		}
		return true;
	case MACHINE_TERMINATE:
		terminated(d);
		return true;
	case MACHINE_DETACH:
		detached(d, c->volume_id);
		return true;
	default:
		return false;
	}
}

void draft_outcome(struct draft *d, const struct machine_call *c)
{
	if (d->s.status.phase == SERVER_INTENDED ||
	    d->s.status.phase == SERVER_LEAVING)
		d->s.attempt.called_at = d->v.called_at;
	if (c->call.err.code == ERR_NONE)
		succeeded(d, c);
	else if (is_answer(d, c))
		d->s.status.reason = (struct reason){0};
	else if (c->what == MACHINE_LAUNCH)
		draft_refused(d, c);
	else if (is_leaving(&d->v))
		failed_leaving(d, &c->call.err);
	else
		failed(d, c);
}

/* It was written down while the provider, which says how long a state may last,
 * was not open. */
static bool lacks_deadline(const struct machine_view *v)
{
	if (!v->facts || v->s->status.deadline)
		return false;
	switch (v->s->status.state) {
	case INSTANCE_PENDING:
	case INSTANCE_STOPPING:
	case INSTANCE_TERMINATING:
		return true;
	case INSTANCE_UNKNOWN:
		return !v->i->status.launched_at;
	default:
		return false;
	}
}

bool machine_unchanged(const struct machine_view *v,
		       const struct machine_call *c)
{
	if (c->what == MACHINE_DESCRIBE && c->call.err.code == ERR_NOT_FOUND)
		return !is_sure(v, c);
	/* That it was seen is worth writing when that is what was due. */
	if (view_unseen(v) && c->call.began >= v->look_at)
		return false;
	return !v->s->status.stale_since && machine_same(v, c);
}

bool machine_same(const struct machine_view *v, const struct machine_call *c)
{
	const struct machine *m = &c->found[0];
	const struct server *s = v->s;

	return c->what == MACHINE_DESCRIBE && c->call.err.code == ERR_NONE &&
	       s->status.reason.retry_at == 0 && !lacks_deadline(v) &&
	       settled_state(v, m->state) == s->status.state &&
	       same(m->native_state, s->status.native_state) &&
	       (!m->flavor || !s->status.native_flavor ||
		same(m->flavor, s->status.native_flavor)) &&
	       same(m->zone, s->status.zone) && same(m->host, s->status.host) &&
	       same(m->private_ip, s->status.private_ip) &&
	       same(m->private_ip6, s->status.private_ip6) &&
	       same(m->public_ip, s->status.public_ip) &&
	       same(m->mac, s->status.mac) &&
	       ports_same(&m->ports, &s->status.ports) &&
	       machine_ready_same(&s->status.readiness, s->status.state, m);
}

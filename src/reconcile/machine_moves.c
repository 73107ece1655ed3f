/* machine_moves.c - what the planner wants written down. */
#include <string.h>

#include "base/clock.h"
#include "model/deletion.h"
#include "reconcile/machine_draft.h"
#include "reconcile/retry.h"

static void claim(struct draft *d, const char *volume)
{
	const struct items *had = &d->s.status.volumes;
	struct server_volume *list =
		arena_alloc(d->arena, (had->n + 1) * sizeof(*list));

	if (had->n)
		memcpy(list, had->at, had->n * sizeof(*list));
	list[had->n].volume_id = volume;
	d->s.status.volumes = (struct items){list, had->n + 1};
	draft_volume(d, volume, "");
}

static void expire(struct draft *d)
{
	deletion_begin(&instance_kind, &d->i, d->now, "muster");
	TELL(d, "expired", "its time is over: it is deleted");
}

/* Those before the one that is tried are sold out: say so. */
static void tell_shortages(struct draft *d, size_t before)
{
	struct alternative what;

	for (size_t n = 0; n < before; n++) {
		const struct flavor *f = d->v.flavors[n];
		const struct shortage *s = NULL;
		char until[CLOCK_TEXT_LEN + 1];

		if (f && instance_offering(&d->i, n, &what))
			s = flavor_shortage(f, what.zone, what.market, d->now);
		if (!s)
			continue;
		clock_format(s->until, until);
		draft_offering_refused(
			d, n,
			arena_printf(d->arena, "%s; not asked for until %s",
				     s->message ? s->message : "sold out",
				     until));
	}
}

static void begin_try(struct draft *d, size_t offering)
{
	struct server *s = &d->s;
	int64_t failures = s->status.reason.failures;

	if (s->attempt.refused >= MACHINE_REFUSED_MOST)
		s->attempt.refused = 0;
	tell_shortages(d, offering);
	server_try(s, &d->i, offering, d->v.flavors[offering], d->arena);
	s->status.reason.failures = failures;
	if (d->i.status.change.action)
		d->i.status.change.step = CHANGE_STARTING;
}

static void next_server(struct draft *d)
{
	int64_t number = d->has_server ? d->s.number + 1 : 1;
	struct server next;

	server_begin(&d->i, d->v.flavors[0], number, d->record->random,
		     d->arena, &next);
	next.meta.generation = 1;
	next.meta.created_at = next.meta.updated_at = d->now;
	if (d->has_server)
		draft_delete(d, &server_kind, d->s.meta.id);
	d->s = next;
	d->has_server = true;
	d->i.status.launched_at = 0;
	if (d->i.status.change.action)
		d->i.status.change.step = CHANGE_STARTING;
	TELL(d, "changeStep", "another machine takes its place");
}

static void give_up(struct draft *d, const struct machine_step *step)
{
	struct server *s = &d->s;

	s->status.phase = SERVER_LEAVING;
	s->status.leaving_at = d->now;
	s->status.deadline = 0;
	s->status.reason = (struct reason){0};
	s->attempt.called_at = d->v.called_at;
	s->attempt.refused += step->refused;
	if (d->i.status.change.action) {
		d->i.status.change.step = CHANGE_REMOVING;
		TELL(d, "changeStep", "the machine that was is removed");
	} else {
		TELL(d, "retrying", "%s", step->why);
	}
}

/* One of several is gone: see whether there are others. */
static void look_for_others(struct draft *d)
{
	struct server *s = &d->s;

	s->status.several = false;
	s->status.provider_id = NULL;
	s->status.state = INSTANCE_PENDING;
	s->status.deadline = 0;
	s->attempt.spent = false;
	s->attempt.called_at = d->now;
}

static void gone(struct draft *d)
{
	struct server *s = &d->s;

	if (s->status.several && s->status.provider_id) {
		look_for_others(d);
		return;
	}
	/* It went before it ran, and nobody had asked it to. */
	if (s->status.phase == SERVER_LAUNCHED && !d->i.status.launched_at)
		s->attempt.refused++;
	draft_release_volumes(d);
	s->status.phase = SERVER_GONE;
	s->status.state = INSTANCE_TERMINATED;
	s->status.deadline = 0;
	s->status.reason = (struct reason){0};
	s->status.private_ip = s->status.private_ip6 = NULL;
	s->status.public_ip = s->status.mac = NULL;
	s->status.host = s->status.ssh_host_key = NULL;
	s->status.ports = (struct items){0};
	s->status.readiness = (struct readiness){0};
}

static void park(struct draft *d, const struct machine_step *step)
{
	struct reason r = draft_reason(d, step->code, step->why);

	r.waits_for = step->waits_for;
	r.retry_at = step->until;
	r.failures = d->s.status.reason.failures;
	if (step->code == ERR_CAPACITY)
		tell_shortages(d, OFFERINGS_MOST);
	draft_park(d, r);
}

static void late(struct draft *d, const char *why)
{
	struct err e;

	err_set(&e, ERR_TIMEOUT, "%s", why);
	d->s.status.state = INSTANCE_UNKNOWN;
	d->s.status.deadline = 0;
	d->s.status.reason = retry_always(&e, d->s.status.reason.failures,
					  d->now, d->record->random, d->arena);
	TELL(d, "retrying", "%s", why);
}

static void change_done(struct draft *d)
{
	int action = d->i.status.change.action;

	if (action == CHANGE_REBOOT || action == CHANGE_HARD_REBOOT)
		TELL(d, "rebooted", "it is up again");
	else
		TELL(d, "changeDone", "%s: done", change_action_names[action]);
	d->i.status.change = (struct change){0};
	d->s.status.reason = (struct reason){0};
}

/* What was to be changed is not: its owner has to say what now.  After a reboot
 * it is as it was. */
static void drop_change(struct draft *d, const char *why)
{
	int action = d->i.status.change.action;

	TELL(d, "changeDropped", "%s: not done: %s",
	     change_action_names[action], why);
	d->i.status.change = (struct change){0};
	if (d->s.status.state == INSTANCE_PENDING &&
	    d->s.status.phase == SERVER_LAUNCHED) {
		d->s.status.state = INSTANCE_UNKNOWN;
		d->s.status.deadline = 0;
	}
	if (action != CHANGE_REBOOT && action != CHANGE_HARD_REBOOT &&
	    d->s.status.phase == SERVER_LAUNCHED) {
		struct reason r = draft_reason(d, ERR_UNSUPPORTED, why);

		r.waits_for = WAITS_CHANGE;
		d->s.status.reason = r;
	}
}

void draft_move(struct draft *d, const struct machine_step *step)
{
	switch (step->what) {
	case MACHINE_BEGIN_ACCESS:
		d->s.asked.access_begun = true;
		/* It may have an address from now on, and is charged for it. */
		d->s.asked.public_ip |= d->i.spec.public_ip;
		break;
	case MACHINE_BEGIN_TAG:
		d->s.asked.tags_begun = true;
		break;
	case MACHINE_CLAIM:
		claim(d, step->volume);
		break;
	case MACHINE_EXPIRE:
		expire(d);
		break;
	case MACHINE_TRY:
		begin_try(d, step->offering);
		break;
	case MACHINE_NEXT:
		next_server(d);
		break;
	case MACHINE_GIVE_UP:
		give_up(d, step);
		break;
	case MACHINE_GONE:
		gone(d);
		break;
	case MACHINE_FINISH:
		draft_finish(d);
		break;
	case MACHINE_PARK:
		park(d, step);
		break;
	case MACHINE_LATE:
		late(d, step->why);
		break;
	case MACHINE_GUEST_LATE:
		draft_late_guest(d);
		break;
	case MACHINE_CHANGE_DONE:
		change_done(d);
		break;
	case MACHINE_DROP_CHANGE:
		drop_change(d, step->why);
		break;
	default:
		d->i.status.observed_generation = d->i.meta.generation;
		d->s.status.reason = (struct reason){0};
	}
}

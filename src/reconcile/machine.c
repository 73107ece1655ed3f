/*
 * machine - the controller of instances and the machines behind them.
 *
 * Its keys are instances; their servers are written by nobody else.  What is to
 * be done is planned (machine_plan.h), called (machine_call.h) and written down
 * (machine_record.h); this joins the three.  An instance that is settled costs
 * nothing.
 */
#include "reconcile/machine.h"

#include "base/log.h"
#include "model/region.h"
#include "reconcile/engine_priv.h"
#include "reconcile/looks.h"
#include "reconcile/machine_record.h"

/* The try that we have last had launched, while it is looked after; what is
 * parked or paused has it in its document. */
struct memo {
	int64_t called_at, number, attempt;
	int64_t look; /* somebody waits for one that began then; 0: nobody */
	bool extra;   /* the call under way is for them alone */
	bool notice;  /* the provider says that it is worth one */
	int64_t noticed_at; /* and when the last began for that */
};

static bool wants(const void *object)
{
	const struct instance *i = object;
	int as_wanted = i->spec.power == POWER_OFF ? INSTANCE_STOPPED
						   : INSTANCE_RUNNING;

	if (i->meta.deleted_at)
		return true;
	if (i->spec.paused)
		return false;
	return i->status.observed_generation != i->meta.generation ||
	       i->status.state != as_wanted || i->status.change.action ||
	       i->status.reason.code || i->spec.expires_at ||
	       i->status.provisioning != PROVISIONING_PROVISIONED ||
	       i->status.readiness.state == READINESS_WAITING;
}

static const void *look(void *ctx, const struct kind *k, const char *id)
{
	return work_get(ctx, k, id);
}

static void know(struct work *w, const struct instance *i,
		 struct machine_known *ret)
{
	const struct place *place = work_place(w, i->region_id);
	const struct memo *memo = work_memo(w);

	*ret = (struct machine_known){.started = work_started(w),
				      .even = work_even_since(w),
				      .behind = work_behind(w),
				      .called_at = memo->called_at,
				      .number = memo->number,
				      .attempt = memo->attempt};
	if (place) {
		ret->facts = &place->facts;
		ret->can = machine_can(place->provider);
	}
}

/* False when there is no such instance. */
static bool see(struct work *w, struct machine_known *known,
		struct machine_view *v, struct machine_waits *waits)
{
	const struct machine_look how = {look, w};

	v->i = work_get(w, &instance_kind, work_id(w));
	if (!v->i)
		return false;
	v->s = work_get(w, &server_kind, v->i->status.server_id);
	know(w, v->i, known);
	machine_view(&how, known, work_now(w), work_arena(w), v, waits);
	return true;
}

static void record(struct work *w, const struct machine_known *known,
		   const struct machine_call *c)
{
	struct arena *a = work_arena(w);
	struct machine_record *r = arena_alloc(a, sizeof(*r));
	struct provider_facts *facts = arena_alloc(a, sizeof(*facts));

	r->instance = work_id(w);
	r->known = *known;
	if (known->facts) {
		*facts = *known->facts;
		r->known.facts = facts;
	}
	r->random = work_random(w);
	r->call = c;
	work_transact(w, machine_record, r);
}

/* On its way, and as it was. */
static void look_later(struct work *w, const struct machine_view *v)
{
	int64_t until = machine_look_again(v);
	int64_t deadline = v->s->status.deadline;

	work_wait(w, deadline > v->now && deadline < until ? deadline : until);
}

static void looked(struct work *w, const struct err *err)
{
	((struct memo *)work_memo(w))->look = 0;
	work_looked(w, err);
}

/* Whoever waits for a look learns why there is none: true when nobody else does,
 * so that it is as if it had not been tried. */
static bool look_failed(struct work *w, const struct machine_view *v,
			const struct machine_call *c)
{
	const struct memo *memo = work_memo(w);
	struct err hidden;

	if (!memo->look && !memo->extra)
		return false;
	if (c->what != MACHINE_DESCRIBE || !c->call.err.code)
		return false;
	if (c->call.err.code != ERR_NOT_FOUND) {
		looked(w, &c->call.err);
		return memo->extra;
	}
	if (!v->s || !v->facts || !machine_unchanged(v, c))
		return false; /* it is gone, and that is written down */
	err_set(&hidden, ERR_UNAVAILABLE, "the provider does not show it yet");
	looked(w, &hidden);
	return memo->extra;
}

static void called(struct work *w, struct call *call)
{
	struct machine_call *c = CONTAINER_OF(call, struct machine_call, call);
	struct memo *memo = work_memo(w);
	struct machine_known known;
	struct machine_view v;

	if (!see(w, &known, &v, NULL))
		return;
	if (look_failed(w, &v, c))
		return;
	if (c->what == MACHINE_LAUNCH && v.s) {
		memo->called_at = work_now(w);
		memo->number = v.s->number;
		memo->attempt = c->attempt;
		known.called_at = memo->called_at;
		known.number = memo->number;
		known.attempt = memo->attempt;
	}
	if (v.s && v.facts && !memo->look && machine_unchanged(&v, c))
		look_later(w, &v);
	else
		record(w, &known, c);
}

static void ask(struct work *w, const struct machine_known *known,
		const struct machine_view *v, const struct machine_step *step)
{
	const struct memo *memo = work_memo(w);
	struct machine_call *c;
	struct err err;

	if (machine_call_make(w, v, step, &c, &err) < 0) {
		/* It is as if the provider had refused it. */
		c->call.err = err;
		record(w, known, c);
		return;
	}
	c->call.done = called;
	if (c->call.rank == CALL_OBSERVE && (memo->look || memo->extra))
		c->call.rank = CALL_CREATE; /* somebody waits */
	work_call(w, v->i->region_id, &c->call);
}

/* We know of a launch that no document tells of: its answer could not be
 * written.  Then the work must not be forgotten. */
static bool is_unwritten(struct work *w, const struct server *s)
{
	const struct memo *memo = work_memo(w);

	return s && !s->status.provider_id && !s->attempt.spent &&
	       memo->number == s->number &&
	       memo->attempt == s->attempt.number &&
	       memo->called_at > s->attempt.called_at;
}

/* The work is remembered until then. */
static int64_t next_notice(struct work *w, const struct machine_view *v)
{
	const struct memo *memo = work_memo(w);

	return memo->noticed_at && v->facts
		       ? memo->noticed_at + (int64_t)v->facts->poll_ms
		       : 0;
}

static void rest(struct work *w, const struct machine_view *v,
		 const struct machine_step *step,
		 const struct machine_waits *waits)
{
	bool stuck = v->s && v->s->status.reason.waits_for == WAITS_OPERATOR;

	if (step->until)
		work_wait(w, step->until);
	if (next_notice(w, v) > v->now)
		work_wait(w, next_notice(w, v));
	if (is_unwritten(w, v->s))
		work_await(w, &instance_kind, work_id(w));
	if (v->i->spec.paused && !v->i->meta.deleted_at)
		return;
	if (v->region_paused || stuck)
		work_await(w, &region_kind, v->i->region_id);
	for (size_t n = 0; n < waits->n; n++)
		work_await(w, waits->list[n].kind, waits->list[n].id);
}

static bool has_machine(const struct server *s)
{
	return s && s->status.provider_id && s->status.phase != SERVER_GONE;
}

/* A look that somebody waits for is made when there is nothing else to do. */
static void plan_extra(struct work *w, const struct machine_view *v,
		       struct machine_step *step)
{
	struct memo *memo = work_memo(w);
	const struct server *s = v->s;
	struct err err;

	memo->extra = false;
	if (!memo->look)
		return;
	if (!has_machine(s) || v->i->status.observed_at >= memo->look) {
		looked(w, NULL);
	} else if (v->region_paused || !v->facts) {
		err_set(&err, ERR_UNAVAILABLE,
			"its region is paused or cannot be reached");
		looked(w, &err);
	} else if (step->what == MACHINE_REST) {
		memo->extra = true;
		step->what = MACHINE_DESCRIBE;
	}
}

/* And so is one that the provider says is worth it, no more often than it is
 * worth asking. */
static void plan_noticed(struct work *w, const struct machine_view *v,
			 struct machine_step *step)
{
	struct memo *memo = work_memo(w);
	int64_t next = next_notice(w, v);

	if (!memo->notice)
		return;
	if (!has_machine(v->s) || v->region_paused || !v->facts) {
		memo->notice = false;
		return;
	}
	if (step->what != MACHINE_REST && step->what != MACHINE_DESCRIBE)
		return;
	if (step->what == MACHINE_REST && v->now < next)
		return; /* see rest() */
	memo->extra |= step->what == MACHINE_REST;
	step->what = MACHINE_DESCRIBE;
	memo->notice = false;
	memo->noticed_at = v->now;
}

static void step(struct work *w)
{
	struct machine_waits waits = {.n = 0};
	struct machine_known known;
	struct machine_view v;
	struct machine_step step;

	if (!see(w, &known, &v, &waits)) {
		looked(w, NULL);
		return;
	}
	machine_plan(&v, &step);
	plan_extra(w, &v, &step);
	plan_noticed(w, &v, &step);
	log_debug("machine", "%s: %s", work_id(w), machine_word(step.what));
	if (machine_calls(step.what))
		ask(w, &known, &v, &step);
	else if (step.what == MACHINE_REST)
		rest(w, &v, &step, &waits);
	else
		record(w, &known, NULL);
}

void machine_look(struct work *w, int64_t since)
{
	struct memo *memo = work_memo(w);

	if (since > memo->look)
		memo->look = since;
	work_poke(w);
}

void machine_notice(struct work *w)
{
	((struct memo *)work_memo(w))->notice = true;
	work_nudge(w);
}

const struct controller machine_controller = {
	.name = "machine",
	.kind = &instance_kind,
	.memo = sizeof(struct memo),
	.wants = wants,
	.step = step,
};

#include "machine_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const volume_ids[] = {"v0", "v1", "v2"};
static const char *const flavor_ids[] = {"f0", "f1", "f2"};
static const char *const provider_ids[] = {"p0", "p1", "p2"};

static int64_t from_now(int seconds)
{
	return seconds ? NOW + seconds * 1000LL : 0;
}

static void set_instance(struct setup *x, const struct given *g)
{
	struct instance *i = &x->i;

	i->meta.id = "i";
	i->meta.generation = 3;
	i->meta.revision = g->touched ? 11 : 10;
	i->meta.deleted_at = g->deleted ? NOW - 5000 : 0;
	i->spec.flavor_id = g->flavor ? "other" : "f0";
	i->spec.image_id = g->image ? "other" : "image";
	i->spec.market = MARKET_ON_DEMAND;
	i->spec.power = g->power ? g->power : POWER_ON;
	i->spec.paused = g->paused;
	i->spec.delete_protection = g->protected;
	i->spec.expires_at = from_now(g->expires);
	i->spec.public_ip = g->public_ip;
	i->spec.root_disk.size_gib = g->disk ? 20 : FIELD_NONE;
	for (int n = 0; n < g->alternatives; n++)
		x->alternatives[n].flavor_id = flavor_ids[n + 1];
	i->spec.alternatives =
		(struct items){x->alternatives, (size_t)g->alternatives};
	if (g->groups)
		i->spec.security_group_ids = (struct items){&x->group, 1};
	if (g->source)
		i->spec.sources = (struct items){&x->source, 1};
	if (g->tags)
		i->meta.tags = (struct items){&x->tag, 1};
	for (size_t n = 0; n < 3; n++)
		if (g->volumes >> n & 1)
			x->volumes[i->spec.volumes.n++].volume_id =
				volume_ids[n];
	i->spec.volumes.at = x->volumes;
	i->status.server_id = g->unnamed ? NULL : "s";
	i->status.launched_at = g->never_ran ? 0 : NOW - 3600000;
	i->status.observed_generation = g->behind ? 2 : 3;
	i->status.provisioning = g->unsettled ? PROVISIONING_PROVISIONING
					      : PROVISIONING_PROVISIONED;
	i->status.change.action = g->action;
	i->status.change.step = g->step     ? g->step
				: g->action ? CHANGE_WAITING
					    : 0;
}

static void set_server(struct setup *x, const struct given *g)
{
	struct server *s = &x->s;

	s->meta.revision = 10;
	s->meta.updated_at = NOW - (g->age ? g->age : 3600) * 1000LL;
	s->asked.flavor_id = flavor_ids[g->offering];
	s->status.native_flavor = g->drifted ? "p9" : "p0";
	s->asked.image_id = "image";
	s->asked.market = MARKET_ON_DEMAND;
	s->asked.root_disk_gib = 10;
	s->asked.tags_digest = g->was_tagged ? "digest" : NULL;
	s->asked.access_begun = g->access_begun;
	s->asked.tags_begun = g->tags_begun;
	if (g->other_group)
		s->asked.security_group_ids =
			(struct items){&x->other_group, 1};
	s->attempt.number = 1;
	s->attempt.offering = g->offering;
	s->attempt.spent = g->spent;
	s->attempt.refused = g->refused;
	s->status.phase = g->phase ? g->phase : SERVER_LAUNCHED;
	s->status.state = g->state ? g->state : INSTANCE_RUNNING;
	if (!g->no_id && s->status.phase != SERVER_INTENDED)
		s->status.provider_id = "m-1";
	s->status.several = g->several;
	s->status.deadline = from_now(g->deadline);
	for (size_t n = 0; n < 3; n++)
		if ((g->attached | g->claimed) >> n & 1)
			x->attached[s->status.volumes.n++] =
				(struct server_volume){
					volume_ids[n],
					g->attached >> n & 1 ? "vdb" : NULL};
	s->status.volumes.at = x->attached;
	if (!g->code)
		return;
	s->status.reason = (struct reason){
		.code = err_name(g->code),
		.message = g->message ? g->message : "because",
		.waits_for = g->waits,
		.retry_at = from_now(g->retry),
		.failures = g->failures,
	};
	if (!g->unshown)
		x->i.status.reason = s->status.reason;
}

static void set_view(struct setup *x, const struct given *g)
{
	struct machine_view *v = &x->v;

	x->facts = (struct provider_facts){
		.launch_tokens = !g->no_tokens,
		.tags = true,
		.resize_live = g->live,
		.consistency_ms = 5000,
		.launch_ms = 60000,
		.stop_ms = 30000,
		.start_ms = 30000,
		.poll_ms = 4000,
	};
	v->i = &x->i;
	v->s = g->none ? NULL : &x->s;
	v->facts = g->closed ? NULL : &x->facts;
	v->can = ~(1u << CAN_RESIZE_LIVE);
	if (g->live)
		v->can |= 1u << CAN_RESIZE_LIVE;
	if (g->cannot)
		v->can &= ~(1u << (g->cannot - 1));
	v->region_paused = g->region_paused;
	v->region_touched = g->region_touched ? NOW - 1000 : 1;
	v->now = NOW;
	v->behind = g->clock_behind * 1000LL;
	v->called_at = g->called ? NOW - g->called * 1000LL : 0;
	v->look_at = from_now(g->look);
	v->missing = g->missing;
	v->volumes_ready = g->volumes_ready;
	for (size_t n = 0; n < 3 && !g->no_flavor; n++) {
		x->shortage[n].until =
			NOW + 60000 * (int64_t)(g->backwards ? 3 - n : n + 1);
		if (g->short_of >> n & 1)
			x->flavor[n].shortages =
				(struct items){&x->shortage[n], 1};
		x->flavor[n].meta.id = flavor_ids[n];
		x->flavor[n].provider_id = provider_ids[n];
		v->flavors[n] = &x->flavor[n];
	}
}

void case_set(struct setup *x, const struct given *g)
{
	x->group = "g";
	x->other_group = "o";
	x->source = "10.0.0.0/8";
	x->tag = (struct field_tag){"k", "v"};
	set_instance(x, g);
	set_server(x, g);
	set_view(x, g);
}

bool case_holds(const struct row *r)
{
	struct setup *x = calloc(1, sizeof(*x));
	const struct wanted *w = &r->wanted;
	struct machine_step step;
	bool ok;

	case_set(x, &r->given);
	machine_plan(&x->v, &step);
	ok = step.what == w->what && step.until == from_now(w->until) &&
	     step.offering == w->offering && step.hard == w->hard &&
	     step.refused == w->refused && step.waits_for == w->waits &&
	     (w->volume ? step.volume && strcmp(step.volume, w->volume) == 0
			: !step.volume);
	if (!ok)
		printf("# %s: %s until %lld, offering %zu%s%s, waits %d\n",
		       r->name, machine_word(step.what),
		       (long long)(step.until ? step.until - NOW : 0),
		       step.offering, step.hard ? ", hard" : "",
		       step.refused ? ", refused" : "", step.waits_for);
	free(x);
	return ok;
}

#include "whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "faults.h"
#include "judge.h"
#include "model/instance.h"
#include "model/region.h"
#include "model/server.h"
#include "reconcile/cascade.h"
#include "rig.h"
#include "store/read.h"
#include "users.h"

#define MINUTE 60000

/* How long everything may take to come to rest: a clock that was put back an
 * hour makes what waits wait an hour longer. */
#define REST_MOST (6 * 60 * MINUTE)

enum { RUN_MOST = 40, BOUNDARY_MOST = 60, REST_STEPS = 200000, SWEEPS = 3 };

/* One thing after the other, and time when there is nothing else. */
static void run(struct rig *r, uint64_t steps)
{
	while (steps-- > 0 && !judge_verdict(r->judge))
		if (!rig_step(r))
			rig_wait(r, 2000);
}

static void pass(struct rig *r, uint64_t ms)
{
	uint64_t end = r->mono + ms;

	for (int n = 0; n < 2000 && r->mono < end; n++)
		if (!rig_step(r))
			rig_wait(r, end - r->mono);
}

static bool call_waits(const struct rig *r)
{
	return !list_empty(&r->jobs) && r->n_made < MADE_MOST;
}

static bool answer_waits(const struct rig *r)
{
	return r->n_made && r->made[0].due <= r->mono;
}

static bool commit_waits(const struct rig *r)
{
	return memory_pending(r->backend);
}

/* Go on until one of these can be; false when that does not come. */
static bool until(struct rig *r, bool (*can)(const struct rig *r))
{
	for (int n = 0; n < BOUNDARY_MOST; n++) {
		if (can(r))
			return true;
		if (!rig_step(r))
			rig_wait(r, 2000);
	}
	return can(r);
}

static void crash(struct rig *r, uint32_t what)
{
	switch (what % 6) {
	case 0: /* before it is written */
		until(r, commit_waits);
		break;
	case 1:
		if (until(r, commit_waits))
			memory_write_silently(r->backend);
		break;
	case 2: /* before it is made */
		until(r, call_waits);
		break;
	case 3: /* made, and not answered; maybe in the middle of it */
		if (until(r, call_waits)) {
			r->until_doom = 1;
			rig_call(r);
		}
		break;
	case 4: /* answered, and not recorded */
		if (until(r, answer_waits))
			rig_answer(r, 0);
		break;
	default: /* recorded, and that not known */
		if (until(r, answer_waits)) {
			rig_answer(r, 0);
			memory_write_silently(r->backend);
		}
	}
	rig_crash(r);
}

static void jump(struct rig *r, uint32_t what)
{
	static const int64_t by[] = {1000,  90000,  3600000,
				     -1000, -30000, -3600000};

	judge_clock(r->judge, r->wall);
	r->wall += by[what % COUNT_OF(by)];
	/* By more than the log reaches back: it may be cut at once. */
	if (by[what % COUNT_OF(by)] >= 3600000)
		judge_forgets(r->judge);
	tell(r, "the clock jumps by %lld", (long long)by[what % COUNT_OF(by)]);
}

static void weather(struct rig *r, uint32_t what)
{
	struct sim_options o = setting_weather(r->start, what);

	tell(r, "weather %u", what % 10);
	sim_cloud_set_options(r->cloud, &o);
}

static void act(struct rig *r, const struct act *a)
{
	static const enum fate fates[] = {FATE_UNSENT, FATE_LOST, FATE_TWICE,
					  FATE_LATE};

	random_seed(&r->chance, a->seed);
	tell(r, "act %s %u %u %u", act_names[a->kind], a->who, a->what,
	     a->seed);
	switch (a->kind) {
	case ACT_RUN:
		run(r, 1 + roll(r, RUN_MOST));
		break;
	case ACT_PASS:
		pass(r, 1 + roll(r, a->what % 4 ? 5000 : 120000));
		break;
	case ACT_CRASH:
		crash(r, a->what);
		break;
	case ACT_REFUSE:
		r->refuse = true;
		break;
	case ACT_CLOCK:
		jump(r, a->what);
		break;
	case ACT_WEATHER:
		weather(r, a->what);
		break;
	case ACT_LATE:
		r->fate = fates[a->what % COUNT_OF(fates)];
		break;
	case ACT_DRIFT:
		cloud_drifts(r, a);
		break;
	case ACT_LIST:
		cloud_lists(r, a);
		break;
	case ACT_STRAY:
		cloud_strays(r, a);
		break;
	case ACT_VANISH:
		cloud_hides(r, a);
		break;
	default:
		users_act(r, a);
	}
}

static const struct region *region_of(struct rig *r)
{
	struct record record;

	return store_get(r->store, 0, &region_kind, r->start->region, &record)
		       ? record.object
		       : NULL;
}

/* There are orphans that are going to be removed. */
static bool orphans_go(struct rig *r)
{
	const struct region *region = region_of(r);
	const struct orphan *o = region->status.monitor.orphans.at;
	struct record record;

	if (region->spec.orphan_policy != ORPHANS_REMOVE)
		return false;
	for (size_t i = 0; i < region->status.monitor.orphans.n; i++)
		if (!o[i].server_id || !store_get(r->store, 0, &server_kind,
						  o[i].server_id, &record))
			return true;
	return false;
}

/* Until nothing is to be done, and that was seen to be so by looking at all
 * machines some times. */
static void rest(struct rig *r)
{
	uint64_t end = r->mono + REST_MOST, still = r->mono;
	int64_t looks = 3 * r->setting.observe_seconds * 1000 + MINUTE;

	for (int n = 0; n < REST_STEPS && !judge_verdict(r->judge); n++) {
		if (rig_step(r))
			continue;
		if (!rig_rests(r) || orphans_go(r))
			still = r->mono;
		if (r->mono >= still + (uint64_t)looks)
			return;
		if (r->mono >= end)
			break;
		rig_wait(r, 10000);
	}
	if (!judge_verdict(r->judge))
		judge_broken(
			r->judge, JUDGE_STUCK,
			"it never comes to rest: %zu works, %u calls "
			"under way, %zu deletions, %lld orphans%s",
			rig_works(r), r->n_made, cascade_pending(r->cascade),
			(long long)region_of(r)->status.monitor.orphan_count,
			store_idle(r->store) ? "" : ", things to write");
}

static void make_well(struct rig *r)
{
	tell(r, "all is well");
	cloud_clears(r);
	random_seed(&r->chance, r->calls);
	sim_cloud_set_options(r->cloud, r->start->options);
	r->fate = FATE_NONE;
	r->refuse = false;
	r->list = (struct list_spell){0};
}

static size_t count(struct rig *r, const struct kind *k)
{
	struct scan scan = store_scan(r->store, 0, k, NULL);
	struct record record;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &record, &effort))
		n++;
	return n;
}

static void look(struct rig *r)
{
	streams_end(r);
	judge_rest(r->judge, r->cloud, r->wall);
}

static void finish(struct rig *r)
{
	make_well(r);
	for (int n = 0; n < 5; n++) {
		if (!users_mend(r) && n)
			break;
		rest(r);
		if (judge_verdict(r->judge))
			return;
	}
	look(r);
	users_leave(r);
	rest(r);
	if (!judge_verdict(r->judge))
		look(r);
	if (count(r, &instance_kind))
		judge_broken(r->judge, JUDGE_STUCK, "%zu instances are left",
			     count(r, &instance_kind));
}

void whole_play(const struct tape *t, bool loud, struct played *ret)
{
	struct rig *r = xcalloc(1, sizeof(*r));
	struct setting setting;
	const char *why;

	setting_read(t->setting, &setting);
	rig_open(r, &setting, t->seed, loud);
	random_seed(&r->chance, t->seed);
	users_begin(r);
	for (uint32_t i = 0; i < t->n && !judge_verdict(r->judge); i++)
		act(r, &t->acts[i]);
	if (!judge_verdict(r->judge))
		finish(r);
	why = judge_verdict(r->judge);
	*ret = (struct played){.held = !why,
			       .class = judge_class(r->judge),
			       .revisions = r->revisions,
			       .calls = r->calls,
			       .crashes = r->crashes,
			       .launches = r->launches,
			       .digest = r->digest};
	snprintf(ret->why, sizeof(ret->why), "%s", why ? why : "");
	rig_close(r);
	free(r);
}

/*
 * wire - the way to the cloud, in place of the driver's own (sim_link.h): the
 * cloud outlives the server, and what goes wrong on the way is the tape's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "judge.h"
#include "model/region.h"
#include "model/server.h"
#include "provider/sim_link.h"
#include "reconcile/monitor_plan.h"
#include "rig.h"
#include "store/read.h"

#define TIMEOUT_MS 30000

struct sim_link {
	struct rig *rig;
	const struct sim_options *options;
};

int sim_link_open(const struct provider_conf *conf,
		  const struct sim_options *options, struct sim_link **out,
		  struct err *err)
{
	(void)err;
	*out = xcalloc(1, sizeof(**out));
	**out = (struct sim_link){conf->ctx, options};
	sim_cloud_listen((*out)->rig->cloud, conf->changed, conf->listener);
	return 0;
}

void sim_link_close(struct sim_link *l)
{
	sim_cloud_listen(l->rig->cloud, NULL, NULL);
	free(l);
}

const struct sim_options *sim_link_options(const struct sim_link *l)
{
	return l->options;
}

struct sim_cloud *sim_link_cloud(struct sim_link *l)
{
	return l->rig->cloud;
}

static int no_answer(struct rig *r, struct err *err)
{
	r->hold = TIMEOUT_MS;
	return err_set(err, ERR_TIMEOUT, "the cloud did not answer in %d ms",
		       TIMEOUT_MS);
}

static int make(struct rig *r, enum sim_call call, const void *ask,
		struct arena *a, void *answer, struct err *err)
{
	int result = sim_cloud_call(r->cloud, call, ask, a, answer, err);
	unsigned char note[2] = {(unsigned char)call,
				 result < 0 ? (unsigned char)err->code : 0};

	r->calls++;
	r->launches += call == SIM_LAUNCH;
	rig_note(r, note, sizeof(note));
	tell(r, "call %s %s: %s", sim_methods[call].name,
	     call != SIM_LAUNCH && call != SIM_ENSURE && call != SIM_LIST &&
			     call != SIM_REBUILD && call != SIM_SET_ACCESS &&
			     ((const struct sim_act *)ask)->id
		     ? ((const struct sim_act *)ask)->id
		     : "",
	     result < 0 ? err->msg : "ok");
	judge_called(r->judge, r->cloud, r->since, r->wall);
	return result;
}

/* The process dies after so many calls, with whatever was doing them. */
static void die_maybe(struct rig *r)
{
	if (r->until_doom && --r->until_doom == 0)
		r->doomed = true;
}

static bool is_hidden(const struct rig *r, const char *machine)
{
	unsigned sum = r->list.seed;

	for (; *machine; machine++)
		sum = sum * 31 + (unsigned char)*machine;
	return sum % 8 != 0;
}

static void leave_out(struct sim_page *page, size_t i)
{
	struct sim_machine *at = page->machines.at;

	page->machines.n--;
	memmove(at + i, at + i + 1, (page->machines.n - i) * sizeof(*at));
}

static void spoil(struct rig *r, struct sim_page *page)
{
	struct sim_machine *at = page->machines.at;
	size_t n = page->machines.n;

	tell(r, "the list is not as it should be: %d", (int)r->list.fate);
	if (r->list.fate == LIST_HIDDEN) {
		for (size_t i = n; i-- > 0;)
			if (is_hidden(r, at[i].id))
				leave_out(page, i);
	} else if (n > 1 && r->list.fate == LIST_TWICE) {
		at[0] = at[n - 1];
	} else if (n) {
		leave_out(page, r->list.seed % n);
	}
}

static const void *get(const struct rig *r, const struct kind *k,
		       const char *id)
{
	struct record record;

	return id && store_get(r->store, 0, k, id, &record) ? record.object
							    : NULL;
}

/* So many are not shown that nobody may believe it; MACHINE is one of them, and
 * only asked for by who looks at them all. */
static bool is_among_many(const struct rig *r, const char *machine)
{
	const struct provider_facts facts = {
		.consistency_ms = (uint32_t)r->start->options->consistency_ms};
	const struct region *region = get(r, &region_kind, r->start->region);
	struct scan scan = store_scan(r->store, 0, &server_kind, NULL);
	size_t effort = 0, missing = 0, of = 0;
	struct record record;
	bool found = false;

	while (scan_next(&scan, &record, &effort)) {
		const struct server *s = record.object;

		of += s->status.phase == SERVER_LAUNCHED;
		if (!monitor_judges(get(r, &instance_kind, s->instance_id), s,
				    &facts, r->list.began) ||
		    !is_hidden(r, s->status.provider_id) ||
		    !rig_rests_on(r, s->instance_id))
			continue;
		missing++;
		found |= strcmp(s->status.provider_id, machine) == 0;
	}
	return found && monitor_trips(missing, of,
				      (size_t)region->status.monitor.accepted);
}

/* A spell is on the lists: -1 when this call is not made. */
static int list_spell(struct rig *r, enum sim_call call, const void *ask,
		      struct err *err)
{
	const struct sim_act *act = ask;

	if (r->list.fate == LIST_HIDDEN && r->mono >= r->list.until)
		r->list.fate = LIST_WHOLE;
	if (call == SIM_DESCRIBE && r->list.fate == LIST_HIDDEN &&
	    is_hidden(r, act->id) && is_among_many(r, act->id))
		return err_set(err, ERR_NOT_FOUND, "there is no machine %s",
			       act->id);
	if (call == SIM_LIST && r->list.fate == LIST_FAILS && r->list.left) {
		r->list.left--;
		return err_set(err, ERR_UNAVAILABLE, "there is no list now");
	}
	return 0;
}

static void spoil_maybe(struct rig *r, enum sim_call call, const void *ask,
			void *answer)
{
	const struct sim_act *act = ask;

	/* Lists of one server's machines are how a launch is found. */
	if (call != SIM_LIST || !act->key ||
	    strcmp(act->key, TAG_INSTALLATION) != 0)
		return;
	if (!act->page)
		r->list.began = store_time(r->store);
	if (r->list.fate == LIST_HIDDEN || r->list.left) {
		r->list.left -= r->list.left > 0;
		spoil(r, answer);
	}
}

int sim_link_call(struct sim_link *l, enum sim_call call, const void *ask,
		  struct arena *a, void *answer, struct err *err)
{
	struct rig *r = l->rig;
	enum fate fate = r->fate;
	int result;

	if (r->doomed)
		return err_set(err, ERR_UNAVAILABLE, "there is nobody to ask");
	r->fate = FATE_NONE;
	if (fate == FATE_UNSENT)
		return no_answer(r, err);
	if (list_spell(r, call, ask, err) < 0)
		return -1;
	if (fate == FATE_TWICE)
		(void)make(r, call, ask, a, answer, err);
	result = make(r, call, ask, a, answer, err);
	if (result == 0)
		spoil_maybe(r, call, ask, answer);
	die_maybe(r);
	if (fate == FATE_LOST)
		return no_answer(r, err);
	if (fate == FATE_LATE)
		r->hold = 1 + roll(r, TIMEOUT_MS);
	return result;
}

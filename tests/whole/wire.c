/*
 * wire - the way to the cloud, in place of the driver's own (sim_link.h): the
 * cloud outlives the server, and what goes wrong on the way is the tape's.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "judge.h"
#include "provider/sim_link.h"
#include "rig.h"

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
	return 0;
}

void sim_link_close(struct sim_link *l)
{
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
	if (fate == FATE_TWICE)
		(void)make(r, call, ask, a, answer, err);
	result = make(r, call, ask, a, answer, err);
	die_maybe(r);
	if (fate == FATE_LOST)
		return no_answer(r, err);
	if (fate == FATE_LATE)
		r->hold = 1 + roll(r, TIMEOUT_MS);
	return result;
}

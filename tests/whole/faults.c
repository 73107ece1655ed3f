#include "faults.h"

#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "model/server.h"
#include "provider/sim_place.h"
#include "rig.h"
#include "store/read.h"
#include "tape.h"

#define MINUTE 60000

static const struct server *nth_server(struct rig *r, uint32_t n)
{
	struct scan scan = store_scan(r->store, 0, &server_kind, NULL);
	struct record record;
	size_t effort = 0;
	const struct server *s = NULL;

	for (uint32_t i = 0; i <= n % 8 && scan_next(&scan, &record, &effort);
	     i++)
		s = record.object;
	return s;
}

void cloud_drifts(struct rig *r, const struct act *act)
{
	static const char *const what[] = {"kill", "vanish", "halt",
					   "boot", "fail",   "confuse"};
	const struct server *s = nth_server(r, act->who);
	const char *how = what[act->what % COUNT_OF(what)];
	struct err err;

	/* Where there are no tags nobody looks at all machines. */
	if (!s || !s->status.provider_id || !r->start->options->tags)
		return;
	judge_meddled(r->judge, r->cloud);
	tell(r, "drift: %s %s", how, s->status.provider_id);
	if (sim_cloud_drift(r->cloud, s->status.provider_id, how, &err) == 0 &&
	    strcmp(how, "confuse") == 0 && r->n_confused < CONFUSED_MOST)
		snprintf(r->confused[r->n_confused++], sizeof(r->confused[0]),
			 "%s", s->status.provider_id);
	judge_meddled(r->judge, r->cloud);
}

void cloud_clears(struct rig *r)
{
	struct err err;

	judge_meddled(r->judge, r->cloud);
	for (unsigned i = 0; i < r->n_confused; i++)
		(void)!sim_cloud_drift(r->cloud, r->confused[i], "boot", &err);
	judge_meddled(r->judge, r->cloud);
}

/* Some id that no server has. */
static const char *no_server(struct rig *r, char id[37])
{
	unsigned char bytes[16];

	random_fill(&r->chance.base, bytes, sizeof(bytes));
	snprintf(id, 37, "%02x%02x%02x%02x-0000-4000-8000-000000000000",
		 bytes[0], bytes[1], bytes[2], bytes[3]);
	return id;
}

/* Another of the same server.  It is in no network, which could not be removed
 * then; and where a launch looks for what is there, it would be taken for it. */
static bool is_double(struct rig *r, const struct act *act,
		      struct sim_machine *ret)
{
	const struct server *s = nth_server(r, act->who);
	const struct sim_place *p =
		act->what % 4 == 1 && s && s->status.provider_id &&
				r->start->options->launch_tokens
			? map_get(&r->cloud->machines, s->status.provider_id)
			: NULL;

	if (!p)
		return false;
	*ret = *p->doc;
	ret->token = ret->id = ret->zone = ret->network = NULL;
	ret->groups.n = 0;
	return true;
}

void cloud_strays(struct rig *r, const struct act *act)
{
	char id[37];
	struct field_tag tags[] = {
		{TAG_SERVER, no_server(r, id)},
		{TAG_INSTALLATION, DISK_INSTALLATION},
	};
	struct sim_machine made, ask = {.name = "stray",
					.flavor = "sim.small",
					.image = "debian-12",
					.root_disk_gib = 10,
					.tags = {tags, 2}};
	struct arena a;
	struct err err;

	if (!r->start->options->tags)
		return;
	if (act->what % 4 == 2)
		tags[1].value = id;
	else if (act->what % 4 == 3)
		ask.tags.n = 0;
	judge_meddled(r->judge, r->cloud);
	arena_init(&a, 1 << 20);
	tell(r, "a stray: %u%s", act->what % 4,
	     is_double(r, act, &ask) ? ", a double" : "");
	(void)!sim_cloud_call(r->cloud, SIM_LAUNCH, &ask, &a, &made, &err);
	arena_release(&a);
	judge_meddled(r->judge, r->cloud);
}

void cloud_lists(struct rig *r, const struct act *act)
{
	r->list = (struct list_spell){
		.fate = (enum list_fate)(LIST_FAILS + act->what % 3),
		.left = 1 + act->who % 3,
		.seed = act->seed,
	};
}

void cloud_hides(struct rig *r, const struct act *act)
{
	r->list = (struct list_spell){
		.fate = LIST_HIDDEN,
		.until = r->mono + 1 + roll(r, 10 * MINUTE),
		.seed = act->seed,
	};
}

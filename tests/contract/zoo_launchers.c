/* Drivers that launch and terminate wrongly. */
#include <stdio.h>
#include <string.h>

#include "model/server.h"
#include "zoo.h"

static const struct machine_ops *sim(void)
{
	return sim_driver.machines;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static int loses_token(struct provider *p, const struct machine_spec *spec,
		       struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	s.token = arena_printf(a, "%s-%u", spec->token, ++cage_of(p)->calls);
	return sim()->launch(p, &s, a, ret, err);
}

static int cuts_token(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	s.token = arena_memdup(a, spec->token, 4);
	return sim()->launch(p, &s, a, ret, err);
}

static int leaks(struct provider *p, const struct machine_spec *spec,
		 struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;
	struct err unheard;

	if (sim()->launch(p, spec, a, ret, err) == 0)
		return 0;
	s.flavor = "sim.small";
	s.image = "debian-12";
	s.zone = s.network = NULL;
	if (sim()->launch(p, &s, a, ret, &unheard) < 0)
		return err_set(err, ERR_INTERNAL, "nothing leaked");
	return -1;
}

static int leaks_unseen(struct provider *p, const struct machine_spec *spec,
			struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	if (!same(spec->flavor, "muster-verify-none"))
		return sim()->launch(p, spec, a, ret, err);
	s.tags = (struct items){0};
	return leaks(p, &s, a, ret, err);
}

static int any_flavor(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	if (same(spec->flavor, "muster-verify-none"))
		s.flavor = "sim.small";
	return sim()->launch(p, &s, a, ret, err);
}

static int any_zone(struct provider *p, const struct machine_spec *spec,
		    struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	s.zone = NULL;
	return sim()->launch(p, &s, a, ret, err);
}

static int any_network(struct provider *p, const struct machine_spec *spec,
		       struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	if (same(spec->network, "muster-verify-none"))
		s.network = NULL;
	return sim()->launch(p, &s, a, ret, err);
}

static int waits(struct provider *p, const struct machine_spec *spec,
		 struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	while (ret->state == INSTANCE_PENDING) {
		cage_of(p)->sleep(NULL, 500);
		if (sim()->describe(p, ret->id, a, ret, err) < 0)
			return -1;
	}
	return 0;
}

static int waits_unseen(struct provider *p, const struct machine_spec *spec,
			struct arena *a, struct machine *ret, struct err *err)
{
	struct machine later;

	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	return waits(p, spec, a, &later, err);
}

static int drops_tags(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	s.tags = (struct items){0};
	return sim()->launch(p, &s, a, ret, err);
}

static int ageless(struct provider *p, const struct machine_spec *spec,
		   struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	ret->created_at = 0;
	return 0;
}

static int bytes_as_text(struct provider *p, const struct machine_spec *spec,
			 struct arena *a, struct machine *ret, struct err *err)
{
	if (spec->user_data && strlen(spec->user_data) < spec->user_data_len)
		return err_at(err, ERR_INVALID, "/userData",
			      "user data must be text");
	return sim()->launch(p, spec, a, ret, err);
}

static int never_spot(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	struct machine_spec s = *spec;

	s.spot = false;
	return sim()->launch(p, &s, a, ret, err);
}

static int knows_no_reason(struct provider *p, const struct machine_spec *spec,
			   struct arena *a, struct machine *ret,
			   struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) == 0)
		return 0;
	err_set(err, ERR_INTERNAL, "it did not work");
	err->retry = ERR_RETRY_NEVER;
	return -1;
}

static int never_gives_up(struct provider *p, const struct machine_spec *spec,
			  struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) == 0)
		return 0;
	err->retry = ERR_RETRY_LATER;
	return -1;
}

static int chatters(struct provider *p, const struct machine_spec *spec,
		    struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) == 0)
		return 0;
	if (spec->user_data)
		err_wrap(err, "user_data=%.*s", (int)spec->user_data_len,
			 spec->user_data);
	return -1;
}

static int tells_the_key(struct provider *p, const struct machine_spec *spec,
			 struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) == 0)
		return 0;
	if (spec->host_key.private_key)
		err_wrap(err, "host_key=%s", spec->host_key.private_key);
	return -1;
}

/* Places, each with the id of whom it is let to now; our id is its number. */

static char *let_to(struct provider *p, const char *id)
{
	char name[16];

	for (unsigned i = 0; i < CAGE_PLACES; i++) {
		snprintf(name, sizeof(name), "place-%u", i);
		if (strcmp(name, id) == 0)
			return cage_of(p)->places[i];
	}
	return NULL;
}

static const char *place_of(struct provider *p, const char *id, struct arena *a)
{
	struct cage *c = cage_of(p);
	unsigned n = 0;

	for (unsigned i = 0; i < CAGE_PLACES; i++)
		if (strcmp(c->places[i], id) == 0)
			return arena_printf(a, "place-%u", i);
	while (c->places[n][0])
		n++;
	snprintf(c->places[n], sizeof(c->places[n]), "%s", id);
	return arena_printf(a, "place-%u", n);
}

static int lets_place(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	ret->id = place_of(p, ret->id, a);
	return 0;
}

static int looks_at_place(struct provider *p, const char *id, struct arena *a,
			  struct machine *ret, struct err *err)
{
	const char *now = let_to(p, id);

	if (sim()->describe(p, now ? now : id, a, ret, err) < 0)
		return -1;
	ret->id = id;
	return 0;
}

static int clears_place(struct provider *p, const char *id, struct err *err)
{
	char *now = let_to(p, id);

	if (sim()->terminate(p, now ? now : id, err) < 0)
		return -1;
	if (now)
		now[0] = '\0';
	return 0;
}

static int lists_places(struct provider *p, const struct machine_filter *f,
			const char *page, struct arena *a,
			struct machine_page *ret, struct err *err)
{
	struct machine *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = arena_alloc(a, ret->machines.n * sizeof(*m) + 1);
	for (size_t i = 0; i < ret->machines.n; i++) {
		m[i] = ((const struct machine *)ret->machines.at)[i];
		m[i].id = place_of(p, m[i].id, a);
	}
	ret->machines.at = m;
	return 0;
}

static int forgets_to_terminate(struct provider *p, const char *id,
				struct err *err)
{
	(void)p;
	(void)id;
	(void)err;
	return 0;
}

/* The state it is in; 0: there is none. */
static int state_of(struct provider *p, const char *id)
{
	struct machine m = {0};
	struct arena a;
	struct err err;
	int state;

	arena_init(&a, (size_t)1 << 20);
	state = sim()->describe(p, id, &a, &m, &err) == 0 ? m.state : 0;
	arena_release(&a);
	return state;
}

static int needs_it_there(struct provider *p, const char *id, struct err *err)
{
	if (!state_of(p, id))
		return err_set(err, ERR_NOT_FOUND, "there is no such machine");
	return sim()->terminate(p, id, err);
}

static int terminates_once(struct provider *p, const char *id, struct err *err)
{
	if (state_of(p, id) == INSTANCE_TERMINATED)
		return err_set(err, ERR_CONFLICT, "it is gone already");
	return sim()->terminate(p, id, err);
}

#define AGAIN   "the same launch again is the same machine"
#define REFUSED "a launch that is refused leaves nothing"
#define AT_ONCE "launch gives the id before the machine runs"

const struct animal zoo_launchers[] = {
	{"loses the token", "a launch that is repeated makes one machine",
	 "launch", AGAIN, .machines = {.launch = loses_token}},
	{"cuts the token short", "two launches are two machines", "launch",
	 "every launch has an id of its own",
	 .machines = {.launch = cuts_token}},
	{"leaks a machine when it refuses", "what is refused is not there",
	 "launch", REFUSED, .machines = {.launch = leaks}},
	{"leaks an untagged machine when it refuses",
	 "what is refused is not there", "launch", "nothing is left behind",
	 .machines = {.launch = leaks_unseen}},
	{"takes another flavor for one it does not know",
	 "an unknown flavor is refused", "launch", REFUSED,
	 .machines = {.launch = any_flavor}},
	{"ignores the zone", "an unknown zone is refused", "launch", REFUSED,
	 .machines = {.launch = any_zone}},
	{"ignores a network it does not know", "an unknown network is refused",
	 "launch", REFUSED, .machines = {.launch = any_network}},
	{"waits until the machine runs",
	 "the id is told as soon as it is known", "launch", AT_ONCE,
	 "{\"launchMs\":5000}", .machines = {.launch = waits}},
	{"waits, and answers as if it had not",
	 "the id is told as soon as it is known", "launch", AT_ONCE,
	 "{\"launchMs\":5000}", .machines = {.launch = waits_unseen}},
	{"drops the tags", "a machine says whose it is", "launch",
	 "the machine carries our tags", .machines = {.launch = drops_tags}},
	{"does not say when a machine was made", "an answer is whole", "launch",
	 "launch tells of the machine", .machines = {.launch = ageless}},
	{"takes user data for text", "bytes are bytes", "launch",
	 "user data and keys are accepted",
	 .machines = {.launch = bytes_as_text}},
	{"launches no spot machines and says so nowhere",
	 "what is asked to be spot is", "launch", "spot machines launch",
	 .machines = {.launch = never_spot}},
	{"calls every error internal", "an err says what may help", "launch",
	 "refusals say what is wrong", .machines = {.launch = knows_no_reason}},
	{"wants what cannot pass to be tried again",
	 "an err says what may help", "launch", REFUSED,
	 .machines = {.launch = never_gives_up}},
	{"repeats user data in its errors", "errors tell no secrets", "launch",
	 "refusals keep secrets", .machines = {.launch = chatters}},
	{"repeats the host's key in its errors", "errors tell no secrets",
	 "launch", "refusals keep secrets",
	 .machines = {.launch = tells_the_key}},
	{"reuses ids", "an id is one machine's for ever",
	 "launch, describe, terminate, list",
	 "every launch has an id of its own",
	 "{\"lacks\":[\"stop\",\"reboot\",\"resize\",\"rebuild\","
	 "\"growRootDisk\",\"tag\",\"access\",\"console\",\"consoleOutput\","
	 "\"snapshot\",\"volumes\"]}",
	 .machines = {.launch = lets_place,
		      .describe = looks_at_place,
		      .terminate = clears_place,
		      .list = lists_places}},
	{"forgets to terminate", "what is terminated goes", "terminate",
	 "terminate ends in terminated or gone",
	 .machines = {.terminate = forgets_to_terminate}},
	{"cannot terminate what is not there", "what is gone is gone",
	 "terminate", "terminate of an unknown machine succeeds",
	 .machines = {.terminate = needs_it_there}},
	{"cannot terminate twice", "terminate can be repeated", "terminate",
	 "terminate twice succeeds",
	 .machines = {.terminate = terminates_once}},
	{0},
};

/* Drivers that change a machine wrongly. */
#include <stdio.h>
#include <string.h>

#include "model/server.h"
#include "provider/sim_cloud.h"
#include "zoo.h"

static const struct machine_ops *sim(void)
{
	return sim_driver.machines;
}

static int untags_at_stop(struct provider *p, const char *id, bool hard,
			  struct err *err)
{
	if (sim()->stop(p, id, hard, err) < 0)
		return -1;
	return sim_cloud_drift(sim_truth(p), id, "untag", err);
}

static int untags_at_start(struct provider *p, const char *id, struct err *err)
{
	if (sim()->start(p, id, err) < 0)
		return -1;
	return sim_cloud_drift(sim_truth(p), id, "untag", err);
}

static int stops_nothing(struct provider *p, const char *id, bool hard,
			 struct err *err)
{
	struct machine m;
	struct arena a;
	int r;

	(void)hard;
	arena_init(&a, (size_t)1 << 20);
	r = sim()->describe(p, id, &a, &m, err);
	arena_release(&a);
	return r;
}

static int stops_once(struct provider *p, const char *id, bool hard,
		      struct err *err)
{
	if (cage_of(p)->calls++ % 2)
		return err_set(err, ERR_CONFLICT, "it is off already");
	return sim()->stop(p, id, hard, err);
}

/* Which one was started. */
static int remembers_start(struct provider *p, const char *id, struct err *err)
{
	struct cage *c = cage_of(p);

	snprintf(c->id, sizeof(c->id), "%s", id);
	return sim()->start(p, id, err);
}

static int another_id(struct provider *p, const char *id, struct arena *a,
		      struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (strcmp(cage_of(p)->id, id) == 0)
		ret->id = arena_printf(a, "%s-2", id);
	return 0;
}

static int another_birth(struct provider *p, const char *id, struct arena *a,
			 struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (strcmp(cage_of(p)->id, id) == 0)
		ret->created_at++;
	return 0;
}

static int reboots_to_off(struct provider *p, const char *id, bool hard,
			  struct err *err)
{
	return sim()->stop(p, id, hard, err);
}

static int resizes_nothing(struct provider *p, const char *id,
			   const char *flavor, struct err *err)
{
	(void)p;
	(void)id;
	(void)flavor;
	(void)err;
	return 0;
}

static int grows_nothing(struct provider *p, const char *id, int64_t gib,
			 struct err *err)
{
	(void)p;
	(void)id;
	(void)gib;
	(void)err;
	return 0;
}

static int rebuilds_nothing(struct provider *p, const char *id,
			    const struct machine_spec *spec, struct err *err)
{
	(void)p;
	(void)id;
	(void)spec;
	(void)err;
	return 0;
}

static int replaces(struct provider *p, const char *id,
		    const struct machine_spec *spec, struct err *err)
{
	struct machine_spec s = *spec;
	struct machine m;
	struct arena a;
	int r;

	arena_init(&a, (size_t)1 << 20);
	s.token = "another";
	r = sim()->terminate(p, id, err);
	if (r == 0)
		r = sim()->launch(p, &s, &a, &m, err);
	arena_release(&a);
	return r;
}

static int forgets_whose(struct provider *p, const char *id,
			 const struct items *tags, struct err *err)
{
	const struct field_tag *from = tags->at;
	struct field_tag to[8];
	struct items others = {to, 0};

	for (size_t i = 0; i < tags->n && others.n < COUNT_OF(to); i++)
		if (strncmp(from[i].key, "muster/", 7) != 0)
			to[others.n++] = from[i];
	return sim()->set_tags(p, id, &others, err);
}

static int only_adds_tags(struct provider *p, const char *id,
			  const struct items *tags, struct err *err)
{
	const struct field_tag *from;
	struct field_tag to[16];
	struct items all = {to, 0};
	struct machine m;
	struct arena a;
	int r;

	arena_init(&a, (size_t)1 << 20);
	r = sim()->describe(p, id, &a, &m, err);
	from = tags->at;
	for (size_t i = 0; r == 0 && i < tags->n; i++)
		to[all.n++] = from[i];
	from = m.tags.at;
	for (size_t i = 0; r == 0 && i < m.tags.n; i++)
		if (strncmp(from[i].key, "muster/", 7) != 0)
			to[all.n++] = from[i];
	if (r == 0)
		r = sim()->set_tags(p, id, &all, err);
	arena_release(&a);
	return r;
}

static int remembers(struct provider *p, const struct machine_spec *spec,
		     struct arena *a, struct machine *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	snprintf(c->id, sizeof(c->id), "%s", ret->id);
	return 0;
}

static int last_output(struct provider *p, const char *id, size_t length,
		       struct arena *a, struct buf *out, struct err *err)
{
	(void)id;
	return sim()->console_output(p, cage_of(p)->id, length, a, out, err);
}

#define KEEPS  "stop and start keep the machine and its tags"
#define REMAIN "a machine that was stopped is the same one"

const struct animal zoo_changers[] = {
	{"loses the tags at a stop", "a machine says whose it is", "stop",
	 KEEPS, .machines = {.stop = untags_at_stop}},
	{"loses the tags at a start", "a machine says whose it is", "start",
	 KEEPS, .machines = {.start = untags_at_start}},
	{"stops nothing", "what is answered is done", "stop", KEEPS,
	 .machines = {.stop = stops_nothing}},
	{"cannot stop twice", "what is done already is done", "stop", KEEPS,
	 .machines = {.stop = stops_once}},
	{"has another id after a start", REMAIN, "start, describe", KEEPS,
	 .machines = {.start = remembers_start, .describe = another_id}},
	{"starts another machine under the same id", REMAIN, "start, describe",
	 KEEPS,
	 .machines = {.start = remembers_start, .describe = another_birth}},
	{"stops a machine that is to reboot", "what is rebooted runs again",
	 "reboot", "reboot works", .machines = {.reboot = reboots_to_off}},
	{"resizes nothing", "what is answered is done", "resize",
	 "resize works", .machines = {.resize = resizes_nothing}},
	{"grows no root disk", "what is answered is done", "grow_root_disk",
	 "the root disk grows", .machines = {.grow_root_disk = grows_nothing}},
	{"rebuilds nothing", "what is answered is done", "rebuild",
	 "rebuild works", .machines = {.rebuild = rebuilds_nothing}},
	{"rebuilds by making another machine", "it is the same machine",
	 "rebuild", "rebuild works", .machines = {.rebuild = replaces}},
	{"forgets whose a machine is when it sets tags",
	 "our tags are among them", "set_tags", "tags can be set",
	 .machines = {.set_tags = forgets_whose}},
	{"only ever adds tags", "the tags are those that it is to have",
	 "set_tags", "tags can be set",
	 .machines = {.set_tags = only_adds_tags}},
	{"shows the console output of another machine",
	 "output is the machine's own", "launch, console_output",
	 "console output is the machine's own",
	 .machines = {.launch = remembers, .console_output = last_output}},
	{0},
};

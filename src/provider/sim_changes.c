/* What is done to a machine that is there. */
#include <string.h>

#include "provider/sim_catalogue.h"
#include "provider/sim_machines.h"
#include "provider/sim_place.h"

static bool is_in(const struct sim_place *p, const char *state)
{
	return strcmp(p->doc->state, state) == 0;
}

/* The machine, when it runs or is off. */
static struct sim_place *settled(struct sim_cloud *c, const char *id,
				 struct err *err)
{
	struct sim_place *p = sim_machine_find(c, id, err);

	if (!p || is_in(p, SIM_ACTIVE) || is_in(p, SIM_HALTED))
		return p;
	sim_refuse(err, ERR_CONFLICT, "IncorrectState", "the machine is %s",
		   p->doc->state);
	err->retry = ERR_RETRY_LATER;
	return NULL;
}

static int check_resize(struct sim_cloud *c, struct sim_machine *m,
			const char *flavor, struct err *err)
{
	const struct sim_flavor *new =
		flavor ? sim_flavor(c->options, flavor) : NULL;
	const struct sim_flavor *old = sim_flavor(c->options, m->flavor);

	if (!new)
		return sim_refuse(err, ERR_INVALID, "InvalidFlavor",
				  "there is no flavor %s",
				  flavor ? flavor : "");
	if (old && strcmp(old->architecture, new->architecture) != 0)
		return sim_refuse(err, ERR_INVALID, "InvalidFlavor",
				  "the flavor %s has other processors", flavor);
	m->flavor = new->id;
	if (!sim_place_full(c, m))
		return 0;
	return sim_refuse(err, ERR_CAPACITY, "InsufficientCapacity",
			  "there is no room for a %s", flavor);
}

int sim_do_resize(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = settled(c, act->id, err);
	struct sim_machine m;

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (act->flavor && strcmp(p->doc->flavor, act->flavor) == 0)
		return 0;
	m = *p->doc;
	if (check_resize(c, &m, act->flavor, err) < 0)
		return -1;
	sim_place_revise(c, p, &m);
	if (is_in(p, SIM_ACTIVE) && !c->options->resize_live)
		sim_place_move(c, p, SIM_RESIZING, SIM_ACTIVE,
			       sim_delay(c, c->options->start_ms));
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_rebuild(struct sim_cloud *c, const void *ask, struct arena *a,
		   void *answer, struct err *err)
{
	const struct sim_machine *want = ask;
	struct sim_place *p = settled(c, want->id, err);
	struct sim_machine m;

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	m = *p->doc;
	m.image = want->image;
	m.user_data = want->user_data;
	m.ssh_keys = want->ssh_keys;
	m.host_key = want->host_key;
	if (sim_launch_check(c, &m, err) < 0)
		return -1;
	if (!c->options->keeps_user_data)
		m.user_data = NULL;
	sim_place_revise(c, p, &m);
	if (sim_place_addresses(c, p, err) < 0)
		return -1;
	sim_place_move(c, p, SIM_REBUILDING, SIM_ACTIVE,
		       sim_delay(c, c->options->launch_ms));
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_grow(struct sim_cloud *c, const void *ask, struct arena *a,
		void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	const struct sim_flavor *f;

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	f = sim_flavor(c->options, p->doc->flavor);
	if (act->gib < p->doc->root_disk_gib || (f && f->fixed_disk))
		return sim_refuse(err, ERR_INVALID, "InvalidSize",
				  "the root disk has %lld GiB%s",
				  (long long)p->doc->root_disk_gib,
				  f && f->fixed_disk ? ", as the flavor says"
						     : " and cannot shrink");
	p->doc->root_disk_gib = act->gib;
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_set_tags(struct sim_cloud *c, const void *ask, struct arena *a,
		    void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	struct sim_machine m;

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (!c->options->tags)
		return sim_refuse(err, ERR_UNSUPPORTED, "NoTags",
				  "machines have no tags here");
	if (sim_tags_check(&act->tags, err) < 0)
		return -1;
	m = *p->doc;
	m.tags = act->tags;
	sim_place_revise(c, p, &m);
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_set_access(struct sim_cloud *c, const void *ask, struct arena *a,
		      void *answer, struct err *err)
{
	const struct sim_machine *want = ask;
	struct sim_place *p = sim_machine_find(c, want->id, err);
	const char *const *groups = want->groups.at;
	struct sim_machine m;

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	for (size_t i = 0; i < want->groups.n; i++)
		if (!map_get(&c->things, groups[i]))
			return sim_refuse(err, ERR_INVALID, "InvalidReference",
					  "there is no group %s", groups[i]);
	m = *p->doc;
	m.groups = want->groups;
	m.sources = want->sources;
	m.has_public = want->has_public;
	sim_place_revise(c, p, &m);
	if (!is_in(p, SIM_HALTED) || c->options->keeps_addresses)
		if (sim_place_addresses(c, p, err) < 0)
			return -1;
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_console(struct sim_cloud *c, const void *ask, struct arena *a,
		   void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	struct sim_text *ret = answer;

	if (!p)
		return -1;
	if (!is_in(p, SIM_ACTIVE))
		return sim_refuse(err, ERR_CONFLICT, "IncorrectState",
				  "the machine is %s", p->doc->state);
	ret->text = NULL;
	if (c->options->console_url)
		ret->text = arena_printf(a, "wss://console.sim.invalid/%s/%s",
					 act->console ? act->console : "serial",
					 act->id);
	return 0;
}

int sim_do_output(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	struct sim_text *ret = answer;
	const struct sim_machine *m;
	size_t len, most;
	char *all;

	if (!p)
		return -1;
	m = p->doc;
	all = arena_printf(
		a,
		"sim: %s, boot %lld of %s\n"
		"sim: image %s, flavor %s\n"
		"sim: user data %s\n"
		"%s login: \n",
		m->id, (long long)m->boots, m->name, m->image, m->flavor,
		m->user_data_digest ? m->user_data_digest : "none", m->name);
	len = strlen(all);
	most = act->length > 0 ? (size_t)act->length : len;
	ret->text = all + (len > most ? len - most : 0);
	return 0;
}

int sim_do_offers(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	(void)ask;
	(void)err;
	sim_offers(c->options, a, answer);
	return 0;
}

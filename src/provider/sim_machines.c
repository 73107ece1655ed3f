#include "provider/sim_machines.h"

#include <string.h>

#include "base/field_ops.h"
#include "model/reach.h"
#include "provider/sim_catalogue.h"
#include "provider/sim_place.h"

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static const char *text(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static struct items texts(struct arena *a, const struct items *from)
{
	const char **to = arena_alloc(a, from->n * sizeof(*to) + 1);

	for (size_t i = 0; i < from->n; i++)
		to[i] = arena_strdup(a, ((const char **)from->at)[i]);
	return (struct items){to, from->n};
}

static struct items tags(struct arena *a, const struct items *from)
{
	const struct field_tag *t = from->at;
	struct field_tag *to = arena_alloc(a, from->n * sizeof(*to) + 1);

	for (size_t i = 0; i < from->n; i++)
		to[i] = (struct field_tag){arena_strdup(a, t[i].key),
					   arena_strdup(a, t[i].value)};
	return (struct items){to, from->n};
}

static struct items ports(struct arena *a, const struct items *from)
{
	struct port *to = arena_alloc(a, from->n * sizeof(*to) + 1);

	for (size_t i = 0; i < from->n; i++) {
		to[i] = ((const struct port *)from->at)[i];
		to[i].address = arena_strdup(a, to[i].address);
	}
	return (struct items){to, from->n};
}

static const char *guest_of(const struct sim_cloud *c,
			    const struct sim_machine *m)
{
	if (!m->up_at || !same(m->state, SIM_ACTIVE))
		return NULL;
	if (m->hung)
		return "hung";
	return c->now < m->up_at ? "booting" : "up";
}

void sim_machine_copy(const struct sim_cloud *c, const struct sim_machine *m,
		      struct arena *a, struct sim_machine *ret)
{
	*ret = *m;
	ret->id = text(a, m->id);
	ret->token = text(a, m->token);
	ret->name = text(a, m->name);
	ret->flavor = text(a, m->flavor);
	ret->image = text(a, m->image);
	ret->zone = text(a, m->zone);
	ret->network = text(a, m->network);
	ret->root_disk_class = text(a, m->root_disk_class);
	ret->groups = texts(a, &m->groups);
	ret->sources = texts(a, &m->sources);
	ret->ssh_keys = (struct items){0};
	ret->tags = tags(a, &m->tags);
	ret->user_data = NULL;
	ret->user_data_digest = text(a, m->user_data_digest);
	ret->private_ip = text(a, m->private_ip);
	ret->private_ip6 = text(a, m->private_ip6);
	ret->public_ip = text(a, m->public_ip);
	ret->mac = text(a, m->mac);
	ret->ports = ports(a, &m->ports);
	ret->host_key = NULL;
	ret->guest = guest_of(c, m);
	ret->state = text(a, m->state);
	ret->reason = text(a, m->reason);
	ret->next = NULL;
	ret->due = 0;
}

static int not_found(const char *id, struct err *err)
{
	return sim_refuse(err, ERR_NOT_FOUND, "MachineNotFound",
			  "there is no machine %s", id ? id : "");
}

struct sim_place *sim_machine_find(struct sim_cloud *c, const char *id,
				   struct err *err)
{
	struct sim_place *p = id ? map_get(&c->machines, id) : NULL;

	if (p && !sim_place_gone(p))
		return p;
	not_found(id, err);
	return NULL;
}

static bool is_seen(const struct sim_cloud *c, const struct sim_place *p)
{
	int64_t at = p->doc->created_at;

	/* What is made later than now was made before the clock was put back. */
	return at > c->now || at + c->options->consistency_ms <= c->now;
}

int sim_do_describe(struct sim_cloud *c, const void *ask, struct arena *a,
		    void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = act->id ? map_get(&c->machines, act->id) : NULL;

	if (!p || !is_seen(c, p))
		return not_found(act->id, err);
	sim_machine_copy(c, p->doc, a, answer);
	return 0;
}

int sim_do_terminate(struct sim_cloud *c, const void *ask, struct arena *a,
		     void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (same(p->doc->state, SIM_DELETING))
		return 0;
	sim_place_move(c, p, SIM_DELETING, SIM_DELETED,
		       sim_delay(c, c->options->terminate_ms));
	return sim_journal_machine(c, p->doc, err);
}

/* Which machines a list is of; each tag of ours has its own. */
static struct sorted *listed(struct sim_cloud *c, const struct sim_act *act,
			     bool *ret_scan)
{
	struct sim_tagset *set;

	*ret_scan = false;
	if (!act->key)
		return &c->all_machines;
	set = sim_tagset(c, act->key, act->value ? act->value : "");
	if (set)
		return &set->machines;
	*ret_scan = true;
	return &c->all_machines;
}

static bool is_listed(const struct sim_cloud *c, const struct sim_act *act,
		      const struct sim_place *p, bool scan)
{
	if (sim_place_gone(p) || !is_seen(c, p))
		return false;
	return !scan ||
	       same(field_tag_get(&p->doc->tags, act->key), act->value);
}

/* Tags of ours are all indexed: what is not there, nobody has. */
static bool is_indexed(const struct sim_act *act)
{
	return act->key &&
	       (strncmp(act->key, "muster/", 7) == 0 || same(act->key, "name"));
}

int sim_do_list(struct sim_cloud *c, const void *ask, struct arena *a,
		void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_page *page = answer;
	size_t most = (size_t)c->options->page_size;
	struct sim_machine *to;
	struct sorted_walk w;
	struct sim_place *p;
	struct sorted *set;
	bool scan;

	*page = (struct sim_page){0};
	if (act->page && sim_chance(c, c->options->partial_list_rate))
		return sim_refuse(err, ERR_UNAVAILABLE, "PageUnavailable",
				  "a page of the list cannot be read");
	set = listed(c, act, &scan);
	if (scan && is_indexed(act))
		return 0;
	page->machines.at = to = arena_alloc(
		a, (set->count < most ? set->count : most) * sizeof(*to) + 1);
	w = sorted_from(set, act->page);
	while ((p = sorted_next(&w))) {
		if (!is_listed(c, act, p, scan))
			continue;
		if (page->machines.n == most) {
			page->next = to[most - 1].id;
			break;
		}
		sim_machine_copy(c, p->doc, a, &to[page->machines.n++]);
	}
	return 0;
}

/* What can be done to a machine depends on what it is doing. */
static int wrong_state(const struct sim_place *p, struct err *err)
{
	sim_refuse(err, ERR_CONFLICT, "IncorrectState", "the machine is %s",
		   p->doc->state);
	err->retry = ERR_RETRY_LATER;
	return -1;
}

int sim_do_stop(struct sim_cloud *c, const void *ask, struct arena *a,
		void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	int64_t ms = sim_delay(c, c->options->stop_ms);

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (same(p->doc->state, SIM_HALTED) ||
	    (same(p->doc->state, SIM_HALTING) && !act->hard))
		return 0;
	if (!same(p->doc->state, SIM_ACTIVE) &&
	    !same(p->doc->state, SIM_REBOOTING) &&
	    !same(p->doc->state, SIM_HALTING))
		return wrong_state(p, err);
	if (!act->hard && sim_chance(c, c->options->stop_ignored_rate))
		ms = SIM_NEVER;
	sim_place_move(c, p, SIM_HALTING, SIM_HALTED, ms);
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_start(struct sim_cloud *c, const void *ask, struct arena *a,
		 void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (same(p->doc->state, SIM_ACTIVE) || same(p->doc->state, SIM_BOOTING))
		return 0;
	if (!same(p->doc->state, SIM_HALTED))
		return wrong_state(p, err);
	if (sim_place_addresses(c, p, err) < 0)
		return -1;
	sim_place_move(c, p, SIM_BOOTING, SIM_ACTIVE,
		       sim_delay(c, c->options->start_ms));
	return sim_journal_machine(c, p->doc, err);
}

int sim_do_reboot(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);

	(void)a;
	(void)answer;
	if (!p)
		return -1;
	if (same(p->doc->state, SIM_REBOOTING))
		return 0;
	if (!same(p->doc->state, SIM_ACTIVE))
		return wrong_state(p, err);
	sim_place_move(c, p, SIM_REBOOTING, SIM_ACTIVE,
		       sim_delay(c, c->options->start_ms));
	return sim_journal_machine(c, p->doc, err);
}

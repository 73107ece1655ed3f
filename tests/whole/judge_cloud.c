/* judge_cloud.c - what calls have made of the cloud, by looking at all of it
 * after each: only what was intended is there, and nothing was destroyed that
 * nobody gave up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "judge_rules.h"
#include "judge_view.h"
#include "model/server.h"
#include "provider/sim_place.h"
#include "store/memory.h"

#define NAME_PREFIX "muster." DISK_INSTALLATION "."

/* One look at all of it. */
struct look {
	struct judge *j;
	const struct sim_cloud *cloud;
	uint64_t since;
	bool meddling; /* the test did it */
};

static const char *const words[] = {
	SIM_BUILDING, SIM_ACTIVE,    SIM_HALTING,  SIM_HALTED,
	SIM_BOOTING,  SIM_REBOOTING, SIM_RESIZING, SIM_REBUILDING,
	SIM_DELETING, SIM_DELETED,   SIM_ERROR,
};

static const char *word(const char *state)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i], state) == 0)
			return words[i];
	return SIM_CONFUSED;
}

static bool is(const char *state, const char *what)
{
	return strcmp(state, what) == 0;
}

/* It comes to pass by itself. */
static bool is_natural(const char *from, const char *to)
{
	if (is(from, to))
		return true;
	if (is(from, SIM_BUILDING))
		return is(to, SIM_ACTIVE) || is(to, SIM_ERROR);
	if (is(from, SIM_BOOTING) || is(from, SIM_REBOOTING) ||
	    is(from, SIM_RESIZING) || is(from, SIM_REBUILDING))
		return is(to, SIM_ACTIVE);
	if (is(from, SIM_HALTING))
		return is(to, SIM_HALTED);
	return is(from, SIM_DELETING) && is(to, SIM_DELETED);
}

static bool is_going(const char *state)
{
	return is(state, SIM_DELETING) || is(state, SIM_DELETED);
}

const struct sight *live_machine(const struct judge *j, struct text server)
{
	for (size_t i = 0; i < j->n_sights; i++)
		if (!j->sights[i].gone && !j->sights[i].made_by_test &&
		    text_eq(server, j->sights[i].server))
			return &j->sights[i];
	return NULL;
}

static uint64_t mix(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h * 31;
}

/* What nobody may change of a machine that is not ours. */
static uint64_t settings(const struct sim_machine *m)
{
	const struct field_tag *t = m->tags.at;
	const char *const *g = m->groups.at;
	uint64_t h = mix(14695981039346656037u, m->name);

	for (size_t i = 0; i < m->tags.n; i++)
		h = mix(mix(h, t[i].key), t[i].value);
	for (size_t i = 0; i < m->groups.n; i++)
		h = mix(h, g[i]);
	return mix(h, m->network) + (uint64_t)m->root_disk_gib +
	       (uint64_t)m->has_public;
}

static void note(struct sight *s, const struct sim_machine *m)
{
	const char *installation = field_tag_get(&m->tags, TAG_INSTALLATION);
	const char *server = field_tag_get(&m->tags, TAG_SERVER);
	size_t len = strlen(NAME_PREFIX);

	if (strncmp(m->name, NAME_PREFIX, len) == 0) {
		installation = DISK_INSTALLATION;
		server = m->name + len;
	}
	/* One that has lost its tags is ours all the same. */
	if (installation && is(installation, DISK_INSTALLATION))
		s->ours = true;
	if (s->ours && server)
		snprintf(s->server, sizeof(s->server), "%s", server);
	if (!s->ours)
		s->settings = settings(m);
	snprintf(s->flavor, sizeof(s->flavor), "%s", m->flavor);
	snprintf(s->image, sizeof(s->image), "%s", m->image);
	s->boots = m->boots;
	s->created_at = m->created_at;
	s->state = word(m->state);
	s->spot = m->spot;
	s->gone = is(s->state, SIM_DELETED);
}

/* Something held of the object when the call was handed over, or since. */
typedef bool held(const struct judge *j, const struct doc *d, const void *what);

static bool ever(const struct look *l, const struct object *o, held *fn,
		 const void *what)
{
	for (const struct fact *f = o ? o->newest : NULL; f; f = f->prior) {
		if (f->doc && fn(l->j, f->doc, what))
			return true;
		if (f->revision <= l->since)
			break;
	}
	return false;
}

/* It was not there at some time since the call was handed over. */
static bool ever_absent(const struct look *l, const struct object *o)
{
	if (!o)
		return true;
	for (const struct fact *f = o->newest; f; f = f->prior) {
		if (!f->doc)
			return true;
		if (f->revision <= l->since)
			return false;
	}
	return true;
}

static bool offers(const struct judge *j, const char *kind, struct text id,
		   const char *native)
{
	const struct doc *d = view_get(j, kind, id);

	return !d || text_eq(d->provider_id, native);
}

/* Server D intends to have machine M. */
static bool is_intended(const struct judge *j, const struct doc *d,
			const void *what)
{
	const struct sim_machine *m = what;

	return text_eq(d->phase, "intended") &&
	       (!m->token || text_eq(d->token, m->token)) &&
	       offers(j, "flavor", d->flavor, m->flavor) &&
	       offers(j, "image", d->image, m->image) &&
	       offers(j, "network", d->network, m->network ? m->network : "");
}

static const struct doc *last_doc(const struct object *o)
{
	const struct fact *f = o ? o->newest : NULL;

	while (f && !f->doc)
		f = f->prior;
	return f ? f->doc : NULL;
}

/* No other is there for the same server, or the same instance. */
static void check_only(struct judge *j, const struct sight *s)
{
	const struct object *o = view_find(j, "server", text_of(s->server));
	const struct doc *d = last_doc(o);

	for (size_t i = 0; i < j->n_sights; i++) {
		const struct sight *t = &j->sights[i];
		const struct doc *e;

		if (t == s || t->gone || t->made_by_test || !t->ours)
			continue;
		e = last_doc(view_find(j, "server", text_of(t->server)));
		if (is(s->server, t->server) ||
		    (d && e && text_is(d->uid, e->uid)))
			judge_broken(j, JUDGE_DOUBLED,
				     "machine %s was made while %s of the same "
				     "%s is %s",
				     s->id, t->id,
				     is(s->server, t->server) ? "server"
							      : "instance",
				     t->state);
	}
}

static void check_born(const struct look *l, const struct sight *s,
		       const struct sim_machine *m)
{
	struct judge *j = l->j;

	if (!s->ours || !s->server[0]) {
		judge_broken(j, JUDGE_LOST,
			     "machine %s was made without our tags", s->id);
		return;
	}
	if (!ever(l, view_find(j, "server", text_of(s->server)), is_intended,
		  m))
		judge_broken(j, JUDGE_LOST,
			     "machine %s was made for server %s, which did not "
			     "intend it",
			     s->id, s->server);
	check_only(j, s);
}

static bool is_deleted(const struct judge *j, const struct doc *d,
		       const void *what)
{
	(void)j;
	(void)what;
	return d->deleted_at.at;
}

static bool is_given_up(const struct judge *j, const struct doc *d,
			const void *what)
{
	const struct sight *s = what;

	(void)j;
	return text_eq(d->phase, "leaving") &&
	       (text_eq(d->provider_id, s->id) || d->several);
}

static bool is_its_machine(const struct judge *j, const struct doc *d,
			   const void *what)
{
	const struct sight *s = what;

	(void)j;
	return text_eq(d->provider_id, s->id);
}

struct orphan_row {
	struct text id, until;
};

static const struct glance_row orphan_rows[] = {
	{"providerId", GLANCE_TEXT, offsetof(struct orphan_row, id), NULL},
	{"quarantinedUntil", GLANCE_TEXT, offsetof(struct orphan_row, until),
	 NULL},
	{0},
};

/* Region D has it as an orphan whose time is over, and removes such. */
static bool is_condemned(const struct judge *j, const struct doc *d,
			 const void *what)
{
	const struct sight *s = what;
	struct text list = d->orphans, item;

	while (text_eq(d->policy, "remove") && glance_next(&list, &item)) {
		struct orphan_row o = {0};

		glance(orphan_rows, item, &o);
		if (text_eq(o.id, s->id) && view_time(o.until) <= j->time_most)
			return true;
	}
	return false;
}

/* Rule 9. */
static bool may_be_swept(const struct look *l, const struct sight *s)
{
	const struct sim_options *o = l->cloud->options;
	const struct judge *j = l->j;
	int64_t now =
		l->cloud->now > j->time_most ? l->cloud->now : j->time_most;

	if (!ever_absent(l, view_find(j, "server", text_of(s->server))) ||
	    now - s->created_at < o->launch_limit_ms + o->consistency_ms)
		return false;
	for (size_t i = 0; i < j->n[NOUN_REGION]; i++)
		if (ever(l, j->lists[NOUN_REGION][i], is_condemned, s))
			return true;
	return false;
}

static bool may_go(const struct look *l, const struct sight *s)
{
	const struct object *o = view_find(l->j, "server", text_of(s->server));
	const struct doc *d = last_doc(o);

	if (!s->ours)
		return false;
	if (s->spot && l->cloud->options->spot_interruption_ms)
		return true;
	if (!d)
		return may_be_swept(l, s);
	return ever(l, o, is_given_up, s) ||
	       (ever(l, o, is_its_machine, s) &&
		ever(l, view_find(l->j, "instance", d->instance), is_deleted,
		     NULL)) ||
	       may_be_swept(l, s);
}

static void check_gone(const struct look *l, const struct sight *s)
{
	if (s->gone || is_going(s->state) || may_go(l, s))
		return;
	judge_broken(l->j, JUDGE_WRONGLY_DELETED,
		     "machine %s of server %s, which was %s, was removed: %s",
		     s->id, s->server, s->state,
		     !s->ours          ? "it is not ours"
		     : s->made_by_test ? "it was no orphan, or too early"
				       : "nobody gave it up");
}

/* One of the changes that WHAT lists is what its owner wants. */
static bool is_wanted(const struct judge *j, const struct doc *d,
		      const void *what)
{
	(void)j;
	return d->action.at &&
	       memmem(what, strlen(what), d->action.at, d->action.len);
}

static bool is_off(const struct judge *j, const struct doc *d, const void *what)
{
	(void)j;
	(void)what;
	return text_eq(d->power, "off") || text_eq(d->action, "resize");
}

static bool resizes_live(const struct look *l)
{
	return l->cloud->options->resize_live;
}

/* Rule 4, by what can be seen of it. */
static void check_done(const struct look *l, const struct sight *s,
		       const struct sim_machine *m)
{
	const struct object *o = view_find(l->j, "server", text_of(s->server));
	const struct doc *d = last_doc(o);
	const struct object *i =
		d ? view_find(l->j, "instance", d->instance) : NULL;
	const char *now = word(m->state), *what = NULL;

	if (s->spot && l->cloud->options->spot_interruption_ms && is_going(now))
		return;
	if ((!is(s->image, m->image) ||
	     (is(now, SIM_REBUILDING) && !is(s->state, SIM_REBUILDING))) &&
	    !ever(l, i, is_wanted, "rebuild"))
		what = "rebuilt";
	else if (!is(s->flavor, m->flavor) && !resizes_live(l) &&
		 !ever(l, i, is_wanted, "resize"))
		what = "resized";
	else if ((is(now, SIM_HALTING) || is(now, SIM_HALTED)) &&
		 !is(s->state, SIM_HALTING) && !is(s->state, SIM_HALTED) &&
		 !s->meddled && !ever(l, i, is_off, NULL))
		what = "stopped";
	else if (((is(now, SIM_REBOOTING) && !is(s->state, SIM_REBOOTING)) ||
		  (is(now, SIM_ACTIVE) && is(s->state, SIM_ACTIVE) &&
		   m->boots > s->boots)) &&
		 !ever(l, i, is_wanted, "reboot hardReboot rebuild resize"))
		what = "restarted";
	if (what)
		judge_broken(l->j, JUDGE_WRONGLY_DELETED,
			     "machine %s of server %s was %s, and nobody asked "
			     "for it",
			     s->id, s->server, what);
}

static void check_changed(const struct look *l, const struct sight *s,
			  const struct sim_machine *m)
{
	const char *now = word(m->state);

	if (!s->ours) {
		if (!is_natural(s->state, now) || !is(s->flavor, m->flavor) ||
		    !is(s->image, m->image) || s->settings != settings(m))
			judge_broken(l->j, JUDGE_WRONGLY_DELETED,
				     "machine %s is not ours, and was touched",
				     s->id);
		return;
	}
	if (is_going(now))
		check_gone(l, s);
	else
		check_done(l, s, m);
}

static struct sight *find(struct judge *j, const char *id, size_t *hint)
{
	if (*hint < j->n_sights && is(j->sights[*hint].id, id))
		return &j->sights[(*hint)++];
	for (size_t i = 0; i < j->n_sights; i++)
		if (is(j->sights[i].id, id)) {
			*hint = i + 1;
			return &j->sights[i];
		}
	return NULL;
}

static struct sight *add(struct judge *j, const char *id)
{
	struct sight *s;

	if (j->n_sights == j->room_sights) {
		j->room_sights = j->room_sights ? 2 * j->room_sights : 16;
		j->sights =
			xrealloc(j->sights, j->room_sights, sizeof(*j->sights));
	}
	s = &j->sights[j->n_sights++];
	memset(s, 0, sizeof(*s));
	snprintf(s->id, sizeof(s->id), "%s", id);
	return s;
}

static bool was_meddled_with(const struct sight *s, const struct sim_machine *m)
{
	return !is_natural(s->state, word(m->state)) ||
	       !is(s->flavor, m->flavor) || !is(s->image, m->image) ||
	       (s->ours && !m->tags.n && s->server[0] &&
		strncmp(m->name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0);
}

static void look_at(const struct look *l, const struct sim_machine *m,
		    size_t *hint)
{
	struct judge *j = l->j;
	struct sight *s = find(j, m->id, hint);

	if (!s) {
		s = add(j, m->id);
		note(s, m);
		s->made_by_test = s->meddled = l->meddling;
		if (!l->meddling)
			check_born(l, s, m);
	} else if (s->gone) {
		s->round = j->round;
		return;
	} else {
		if (l->meddling)
			s->meddled |= was_meddled_with(s, m);
		else
			check_changed(l, s, m);
		note(s, m);
	}
	s->round = j->round;
}

static void look_at_machines(const struct look *l)
{
	struct sorted_walk w = sorted_from(&l->cloud->all_machines, NULL);
	struct judge *j = l->j;
	const struct sim_place *p;
	size_t hint = 0;

	while ((p = sorted_next(&w)))
		look_at(l, p->doc, &hint);
	for (size_t i = 0; i < j->n_sights; i++) {
		struct sight *s = &j->sights[i];

		if (s->round == j->round || s->gone)
			continue;
		if (l->meddling)
			s->meddled = true;
		else
			check_gone(l, s);
		s->gone = true;
		s->state = SIM_DELETED;
	}
}

/* Our kind for one of the cloud's things, and its id. */
static const struct object *thing_of(const struct judge *j, const char *key)
{
	const char *slash = strchr(key, '/');
	bool group = strncmp(key, "group/", 6) == 0;
	char kind[32];

	if (!slash || (size_t)(slash - key) >= sizeof(kind))
		return NULL;
	snprintf(kind, sizeof(kind), "%.*s", (int)(slash - key), key);
	return view_find(j, group ? "securitygroup" : kind, text_of(slash + 1));
}

static bool is_there(const struct judge *j, const struct doc *d,
		     const void *what)
{
	(void)j;
	(void)d;
	(void)what;
	return true;
}

static struct holding_sight *find_holding(struct judge *j, const char *id)
{
	for (size_t i = 0; i < j->n_holdings; i++)
		if (is(j->holdings[i].id, id))
			return &j->holdings[i];
	return NULL;
}

static void look_at_thing(const struct look *l, const struct sim_holding *t)
{
	struct judge *j = l->j;
	struct holding_sight *h = find_holding(j, t->item.id);

	if (!h) {
		if (j->n_holdings == j->room_holdings) {
			j->room_holdings =
				j->room_holdings ? 2 * j->room_holdings : 16;
			j->holdings = xrealloc(j->holdings, j->room_holdings,
					       sizeof(*j->holdings));
		}
		h = &j->holdings[j->n_holdings++];
		memset(h, 0, sizeof(*h));
		snprintf(h->id, sizeof(h->id), "%s", t->item.id);
		snprintf(h->key, sizeof(h->key), "%s", t->ours);
		h->meddled = l->meddling;
		if (!l->meddling &&
		    !ever(l, thing_of(j, h->key), is_there, NULL))
			judge_broken(j, JUDGE_LOST,
				     "%s was made at the provider, and is not "
				     "written down",
				     h->key);
	}
	h->failed = is(t->doc->state, SIM_ERROR);
	h->round = j->round;
}

static void look_at_things(const struct look *l)
{
	struct sorted_walk w = sorted_from(&l->cloud->all_things, NULL);
	struct judge *j = l->j;
	const struct sim_holding *t;

	while ((t = sorted_next(&w)))
		look_at_thing(l, t);
	for (size_t i = 0; i < j->n_holdings; i++) {
		struct holding_sight *h = &j->holdings[i];
		const struct object *o;

		if (h->round == j->round || h->gone)
			continue;
		h->gone = true;
		o = thing_of(j, h->key);
		if (!l->meddling && !h->meddled && !h->failed &&
		    !ever(l, o, is_deleted, NULL) && !ever_absent(l, o))
			judge_broken(j, JUDGE_WRONGLY_DELETED,
				     "%s was removed, and is not being deleted",
				     h->key);
	}
}

static void look(const struct look *l)
{
	l->j->round++;
	look_at_machines(l);
	look_at_things(l);
}

void judge_called(struct judge *j, struct sim_cloud *cloud, uint64_t since,
		  int64_t wall)
{
	const struct look l = {j, cloud, since, false};

	j->wall = wall;
	/* Where the clock was put back, what is written goes on as it was. */
	if (wall - cloud->now > j->ahead_most)
		j->ahead_most = wall - cloud->now;
	judge_clock(j, wall);
	j->time_most = cloud->now + j->ahead_most;
	look(&l);
}

void judge_meddled(struct judge *j, struct sim_cloud *cloud)
{
	const struct look l = {j, cloud, j->newest, true};

	look(&l);
}

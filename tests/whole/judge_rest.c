/* judge_rest.c - with everything at rest: what the cloud has is what the store
 * says, that is what is wanted, and nothing waits for ever. */
#include <stdio.h>
#include <string.h>

#include "judge_rules.h"
#include "judge_view.h"
#include "provider/sim_place.h"

struct rest {
	struct judge *j;
	const struct sim_cloud *cloud;
};

static bool is(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void *by_id(const struct map *m, struct text id)
{
	return id.at ? map_getn(m, id.at, id.len) : NULL;
}

/* The test has had its hand in what became of the server. */
static bool is_excused(const struct judge *j, struct text server)
{
	for (size_t i = 0; i < j->n_sights; i++)
		if (j->sights[i].meddled &&
		    text_eq(server, j->sights[i].server))
			return true;
	return false;
}

static bool waits_for_somebody(const struct doc *d)
{
	return d->reason.at && !d->retry_at.at &&
	       (text_eq(d->waits_for, "operator") ||
		text_eq(d->waits_for, "specChange"));
}

static const char *native(const struct judge *j, const char *kind,
			  struct text id, char to[48])
{
	const struct doc *d = view_get(j, kind, id);

	snprintf(to, 48, "%.*s", d ? (int)d->provider_id.len : 0,
		 d && d->provider_id.at ? d->provider_id.at : "");
	return to;
}

/* The groups that it is in are those that it is to be in. */
static bool same_groups(const struct judge *j, const struct doc *i,
			const struct sim_machine *m)
{
	struct text list = i->groups, item;
	const char *const *has = m->groups.at;
	size_t n = 0;
	char id[48];

	while (glance_next(&list, &item)) {
		native(j, "securitygroup", glance_string(item), id);
		if (n >= m->groups.n || !is(has[n], id))
			return false;
		n++;
	}
	return n == m->groups.n;
}

struct wanted_volume {
	struct text id;
};

static const struct glance_row volume_rows[] = {
	{"volumeId", GLANCE_TEXT, offsetof(struct wanted_volume, id), NULL},
	{0},
};

/* Its volumes are at it. */
static void check_volumes(const struct rest *r, const struct object *o,
			  const struct doc *i)
{
	struct text list = i->wants, item;

	while (glance_next(&list, &item)) {
		struct wanted_volume w = {0};
		const struct sim_holding *h;
		const struct doc *v;

		glance(volume_rows, item, &w);
		v = view_get(r->j, "volume", w.id);
		h = v ? by_id(&r->cloud->things, v->provider_id) : NULL;
		if (!v || !text_is(v->instance, o->id) || !h ||
		    !text_eq(i->provider_id,
			     h->doc->machine ? h->doc->machine : ""))
			judge_broken(r->j, JUDGE_STUCK,
				     "volume %.*s is not at instance %.*s",
				     TEXT(w.id), TEXT(i->name));
	}
}

/* One that the test put there with the server's tag, and that was taken for its
 * own where launches have no tokens: it is as the test made it. */
static bool is_adopted(const struct judge *j, const char *id)
{
	for (size_t i = 0; i < j->n_sights; i++)
		if (j->sights[i].made_by_test && is(j->sights[i].id, id))
			return true;
	return false;
}

static bool is_an_alternative(const struct doc *i, struct text flavor)
{
	return i->alternatives.at &&
	       memmem(i->alternatives.at, i->alternatives.len, flavor.at,
		      flavor.len);
}

/* Where it is looked at: its guest, which has been up for long, is known to
 * be. */
static void check_guest(const struct rest *r, const struct doc *i,
			const struct sim_machine *m)
{
	if (!r->cloud->options->tags || !m->up_at || !is(m->state, SIM_ACTIVE))
		return;
	if (!text_eq(i->readiness, "ready") ||
	    (!i->reason.at && !text_eq(i->health, "healthy")))
		judge_broken(r->j, JUDGE_STUCK,
			     "the guest of instance %.*s is up, and it is "
			     "%.*s, %.*s",
			     TEXT(i->name), TEXT(i->readiness),
			     TEXT(i->health));
}

static void check_machine(const struct rest *r, const struct object *o,
			  const struct doc *i, const struct doc *s)
{
	const struct sim_place *p = by_id(&r->cloud->machines, s->provider_id);
	const struct sim_machine *m;
	struct judge *j = r->j;
	const char *wrong = NULL;
	bool off = text_eq(i->power, "off");
	char id[48];

	if (!p || sim_place_gone(p)) {
		judge_broken(j, JUDGE_LOST,
			     "instance %.*s is %.*s, and its machine is gone",
			     TEXT(i->name), TEXT(i->state));
		return;
	}
	m = p->doc;
	if (!is(m->state, off ? SIM_HALTED : SIM_ACTIVE))
		wrong = "state";
	else if (!is(m->flavor, native(j, "flavor", s->flavor, id)) ||
		 (!text_is(s->flavor, i->flavor) &&
		  !is_an_alternative(i, s->flavor)))
		wrong = "flavor";
	else if (!is(m->image, native(j, "image", i->image, id)))
		wrong = "image";
	else if (!is(m->network, native(j, "network", i->network, id)))
		wrong = "network";
	else if (!same_groups(j, i, m))
		wrong = "groups";
	else if (m->has_public != i->public_ip)
		wrong = "public address";
	if (wrong && !is_adopted(j, m->id))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s has another %s than is wanted: "
			     "%s, %s, %s",
			     TEXT(i->name), wrong, m->state, m->flavor,
			     m->image);
	check_volumes(r, o, i);
	check_guest(r, i, m);
}

static void check_instance(const struct rest *r, const struct object *o,
			   const struct doc *i)
{
	const struct doc *s = view_get(r->j, "server", i->server);
	const struct doc *region = view_get(r->j, "region", i->region);
	bool off = text_eq(i->power, "off");

	if (i->deleted_at.at)
		judge_broken(r->j, JUDGE_STUCK,
			     "the deletion of instance %.*s does not end",
			     TEXT(i->name));
	if (!s || i->paused || !region || region->paused)
		return;
	if (text_eq(i->state, off ? "stopped" : "running") &&
	    text_eq(i->provisioning, "provisioned") && !i->action.at)
		check_machine(r, o, i, s);
	else if (!waits_for_somebody(s) || !is_excused(r->j, i->server))
		judge_broken(r->j, JUDGE_STUCK,
			     "instance %.*s is %.*s, %.*s, change %.*s %.*s, "
			     "server %.*s %.*s, reason %.*s waits for %.*s",
			     TEXT(i->name), TEXT(i->state),
			     TEXT(i->provisioning), TEXT(i->action),
			     TEXT(i->step), TEXT(s->phase), TEXT(s->state),
			     TEXT(s->reason), TEXT(s->waits_for));
}

static bool is_listed(const struct judge *j, const struct sight *m)
{
	const struct doc *d;
	size_t i = 0;

	while ((d = view_each(j, NOUN_REGION, &i, NULL)))
		if (!d->observe || d->missing_since.at ||
		    (d->orphans.at && memmem(d->orphans.at, d->orphans.len,
					     m->id, strlen(m->id))))
			return true;
	return false;
}

static void check_sight(struct judge *j, const struct sight *m)
{
	const struct doc *s;

	if (m->gone || !m->ours || is(m->state, SIM_DELETING))
		return;
	s = view_get(j, "server", text_of(m->server));
	if (s && text_eq(s->provider_id, m->id))
		return;
	/* Which of them is its machine an operator has to say. */
	if (s && s->several && text_eq(s->waits_for, "operator"))
		return;
	if (!m->made_by_test && !m->meddled)
		judge_broken(
			j, JUDGE_LOST,
			"machine %s of server %s, which is %s, is nobody's",
			m->id, m->server, m->state);
	else if (m->made_by_test && !is_listed(j, m))
		judge_broken(j, JUDGE_LOST,
			     "machine %s, which the test made, was not found",
			     m->id);
}

static bool is_thing(const struct judge *j, const char *key)
{
	const char *id = strchr(key, '/') + 1;

	if (strncmp(key, "group/", 6) == 0)
		return view_get(j, "securitygroup", text_of(id));
	if (strncmp(key, "volume/", 7) == 0)
		return view_get(j, "volume", text_of(id));
	if (strncmp(key, "network/", 8) == 0)
		return view_get(j, "network", text_of(id));
	return view_get(j, "image", text_of(id));
}

static void check_things(const struct rest *r)
{
	static const enum noun_kind nouns[] = {NOUN_NETWORK, NOUN_VOLUME,
					       NOUN_GROUP};
	struct judge *j = r->j;
	struct object *o;
	const struct doc *d;

	for (size_t i = 0; i < j->n_holdings; i++)
		if (!j->holdings[i].gone && !j->holdings[i].meddled &&
		    !is_thing(j, j->holdings[i].key))
			judge_broken(j, JUDGE_LOST,
				     "%s is at the provider, and nobody's",
				     j->holdings[i].key);
	for (size_t k = 0; k < sizeof(nouns) / sizeof(*nouns); k++)
		for (size_t i = 0; (d = view_each(j, nouns[k], &i, &o));) {
			if (d->deleted_at.at || !text_eq(d->state, "ready"))
				judge_broken(j, JUDGE_STUCK, "%s is %.*s",
					     o->key, TEXT(d->state));
			else if (!by_id(&r->cloud->things, d->provider_id))
				judge_broken(j, JUDGE_LOST,
					     "%s is not at the provider",
					     o->key);
		}
}

static void check_deadlines(struct judge *j)
{
	struct object *o;
	const struct doc *d;

	for (int noun = 0; noun < NOUN_OTHER; noun++)
		for (size_t i = 0;
		     (d = view_each(j, (enum noun_kind)noun, &i, &o));) {
			int64_t deadline = view_time(d->deadline);

			if (deadline && deadline < j->wall)
				judge_broken(j, JUDGE_STUCK,
					     "%s is %.*s, past its deadline",
					     o->key, TEXT(d->state));
			if ((noun == NOUN_PROJECT ||
			     noun == NOUN_ORGANIZATION || noun == NOUN_IMAGE) &&
			    d->deleted_at.at)
				judge_broken(j, JUDGE_STUCK,
					     "the deletion of %s does not end",
					     o->key);
		}
}

void judge_rest(struct judge *j, struct sim_cloud *cloud, int64_t wall)
{
	const struct rest r = {j, cloud};
	struct object *o;
	const struct doc *d;

	j->wall = wall;
	for (size_t i = 0; (d = view_each(j, NOUN_INSTANCE, &i, &o));)
		check_instance(&r, o, d);
	for (size_t i = 0; i < j->n_sights; i++)
		check_sight(j, &j->sights[i]);
	check_things(&r);
	check_deadlines(j);
	rules_sums(j);
	rules_streams_complete(j);
}

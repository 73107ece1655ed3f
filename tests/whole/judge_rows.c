/* judge_rows.c - what a row may do to instances and their servers. */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "judge_rules.h"
#include "judge_view.h"

/* What may follow a state of an instance. */
static const struct {
	const char *from, *to;
} moves[] = {
	{"pending", "running stopping stopped terminating terminated failed "
		    "unknown"},
	{"running", "pending stopping stopped terminating terminated failed "
		    "unknown"},
	{"stopping", "pending running stopped terminating terminated failed "
		     "unknown"},
	{"stopped", "pending running terminating terminated failed unknown"},
	{"terminating", "terminated pending failed"},
	{"terminated", "pending terminating failed"},
	{"failed", "pending running stopping stopped terminating terminated "
		   "unknown"},
	{"unknown", "pending running stopping stopped terminating terminated "
		    "failed"},
};

static bool has_word(const char *words, struct text word)
{
	for (const char *p = words; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n == word.len && memcmp(p, word.at, n) == 0)
			return true;
		p += n;
	}
	return false;
}

static bool may_become(struct text from, struct text to)
{
	if (text_is(from, to))
		return true;
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (text_eq(from, moves[i].from))
			return has_word(moves[i].to, to);
	return false;
}

static const struct doc *before(const struct fact *f)
{
	return f->prior ? f->prior->doc : NULL;
}

/* What held of an object before the row that is judged. */
static const struct doc *was(const struct judge *j, const struct object *o)
{
	const struct fact *f = view_newest(o, j->newest - 1);

	return f ? f->doc : NULL;
}

/* Rules 1 and 2: each names the other. */
static void check_links(struct judge *j, const struct object *o,
			const struct doc *d)
{
	const struct doc *s = view_get(j, "server", d->server);

	if (!s)
		judge_broken(j, JUDGE_LOST, "instance %.*s has no server",
			     TEXT(d->name));
	else if (!text_is(s->instance, o->id) || !text_is(s->uid, d->uid))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s and its server %.*s do not name "
			     "each other",
			     TEXT(d->name), TEXT(d->server));
}

static void check_created(struct judge *j, const struct object *o,
			  const struct doc *d)
{
	const struct doc *net = view_get(j, "network", d->network);
	char id[37], network[40], name[80];

	if (!net || net->deleted_at.at)
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s was made in a network that is %s",
			     TEXT(d->name),
			     net ? "being deleted" : "not there");
	else if (!text_is(net->organization, d->organization) ||
		 !text_is(net->project, d->project) ||
		 !text_is(net->region, d->region))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s is not its network's owner's",
			     TEXT(d->name));
	snprintf(network, sizeof(network), "%.*s", TEXT(d->network));
	snprintf(name, sizeof(name), "%.*s", TEXT(d->name));
	uuid_v5(network, name, id);
	if (!text_eq(o->id, id))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s has an id of its own",
			     TEXT(d->name));
	if (!text_eq(d->state, "pending"))
		judge_broken(j, JUDGE_OTHER, "instance %.*s begins as %.*s",
			     TEXT(d->name), TEXT(d->state));
	for (const struct fact *f = o->newest->prior; f; f = f->prior)
		if (f->doc && text_is(f->doc->uid, d->uid))
			judge_broken(j, JUDGE_OTHER,
				     "instance %.*s has the uid of an earlier "
				     "life",
				     TEXT(d->name));
	if (!is_asked_anew(j, "instances"))
		judge_broken(j, JUDGE_OTHER, "nobody asked for instance %.*s",
			     TEXT(d->name));
}

/* Rule 4: what a change needs was allowed. */
static void check_action(struct judge *j, const struct object *o,
			 const struct doc *old, const struct doc *new)
{
	const struct doc *region = view_get(j, "region", new->region);
	bool had = old->provider_id.at || old->launched_at.at;
	bool destroys = text_eq(new->action, "rebuild") ||
			text_eq(new->action, "replace");
	bool off = text_eq(old->state, "stopped") && text_eq(new->power, "off");
	bool live = region && region->capabilities.at &&
		    memmem(region->capabilities.at, region->capabilities.len,
			   "\"resizeLive\"", 12);

	if (!had || !j->n_asks)
		return;
	if (destroys && !is_asked(j, "PATCH PUT POST", o->id, "allow=rebuild"))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "a %.*s of instance %.*s was not allowed",
			     TEXT(new->action), TEXT(new->name));
	if (text_eq(new->action, "resize") && !off && !live &&
	    !is_asked(j, "PATCH PUT POST", o->id, "allow="))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "a resize of instance %.*s was not allowed",
			     TEXT(new->name));
	if ((text_eq(new->action, "reboot") ||
	     text_eq(new->action, "hardReboot")) &&
	    !is_asked(j, "POST", o->id, "/reboot"))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "a reboot of instance %.*s was not asked for",
			     TEXT(new->name));
}

static bool has_secret(struct text spec)
{
	return memmem(spec.at, spec.len, "\"userData\"", 10);
}

/* What is wanted changes only when somebody asks for it. */
static void check_wanted(struct judge *j, const struct object *o,
			 const struct doc *old, const struct doc *new)
{
	bool spec = !has_secret(new->spec) && !has_secret(old->spec) &&
		    !text_is(old->spec, new->spec);

	if (new->generation != old->generation &&new->generation !=
	    old->generation + 1)
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s: generation %lld after %lld",
			     TEXT(new->name), (long long)new->generation,
			     (long long)old->generation);
	if (spec && new->generation == old->generation)
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s: what is wanted changed, and not "
			     "its generation",
			     TEXT(new->name));
	if (new->generation != old->generation &&
	    !is_asked(j, "PATCH PUT POST", o->id, NULL))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s: nobody asked for generation %lld",
			     TEXT(new->name), (long long)new->generation);
	if (new->action.at && !text_is(new->action, old->action)) {
		if (!is_asked(j, "PATCH PUT POST", o->id, NULL))
			judge_broken(j, JUDGE_WRONGLY_DELETED,
				     "instance %.*s: nobody asked for a %.*s",
				     TEXT(new->name), TEXT(new->action));
		check_action(j, o, old, new);
	}
}

static void check_deletion(struct judge *j, const struct object *o,
			   const struct doc *old, const struct doc *new)
{
	int64_t expires = view_time(new->expires_at);

	if (old->deleted_at.at && !text_is(old->deleted_at, new->deleted_at))
		judge_broken(j, JUDGE_OTHER,
			     "the deletion of instance %.*s was taken back",
			     TEXT(new->name));
	if (new->deleted_at.at && !text_eq(new->state, "terminating"))
		judge_broken(j, JUDGE_OTHER,
			     "instance %.*s is being deleted, and %.*s",
			     TEXT(new->name), TEXT(new->state));
	if (old->deleted_at.at || !new->deleted_at.at)
		return;
	if (old->protected)
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "instance %.*s is protected, and deleted",
			     TEXT(new->name));
	else if (!(expires && expires <= j->wall_most) &&
		 !is_asked(j, "DELETE", o->id, NULL) && !is_in_dying(j, new))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "nobody asked for the deletion of instance %.*s",
			     TEXT(new->name));
}

static void check_same(struct judge *j, const struct object *o,
		       const struct doc *old, const struct doc *new)
{
	const struct {
		const char *what;
		struct text old, new;
	} rows[] = {
		{"name", old->name, new->name},
		{"uid", old->uid, new->uid},
		{"network", old->network, new->network},
		{"organization", old->organization, new->organization},
		{"project", old->project, new->project},
		{"region", old->region, new->region},
		{"time of birth", old->created_at, new->created_at},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!text_is(rows[i].old, rows[i].new))
			judge_broken(j, JUDGE_OTHER,
				     "%s: its %s is %.*s, not %.*s", o->key,
				     rows[i].what, TEXT(rows[i].new),
				     TEXT(rows[i].old));
}

/* Rules 3 and 5: the documents go when the machine is known to be gone. */
static void check_ended(struct judge *j, const struct doc *old)
{
	const struct sight *m = live_machine(j, old->server);
	int64_t expires = old->protected ? 0 : view_time(old->expires_at);

	/* One that has no machine may go as soon as its time is over. */
	if (!old->deleted_at.at && !(expires && expires <= j->wall_most))
		judge_broken(j, JUDGE_LOST,
			     "instance %.*s is gone, and was not being deleted",
			     TEXT(old->name));
	if (view_get(j, "server", old->server))
		judge_broken(j, JUDGE_LOST,
			     "the server of instance %.*s outlives it",
			     TEXT(old->name));
	if (m)
		judge_broken(j, JUDGE_LOST,
			     "instance %.*s is gone, and its machine %s is %s",
			     TEXT(old->name), m->id, m->state);
}

void rules_instances(struct judge *j)
{
	for (size_t i = 0; i < j->n_touched; i++) {
		const struct fact *f = j->touched[i];
		const struct doc *old = before(f), *new = f->doc;

		if (f->of->noun != NOUN_INSTANCE)
			continue;
		if (new)
			check_links(j, f->of, new);
		if (new && !old) {
			check_created(j, f->of, new);
		} else if (new) {
			check_same(j, f->of, old, new);
			check_wanted(j, f->of, old, new);
			check_deletion(j, f->of, old, new);
			if (!may_become(old->state, new->state))
				judge_broken(j, JUDGE_OTHER,
					     "instance %.*s became %.*s from "
					     "%.*s",
					     TEXT(new->name), TEXT(new->state),
					     TEXT(old->state));
		} else if (old) {
			check_ended(j, old);
		}
	}
}

/* Rule 1: what a launch is known by follows from the server and its try. */
static void check_token(struct judge *j, const struct object *o,
			const struct doc *s)
{
	char id[40], name[320], token[37];

	snprintf(id, sizeof(id), "%.*s", TEXT(o->id));
	snprintf(name, sizeof(name), "launch/%lld/%.*s/%.*s/%.*s",
		 (long long)s->attempt, TEXT(s->flavor), TEXT(s->zone),
		 TEXT(s->market));
	uuid_v5(id, name, token);
	if (!text_eq(s->token, token))
		judge_broken(
			j, JUDGE_DOUBLED,
			"server %.*s: the token of try %lld is not its own",
			TEXT(o->id), (long long)s->attempt);
}

/* A server is made with its instance, or in the place of one that was to be
 * replaced and is gone. */
static void check_server_created(struct judge *j, const struct object *o,
				 const struct doc *s)
{
	const struct object *of = view_find(j, "instance", s->instance);
	const struct doc *i = of ? was(j, of) : NULL;
	char uid[40], name[32], id[37];

	snprintf(uid, sizeof(uid), "%.*s", TEXT(s->uid));
	snprintf(name, sizeof(name), "server/%lld", (long long)s->number);
	uuid_v5(uid, name, id);
	if (!text_eq(o->id, id))
		judge_broken(j, JUDGE_DOUBLED,
			     "server %.*s has an id of its own", TEXT(o->id));
	if (s->provider_id.at || !text_eq(s->phase, "intended"))
		judge_broken(j, JUDGE_OTHER, "server %.*s begins as %.*s",
			     TEXT(o->id), TEXT(s->phase));
	check_token(j, o, s);
	if (s->number == 1)
		return;
	if (!i ||
	    (!text_eq(i->action, "rebuild") && !text_eq(i->action, "replace")))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "instance %.*s has another machine, and nobody "
			     "asked for it",
			     TEXT(s->name));
}

/* It may be given up: somebody said so, or it never ran. */
static bool may_leave(const struct judge *j, const struct object *o,
		      const struct doc *old)
{
	const struct object *of = view_find(j, "instance", old->instance);
	const struct doc *i = of ? view_now(of) : NULL;
	const struct doc *then = of ? was(j, of) : NULL;

	(void)o;
	if (!i || i->deleted_at.at)
		return true;
	if (!then)
		return false;
	if (text_eq(then->action, "replace"))
		return true;
	if (text_eq(old->phase, "intended"))
		return true;
	return !then->launched_at.at && !text_eq(old->state, "running");
}

static bool phase_may_become(const struct doc *old, const struct doc *new)
{
	static const char *const order[] = {"intended", "launched", "leaving",
					    "gone"};
	int from = -1, to = -1;

	for (int n = 0; n < 4; n++) {
		if (text_eq(old->phase, order[n]))
			from = n;
		if (text_eq(new->phase, order[n]))
			to = n;
	}
	if (new->attempt == old->attempt)
		return from >= 0 && from <= to;
	return to == 0;
}

/* Another try is made when nothing is left of the one before. */
static void check_try(struct judge *j, const struct object *o,
		      const struct doc *old, const struct doc *new)
{
	const struct object *of = view_find(j, "instance", old->instance);
	const struct doc *i = of ? was(j, of) : NULL;
	const struct sight *m = live_machine(j, o->id);

	if (new->attempt != old->attempt + 1)
		judge_broken(j, JUDGE_OTHER, "server %.*s: try %lld after %lld",
			     TEXT(o->id), (long long)new->attempt,
			     (long long)old->attempt);
	check_token(j, o, new);
	if (m)
		judge_broken(j, JUDGE_DOUBLED,
			     "server %.*s: try %lld begins while machine %s of "
			     "the one before is %s",
			     TEXT(o->id), (long long)new->attempt, m->id,
			     m->state);
	if (i && i->launched_at.at && !i->action.at)
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "server %.*s: another try, and it had run",
			     TEXT(o->id));
}

static void check_provider_id(struct judge *j, const struct object *o,
			      const struct doc *old, const struct doc *new)
{
	struct object *other;
	const struct doc *d;

	if (!new->provider_id.at ||
	    (old && text_is(old->provider_id, new->provider_id)))
		return;
	if (old && old->provider_id.at && old->attempt == new->attempt &&
	    !old->several)
		judge_broken(j, JUDGE_LOST,
			     "server %.*s: its machine is %.*s, not %.*s",
			     TEXT(o->id), TEXT(new->provider_id),
			     TEXT(old->provider_id));
	for (size_t n = 0; (d = view_each(j, NOUN_SERVER, &n, &other));)
		if (other != o && text_is(d->provider_id, new->provider_id))
			judge_broken(j, JUDGE_DOUBLED,
				     "machine %.*s is that of two servers",
				     TEXT(new->provider_id));
}

static void check_server_changed(struct judge *j, const struct object *o,
				 const struct doc *old, const struct doc *new)
{
	const struct sight *m;

	check_same(j, o, old, new);
	if (!text_is(old->instance, new->instance) ||
	    old->number != new->number)
		judge_broken(j, JUDGE_OTHER,
			     "server %.*s is behind another instance",
			     TEXT(o->id));
	if (!phase_may_become(old, new))
		judge_broken(j, JUDGE_OTHER,
			     "server %.*s became %.*s from %.*s", TEXT(o->id),
			     TEXT(new->phase), TEXT(old->phase));
	if (new->attempt != old->attempt)
		check_try(j, o, old, new);
	else if (!text_is(old->token, new->token))
		judge_broken(j, JUDGE_DOUBLED,
			     "server %.*s: another token for the same try",
			     TEXT(o->id));
	if (text_eq(new->phase, "leaving") && !text_eq(old->phase, "leaving") &&
	    !may_leave(j, o, old))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "the machine of instance %.*s is given up, and "
			     "nobody asked for it",
			     TEXT(new->name));
	m = text_eq(new->phase, "gone") ? live_machine(j, o->id) : NULL;
	if (m)
		judge_broken(j, JUDGE_LOST,
			     "server %.*s is said to be gone, and its machine "
			     "%s is %s",
			     TEXT(o->id), m->id, m->state);
}

void rules_servers(struct judge *j)
{
	for (size_t n = 0; n < j->n_touched; n++) {
		const struct fact *f = j->touched[n];
		const struct doc *old = before(f), *new = f->doc;
		const struct doc *i;

		if (f->of->noun != NOUN_SERVER)
			continue;
		if (!new) {
			const struct sight *m = live_machine(j, f->of->id);

			if (m)
				judge_broken(j, JUDGE_LOST,
					     "%s is forgotten, and its machine "
					     "%s is %s",
					     f->of->key, m->id, m->state);
			continue;
		}
		i = view_get(j, "instance", new->instance);
		if (!i || !text_is(i->server, f->of->id) ||
		    !text_is(i->uid, new->uid))
			judge_broken(j, JUDGE_OTHER,
				     "%s is behind an instance that does not "
				     "name it",
				     f->of->key);
		if (old)
			check_server_changed(j, f->of, old, new);
		else
			check_server_created(j, f->of, new);
		check_provider_id(j, f->of, old, new);
	}
}

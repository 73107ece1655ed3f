/* judge_others.c - what a row may do to everything that is not an instance or a
 * server, and whether somebody asked for it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "judge_rules.h"
#include "judge_view.h"

bool is_asked(const struct judge *j, const char *methods, struct text id,
	      const char *word)
{
	if (!j->n_asks)
		return true;
	for (size_t i = j->n_asks; i-- > 0;) {
		const struct verdict_ask *a = &j->asks[i].ask;

		if (j->asks[i].open && strstr(methods, a->method) &&
		    memmem(a->target, strlen(a->target), id.at, id.len) &&
		    (!word || strstr(a->target, word)) &&
		    !strstr(a->target, "plan=true"))
			return true;
	}
	return false;
}

bool is_asked_anew(const struct judge *j, const char *plural)
{
	size_t len = strlen(plural);

	if (!j->n_asks)
		return true;
	for (size_t i = j->n_asks; i-- > 0;) {
		const struct verdict_ask *a = &j->asks[i].ask;

		if (j->asks[i].open && strcmp(a->method, "POST") == 0 &&
		    strncmp(a->target, "/v1/", 4) == 0 &&
		    strncmp(a->target + 4, plural, len) == 0 &&
		    (a->target[4 + len] == '\0' || a->target[4 + len] == '?'))
			return true;
	}
	return false;
}

static bool is_dying(const struct judge *j, const char *kind, struct text id)
{
	const struct doc *d = view_get(j, kind, id);

	return d && d->deleted_at.at;
}

bool is_in_dying(const struct judge *j, const struct doc *d)
{
	return is_dying(j, "network", d->network) ||
	       is_dying(j, "project", d->project) ||
	       is_dying(j, "organization", d->organization);
}

static bool has_id(struct text list, struct text id)
{
	return list.at && memmem(list.at, list.len, id.at, id.len);
}

/* Rule 6: nothing that is there refers to it. */
static void check_unused(struct judge *j, const struct object *o)
{
	for (int noun = 0; noun < NOUN_OTHER; noun++) {
		struct object *user;
		const struct doc *d;
		size_t i = 0;

		while ((d = view_each(j, (enum noun_kind)noun, &i, &user)))
			if (text_is(d->organization, o->id) ||
			    text_is(d->project, o->id) ||
			    text_is(d->network, o->id) ||
			    text_is(d->region, o->id) ||
			    (noun == NOUN_INSTANCE &&
			     (text_is(d->image, o->id) ||
			      text_is(d->flavor, o->id) ||
			      has_id(d->groups, o->id) ||
			      has_id(d->wants, o->id))))
				judge_broken(j, JUDGE_OTHER,
					     "%s is gone, and %s refers to it",
					     o->key, user->key);
	}
}

/* It goes with an instance that goes in this row. */
static bool goes_along(const struct judge *j, struct text volume)
{
	for (size_t i = 0; i < j->n_touched; i++) {
		const struct fact *f = j->touched[i];

		if (f->of->noun == NOUN_INSTANCE && !f->doc && f->prior &&
		    f->prior->doc && has_id(f->prior->doc->wants, volume) &&
		    memmem(f->prior->doc->wants.at, f->prior->doc->wants.len,
			   "\"deleteWithInstance\":true", 25))
			return true;
	}
	return false;
}

static bool is_backed(enum noun_kind noun)
{
	return noun == NOUN_VOLUME || noun == NOUN_NETWORK ||
	       noun == NOUN_GROUP;
}

static void check_gone(struct judge *j, const struct object *o,
		       const struct doc *old)
{
	check_unused(j, o);
	if (is_backed(o->noun) && !old->deleted_at.at)
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "%s is gone, and was not being deleted", o->key);
	if ((o->noun == NOUN_PROJECT || o->noun == NOUN_ORGANIZATION) &&
	    !old->deleted_at.at && !is_in_dying(j, old) &&
	    !is_asked(j, "DELETE", o->id, NULL))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "nobody asked for the deletion of %s", o->key);
}

static void check_dies(struct judge *j, const struct object *o,
		       const struct doc *old, const struct doc *new)
{
	if (old && old->deleted_at.at &&
	    !text_is(old->deleted_at, new->deleted_at))
		judge_broken(j, JUDGE_OTHER,
			     "the deletion of %s was taken back", o->key);
	if ((old && old->deleted_at.at) || !new->deleted_at.at)
		return;
	if (!is_asked(j, "DELETE", o->id, NULL) && !is_in_dying(j, new) &&
	    !(o->noun == NOUN_VOLUME && goes_along(j, o->id)))
		judge_broken(j, JUDGE_WRONGLY_DELETED,
			     "nobody asked for the deletion of %s", o->key);
}

static bool is_looked_at(enum noun_kind noun)
{
	switch (noun) {
	case NOUN_REGION:
	case NOUN_VOLUME:
	case NOUN_NETWORK:
	case NOUN_GROUP:
	case NOUN_IMAGE:
	case NOUN_PROJECT:
	case NOUN_ORGANIZATION:
		return true;
	default:
		return false;
	}
}

void rules_others(struct judge *j)
{
	for (size_t i = 0; i < j->n_touched; i++) {
		const struct fact *f = j->touched[i];
		const struct doc *old = f->prior ? f->prior->doc : NULL;

		if (!is_looked_at(f->of->noun))
			continue;
		if (f->doc)
			check_dies(j, f->of, old, f->doc);
		else if (old)
			check_gone(j, f->of, old);
	}
}

static struct deed *deed(struct judge *j, long n)
{
	size_t room = j->n_deeds ? j->n_deeds : 64;

	if (n < 0 || n > 1000000)
		return NULL;
	while (room <= (size_t)n)
		room *= 2;
	if (room > j->n_deeds) {
		j->deeds = xrealloc(j->deeds, room, sizeof(*j->deeds));
		memset(j->deeds + j->n_deeds, 0,
		       (room - j->n_deeds) * sizeof(*j->deeds));
		j->n_deeds = room;
	}
	return &j->deeds[n];
}

static long number_of(struct text description)
{
	if (!description.at || description.len < 4 ||
	    memcmp(description.at, "op-", 3) != 0)
		return -1;
	return strtol(description.at + 3, NULL, 10);
}

void rules_deeds(struct judge *j)
{
	for (size_t i = 0; i < j->n_touched; i++) {
		const struct fact *f = j->touched[i];
		const struct doc *old = f->prior ? f->prior->doc : NULL;
		struct deed *d;

		if (!f->doc ||
		    (old && text_is(old->description, f->doc->description)))
			continue;
		d = deed(j, number_of(f->doc->description));
		if (!d)
			continue;
		d->effects++;
		if (d->effects > 1 && !j->forgets)
			judge_broken(j, JUDGE_DOUBLED,
				     "request %.*s was done twice",
				     TEXT(f->doc->description));
		if (d->refused && !d->repeated)
			judge_broken(j, JUDGE_OTHER,
				     "request %.*s was refused, and done",
				     TEXT(f->doc->description));
	}
}

void rules_refused(struct judge *j, long request)
{
	struct deed *d = deed(j, request);

	if (!d)
		return;
	if (d->effects && !d->repeated)
		judge_broken(j, JUDGE_OTHER,
			     "request op-%ld was done, and refused", request);
	d->refused = true;
}

void rules_asked_again(struct judge *j, long request)
{
	struct deed *d = deed(j, request);

	if (!d)
		return;
	d->refused = false;
	d->repeated = true;
}

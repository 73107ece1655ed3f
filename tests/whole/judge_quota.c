/* judge_quota.c - rule 3: what is used is the sum of the allocations, each of
 * which is there exactly as long as what it is for. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "identity/quota.h"
#include "judge_rules.h"
#include "judge_view.h"

struct amount {
	struct text kind;
	int64_t committed, reserved;
};

static const struct glance_row amount_rows[] = {
	{"kind", GLANCE_TEXT, offsetof(struct amount, kind), NULL},
	{"committed", GLANCE_INT, offsetof(struct amount, committed), NULL},
	{"reserved", GLANCE_INT, offsetof(struct amount, reserved), NULL},
	{0},
};

struct limit {
	struct text kind, limit;
};

static const struct glance_row limit_rows[] = {
	{"kind", GLANCE_TEXT, offsetof(struct limit, kind), NULL},
	{"limit", GLANCE_RAW, offsetof(struct limit, limit), NULL},
	{0},
};

static struct sum *sum_of(struct judge *j, struct text scope, struct text kind,
			  bool project)
{
	for (size_t i = 0; i < j->n_sums; i++)
		if (text_is(j->sums[i].scope, scope) &&
		    text_is(j->sums[i].kind, kind))
			return &j->sums[i];
	if (j->n_sums == j->room_sums) {
		j->room_sums = j->room_sums ? 2 * j->room_sums : 32;
		j->sums = xrealloc(j->sums, j->room_sums, sizeof(*j->sums));
	}
	j->sums[j->n_sums] =
		(struct sum){.scope = scope, .kind = kind, .project = project};
	return &j->sums[j->n_sums++];
}

static void add(struct judge *j, const struct doc *d, int by)
{
	struct text list = d->amounts, item;

	while (glance_next(&list, &item)) {
		struct amount a = {0};
		struct sum *s;

		glance(amount_rows, item, &a);
		s = sum_of(j, d->organization, a.kind, false);
		s->used += by * (a.committed + a.reserved);
		s->grew |= by > 0;
		if (!d->project.at)
			continue;
		s = sum_of(j, d->project, a.kind, true);
		s->used += by * (a.committed + a.reserved);
		s->grew |= by > 0;
	}
}

static int64_t amount_of(const struct doc *allocation, const char *kind)
{
	struct text list = allocation->amounts, item;

	while (glance_next(&list, &item)) {
		struct amount a = {0};

		glance(amount_rows, item, &a);
		if (text_eq(a.kind, kind))
			return a.committed;
	}
	return 0;
}

/* Whether there is a limit; what it is. */
static bool limit_of(const struct judge *j, const struct sum *s, int64_t *ret)
{
	const struct doc *d;
	size_t i = 0;

	while ((d = view_each(j, NOUN_QUOTA, &i, NULL))) {
		struct text list = d->limits, item;
		bool its = s->project
				   ? text_is(d->project, s->scope)
				   : !d->project.at &&
					     text_is(d->organization, s->scope);

		while (its && glance_next(&list, &item)) {
			struct limit l = {0};

			glance(limit_rows, item, &l);
			if (!text_is(l.kind, s->kind))
				continue;
			*ret = strtoll(l.limit.at, NULL, 10);
			return true;
		}
	}
	for (i = 0;
	     !s->project && (d = view_each(j, NOUN_QUOTAKIND, &i, NULL));)
		if (text_is(d->name, s->kind) && d->fallback.at) {
			*ret = strtoll(d->fallback.at, NULL, 10);
			return true;
		}
	return false;
}

static void check_limits(struct judge *j, bool all)
{
	for (size_t i = 0; i < j->n_sums; i++) {
		struct sum *s = &j->sums[i];
		int64_t limit = 0;

		if ((all || s->grew) && limit_of(j, s, &limit) &&
		    s->used > limit)
			judge_broken(j, JUDGE_QUOTA,
				     "%.*s uses %lld %.*s, and may use %lld",
				     TEXT(s->scope), (long long)s->used,
				     TEXT(s->kind), (long long)limit);
		s->grew = false;
	}
}

static bool is_counted(enum noun_kind noun)
{
	return noun == NOUN_INSTANCE || noun == NOUN_VOLUME ||
	       noun == NOUN_NETWORK;
}

/* Charged is at least what the machine is asked for. */
static void check_charged(struct judge *j, const struct object *o,
			  const struct doc *i)
{
	const struct doc *s = view_get(j, "server", i->server);
	bool gone = s && text_eq(s->phase, "gone");
	const struct doc *f =
		s && !gone ? view_get(j, "flavor", s->flavor) : NULL;
	const struct doc *a = view_now(o->twin);

	if (!a)
		return;
	if (amount_of(a, "instances") != 1)
		judge_broken(j, JUDGE_QUOTA, "instance %.*s counts as %lld",
			     TEXT(i->name),
			     (long long)amount_of(a, "instances"));
	if (f && (amount_of(a, "vcpus") < f->vcpus ||
		  amount_of(a, "memoryMiB") < f->memory))
		judge_broken(j, JUDGE_QUOTA,
			     "instance %.*s is charged %lld vcpus, and has "
			     "%lld",
			     TEXT(i->name), (long long)amount_of(a, "vcpus"),
			     (long long)f->vcpus);
}

static void check_counted(struct judge *j, const struct fact *f)
{
	const struct object *o = f->of;
	bool counted = o->twin && view_now(o->twin);

	if (f->doc && !counted)
		judge_broken(j, JUDGE_QUOTA, "%s is not counted", o->key);
	if (!f->doc && counted)
		judge_broken(j, JUDGE_QUOTA, "%s is gone, and counted", o->key);
	if (f->doc && o->noun == NOUN_INSTANCE)
		check_charged(j, o, f->doc);
}

static void take_allocation(struct judge *j, const struct fact *f)
{
	const struct doc *old = f->prior ? f->prior->doc : NULL;
	const struct doc *any = f->doc ? f->doc : old;
	char kind[32];
	struct object *o;

	if (old)
		add(j, old, -1);
	if (f->doc)
		add(j, f->doc, 1);
	if (!any || any->object_kind.len >= sizeof(kind))
		return;
	memcpy(kind, any->object_kind.at, any->object_kind.len);
	kind[any->object_kind.len] = '\0';
	o = view_find(j, kind, any->object);
	if (!o)
		return;
	if (f->doc && o->twin != f->of && view_now(o->twin))
		judge_broken(j, JUDGE_QUOTA, "%s is counted twice", o->key);
	if (f->doc)
		o->twin = f->of;
	if (!f->doc && view_now(o) && o->twin == f->of)
		judge_broken(j, JUDGE_QUOTA,
			     "%s is there, and its quota was given back",
			     o->key);
}

void rules_quota(struct judge *j)
{
	bool limits = false, sums = false;

	for (size_t i = 0; i < j->n_touched; i++) {
		enum noun_kind noun = j->touched[i]->of->noun;

		sums |= noun == NOUN_ALLOCATION;
		limits |= noun == NOUN_QUOTA || noun == NOUN_QUOTAKIND;
		if (noun == NOUN_ALLOCATION)
			take_allocation(j, j->touched[i]);
	}
	for (size_t i = 0; i < j->n_touched; i++)
		if (is_counted(j->touched[i]->of->noun))
			check_counted(j, j->touched[i]);
	if (sums || limits)
		check_limits(j, limits);
}

void rules_sums(struct judge *j)
{
	struct judge fresh = {0};
	const struct doc *d;
	size_t i = 0;

	while ((d = view_each(j, NOUN_ALLOCATION, &i, NULL)))
		add(&fresh, d, 1);
	for (i = 0; i < j->n_sums; i++) {
		const struct sum *s = &j->sums[i];
		int64_t used = sum_of(&fresh, s->scope, s->kind, false)->used;

		if (used != s->used)
			judge_broken(j, JUDGE_QUOTA,
				     "%.*s uses %lld %.*s, and %lld by "
				     "allocations",
				     TEXT(s->scope), (long long)s->used,
				     TEXT(s->kind), (long long)used);
	}
	free(fresh.sums);
}

void judge_sums(struct judge *j, const struct quota_sums *sums)
{
	for (size_t i = 0; i < j->n_sums; i++) {
		const struct sum *s = &j->sums[i];
		char *scope =
			arena_memdup(&j->arena, s->scope.at, s->scope.len);
		char *kind = arena_memdup(&j->arena, s->kind.at, s->kind.len);
		struct quota_use use = quota_used(sums, scope, kind);
		int64_t used = use.committed + use.reserved;

		if (used != s->used)
			judge_broken(j, JUDGE_QUOTA,
				     "the server thinks that %s uses %lld %s, "
				     "and it is %lld",
				     scope, (long long)used, kind,
				     (long long)s->used);
	}
}

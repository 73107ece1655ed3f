/* The checks about lists of what is no machine. */
#include "provider/verify_priv.h"

enum { SOME = 3, PAGES_MOST = 10000 };

/* What was made for a check, and how often it is listed. */
struct making {
	struct backing_id id;
	unsigned times;
};

static int ensure(struct verify *v, const struct backing_id *id,
		  struct backing *ret)
{
	const struct securitygroup g = {.meta.name = "muster-verify"};
	const struct group_spec group = {
		.id = *id, .network = v->network, .group = &g};
	const struct volume_spec volume = {.id = *id,
					   .name = "muster-verify",
					   .zone = v->conf->zone,
					   .size_gib = 1};

	return v->network ? provider_ensure_group(v->p, &group, &v->arena, ret,
						  &v->err)
			  : provider_ensure_volume(v->p, &volume, &v->arena,
						   ret, &v->err);
}

/* Security groups where there is a network for them, else volumes. */
static bool can_make(struct verify *v)
{
	if (!v->network ? provider_can(v->p, CAN_VOLUMES)
			: provider_can(v->p, CAN_SECURITY_GROUPS))
		return true;
	verify_skip(v, "there is nothing to list");
	return false;
}

static bool make(struct verify *v, struct making *m)
{
	struct backing b = {0};

	m->id = (struct backing_id){.ours = verify_uuid(v, &v->arena)};
	v->waited = 0;
	while (ensure(v, &m->id, &b) < 0)
		if (!verify_retry(v, "ensure"))
			return false;
	m->id.provider = b.id;
	return true;
}

static void drop(struct verify *v, const struct making *m)
{
	int (*remove)(struct provider *, const struct backing_id *,
		      struct err *) =
		v->network ? provider_remove_group : provider_remove_volume;

	v->waited = 0;
	while (m->id.provider && remove(v->p, &m->id, &v->err) < 0)
		if (!verify_retry(v, "remove"))
			return;
}

static void see(struct verify *v, struct making *made, size_t n,
		const struct thing *t)
{
	int kind = v->network ? THING_GROUP : THING_VOLUME;

	for (size_t i = 0; i < n; i++) {
		if (!verify_same(made[i].id.provider, t->id))
			continue;
		made[i].times++;
		verify_that(v, t->kind == kind, "a thing is of another kind");
		verify_that(v, verify_same(t->ours, made[i].id.ours),
			    "it is not told what a thing was made for");
	}
}

/* How many things INSTALLATION has, MADE among them; false: it failed. */
static bool list(struct verify *v, const char *installation,
		 struct making *made, size_t n, size_t *ret)
{
	struct thing_page page = {0};

	*ret = 0;
	verify_sleep(v, v->p->facts.consistency_ms);
	for (unsigned i = 0; i < PAGES_MOST; i++) {
		const struct thing *t;

		v->waited = 0;
		while (provider_list_things(v->p, installation, page.next,
					    &v->arena, &page, &v->err) < 0)
			if (!verify_retry(v, "list things"))
				return false;
		t = page.things.at;
		for (size_t k = 0; k < page.things.n; k++)
			see(v, made, n, &t[k]);
		*ret += page.things.n;
		if (!page.next)
			return true;
	}
	return verify_that(v, false, "the list of things has no end");
}

static void things_are_listed(struct verify *v)
{
	struct making made[2 * 20 + 1] = {0};
	size_t page = v->p->facts.page, want = SOME, before, now;

	if (page && page <= 20)
		want = 2 * page + 1;
	if (!can_make(v) || !list(v, v->p->installation, NULL, 0, &before))
		return;
	for (size_t i = 0; i < want; i++)
		if (!make(v, &made[i]))
			want = i;
	if (list(v, v->p->installation, made, want, &now)) {
		verify_that(v, now == before + want,
			    "the list of things is too long or short");
		for (size_t i = 0; i < want; i++)
			verify_that(v, made[i].times == 1,
				    "the list of things has not all of them, "
				    "or some twice");
	}
	for (size_t i = 0; i < want; i++)
		drop(v, &made[i]);
}

static void strangers_are_left_out(struct verify *v)
{
	struct making made = {0};
	size_t n;

	if (!can_make(v) || !make(v, &made))
		return;
	if (list(v, verify_uuid(v, &v->arena), &made, 1, &n))
		verify_that(v, n == 0,
			    "things are listed that another installation has");
	drop(v, &made);
}

static void removed_are_left_out(struct verify *v)
{
	struct making made = {0};
	size_t n;

	if (!can_make(v) || !make(v, &made))
		return;
	drop(v, &made);
	if (!v->failed && list(v, v->p->installation, &made, 1, &n))
		verify_that(v, made.times == 0,
			    "a thing that was removed is listed");
}

const struct verify_check verify_list_checks[] = {
	{"lists of things have each once", things_are_listed, CAN_LIST_THINGS,
	 true},
	{"lists of things leave out strangers", strangers_are_left_out,
	 CAN_LIST_THINGS, true},
	{"lists of things leave out what was removed", removed_are_left_out,
	 CAN_LIST_THINGS, true},
	{0},
};

/* Drivers that list what is no machine wrongly. */
#include <stdio.h>
#include <string.h>

#include "zoo.h"

static const struct thing_ops *sim(void)
{
	return sim_driver.things;
}

/* The things of a page, to be changed, and room for one more. */
static struct thing *ours(struct thing_page *page, struct arena *a)
{
	size_t n = page->things.n;
	struct thing *t = arena_alloc(a, (n + 1) * sizeof(*t));

	if (n)
		memcpy(t, page->things.at, n * sizeof(*t));
	page->things.at = t;
	return t;
}

static int lists_everyones(struct provider *p, const char *installation,
			   const char *page, struct arena *a,
			   struct thing_page *ret, struct err *err)
{
	(void)installation;
	return sim()->list(p, p->installation, page, a, ret, err);
}

static int drops_a_page(struct provider *p, const char *installation,
			const char *page, struct arena *a,
			struct thing_page *ret, struct err *err)
{
	if (sim()->list(p, installation, page, a, ret, err) < 0)
		return -1;
	if (page || !ret->next)
		return 0;
	return sim()->list(p, installation, ret->next, a, ret, err);
}

static int forgets_whose(struct provider *p, const char *installation,
			 const char *page, struct arena *a,
			 struct thing_page *ret, struct err *err)
{
	struct thing *t;

	if (sim()->list(p, installation, page, a, ret, err) < 0)
		return -1;
	t = ours(ret, a);
	for (size_t i = 0; i < ret->things.n; i++)
		t[i].ours = NULL;
	return 0;
}

static int calls_all_images(struct provider *p, const char *installation,
			    const char *page, struct arena *a,
			    struct thing_page *ret, struct err *err)
{
	struct thing *t;

	if (sim()->list(p, installation, page, a, ret, err) < 0)
		return -1;
	t = ours(ret, a);
	for (size_t i = 0; i < ret->things.n; i++)
		t[i].kind = THING_IMAGE;
	return 0;
}

static int remembers_the_removed(struct provider *p,
				 const struct backing_id *id, struct err *err)
{
	struct cage *c = cage_of(p);

	if (id->provider) {
		snprintf(c->id, sizeof(c->id), "%s", id->provider);
		snprintf(c->text, sizeof(c->text), "%s", id->ours);
	}
	return sim_driver.networks->remove_group(p, id, err);
}

static int lists_the_removed(struct provider *p, const char *installation,
			     const char *page, struct arena *a,
			     struct thing_page *ret, struct err *err)
{
	const struct cage *c = cage_of(p);
	struct thing *t;

	if (sim()->list(p, installation, page, a, ret, err) < 0)
		return -1;
	if (ret->next || !c->id[0] ||
	    strcmp(installation, p->installation) != 0)
		return 0;
	t = ours(ret, a);
	t[ret->things.n++] = (struct thing){
		.kind = THING_GROUP, .id = c->id, .ours = c->text};
	return 0;
}

#define ONCE "lists of things have each once"

const struct animal zoo_hoarders[] = {
	{"lists everyone's things", "a list is of one installation",
	 "things.list", "lists of things leave out strangers",
	 .things = {.list = lists_everyones}},
	{"drops a page of things", "a list has each thing once", "things.list",
	 ONCE, "{\"pageSize\":2}", .things = {.list = drops_a_page}},
	{"forgets what a thing was made for", "a thing says whose it is",
	 "things.list", ONCE, .things = {.list = forgets_whose}},
	{"calls every thing an image", "a thing is of its kind", "things.list",
	 ONCE, .things = {.list = calls_all_images}},
	{"lists things that were removed", "what is gone is not listed",
	 "networks.remove_group, things.list",
	 "lists of things leave out what was removed",
	 .networks = {.remove_group = remembers_the_removed},
	 .things = {.list = lists_the_removed}},
	{0},
};

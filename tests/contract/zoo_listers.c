/* Drivers that list wrongly. */
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "model/server.h"
#include "zoo.h"

static const struct machine_ops *sim(void)
{
	return sim_driver.machines;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* The machines of a page, to be changed. */
static struct machine *ours(struct machine_page *page, struct arena *a)
{
	size_t n = page->machines.n;
	struct machine *m = arena_alloc(a, (n + 1) * sizeof(*m));

	if (n)
		memcpy(m, page->machines.at, n * sizeof(*m));
	page->machines.at = m;
	return m;
}

static int no_filter(struct provider *p, const struct machine_filter *f,
		     const char *page, struct arena *a,
		     struct machine_page *ret, struct err *err)
{
	const struct machine_filter all = {TAG_INSTALLATION, p->installation};

	(void)f;
	return sim()->list(p, &all, page, a, ret, err);
}

static int knows_no_servers(struct provider *p, const struct machine_filter *f,
			    const char *page, struct arena *a,
			    struct machine_page *ret, struct err *err)
{
	if (same(f->key, TAG_INSTALLATION))
		return sim()->list(p, f, page, a, ret, err);
	*ret = (struct machine_page){0};
	return 0;
}

static int drops_page(struct provider *p, const struct machine_filter *f,
		      const char *page, struct arena *a,
		      struct machine_page *ret, struct err *err)
{
	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	if (page || !ret->next)
		return 0;
	return sim()->list(p, f, ret->next, a, ret, err);
}

static int repeats_page(struct provider *p, const struct machine_filter *f,
			const char *page, struct arena *a,
			struct machine_page *ret, struct err *err)
{
	bool again = page && page[0] == '*';

	if (sim()->list(p, f, again ? NULL : page, a, ret, err) < 0)
		return -1;
	if (!page && ret->next)
		ret->next = "*";
	return 0;
}

static int repeats_one(struct provider *p, const struct machine_filter *f,
		       const char *page, struct arena *a,
		       struct machine_page *ret, struct err *err)
{
	struct machine *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a);
	if (ret->machines.n > 2)
		m[1] = m[0];
	return 0;
}

static int goes_round(struct provider *p, const struct machine_filter *f,
		      const char *page, struct arena *a,
		      struct machine_page *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	if (!page && ret->next)
		snprintf(c->text, sizeof(c->text), "%s", ret->next);
	if (page && !ret->next)
		ret->next = c->text;
	return 0;
}

static int goes_on(struct provider *p, const struct machine_filter *f,
		   const char *page, struct arena *a, struct machine_page *ret,
		   struct err *err)
{
	if (page && page[0] == '*') {
		*ret = (struct machine_page){
			.next = arena_printf(a, "*%u", ++cage_of(p)->calls)};
		return 0;
	}
	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	if (page && !ret->next)
		ret->next = "*";
	return 0;
}

static int rotates_tags(struct provider *p, const struct machine_filter *f,
			const char *page, struct arena *a,
			struct machine_page *ret, struct err *err)
{
	struct machine *m;
	struct items first;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a);
	first = m[0].tags;
	for (size_t i = 0; i + 1 < ret->machines.n; i++)
		m[i].tags = m[i + 1].tags;
	if (ret->machines.n)
		m[ret->machines.n - 1].tags = first;
	return 0;
}

static int remembers_the_gone(struct provider *p, const char *id,
			      struct err *err)
{
	struct cage *c = cage_of(p);
	struct machine m;
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	if (sim()->describe(p, id, &a, &m, err) == 0)
		snprintf(c->id, sizeof(c->id), "%s", id);
	arena_release(&a);
	return sim()->terminate(p, id, err);
}

/* The one in the cage, too. */
static int one_more(struct provider *p, const struct machine_filter *f,
		    const char *page, struct arena *a, struct machine_page *ret,
		    struct err *err)
{
	struct machine more, *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	if (sim()->describe(p, cage_of(p)->id, a, &more, err) < 0)
		return 0;
	m = ours(ret, a);
	m[ret->machines.n++] = more;
	return 0;
}

static int lists_the_gone(struct provider *p, const struct machine_filter *f,
			  const char *page, struct arena *a,
			  struct machine_page *ret, struct err *err)
{
	struct machine m;

	if (sim()->describe(p, cage_of(p)->id, a, &m, err) == 0 &&
	    same(field_tag_get(&m.tags, f->key), f->value) &&
	    m.state == INSTANCE_TERMINATED)
		return one_more(p, f, page, a, ret, err);
	return sim()->list(p, f, page, a, ret, err);
}

static int remembers_strangers(struct provider *p,
			       const struct machine_spec *spec, struct arena *a,
			       struct machine *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	if (!same(field_tag_get(&spec->tags, TAG_INSTALLATION),
		  p->installation))
		snprintf(c->id, sizeof(c->id), "%s", ret->id);
	return 0;
}

static int lists_strangers(struct provider *p, const struct machine_filter *f,
			   const char *page, struct arena *a,
			   struct machine_page *ret, struct err *err)
{
	struct machine m;

	if (same(f->value, p->installation) &&
	    sim()->describe(p, cage_of(p)->id, a, &m, err) == 0 &&
	    m.state == INSTANCE_RUNNING)
		return one_more(p, f, page, a, ret, err);
	return sim()->list(p, f, page, a, ret, err);
}

static int lists_old_states(struct provider *p, const struct machine_filter *f,
			    const char *page, struct arena *a,
			    struct machine_page *ret, struct err *err)
{
	struct machine *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a);
	for (size_t i = 0; i < ret->machines.n; i++)
		m[i].state = INSTANCE_PENDING;
	return 0;
}

static int lists_no_ports(struct provider *p, const struct machine_filter *f,
			  const char *page, struct arena *a,
			  struct machine_page *ret, struct err *err)
{
	struct machine *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a);
	for (size_t i = 0; i < ret->machines.n; i++)
		m[i].ports = (struct items){0};
	return 0;
}

static int lists_no_readiness(struct provider *p,
			      const struct machine_filter *f, const char *page,
			      struct arena *a, struct machine_page *ret,
			      struct err *err)
{
	struct machine *m;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a);
	for (size_t i = 0; i < ret->machines.n; i++)
		m[i].ready = READY_UNTOLD;
	return 0;
}

#define PAGING "paging is complete"
#define WHOLE  "a list has each machine once"
#define TWO    "{\"pageSize\":2}"

const struct animal zoo_listers[] = {
	{"ignores the filter", "a list is of those with the tag", "list",
	 "lists by other tags find nothing", .machines = {.list = no_filter}},
	{"lists nothing by server", "a list is of those with the tag", "list",
	 "lists by server and by installation find it",
	 .machines = {.list = knows_no_servers}},
	{"drops a page", WHOLE, "list", PAGING, TWO,
	 .machines = {.list = drops_page}},
	{"repeats a page", WHOLE, "list", PAGING, TWO,
	 .machines = {.list = repeats_page}},
	{"repeats a machine in place of another", WHOLE, "list", PAGING,
	 .machines = {.list = repeats_one}},
	{"goes round in pages", "a list ends", "list", PAGING, TWO,
	 .machines = {.list = goes_round}},
	{"has ever another page", "a list ends", "list", PAGING, TWO,
	 .machines = {.list = goes_on}},
	{"mixes up tags in lists", "a machine has its own tags", "list",
	 "each machine carries its own tags",
	 .machines = {.list = rotates_tags}},
	{"lists what is terminated", "what is gone is not listed",
	 "terminate, list", "lists leave out terminated machines",
	 .machines = {.terminate = remembers_the_gone, .list = lists_the_gone}},
	{"lists machines of another installation",
	 "what is not ours is not listed", "launch, list",
	 "lists leave out strangers",
	 .machines = {.launch = remembers_strangers, .list = lists_strangers}},
	{"lists every machine as pending", "lists and describe agree", "list",
	 "lists tell what describe tells",
	 .machines = {.list = lists_old_states}},
	{"lists machines without their ports", "lists and describe agree",
	 "list", "lists tell what describe tells", "{\"publish\":[22]}",
	 .machines = {.list = lists_no_ports}},
	{"knows in lists of no guest whether it is up",
	 "lists and describe agree", "list", "lists tell what describe tells",
	 "{\"tellsReady\":true}", .machines = {.list = lists_no_readiness}},
	{0},
};

/* What there is of ours that is no machine. */
#include <string.h>

#include "provider/libvirt/group.h"
#include "provider/libvirt/network.h"

void things_add(struct things *t, const struct thing *thing)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].kind == thing->kind &&
		    strcmp(t->at[i].id, thing->id) == 0)
			return;
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 16;
		struct thing *at = arena_alloc(t->a, room * sizeof(*at));

		if (t->n)
			memcpy(at, t->at, t->n * sizeof(*at));
		t->at = at;
		t->room = room;
	}
	t->at[t->n++] = *thing;
}

/* All of it on one page: there are as many as people have made. */
static int lv_things(struct provider *p, const char *installation,
		     const char *page, struct arena *a, struct thing_page *ret,
		     struct err *err)
{
	struct things all = {.a = a};

	(void)page;
	if (network_things(lv_of(p), installation, &all, err) < 0 ||
	    group_things(lv_of(p), installation, &all, err) < 0)
		return -1;
	*ret = (struct thing_page){.things = {all.at, all.n}};
	return 0;
}

const struct thing_ops lv_thing_ops = {.list = lv_things};

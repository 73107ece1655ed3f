/* sim_list.c - the list of what is no machine, by whom it was made for. */
#include <string.h>

#include "provider/sim_machines.h"
#include "provider/sim_priv.h"

static const char *text(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static bool is_listed(const struct sim_cloud *c, const struct sim_thing *t,
		      const char *owner)
{
	return t->created_at + c->options->consistency_ms <= c->now &&
	       t->owner && owner && strcmp(t->owner, owner) == 0;
}

int sim_do_things(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_things *page = answer;
	size_t most = (size_t)c->options->page_size;
	struct sorted_walk w = sorted_from(&c->all_things, act->page);
	const struct sim_holding *h;
	struct sim_thing *to;

	*page = (struct sim_things){0};
	if (act->page && sim_chance(c, c->options->partial_list_rate))
		return sim_refuse(err, ERR_UNAVAILABLE, "PageUnavailable",
				  "a page of the list cannot be read");
	if (most > c->all_things.count)
		most = c->all_things.count;
	page->things.at = to = arena_alloc(a, most * sizeof(*to) + 1);
	while ((h = sorted_next(&w))) {
		if (!is_listed(c, h->doc, act->value))
			continue;
		if (page->things.n == most) {
			page->next = to[most - 1].id;
			break;
		}
		to[page->things.n++] = (struct sim_thing){
			.id = text(a, h->doc->id),
			.kind = text(a, h->doc->kind),
			.ours = text(a, h->doc->ours),
			.owner = text(a, h->doc->owner),
			.state = text(a, h->doc->state),
			.created_at = h->doc->created_at,
			.size_gib = FIELD_NONE,
			.min_disk_gib = FIELD_NONE,
			.bytes = FIELD_NONE,
		};
	}
	return 0;
}

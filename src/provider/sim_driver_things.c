/* The simulated cloud's networks, security groups, images and volumes. */
#include <string.h>

#include "model/image.h"
#include "model/network.h"
#include "provider/sim_driver.h"

static const struct {
	const char *native;
	enum backed_state state;
} states[] = {
	{"creating", BACKED_CREATING},
	{"available", BACKED_READY},
	{"error", BACKED_FAILED},
};

static int consistency(const char *word)
{
	for (int i = 1; consistency_names[i]; i++)
		if (word && strcmp(word, consistency_names[i]) == 0)
			return i;
	return 0;
}

static int ensure(struct provider *p, const struct sim_thing *ask,
		  struct arena *a, struct backing *ret, struct err *err)
{
	struct sim_thing marked = *ask, t;

	marked.owner = p->installation;
	if (sim_link_call(sim_link(p), SIM_ENSURE, &marked, a, &t, err) < 0)
		return -1;
	*ret = (struct backing){
		.id = t.id,
		.state = BACKED_PENDING,
		.native_state = t.state,
		.gateway = t.gateway,
		.size = t.kind && strcmp(t.kind, "image") == 0 ? t.bytes
							       : t.size_gib,
		.consistency = consistency(t.consistency),
	};
	for (size_t i = 0; t.state && i < COUNT_OF(states); i++)
		if (strcmp(states[i].native, t.state) == 0)
			ret->state = states[i].state;
	return 0;
}

/* What is not there need not be removed. */
static int act(struct provider *p, enum sim_call call,
	       const struct sim_act *ask, struct err *err)
{
	struct arena a;
	int r;

	arena_init(&a, (size_t)1 << 20);
	r = sim_link_call(sim_link(p), call, ask, &a, NULL, err);
	arena_release(&a);
	return r < 0 && err->code != ERR_NOT_FOUND ? -1 : 0;
}

static int drop(struct provider *p, const char *kind,
		const struct backing_id *id, struct err *err)
{
	const struct sim_act ask = {
		.kind = kind, .ours = id->ours, .id = id->provider};

	return act(p, SIM_REMOVE, &ask, err);
}

/* An int that the wire leaves out, rather than 0. */
#define UNSAID .min_disk_gib = FIELD_NONE, .bytes = FIELD_NONE

static int sim_import(struct provider *p, const struct image_spec *spec,
		      struct arena *a, struct backing *ret, struct err *err)
{
	struct sim_thing ask = {.kind = "image",
				.id = spec->id.provider,
				.ours = spec->id.ours,
				.name = spec->name,
				.source = spec->uri,
				.machine = spec->machine,
				.size_gib = FIELD_NONE,
				UNSAID};

	if (spec->volume)
		ask.source = spec->volume;
	if (spec->image) {
		ask.architecture =
			architecture_names[spec->image->spec.architecture];
		ask.min_disk_gib = spec->image->spec.min_disk_gib;
		ask.bare_metal = spec->image->spec.virtualization ==
				 VIRTUALIZATION_BARE_METAL;
	}
	return ensure(p, &ask, a, ret, err);
}

static int sim_remove_image(struct provider *p, const struct backing_id *id,
			    struct err *err)
{
	return drop(p, "image", id, err);
}

const struct image_ops sim_image_ops = {
	.import = sim_import,
	.snapshot = sim_import,
	.remove = sim_remove_image,
};

static int sim_ensure_network(struct provider *p,
			      const struct network_spec *spec, struct arena *a,
			      struct backing *ret, struct err *err)
{
	const struct sim_thing ask = {.kind = "network",
				      .id = spec->id.provider,
				      .ours = spec->id.ours,
				      .name = spec->network->meta.name,
				      .prefix = spec->network->spec.prefix,
				      .prefix6 = spec->network->spec.prefix6,
				      .reserved = spec->network->spec.reserved,
				      .size_gib = FIELD_NONE,
				      UNSAID};

	return ensure(p, &ask, a, ret, err);
}

static int sim_remove_network(struct provider *p, const struct backing_id *id,
			      struct err *err)
{
	return drop(p, "network", id, err);
}

static const char *rule_text(const struct rule *r, const char *peer,
			     struct arena *a)
{
	return arena_printf(
		a, "%s %s %lld-%lld %s", direction_names[r->direction],
		protocol_names[r->protocol ? r->protocol : PROTOCOL_ANY],
		(long long)(r->port == FIELD_NONE ? 0 : r->port),
		(long long)(r->port_max == FIELD_NONE ? r->port : r->port_max),
		peer        ? peer
		: r->prefix ? r->prefix
			    : "any");
}

static int sim_ensure_group(struct provider *p, const struct group_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err)
{
	size_t n = spec->group->spec.rules.n;
	const struct rule *rules = spec->group->spec.rules.at;
	const char *const *peers = spec->peers.at;
	const char **texts = arena_alloc(a, n * sizeof(*texts) + 1);
	const struct sim_thing ask = {.kind = "group",
				      .id = spec->id.provider,
				      .ours = spec->id.ours,
				      .name = spec->group->meta.name,
				      .network = spec->network,
				      .rules = {texts, n},
				      .size_gib = FIELD_NONE,
				      UNSAID};

	for (size_t i = 0; i < n; i++)
		texts[i] = rule_text(&rules[i],
				     i < spec->peers.n ? peers[i] : NULL, a);
	return ensure(p, &ask, a, ret, err);
}

static int sim_remove_group(struct provider *p, const struct backing_id *id,
			    struct err *err)
{
	return drop(p, "group", id, err);
}

const struct network_ops sim_network_ops = {
	.ensure = sim_ensure_network,
	.remove = sim_remove_network,
	.ensure_group = sim_ensure_group,
	.remove_group = sim_remove_group,
};

static int sim_ensure_volume(struct provider *p, const struct volume_spec *spec,
			     struct arena *a, struct backing *ret,
			     struct err *err)
{
	const struct sim_thing ask = {.kind = "volume",
				      .id = spec->id.provider,
				      .ours = spec->id.ours,
				      .name = spec->name,
				      .class = spec->class,
				      .zone = spec->zone,
				      .source = spec->image,
				      .size_gib = spec->size_gib,
				      UNSAID};

	return ensure(p, &ask, a, ret, err);
}

static int sim_remove_volume(struct provider *p, const struct backing_id *id,
			     struct err *err)
{
	return drop(p, "volume", id, err);
}

static int sim_attach(struct provider *p, const char *machine,
		      const char *volume, struct arena *a,
		      const char **ret_device, struct err *err)
{
	const struct sim_act ask = {.id = machine, .volume = volume};
	struct sim_text answer;

	if (sim_link_call(sim_link(p), SIM_ATTACH, &ask, a, &answer, err) < 0)
		return -1;
	*ret_device = answer.text;
	return 0;
}

static int sim_detach(struct provider *p, const char *machine,
		      const char *volume, struct err *err)
{
	const struct sim_act ask = {.id = machine, .volume = volume};

	return act(p, SIM_DETACH, &ask, err);
}

const struct volume_ops sim_volume_ops = {
	.ensure = sim_ensure_volume,
	.remove = sim_remove_volume,
	.attach = sim_attach,
	.detach = sim_detach,
};

/* The cloud's words for them, in the order of enum thing_kind. */
static const char *const thing_words[] = {NULL,    "network", "group",
					  "image", "volume",  NULL};

static int kind_of(const char *word)
{
	for (int i = 1; thing_words[i]; i++)
		if (word && strcmp(word, thing_words[i]) == 0)
			return i;
	return 0;
}

static int sim_list_things(struct provider *p, const char *installation,
			   const char *page, struct arena *a,
			   struct thing_page *ret, struct err *err)
{
	const struct sim_act ask = {.value = installation, .page = page};
	struct sim_things answer;
	const struct sim_thing *from;
	struct thing *to;

	if (sim_link_call(sim_link(p), SIM_THINGS, &ask, a, &answer, err) < 0)
		return -1;
	from = answer.things.at;
	to = arena_alloc(a, answer.things.n * sizeof(*to) + 1);
	for (size_t i = 0; i < answer.things.n; i++)
		to[i] = (struct thing){.kind = kind_of(from[i].kind),
				       .id = from[i].id,
				       .ours = from[i].ours,
				       .created_at = from[i].created_at};
	*ret = (struct thing_page){.things = {to, answer.things.n},
				   .next = answer.next};
	return 0;
}

const struct thing_ops sim_thing_ops = {
	.list = sim_list_things,
};

/* What is particular to each kind of thing that a provider has, too. */
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "reconcile/backed.h"

#define SECONDS 1000
#define HOURS   (3600 * SECONDS)

/* The status of that object; NULL when it is gone. */
static const struct backed *backed_of(struct work *w, const struct kind *k,
				      const char *id, size_t offset)
{
	const char *object = work_get(w, k, id);

	return object ? (const void *)(object + offset) : NULL;
}

/* That object is ready, and its id at the provider, if it has one there;
 * otherwise the work awaits it. */
static bool is_ready(struct work *w, const struct kind *k, const char *id,
		     size_t offset, const char **ret)
{
	const struct backed *b = backed_of(w, k, id, offset);

	if (!b || b->state != BACKED_READY) {
		work_await(w, k, id);
		return false;
	}
	*ret = b->provider ? arena_strdup(work_arena(w), b->provider) : NULL;
	return true;
}

static bool network_wants(const void *object)
{
	return backed_wants(&backed_network, object);
}

static enum capability network_capability(const void *object)
{
	(void)object;
	return CAN_NETWORKS;
}

static enum needs network_prepare(struct work *w, struct backing_call *c,
				  struct err *err)
{
	(void)w;
	(void)err;
	c->spec.network = (struct network_spec){
		.id = c->id, .network = (const void *)c->object};
	return NEEDS_MET;
}

static int network_ensure(struct provider *p, struct backing_call *c,
			  struct arena *a, struct err *err)
{
	return provider_ensure_network(p, &c->spec.network, a, &c->seen, err);
}

static void network_record(void *object, const struct backing *seen)
{
	((struct network *)object)->status.gateway = seen->gateway;
}

const struct backed_row backed_network = {
	.controller = {.name = "network",
		       .kind = &network_kind,
		       .memo = sizeof(struct backed_memo),
		       .wants = network_wants,
		       .step = backed_step},
	.status = offsetof(struct network, status.backed),
	.region = offsetof(struct network, region_id),
	.optional = true,
	.patience_ms = 600 * SECONDS,
	.capability = network_capability,
	.prepare = network_prepare,
	.ensure = network_ensure,
	.remove = provider_remove_network,
	.record = network_record,
};

static bool group_wants(const void *object)
{
	return backed_wants(&backed_group, object);
}

static enum capability group_capability(const void *object)
{
	(void)object;
	return CAN_SECURITY_GROUPS;
}

/* Groups may name each other, and themselves: what has no id there yet is left
 * out of the first telling, by which this one gets its own. */
static enum needs find_peers(struct work *w, struct backing_call *c,
			     struct securitygroup *g, const char **peers)
{
	struct rule *rules =
		arena_alloc(work_arena(w), g->spec.rules.n * sizeof(*rules));
	const struct rule *all = g->spec.rules.at;
	size_t n = 0;

	for (size_t i = 0; i < g->spec.rules.n; i++) {
		const struct backed *peer = NULL;

		if (all[i].group_id) {
			peer = backed_of(
				w, &securitygroup_kind, all[i].group_id,
				offsetof(struct securitygroup, status));
			c->partly |= !peer || !peer->provider;
			if ((!peer || !peer->provider) && c->id.provider) {
				work_await(w, &securitygroup_kind,
					   all[i].group_id);
				return NEEDS_WAIT;
			}
			if (!peer || !peer->provider)
				continue;
			peers[n] = arena_strdup(work_arena(w), peer->provider);
		}
		rules[n++] = all[i];
	}
	g->spec.rules = (struct items){rules, n};
	c->spec.group.peers = (struct items){peers, n};
	return NEEDS_MET;
}

static enum needs group_prepare(struct work *w, struct backing_call *c,
				struct err *err)
{
	struct securitygroup *g = (struct securitygroup *)(void *)c->object;
	const char **peers =
		arena_alloc(work_arena(w), g->spec.rules.n * sizeof(*peers));
	const char *network;

	(void)err;
	if (!is_ready(w, &network_kind, g->network_id,
		      offsetof(struct network, status.backed), &network))
		return NEEDS_WAIT;
	c->spec.group = (struct group_spec){
		.id = c->id, .network = network, .group = g};
	return find_peers(w, c, g, peers);
}

static int group_ensure(struct provider *p, struct backing_call *c,
			struct arena *a, struct err *err)
{
	return provider_ensure_group(p, &c->spec.group, a, &c->seen, err);
}

static bool group_let_go(void *object, struct arena *a)
{
	struct securitygroup *g = object;
	const struct rule *all = g->spec.rules.at;
	struct rule *rules = arena_alloc(a, g->spec.rules.n * sizeof(*rules));
	size_t n = 0, had = g->spec.rules.n;

	for (size_t i = 0; i < had; i++)
		if (!all[i].group_id)
			rules[n++] = all[i];
	g->spec.rules = (struct items){rules, n};
	return n != had;
}

const struct backed_row backed_group = {
	.controller = {.name = "securitygroup",
		       .kind = &securitygroup_kind,
		       .memo = sizeof(struct backed_memo),
		       .wants = group_wants,
		       .step = backed_step},
	.status = offsetof(struct securitygroup, status),
	.region = offsetof(struct securitygroup, region_id),
	.patience_ms = 600 * SECONDS,
	.capability = group_capability,
	.prepare = group_prepare,
	.ensure = group_ensure,
	.remove = provider_remove_group,
	.let_go = group_let_go,
};

/* A region's own are as the catalogue says. */
static bool image_wants(const void *object)
{
	const struct image *i = object;

	return i->status.source != IMAGE_PROVIDER &&
	       backed_wants(&backed_image, object);
}

static enum capability image_capability(const void *object)
{
	const struct image *i = object;

	return i->status.source == IMAGE_IMPORT ? CAN_IMPORT : CAN_SNAPSHOT;
}

static enum needs lost(struct err *err, const char *what)
{
	err_set(err, ERR_CONFLICT, "the %s that it was to be made of is gone",
		what);
	err->retry = ERR_RETRY_NEVER;
	return NEEDS_LOST;
}

/* Once it is being made the provider knows of what. */
static enum needs image_of_instance(struct work *w, struct backing_call *c,
				    const char *id, struct err *err)
{
	const struct instance *in = work_get(w, &instance_kind, id);

	if (in && in->status.provider_id)
		c->spec.image.machine =
			arena_strdup(work_arena(w), in->status.provider_id);
	if (c->id.provider || c->spec.image.machine)
		return NEEDS_MET;
	if (!in || in->meta.deleted_at)
		return lost(err, "instance");
	work_await(w, &instance_kind, id);
	return NEEDS_WAIT;
}

static enum needs image_of_volume(struct work *w, struct backing_call *c,
				  const char *id, struct err *err)
{
	const struct volume *v = work_get(w, &volume_kind, id);

	if (v && v->status.backed.provider)
		c->spec.image.volume =
			arena_strdup(work_arena(w), v->status.backed.provider);
	if (c->id.provider || c->spec.image.volume)
		return NEEDS_MET;
	if (!v || v->meta.deleted_at)
		return lost(err, "volume");
	work_await(w, &volume_kind, id);
	return NEEDS_WAIT;
}

static enum needs image_prepare(struct work *w, struct backing_call *c,
				struct err *err)
{
	const struct image *i = (const void *)c->object;

	c->spec.image = (struct image_spec){
		.id = c->id,
		.name = i->meta.name,
		.uri = i->spec.uri,
		.checksum = i->spec.checksum,
		.image = i,
	};
	if (i->status.source == IMAGE_SNAPSHOT)
		return image_of_instance(w, c, i->status.instance_id, err);
	if (i->status.source == IMAGE_VOLUME)
		return image_of_volume(w, c, i->status.volume_id, err);
	return NEEDS_MET;
}

static int image_ensure(struct provider *p, struct backing_call *c,
			struct arena *a, struct err *err)
{
	const struct image *i = (const void *)c->object;

	if (i->status.source == IMAGE_IMPORT)
		return provider_import_image(p, &c->spec.image, a, &c->seen,
					     err);
	return provider_snapshot(p, &c->spec.image, a, &c->seen, err);
}

static void image_record(void *object, const struct backing *seen)
{
	struct image *i = object;

	i->status.size_bytes = seen->size;
	if (seen->consistency)
		i->status.consistency = seen->consistency;
}

const struct backed_row backed_image = {
	.controller = {.name = "image",
		       .kind = &image_kind,
		       .memo = sizeof(struct backed_memo),
		       .wants = image_wants,
		       .step = backed_step},
	.status = offsetof(struct image, status.backed),
	.region = offsetof(struct image, region_id),
	.patience_ms = 6 * HOURS,
	.capability = image_capability,
	.prepare = image_prepare,
	.ensure = image_ensure,
	.remove = provider_remove_image,
	.record = image_record,
};

static bool volume_wants(const void *object)
{
	return backed_wants(&backed_volume, object);
}

static enum capability volume_capability(const void *object)
{
	(void)object;
	return CAN_VOLUMES;
}

static enum needs volume_prepare(struct work *w, struct backing_call *c,
				 struct err *err)
{
	const struct volume *v = (const void *)c->object;
	const char *image = NULL;

	(void)err;
	if (v->spec.image_id && !c->id.provider &&
	    !is_ready(w, &image_kind, v->spec.image_id,
		      offsetof(struct image, status.backed), &image))
		return NEEDS_WAIT;
	c->spec.volume = (struct volume_spec){
		.id = c->id,
		.name = v->meta.name,
		.class = v->spec.class,
		.zone = v->spec.zone,
		.image = image,
		.size_gib = v->spec.size_gib,
	};
	return NEEDS_MET;
}

static int volume_ensure(struct provider *p, struct backing_call *c,
			 struct arena *a, struct err *err)
{
	return provider_ensure_volume(p, &c->spec.volume, a, &c->seen, err);
}

static void volume_record(void *object, const struct backing *seen)
{
	((struct volume *)object)->status.size_gib = seen->size;
}

/* A machine has it until it is seen not to; the volume says so itself. */
static bool volume_is_held(struct work *w, const void *object)
{
	const struct volume *v = object;

	if (!v->status.instance_id ||
	    !work_get(w, &instance_kind, v->status.instance_id))
		return false;
	work_await(w, &instance_kind, v->status.instance_id);
	return true;
}

const struct backed_row backed_volume = {
	.controller = {.name = "volume",
		       .kind = &volume_kind,
		       .memo = sizeof(struct backed_memo),
		       .wants = volume_wants,
		       .step = backed_step},
	.status = offsetof(struct volume, status.backed),
	.region = offsetof(struct volume, region_id),
	.patience_ms = 600 * SECONDS,
	.capability = volume_capability,
	.prepare = volume_prepare,
	.ensure = volume_ensure,
	.remove = provider_remove_volume,
	.record = volume_record,
	.is_held = volume_is_held,
};

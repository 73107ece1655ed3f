/*
 * machine_spec.c - puts together what a provider is asked for.
 *
 * A launch asks for what the server's document says, so that it asks for the
 * same when it is repeated.  Everything is copied: the documents may change
 * while the call is under way.
 */
#include <assert.h>
#include <string.h>

#include "model/image.h"
#include "model/network.h"
#include "model/securitygroup.h"
#include "model/sshca.h"
#include "model/userdata.h"
#include "model/volume.h"
#include "reconcile/machine_call.h"

static const char *kept(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static struct items kept_texts(struct arena *a, const struct items *list)
{
	const char *const *from = list->at;
	const char **to;

	if (!list->n)
		return (struct items){0};
	to = arena_alloc(a, list->n * sizeof(*to));
	for (size_t n = 0; n < list->n; n++)
		to[n] = arena_strdup(a, from[n]);
	return (struct items){to, list->n};
}

/* The provider's ids of our groups; one without needs no telling. */
static struct items group_ids(struct work *w, const struct items *ours)
{
	struct arena *a = work_arena(w);
	const char *const *ids = ours->at;
	const char **to = arena_alloc(a, (ours->n + 1) * sizeof(*to));
	size_t n = 0;

	for (size_t i = 0; i < ours->n; i++) {
		const struct securitygroup *g =
			work_get(w, &securitygroup_kind, ids[i]);

		if (g && g->status.provider)
			to[n++] = arena_strdup(a, g->status.provider);
	}
	return (struct items){to, n};
}

/* The instance's own, and those that it is found again by. */
static struct items tags(struct work *w, const struct instance *i,
			 const char *server)
{
	const struct field_tag *from = i->meta.tags.at;
	const struct place *place = work_place(w, i->region_id);
	struct arena *a = work_arena(w);
	struct field_tag *to =
		arena_alloc(a, (i->meta.tags.n + 2) * sizeof(*to));
	size_t n;

	for (n = 0; n < i->meta.tags.n; n++)
		to[n] = (struct field_tag){arena_strdup(a, from[n].key),
					   arena_strdup(a, from[n].value)};
	to[n++] = (struct field_tag){TAG_SERVER, server};
	assert(place); /* nothing is planned for one that is not open */
	to[n++] = (struct field_tag){TAG_INSTALLATION,
				     place->provider->installation};
	return (struct items){to, n};
}

static const char *digest_kept(struct arena *a, const struct items *list)
{
	char digest[65];

	return kept(a, machine_tags_digest(list, digest));
}

static void set_access(struct work *w, const struct machine_view *v,
		       struct machine_call *c)
{
	struct arena *a = work_arena(w);
	bool launch = c->what == MACHINE_LAUNCH;
	const struct items *groups = launch ? &v->s->asked.security_group_ids
					    : &v->i->spec.security_group_ids;

	c->group_ids = kept_texts(a, groups);
	c->sources = kept_texts(a, launch ? &v->s->asked.sources
					  : &v->i->spec.sources);
	c->spec.groups = group_ids(w, groups);
	c->spec.sources = c->sources;
	c->spec.public_ip =
		launch ? v->s->asked.public_ip : v->i->spec.public_ip;
}

static int set_guest(struct work *w, const struct instance *i,
		     struct machine_call *c, struct err *err)
{
	struct arena *a = work_arena(w);
	const struct sshca *ca = work_get(w, &sshca_kind, i->spec.sshca_id);
	struct userdata_extras extras = userdata_extras(i, ca, a);
	const char *data;

	if (userdata_compose(i->spec.user_data, &extras, a, &data,
			     &c->spec.user_data_len, err) < 0)
		return -1;
	c->spec.user_data = data;
	c->spec.ssh_keys = kept_texts(a, &extras.keys);
	return 0;
}

static int set_machine(struct work *w, const struct machine_view *v,
		       struct machine_call *c, struct err *err)
{
	const struct server *s = v->s;
	bool launch = c->what == MACHINE_LAUNCH;
	const struct flavor *f = work_get(w, &flavor_kind, s->asked.flavor_id);
	const struct network *net =
		work_get(w, &network_kind, v->i->network_id);
	const struct image *image;
	struct arena *a = work_arena(w);

	c->image_id = kept(a, launch ? s->asked.image_id : v->i->spec.image_id);
	image = work_get(w, &image_kind, c->image_id);
	if (!f || !net || !image)
		return err_set(err, ERR_UNAVAILABLE,
			       "its flavor, image or network is not there");
	c->spec.server = c->server;
	c->spec.token = kept(a, s->attempt.token);
	c->spec.name = kept(a, v->i->meta.name);
	c->spec.flavor = kept(a, f->provider_id);
	c->spec.image = kept(a, image->status.backed.provider);
	c->spec.zone = kept(a, s->asked.zone);
	c->spec.spot = s->asked.market == MARKET_SPOT;
	c->spec.root_disk_gib = s->asked.root_disk_gib;
	c->spec.root_disk_class = kept(a, s->asked.root_disk_class);
	c->spec.network = kept(a, net->status.backed.provider);
	c->spec.tags = tags(w, v->i, c->server);
	c->tags_digest = digest_kept(a, &v->i->meta.tags);
	c->host_key_seed = kept(a, s->host_key_seed);
	c->disk = launch ? s->disk : s->disk + 1;
	set_access(w, v, c);
	return set_guest(w, v->i, c, err);
}

static int set_volume(struct work *w, const struct machine_step *step,
		      struct machine_call *c, struct err *err)
{
	const struct volume *v = work_get(w, &volume_kind, step->volume);

	c->volume_id = kept(work_arena(w), step->volume);
	if (!v || !v->status.backed.provider)
		return err_set(err, ERR_NOT_FOUND, "there is no volume %s",
			       step->volume);
	c->volume = kept(work_arena(w), v->status.backed.provider);
	return 0;
}

static int set_inputs(struct work *w, const struct machine_view *v,
		      const struct machine_step *step, struct machine_call *c,
		      struct err *err)
{
	struct arena *a = work_arena(w);

	switch (step->what) {
	case MACHINE_LAUNCH:
	case MACHINE_REBUILD:
		return set_machine(w, v, c, err);
	case MACHINE_RESIZE:
		c->flavor_id = kept(a, v->i->spec.flavor_id);
		c->flavor = kept(a, v->flavors[0]->provider_id);
		return 0;
	case MACHINE_GROW:
		c->gib = v->i->spec.root_disk.size_gib;
		return 0;
	case MACHINE_TAG:
		c->spec.tags = tags(w, v->i, c->server);
		c->tags_digest = digest_kept(a, &v->i->meta.tags);
		return 0;
	case MACHINE_ACCESS:
		set_access(w, v, c);
		return 0;
	case MACHINE_ATTACH:
	case MACHINE_DETACH:
		return set_volume(w, step, c, err);
	default:
		return 0;
	}
}

static enum call_rank rank(const struct machine_view *v, enum machine_do what)
{
	if (what == MACHINE_DESCRIBE)
		return CALL_OBSERVE;
	return what == MACHINE_TERMINATE || v->i->meta.deleted_at ? CALL_DELETE
								  : CALL_CREATE;
}

int machine_call_make(struct work *w, const struct machine_view *v,
		      const struct machine_step *step,
		      struct machine_call **ret, struct err *err)
{
	struct arena *a = work_arena(w);
	struct machine_call *c = arena_alloc(a, sizeof(*c));

	*ret = c;
	c->call.run = machine_run;
	c->call.rank = rank(v, step->what);
	c->what = step->what;
	c->hard = step->hard;
	c->instance = kept(a, v->i->meta.id);
	c->uid = kept(a, v->i->uid);
	c->server = kept(a, v->s->meta.id);
	c->attempt = v->s->attempt.number;
	c->generation = v->i->meta.generation;
	c->machine = kept(a, v->s->status.provider_id);
	return set_inputs(w, v, step, c, err);
}

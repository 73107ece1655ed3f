/* What the simulated cloud sells, in our words.  What makes no sense is left
 * out, and noted. */
#include <stdlib.h>
#include <string.h>

#include "model/image.h"
#include "model/region.h"
#include "provider/sim_driver.h"

enum { NOTES_MOST = 32 };

static int architecture(const char *word)
{
	for (int i = 1; architecture_names[i]; i++)
		if (word && strcmp(architecture_names[i], word) == 0)
			return i;
	return 0;
}

static void note(struct catalogue *c, struct arena *a, const char *what,
		 const char *id, const char *why)
{
	const char **notes = c->notes.at;

	if (c->notes.n < NOTES_MOST)
		notes[c->notes.n++] = arena_join(a, what, " ", id ? id : "?",
						 ": ", why, NULL);
}

static bool has_flavor(const struct catalogue *c, const char *id)
{
	const struct flavor *f = c->flavors.at;

	for (size_t i = 0; i < c->flavors.n; i++)
		if (strcmp(f[i].provider_id, id) == 0)
			return true;
	return false;
}

static const char *wrong_flavor(const struct catalogue *c,
				const struct sim_flavor *f)
{
	if (!f->id || !f->name)
		return "it has no id or no name";
	if (!architecture(f->architecture))
		return "its architecture is not one we know";
	if (f->vcpus < 1 || f->memory_mib < 1)
		return "it has no processors or no memory";
	if (f->disk_gib < 1)
		return "it has no root disk";
	if (has_flavor(c, f->id))
		return "its id is there twice";
	return NULL;
}

/* A price that cannot be read is not known. */
static struct price price(const char *amount, int64_t now)
{
	if (!amount || !amount[0] ||
	    strspn(amount, "0123456789.") != strlen(amount))
		return (struct price){0};
	return (struct price){amount, "USD", now};
}

static struct items gpus(const struct sim_gpu *from, struct arena *a)
{
	struct gpu *to = arena_alloc(a, sizeof(*to));

	*to = (struct gpu){.vendor = from->vendor,
			   .model = from->model,
			   .count = from->count,
			   .memory_mib = from->memory_mib,
			   .interconnect = from->count > 1 ? "nvlink" : NULL};
	return (struct items){to, from->vendor && from->model};
}

static void to_flavor(const struct sim_flavor *f, int64_t now, struct arena *a,
		      struct flavor *ret)
{
	struct local_disk *local = arena_alloc(a, sizeof(*local));

	*local = (struct local_disk){f->local_gib, 1, "nvme"};
	*ret = (struct flavor){
		.meta.name = f->name,
		.provider_id = f->id,
		.vcpus = f->vcpus,
		.memory_mib = f->memory_mib,
		.architecture = architecture(f->architecture),
		.cpu_family = f->cpu,
		.root_disk = {.model = f->fixed_disk ? DISK_FIXED
						     : DISK_RESIZABLE,
			      .size_gib = f->disk_gib,
			      .least = f->disk_gib,
			      .most = f->fixed_disk ? f->disk_gib : 16384},
		.local_disks = {local, f->local_gib > 0},
		.gpus = gpus(&f->gpu, a),
		.bare_metal = f->bare_metal,
		.price = price(f->price, now),
		.spot_price = price(f->spot_price, now),
		.deploy_seconds = FIELD_NONE,
	};
	if (!f->fixed_disk)
		ret->root_disk.least = 1;
}

static const char *wrong_image(const struct sim_image *i)
{
	if (!i->id || !i->name)
		return "it has no id or no name";
	if (!architecture(i->architecture))
		return "its architecture is not one we know";
	if (i->min_disk_gib < 0)
		return "its size makes no sense";
	return NULL;
}

static void to_image(const struct sim_image *i, struct image *ret)
{
	*ret = (struct image){
		.meta.name = i->name,
		.spec = {.architecture = architecture(i->architecture),
			 .min_disk_gib = i->min_disk_gib,
			 .virtualization = i->bare_metal
						   ? VIRTUALIZATION_BARE_METAL
						   : VIRTUALIZATION_VIRTUALIZED,
			 .os = {.kernel = "linux",
				.family = "debian",
				.distro = i->distro,
				.codename = i->codename,
				.version = i->version},
			 .user = i->distro},
		.status = {.backed = {.state = BACKED_READY,
				      .native = "available",
				      .provider = i->id},
			   .source = IMAGE_PROVIDER,
			   .size_bytes = FIELD_NONE},
	};
	if (i->gpu_driver) {
		ret->spec.gpu_driver.vendor = "nvidia";
		ret->spec.gpu_driver.version = i->gpu_driver;
	}
}

static int sim_read(struct provider *p, struct arena *a, struct catalogue *ret,
		    struct err *err)
{
	int64_t now = clock_wall(((struct sim *)p)->conf->clock);
	const struct sim_act act = {0};
	const struct sim_flavor *f;
	const struct sim_image *m;
	struct sim_offers o;
	struct catalogue c = {0};
	struct zone *zones;
	const char *why;

	if (sim_link_call(sim_link(p), SIM_OFFERS, &act, a, &o, err) < 0)
		return -1;
	f = o.flavors.at;
	m = o.images.at;
	c.flavors.at = arena_alloc(a, o.flavors.n * sizeof(struct flavor) + 1);
	c.images.at = arena_alloc(a, o.images.n * sizeof(struct image) + 1);
	c.zones.at = zones = arena_alloc(a, o.zones.n * sizeof(*zones) + 1);
	c.notes.at = arena_alloc(a, NOTES_MOST * sizeof(const char *));
	for (size_t i = 0; i < o.flavors.n; i++)
		if ((why = wrong_flavor(&c, &f[i])))
			note(&c, a, "flavor", f[i].id, why);
		else
			to_flavor(&f[i], now, a,
				  (struct flavor *)c.flavors.at +
					  c.flavors.n++);
	for (size_t i = 0; i < o.images.n; i++)
		if ((why = wrong_image(&m[i])))
			note(&c, a, "image", m[i].id, why);
		else
			to_image(&m[i],
				 (struct image *)c.images.at + c.images.n++);
	for (; c.zones.n < o.zones.n; c.zones.n++)
		zones[c.zones.n] = (struct zone){
			((const char **)o.zones.at)[c.zones.n], true};
	*ret = c;
	return 0;
}

const struct catalogue_ops sim_catalogue_ops = {.read = sim_read};

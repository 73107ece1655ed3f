/* What is offered: the flavors of the options, and the images there are. */
#include <string.h>

#include "model/flavor.h"
#include "model/region.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/tidy.h"

enum { NOTES_MOST = 32, DISK_MOST_GIB = 65536 };

static void note(struct catalogue *c, const char *words)
{
	const char **notes = c->notes.at;

	if (c->notes.n < NOTES_MOST)
		notes[c->notes.n++] = words;
}

static void add_flavors(const struct lv *lv, struct arena *a,
			struct catalogue *ret)
{
	const struct flavor_options *o = lv->options.flavors.at;
	size_t n = lv->options.flavors.n;
	struct flavor *f = arena_alloc(a, n * sizeof(*f) + 1);
	struct local_disk *local = arena_alloc(a, n * sizeof(*local) + 1);

	for (size_t i = 0; i < n; i++) {
		local[i] = (struct local_disk){o[i].local_gib, 1, "ssd"};
		f[i] = (struct flavor){
			.meta.name = o[i].name,
			.provider_id = o[i].name,
			.vcpus = o[i].vcpus,
			.memory_mib = o[i].memory_mib,
			.architecture = ARCHITECTURE_X86_64,
			.root_disk = {.model = DISK_RESIZABLE,
				      .size_gib = o[i].disk_gib,
				      .least = 1,
				      .most = DISK_MOST_GIB},
			.local_disks = {&local[i], o[i].local_gib > 0},
			.deploy_seconds = FIELD_NONE,
		};
	}
	ret->flavors = (struct items){f, n};
}

/* The zones that hosts say they are in; each once. */
static void add_zones(const struct lv *lv, struct arena *a,
		      struct catalogue *ret)
{
	struct zone *z = arena_alloc(a, lv->n_hosts * sizeof(*z) + 1);
	size_t n = 0;

	for (size_t i = 0; i < lv->n_hosts; i++) {
		const char *zone = lv->hosts[i]->options->zone;
		size_t at = 0;

		while (zone && at < n && strcmp(z[at].name, zone) != 0)
			at++;
		if (zone && at == n)
			z[n++] = (struct zone){zone, true};
	}
	ret->zones = (struct items){z, n};
}

static bool has_cpu_limits(const struct lv *lv)
{
	const struct flavor_options *f = lv->options.flavors.at;

	for (size_t i = 0; i < lv->options.flavors.n; i++)
		if (f[i].cpu_percent || f[i].cpu_shares)
			return true;
	return false;
}

/* Most errors name the host themselves. */
static const char *why_deaf(const struct host *h, const struct err *err,
			    struct arena *a)
{
	const char *words = host_words(err, a);
	const char *prefix = arena_join(a, "host ", h->name, ": ", NULL);

	if (strncmp(words, prefix, strlen(prefix)) == 0)
		return words;
	return arena_join(a, prefix, words, NULL);
}

/* How each host runs its machines; one that cannot be asked is no reason to
 * offer nothing. */
static void add_host(struct host *h, struct arena *a, struct catalogue *ret)
{
	struct host_powers powers;
	struct err err = {0};

	if (host_powers(h, &powers, &err) < 0) {
		note(ret, why_deaf(h, &err, a));
		return;
	}
	tidy_files(h);
	note(ret,
	     powers.kvm
		     ? arena_printf(a, "host %s: machines run by KVM", h->name)
		     : arena_printf(a,
				    "host %s: machines are emulated (TCG)"
				    " and slow, for %s",
				    h->name, powers.why));
	if (!powers.limits && has_cpu_limits(h->lv))
		note(ret,
		     arena_printf(a,
				  "host %s: limits of processor time cannot "
				  "be kept there",
				  h->name));
}

static int lv_read(struct provider *p, struct arena *a, struct catalogue *ret,
		   struct err *err)
{
	struct lv *lv = lv_of(p);
	struct catalogue c = {0};

	c.notes.at = arena_alloc(a, NOTES_MOST * sizeof(const char *));
	add_flavors(lv, a, &c);
	add_zones(lv, a, &c);
	for (size_t i = 0; i < lv->n_hosts; i++)
		add_host(lv->hosts[i], a, &c);
	if (image_catalogue(lv, a, &c, err) < 0)
		return -1;
	*ret = c;
	return 0;
}

const struct catalogue_ops lv_catalogue_ops = {.read = lv_read};

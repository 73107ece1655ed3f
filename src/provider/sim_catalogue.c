#include "provider/sim_catalogue.h"

#include <string.h>

#include "base/attr.h"

static const struct sim_flavor flavors[] = {
	{"sim.small", "small", "x86_64", "sim-1", 1, 2048, 10,
	 .price = "0.0104", .spot_price = "0.0031"},
	{"sim.medium", "medium", "x86_64", "sim-1", 2, 8192, 20,
	 .price = "0.0416", .spot_price = "0.0125"},
	{"sim.large", "large", "x86_64", "sim-2", 8, 32768, 40, 100,
	 .price = "0.1920", .spot_price = "0.0640"},
	{"sim.arm", "arm", "aarch64", "sim-a1", 2, 8192, 20, .price = "0.0336",
	 .spot_price = "0.0101"},
	{"sim.fixed", "fixed", "x86_64", "sim-1", 2, 4096, 40,
	 .fixed_disk = true, .price = "0.0300"},
	{"sim.gpu", "gpu", "x86_64", "sim-2", 16, 65536, 80, 600,
	 .gpu = {"nvidia", "L4", 1, 24576}, .price = "0.8040",
	 .spot_price = "0.2800"},
	{"sim.gpu8", "gpu8", "x86_64", "sim-2", 192, 2097152, 200, 15360,
	 .gpu = {"nvidia", "H100", 8, 81920}, .price = "31.2000"},
	{"sim.metal", "metal", "x86_64", "sim-2", 64, 262144, 480,
	 .bare_metal = true, .fixed_disk = true, .price = "2.4000"},
};

static const struct sim_image images[] = {
	{"debian-12", "debian-12", "x86_64", "debian", "12", "bookworm",
	 .min_disk_gib = 4},
	{"ubuntu-24.04", "ubuntu-24.04", "x86_64", "ubuntu", "24.04", "noble",
	 .min_disk_gib = 5},
	{"debian-12-arm64", "debian-12-arm64", "aarch64", "debian", "12",
	 "bookworm", .min_disk_gib = 4},
	{"cuda", "cuda-ubuntu-24.04", "x86_64", "ubuntu", "24.04", "noble",
	 .gpu_driver = "560.35", .min_disk_gib = 20},
	{"debian-12-metal", "debian-12-metal", "x86_64", "debian", "12",
	 "bookworm", .min_disk_gib = 4, .bare_metal = true},
};

static const struct sim_flavor priceless = {.id = "sim.free",
					    .name = "free",
					    .architecture = "x86_64",
					    .vcpus = 1,
					    .memory_mib = 512,
					    .disk_gib = 5,
					    .price = "a song"};

/* What a driver must not trip over. */
static const struct sim_flavor odd_flavors[] = {
	{.id = "sim.none", .name = "none", .architecture = "x86_64"},
	{.id = "sim.vax",
	 .name = "vax",
	 .architecture = "vax",
	 .vcpus = 1,
	 .memory_mib = 16},
	{.name = "nameless", .architecture = "x86_64", .vcpus = 1},
	{.id = "sim.small",
	 .name = "again",
	 .architecture = "x86_64",
	 .vcpus = 1,
	 .memory_mib = 1024,
	 .disk_gib = 1},
};

static const struct sim_image odd_images[] = {
	{.id = "blank", .architecture = "x86_64"},
	{.id = "plan9", .name = "plan9", .architecture = "mips"},
	{.id = "huge",
	 .name = "huge",
	 .architecture = "x86_64",
	 .min_disk_gib = -1},
};

static bool is_hidden(const struct sim_options *o, const char *id)
{
	const char *const *names = o->hidden.at;

	for (size_t i = 0; i < o->hidden.n; i++)
		if (strcmp(names[i], id) == 0)
			return true;
	return false;
}

const struct sim_flavor *sim_flavor(const struct sim_options *o, const char *id)
{
	for (size_t i = 0; i < COUNT_OF(flavors); i++)
		if (strcmp(flavors[i].id, id) == 0 && !is_hidden(o, id))
			return &flavors[i];
	/* Of the odd ones it is only the price that is wrong. */
	if (o->odd_catalogue && strcmp(priceless.id, id) == 0)
		return &priceless;
	return NULL;
}

const struct sim_image *sim_image(const struct sim_options *o, const char *id)
{
	for (size_t i = 0; i < COUNT_OF(images); i++)
		if (strcmp(images[i].id, id) == 0 && !is_hidden(o, id))
			return &images[i];
	return NULL;
}

void sim_offers(const struct sim_options *o, struct arena *a,
		struct sim_offers *ret)
{
	struct sim_flavor *f = arena_alloc(
		a, sizeof(flavors) + sizeof(odd_flavors) + sizeof(priceless));
	struct sim_image *m =
		arena_alloc(a, sizeof(images) + sizeof(odd_images));
	const char **zones = arena_alloc(a, o->zones.n * sizeof(*zones) + 1);

	*ret = (struct sim_offers){{f, 0}, {m, 0}, {zones, o->zones.n}};
	for (size_t i = 0; i < COUNT_OF(flavors); i++)
		if (!is_hidden(o, flavors[i].id))
			f[ret->flavors.n++] = flavors[i];
	for (size_t i = 0; i < COUNT_OF(images); i++)
		if (!is_hidden(o, images[i].id))
			m[ret->images.n++] = images[i];
	if (o->odd_catalogue)
		f[ret->flavors.n++] = priceless;
	for (size_t i = 0; o->odd_catalogue && i < COUNT_OF(odd_flavors); i++)
		f[ret->flavors.n++] = odd_flavors[i];
	for (size_t i = 0; o->odd_catalogue && i < COUNT_OF(odd_images); i++)
		m[ret->images.n++] = odd_images[i];
	for (size_t i = 0; i < o->zones.n; i++)
		zones[i] = arena_strdup(a, ((const char **)o->zones.at)[i]);
}

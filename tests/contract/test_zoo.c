/*
 * The contract of providers against drivers that break it (zoo.h): the healthy
 * one passes all checks, and each animal fails the one that is for it.  Then
 * the table in docs/reliability.md against the one here.  Takes the project's
 * folder.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "provider/sim_cloud.h"
#include "provider/verify.h"
#include "stepped.h"
#include "test.h"
#include "zoo.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

static const struct animal *const tables[] = {zoo_launchers, zoo_tellers,
					      zoo_listers,   zoo_changers,
					      zoo_keepers,   zoo_hoarders};
static const char *folder;

static const struct animal *animal_at(size_t i)
{
	for (size_t t = 0; t < COUNT_OF(tables); t++)
		for (const struct animal *a = tables[t]; a->name; a++)
			if (!i--)
				return a;
	return NULL;
}

/* Each function of OVER that is there takes the place of BASE's: both are
 * structs of nothing but pointers to functions. */
static void lay_over(void *base, const void *over, size_t size)
{
	void (*fn)(void);

	for (size_t at = 0; at < size; at += sizeof(fn)) {
		memcpy(&fn, (const char *)over + at, sizeof(fn));
		if (fn)
			memcpy((char *)base + at, &fn, sizeof(fn));
	}
}

static void dress(struct cage *c, const struct animal *animal,
		  struct provider *p)
{
	*c = (struct cage){.driver = sim_driver,
			   .machines = *sim_driver.machines,
			   .catalogue = *sim_driver.catalogue,
			   .images = *sim_driver.images,
			   .networks = *sim_driver.networks,
			   .volumes = *sim_driver.volumes,
			   .things = *sim_driver.things,
			   .sleep = step};
	c->driver.machines = &c->machines;
	c->driver.catalogue = &c->catalogue;
	c->driver.images = &c->images;
	c->driver.networks = &c->networks;
	c->driver.volumes = &c->volumes;
	c->driver.things = &c->things;
	lay_over(&c->machines, &animal->machines, sizeof(c->machines));
	lay_over(&c->catalogue, &animal->catalogue, sizeof(c->catalogue));
	lay_over(&c->images, &animal->images, sizeof(c->images));
	lay_over(&c->networks, &animal->networks, sizeof(c->networks));
	lay_over(&c->volumes, &animal->volumes, sizeof(c->volumes));
	lay_over(&c->things, &animal->things, sizeof(c->things));
	p->driver = &c->driver;
	if (animal->lie)
		animal->lie(c, p);
}

/* A run of the checks on one of them. */
struct run {
	const struct animal *animal;
	struct provider *provider;
	bool caught;
	unsigned failed;
};

static int confuse(void *ctx, const char *id)
{
	const struct run *r = ctx;
	struct err err;

	return sim_cloud_drift(sim_truth(r->provider), id, "confuse", &err);
}

static size_t machines(void *ctx)
{
	const struct run *r = ctx;

	return sim_cloud_machines(sim_truth(r->provider));
}

static void tell(void *ctx, const char *check, enum verify_outcome outcome,
		 const char *why)
{
	struct run *r = ctx;
	bool meant;

	if (outcome != VERIFY_FAILED)
		return;
	meant = r->animal->caught && strcmp(check, r->animal->caught) == 0;
	r->failed++;
	r->caught |= meant;
	printf("#   %s %s: %s\n", meant ? "*" : "-", check, why);
}

static struct run watch(const struct animal *animal)
{
	const char *options = animal->options ? animal->options : "{}";
	struct run r = {.animal = animal};
	struct verify_conf conf = {.clock = &stepped,
				   .sleep = step,
				   .confuse = confuse,
				   .machines = machines,
				   .tell = tell,
				   .ctx = &r};
	struct provider_conf open = {.region = "r",
				     .installation = INSTALLATION,
				     .clock = &stepped,
				     .sleep = step};
	struct random_seeded random;
	struct verify_result result;
	struct err err = {0};
	struct arena a;
	struct cage cage;

	arena_init(&a, (size_t)1 << 20);
	open.options = json_parse(options, strlen(options), &a, &err);
	CHECK(open.options &&
	      provider_open("sim", &open, &r.provider, &err) == 0);
	arena_release(&a);
	if (!r.provider)
		return r;
	dress(&cage, animal, r.provider);
	random_seed(&random, 42);
	conf.random = &random.base;
	conf.provider = r.provider;
	printf("# %s (%s)\n", animal->name, animal->slot);
	verify_run(&conf, &result);
	r.provider->driver = &sim_driver;
	provider_close(r.provider);
	return r;
}

static void the_healthy_driver_passes(void)
{
	static const struct animal healthy = {.name = "the healthy driver",
					      .slot = "none"};

	CHECK(watch(&healthy).failed == 0);
}

static void every_animal_is_caught(void)
{
	const struct animal *animal;
	unsigned n = 0, caught = 0;

	for (; (animal = animal_at(n)); n++) {
		struct run r = watch(animal);

		if (!r.caught)
			printf("# NOT CAUGHT: %s, which \"%s\" ought to\n",
			       animal->name, animal->caught);
		CHECK(r.caught);
		caught += r.caught;
	}
	CHECK(n >= 24);
	printf("# %u of %u caught\n", caught, n);
}

static bool is_a_check(const char *name)
{
	for (size_t i = 0; verify_name(i); i++)
		if (strcmp(verify_name(i), name) == 0)
			return true;
	return false;
}

static void every_row_is_whole(void)
{
	const struct animal *animal;

	for (size_t i = 0; (animal = animal_at(i)); i++) {
		CHECK(animal->wrong && animal->slot && animal->caught);
		CHECK(is_a_check(animal->caught));
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(animal->name, animal_at(k)->name) != 0);
	}
}

static void read_doc(struct buf *out)
{
	char path[4096], piece[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/docs/reliability.md", folder);
	f = fopen(path, "re");
	CHECK(f != NULL);
	while (f && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
	if (f)
		fclose(f);
}

/* Every row is there, and nothing between the first and the last is not one. */
static void the_table_in_the_documentation_is_this_one(void)
{
	struct buf doc = BUF_INIT((size_t)1 << 20), want = BUF_INIT(65536);
	const struct animal *animal;

	read_doc(&doc);
	buf_adds(&want, "| animal | what is right | where | caught by |\n"
			"|---|---|---|---|\n");
	for (size_t i = 0; (animal = animal_at(i)); i++)
		buf_addf(&want, "| %s | %s | `%s` | %s |\n", animal->name,
			 animal->wrong, animal->slot, animal->caught);
	buf_adds(&want, "\n");
	if (!strstr(buf_str(&doc), buf_str(&want)))
		printf("%s", buf_str(&want));
	CHECK(strstr(buf_str(&doc), buf_str(&want)) != NULL);
	buf_release(&doc);
	buf_release(&want);
}

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : ".";
	RUN(the_healthy_driver_passes);
	RUN(every_row_is_whole);
	RUN(the_table_in_the_documentation_is_this_one);
	RUN(every_animal_is_caught);
	return test_done();
}

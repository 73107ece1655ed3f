/* test_catalogue - what is kept of what a provider says that it offers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "model/flavor.h"
#include "model/image.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "scene.h"
#include "test.h"

#define SYNC ((int64_t)301 * 1000)

/* What the provider says from now on. */
static struct catalogue offers;

static int say(struct provider *p, struct arena *a, struct catalogue *ret,
	       struct err *err)
{
	(void)p;
	(void)err;
	*ret = offers;
	/* What was said is the reader's. */
	ret->flavors.at =
		arena_alloc(a, (offers.flavors.n + 1) * sizeof(struct flavor));
	ret->images.at =
		arena_alloc(a, (offers.images.n + 1) * sizeof(struct image));
	if (offers.flavors.n)
		memcpy(ret->flavors.at, offers.flavors.at,
		       offers.flavors.n * sizeof(struct flavor));
	if (offers.images.n)
		memcpy(ret->images.at, offers.images.at,
		       offers.images.n * sizeof(struct image));
	return 0;
}

/* A region whose provider says what the test wants. */
static void begin(struct stage *s)
{
	static struct catalogue_ops catalogue;
	static struct driver driver;

	catalogue = *sim_driver.catalogue;
	catalogue.read = say;
	driver = sim_driver;
	driver.catalogue = &catalogue;
	scene_begin(s, "{}");
	stage_run(s);
	scene_provider(s)->driver = &driver;
	offers = (struct catalogue){0};
}

static void offer(struct flavor *list, size_t n)
{
	offers.flavors = (struct items){list, n};
}

static struct flavor flavor(const char *provider_id, const char *name)
{
	return (struct flavor){
		.meta.name = name,
		.provider_id = provider_id,
		.vcpus = 1,
		.memory_mib = 1024,
		.architecture = ARCHITECTURE_X86_64,
		.root_disk = {.model = DISK_FIXED, .size_gib = 10}};
}

static const struct flavor *find(struct stage *s, const char *provider_id)
{
	char name[64], id[37];

	snprintf(name, sizeof(name), "flavor/%s", provider_id);
	uuid_v5(REGION, name, id);
	return stage_get(s, &flavor_kind, id);
}

static bool noted(struct stage *s, const char *words)
{
	const struct items *notes = &the_region(s)->status.notes;
	const char *const *list = notes->at;

	for (size_t n = 0; n < notes->n; n++)
		if (strstr(list[n], words))
			return true;
	return false;
}

static void what_is_odd_is_left_out_and_said(void)
{
	static char long_id[8000], large[2000000];
	struct flavor list[] = {
		flavor("good", "good"),      flavor(NULL, "nameless"),
		flavor("", "empty"),         flavor(long_id, "long"),
		flavor("a", NULL),           flavor("b", ""),
		flavor("good", "again"),     flavor("large", "large"),
		flavor("also", "also good"),
	};
	struct stage s;

	memset(long_id, 'x', sizeof(long_id) - 1);
	memset(large, 'x', sizeof(large) - 1);
	list[7].cpu_family = large;
	begin(&s);
	offer(list, COUNT_OF(list));
	stage_pass(&s, SYNC);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	CHECK(the_region(&s)->status.flavors == 2);
	CHECK(find(&s, "good") && find(&s, "also"));
	CHECK_STR(find(&s, "good")->meta.name, "good");
	CHECK(noted(&s, "nameless has no id"));
	CHECK(noted(&s, "empty has no id"));
	CHECK(noted(&s, "long has no id"));
	CHECK(noted(&s, "flavor has no name"));
	CHECK(noted(&s, "again is there twice"));
	CHECK(noted(&s, "large cannot be kept"));
	CHECK(the_region(&s)->status.notes.n == 7);
	stage_release(&s);
}

static void notes_have_an_end(void)
{
	static const char *own[40];
	struct flavor list[60];
	const char *const *notes;
	struct stage s;

	for (size_t n = 0; n < COUNT_OF(own); n++)
		own[n] = "the provider's own";
	begin(&s);
	list[0] = flavor("good", "good");
	for (size_t n = 1; n < COUNT_OF(list); n++)
		list[n] = flavor(NULL, "odd");
	offer(list, COUNT_OF(list));
	stage_pass(&s, SYNC);
	notes = the_region(&s)->status.notes.at;
	CHECK(the_region(&s)->status.notes.n == 32);
	CHECK_STR(notes[31], "and more");
	offers.notes = (struct items){own, COUNT_OF(own)};
	stage_pass(&s, SYNC);
	CHECK(the_region(&s)->status.notes.n == 32);
	CHECK(find(&s, "good") != NULL);
	stage_release(&s);
}

static void there_may_be_too_many(void)
{
	enum { MANY = 4100 };
	struct flavor *list = calloc(MANY, sizeof(*list));
	static char ids[MANY][16];
	struct stage s;

	for (size_t n = 0; n < MANY; n++) {
		snprintf(ids[n], sizeof(ids[n]), "f%zu", n);
		list[n] = flavor(ids[n], ids[n]);
	}
	begin(&s);
	offer(list, MANY);
	stage_pass(&s, SYNC);
	CHECK(the_region(&s)->status.flavors == 4096);
	CHECK(find(&s, "f4095") && !find(&s, "f4096"));
	CHECK(noted(&s, "f4099 is one too many"));
	stage_release(&s);
	free(list);
}

/* A list that is suddenly empty is a failure of the provider's. */
static void nothing_at_all_is_not_believed(void)
{
	struct flavor list[] = {flavor("good", "good")};
	struct stage s;

	begin(&s);
	offer(list, 1);
	stage_pass(&s, SYNC);
	CHECK(find(&s, "good") != NULL);
	offer(list, 0);
	stage_pass(&s, SYNC);
	CHECK(find(&s, "good") && !find(&s, "good")->retired_at);
	CHECK_STR(the_region(&s)->status.reason.code, "provider_failed");
	CHECK(the_region(&s)->status.state == BACKED_READY);
	offer(list, 1);
	stage_pass(&s, SYNC);
	CHECK(!the_region(&s)->status.reason.code);
	stage_release(&s);
}

/* One that never had any may have none. */
static void nothing_at_first_is_believed(void)
{
	static struct catalogue_ops catalogue;
	static struct driver driver;
	struct stage s;

	catalogue = *sim_driver.catalogue;
	catalogue.read = say;
	driver = sim_driver;
	driver.catalogue = &catalogue;
	offers = (struct catalogue){0};
	scene_begin(&s, "{}");
	stage_settle(&s);
	CHECK(stage_call(&s)); /* it opens */
	scene_provider(&s)->driver = &driver;
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	CHECK(the_region(&s)->status.flavors == 0);
	stage_release(&s);
}

static int64_t as_of(struct stage *s, struct flavor *f, const char *amount,
		     const char *currency)
{
	f->price = (struct price){amount, currency, s->wall};
	offer(f, 1);
	stage_pass(s, SYNC);
	return find(s, "good")->price.as_of;
}

static void a_price_is_as_of_when_it_became_that(void)
{
	struct flavor f = flavor("good", "good");
	struct stage s;
	int64_t first, second, third, fourth;

	begin(&s);
	first = as_of(&s, &f, "0.10", "EUR");
	CHECK(as_of(&s, &f, "0.10", "EUR") == first);
	second = as_of(&s, &f, "0.20", "EUR");
	CHECK(second > first);
	third = as_of(&s, &f, "0.20", "USD");
	CHECK(third > second);
	fourth = as_of(&s, &f, "0.20", NULL);
	CHECK(fourth > third);
	CHECK(as_of(&s, &f, "0.20", "USD") > fourth);
	CHECK(as_of(&s, &f, NULL, "USD") > fourth);
	CHECK(as_of(&s, &f, "0.20", "USD") > fourth);
	stage_release(&s);
}

/* What a project has made in a region is no entry of its catalogue. */
static void what_is_a_project_s_does_not_retire(void)
{
	struct flavor f = flavor("good", "good");
	struct image theirs = {.meta.name = "debian"};
	struct image ours = {
		.meta = {.id = IMAGE, .name = "ours"},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.uri = "https://images.example/a",
			 .architecture = ARCHITECTURE_X86_64},
		.status = {.backed = {.state = BACKED_PENDING},
			   .source = IMAGE_IMPORT},
	};
	const struct image *now;
	struct stage s;
	char id[37];

	theirs.status.backed.provider = "debian";
	theirs.spec.architecture = ARCHITECTURE_X86_64;
	begin(&s);
	stage_put(&s, &image_kind, &ours);
	offer(&f, 1);
	offers.images = (struct items){&theirs, 1};
	stage_pass(&s, SYNC);
	uuid_v5(REGION, "image/debian", id);
	now = stage_get(&s, &image_kind, id);
	CHECK(now && now->status.backed.state == BACKED_READY);
	CHECK(now && now->status.source == IMAGE_PROVIDER);
	offers.images.n = 0;
	stage_pass(&s, SYNC);
	now = stage_get(&s, &image_kind, id);
	CHECK(now && now->status.retired_at);
	now = stage_get(&s, &image_kind, IMAGE);
	CHECK(now && !now->status.retired_at);
	CHECK(now && now->status.backed.state == BACKED_READY);
	stage_release(&s);
}

int main(void)
{
	RUN(what_is_odd_is_left_out_and_said);
	RUN(notes_have_an_end);
	RUN(there_may_be_too_many);
	RUN(nothing_at_all_is_not_believed);
	RUN(nothing_at_first_is_believed);
	RUN(a_price_is_as_of_when_it_became_that);
	RUN(what_is_a_project_s_does_not_retire);
	return test_done();
}

/*
 * What becomes of networks, groups, volumes and images when their provider
 * answers what it should not, takes for ever, or they are no more when it does;
 * and what becomes of regions then.
 */
#include <stdio.h>
#include <string.h>

#include "model/image.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "reconcile/engine_priv.h"
#include "scene.h"
#include "test.h"

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)

/* The simulated cloud's, for a test to put something else into. */
static struct driver driver;
static struct network_ops networks;
static struct backing says; /* of networks; those that say() is put in for */

static int say(struct provider *p, const struct network_spec *spec,
	       struct arena *a, struct backing *ret, struct err *err)
{
	(void)p;
	(void)spec;
	(void)a;
	(void)err;
	*ret = says;
	return 0;
}

static void be_odd(struct stage *s)
{
	networks = *sim_driver.networks;
	driver = sim_driver;
	driver.networks = &networks;
	scene_provider(s)->driver = &driver;
}

static const struct backed *net(struct stage *s)
{
	return &the_network(s)->status.backed;
}

static void what_the_provider_says_has_failed_is_tried_again(void)
{
	static const char *const words[] = {"ERROR", NULL};

	for (size_t n = 0; n < COUNT_OF(words); n++) {
		struct stage s;

		scene_begin(&s, "{}");
		stage_run(&s);
		be_odd(&s);
		networks.ensure = say;
		says = (struct backing){.id = "n-1",
					.state = BACKED_FAILED,
					.native_state = words[n]};
		put_network(&s);
		stage_run(&s);
		CHECK(net(&s)->state == BACKED_FAILED);
		CHECK_STR(net(&s)->reason.code, "provider_failed");
		CHECK(!strstr(net(&s)->reason.message, "ERROR") == !words[n]);
		networks.ensure = sim_driver.networks->ensure;
		put_region(&s, "{\"seed\":2}"); /* somebody has mended it */
		stage_pass(&s, 2 * MINUTE);
		CHECK(net(&s)->state == BACKED_READY);
		stage_release(&s);
	}
}

/* What it is called there is what was said last. */
static void another_id_is_written_down(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	be_odd(&s);
	networks.ensure = say;
	says = (struct backing){.id = "n-1", .state = BACKED_CREATING};
	put_network(&s);
	stage_run(&s);
	CHECK_STR(net(&s)->provider, "n-1");
	says.id = "n-2";
	stage_pass(&s, MINUTE);
	CHECK_STR(net(&s)->provider, "n-2");
	says.state = BACKED_READY;
	stage_pass(&s, MINUTE);
	CHECK(net(&s)->state == BACKED_READY);
	stage_release(&s);
}

static void what_takes_too_long_is_given_up_and_tried_again(void)
{
	struct stage s;

	scene_begin(&s, "{\"backingMs\":700000}");
	put_network(&s);
	stage_pass(&s, 9 * MINUTE);
	CHECK(net(&s)->state == BACKED_CREATING && !net(&s)->reason.code);
	stage_pass(&s, 61 * SECOND);
	CHECK(net(&s)->state == BACKED_FAILED);
	CHECK_STR(net(&s)->reason.code, "timeout");
	CHECK(net(&s)->reason.waits_for == WAITS_TIME);
	stage_pass(&s, 5 * MINUTE);
	CHECK(net(&s)->state == BACKED_READY && !net(&s)->reason.code);
	CHECK(scene_in_cloud(&s, NET) == 1);
	stage_release(&s);
}

static void what_is_not_there_to_be_removed_is_gone(void)
{
	struct stage s;

	scene_begin(&s, "{\"faults\":[{\"call\":\"removeNetwork\",\"action\":"
			"\"fail\",\"code\":\"not_found\",\"times\":1}]}");
	put_network(&s);
	stage_run(&s);
	CHECK(net(&s)->state == BACKED_READY);
	stage_delete(&s, &network_kind, NET);
	stage_run(&s);
	CHECK(!the_network(&s));
	stage_release(&s);
}

/* Writes of the test's own, as nothing of ours would. */
struct erasing {
	struct txn txn;
	const struct kind *kind;
	const char *id;
	bool done;
};

static int erase(struct tx *tx, void *ctx, struct err *err)
{
	const struct erasing *e = ctx;

	return tx_delete(tx, e->kind, e->id, err);
}

static void erased(struct txn *t, const struct err *err)
{
	CHECK(!err);
	((struct erasing *)t->ctx)->done = true;
}

static void vanish(struct stage *s, const struct kind *k, const char *id)
{
	struct erasing e = {.kind = k, .id = id};

	e.txn = (struct txn){.fn = erase, .done = erased, .ctx = &e};
	store_transact(s->store, &e.txn);
	while (!e.done)
		memory_answer(s->backend, MEMORY_WRITTEN);
}

/* At each of the calls: the answer is about nothing. */
static void what_vanishes_during_a_call_stays_gone(void)
{
	static const char *const options[] = {
		"{}", "{\"faults\":[{\"call\":\"ensureNetwork\",\"action\":"
		      "\"fail\",\"code\":\"invalid\"}]}"};
	struct engine_stats stats;
	struct stage s;

	for (size_t n = 0; n < COUNT_OF(options); n++) {
		scene_begin(&s, options[n]);
		stage_run(&s);
		put_network(&s);
		stage_settle(&s);
		vanish(&s, &network_kind, NET);
		CHECK(stage_call(&s));
		stage_run(&s);
		CHECK(!the_network(&s));
		engine_stats(s.engine, &stats);
		CHECK(stats.works == 1); /* the region's own */
		stage_release(&s);
	}
	scene_begin(&s, "{}");
	put_network(&s);
	stage_run(&s);
	stage_delete(&s, &network_kind, NET);
	stage_settle(&s);
	vanish(&s, &network_kind, NET);
	CHECK(stage_call(&s));
	stage_run(&s);
	CHECK(!the_network(&s));
	stage_release(&s);
}

static const struct volume *the_volume(struct stage *s)
{
	return stage_get(s, &volume_kind, VOLUME);
}

static void put_image(struct stage *s, int source)
{
	struct image i = {
		.meta = {.id = IMAGE, .name = "image"},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.uri = source == IMAGE_IMPORT
					? "https://images.example/a"
					: NULL,
			 .architecture = ARCHITECTURE_X86_64},
		.status = {.backed = {.state = BACKED_PENDING},
			   .source = source,
			   .volume_id = source == IMAGE_VOLUME ? VOLUME : NULL},
	};

	stage_put(s, &image_kind, &i);
}

static void a_volume_waits_for_its_image(void)
{
	struct volume v = {
		.meta = {.id = VOLUME, .name = "volume"},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.size_gib = 20, .image_id = IMAGE},
		.status = {.backed = {.state = BACKED_PENDING}},
	};
	struct stage s;

	scene_begin(&s, "{\"backingMs\":20000}");
	stage_run(&s);
	put_image(&s, IMAGE_IMPORT);
	stage_put(&s, &volume_kind, &v);
	stage_pass(&s, 5 * SECOND);
	CHECK(!the_volume(&s)->status.backed.provider);
	stage_pass(&s, 5 * MINUTE);
	CHECK(the_volume(&s)->status.backed.state == BACKED_READY);
	stage_release(&s);
}

/* Once it is being made the provider has what it needs. */
static void an_image_outlives_what_it_is_made_of(void)
{
	const struct image *i;
	struct stage s;

	scene_begin(&s, "{}");
	put_volume(&s, 10);
	stage_run(&s);
	put_region(&s, "{\"backingMs\":20000}");
	stage_run(&s);
	put_image(&s, IMAGE_VOLUME);
	stage_pass(&s, SECOND);
	i = stage_get(&s, &image_kind, IMAGE);
	CHECK(i->status.backed.state == BACKED_CREATING);
	stage_delete(&s, &volume_kind, VOLUME);
	stage_pass(&s, MINUTE);
	CHECK(!the_volume(&s));
	i = stage_get(&s, &image_kind, IMAGE);
	CHECK(i->status.backed.state == BACKED_READY);
	stage_release(&s);
}

static void an_image_of_what_is_going_or_gone_is_given_up(void)
{
	const struct image *i;
	struct stage s;

	for (int gone = 0; gone < 2; gone++) {
		scene_begin(&s, "{\"faults\":[{\"call\":\"ensureVolume\","
				"\"action\":\"fail\",\"code\":\"unavailable\"},"
				"{\"call\":\"removeVolume\",\"action\":\"fail\""
				",\"code\":\"unavailable\"}]}");
		stage_run(&s);
		put_volume(&s, 10);
		stage_run(&s);
		put_image(&s, IMAGE_VOLUME);
		stage_pass(&s, SECOND);
		i = stage_get(&s, &image_kind, IMAGE);
		CHECK(i->status.backed.state == BACKED_PENDING);
		stage_delete(&s, &volume_kind, VOLUME);
		if (gone)
			vanish(&s, &volume_kind, VOLUME);
		stage_pass(&s, SECOND);
		i = stage_get(&s, &image_kind, IMAGE);
		CHECK(i->status.backed.state == BACKED_FAILED);
		CHECK_STR(i->status.backed.reason.code, "conflict");
		CHECK(!i->status.backed.reason.retry_at);
		stage_release(&s);
	}
}

/* There is a network that the provider knows nothing of. */
static void a_group_may_be_in_no_network_of_the_provider_s(void)
{
	const struct securitygroup *g;
	struct stage s;

	scene_begin(&s, "{\"lacks\":[\"networks\"]}");
	put_network(&s);
	put_group(&s, GROUP, NULL);
	stage_run(&s);
	CHECK(net(&s)->state == BACKED_READY && !net(&s)->provider);
	g = stage_get(&s, &securitygroup_kind, GROUP);
	CHECK(g->status.state != BACKED_PENDING);
	stage_release(&s);
}

static void delete_region(struct stage *s)
{
	stage_delete(s, &region_kind, REGION);
}

static void a_region_that_goes_while_it_is_read_is_closed(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_settle(&s);
	CHECK(stage_call(&s)); /* it opens */
	stage_settle(&s);
	delete_region(&s);
	CHECK(stage_call(&s)); /* it is read */
	stage_run(&s);
	CHECK(!the_region(&s));
	CHECK(stage_count(&s, &flavor_kind) == 0);
	CHECK(!scene_provider(&s));
	stage_release(&s);
}

static void a_region_that_goes_while_it_fails_to_open_is_left_alone(void)
{
	struct stage s;

	scene_begin(&s, "{\"noSuchOption\":1}");
	stage_settle(&s);
	delete_region(&s);
	CHECK(stage_call(&s));
	stage_run(&s);
	CHECK(!the_region(&s));
	stage_release(&s);
}

static void a_region_that_vanishes_is_closed(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_settle(&s);
	CHECK(stage_call(&s));
	CHECK(scene_provider(&s) != NULL);
	stage_settle(&s);
	vanish(&s, &region_kind, REGION);
	stage_run(&s);
	CHECK(!scene_provider(&s));
	CHECK(stage_count(&s, &flavor_kind) == 0);
	stage_release(&s);
}

/* As one that was written before a capability had its name. */
static void a_region_that_can_do_something_else_is_read_again(void)
{
	static const char *other[] = {"stop"};
	const char *names[64];
	struct region r;
	struct stage s;
	size_t n;

	scene_begin(&s, "{}");
	stage_run(&s);
	n = the_region(&s)->status.capabilities.n;
	for (int again = 0; again < 2; again++) {
		r = *the_region(&s);
		for (size_t i = 0; i < n; i++)
			names[i] = "?";
		r.status.capabilities = again ? (struct items){names, n}
					      : (struct items){other, 1};
		stage_put(&s, &region_kind, &r);
		stage_run(&s);
		CHECK(the_region(&s)->status.capabilities.n == n);
		CHECK(region_can(the_region(&s), "networks"));
	}
	stage_release(&s);
}

static void options_that_cannot_be_read_are_said_to_be(void)
{
	struct region r;
	struct stage s;

	scene_begin(&s, "{");
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_FAILED);
	CHECK(the_region(&s)->status.reason.code != NULL);
	put_region(&s, NULL);
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	put_region(&s, "{}");
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	/* Other credentials are another provider. */
	r = *the_region(&s);
	r.spec.credentials = "{";
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_FAILED);
	CHECK(!scene_provider(&s));
	r = *the_region(&s);
	r.spec.credentials = NULL;
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	stage_release(&s);
}

/* An operator is told of what only they can mend. */
static void a_catalogue_that_may_not_be_read_is_an_operator_s(void)
{
	struct stage s;

	scene_begin(&s, "{\"faults\":[{\"call\":\"catalogue\",\"action\":"
			"\"fail\",\"code\":\"forbidden\"}]}");
	stage_run(&s);
	CHECK(the_region(&s)->status.reason.waits_for == WAITS_OPERATOR);
	CHECK(the_region(&s)->status.state == BACKED_FAILED);
	stage_release(&s);
}

static void count_open(void *ctx, const char *region, const struct provider *p)
{
	(void)region;
	(void)p;
	++*(int *)ctx;
}

/* Whoever counts it uses it: not while a worker closes it. */
static void a_provider_that_is_being_closed_is_not_counted(void)
{
	struct stage s;
	int n = 0;

	scene_begin(&s, "{}");
	stage_run(&s);
	engine_providers(s.engine, count_open, &n);
	CHECK(n == 1);
	put_region(&s, "{\"seed\":3}");
	stage_settle(&s);
	n = 0;
	engine_providers(s.engine, count_open, &n);
	CHECK(n == 0);
	stage_run(&s);
	engine_providers(s.engine, count_open, &n);
	CHECK(n == 1);
	stage_release(&s);
}

/* What a region says holds where there are workers enough. */
static void a_region_has_as_many_calls_as_it_says(void)
{
	struct engine_stats stats;
	struct stage s;

	scene_begin(&s, "{}");
	s.workers = 64;
	stage_crash(&s);
	stage_boot(&s);
	stage_run(&s);
	for (int i = 0; i < 20; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	stage_settle(&s);
	engine_stats(s.engine, &stats);
	CHECK(stats.calling == 16 && stats.waiting == 4);
	stage_run(&s);
	stage_release(&s);
}

/* It says that an instance has it, and there is no such instance. */
static void a_volume_of_nobody_can_be_removed(void)
{
	struct volume v;
	struct stage s;

	scene_begin(&s, "{}");
	put_volume(&s, 10);
	stage_run(&s);
	v = *the_volume(&s);
	v.status.instance_id = PEER;
	stage_put(&s, &volume_kind, &v);
	stage_delete(&s, &volume_kind, VOLUME);
	stage_run(&s);
	CHECK(!the_volume(&s));
	stage_release(&s);
}

int main(void)
{
	RUN(a_provider_that_is_being_closed_is_not_counted);
	RUN(a_region_has_as_many_calls_as_it_says);
	RUN(a_volume_of_nobody_can_be_removed);
	RUN(what_the_provider_says_has_failed_is_tried_again);
	RUN(another_id_is_written_down);
	RUN(what_takes_too_long_is_given_up_and_tried_again);
	RUN(what_is_not_there_to_be_removed_is_gone);
	RUN(what_vanishes_during_a_call_stays_gone);
	RUN(a_volume_waits_for_its_image);
	RUN(an_image_outlives_what_it_is_made_of);
	RUN(an_image_of_what_is_going_or_gone_is_given_up);
	RUN(a_group_may_be_in_no_network_of_the_provider_s);
	RUN(a_region_that_goes_while_it_is_read_is_closed);
	RUN(a_region_that_goes_while_it_fails_to_open_is_left_alone);
	RUN(a_region_that_vanishes_is_closed);
	RUN(a_region_that_can_do_something_else_is_read_again);
	RUN(options_that_cannot_be_read_are_said_to_be);
	RUN(a_catalogue_that_may_not_be_read_is_an_operator_s);
	return test_done();
}

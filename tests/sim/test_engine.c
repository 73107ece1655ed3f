/*
 * What the engine promises, on the simulated cloud: of what providers have that
 * is no machine.
 */
#include "model/image.h"
#include "model/network.h"
#include "model/project.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "reconcile/engine.h"
#include "scene.h"
#include "test.h"

#define SECOND ((int64_t)1000)
#define DAY    (24 * 3600 * SECOND)

static void nothing_is_called_while_a_region_is_paused(void)
{
	struct region r;
	struct stage s;
	size_t before;

	scene_begin(&s, "{}");
	stage_run(&s);
	r = *the_region(&s);
	r.spec.paused = true;
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	before = s.jobs_run;
	put_network(&s);
	stage_pass(&s, 3600 * SECOND);
	CHECK(s.jobs_run == before);
	CHECK(the_network(&s)->status.backed.state == BACKED_PENDING);
	r = *the_region(&s);
	r.spec.paused = false;
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_READY);
	stage_release(&s);
}

static void a_network_is_made_and_removed(void)
{
	struct allocation a = {
		.meta = {.id = PEER},
		.organization_id = ORG,
		.project_id = PROJECT,
		.object_kind = "network",
		.object_id = NET,
	};
	struct stage s;

	scene_begin(&s, "{\"backingMs\":3000}");
	put_network(&s);
	stage_put(&s, &allocation_kind, &a);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_CREATING);
	CHECK(the_network(&s)->status.backed.deadline > s.wall);
	stage_pass(&s, 8 * SECOND);
	CHECK(the_network(&s)->status.backed.state == BACKED_READY);
	CHECK(!the_network(&s)->status.backed.deadline);
	CHECK(the_network(&s)->status.gateway);
	CHECK(scene_in_cloud(&s, NET) == 1);
	stage_delete(&s, &network_kind, NET);
	stage_run(&s);
	CHECK(!the_network(&s));
	CHECK(!stage_count(&s, &allocation_kind));
	CHECK(scene_in_cloud(&s, NET) == 0);
	stage_release(&s);
}

static void a_crash_between_a_call_and_its_record_makes_no_second(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	put_network(&s);
	stage_settle(&s);
	CHECK(stage_call_silently(&s));
	stage_crash(&s);
	stage_boot(&s);
	CHECK(!the_network(&s)->status.backed.provider);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_READY);
	CHECK(scene_in_cloud(&s, NET) == 1);
	stage_delete(&s, &network_kind, NET);
	stage_settle(&s);
	CHECK(stage_call_silently(&s));
	stage_crash(&s);
	stage_boot(&s);
	CHECK(the_network(&s));
	stage_run(&s);
	CHECK(!the_network(&s) && scene_in_cloud(&s, NET) == 0);
	stage_release(&s);
}

/* Each try later than the one before by twice as much, a crash in between or
 * not. */
static void tries_are_further_and_further_apart(void)
{
	struct stage s;
	int64_t last = 0;

	scene_begin(&s, "{\"faults\":[{\"call\":\"ensureNetwork\",\"action\":"
			"\"fail\",\"code\":\"unavailable\"}]}");
	put_network(&s);
	stage_run(&s);
	for (int i = 1; i <= 9; i++) {
		const struct backed *b = &the_network(&s)->status.backed;
		int64_t wait = b->reason.retry_at - s.wall;

		CHECK(b->reason.failures == i);
		if (wait <= 0)
			break;
		CHECK(b->reason.waits_for == WAITS_TIME);
		CHECK(wait > last || last >= 45 * SECOND);
		CHECK(wait <= 60 * SECOND);
		last = wait;
		if (i == 5) {
			stage_crash(&s);
			stage_boot(&s);
		}
		stage_pass(&s, wait - 1);
		CHECK(the_network(&s)->status.backed.reason.failures == i);
		stage_pass(&s, 1);
	}
	stage_release(&s);
}

/* The next call is not before the time that the provider named. */
static void a_provider_that_is_too_busy_is_left_alone(void)
{
	struct stage s;
	uint64_t before;

	scene_begin(&s,
		    "{\"callsPerSecond\":1,\"burst\":1,\"tellsLimit\":false}");
	stage_pass(&s, 10 * SECOND);
	for (int i = 0; i < 10; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	before = scene_calls(&s);
	stage_pass(&s, 5 * SECOND);
	/* One a second is taken; the others, all at once the first time, learn
	 * to wait. */
	CHECK(scene_calls(&s) - before <= 10 + 3 * 5);
	/* Nor is it anybody's trouble. */
	for (int i = 0; i < 10; i++) {
		char id[40];
		const struct network *n;

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		n = stage_get(&s, &network_kind, id);
		CHECK(!n->status.backed.reason.code);
	}
	stage_pass(&s, 60 * SECOND);
	for (int i = 0; i < 10; i++) {
		char id[40];
		const struct network *n;

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		n = stage_get(&s, &network_kind, id);
		CHECK(n->status.backed.state == BACKED_READY);
	}
	stage_release(&s);
}

static void a_region_is_called_no_faster_than_it_says(void)
{
	struct region r;
	struct stage s;
	uint64_t before;

	scene_begin(&s, "{}");
	stage_run(&s);
	r = *the_region(&s);
	r.spec.calls_per_second = 2;
	stage_put(&s, &region_kind, &r);
	stage_pass(&s, 10 * SECOND);
	before = scene_calls(&s);
	for (int i = 10; i < 60; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	stage_pass(&s, 10 * SECOND);
	CHECK(scene_calls(&s) - before >= 19 && scene_calls(&s) - before <= 22);
	stage_pass(&s, 20 * SECOND);
	CHECK(scene_calls(&s) - before == 50);
	stage_release(&s);
}

/* Calls that hang are not all that there can be. */
static void a_region_leaves_workers_to_the_others(void)
{
	struct stage s;
	size_t n = 0;

	scene_begin(&s, "{}");
	stage_run(&s);
	s.workers = 8;
	stage_crash(&s);
	stage_boot(&s);
	stage_run(&s);
	for (int i = 10; i < 40; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	stage_settle(&s);
	for (struct list *l = s.jobs.next; l != &s.jobs; l = l->next)
		n++;
	CHECK(n == 6);
	stage_release(&s);
}

/* A deletion waits for nothing that was asked for before it. */
static void deletions_come_first(void)
{
	struct region r;
	struct stage s;

	scene_begin(&s, "{}");
	put_network(&s);
	stage_run(&s);
	r = *the_region(&s);
	r.spec.calls_at_once = 1;
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	for (int i = 10; i < 20; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-0000001000%02d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	stage_settle(&s);
	stage_delete(&s, &network_kind, NET);
	stage_settle(&s);
	stage_call(&s); /* had begun */
	stage_settle(&s);
	CHECK(the_network(&s));
	stage_call(&s);
	stage_settle(&s);
	CHECK(!the_network(&s));
	stage_release(&s);
}

/* What was told is what was wanted when it was told. */
static void a_change_during_a_call_is_told_after_it(void)
{
	const struct volume *v;
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	put_volume(&s, 10);
	stage_settle(&s);
	put_volume(&s, 20);
	stage_settle(&s);
	stage_call(&s);
	stage_settle(&s);
	v = stage_get(&s, &volume_kind, VOLUME);
	CHECK(v->status.backed.observed_generation == 1);
	CHECK(v->status.size_gib == 10);
	stage_run(&s);
	v = stage_get(&s, &volume_kind, VOLUME);
	CHECK(v->status.size_gib == 20);
	stage_release(&s);
}

/* Though it was to be looked at again only later. */
static void a_deletion_during_a_call_follows_it_at_once(void)
{
	struct stage s;

	scene_begin(&s, "{\"backingMs\":3600000,\"pollMs\":10000}");
	put_network(&s);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_CREATING);
	while (list_empty(&s.jobs) && s.mono < 100000) {
		s.mono += 1000;
		s.wall += 1000;
		stage_settle(&s);
	}
	stage_delete(&s, &network_kind, NET);
	stage_run(&s);
	CHECK(!the_network(&s));
	stage_release(&s);
}

/* Not even the call that waits for its turn is made. */
static void what_is_deleted_before_its_turn_is_not_made(void)
{
	struct region r;
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	r = *the_region(&s);
	r.spec.paused = true;
	stage_put(&s, &region_kind, &r);
	stage_run(&s);
	put_network(&s);
	stage_settle(&s);
	stage_delete(&s, &network_kind, NET);
	stage_settle(&s);
	r = *the_region(&s);
	r.spec.paused = false;
	stage_put(&s, &region_kind, &r);
	stage_settle(&s);
	while (stage_call(&s)) {
		stage_settle(&s);
		CHECK(scene_in_cloud(&s, NET) == 0);
	}
	CHECK(!the_network(&s));
	stage_release(&s);
}

static void what_is_wrong_is_parked_until_it_is_changed(void)
{
	struct network n;
	struct stage s;
	uint64_t before;

	scene_begin(&s, "{\"faults\":[{\"call\":\"ensureNetwork\",\"action\":"
			"\"fail\",\"code\":\"invalid\",\"times\":1}]}");
	put_network(&s);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_FAILED);
	CHECK(the_network(&s)->status.backed.reason.waits_for == WAITS_CHANGE);
	CHECK(!the_network(&s)->status.backed.reason.retry_at);
	before = the_network(&s)->meta.revision;
	stage_pass(&s, DAY);
	CHECK(the_network(&s)->meta.revision == (int64_t)before);
	n = *the_network(&s);
	n.spec.prefix6 = "fd00::/64";
	stage_put(&s, &network_kind, &n);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_READY);
	CHECK(!the_network(&s)->status.backed.reason.code);
	stage_release(&s);
}

static void a_deletion_never_parks(void)
{
	struct stage s;

	scene_begin(&s, "{\"faults\":[{\"call\":\"removeNetwork\",\"action\":"
			"\"fail\",\"code\":\"forbidden\",\"times\":4}]}");
	put_network(&s);
	stage_run(&s);
	stage_delete(&s, &network_kind, NET);
	stage_run(&s);
	CHECK_STR(the_network(&s)->status.backed.reason.code, "forbidden");
	CHECK(the_network(&s)->status.backed.state == BACKED_DELETING);
	stage_pass(&s, 30 * SECOND);
	CHECK(!the_network(&s));
	stage_release(&s);
}

static void where_there_are_no_networks_one_is_ready_at_once(void)
{
	struct stage s;

	scene_begin(&s, "{\"lacks\":[\"networks\"]}");
	put_network(&s);
	stage_run(&s);
	CHECK(the_network(&s)->status.backed.state == BACKED_READY);
	CHECK(!the_network(&s)->status.backed.provider);
	stage_delete(&s, &network_kind, NET);
	stage_run(&s);
	CHECK(!the_network(&s));
	stage_release(&s);
}

static void what_a_region_cannot_do_waits_until_it_can(void)
{
	const struct securitygroup *g;
	struct stage s;

	scene_begin(&s, "{\"lacks\":[\"securityGroups\"]}");
	put_network(&s);
	put_group(&s, GROUP, NULL);
	stage_pass(&s, 60 * SECOND);
	g = stage_get(&s, &securitygroup_kind, GROUP);
	CHECK(g->status.state == BACKED_FAILED);
	CHECK_STR(g->status.reason.code, "unsupported");
	CHECK(g->status.reason.waits_for == WAITS_OPERATOR);
	put_region(&s, "{}");
	stage_run(&s);
	CHECK(group_state(&s, GROUP) == BACKED_READY);
	stage_release(&s);
}

static void groups_may_name_each_other_and_both_go(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	put_network(&s);
	put_group(&s, GROUP, NULL);
	put_group(&s, PEER, GROUP);
	put_group(&s, GROUP, PEER);
	stage_pass(&s, 5 * SECOND);
	CHECK(group_state(&s, GROUP) == BACKED_READY);
	CHECK(group_state(&s, PEER) == BACKED_READY);
	stage_delete(&s, &securitygroup_kind, GROUP);
	stage_delete(&s, &securitygroup_kind, PEER);
	stage_delete(&s, &network_kind, NET);
	stage_pass(&s, 5 * SECOND);
	CHECK(!group_state(&s, GROUP) && !group_state(&s, PEER));
	CHECK(!the_network(&s));
	stage_release(&s);
}

/* What is in it goes first, at the provider, too. */
static void a_network_takes_what_is_in_it_along(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	put_network(&s);
	put_group(&s, GROUP, NULL);
	put_group(&s, PEER, GROUP);
	stage_run(&s);
	CHECK(scene_in_cloud(&s, "\"ours\":\"" NET) == 1);
	CHECK(scene_in_cloud(&s, "\"ours\":\"" GROUP) == 1);
	stage_delete(&s, &network_kind, NET);
	stage_settle(&s);
	while (stage_call(&s)) {
		stage_settle(&s);
		CHECK(scene_in_cloud(&s, "\"ours\":\"" NET) == 1 ||
		      scene_in_cloud(&s, "\"ours\":\"" GROUP) == 0);
		CHECK(the_network(&s) || !group_state(&s, GROUP));
	}
	CHECK(!the_network(&s));
	CHECK(!stage_count(&s, &securitygroup_kind));
	CHECK(scene_in_cloud(&s, "\"ours\":\"00000000") == 0);
	stage_release(&s);
}

/* Nothing of it is left, here or there; what was charged for something is given
 * back with it, not before; and a crash anywhere only means going on. */
static void a_project_takes_everything_along(void)
{
	struct stage s;

	for (int crash_at = 1; crash_at < 12; crash_at++) {
		struct allocation a = {
			.meta = {.id = IMAGE},
			.organization_id = ORG,
			.project_id = PROJECT,
			.object_kind = "network",
			.object_id = NET,
		};
		int n = 0;

		scene_begin(&s, "{}");
		put_network(&s);
		put_group(&s, GROUP, NULL);
		put_group(&s, PEER, GROUP);
		put_volume(&s, 10);
		stage_put(&s, &allocation_kind, &a);
		stage_run(&s);
		stage_delete(&s, &project_kind, PROJECT);
		do {
			stage_settle(&s);
			CHECK(stage_count(&s, &allocation_kind) ==
			      (the_network(&s) ? 1 : 0));
			CHECK(stage_get(&s, &project_kind, PROJECT) ||
			      !scene_in_cloud(&s, "\"ours\":\"00000000"));
			if (++n == crash_at) {
				stage_call_silently(&s);
				stage_crash(&s);
				stage_boot(&s);
				stage_settle(&s);
			}
		} while (stage_call(&s));
		stage_run(&s);
		CHECK(!stage_get(&s, &project_kind, PROJECT));
		CHECK(!stage_count(&s, &securitygroup_kind));
		CHECK(!stage_count(&s, &volume_kind));
		CHECK(scene_in_cloud(&s, "\"ours\":\"00000000") == 0);
		stage_release(&s);
	}
}

static void a_volume_grows(void)
{
	const struct volume *v;
	struct stage s;

	scene_begin(&s, "{}");
	put_volume(&s, 10);
	stage_run(&s);
	v = stage_get(&s, &volume_kind, VOLUME);
	CHECK(v->status.backed.state == BACKED_READY);
	CHECK(v->status.size_gib == 10);
	put_volume(&s, 30);
	stage_run(&s);
	v = stage_get(&s, &volume_kind, VOLUME);
	CHECK(v->status.size_gib == 30);
	CHECK(v->status.backed.observed_generation == 2);
	stage_release(&s);
}

static void put_image(struct stage *s, int source, const char *volume)
{
	struct image i = {
		.meta = {.id = IMAGE, .name = "image"},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.architecture = ARCHITECTURE_X86_64},
		.status = {.backed = {.state = BACKED_PENDING},
			   .source = source,
			   .volume_id = volume,
			   .instance_id = volume ? NULL : PEER},
	};

	stage_put(s, &image_kind, &i);
}

static void an_image_is_made_of_what_is_there(void)
{
	const struct image *i;
	struct stage s;

	scene_begin(&s, "{}");
	put_image(&s, IMAGE_VOLUME, VOLUME);
	put_volume(&s, 10);
	stage_run(&s);
	i = stage_get(&s, &image_kind, IMAGE);
	CHECK(i->status.backed.state == BACKED_READY);
	CHECK(i->status.size_bytes > 0);
	stage_delete(&s, &image_kind, IMAGE);
	stage_run(&s);
	CHECK(!stage_get(&s, &image_kind, IMAGE));
	put_image(&s, IMAGE_SNAPSHOT, NULL);
	stage_run(&s);
	i = stage_get(&s, &image_kind, IMAGE);
	CHECK(i->status.backed.state == BACKED_FAILED);
	CHECK(strstr(i->status.backed.reason.message, "gone"));
	stage_delete(&s, &image_kind, IMAGE);
	stage_run(&s);
	CHECK(!stage_get(&s, &image_kind, IMAGE));
	stage_release(&s);
}

/* Nothing is looked at that is as it should be. */
static void what_is_at_rest_costs_nothing(void)
{
	struct engine_stats before, after;
	struct stage s;

	scene_begin(&s, "{}");
	for (int i = 0; i < 500; i++) {
		char id[40], name[16];

		snprintf(id, sizeof(id),
			 "00000000-0000-7000-8000-000000200%03d", i);
		snprintf(name, sizeof(name), "net-%d", i);
		put_network_as(&s, id, name);
	}
	stage_run(&s);
	stage_crash(&s);
	stage_boot(&s);
	stage_run(&s);
	engine_stats(s.engine, &before);
	CHECK(before.works == 1 && before.steps <= 3);
	CHECK(before.calls[ERR_NONE] == 1); /* the opening */
	stage_pass(&s, 3000 * SECOND);
	engine_stats(s.engine, &after);
	CHECK(after.works == 1);
	CHECK(after.steps - before.steps <= 3 * 11);
	CHECK(after.calls[ERR_NONE] - before.calls[ERR_NONE] <= 11);
	stage_release(&s);
}

int main(void)
{
	RUN(nothing_is_called_while_a_region_is_paused);
	RUN(a_network_is_made_and_removed);
	RUN(a_crash_between_a_call_and_its_record_makes_no_second);
	RUN(tries_are_further_and_further_apart);
	RUN(a_provider_that_is_too_busy_is_left_alone);
	RUN(a_region_is_called_no_faster_than_it_says);
	RUN(a_region_leaves_workers_to_the_others);
	RUN(deletions_come_first);
	RUN(a_change_during_a_call_is_told_after_it);
	RUN(a_deletion_during_a_call_follows_it_at_once);
	RUN(what_is_deleted_before_its_turn_is_not_made);
	RUN(what_is_wrong_is_parked_until_it_is_changed);
	RUN(a_deletion_never_parks);
	RUN(where_there_are_no_networks_one_is_ready_at_once);
	RUN(what_a_region_cannot_do_waits_until_it_can);
	RUN(groups_may_name_each_other_and_both_go);
	RUN(a_network_takes_what_is_in_it_along);
	RUN(a_project_takes_everything_along);
	RUN(a_volume_grows);
	RUN(an_image_is_made_of_what_is_there);
	RUN(what_is_at_rest_costs_nothing);
	return test_done();
}

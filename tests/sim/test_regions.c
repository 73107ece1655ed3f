/* What becomes of regions and their catalogues, on the simulated cloud. */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "model/flavor.h"
#include "model/image.h"
#include "scene.h"
#include "test.h"

#define SECOND ((int64_t)1000)
#define DAY    (24 * 3600 * SECOND)

static void flavor_id(const char *provider_id, char id[37])
{
	char name[64];

	snprintf(name, sizeof(name), "flavor/%s", provider_id);
	uuid_v5(REGION, name, id);
}

static const struct flavor *find_flavor(struct stage *s, const char *name)
{
	char id[37];

	flavor_id(name, id);
	return stage_get(s, &flavor_kind, id);
}

static void a_region_opens_and_shows_what_it_offers(void)
{
	struct stage s;
	const struct region *r;

	scene_begin(&s, "{\"zones\":[\"a\",\"b\"]}");
	stage_run(&s);
	r = the_region(&s);
	CHECK(r->status.state == BACKED_READY && !r->status.reason.code);
	CHECK(r->status.observed_generation == 1);
	CHECK(r->status.synced_at == s.wall);
	CHECK(region_can(r, "stop") && region_can(r, "networks"));
	CHECK(r->status.zones.n == 2);
	CHECK(r->status.flavors > 3 && r->status.images > 2);
	CHECK(stage_count(&s, &flavor_kind) == (size_t)r->status.flavors);
	CHECK(stage_count(&s, &image_kind) == (size_t)r->status.images);
	CHECK(find_flavor(&s, "sim.small") &&
	      !find_flavor(&s, "sim.small")->retired_at);
	stage_release(&s);
}

static void a_sync_writes_only_what_has_changed(void)
{
	struct stage s;
	int64_t revision;

	scene_begin(&s, "{}");
	stage_run(&s);
	revision = find_flavor(&s, "sim.small")->meta.revision;
	stage_pass(&s, 299 * SECOND);
	CHECK(the_region(&s)->status.synced_at < s.wall - 298 * SECOND);
	stage_pass(&s, 2 * SECOND);
	CHECK(the_region(&s)->status.synced_at >= s.wall - SECOND);
	CHECK(find_flavor(&s, "sim.small")->meta.revision == revision);
	stage_release(&s);
}

static void what_is_not_offered_any_more_is_retired_and_goes_in_a_day(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	put_region(&s, "{\"hidden\":[\"sim.small\"]}");
	stage_run(&s);
	CHECK(find_flavor(&s, "sim.small")->retired_at == s.wall);
	CHECK(!find_flavor(&s, "sim.medium")->retired_at);
	put_region(&s, "{}");
	stage_run(&s);
	CHECK(!find_flavor(&s, "sim.small")->retired_at);
	put_region(&s, "{\"hidden\":[\"sim.small\"]}");
	stage_pass(&s, DAY - 600 * SECOND);
	CHECK(find_flavor(&s, "sim.small"));
	stage_pass(&s, 1200 * SECOND);
	CHECK(!find_flavor(&s, "sim.small"));
	CHECK(find_flavor(&s, "sim.medium"));
	stage_release(&s);
}

/* Found out by trying: a list of flavors knows nothing of it. */
static void a_shortage_outlives_a_sync_until_it_is_over(void)
{
	struct shortage short_of = {.zone = "a", .message = "sold out"};
	struct stage s;
	struct flavor f;

	scene_begin(&s, "{}");
	stage_run(&s);
	f = *find_flavor(&s, "sim.small");
	short_of.until = s.wall + 450 * SECOND;
	f.shortages = (struct items){&short_of, 1};
	stage_put(&s, &flavor_kind, &f);
	stage_pass(&s, 301 * SECOND);
	CHECK(find_flavor(&s, "sim.small")->shortages.n == 1);
	stage_pass(&s, 301 * SECOND);
	CHECK(find_flavor(&s, "sim.small")->shortages.n == 0);
	stage_release(&s);
}

static void what_was_known_stays_when_the_provider_fails(void)
{
	const struct region *r;
	struct stage s;
	uint64_t before;

	scene_begin(&s, "{}");
	stage_run(&s);
	put_region(&s, "{\"faults\":[{\"call\":\"catalogue\",\"action\":"
		       "\"fail\",\"code\":\"unavailable\"}]}");
	before = scene_calls(&s);
	stage_pass(&s, 120 * SECOND);
	r = the_region(&s);
	CHECK(r->status.state == BACKED_READY);
	CHECK_STR(r->status.reason.code, "unavailable");
	CHECK(r->status.reason.retry_at > s.wall);
	/* 1 + 2 + 4 + … + 60 s: not a storm, and it has not given up. */
	CHECK(r->status.reason.failures >= 6 &&
	      r->status.reason.failures <= 10);
	CHECK(scene_calls(&s) - before <= 11);
	CHECK(find_flavor(&s, "sim.small") &&
	      !find_flavor(&s, "sim.small")->retired_at);
	put_region(&s, "{}");
	stage_run(&s);
	CHECK(!the_region(&s)->status.reason.code);
	stage_release(&s);
}

static void a_region_that_cannot_be_opened_says_why(void)
{
	const struct region *r;
	struct stage s;

	scene_begin(&s, "{\"launchMs\":\"soon\"}");
	stage_pass(&s, 10 * SECOND);
	r = the_region(&s);
	CHECK(r->status.state == BACKED_FAILED);
	CHECK_STR(r->status.reason.code, "invalid");
	CHECK(r->status.reason.waits_for == WAITS_OPERATOR);
	CHECK(strstr(r->status.reason.message, "launchMs"));
	put_region(&s, "{}");
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	stage_release(&s);
}

static void odd_entries_are_skipped_with_a_note(void)
{
	struct stage s;

	scene_begin(&s, "{\"oddCatalogue\":true}");
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	CHECK(the_region(&s)->status.notes.n > 0);
	CHECK(find_flavor(&s, "sim.small"));
	stage_release(&s);
}

/* Whoever asks for a sync gets one, though the last has just failed. */
static void a_sync_that_is_asked_for_comes_at_once(void)
{
	struct region r;
	struct stage s;

	scene_begin(&s,
		    "{\"faults\":[{\"call\":\"catalogue\",\"action\":\"fail\","
		    "\"code\":\"unavailable\",\"times\":9}]}");
	for (int i = 0; i < 9; i++) {
		stage_run(&s);
		CHECK(the_region(&s)->status.reason.failures == i + 1);
		r = *the_region(&s);
		r.status.synced_at = 0;
		r.meta.description = i % 2 ? "asked" : "for";
		stage_put(&s, &region_kind, &r);
	}
	stage_run(&s);
	CHECK(the_region(&s)->status.state == BACKED_READY);
	r = *the_region(&s);
	r.status.synced_at = 0;
	stage_put(&s, &region_kind, &r);
	stage_pass(&s, 1);
	CHECK(the_region(&s)->status.synced_at);
	stage_release(&s);
}

static void a_region_that_is_gone_is_closed(void)
{
	struct stage s;

	scene_begin(&s, "{}");
	stage_run(&s);
	CHECK(scene_in_cloud(&s, "net") >= 0);
	stage_delete(&s, &region_kind, REGION);
	stage_run(&s);
	CHECK(scene_in_cloud(&s, "net") == -1);
	stage_release(&s);
}

int main(void)
{
	RUN(a_region_opens_and_shows_what_it_offers);
	RUN(a_sync_writes_only_what_has_changed);
	RUN(what_is_not_offered_any_more_is_retired_and_goes_in_a_day);
	RUN(a_shortage_outlives_a_sync_until_it_is_over);
	RUN(what_was_known_stays_when_the_provider_fails);
	RUN(a_region_that_cannot_be_opened_says_why);
	RUN(odd_entries_are_skipped_with_a_note);
	RUN(a_sync_that_is_asked_for_comes_at_once);
	RUN(a_region_that_is_gone_is_closed);
	return test_done();
}

/* test_sweep - what is ours at a provider and nobody's: found in time, removed
 * only when that is wanted and certain. */
#include <stdlib.h>

#include "base/field_ops.h"
#include "herd.h"
#include "meddle.h"
#include "model/network.h"
#include "model/region.h"
#include "model/volume.h"
#include "test.h"

#define NOBODY "99999999-9999-4999-8999-999999999999"
#define OTHERS "another-installation"

/* The launch window is two minutes, and a list is never late. */
#define WINDOW    "{\"launchLimitMs\":120000}"
#define WINDOW_MS 120000

static const struct monitoring *seen(const struct yard *y)
{
	return &yard_region(y)->status.monitor;
}

static const struct orphan *orphan(const struct yard *y, const char *id)
{
	const struct orphan *o = seen(y)->orphans.at;

	for (size_t n = 0; n < seen(y)->orphans.n; n++)
		if (strcmp(o[n].provider_id, id) == 0)
			return &o[n];
	return NULL;
}

static char *kept(const char *id)
{
	static char ids[8][64];
	static unsigned next;
	char *to = ids[next++ % 8];

	snprintf(to, sizeof(ids[0]), "%s", id);
	return to;
}

/* As a region has it that does not say. */
static int64_t default_observing(void)
{
	const struct field *f = field_find(region_kind.fields,
					   "spec.observeSeconds", NULL, NULL);

	return strtoll(f->fallback, NULL, 10);
}

/* When everything has been still for long, whatever the monitor is about just
 * then. */
static void an_orphan_is_found_within_a_minute_of_being_listed(void)
{
	struct yard y;
	int64_t worst = 0;

	herd_open(&y, WINDOW, 20);
	yard_observe(&y, default_observing());
	for (int n = 0; n < 20; n++) {
		const char *id = kept(yard_launch(&y, NOBODY, OTHERS));
		int64_t listed;

		yard_run(&y, 30 * MINUTE + n * 3777);
		CHECK(!orphan(&y, id));
		meddle_tag(&y, id, NOBODY, DISK_INSTALLATION);
		listed = y.now;
		while (!orphan(&y, id) && y.now < listed + 10 * MINUTE)
			yard_run(&y, 500);
		if (y.now - listed > worst)
			worst = y.now - listed;
		CHECK(yard_drift(&y, id, "vanish"));
	}
	printf("# the latest was found after %.1f s\n", (double)worst / 1000);
	CHECK(worst <= MINUTE);
	yard_close(&y);
}

/* The same from when it is too old to be a launch that is under way. */
static void an_orphan_is_found_within_a_minute_of_its_window(void)
{
	struct yard y;
	const char *id;
	int64_t made;

	herd_open(&y, WINDOW, 3);
	yard_observe(&y, default_observing());
	yard_run(&y, 30 * MINUTE);
	made = y.now;
	id = kept(yard_launch(&y, NOBODY, DISK_INSTALLATION));
	yard_run(&y, WINDOW_MS - SECOND);
	CHECK(!orphan(&y, id));
	while (!orphan(&y, id) && y.now < made + 10 * MINUTE)
		yard_run(&y, 500);
	CHECK(y.now <= made + WINDOW_MS + MINUTE);
	yard_close(&y);
}

static void things_that_are_nobodys_are_found(void)
{
	static const struct {
		const char *word;
		int kind;
	} all[] = {{"network", ORPHAN_NETWORK},
		   {"image", ORPHAN_IMAGE},
		   {"volume", ORPHAN_VOLUME}};
	const char *ids[COUNT_OF(all)];
	struct yard y;

	herd_open(&y, WINDOW, 2);
	for (size_t n = 0; n < COUNT_OF(all); n++)
		ids[n] = kept(meddle_thing(&y, all[n].word, NOBODY,
					   DISK_INSTALLATION));
	yard_run(&y, 110 * SECOND);
	CHECK(seen(&y)->orphan_count == 0);
	yard_run(&y, 2 * MINUTE);
	CHECK(seen(&y)->orphan_count == COUNT_OF(all));
	for (size_t n = 0; n < COUNT_OF(all); n++) {
		const struct orphan *o = orphan(&y, ids[n]);

		CHECK(o && o->kind == all[n].kind && !o->kept &&
		      !o->server_id && o->object_id);
	}
	CHECK(herd_region_told(&y, "orphanFound") == COUNT_OF(all));
	/* They are only reported, for ever. */
	yard_run(&y, 24 * 60 * MINUTE);
	for (size_t n = 0; n < COUNT_OF(all); n++)
		CHECK(meddle_has_thing(&y, ids[n]));
	CHECK(herd_region_told(&y, "orphanFound") == COUNT_OF(all));
	yard_close(&y);
}

static const char *backing_of(struct yard *y, const struct kind *k,
			      const char *id)
{
	struct record r;

	if (!store_get(y->store, 0, k, id, &r))
		abort();
	return k == &network_kind ? ((const struct network *)r.object)
					    ->status.backed.provider
				  : ((const struct volume *)r.object)
					    ->status.backed.provider;
}

static void things_are_removed_after_their_quarantine(void)
{
	struct yard y;
	const char *left, *known;

	herd_open(&y, WINDOW, 2);
	known = kept(backing_of(&y, &network_kind, YARD_NETWORK));
	yard_remove_orphans(&y, 600);
	left = kept(meddle_thing(&y, "volume", NOBODY, DISK_INSTALLATION));
	yard_run(&y, 11 * MINUTE);
	CHECK(orphan(&y, left) && meddle_has_thing(&y, left));
	yard_run(&y, 4 * MINUTE);
	CHECK(!meddle_has_thing(&y, left));
	CHECK(seen(&y)->orphan_count == 0 && seen(&y)->orphans.n == 0);
	CHECK(herd_region_told(&y, "orphanRemoved") == 1);
	CHECK(meddle_has_thing(&y, known));
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

/* It was ours in the list, and is not when it is looked for again. */
static void a_thing_that_went_by_itself_is_not_removed(void)
{
	struct yard y;
	const char *left;
	int64_t due;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 600);
	left = kept(meddle_thing(&y, "volume", NOBODY, DISK_INSTALLATION));
	yard_run(&y, 5 * MINUTE);
	due = orphan(&y, left)->quarantined_until;
	for (uint64_t calls = y.calls; y.now < due || y.calls < calls + 2;) {
		calls = y.now < due ? y.calls : calls;
		if (!yard_step(&y))
			y.now = (int64_t)y.wake;
	}
	CHECK(meddle_has_thing(&y, left));
	meddle_remove(&y, "volume", left);
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_region_told(&y, "orphanRemoved") == 0);
	CHECK(seen(&y)->orphan_count == 0);
	yard_close(&y);
}

static void where_things_cannot_be_listed_none_is_an_orphan(void)
{
	struct yard y;
	const char *left;

	herd_open(&y, "{\"launchLimitMs\":120000,\"lacks\":[\"listThings\"]}",
		  1);
	left = kept(meddle_thing(&y, "volume", NOBODY, DISK_INSTALLATION));
	yard_remove_orphans(&y, 1);
	yard_run(&y, 60 * MINUTE);
	CHECK(!orphan(&y, left) && meddle_has_thing(&y, left));
	yard_close(&y);
}

static void things_of_others_are_not_touched(void)
{
	const char *ids[3];
	struct yard y;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	ids[0] = kept(meddle_thing(&y, "volume", NOBODY, OTHERS));
	ids[1] = kept(meddle_thing(&y, "network", NOBODY, NULL));
	ids[2] = kept(backing_of(&y, &network_kind, YARD_NETWORK));
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0);
	for (size_t n = 0; n < COUNT_OF(ids); n++)
		CHECK(meddle_has_thing(&y, ids[n]));
	yard_close(&y);
}

static int take_backing(struct tx *tx, void *ctx, struct err *err)
{
	struct network n = *(const struct network *)tx_get(tx, &network_kind,
							   YARD_NETWORK);

	(void)ctx;
	n.status.backed.provider = "net-other";
	return tx_put(tx, &network_kind, &n, err);
}

/* Which of the two is the right one is for people to say. */
static void a_second_thing_of_an_object_is_shown_and_kept(void)
{
	struct yard y;
	char *second;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	second = kept(backing_of(&y, &network_kind, YARD_NETWORK));
	yard_transact(&y, take_backing, NULL);
	yard_run(&y, 60 * MINUTE);
	CHECK(orphan(&y, second) && orphan(&y, second)->kept);
	CHECK(meddle_has_thing(&y, second));
	yard_close(&y);
}

/* What a list does not tell is as it was, machines too. */
static void things_that_cannot_be_listed_stay_as_they_are(void)
{
	struct yard y;
	const char *left;

	herd_open(&y, WINDOW, 2);
	left = kept(meddle_thing(&y, "volume", NOBODY, DISK_INSTALLATION));
	yard_run(&y, 5 * MINUTE);
	CHECK(orphan(&y, left));
	yard_options(&y, "{\"launchLimitMs\":120000,\"faults\":[{\"call\":"
			 "\"listThings\",\"action\":\"fail\"}]}");
	yard_remove_orphans(&y, 1);
	yard_run(&y, 20 * MINUTE);
	CHECK(orphan(&y, left) && seen(&y)->orphan_count == 1);
	CHECK(meddle_has_thing(&y, left));
	CHECK(!seen(&y)->stale_since);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_options(&y, WINDOW);
	yard_run(&y, 5 * MINUTE);
	CHECK(!orphan(&y, left) && !meddle_has_thing(&y, left));
	yard_close(&y);
}

/* Everything that is not to be removed, where removing is allowed. */
static void nothing_is_removed_by_mistake(void)
{
	struct yard y;
	const char *other, *young, *due;
	int64_t made;

	herd_open(&y, WINDOW, 5);
	yard_remove_orphans(&y, 600);
	other = kept(yard_launch(&y, NOBODY, OTHERS));
	due = kept(yard_launch(&y, NOBODY, DISK_INSTALLATION));
	made = y.now;
	for (int n = 0; n < 60; n++) {
		young = kept(yard_launch(&y, NOBODY, DISK_INSTALLATION));
		yard_run(&y, 100 * SECOND);
		/* Too young to be one, and then it is gone. */
		CHECK(!orphan(&y, young));
		CHECK(yard_drift(&y, young, "vanish"));
		CHECK(yard_drift(&y, other, "halt") ==
		      yard_drift(&y, other, "boot"));
		if (y.now < made + WINDOW_MS + 600 * SECOND)
			CHECK(yard_drift(&y, due, "halt") &&
			      yard_drift(&y, due, "boot"));
	}
	CHECK(herd_region_told(&y, "orphanRemoved") == 1);
	CHECK(yard_machines(&y) == 6);
	for (int n = 0; n < 5; n++)
		CHECK(herd_at(&y, n)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

/* Whose answer is under way is no orphan, however long that takes. */
static void a_launch_without_its_answer_is_no_orphan(void)
{
	struct instance spec;
	struct yard y;
	const char *id;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	spec = yard_spec(&y, "lost");
	id = kept(yard_create(&y, &spec));
	meddle_lose_launch(&y);
	yard_run(&y, 60 * MINUTE);
	CHECK(!yard_instance(&y, id)->status.provider_id);
	CHECK(seen(&y)->orphan_count == 0);
	CHECK(yard_machines(&y) == 2);
	yard_crash(&y);
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

/* The answer to its launch is lost with the process that waited for it, and
 * somebody stops the machine before another has looked. */
static void adopts(const char *options)
{
	const char *id, *machine;
	struct instance spec;
	struct yard y;

	herd_open(&y, options, 0);
	yard_remove_orphans(&y, 1);
	spec = yard_spec(&y, "lost");
	id = kept(yard_create(&y, &spec));
	machine = kept(meddle_lose_launch(&y));
	yard_run(&y, MINUTE);
	CHECK(yard_drift(&y, machine, "halt"));
	yard_crash(&y);
	yard_run(&y, 30 * MINUTE);
	CHECK(yard_machines(&y) == 1);
	CHECK_STR(yard_instance(&y, id)->status.provider_id, machine);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(seen(&y)->orphan_count == 0);
	yard_close(&y);
}

static void a_stopped_machine_is_adopted_after_a_crash(void)
{
	adopts(WINDOW);
	adopts("{\"launchLimitMs\":120000,\"launchTokens\":false}");
}

int main(void)
{
	RUN(an_orphan_is_found_within_a_minute_of_being_listed);
	RUN(an_orphan_is_found_within_a_minute_of_its_window);
	RUN(things_that_are_nobodys_are_found);
	RUN(things_are_removed_after_their_quarantine);
	RUN(a_thing_that_went_by_itself_is_not_removed);
	RUN(where_things_cannot_be_listed_none_is_an_orphan);
	RUN(things_of_others_are_not_touched);
	RUN(a_second_thing_of_an_object_is_shown_and_kept);
	RUN(things_that_cannot_be_listed_stay_as_they_are);
	RUN(nothing_is_removed_by_mistake);
	RUN(a_launch_without_its_answer_is_no_orphan);
	RUN(a_stopped_machine_is_adopted_after_a_crash);
	return test_done();
}

/* test_monitor - what happens to machines without our doing, on a simulated
 * cloud. */
#include <stdlib.h>

#include "model/event.h"
#include "model/image.h"
#include "model/region.h"
#include "reconcile/monitor_sweep.h"
#include "test.h"
#include "yard.h"

#define SECOND 1000
#define MINUTE 60000

/* A yard with N instances that run, looked at once a minute when still. */
static void begin(struct yard *y, const char *options, int n)
{
	char name[32];

	yard_open(y, options);
	for (int i = 0; i < n; i++) {
		struct instance spec;

		snprintf(name, sizeof(name), "web-%d", i);
		spec = yard_spec(y, name);
		yard_create(y, &spec);
		if (i % 1000 == 999)
			yard_run(y, 10 * SECOND);
	}
	yard_run(y, MINUTE);
	CHECK(yard_machines(y) == (size_t)n);
	yard_observe(y, 60);
	yard_run(y, 5 * MINUTE);
}

static const char *id_of(int n)
{
	static char ids[8][37];
	static unsigned next;
	char *id = ids[next++ % 8], name[32];

	snprintf(name, sizeof(name), "web-%d", n);
	instance_id(YARD_NETWORK, name, id);
	return id;
}

static const struct instance *at(const struct yard *y, int n)
{
	return yard_instance(y, id_of(n));
}

static const char *machine_of(const struct yard *y, int n)
{
	static char id[64];

	snprintf(id, sizeof(id), "%s", at(y, n)->status.provider_id);
	return id;
}

static bool drift(struct yard *y, int n, const char *what)
{
	return yard_drift(y, machine_of(y, n), what);
}

static bool told(const struct yard *y, int n, const char *reason)
{
	return yard_told(y, id_of(n), reason);
}

/* How often REASON was told of the region. */
static int64_t region_told(const struct yard *y, const char *reason)
{
	struct scan scan = store_scan(y->store, 0, &event_kind, NULL);
	struct record r;
	size_t effort = 0;

	while (scan_next(&scan, &r, &effort)) {
		const struct happening *e = r.object;

		if (strcmp(e->object_id, YARD_REGION) == 0 &&
		    strcmp(e->reason, reason) == 0)
			return e->count;
	}
	return 0;
}

static void nothing_is_written_of_what_is_as_it_was(void)
{
	struct yard y;
	int64_t first, last;
	uint64_t calls, revision;

	begin(&y, NULL, 3);
	calls = y.calls;
	revision = store_revision(y.store);
	first = at(&y, 0)->meta.revision;
	last = yard_region(&y)->status.monitor.observed_at;
	CHECK(last != 0);
	yard_run(&y, 30 * MINUTE);
	CHECK(y.calls >= calls + 28 && y.calls <= calls + 32);
	CHECK(store_revision(y.store) <= revision + 31);
	CHECK(at(&y, 0)->meta.revision == first);
	CHECK(yard_region(&y)->status.monitor.observed_at > last);
	CHECK(!told(&y, 0, "drifted"));
	yard_close(&y);
}

static void one_that_was_stopped_is_started_again(void)
{
	struct yard y;

	begin(&y, "{\"startMs\":2000}", 3);
	CHECK(drift(&y, 1, "halt"));
	yard_run(&y, 61 * SECOND);
	CHECK(told(&y, 1, "drifted") && told(&y, 1, "stopped"));
	CHECK(!told(&y, 0, "drifted"));
	yard_run(&y, 10 * SECOND);
	CHECK(told(&y, 1, "starting"));
	CHECK(at(&y, 1)->status.state == INSTANCE_RUNNING);
	CHECK(yard_machines(&y) == 3);
	yard_close(&y);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

/* Between the look and what is written of it, somebody else has written. */
static void what_was_seen_is_not_written_over_what_is_newer(void)
{
	struct yard y;
	struct sighting g = {.machine = {.state = INSTANCE_STOPPED}};
	struct sighting_write w = {.random = &y.random.base, .first = &g};

	begin(&y, NULL, 1);
	g.machine.id = machine_of(&y, 0);
	g.server = at(&y, 0)->status.server_id;
	g.began = y.now;
	g.revision = yard_server(&y, id_of(0))->meta.revision - 1;
	yard_transact(&y, monitor_write_sightings, &w);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(!told(&y, 0, "drifted"));
	g.revision++;
	yard_transact(&y, monitor_write_sightings, &w);
	CHECK(at(&y, 0)->status.state == INSTANCE_STOPPED);
	CHECK(told(&y, 0, "drifted"));
	yard_close(&y);
}

static void one_that_was_started_is_stopped_again(void)
{
	struct yard y;

	begin(&y, NULL, 1);
	yard_change(&y, id_of(0), off, 0);
	yard_run(&y, 5 * MINUTE);
	CHECK(at(&y, 0)->status.state == INSTANCE_STOPPED);
	CHECK(drift(&y, 0, "boot"));
	yard_run(&y, 2 * MINUTE);
	CHECK(told(&y, 0, "drifted"));
	CHECK(at(&y, 0)->status.state == INSTANCE_STOPPED);
	yard_close(&y);
}

static void other_addresses_are_seen(void)
{
	struct yard y;
	char before[64];

	begin(&y, "{\"keepsAddresses\":false}", 2);
	snprintf(before, sizeof(before), "%s", at(&y, 0)->status.private_ip);
	CHECK(yard_power(&y, machine_of(&y, 0), false));
	yard_power(&y, machine_of(&y, 1), false);
	CHECK(yard_power(&y, machine_of(&y, 1), true));
	CHECK(yard_power(&y, machine_of(&y, 0), true));
	yard_run(&y, 61 * SECOND);
	CHECK(told(&y, 0, "drifted"));
	CHECK(strcmp(before, at(&y, 0)->status.private_ip) != 0);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void one_that_failed_is_shown_and_left_alone(void)
{
	struct yard y;

	begin(&y, NULL, 2);
	CHECK(drift(&y, 0, "fail"));
	yard_run(&y, 5 * MINUTE);
	CHECK(at(&y, 0)->status.state == INSTANCE_FAILED);
	CHECK(yard_machines(&y) == 2);
	CHECK(drift(&y, 0, "boot"));
	yard_run(&y, 2 * MINUTE);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void one_that_was_removed_is_gone_and_not_replaced(void)
{
	struct yard y;

	begin(&y, NULL, 5);
	CHECK(drift(&y, 0, "vanish"));
	CHECK(drift(&y, 1, "kill"));
	yard_run(&y, 70 * SECOND);
	CHECK(at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(at(&y, 1)->status.state == INSTANCE_TERMINATED);
	CHECK_STR(at(&y, 0)->status.reason.code, "not_found");
	CHECK(told(&y, 0, "drifted") && told(&y, 0, "parked"));
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 3);
	yard_delete(&y, id_of(0));
	yard_run(&y, MINUTE);
	CHECK(!at(&y, 0));
	yard_close(&y);
}

/* That it is not found is not enough once. */
static void one_look_does_not_make_it_gone(void)
{
	struct yard y;

	begin(&y, NULL, 2);
	CHECK(drift(&y, 0, "vanish"));
	for (uint64_t calls = y.calls; y.calls < calls + 2;)
		yard_run(&y, SECOND);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_run(&y, 10 * SECOND);
	CHECK(at(&y, 0)->status.state == INSTANCE_TERMINATED);
	yard_close(&y);
}

static void one_that_lost_its_tags_is_not_gone(void)
{
	struct yard y;

	begin(&y, NULL, 2);
	CHECK(drift(&y, 0, "untag"));
	yard_run(&y, 10 * MINUTE);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(!told(&y, 0, "drifted"));
	yard_close(&y);
}

static void a_list_that_is_not_whole_changes_nothing(void)
{
	struct yard y;

	begin(&y, "{\"pageSize\":2}", 6);
	yard_options(&y, "{\"pageSize\":2,\"partialListRate\":1000}");
	yard_run(&y, 10 * SECOND);
	for (int n = 0; n < 3; n++)
		CHECK(drift(&y, n, "halt"));
	CHECK(drift(&y, 3, "vanish"));
	yard_run(&y, 4 * MINUTE);
	for (int n = 0; n < 6; n++) {
		CHECK(at(&y, n)->status.state == INSTANCE_RUNNING);
		CHECK(!told(&y, n, "drifted"));
	}
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	yard_run(&y, 4 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.stale_since);
	CHECK(region_told(&y, "observationStale") == 1);
	yard_options(&y, "{\"pageSize\":2}");
	yard_run(&y, 3 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	CHECK(region_told(&y, "observationFresh") == 1);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(told(&y, 0, "drifted"));
	CHECK(at(&y, 3)->status.state == INSTANCE_TERMINATED);
	yard_close(&y);
}

static int accept(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	(void)ctx;
	r.status.monitor.accepted = r.status.monitor.missing;
	return tx_put(tx, &region_kind, &r, err);
}

/* What was written of any instance since. */
static size_t written_since(const struct yard *y, int64_t revision)
{
	struct scan scan = store_scan(y->store, 0, &instance_kind, NULL);
	struct record r;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &r, &effort))
		n += (int64_t)r.revision > revision;
	return n;
}

static void when_many_vanish_nothing_is_done_but_one_alarm(void)
{
	enum { MANY = 10000, LOST = 9990 };
	const struct monitoring *m;
	struct yard y;
	int64_t revision;

	begin(&y, NULL, MANY);
	revision = (int64_t)store_revision(y.store);
	for (int n = 0; n < LOST; n++)
		if (!drift(&y, n, "vanish"))
			abort();
	yard_run(&y, 30 * MINUTE);
	m = &yard_region(&y)->status.monitor;
	CHECK(region_told(&y, "massDisappearance") == 1);
	CHECK(m->missing == LOST && m->of == MANY && m->missing_since);
	CHECK(written_since(&y, revision) == 0);
	CHECK(yard_machines(&y) == MANY - LOST);
	/* Nor does a new start forget it. */
	yard_crash(&y);
	yard_run(&y, 10 * MINUTE);
	CHECK(region_told(&y, "massDisappearance") == 1);
	CHECK(written_since(&y, revision) == 0);
	CHECK(yard_machines(&y) == MANY - LOST);
	yard_close(&y);
}

static void an_operator_accepts_that_they_are_gone(void)
{
	struct yard y;

	begin(&y, NULL, 20);
	for (int n = 0; n < 10; n++)
		CHECK(drift(&y, n, "vanish"));
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.missing == 10);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_transact(&y, accept, NULL);
	yard_run(&y, 5 * MINUTE);
	CHECK(at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(!yard_region(&y)->status.monitor.missing_since);
	CHECK(!yard_region(&y)->status.monitor.accepted);
	CHECK(region_told(&y, "massDisappearanceOver") == 1);
	CHECK(yard_machines(&y) == 10);
	yard_close(&y);
}

static void those_that_come_back_end_it(void)
{
	struct yard y;

	begin(&y, NULL, 20);
	for (int n = 0; n < 10; n++)
		CHECK(drift(&y, n, "untag"));
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.missing == 10);
	for (int n = 0; n < 8; n++)
		yard_delete(&y, id_of(n));
	yard_run(&y, 5 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.missing_since);
	CHECK(at(&y, 8)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

/* What has just been made may be missing from lists. */
static void a_young_one_is_not_missed(void)
{
	struct yard y;
	struct instance i;
	const char *id;

	begin(&y, "{\"consistencyMs\":30000}", 1);
	i = yard_spec(&y, "young");
	id = yard_create(&y, &i);
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(!yard_told(&y, id, "drifted"));
	yard_close(&y);
}

#define NOBODY "99999999-9999-4999-8999-999999999999"

/* The launch window is two minutes, and a list is never late. */
#define WINDOW "{\"launchLimitMs\":120000}"

static const struct monitoring *seen(const struct yard *y)
{
	return &yard_region(y)->status.monitor;
}

static void an_orphan_is_found_and_reported(void)
{
	const struct orphan *o;
	struct yard y;
	char id[64];

	begin(&y, WINDOW, 2);
	yard_remove_orphans(&y, 0);
	snprintf(id, sizeof(id), "%s",
		 yard_launch(&y, NOBODY, DISK_INSTALLATION));
	yard_run(&y, 4 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1 && seen(&y)->orphans.n == 1);
	o = seen(&y)->orphans.at;
	CHECK_STR(o->provider_id, id);
	CHECK_STR(o->server_id, NOBODY);
	CHECK(o->quarantined_until == o->first_seen_at + 60 * MINUTE);
	CHECK(region_told(&y, "orphanFound") == 1);
	yard_crash(&y);
	yard_run(&y, 24 * 60 * MINUTE);
	CHECK(region_told(&y, "orphanFound") == 1);
	CHECK(yard_machines(&y) == 3);
	/* When it is gone, or nobody's any more, it is forgotten. */
	CHECK(yard_drift(&y, id, "untag"));
	yard_run(&y, 2 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0 && seen(&y)->orphans.n == 0);
	yard_close(&y);
}

static void an_orphan_is_removed_after_its_quarantine(void)
{
	struct yard y;

	begin(&y, "{\"launchLimitMs\":120000,\"terminateMs\":90000}", 2);
	yard_remove_orphans(&y, 600);
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 12 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	CHECK(yard_machines(&y) == 3);
	yard_run(&y, 5 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0 && seen(&y)->orphans.n == 0);
	CHECK(yard_machines(&y) == 2);
	CHECK(region_told(&y, "orphanFound") == 1);
	CHECK(region_told(&y, "orphanRemoved") == 1);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(at(&y, 1)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void a_young_one_is_no_orphan(void)
{
	struct yard y;

	begin(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 119 * SECOND);
	CHECK(seen(&y)->orphan_count == 0);
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

static void what_is_not_ours_is_not_touched(void)
{
	struct yard y;

	begin(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_launch(&y, NOBODY, "another-installation");
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0);
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

/* It was ours in the list, and is not when it is looked at again. */
static void what_is_no_longer_ours_is_not_removed(void)
{
	const struct orphan *o;
	struct yard y;
	int64_t due;
	char id[64];

	begin(&y, WINDOW, 1);
	yard_remove_orphans(&y, 600);
	snprintf(id, sizeof(id), "%s",
		 yard_launch(&y, NOBODY, DISK_INSTALLATION));
	yard_run(&y, 5 * MINUTE);
	o = seen(&y)->orphans.at;
	due = o->quarantined_until;
	for (uint64_t calls = y.calls; y.now < due || y.calls == calls;) {
		calls = y.now < due ? y.calls : calls;
		if (!yard_step(&y))
			y.now = (int64_t)y.wake;
	}
	CHECK(yard_machines(&y) == 2);
	CHECK(yard_drift(&y, id, "untag"));
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 2);
	CHECK(region_told(&y, "orphanRemoved") == 0);
	yard_close(&y);
}

/* Which of the two is the right one is for people to say. */
static void a_second_machine_of_a_server_is_shown_and_kept(void)
{
	struct yard y;

	begin(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_stray(&y, id_of(0));
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	CHECK(yard_machines(&y) == 2);
	CHECK(at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

int main(void)
{
	RUN(nothing_is_written_of_what_is_as_it_was);
	RUN(one_that_was_stopped_is_started_again);
	RUN(what_was_seen_is_not_written_over_what_is_newer);
	RUN(one_that_was_started_is_stopped_again);
	RUN(other_addresses_are_seen);
	RUN(one_that_failed_is_shown_and_left_alone);
	RUN(one_that_was_removed_is_gone_and_not_replaced);
	RUN(one_look_does_not_make_it_gone);
	RUN(one_that_lost_its_tags_is_not_gone);
	RUN(a_list_that_is_not_whole_changes_nothing);
	RUN(when_many_vanish_nothing_is_done_but_one_alarm);
	RUN(an_operator_accepts_that_they_are_gone);
	RUN(those_that_come_back_end_it);
	RUN(a_young_one_is_not_missed);
	RUN(an_orphan_is_found_and_reported);
	RUN(an_orphan_is_removed_after_its_quarantine);
	RUN(a_young_one_is_no_orphan);
	RUN(what_is_not_ours_is_not_touched);
	RUN(what_is_no_longer_ours_is_not_removed);
	RUN(a_second_machine_of_a_server_is_shown_and_kept);
	return test_done();
}

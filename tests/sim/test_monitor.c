/* test_monitor - what happens to machines without our doing, on a simulated
 * cloud. */
#include <stdlib.h>

#include "herd.h"
#include "model/region.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "reconcile/monitor_sweep.h"
#include "test.h"

static void nothing_is_written_of_what_is_as_it_was(void)
{
	struct yard y;
	int64_t first, last;
	uint64_t calls, revision;

	herd_open(&y, NULL, 3);
	calls = y.calls;
	revision = store_revision(y.store);
	first = herd_at(&y, 0)->meta.revision;
	last = yard_region(&y)->status.monitor.observed_at;
	CHECK(last != 0);
	yard_run(&y, 30 * MINUTE);
	/* One list of machines a minute, and one of what else there is. */
	CHECK(y.calls >= calls + 56 && y.calls <= calls + 64);
	CHECK(store_revision(y.store) <= revision + 31);
	CHECK(herd_at(&y, 0)->meta.revision == first);
	CHECK(yard_region(&y)->status.monitor.observed_at > last);
	CHECK(!herd_told(&y, 0, "drifted"));
	yard_close(&y);
}

static void one_that_was_stopped_is_started_again(void)
{
	struct yard y;

	herd_open(&y, "{\"startMs\":2000}", 3);
	CHECK(herd_drift(&y, 1, "halt"));
	yard_run(&y, 61 * SECOND);
	CHECK(herd_told(&y, 1, "drifted") && herd_told(&y, 1, "stopped"));
	CHECK(!herd_told(&y, 0, "drifted"));
	yard_run(&y, 10 * SECOND);
	CHECK(herd_told(&y, 1, "starting"));
	CHECK(herd_at(&y, 1)->status.state == INSTANCE_RUNNING);
	CHECK(yard_machines(&y) == 3);
	yard_close(&y);
}

/* Between the look and what is written of it, somebody else has written. */
static void what_was_seen_is_not_written_over_what_is_newer(void)
{
	struct yard y;
	struct sighting g = {.machine = {.state = INSTANCE_STOPPED}};
	struct sighting_write w = {.random = &y.random.base, .first = &g};

	herd_open(&y, NULL, 1);
	g.machine.id = herd_machine(&y, 0);
	g.server = herd_at(&y, 0)->status.server_id;
	g.began = y.now;
	g.revision = yard_server(&y, herd_id(0))->meta.revision - 1;
	yard_transact(&y, monitor_write_sightings, &w);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(!herd_told(&y, 0, "drifted"));
	g.revision++;
	yard_transact(&y, monitor_write_sightings, &w);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_STOPPED);
	CHECK(herd_told(&y, 0, "drifted"));
	yard_close(&y);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

static void one_that_was_started_is_stopped_again(void)
{
	struct yard y;

	herd_open(&y, NULL, 1);
	yard_change(&y, herd_id(0), off, 0);
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_STOPPED);
	CHECK(herd_drift(&y, 0, "boot"));
	yard_run(&y, 2 * MINUTE);
	CHECK(herd_told(&y, 0, "drifted"));
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_STOPPED);
	yard_close(&y);
}

static void other_addresses_are_seen(void)
{
	struct yard y;
	char before[64];

	herd_open(&y, "{\"keepsAddresses\":false}", 2);
	snprintf(before, sizeof(before), "%s",
		 herd_at(&y, 0)->status.private_ip);
	CHECK(yard_power(&y, herd_machine(&y, 0), false));
	yard_power(&y, herd_machine(&y, 1), false);
	CHECK(yard_power(&y, herd_machine(&y, 1), true));
	CHECK(yard_power(&y, herd_machine(&y, 0), true));
	yard_run(&y, 61 * SECOND);
	CHECK(herd_told(&y, 0, "drifted"));
	CHECK(strcmp(before, herd_at(&y, 0)->status.private_ip) != 0);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

/* To have its size back it would have to restart: that is for somebody to
 * ask for. */
static void one_that_was_resized_is_told_of_and_left_alone(void)
{
	const struct server *s;
	struct yard y;

	herd_open(&y, NULL, 2);
	CHECK_STR(yard_server(&y, herd_id(0))->status.native_flavor,
		  "sim.small");
	CHECK(herd_drift(&y, 0, "resize"));
	yard_run(&y, 61 * SECOND);
	CHECK(herd_told(&y, 0, "drifted") && !herd_told(&y, 1, "drifted"));
	s = yard_server(&y, herd_id(0));
	CHECK_STR(s->status.native_flavor, "sim.medium");
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(!herd_at(&y, 0)->status.change.action);
	yard_close(&y);
}

static void one_that_failed_is_shown_and_left_alone(void)
{
	struct yard y;

	herd_open(&y, NULL, 2);
	CHECK(herd_drift(&y, 0, "fail"));
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_FAILED);
	CHECK(yard_machines(&y) == 2);
	CHECK(herd_drift(&y, 0, "boot"));
	yard_run(&y, 2 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void one_that_was_removed_is_gone_and_not_replaced(void)
{
	struct yard y;

	herd_open(&y, NULL, 5);
	CHECK(herd_drift(&y, 0, "vanish"));
	CHECK(herd_drift(&y, 1, "kill"));
	yard_run(&y, 70 * SECOND);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(herd_at(&y, 1)->status.state == INSTANCE_TERMINATED);
	CHECK_STR(herd_at(&y, 0)->status.reason.code, "not_found");
	CHECK(herd_told(&y, 0, "drifted") && herd_told(&y, 0, "parked"));
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 3);
	yard_delete(&y, herd_id(0));
	yard_run(&y, MINUTE);
	CHECK(!herd_at(&y, 0));
	yard_close(&y);
}

/* That it is not found is not enough once. */
static void one_look_does_not_make_it_gone(void)
{
	struct yard y;

	herd_open(&y, NULL, 2);
	CHECK(herd_drift(&y, 0, "vanish"));
	for (uint64_t calls = y.calls; y.calls < calls + 2;)
		yard_run(&y, SECOND);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_run(&y, 10 * SECOND);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_TERMINATED);
	yard_close(&y);
}

static void one_that_lost_its_tags_is_not_gone(void)
{
	struct yard y;

	herd_open(&y, NULL, 2);
	CHECK(herd_drift(&y, 0, "untag"));
	yard_run(&y, 10 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(!herd_told(&y, 0, "drifted"));
	yard_close(&y);
}

static void a_list_that_is_not_whole_changes_nothing(void)
{
	struct yard y;

	herd_open(&y, "{\"pageSize\":2}", 6);
	yard_options(&y, "{\"pageSize\":2,\"partialListRate\":1000}");
	yard_run(&y, 10 * SECOND);
	for (int n = 0; n < 3; n++)
		CHECK(herd_drift(&y, n, "halt"));
	CHECK(herd_drift(&y, 3, "vanish"));
	yard_run(&y, 4 * MINUTE);
	for (int n = 0; n < 6; n++) {
		CHECK(herd_at(&y, n)->status.state == INSTANCE_RUNNING);
		CHECK(!herd_told(&y, n, "drifted"));
	}
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	yard_run(&y, 4 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.stale_since);
	CHECK(herd_region_told(&y, "observationStale") == 1);
	yard_options(&y, "{\"pageSize\":2}");
	yard_run(&y, 3 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	CHECK(herd_region_told(&y, "observationFresh") == 1);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(herd_told(&y, 0, "drifted"));
	CHECK(herd_at(&y, 3)->status.state == INSTANCE_TERMINATED);
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

/* Those whose state is not known, and their servers are as they were. */
static size_t unknown(const struct yard *y)
{
	struct scan scan = store_scan(y->store, 0, &instance_kind, NULL);
	struct record r;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &r, &effort)) {
		const struct instance *i = r.object;

		n += i->status.state == INSTANCE_UNKNOWN &&
		     i->status.stale_since &&
		     yard_server(y, r.id)->status.state == INSTANCE_RUNNING;
	}
	return n;
}

static void when_many_vanish_nothing_is_done_but_one_alarm(void)
{
	/* Fewer where fewer seeds are played, too. */
	const size_t many = getenv("SEEDS") ? 1000 : 10000, lost = many - 10;
	const struct monitoring *m;
	struct yard y;
	int64_t revision;

	herd_open(&y, NULL, (int)many);
	revision = (int64_t)store_revision(y.store);
	for (int n = 0; n < (int)lost; n++)
		if (!herd_drift(&y, n, "vanish"))
			abort();
	yard_run(&y, 5 * MINUTE);
	m = &yard_region(&y)->status.monitor;
	CHECK(herd_region_told(&y, "massDisappearance") == 1);
	CHECK(m->missing == (int64_t)lost && m->of == (int64_t)many &&
	      m->missing_since);
	CHECK(written_since(&y, revision) == 0);
	/* After a while nobody knows any more how they are, and that is all. */
	yard_run(&y, 5 * MINUTE);
	CHECK(written_since(&y, revision) == lost);
	CHECK(unknown(&y) == lost);
	revision = (int64_t)store_revision(y.store);
	yard_run(&y, 20 * MINUTE);
	CHECK(herd_region_told(&y, "massDisappearance") == 1);
	CHECK(herd_region_told(&y, "observationStale") == 0);
	CHECK(written_since(&y, revision) == 0);
	CHECK(yard_machines(&y) == many - lost);
	/* Nor does a new start forget it. */
	yard_crash(&y);
	yard_run(&y, 10 * MINUTE);
	CHECK(herd_region_told(&y, "massDisappearance") == 1);
	CHECK(written_since(&y, revision) == 0);
	CHECK(yard_machines(&y) == many - lost);
	/* Somebody clears it: they are gone, and none takes their place. */
	yard_transact(&y, accept, NULL);
	yard_run(&y, 10 * MINUTE);
	CHECK(herd_region_told(&y, "massDisappearanceOver") == 1);
	CHECK(written_since(&y, revision) == lost && unknown(&y) == 0);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(herd_at(&y, (int)lost - 1)->status.state == INSTANCE_TERMINATED);
	CHECK(herd_region_told(&y, "massDisappearance") == 1);
	CHECK(yard_machines(&y) == many - lost);
	yard_close(&y);
}

static void an_operator_accepts_that_they_are_gone(void)
{
	struct yard y;

	herd_open(&y, NULL, 20);
	for (int n = 0; n < 10; n++)
		CHECK(herd_drift(&y, n, "vanish"));
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.missing == 10);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_transact(&y, accept, NULL);
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(!yard_region(&y)->status.monitor.missing_since);
	CHECK(!yard_region(&y)->status.monitor.accepted);
	CHECK(herd_region_told(&y, "massDisappearanceOver") == 1);
	CHECK(yard_machines(&y) == 10);
	yard_close(&y);
}

static void those_that_come_back_end_it(void)
{
	struct yard y;

	herd_open(&y, NULL, 20);
	for (int n = 0; n < 10; n++)
		CHECK(herd_drift(&y, n, "untag"));
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.missing == 10);
	CHECK(unknown(&y) == 10);
	for (int n = 0; n < 8; n++)
		yard_delete(&y, herd_id(n));
	yard_run(&y, 5 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.missing_since);
	/* They are looked at by themselves then. */
	CHECK(unknown(&y) == 0);
	CHECK(herd_at(&y, 8)->status.state == INSTANCE_RUNNING);
	CHECK(herd_at(&y, 8)->status.observed_by == OBSERVED_DESCRIBE);
	yard_close(&y);
}

/* What has just been made may be missing from lists. */
static void a_young_one_is_not_missed(void)
{
	struct yard y;
	struct instance i;
	const char *id;

	herd_open(&y, "{\"consistencyMs\":30000}", 1);
	i = yard_spec(&y, "young");
	id = yard_create(&y, &i);
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(!yard_told(&y, id, "drifted"));
	yard_close(&y);
}

#define OTHERS "another-installation"
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

	herd_open(&y, WINDOW, 2);
	yard_remove_orphans(&y, 0);
	snprintf(id, sizeof(id), "%s",
		 yard_launch(&y, NOBODY, DISK_INSTALLATION));
	yard_run(&y, 4 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1 && seen(&y)->orphans.n == 1);
	o = seen(&y)->orphans.at;
	CHECK_STR(o->provider_id, id);
	CHECK_STR(o->server_id, NOBODY);
	CHECK(o->quarantined_until == o->first_seen_at + 60 * MINUTE);
	CHECK(herd_region_told(&y, "orphanFound") == 1);
	yard_crash(&y);
	yard_run(&y, 24 * 60 * MINUTE);
	CHECK(herd_region_told(&y, "orphanFound") == 1);
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

	herd_open(&y, "{\"launchLimitMs\":120000,\"terminateMs\":90000}", 2);
	yard_remove_orphans(&y, 600);
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 12 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	CHECK(yard_machines(&y) == 3);
	yard_run(&y, 5 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0 && seen(&y)->orphans.n == 0);
	CHECK(yard_machines(&y) == 2);
	CHECK(herd_region_told(&y, "orphanFound") == 1);
	CHECK(herd_region_told(&y, "orphanRemoved") == 1);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(herd_at(&y, 1)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void a_young_one_is_no_orphan(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
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

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_launch(&y, NOBODY, OTHERS);
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0);
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

/* A driver that lists another installation's machines as well. */
static int list_others(struct provider *p, const struct machine_filter *filter,
		       const char *page, struct arena *a,
		       struct machine_page *ret, struct err *err)
{
	const struct machine_filter others = {TAG_INSTALLATION, OTHERS};
	bool more = strcmp(filter->key, TAG_INSTALLATION) == 0 && !page;

	if (!more)
		return sim_driver.machines->list(p, filter, NULL, a, ret, err);
	if (sim_driver.machines->list(p, &others, NULL, a, ret, err) < 0)
		return -1;
	ret->next = "ours";
	return 0;
}

static void what_is_not_ours_is_no_orphan_whoever_lists_it(void)
{
	struct machine_ops machines = *sim_driver.machines;
	struct driver loose = sim_driver;
	struct yard y;

	machines.list = list_others;
	loose.machines = &machines;
	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_launch(&y, NOBODY, OTHERS);
	yard_provider(&y)->driver = &loose;
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0);
	CHECK(yard_machines(&y) == 2);
	yard_provider(&y)->driver = &sim_driver;
	yard_close(&y);
}

/* It was ours in the list, and is not when it is looked at again. */
static void what_is_no_longer_ours_is_not_removed(void)
{
	const struct orphan *o;
	struct yard y;
	int64_t due;
	char id[64];

	herd_open(&y, WINDOW, 1);
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
	CHECK(herd_region_told(&y, "orphanRemoved") == 0);
	yard_close(&y);
}

/* Which of the two is the right one is for people to say. */
static void a_second_machine_of_a_server_is_shown_and_kept(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 1);
	yard_stray(&y, herd_id(0));
	yard_run(&y, 60 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	CHECK(yard_machines(&y) == 2);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

int main(void)
{
	RUN(nothing_is_written_of_what_is_as_it_was);
	RUN(one_that_was_stopped_is_started_again);
	RUN(what_was_seen_is_not_written_over_what_is_newer);
	RUN(one_that_was_started_is_stopped_again);
	RUN(other_addresses_are_seen);
	RUN(one_that_was_resized_is_told_of_and_left_alone);
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
	RUN(what_is_not_ours_is_no_orphan_whoever_lists_it);
	RUN(what_is_no_longer_ours_is_not_removed);
	RUN(a_second_machine_of_a_server_is_shown_and_kept);
	return test_done();
}

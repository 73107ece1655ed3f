/* test_monitor_odd - what is made of lists that say too little, too much or the
 * same twice, and of what is removed when that fails. */
#include <stdlib.h>

#include "herd.h"
#include "meddle.h"
#include "model/network.h"
#include "model/region.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "test.h"

#define NOBODY "99999999-9999-4999-8999-999999999999"
#define WINDOW "{\"launchLimitMs\":120000}"

static struct driver driver;
static struct machine_ops machines;
static struct thing_ops things;

static void be_odd(struct yard *y)
{
	machines = *sim_driver.machines;
	driver = sim_driver;
	driver.machines = &machines;
	things = *sim_driver.things;
	driver.things = &things;
	yard_provider(y)->driver = &driver;
}

static const struct monitoring *seen(const struct yard *y)
{
	return &yard_region(y)->status.monitor;
}

/* The machines of a page, to be changed. */
static struct machine *ours(struct machine_page *page, struct arena *a,
			    size_t more)
{
	size_t n = page->machines.n;
	struct machine *m = arena_alloc(a, (n + more) * sizeof(*m));

	if (n)
		memcpy(m, page->machines.at, n * sizeof(*m));
	page->machines.at = m;
	return m;
}

static int ageless(struct provider *p, const struct machine_filter *filter,
		   const char *page, struct arena *a, struct machine_page *ret,
		   struct err *err)
{
	struct machine *m;

	if (sim_driver.machines->list(p, filter, page, a, ret, err) < 0)
		return -1;
	m = ours(ret, a, 1);
	for (size_t n = 0; n < ret->machines.n; n++)
		m[n].created_at = 0;
	return 0;
}

/* It counts from when it was first seen, once. */
static void what_does_not_say_how_old_it_is_is_as_old_as_it_is_known(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
	be_odd(&y);
	machines.list = ageless;
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 90 * SECOND);
	CHECK(seen(&y)->orphan_count == 0);
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

static int twice(struct provider *p, const struct machine_filter *filter,
		 const char *page, struct arena *a, struct machine_page *ret,
		 struct err *err)
{
	struct machine *m;
	size_t n;

	if (ageless(p, filter, page, a, ret, err) < 0)
		return -1;
	n = ret->machines.n;
	m = ours(ret, a, n + 1);
	memcpy(&m[n], m, n * sizeof(*m));
	ret->machines.n = 2 * n;
	return 0;
}

static void what_is_listed_twice_is_there_once(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 2);
	be_odd(&y);
	machines.list = twice;
	for (int n = 0; n < 3; n++)
		yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->orphan_count == 3 && seen(&y)->orphans.n == 3);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

enum { PAGES_MOST = 100000 };

static unsigned pages;

static int endless(struct provider *p, const struct machine_filter *filter,
		   const char *page, struct arena *a, struct machine_page *ret,
		   struct err *err)
{
	(void)p;
	(void)filter;
	(void)page;
	(void)a;
	(void)err;
	pages++;
	*ret = (struct machine_page){.next = "more"};
	return 0;
}

/* Nothing follows from it: not that anything is gone, and not for ever. */
static void a_list_without_an_end_is_given_up(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 2);
	be_odd(&y);
	machines.list = endless;
	while (pages <= PAGES_MOST)
		if (!yard_step(&y))
			y.now = (int64_t)y.wake;
	yard_run(&y, SECOND);
	CHECK(pages == PAGES_MOST + 1);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	machines.list = sim_driver.machines->list;
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->observed_at > y.now - 5 * MINUTE);
	CHECK(herd_at(&y, 1)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static int crowd(struct provider *p, const struct machine_filter *filter,
		 const char *page, struct arena *a, struct machine_page *ret,
		 struct err *err)
{
	static struct field_tag tags[] = {
		{TAG_INSTALLATION, DISK_INSTALLATION}};
	static char ids[150][8];
	struct machine *m;
	size_t n;

	if (sim_driver.machines->list(p, filter, page, a, ret, err) < 0)
		return -1;
	n = ret->machines.n;
	m = ours(ret, a, COUNT_OF(ids));
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		snprintf(ids[i], sizeof(ids[i]), "x-%zu", i);
		m[n + i] = (struct machine){.id = ids[i],
					    .state = INSTANCE_RUNNING,
					    .native_state = "?",
					    .created_at = 1,
					    .tags = {tags, 1}};
	}
	ret->machines.n = n + COUNT_OF(ids);
	return 0;
}

/* All are counted, some are shown; they name no server, and are not there when
 * somebody looks: nothing is removed. */
static void a_crowd_is_counted_and_some_of_it_shown(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 60);
	be_odd(&y);
	machines.list = crowd;
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->orphan_count == 150);
	CHECK(seen(&y)->orphans.n == ORPHANS_MOST);
	CHECK(yard_machines(&y) == 1);
	machines.list = sim_driver.machines->list;
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->orphan_count == 0 && seen(&y)->orphans.n == 0);
	yard_close(&y);
}

static int refuse(struct provider *p, const char *id, struct err *err)
{
	(void)p;
	return err_set(err, ERR_FORBIDDEN, "%s stays", id);
}

/* It is tried again with every sweep, and stays shown until it is gone. */
static void an_orphan_that_cannot_be_removed_stays_shown(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 60);
	be_odd(&y);
	machines.terminate = refuse;
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 30 * MINUTE);
	CHECK(yard_machines(&y) == 2);
	CHECK(seen(&y)->orphan_count == 1 && seen(&y)->orphans.n == 1);
	machines.terminate = sim_driver.machines->terminate;
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 1 && seen(&y)->orphan_count == 0);
	yard_close(&y);
}

/* So many at once: a sweep has others to look after. */
static void many_orphans_go_a_few_at_a_time(void)
{
	struct yard y;

	herd_open(&y, WINDOW, 1);
	for (int n = 0; n < 20; n++)
		yard_launch(&y, NOBODY, DISK_INSTALLATION);
	yard_run(&y, 5 * MINUTE);
	CHECK(seen(&y)->orphan_count == 20);
	yard_remove_orphans(&y, 60);
	for (int n = 0; n < 600 && yard_machines(&y) == 21; n++)
		yard_run(&y, SECOND);
	CHECK(yard_machines(&y) >= 1 + 20 - 16 && yard_machines(&y) < 21);
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 1);
	yard_close(&y);
}

static int erase_region(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	(void)ctx;
	r.meta.deleted_at = tx_time(tx);
	return tx_put(tx, &region_kind, &r, err);
}

static void a_region_that_goes_during_a_sweep_is_left_alone(void)
{
	struct yard y;
	int64_t revision;

	herd_open(&y, WINDOW, 1);
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	while (!yard_calling(&y))
		if (!yard_step(&y))
			y.now = (int64_t)y.wake;
	yard_transact(&y, erase_region, NULL);
	revision = yard_region(&y)->meta.revision;
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_region(&y)->meta.revision == revision);
	CHECK(seen(&y)->orphan_count == 0);
	yard_close(&y);
}

/* What lists of things say; on one page, or on pages without an end. */
static struct thing said[4];
static size_t n_said;
static bool forever, failing;

/* What every second list says: the one that is made before a removal. */
static enum { THE_SAME, FAILS, ANOTHERS, NOTHING, WITHOUT_END } second;
static unsigned n_lists;

static int list_said(struct provider *p, const char *installation,
		     const char *page, struct arena *a, struct thing_page *ret,
		     struct err *err)
{
	static struct thing said_again;

	(void)p;
	(void)installation;
	(void)a;
	if (!page)
		n_lists++;
	if (failing || (second == FAILS && n_lists % 2 == 0))
		return err_set(err, ERR_UNAVAILABLE, "not now");
	if (second != THE_SAME && n_lists % 2 == 0) {
		said_again = said[0];
		said_again.ours = YARD_VOLUME;
		*ret = (struct thing_page){
			.things = {&said_again, second == ANOTHERS},
			.next = second == WITHOUT_END ? "more" : NULL};
		return 0;
	}
	*ret = (struct thing_page){.things = {said, n_said},
				   .next = forever ? "more" : NULL};
	return 0;
}

static void say(size_t n, const struct thing *list)
{
	memcpy(said, list, n * sizeof(*list));
	n_said = n;
	forever = failing = false;
	second = THE_SAME;
	n_lists = 0;
}

/* Of what makes no sense nothing is made. */
static void things_that_make_no_sense_are_passed_over(void)
{
	static const struct thing list[] = {
		{.kind = 0, .id = "t-1", .ours = NOBODY, .created_at = 1},
		{.kind = 99, .id = "t-2", .ours = NOBODY, .created_at = 1},
		{.kind = THING_VOLUME, .ours = NOBODY, .created_at = 1},
		{.kind = THING_VOLUME, .id = "t-4", .created_at = 1},
	};
	const struct orphan *o;
	struct yard y;

	herd_open(&y, WINDOW, 1);
	yard_remove_orphans(&y, 60);
	be_odd(&y);
	things.list = list_said;
	say(COUNT_OF(list), list);
	yard_run(&y, 30 * MINUTE);
	/* One is ours by its tag, and nobody's: it is shown, and kept. */
	CHECK(seen(&y)->orphan_count == 1 && seen(&y)->orphans.n == 1);
	o = seen(&y)->orphans.at;
	CHECK(o && strcmp(o->provider_id, "t-4") == 0 && !o->object_id);
	yard_close(&y);
}

/* What was an orphan stays one while nobody can say that it is not. */
static void lists_of_things_that_fail_change_nothing(void)
{
	static const struct thing orphan = {
		.kind = THING_VOLUME, .id = "t-1", .ours = NOBODY};
	struct yard y;

	herd_open(&y, WINDOW, 1);
	be_odd(&y);
	things.list = list_said;
	say(1, &orphan);
	yard_run(&y, 30 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	failing = true;
	yard_run(&y, 10 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1);
	/* What was found before it failed is as unknown as the rest; machines
	 * are not. */
	yard_launch(&y, NOBODY, DISK_INSTALLATION);
	forever = true;
	failing = false;
	for (int n = 0; n < 30; n++)
		yard_run(&y, 10 * SECOND);
	CHECK(seen(&y)->orphan_count == 2);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	say(0, &orphan);
	yard_run(&y, 30 * MINUTE);
	CHECK(seen(&y)->orphan_count == 1 && seen(&y)->orphans.n == 1);
	yard_close(&y);
}

static unsigned removed;

static int count_removal(struct provider *p, const struct backing_id *id,
			 struct err *err)
{
	(void)p;
	(void)id;
	(void)err;
	removed++;
	return 0;
}

/* It is looked for once more: only what is an orphan still is removed. */
static void a_thing_is_looked_for_once_more_before_it_goes(void)
{
	static const struct thing orphan = {.kind = THING_VOLUME,
					    .id = "t-1",
					    .ours = NOBODY,
					    .created_at = 1};
	static struct volume_ops volumes;

	volumes = *sim_driver.volumes;
	volumes.remove = count_removal;
	for (int how = THE_SAME; how <= WITHOUT_END; how++) {
		struct yard y;

		herd_open(&y, WINDOW, 1);
		yard_remove_orphans(&y, 60);
		be_odd(&y);
		driver.volumes = &volumes;
		things.list = list_said;
		say(1, &orphan);
		removed = 0;
		/* Until it is known, and may go. */
		for (int n = 0; n < 600 && !seen(&y)->orphan_count; n++)
			yard_run(&y, SECOND);
		CHECK(seen(&y)->orphan_count == 1 && !removed);
		n_lists = 0;
		second = how;
		for (int n = 0; n < 150 && n_lists < 2; n++)
			yard_run(&y, SECOND);
		CHECK(n_lists == 2);
		CHECK(removed == (how == THE_SAME));
		yard_close(&y);
	}
}

int main(void)
{
	RUN(things_that_make_no_sense_are_passed_over);
	RUN(lists_of_things_that_fail_change_nothing);
	RUN(a_thing_is_looked_for_once_more_before_it_goes);
	RUN(what_does_not_say_how_old_it_is_is_as_old_as_it_is_known);
	RUN(what_is_listed_twice_is_there_once);
	RUN(a_list_without_an_end_is_given_up);
	RUN(a_crowd_is_counted_and_some_of_it_shown);
	RUN(an_orphan_that_cannot_be_removed_stays_shown);
	RUN(many_orphans_go_a_few_at_a_time);
	RUN(a_region_that_goes_during_a_sweep_is_left_alone);
	return test_done();
}

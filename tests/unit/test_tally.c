/* Instances by state, and how long they took, kept beside the store. */
#include <string.h>

#include "base/buf.h"
#include "daemon/tally.h"
#include "model/project.h"
#include "test.h"

static struct tally t;

static void reset(void)
{
	t = (struct tally){0};
}

static struct instance make(int state, int64_t launched_at)
{
	return (struct instance){
		.uid = "0190c1a0-0000-7000-8000-000000000001",
		.meta = {.created_at = 1000},
		.status = {.state = state, .launched_at = launched_at},
	};
}

static void replace(const struct instance *old, const struct instance *new)
{
	tally_observe(&t, &instance_kind, old, -1);
	tally_observe(&t, &instance_kind, new, 1);
}

static bool tells(const char *text)
{
	struct buf b = BUF_INIT((size_t)1 << 16);
	bool found;

	tally_write(&t, &b);
	found = strstr(buf_str(&b), text) != NULL;
	buf_release(&b);
	return found;
}

static void instances_are_counted_by_state(void)
{
	struct instance pending = make(INSTANCE_PENDING, 0);
	struct instance running = make(INSTANCE_RUNNING, 1800);

	reset();
	tally_observe(&t, &instance_kind, &pending, 1);
	CHECK(tells("muster_instances{state=\"pending\"} 1\n"));
	replace(&pending, &running);
	CHECK(tells("muster_instances{state=\"pending\"} 0\n"));
	CHECK(tells("muster_instances{state=\"running\"} 1\n"));
	tally_observe(&t, &instance_kind, &running, -1);
	CHECK(tells("muster_instances{state=\"running\"} 0\n"));
}

static void a_launch_is_timed_once(void)
{
	struct instance pending = make(INSTANCE_PENDING, 0);
	struct instance running = make(INSTANCE_RUNNING, 1800);
	struct instance stopped = make(INSTANCE_STOPPED, 1800);

	reset();
	tally_observe(&t, &instance_kind, &pending, 1);
	replace(&pending, &running);
	replace(&running, &stopped);
	replace(&stopped, &running);
	CHECK(tells("launch_seconds_bucket{le=\"0.5\"} 0\n"));
	CHECK(tells("launch_seconds_bucket{le=\"1\"} 1\n"));
	CHECK(tells("launch_seconds_bucket{le=\"+Inf\"} 1\n"));
	CHECK(tells("launch_seconds_sum 0.800\n"));
}

static void what_ran_before_the_start_is_not_timed(void)
{
	struct instance running = make(INSTANCE_RUNNING, 1800);

	reset();
	tally_observe(&t, &instance_kind, &running, 1);
	CHECK(tells("launch_seconds_count 0\n"));
}

static void changes_and_reasons_are_counted(void)
{
	struct instance one = make(INSTANCE_PENDING, 0);

	reset();
	one.status.change.action = CHANGE_REBUILD;
	one.status.reason.code = "capacity";
	tally_observe(&t, &instance_kind, &one, 1);
	CHECK(tells("muster_instances_changing 1\n"));
	CHECK(tells("muster_instances_waiting 1\n"));
	tally_observe(&t, &instance_kind, &one, -1);
	CHECK(tells("muster_instances_changing 0\n"));
}

static void other_kinds_are_not_looked_at(void)
{
	struct project p = {0};

	reset();
	tally_observe(&t, &project_kind, &p, 1);
	CHECK(tells("muster_instances{state=\"pending\"} 0\n"));
}

int main(void)
{
	RUN(instances_are_counted_by_state);
	RUN(a_launch_is_timed_once);
	RUN(what_ran_before_the_start_is_not_timed);
	RUN(changes_and_reasons_are_counted);
	RUN(other_kinds_are_not_looked_at);
	return test_done();
}

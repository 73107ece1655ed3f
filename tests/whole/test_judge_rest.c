/* test_judge_rest - what must not be so once everything has come to rest, and
 * which the judge must find. */
#include "store/memory.h"
#include "verdict.h"

static void an_instance_that_waits_for_ever_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_STUCK, "instance web is pending");
}

static void a_deletion_that_does_not_end_is_found(void)
{
	struct pair p = pair_running;

	p.state = "terminating";
	p.deleted = "2026-01-01T00:02:00.000Z";
	bench_open(&b);
	bench_launch(&b);
	bench_pair(&b, &p);
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_STUCK, "does not end");
}

static void a_machine_that_is_gone_behind_our_back_is_found(void)
{
	bench_open(&b);
	bench_launch(&b);
	bench_meddle(&b, "vanish");
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_LOST, "its machine is gone");
}

static void a_machine_that_is_off_and_wanted_on_is_found(void)
{
	bench_open(&b);
	bench_launch(&b);
	bench_meddle(&b, "halt");
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_OTHER, "another state than is wanted");
}

static void a_stray_that_nobody_found_is_found(void)
{
	bench_open(&b);
	bench_stray(&b, STRANGER, DISK_INSTALLATION);
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_LOST, "was not found");
	bench_open(&b);
	bench_stray(&b, STRANGER, DISK_INSTALLATION);
	bench_region(&b, "report", 60000);
	judge_rest(b.j, b.cloud, bench_now());
	right();
}

/* A second machine with its server's tag; the server's status says TOLD. */
static void rest_with_two(const char *told)
{
	struct pair p = pair_running;

	p.told = told;
	bench_open(&b);
	bench_launch(&b);
	bench_pair(&b, &p);
	bench_stray(&b, b.server, DISK_INSTALLATION);
	judge_rest(b.j, b.cloud, bench_now());
}

static void two_machines_are_right_once_an_operator_is_told(void)
{
	rest_with_two(NULL);
	found(JUDGE_LOST, "was not found");
	rest_with_two(",\"several\":true");
	found(JUDGE_LOST, "was not found");
	rest_with_two(",\"reason\":{\"waitsFor\":\"operator\"}");
	found(JUDGE_LOST, "was not found");
	rest_with_two(",\"several\":true,"
		      "\"reason\":{\"waitsFor\":\"operator\"}");
	right();
}

int main(void)
{
	RUN(an_instance_that_waits_for_ever_is_found);
	RUN(a_deletion_that_does_not_end_is_found);
	RUN(a_machine_that_is_gone_behind_our_back_is_found);
	RUN(a_machine_that_is_off_and_wanted_on_is_found);
	RUN(a_stray_that_nobody_found_is_found);
	RUN(two_machines_are_right_once_an_operator_is_told);
	return test_done();
}

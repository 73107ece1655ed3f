/* test_judge - histories that are wrong in one thing each, which the judge must
 * find; and some that are right. */
#include <string.h>

#include "bench.h"
#include "model/server.h"
#include "provider/sim_place.h"
#include "store/memory.h"
#include "test.h"

static struct bench b;

#define DELETED "2026-01-01T00:02:00.000Z"

static void a_life_as_it_should_be_is_right(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	CHECK(acquitted(&b));
	judge_rest(b.j, b.cloud, bench_now());
	CHECK(acquitted(&b));
	p.state = "terminating";
	p.deleted = DELETED;
	bench_pair(&b, &p);
	bench_call(&b, SIM_TERMINATE, NULL);
	bench_drop(&b, "server", b.server);
	bench_drop(&b, "allocation", b.allocation);
	bench_drop(&b, "instance", b.id);
	bench_row(&b);
	judge_rest(b.j, b.cloud, bench_now());
	CHECK(acquitted(&b));
	bench_close(&b);
}

static void an_instance_without_allocation_is_found(void)
{
	bench_open(&b);
	bench_pair(&b, &pair_new);
	CHECK(condemned(&b, JUDGE_QUOTA, "is not counted"));
	bench_close(&b);
}

static void a_machine_without_intent_is_found(void)
{
	bench_open(&b);
	bench_make(&b, b.server, DISK_INSTALLATION, b.token);
	CHECK(condemned(&b, JUDGE_LOST, "did not intend it"));
	bench_close(&b);
}

int main(void)
{
	RUN(a_life_as_it_should_be_is_right);
	RUN(an_instance_without_allocation_is_found);
	RUN(a_machine_without_intent_is_found);
	return test_done();
}

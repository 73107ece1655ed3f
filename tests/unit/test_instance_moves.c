#include "model/instance.h"

#include "test.h"

/* Every pair, a line a state before: what may follow, in the order of the enum. */
static const struct {
	int from;
	const char *to; /* y or n: pending, running, stopping, … */
} rows[] = {
	{INSTANCE_PENDING, "yyyyyyyy"},     {INSTANCE_RUNNING, "yyyyyyyy"},
	{INSTANCE_STOPPING, "yyyyyyyy"},    {INSTANCE_STOPPED, "yynyyyyy"},
	{INSTANCE_TERMINATING, "ynnnyyyn"}, {INSTANCE_TERMINATED, "ynnnyyyn"},
	{INSTANCE_FAILED, "yyyyyyyy"},      {INSTANCE_UNKNOWN, "yyyyyyyy"},
};

static void every_state_has_those_that_may_follow_it(void)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int to = 1; instance_state_names[to]; to++)
			if (instance_may_become(rows[i].from, to) !=
			    (rows[i].to[to - 1] == 'y'))
				test_check(false, instance_state_names[to],
					   instance_state_names[rows[i].from],
					   to);
	CHECK(strlen(rows[0].to) == COUNT_OF(rows));
}

static void one_that_leaves_does_not_run_again(void)
{
	CHECK(!instance_may_become(INSTANCE_TERMINATING, INSTANCE_RUNNING));
	CHECK(!instance_may_become(INSTANCE_TERMINATED, INSTANCE_RUNNING));
	CHECK(!instance_may_become(INSTANCE_TERMINATED, INSTANCE_UNKNOWN));
}

static void the_first_state_is_pending(void)
{
	CHECK(instance_may_become(0, INSTANCE_PENDING));
	CHECK(!instance_may_become(0, INSTANCE_RUNNING));
}

int main(void)
{
	RUN(every_state_has_those_that_may_follow_it);
	RUN(one_that_leaves_does_not_run_again);
	RUN(the_first_state_is_pending);
	return test_done();
}

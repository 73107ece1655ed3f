#include "model/instance.h"

#include "base/attr.h"
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

static void an_alternative_says_only_what_is_other(void)
{
	static struct alternative list[] = {{.flavor_id = "large"},
					    {.zone = "b"},
					    {.market = MARKET_SPOT},
					    {"huge", "c", MARKET_SPOT}};
	static const struct alternative want[] = {
		{"small", "a", MARKET_ON_DEMAND},
		{"large", "a", MARKET_ON_DEMAND},
		{"small", "b", MARKET_ON_DEMAND},
		{"small", "a", MARKET_SPOT},
		{"huge", "c", MARKET_SPOT}};
	struct instance i = {.spec = {.flavor_id = "small",
				      .zone = "a",
				      .market = MARKET_ON_DEMAND,
				      .alternatives = {list, COUNT_OF(list)}}};
	struct alternative got;

	for (size_t n = 0; n < COUNT_OF(want); n++) {
		CHECK(instance_offering(&i, n, &got));
		CHECK_STR(got.flavor_id, want[n].flavor_id);
		CHECK_STR(got.zone, want[n].zone);
		CHECK(got.market == want[n].market);
	}
	CHECK(!instance_offering(&i, COUNT_OF(want), &got));
}

static void a_root_disk_is_as_asked_for_or_as_it_comes(void)
{
	struct flavor f = {.root_disk.size_gib = 10};
	struct instance i = {.spec.root_disk.size_gib = FIELD_NONE};

	CHECK(instance_root_disk(&i, &f) == 10);
	i.spec.root_disk.size_gib = 40;
	CHECK(instance_root_disk(&i, &f) == 40);
}

static void one_is_launched_that_has_a_machine_or_had_one(void)
{
	struct instance i = {0};

	CHECK(!instance_was_launched(&i));
	i.status.launched_at = 1;
	CHECK(instance_was_launched(&i));
	i = (struct instance){.status.provider_id = "m-1"};
	CHECK(instance_was_launched(&i));
}

int main(void)
{
	RUN(every_state_has_those_that_may_follow_it);
	RUN(one_that_leaves_does_not_run_again);
	RUN(the_first_state_is_pending);
	RUN(an_alternative_says_only_what_is_other);
	RUN(a_root_disk_is_as_asked_for_or_as_it_comes);
	RUN(one_is_launched_that_has_a_machine_or_had_one);
	return test_done();
}

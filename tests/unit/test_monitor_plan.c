/* test_monitor_plan - what a list of machines means, case by case. */
#include "reconcile/monitor_plan.h"
#include "test.h"

#define NOW 1000000000

static const struct {
	const char *name;
	int64_t before;
	bool moving;
	uint32_t poll_ms;
	int64_t most, took, wait;
} paces[] = {
	{"the first is soon", 0, false, 1000, 60000, 10, 5000},
	{"it slows down", 5000, false, 1000, 60000, 10, 10000},
	{"but not for ever", 40000, false, 1000, 60000, 10, 60000},
	{"nor beyond the longest", 60000, false, 1000, 60000, 10, 60000},
	{"something happens", 60000, true, 1000, 60000, 10, 5000},
	{"a slow provider", 60000, true, 15000, 60000, 10, 15000},
	{"slower than is wanted", 15000, false, 15000, 5000, 10, 15000},
	{"a long list", 5000, true, 1000, 60000, 30000, 30000},
};

static void the_pace_follows_what_happens(void)
{
	for (size_t i = 0; i < COUNT_OF(paces); i++)
		test_check(monitor_pace(paces[i].before, paces[i].moving,
					paces[i].poll_ms, paces[i].most,
					paces[i].took) == paces[i].wait,
			   paces[i].name, __FILE__, __LINE__);
}

static void it_is_stale_after_a_while(void)
{
	CHECK(monitor_stale_at(NOW, 60000) == NOW + 300000);
	CHECK(monitor_stale_at(NOW, 3600000) == NOW + 3 * 3600000LL);
}

static const struct {
	const char *name;
	size_t missing, of, accepted;
	bool trips;
} trips[] = {
	{"none", 0, 0, 0, false},
	{"three of three", 3, 3, 0, false},
	{"four of four", 4, 4, 0, true},
	{"four of forty", 4, 40, 0, false},
	{"five of forty", 5, 40, 0, true},
	{"a tenth", 1000, 10000, 0, false},
	{"more than a tenth", 1001, 10000, 0, true},
	{"all, and it is accepted", 10000, 10000, 10000, false},
	{"more than is accepted", 10000, 10000, 9999, true},
};

static void too_many_are_not_believed(void)
{
	for (size_t i = 0; i < COUNT_OF(trips); i++)
		test_check(monitor_trips(trips[i].missing, trips[i].of,
					 trips[i].accepted) == trips[i].trips,
			   trips[i].name, __FILE__, __LINE__);
}

/* How a server differs from one that has been running for long. */
static const struct {
	const char *name;
	int phase, state;
	int age, answered; /* seconds; 0: an hour */
	bool deleted, changing, backs_off, no_id, alone;
	bool judges;
} judged[] = {
	{"one that runs", .judges = true},
	{"one that is off", .state = INSTANCE_STOPPED, .judges = true},
	{"one that failed", .state = INSTANCE_FAILED, .judges = true},
	{"one of which nothing is known", .state = INSTANCE_UNKNOWN,
	 .judges = true},
	{"one that boots", .state = INSTANCE_PENDING},
	{"one that stops", .state = INSTANCE_STOPPING},
	{"one that is going", .state = INSTANCE_TERMINATING},
	{"one that is to go", .phase = SERVER_LEAVING},
	{"one that is to be", .phase = SERVER_INTENDED, .no_id = true},
	{"one that is gone", .phase = SERVER_GONE},
	{"one that was just written", .age = 9},
	{"one that was just made", .answered = 9},
	{"one that was made a while ago", .age = 11, .answered = 11,
	 .judges = true},
	{"one that is being deleted", .deleted = true},
	{"one that is being changed", .changing = true},
	{"one that is tried again", .backs_off = true},
	{"one without an id", .no_id = true},
	{"one without an instance", .alone = true},
};

static void a_list_says_nothing_of_what_is_younger(void)
{
	const struct provider_facts facts = {.consistency_ms = 10000};

	for (size_t n = 0; n < COUNT_OF(judged); n++) {
		int64_t age = judged[n].age ? judged[n].age : 3600;
		int64_t answered =
			judged[n].answered ? judged[n].answered : 3600;
		struct instance i = {
			.meta.deleted_at = judged[n].deleted ? NOW : 0,
			.status.change.action =
				judged[n].changing ? CHANGE_REBOOT : 0};
		struct server s = {
			.meta.updated_at = NOW - 1000 * age,
			.status = {.phase = judged[n].phase ? judged[n].phase
							    : SERVER_LAUNCHED,
				   .state = judged[n].state ? judged[n].state
							    : INSTANCE_RUNNING,
				   .provider_id = judged[n].no_id ? NULL : "m",
				   .answered_at = NOW - 1000 * answered,
				   .reason.retry_at =
					   judged[n].backs_off ? NOW : 0}};

		test_check(monitor_judges(judged[n].alone ? NULL : &i, &s,
					  &facts, NOW) == judged[n].judges,
			   judged[n].name, __FILE__, __LINE__);
	}
}

static void what_is_no_servers_is_a_stray(void)
{
	struct server s = {.status.phase = SERVER_LAUNCHED,
			   .status.provider_id = "m"};

	CHECK(monitor_is_stray(NULL, "m"));
	CHECK(!monitor_is_stray(&s, "m"));
	CHECK(monitor_is_stray(&s, "n"));
	s.status.phase = SERVER_LEAVING;
	CHECK(!monitor_is_stray(&s, "m"));
	s.status.phase = SERVER_GONE;
	CHECK(monitor_is_stray(&s, "m"));
	s.status.phase = SERVER_INTENDED;
	s.status.provider_id = NULL; /* it may be what the launch made */
	CHECK(!monitor_is_stray(&s, "m"));
}

static void what_is_younger_than_a_launch_is_no_orphan(void)
{
	const struct provider_facts f = {.launch_ms = 60000,
					 .consistency_ms = 10000};

	CHECK(!monitor_is_orphan(&f, NOW, NOW + 69999));
	CHECK(monitor_is_orphan(&f, NOW, NOW + 70000));
}

static void an_orphan_is_removed_only_where_that_is_wanted(void)
{
	struct region r = {.spec.orphan_policy = ORPHANS_REMOVE};
	const struct orphan o = {.quarantined_until = NOW};
	const struct server s = {.status.phase = SERVER_GONE};

	CHECK(monitor_removes(&r, &o, NULL, NOW));
	CHECK(!monitor_removes(&r, &o, NULL, NOW - 1));
	CHECK(!monitor_removes(&r, &o, &s, NOW));
	r.spec.orphan_policy = ORPHANS_REPORT;
	CHECK(!monitor_removes(&r, &o, NULL, NOW));
}

static void what_is_on_its_way_moves(void)
{
	struct server s = {.status = {.phase = SERVER_LAUNCHED,
				      .state = INSTANCE_RUNNING}};

	CHECK(!monitor_moves(&s));
	s.status.state = INSTANCE_STOPPING;
	CHECK(monitor_moves(&s));
	s.status.phase = SERVER_LEAVING;
	CHECK(monitor_moves(&s));
	s.status.phase = SERVER_GONE;
	CHECK(!monitor_moves(&s));
	s.status.phase = SERVER_INTENDED;
	CHECK(!monitor_moves(&s));
	s.attempt.called_at = NOW;
	CHECK(monitor_moves(&s));
}

int main(void)
{
	RUN(the_pace_follows_what_happens);
	RUN(it_is_stale_after_a_while);
	RUN(too_many_are_not_believed);
	RUN(a_list_says_nothing_of_what_is_younger);
	RUN(what_is_no_servers_is_a_stray);
	RUN(what_is_younger_than_a_launch_is_no_orphan);
	RUN(an_orphan_is_removed_only_where_that_is_wanted);
	RUN(what_is_on_its_way_moves);
	return test_done();
}

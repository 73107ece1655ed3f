/* test_machine_plan - how a machine comes and goes, case by case. */
#include <stdlib.h>

#include "machine_case.h"
#include "test.h"

static const struct row launching[] = {
	{"an intent is launched", {INTENDED}, {MACHINE_LAUNCH}},
	{"not while it is paused", {INTENDED, .paused = true}, {MACHINE_REST}},
	{"nor while the region is",
	 {INTENDED, .region_paused = true},
	 {MACHINE_REST}},
	{"nor while the region is not open",
	 {INTENDED, .closed = true},
	 {MACHINE_REST}},
	{"what is missing is waited for",
	 {INTENDED, .missing = "network"},
	 {MACHINE_PARK}},
	{"and said once",
	 {INTENDED, .missing = "network", .code = ERR_UNAVAILABLE,
	  .message = "network"},
	 {MACHINE_REST}},
	{"until something else is",
	 {INTENDED, .missing = "image", .code = ERR_UNAVAILABLE,
	  .message = "network"},
	 {MACHINE_PARK}},
	{"and then it is launched",
	 {INTENDED, .code = ERR_UNAVAILABLE, .message = "network"},
	 {MACHINE_LAUNCH}},
	{"an answer that was lost: again, with the same token",
	 {INTENDED, .called = 1},
	 {MACHINE_LAUNCH}},
	{"without tokens not before the window has passed",
	 {INTENDED, .called = 1, .no_tokens = true},
	 {MACHINE_REST, .until = 4}},
	{"but then",
	 {INTENDED, .called = 5, .no_tokens = true},
	 {MACHINE_LAUNCH}},
	{"one that failed backs off",
	 {INTENDED, BACKING_OFF, .called = 1},
	 {MACHINE_REST, .until = 7}},
	{"and is tried again when it is time",
	 {INTENDED, .code = ERR_UNAVAILABLE, .retry = -1, .waits = WAITS_TIME,
	  .called = 9},
	 {MACHINE_LAUNCH}},
	{"one that was refused is tried anew",
	 {INTENDED, .spent = true},
	 {MACHINE_TRY}},
	{"but not before it is time",
	 {INTENDED, .spent = true, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"nor while it waits for a change",
	 {INTENDED, .spent = true, PARKED(WAITS_CHANGE)},
	 {MACHINE_REST}},
	{"nor for an operator",
	 {INTENDED, .spent = true, PARKED(WAITS_OPERATOR)},
	 {MACHINE_REST}},
	{"time may take it up, too",
	 {INTENDED, .spent = true, PARKED(WAITS_OPERATOR), .retry = -1},
	 {MACHINE_TRY}},
	{"a touch takes it up again",
	 {INTENDED, .spent = true, PARKED(WAITS_CHANGE), .touched = true},
	 {MACHINE_TRY}},
	{"so does one of the region, for an operator's",
	 {INTENDED, .spent = true, PARKED(WAITS_OPERATOR),
	  .region_touched = true, .age = 60},
	 {MACHINE_TRY}},
	{"and not one just before it was parked",
	 {INTENDED, .spent = true, PARKED(WAITS_OPERATOR),
	  .region_touched = true, .age = 1},
	 {MACHINE_REST}},
	{"but not for the user's",
	 {INTENDED, .spent = true, PARKED(WAITS_CHANGE), .region_touched = true,
	  .age = 60},
	 {MACHINE_REST}},
	{"an offering that is sold out is not asked for",
	 {INTENDED, .alternatives = 2, .short_of = 1},
	 {MACHINE_TRY, .offering = 1}},
	{"the first that is not is taken",
	 {INTENDED, .alternatives = 2, .short_of = 3},
	 {MACHINE_TRY, .offering = 2}},
	{"all of them: until the first may be to be had",
	 {INTENDED, .alternatives = 2, .short_of = 7},
	 {MACHINE_PARK, .until = 60, .waits = WAITS_TIME}},
	{"whichever of them that is",
	 {INTENDED, .alternatives = 2, .short_of = 7, .backwards = true},
	 {MACHINE_PARK, .until = 60, .waits = WAITS_TIME}},
	{"one that says nothing to the point is launched",
	 {INTENDED, .offering = 2, .no_flavor = true},
	 {MACHINE_LAUNCH}},
	{"the same with nothing to choose from",
	 {INTENDED, .short_of = 1},
	 {MACHINE_PARK, .until = 60, .waits = WAITS_TIME}},
	{"a touch has it look again for what is to be had",
	 {INTENDED, .spent = true, .code = ERR_CAPACITY, .retry = 7,
	  .waits = WAITS_TIME, .touched = true, .alternatives = 1,
	  .short_of = 1},
	 {MACHINE_TRY, .offering = 1}},
	{"but not one that backs off",
	 {INTENDED, .spent = true, BACKING_OFF, .touched = true},
	 {MACHINE_REST, .until = 7}},
	{"one that may have been asked for is not changed for that",
	 {INTENDED, .alternatives = 2, .short_of = 1, .called = 60},
	 {MACHINE_LAUNCH}},
	{"one that was refused goes to the next",
	 {INTENDED, .alternatives = 1, .short_of = 1, .spent = true,
	  .called = 1},
	 {MACHINE_TRY, .offering = 1}},
	{"back to the first when it may be had again",
	 {INTENDED, .alternatives = 1, .offering = 1, .short_of = 2,
	  .spent = true},
	 {MACHINE_TRY}},
	{"a flavor that is not there is waited for",
	 {INTENDED, .spent = true, .no_flavor = true},
	 {MACHINE_PARK}},
	{"a change before the launch makes it another try",
	 {INTENDED, .action = CHANGE_RESIZE},
	 {MACHINE_TRY}},
	{"which waits when all is sold out",
	 {INTENDED, .action = CHANGE_RESIZE, .short_of = 1},
	 {MACHINE_PARK, .until = 60, .waits = WAITS_TIME}},
	{"and says so once",
	 {INTENDED, .action = CHANGE_RESIZE, .short_of = 1, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"even when it is parked",
	 {INTENDED, .action = CHANGE_REBUILD, .spent = true,
	  PARKED(WAITS_CHANGE)},
	 {MACHINE_TRY}},
	{"but what may have been launched is given up first",
	 {INTENDED, .action = CHANGE_REPLACE, .called = 1},
	 {MACHINE_GIVE_UP}},
	{"unless it was refused",
	 {INTENDED, .action = CHANGE_REPLACE, .called = 1, .spent = true},
	 {MACHINE_TRY}},
	{"there is nothing to reboot yet",
	 {INTENDED, .action = CHANGE_REBOOT},
	 {MACHINE_DROP_CHANGE}},
	{"the launch of a change goes on",
	 {INTENDED, .action = CHANGE_REPLACE, .step = CHANGE_STARTING},
	 {MACHINE_LAUNCH}},
	{"an instance without a server gets one",
	 {.none = true, .unnamed = true},
	 {MACHINE_NEXT}},
	{"when it is known how large",
	 {.none = true, .unnamed = true, .no_flavor = true},
	 {MACHINE_REST}},
	{"one whose server is lost is left alone",
	 {.none = true},
	 {MACHINE_REST}},
};

static const struct row booting[] = {
	{"a machine that boots is looked at",
	 {BOOTING, .deadline = 50},
	 {MACHINE_DESCRIBE}},
	{"not at once",
	 {BOOTING, .age = 1, .deadline = 50},
	 {MACHINE_REST, .until = 3}},
	{"after a failed look not before it is time",
	 {BOOTING, .deadline = 50, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"it is given up when it takes too long",
	 {BOOTING, .deadline = -1},
	 {MACHINE_GIVE_UP, .refused = true}},
	{"even while looking fails",
	 {BOOTING, .deadline = -1, BACKING_OFF},
	 {MACHINE_GIVE_UP, .refused = true}},
	{"and when it failed",
	 {NEW, .state = INSTANCE_FAILED, .deadline = 50},
	 {MACHINE_GIVE_UP, .refused = true}},
	{"not while it is paused",
	 {NEW, .state = INSTANCE_FAILED, .paused = true},
	 {MACHINE_REST}},
	{"not when what it does is not known",
	 {NEW, .state = INSTANCE_UNKNOWN, .deadline = 50},
	 {MACHINE_DESCRIBE}},
	{"one that vanished is gone",
	 {NEW, .state = INSTANCE_TERMINATED},
	 {MACHINE_GONE}},
	{"one that is vanishing is looked at",
	 {NEW, .state = INSTANCE_TERMINATING, .deadline = 50},
	 {MACHINE_DESCRIBE}},
	{"a try that came to nothing is followed by another",
	 {GONE, .never_ran = true, .refused = 1},
	 {MACHINE_TRY}},
	{"with what can be had",
	 {GONE, .never_ran = true, .refused = 1, .alternatives = 1,
	  .short_of = 1},
	 {MACHINE_TRY, .offering = 1}},
	{"not before it is time",
	 {GONE, .never_ran = true, .refused = 1, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"not for ever",
	 {GONE, .never_ran = true, .refused = 3},
	 {MACHINE_PARK, .waits = WAITS_OPERATOR}},
	{"then it stays",
	 {GONE, .never_ran = true, .refused = 3, PARKED(WAITS_OPERATOR)},
	 {MACHINE_REST}},
	{"until it is touched",
	 {GONE, .never_ran = true, .refused = 3, PARKED(WAITS_OPERATOR),
	  .touched = true},
	 {MACHINE_TRY}},
	{"or the region is",
	 {GONE, .never_ran = true, .refused = 3, PARKED(WAITS_OPERATOR),
	  .region_touched = true, .age = 9},
	 {MACHINE_TRY}},
	{"one that ran is not replaced",
	 {GONE},
	 {MACHINE_PARK, .waits = WAITS_CHANGE}},
	{"and that is said once",
	 {GONE, PARKED(WAITS_CHANGE), .touched = true},
	 {MACHINE_REST}},
	{"unless a change says so",
	 {GONE, .action = CHANGE_REPLACE, PARKED(WAITS_CHANGE)},
	 {MACHINE_NEXT}},
	{"a rebuild says so, too",
	 {GONE, .action = CHANGE_REBUILD},
	 {MACHINE_NEXT}},
	{"however far it had come",
	 {GONE, .action = CHANGE_REBUILD, .step = CHANGE_STARTING},
	 {MACHINE_NEXT}},
	{"when it is known how large",
	 {GONE, .action = CHANGE_REBUILD, .no_flavor = true},
	 {MACHINE_PARK}},
	{"which is waited for, and said once",
	 {GONE, .action = CHANGE_REBUILD, .no_flavor = true,
	  .code = ERR_UNAVAILABLE, .message = "waits for its flavor"},
	 {MACHINE_REST}},
	{"a resize that was under way is over",
	 {GONE, .action = CHANGE_RESIZE, .step = CHANGE_STARTING},
	 {MACHINE_DROP_CHANGE}},
	{"a resize does not",
	 {GONE, .action = CHANGE_RESIZE},
	 {MACHINE_DROP_CHANGE}},
	{"nor does a reboot",
	 {GONE, .action = CHANGE_REBOOT},
	 {MACHINE_DROP_CHANGE}},
	{"a change of one that never ran is another try",
	 {GONE, .never_ran = true, .action = CHANGE_RESIZE},
	 {MACHINE_TRY}},
	{"of a replaced one, too",
	 {GONE, .never_ran = true, .action = CHANGE_REPLACE,
	  .step = CHANGE_REMOVING},
	 {MACHINE_TRY}},
};

static const struct row leaving[] = {
	{"what was never launched just goes",
	 {INTENDED, .deleted = true},
	 {MACHINE_FINISH}},
	{"even when the region is not open",
	 {INTENDED, .deleted = true, .closed = true},
	 {MACHINE_FINISH}},
	{"what was refused, too",
	 {INTENDED, .deleted = true, .called = 1, .spent = true},
	 {MACHINE_FINISH}},
	{"what may have been is looked for",
	 {INTENDED, .deleted = true, .called = 5},
	 {MACHINE_FIND}},
	{"not before the window has passed",
	 {INTENDED, .deleted = true, .called = 1},
	 {MACHINE_REST, .until = 4}},
	{"though it was parked",
	 {INTENDED, .deleted = true, .called = 9, PARKED(WAITS_OPERATOR)},
	 {MACHINE_FIND}},
	{"one that runs is terminated", {.deleted = true}, {MACHINE_TERMINATE}},
	{"one that boots, too",
	 {BOOTING, .deleted = true, .deadline = 9},
	 {MACHINE_TERMINATE}},
	{"one that failed, too",
	 {.deleted = true, .state = INSTANCE_FAILED},
	 {MACHINE_TERMINATE}},
	{"whatever a change says",
	 {.deleted = true, .action = CHANGE_REBUILD},
	 {MACHINE_TERMINATE}},
	{"though it is paused",
	 {.deleted = true, .paused = true},
	 {MACHINE_TERMINATE}},
	{"not while the region is",
	 {.deleted = true, .region_paused = true},
	 {MACHINE_REST}},
	{"what was in the way before is forgotten",
	 {.deleted = true, BACKING_OFF},
	 {MACHINE_TERMINATE}},
	{"parked or not",
	 {.deleted = true, PARKED(WAITS_OPERATOR)},
	 {MACHINE_TERMINATE}},
	{"what is in the way now is waited for",
	 {LEAVING, .deleted = true, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"but nothing parks it",
	 {LEAVING, .deleted = true, PARKED(WAITS_OPERATOR)},
	 {MACHINE_TERMINATE}},
	{"volumes go first",
	 {.deleted = true, .volumes = 1, .attached = 1},
	 {MACHINE_DETACH, .volume = "v0"}},
	{"again",
	 {LEAVING, .deleted = true, .attached = 4, .code = ERR_TIMEOUT,
	  .failures = 4},
	 {MACHINE_DETACH, .volume = "v2"}},
	{"but not for ever",
	 {LEAVING, .deleted = true, .attached = 4, .code = ERR_TIMEOUT,
	  .failures = 5},
	 {MACHINE_TERMINATE}},
	{"though something else had failed before",
	 {.deleted = true, .attached = 1, .code = ERR_TIMEOUT, .failures = 9},
	 {MACHINE_DETACH, .volume = "v0"}},
	{"it is looked at until it is gone",
	 {LEAVING, .deleted = true, .state = INSTANCE_TERMINATING},
	 {MACHINE_DESCRIBE}},
	{"too long: once more",
	 {LEAVING, .deleted = true, .state = INSTANCE_TERMINATING,
	  .deadline = -1},
	 {MACHINE_TERMINATE}},
	{"not at once",
	 {LEAVING, .deleted = true, .state = INSTANCE_TERMINATING,
	  .deadline = 9, .age = 1},
	 {MACHINE_REST, .until = 3}},
	{"seen to be terminated",
	 {LEAVING, .deleted = true, .state = INSTANCE_TERMINATED},
	 {MACHINE_GONE}},
	{"and then the documents go",
	 {GONE, .deleted = true},
	 {MACHINE_FINISH}},
	{"one without a server, too",
	 {.none = true, .deleted = true},
	 {MACHINE_FINISH}},
	{"a try that is given up is terminated",
	 {LEAVING, .never_ran = true},
	 {MACHINE_TERMINATE}},
	{"looked for, when its id is not known",
	 {LEAVING, .never_ran = true, .no_id = true, .called = 9},
	 {MACHINE_FIND}},
	{"gone, when it was never asked for",
	 {LEAVING, .never_ran = true, .no_id = true},
	 {MACHINE_GONE}},
	{"it backs off",
	 {LEAVING, .never_ran = true, BACKING_OFF},
	 {MACHINE_REST, .until = 7}},
	{"several are an operator's",
	 {LEAVING, .never_ran = true, .no_id = true, .called = 9,
	  .several = true, PARKED(WAITS_OPERATOR)},
	 {MACHINE_REST}},
	{"looked for again when touched",
	 {LEAVING, .never_ran = true, .no_id = true, .called = 9,
	  .several = true, PARKED(WAITS_OPERATOR), .touched = true},
	 {MACHINE_FIND}},
};

static const struct row expiry[] = {
	{"it expires", {.expires = -1}, {MACHINE_EXPIRE}},
	{"whatever it does", {BOOTING, .expires = -1}, {MACHINE_EXPIRE}},
	{"not before its time", {.expires = 90}, {MACHINE_REST, .until = 90}},
	{"by the clock, also where it was put back",
	 {.expires = -1, .clock_behind = 31},
	 {MACHINE_REST, .until = 30}},
	{"which is waited for though something else is later",
	 {OFF, BACKING_OFF, .expires = 5},
	 {MACHINE_REST, .until = 5}},
	{"or earlier",
	 {OFF, BACKING_OFF, .expires = 50},
	 {MACHINE_REST, .until = 7}},
	{"not while it is protected",
	 {.expires = -1, .protected = true},
	 {MACHINE_REST}},
	{"not while it is paused",
	 {.expires = -1, .paused = true},
	 {MACHINE_REST}},
	{"but while the region is",
	 {.expires = -1, .region_paused = true},
	 {MACHINE_EXPIRE}},
	{"once", {.expires = -1, .deleted = true}, {MACHINE_TERMINATE}},
};

TABLE(a_machine_is_launched_once_and_only_when_it_can_be, launching)
TABLE(a_machine_that_never_ran_is_tried_again_but_not_for_ever, booting)
TABLE(deletion_ends_and_never_parks, leaving)
TABLE(expiry_begins_a_deletion, expiry)

/* Whatever is the case, something is planned that makes sense there. */
static void no_case_is_forgotten(void)
{
	size_t seen[MACHINE_DOS] = {0};

	for (unsigned n = 0; n < 4 * 8 * 6 * 6 * 64; n++) {
		struct given g = {
			.phase = (int)(n % 4) + 1,
			.state = (int)(n / 4 % 8) + 1,
			.action = (int)(n / 32 % 6),
			.step = (int)(n / 192 % 6),
			.deleted = n / 1152 & 1,
			.never_ran = n / 1152 & 2,
			.power = n / 1152 & 4 ? POWER_OFF : POWER_ON,
			.called = n / 1152 & 8 ? 9 : 0,
			.deadline = n / 1152 & 16 ? -1 : 0,
			.spent = n / 1152 & 32,
		};
		struct setup *x = calloc(1, sizeof(*x));
		struct machine_step step;

		case_set(x, &g);
		machine_plan(&x->v, &step);
		seen[step.what]++;
		if (g.deleted)
			CHECK(step.what == MACHINE_FINISH ||
			      step.what == MACHINE_TERMINATE ||
			      step.what == MACHINE_DESCRIBE ||
			      step.what == MACHINE_FIND ||
			      step.what == MACHINE_GONE);
		else if (step.what == MACHINE_TERMINATE ||
			 step.what == MACHINE_FIND)
			CHECK(g.phase == SERVER_LEAVING);
		else if (step.what == MACHINE_GIVE_UP && !g.never_ran)
			CHECK(g.action == CHANGE_REPLACE ||
			      g.phase == SERVER_INTENDED);
		else if (step.what == MACHINE_REBUILD)
			CHECK(g.action == CHANGE_REBUILD);
		if (machine_calls(step.what) && step.what != MACHINE_LAUNCH &&
		    step.what != MACHINE_FIND)
			CHECK(x->s.status.provider_id != NULL);
		free(x);
	}
	CHECK(seen[MACHINE_LAUNCH] && seen[MACHINE_TERMINATE] &&
	      seen[MACHINE_NEXT] && seen[MACHINE_REBUILD]);
}

static void looks_become_rarer(void)
{
	struct given g = {PENDING, .deadline = 60};
	struct setup *x = calloc(1, sizeof(*x));
	int64_t began, before = 0;

	case_set(x, &g);
	began = x->v.now;
	x->s.meta.updated_at = began;
	for (int n = 0; n < 10; n++) {
		int64_t again = machine_look_again(&x->v);

		CHECK(again - x->v.now >= before);
		CHECK(again - x->v.now <= MACHINE_POLL_MOST);
		before = again - x->v.now;
		x->v.now = again;
	}
	CHECK(before == MACHINE_POLL_MOST);
	free(x);
}

int main(void)
{
	RUN(a_machine_is_launched_once_and_only_when_it_can_be);
	RUN(a_machine_that_never_ran_is_tried_again_but_not_for_ever);
	RUN(deletion_ends_and_never_parks);
	RUN(expiry_begins_a_deletion);
	RUN(no_case_is_forgotten);
	RUN(looks_become_rarer);
	return test_done();
}

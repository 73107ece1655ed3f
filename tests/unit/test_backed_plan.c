#include "reconcile/backed_plan.h"

#include "base/attr.h"
#include "test.h"

#define NOW   1000000
#define AGO   (NOW - 5000)
#define LATER (NOW + 5000)

/* Something whose generation is 2, of which something was last seen a moment
 * ago, in a region that was changed long ago. */
static const struct plan_case {
	const char *name;
	int state;
	struct backed_step want;
	bool untold; /* the provider knows of generation 1 only */
	bool failed; /* and is tried again at: */
	int64_t retry_at;
	int64_t deadline, poll_at, region_changed_at, deleted_at;
	bool unreached, cannot, optional, lacks, used;
} cases[] = {
	{"new", BACKED_PENDING, {BACKED_ENSURE}, .untold = true},
	{"ready", BACKED_READY, {BACKED_REST}},
	{"ready, whatever happens to its region",
	 BACKED_READY,
	 {BACKED_REST},
	 .region_changed_at = NOW},
	{"ready, then changed", BACKED_READY, {BACKED_ENSURE}, .untold = true},
	{"the region was never reached",
	 BACKED_PENDING,
	 {BACKED_AWAIT_NEEDS},
	 .untold = true,
	 .unreached = true},
	{"something it needs is not ready",
	 BACKED_PENDING,
	 {BACKED_AWAIT_NEEDS},
	 .untold = true,
	 .lacks = true},
	{"the provider has no such things, and need not",
	 BACKED_PENDING,
	 {BACKED_ACCEPT},
	 .untold = true,
	 .cannot = true,
	 .optional = true},
	{"the provider cannot",
	 BACKED_PENDING,
	 {BACKED_REFUSE},
	 .untold = true,
	 .cannot = true},
	{"the provider cannot, as was told",
	 BACKED_FAILED,
	 {BACKED_STAY_PARKED},
	 .failed = true,
	 .cannot = true},
	{"parked, then its region was changed",
	 BACKED_FAILED,
	 {BACKED_ENSURE},
	 .failed = true,
	 .region_changed_at = NOW},
	{"being made, look later",
	 BACKED_CREATING,
	 {BACKED_WAIT, LATER},
	 .poll_at = LATER},
	{"being made, look now",
	 BACKED_CREATING,
	 {BACKED_ENSURE},
	 .poll_at = NOW},
	{"being made, changed meanwhile",
	 BACKED_CREATING,
	 {BACKED_ENSURE},
	 .untold = true,
	 .poll_at = LATER},
	{"being made for too long",
	 BACKED_CREATING,
	 {BACKED_GIVE_UP},
	 .deadline = NOW},
	{"not yet too long",
	 BACKED_CREATING,
	 {BACKED_ENSURE},
	 .deadline = NOW + 1},
	{"failed, again later",
	 BACKED_CREATING,
	 {BACKED_WAIT, LATER},
	 .failed = true,
	 .retry_at = LATER},
	{"failed, again now",
	 BACKED_CREATING,
	 {BACKED_ENSURE},
	 .failed = true,
	 .retry_at = NOW},
	{"failed, but changed since: at once",
	 BACKED_CREATING,
	 {BACKED_ENSURE},
	 .untold = true,
	 .failed = true,
	 .retry_at = LATER},
	{"parked", BACKED_FAILED, {BACKED_STAY_PARKED}, .failed = true},
	{"parked, then changed",
	 BACKED_FAILED,
	 {BACKED_ENSURE},
	 .untold = true,
	 .failed = true},
	{"a change of what was ready failed",
	 BACKED_READY,
	 {BACKED_WAIT, LATER},
	 .failed = true,
	 .retry_at = LATER},

	{"to be deleted", BACKED_DELETING, {BACKED_REMOVE}, .deleted_at = NOW},
	{"to be deleted, and in use",
	 BACKED_DELETING,
	 {BACKED_AWAIT_USERS},
	 .deleted_at = NOW,
	 .used = true},
	{"to be deleted, and was parked: not held up",
	 BACKED_DELETING,
	 {BACKED_REMOVE},
	 .deleted_at = NOW,
	 .failed = true},
	{"to be deleted, and had failed before: not held up",
	 BACKED_DELETING,
	 {BACKED_REMOVE},
	 .deleted_at = NOW,
	 .failed = true,
	 .retry_at = LATER},
	{"the deletion failed, again later",
	 BACKED_DELETING,
	 {BACKED_WAIT, LATER},
	 .deleted_at = AGO,
	 .failed = true,
	 .retry_at = LATER},
	{"the deletion failed, again now",
	 BACKED_DELETING,
	 {BACKED_REMOVE},
	 .deleted_at = AGO,
	 .failed = true,
	 .retry_at = NOW},
	{"a deletion never parks",
	 BACKED_DELETING,
	 {BACKED_REMOVE},
	 .deleted_at = AGO,
	 .failed = true},
	{"nothing can be there: the region was never reached",
	 BACKED_DELETING,
	 {BACKED_FORGET},
	 .deleted_at = NOW,
	 .unreached = true},
	{"nothing can be there: the provider has no such things",
	 BACKED_DELETING,
	 {BACKED_FORGET},
	 .deleted_at = NOW,
	 .cannot = true},
	{"and that waits for its users, too",
	 BACKED_DELETING,
	 {BACKED_AWAIT_USERS},
	 .deleted_at = NOW,
	 .cannot = true,
	 .used = true},
};

static struct backed_view view_of(const struct plan_case *c)
{
	struct backed_view v = {
		.status = {.state = c->state,
			   .observed_generation = c->untold ? 1 : 2,
			   .observed_at = AGO,
			   .deadline = c->deadline},
		.generation = 2,
		.deleted_at = c->deleted_at,
		.region_changed_at = c->region_changed_at,
		.reached = !c->unreached,
		.can = !c->cannot,
		.optional = c->optional,
		.lacks = c->lacks,
		.used = c->used,
		.poll_at = c->poll_at,
		.now = NOW,
	};

	if (c->failed)
		v.status.reason = (struct reason){.code = "unavailable",
						  .retry_at = c->retry_at};
	return v;
}

static void every_case_has_its_step(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct backed_view v = view_of(&cases[i]);
		struct backed_step s = backed_plan(&v);

		if (s.act == cases[i].want.act &&
		    s.until == cases[i].want.until)
			continue;
		CHECK(!"a case");
		printf("# %s: %d until %lld\n", cases[i].name, (int)s.act,
		       (long long)s.until);
	}
}

/* Whatever is the matter, a deletion goes on: something is called, awaited, or
 * waited for until a time. */
static void a_deletion_always_goes_on(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int used = 0; used < 2; used++) {
			struct backed_view v = view_of(&cases[i]);
			struct backed_step s;

			v.deleted_at = AGO;
			v.used = used;
			s = backed_plan(&v);
			CHECK(s.act >= BACKED_AWAIT_USERS ||
			      (s.act == BACKED_WAIT && s.until > NOW));
		}
}

int main(void)
{
	RUN(every_case_has_its_step);
	RUN(a_deletion_always_goes_on);
	return test_done();
}

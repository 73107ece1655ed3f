#include "reconcile/retry.h"

#include <string.h>

#include "base/attr.h"
#include "test.h"

#define NOW 1700000000000

static void waits_double_up_to_a_minute(void)
{
	static const int64_t most[] = {1000,  2000,  4000,  8000,
				       16000, 32000, 60000, 60000};
	struct random_seeded r;

	random_seed(&r, 1);
	for (int n = 0; n < 200; n++)
		for (size_t i = 0; i < COUNT_OF(most); i++) {
			int64_t wait = retry_wait((int64_t)i + 1, &r.base);

			CHECK(wait <= most[i] && wait >= most[i] * 3 / 4);
		}
	CHECK(retry_wait(1000000, &r.base) <= 60000);
}

static void those_who_failed_together_do_not_come_back_together(void)
{
	struct random_seeded r;
	int64_t first;
	int same = 0;

	random_seed(&r, 1);
	first = retry_wait(5, &r.base);
	for (int i = 0; i < 100; i++)
		same += retry_wait(5, &r.base) == first;
	CHECK(same < 5);
}

static const struct {
	const char *name;
	enum err_code code;
	enum err_scope scope;
	enum err_retry retry;
	uint32_t after;
	int waits_for;
	int64_t least; /* until it is tried again; 0: it is not */
} cases[] = {
	{"passes", ERR_UNAVAILABLE, ERR_SCOPE_REQUEST, ERR_RETRY_LATER, 0,
	 WAITS_TIME, 750},
	{"says when", ERR_RATE, ERR_SCOPE_ACCOUNT, ERR_RETRY_LATER, 30000,
	 WAITS_TIME, 30000},
	{"sold out", ERR_CAPACITY, ERR_SCOPE_FLAVOR, ERR_RETRY_ELSEWHERE, 0,
	 WAITS_TIME, 750},
	{"the request is wrong", ERR_INVALID, ERR_SCOPE_REQUEST,
	 ERR_RETRY_AFTER_CHANGE, 0, WAITS_CHANGE, 0},
	{"the object is in the way", ERR_CONFLICT, ERR_SCOPE_OBJECT,
	 ERR_RETRY_NEVER, 0, WAITS_CHANGE, 0},
	{"the account may not", ERR_FORBIDDEN, ERR_SCOPE_ACCOUNT,
	 ERR_RETRY_NEVER, 0, WAITS_OPERATOR, 0},
	{"the region cannot", ERR_UNSUPPORTED, ERR_SCOPE_REGION,
	 ERR_RETRY_NEVER, 0, WAITS_OPERATOR, 0},
};

static void says_what_it_waits_for(void)
{
	struct random_seeded r;
	struct arena a;

	random_seed(&r, 3);
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct reason reason, always;
		struct err err;

		err_set(&err, cases[i].code, "because");
		err.scope = cases[i].scope;
		err.retry = cases[i].retry;
		err.retry_after_ms = cases[i].after;
		reason = retry_reason(&err, 0, NOW, &r.base, &a);
		always = retry_always(&err, 4, NOW, &r.base, &a);
		CHECK(strcmp(reason.code, err_name(cases[i].code)) == 0);
		CHECK(reason.waits_for == cases[i].waits_for);
		CHECK(reason.failures == 1);
		CHECK(cases[i].least ? reason.retry_at >= NOW + cases[i].least
				     : !reason.retry_at);
		CHECK(always.waits_for == WAITS_TIME);
		CHECK(always.failures == 5 && always.retry_at > NOW + 10000);
		if (!test_ok)
			printf("# %s\n", cases[i].name);
	}
	arena_release(&a);
}

int main(void)
{
	RUN(waits_double_up_to_a_minute);
	RUN(those_who_failed_together_do_not_come_back_together);
	RUN(says_what_it_waits_for);
	return test_done();
}

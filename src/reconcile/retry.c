#include "reconcile/retry.h"

#define FIRST_MS 1000
#define MOST_MS  60000

int64_t retry_wait(int64_t failures, struct random *r)
{
	int64_t wait = FIRST_MS;

	for (int64_t i = 1; i < failures && wait < MOST_MS; i++)
		wait *= 2;
	if (wait > MOST_MS)
		wait = MOST_MS;
	return wait - (int64_t)random_below(r, (uint64_t)wait / 4 + 1);
}

struct reason retry_always(const struct err *err, int64_t failures, int64_t now,
			   struct random *r, struct arena *a)
{
	struct reason reason = reason_from(err, a);
	int64_t wait = retry_wait(failures + 1, r);

	if (err->retry_after_ms > wait)
		wait = err->retry_after_ms;
	reason.failures = failures + 1;
	reason.waits_for = WAITS_TIME;
	reason.retry_at = now + wait;
	return reason;
}

struct reason retry_reason(const struct err *err, int64_t failures, int64_t now,
			   struct random *r, struct arena *a)
{
	struct reason reason = retry_always(err, failures, now, r, a);

	if (err->retry == ERR_RETRY_LATER || err->retry == ERR_RETRY_ELSEWHERE)
		return reason;
	reason.retry_at = 0;
	reason.waits_for =
		err->scope <= ERR_SCOPE_OBJECT ? WAITS_CHANGE : WAITS_OPERATOR;
	return reason;
}

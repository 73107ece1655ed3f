#include "api/admit.h"

#include <string.h>

#include "api/call.h"
#include "api/routes.h"
#include "base/log.h"

/* Those that wait go out together, so often: for libmicrohttpd looks at all
 * that are held to find those that are answered. */
enum { REFUSAL_MOST_MS = 500, REFUSAL_STEP_MS = 20, TOLD_MS = 1000 };

enum { PACE_MS = 200 };

static void refuse(struct call *c)
{
	struct err err;

	list_remove(&c->held);
	err_set(&err, ERR_UNAVAILABLE, "%s",
		c->api->draining ? "the server is stopping" : c->shed);
	err.retry_after_ms = 1000;
	call_fail(c, &err);
}

static void refuse_later(struct exchange *x)
{
	refuse(x->ctx);
}

static void tell(struct api *api, uint64_t now, const char *why)
{
	if (now < api->told_ms + TOLD_MS)
		return;
	log_warn("overload", "refused=%llu %s",
		 (unsigned long long)(api->shed - api->told_shed), why);
	api->told_ms = now;
	api->told_shed = api->shed;
}

/* The next refusal's turn comes in so many milliseconds. */
static uint64_t take_turn(struct api *api, uint64_t now)
{
	uint64_t first = now * ADMIT_REFUSALS_PER_MS;
	uint64_t last = first + REFUSAL_MOST_MS * ADMIT_REFUSALS_PER_MS;
	uint64_t turn = api->next_refusal, at;

	if (turn < first)
		turn = first;
	if (turn > last)
		turn = last;
	api->next_refusal = turn + 1;
	at = turn / ADMIT_REFUSALS_PER_MS;
	if (at == now)
		return 0;
	return at + REFUSAL_STEP_MS - at % REFUSAL_STEP_MS - now;
}

static void shed(struct call *c, const char *why)
{
	struct api *api = c->api;
	uint64_t now = clock_mono(api->conf.clock), wait;

	c->shed = why;
	api->shed++;
	tell(api, now, why);
	wait = c->x->guest ? 0 : take_turn(api, now);
	if (!wait || api->draining) {
		refuse(c);
		return;
	}
	list_add(&api->held, &c->held);
	exchange_after(c->x, wait, refuse_later);
}

/* How many changes were written in a second, while some waited all the time. */
static void note_pace(struct api *api, const struct store_stats *stats)
{
	uint64_t now = clock_mono(api->conf.clock);
	uint64_t since = now - api->paced_ms;

	if (stats->pending && since < PACE_MS)
		return;
	if (stats->pending)
		api->written_per_s =
			(stats->durable - api->paced_at) * 1000 / since;
	api->paced_ms = now;
	api->paced_at = stats->durable;
}

/* A few batches are always let in: the more there are in one, the faster it
 * goes. */
static bool is_full(struct api *api)
{
	struct store_stats stats;

	store_stats(api->conf.store, &stats);
	note_pace(api, &stats);
	return stats.pending >= api->conf.pending_most ||
	       (stats.pending >= ADMIT_ALWAYS &&
		stats.pending * 1000 > api->written_per_s * ADMIT_WAIT_MS);
}

static bool reads(const struct call *c)
{
	return strcmp(c->x->method, "GET") == 0 ||
	       strcmp(c->x->method, "HEAD") == 0;
}

static const char full[] = "more changes are waiting than the disk can take: "
			   "try again in a moment";

bool admit_call(struct call *c)
{
	if (c->route->flags & ROUTE_PROBE)
		return true;
	if (c->x->guest)
		shed(c, "too many connections, or too much to do: try again "
			"in a moment");
	else if (c->x->behind_ms > ADMIT_LATE_MS)
		shed(c, "more is asked for than the server can do: try again "
			"in a moment");
	else if (!reads(c) && is_full(c->api))
		shed(c, full);
	else
		return true;
	return false;
}

bool admit_change(struct call *c)
{
	if (!c->api->draining && !is_full(c->api))
		return true;
	shed(c, full);
	return false;
}

bool admit_stream(struct call *c)
{
	struct api *api = c->api;
	struct err err;

	if (!api->draining && api->streams < api->conf.streams_most)
		return true;
	err_set(&err, ERR_UNAVAILABLE, "%s",
		api->draining ? "the server is stopping"
			      : "too many streams are open");
	err.retry_after_ms = 1000;
	call_fail(c, &err);
	return false;
}

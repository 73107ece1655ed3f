#include "daemon/reconciler.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "api/live.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "daemon/question.h"
#include "loop/pool.h"
#include "model/region.h"
#include "provider/counts.h"
#include "reconcile/engine.h"
#include "store/store.h"

struct reconciler {
	struct loop *loop;
	struct pool *pool; /* NULL: stopping */
	struct timer *timer;
	struct engine *engine;
	struct live live;
	struct post post; /* to the loop, when a provider has rung */
	atomic_bool rung; /* it is on its way */
};

/* A job that comes when all is ending is as lost as in a crash. */
static void run(void *ctx, struct job *j)
{
	struct reconciler *r = ctx;

	if (r->pool)
		pool_run(r->pool, j);
}

static void wake(void *ctx, uint64_t mono_ms)
{
	struct reconciler *r = ctx;
	uint64_t now = clock_mono(&clock_system);

	if (r->pool)
		timer_set(r->timer, mono_ms > now ? mono_ms - now : 0);
}

static void on_timer(void *ctx)
{
	engine_turn(((struct reconciler *)ctx)->engine);
}

static void on_ring(struct post *p)
{
	struct reconciler *r = CONTAINER_OF(p, struct reconciler, post);

	atomic_store(&r->rung, false);
	if (r->pool)
		engine_turn(r->engine);
}

/* From any thread. */
static void ring(void *ctx)
{
	struct reconciler *r = ctx;

	if (!atomic_exchange(&r->rung, true))
		loop_post(r->loop, &r->post);
}

static void ask(void *ctx, struct live_question *q)
{
	question_ask(((struct reconciler *)ctx)->engine, q);
}

struct reconciler *reconciler_new(const struct reconciler_conf *conf)
{
	struct reconciler *r = xcalloc(1, sizeof(*r));
	struct engine_conf engine = {
		.store = conf->store,
		.clock = &clock_system,
		.random = &random_system,
		.installation = store_installation(conf->store),
		.folder = conf->data,
		.workers = (unsigned)conf->workers,
		.run = run,
		.wake = wake,
		.ring = ring,
		.ctx = r,
	};

	r->loop = conf->loop;
	r->post.fn = on_ring;
	list_init(&r->post.link);
	r->pool = pool_new(conf->loop, conf->workers);
	r->timer = timer_new(conf->loop, on_timer, r);
	r->live = (struct live){ask, r};
	r->engine = engine_new(&engine);
	return r;
}

void reconciler_free(struct reconciler *r)
{
	struct pool *pool;

	if (!r)
		return;
	pool = r->pool;
	r->pool = NULL;
	pool_free(pool);
	/* What the workers brought back is taken in. */
	loop_stop(r->loop);
	loop_run(r->loop);
	engine_free(r->engine);
	/* What providers have said until they were closed is of no use; nor may
	 * the loop run: the store's answers are for works that are gone. */
	loop_unpost(r->loop, &r->post);
	timer_free(r->timer);
	free(r);
}

static void add(struct buf *b, const char *name, const char *type,
		const char *help, uint64_t value)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name,
		 type, name, (unsigned long long)value);
}

/* Which of a provider's counts are written. */
struct counts {
	struct buf *out;
	const char *name;
	bool seconds;
};

static void add_counts(void *ctx, const char *region, const struct provider *p)
{
	const struct counts *counts = ctx;
	struct provider_count c;

	for (size_t i = 0; provider_count(p, &i, &c);) {
		buf_addf(counts->out,
			 "%s{region=\"%s\",call=\"%s\",outcome=\"%s\"} ",
			 counts->name, region_mark(region), c.call,
			 c.outcome ? err_name(c.outcome) : "ok");
		if (counts->seconds)
			buf_addf(counts->out, "%.3f\n", (double)c.ms / 1000);
		else
			buf_addf(counts->out, "%llu\n",
				 (unsigned long long)c.calls);
	}
}

/* By region and call; they begin anew when a region is opened again. */
static void add_calls(const struct reconciler *r, struct buf *out)
{
	struct counts n = {out, "muster_region_calls_total", false};
	struct counts s = {out, "muster_region_call_seconds_total", true};

	buf_addf(out,
		 "# HELP %s Calls to a region's provider.\n"
		 "# TYPE %s counter\n",
		 n.name, n.name);
	engine_providers(r->engine, add_counts, &n);
	buf_addf(out,
		 "# HELP %s How long these took, all together.\n"
		 "# TYPE %s counter\n",
		 s.name, s.name);
	engine_providers(r->engine, add_counts, &s);
}

void reconciler_metrics(const struct reconciler *r, struct buf *out)
{
	struct engine_stats s;

	engine_stats(r->engine, &s);
	add(out, "muster_reconcile_objects", "gauge",
	    "Objects that are looked after: not as they are wanted.", s.works);
	add(out, "muster_reconcile_queued", "gauge",
	    "Of those, due or waiting for a time.", s.queued);
	add(out, "muster_reconcile_parked", "gauge",
	    "Of those, waiting for something to be changed or to happen.",
	    s.parked);
	add(out, "muster_reconcile_steps_total", "counter", "Steps taken.",
	    s.steps);
	add(out, "muster_provider_calls_waiting", "gauge",
	    "Calls that wait for their region's turn.", s.waiting);
	add(out, "muster_provider_calls_under_way", "gauge",
	    "Calls to providers that have not been answered.", s.calling);
	buf_adds(out, "# HELP muster_provider_calls_total Calls to providers, "
		      "by what they came to.\n"
		      "# TYPE muster_provider_calls_total counter\n");
	for (int i = 0; i < ERR_CODE_COUNT; i++)
		if (s.calls[i] || i == ERR_NONE)
			buf_addf(out,
				 "muster_provider_calls_total{outcome=\"%s\"} "
				 "%llu\n",
				 i ? err_name((enum err_code)i) : "ok",
				 (unsigned long long)s.calls[i]);
	add_calls(r, out);
}

const struct live *reconciler_live(const struct reconciler *r)
{
	return &r->live;
}

#include "rig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/live.h"
#include "base/mem.h"
#include "base/seal.h"
#include "daemon/provider.h"
#include "daemon/question.h"
#include "identity/quota.h"
#include "judge.h"
#include "reconcile/cascade.h"
#include "reconcile/engine_priv.h"
#include "reconcile/machine.h"
#include "start.h"
#include "users.h"

#define TICK_MS 1000

static int64_t wall(const struct clock *c)
{
	return ((const struct rig *)c)->wall;
}

static uint64_t mono(const struct clock *c)
{
	return ((const struct rig *)c)->mono;
}

/* The cloud's machines have clocks that are right. */
static int64_t cloud_wall(const struct clock *c)
{
	const struct {
		struct clock base;
		const struct rig *rig;
	} *own = (const void *)c;

	return RIG_EPOCH + (int64_t)own->rig->mono;
}

uint64_t roll(struct rig *r, uint64_t n)
{
	return random_below(&r->chance.base, n);
}

void tell(struct rig *r, const char *fmt, ...)
{
	va_list ap;

	if (!r->loud)
		return;
	printf("# %8.3f  ", (double)r->mono / 1000);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void rig_note(struct rig *r, const void *what, size_t len)
{
	const unsigned char *p = what;

	for (size_t i = 0; i < len; i++)
		r->digest = (r->digest ^ p[i]) * 0x100000001b3;
}

static void tap(void *ctx, const struct row *row)
{
	struct rig *r = ctx;

	tell(r, "row %llu: %.*s", (unsigned long long)row->revision,
	     (int)row->len, row->data);
	rig_note(r, row->data, row->len);
	r->revisions++;
	judge_row(r->judge, row, r->wall);
}

static void run_job(void *ctx, struct job *j)
{
	struct rig *r = ctx;
	struct waiting *w = xcalloc(1, sizeof(*w));

	w->job = j;
	w->since = judge_revision(r->judge);
	list_add(&r->jobs, &w->link);
}

static void sleep_not(void *ctx, uint64_t ms)
{
	(void)ctx;
	(void)ms;
}

static void wake(void *ctx, uint64_t mono_ms)
{
	((struct rig *)ctx)->wake = mono_ms;
}

static void ring(void *ctx)
{
	struct rig *r = ctx;

	r->wake = r->mono;
}

static void live_ask(void *ctx, struct live_question *q)
{
	question_ask(((struct rig *)ctx)->engine, q);
}

static void boot_engine(struct rig *r)
{
	struct engine_conf engine = {
		.store = r->store,
		.clock = &r->clock,
		.random = &r->random.base,
		.installation = store_installation(r->store),
		.workers = 8,
		.run = run_job,
		.sleep = sleep_not,
		.wake = wake,
		.ring = ring,
		.ctx = r,
	};

	r->wake = QUEUE_NEVER;
	r->cascade = cascade_new(r->store);
	r->engine = engine_new(&engine);
}

static void boot(struct rig *r)
{
	struct store_conf conf = {
		.clock = &r->clock,
		.random = &r->random.base,
		.observe = quota_observe,
		.batch_most = r->setting.batch,
		.log_revisions = r->setting.forgets ? 20 : 1000000,
		/* Clocks that jump make nothing too old. */
		.log_age_ms = (int64_t)30 * 86400 * 1000,
		.keys = r->keys,
	};
	struct api_conf api = {
		.clock = &r->clock,
		.random = &r->random.base,
		.version = "sim",
		.live = r->live,
		.check_region = provider_check_region,
	};
	struct err err = {0};

	r->backend = memory_open(r->disk);
	r->sums = quota_sums_new();
	conf.observe_ctx = r->sums;
	if (store_open(&conf, r->backend, &r->store, &err) < 0) {
		fprintf(stderr, "the store does not open: %s\n", err.msg);
		abort();
	}
	boot_engine(r);
	api.store = r->store;
	api.sums = r->sums;
	r->api = api_new(&api);
}

/* Everything but the disk and the cloud is dropped. */
static void drop(struct rig *r)
{
	struct list *l;

	for (unsigned i = 0; i < STREAMS; i++)
		if (r->streams[i])
			ask_leave(r->streams[i]);
	memset(r->streams, 0, sizeof(r->streams));
	engine_free(r->engine);
	cascade_free(r->cascade);
	store_close(r->store);
	quota_sums_free(r->sums);
	api_free(r->api);
	while ((l = list_pop(&r->asks)))
		ask_free(CONTAINER_OF(l, struct ask, link));
	while ((l = list_pop(&r->jobs)))
		free(CONTAINER_OF(l, struct waiting, link));
	r->n_made = 0;
	r->until_doom = 0;
	r->doomed = r->answered = false;
}

void rig_crash(struct rig *r)
{
	tell(r, "crash");
	drop(r);
	judge_crashed(r->judge);
	r->crashes++;
	r->mono += 1;
	r->wall += 1;
	boot(r);
}

void rig_begin(struct rig *r, const struct setting *setting, struct disk *disk,
	       struct keyring *keys, const struct sim_options *options)
{
	struct err err = {0};

	r->clock = (struct clock){wall, mono};
	r->cloud_clock.base = (struct clock){.wall_ms = cloud_wall};
	r->cloud_clock.rig = r;
	r->wall = RIG_EPOCH + (int64_t)r->mono;
	r->setting = *setting;
	r->disk = disk;
	r->keys = keys;
	r->judge = judge_new();
	r->digest = 0xcbf29ce484222325;
	r->live = xcalloc(1, sizeof(*r->live));
	*r->live = (struct live){live_ask, r};
	list_init(&r->jobs);
	list_init(&r->asks);
	if (sim_cloud_open(options, &r->cloud_clock.base, NULL, &r->cloud,
			   &err) < 0) {
		fprintf(stderr, "no cloud: %s\n", err.msg);
		abort();
	}
	disk_tap(disk, tap, r);
	if (setting->forgets)
		judge_forgets(r->judge);
	boot(r);
}

void rig_open(struct rig *r, const struct setting *setting, uint64_t seed,
	      bool loud)
{
	const struct start *s = start_of(setting);
	struct sim_options options = *s->options;
	struct disk *disk = disk_copy(s->disk);

	*r = (struct rig){.start = s, .mono = 600000, .loud = loud};
	random_seed(&r->random, seed ^ 0x5bd1e995);
	options.seed = (int64_t)(seed & INT64_MAX);
	snprintf(r->bearer, sizeof(r->bearer), "Bearer %s", s->token);
	rig_begin(r, setting, disk, s->keys, &options);
	r->loud = false;
	disk_tell(disk);
	r->loud = loud;
	r->revisions = 0;
}

void rig_close(struct rig *r)
{
	drop(r);
	sim_cloud_close(r->cloud);
	disk_free(r->disk);
	judge_free(r->judge);
	free(r->live);
}

void rig_call(struct rig *r)
{
	struct waiting *w =
		CONTAINER_OF(list_pop(&r->jobs), struct waiting, link);
	struct job *j = w->job;

	r->since = w->since;
	free(w);
	r->hold = 0;
	j->run(j);
	if (r->doomed)
		return;
	r->made[r->n_made++] = (struct made){j, r->mono + r->hold};
}

void rig_answer(struct rig *r, unsigned i)
{
	struct job *j = r->made[i].job;

	r->made[i] = r->made[--r->n_made];
	j->done(j);
}

/* The I-th of the answers that are due, or -1. */
static int due_answer(const struct rig *r, uint64_t i)
{
	for (unsigned n = 0; n < r->n_made; n++)
		if (r->made[n].due <= r->mono && i-- == 0)
			return (int)n;
	return -1;
}

static bool stream_due(const struct rig *r)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (r->streams[i] && r->streams[i]->woken)
			return true;
	return false;
}

static void pull_streams(struct rig *r)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (r->streams[i] && r->streams[i]->woken)
			stream_pull(r, i);
}

enum step { COMMIT, TURN, CALL, ANSWER, STREAM, STEPS };

static bool can_step(const struct rig *r, enum step s)
{
	switch (s) {
	case COMMIT:
		return memory_pending(r->backend);
	case TURN:
		return r->wake <= r->mono;
	case CALL:
		return !list_empty(&r->jobs) && r->n_made < MADE_MOST;
	case ANSWER:
		return due_answer(r, 0) >= 0;
	default:
		return stream_due(r);
	}
}

static void commit(struct rig *r)
{
	enum memory_fate fate = r->refuse ? MEMORY_REFUSED : MEMORY_WRITTEN;

	tell(r, "commit%s", r->refuse ? " is refused" : "");
	r->refuse = false;
	memory_answer(r->backend, fate);
}

static void answer_some(struct rig *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n_made; i++)
		n += r->made[i].due <= r->mono;
	rig_answer(r, (unsigned)due_answer(r, roll(r, n)));
}

static void take(struct rig *r, enum step s)
{
	switch (s) {
	case COMMIT:
		commit(r);
		break;
	case TURN:
		r->wake = QUEUE_NEVER;
		engine_turn(r->engine);
		break;
	case CALL:
		rig_call(r);
		break;
	case ANSWER:
		answer_some(r);
		break;
	default:
		pull_streams(r);
	}
}

bool rig_step(struct rig *r)
{
	enum step can[STEPS];
	unsigned n = 0;

	for (int s = 0; s < STEPS; s++)
		if (can_step(r, (enum step)s))
			can[n++] = (enum step)s;
	if (n)
		take(r, can[n > 1 ? roll(r, n) : 0]);
	if (r->answered)
		users_reap(r);
	return n;
}

static void tick(struct rig *r)
{
	r->ticked = r->mono;
	store_expire(r->store);
	cascade_tick(r->cascade);
}

static void run_timers(struct rig *r)
{
	struct list *l, *next;

	for (l = r->asks.next; l != &r->asks; l = next) {
		struct ask *a = CONTAINER_OF(l, struct ask, link);

		next = l->next;
		if (a->timer && a->timer_at <= r->mono)
			a->timer(&a->x);
	}
	if (r->answered)
		users_reap(r);
}

static uint64_t next_due(const struct rig *r)
{
	uint64_t due = r->wake;

	for (unsigned i = 0; i < r->n_made; i++)
		if (r->made[i].due < due)
			due = r->made[i].due;
	for (struct list *l = r->asks.next; l != &r->asks; l = l->next) {
		const struct ask *a = CONTAINER_OF(l, struct ask, link);

		if (a->timer && a->timer_at < due)
			due = a->timer_at;
	}
	return due;
}

void rig_wait(struct rig *r, uint64_t most)
{
	uint64_t due = next_due(r), ms = due > r->mono ? due - r->mono : 0;

	if (ms > most)
		ms = most;
	r->mono += ms;
	r->wall += (int64_t)ms;
	if (!memory_pending(r->backend))
		judge_sums(r->judge, r->sums);
	if (r->mono >= r->ticked + TICK_MS)
		tick(r);
	run_timers(r);
}

size_t rig_works(const struct rig *r)
{
	const struct work *w;
	size_t n = 0;

	for (size_t i = 0; controllers[i]; i++)
		if (strcmp(controllers[i]->kind->name, "region") != 0)
			for (size_t at = 0;
			     (w = map_next(&r->engine->works[i], &at));)
				n += w->state != WORK_WAITING ||
				     w->queued.place;
	return n;
}

bool rig_rests(const struct rig *r)
{
	return !rig_works(r) && !cascade_pending(r->cascade);
}

bool rig_rests_on(const struct rig *r, const char *instance)
{
	for (size_t i = 0; controllers[i]; i++)
		if (controllers[i] == &machine_controller)
			return !map_get(&r->engine->works[i], instance);
	return true;
}

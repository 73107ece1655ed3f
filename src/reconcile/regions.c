#include "reconcile/regions.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/region.h"
#include "provider/front.h"
#include "reconcile/engine.h"
#include "reconcile/notices.h"
#include "store/read.h"
#include "store/store.h"

/* How often a call that the provider was too busy for is put by before whoever
 * asked hears of it. */
#define PUT_BY_MOST 8

struct site {
	struct regions *regions;
	char id[40];
	struct ledger ledger;
	struct queued due; /* when the ledger is worth a look */
	struct provider *provider;
	struct notices notices; /* its provider's */
	struct place place;
	char *options, *credentials; /* what it was opened with */
	bool unwanted; /* to be closed when nothing is under way */
	struct opening *opening;
	struct job closing; /* while it is, provider is the worker's */
	bool is_closing;
};

struct regions {
	struct regions_conf conf;
	struct map by_id;
	struct queue due;
	uint64_t calls[ERR_CODE_COUNT];
	atomic_bool rung; /* a provider has said something */
};

struct regions *regions_new(const struct regions_conf *conf)
{
	struct regions *r = xcalloc(1, sizeof(*r));

	r->conf = *conf;
	return r;
}

static void forget_words(struct site *s)
{
	free(s->options);
	free(s->credentials);
	s->options = s->credentials = NULL;
}

void regions_free(struct regions *r)
{
	struct site *s;
	size_t i = 0;

	queue_release(&r->due); /* it reaches into them */
	while ((s = map_next(&r->by_id, &i))) {
		provider_close(s->provider);
		if (s->opening)
			provider_close(s->opening->provider);
		notices_release(&s->notices);
		forget_words(s);
		free(s);
	}
	map_release(&r->by_id);
	free(r);
}

/* From any thread. */
static void ring(void *ctx)
{
	struct regions *r = ctx;

	atomic_store(&r->rung, true);
	r->conf.engine->ring(r->conf.engine->ctx);
}

struct site *regions_site(struct regions *r, const char *id)
{
	struct site *s = map_get(&r->by_id, id);

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->regions = r;
	assert(strlen(id) < sizeof(s->id));
	memcpy(s->id, id, strlen(id));
	notices_init(&s->notices, ring, r);
	ledger_init(&s->ledger, clock_mono(r->conf.engine->clock));
	map_add(&r->by_id, s->id, s);
	return s;
}

const struct place *site_place(const struct site *s)
{
	return s->is_closing || s->unwanted || !s->provider ? NULL : &s->place;
}

static uint64_t now_of(const struct site *s)
{
	return clock_mono(s->regions->conf.engine->clock);
}

static void run_call(struct job *j)
{
	struct asking *a = CONTAINER_OF(j, struct asking, job);
	struct call *c = a->call;

	c->err = (struct err){0};
	if (c->run(a->site->provider, c, a->arena, &c->err) == 0)
		c->err = (struct err){0};
}

/* Close it where it may take its time. */
static void run_close(struct job *j)
{
	struct site *s = CONTAINER_OF(j, struct site, closing);

	provider_close(s->provider);
	s->provider = NULL;
}

static void closed(struct job *j)
{
	struct site *s = CONTAINER_OF(j, struct site, closing);

	s->is_closing = s->unwanted = false;
	forget_words(s);
	s->regions->conf.changed(s->regions->conf.ctx, s->id);
}

static void close_if_unused(struct site *s)
{
	const struct engine_conf *e = s->regions->conf.engine;

	if (!s->unwanted || s->ledger.under_way || s->is_closing)
		return;
	s->is_closing = true;
	s->closing.run = run_close;
	s->closing.done = closed;
	e->run(e->ctx, &s->closing);
}

static void begin(struct site *s, struct asking *a);

/* Look at the ledger now, and say when it is worth another look. */
static void pump(struct site *s)
{
	uint64_t now = now_of(s), when;
	struct ledger_entry *e;

	if (!site_place(s))
		return;
	while ((e = ledger_next(&s->ledger, now)))
		begin(s, CONTAINER_OF(e, struct asking, entry));
	when = ledger_when(&s->ledger, now);
	queue_remove(&s->regions->due, &s->due);
	if (when == QUEUE_NEVER)
		return;
	queue_add(&s->regions->due, &s->due, when);
	s->regions->conf.wake(s->regions->conf.ctx, when);
}

/* Too busy means that nothing was done: it is as if it had not begun. */
static bool is_put_by(struct asking *a)
{
	return a->call->err.code == ERR_RATE && !a->stale &&
	       a->put_by++ < PUT_BY_MOST;
}

static void call_done(struct job *j)
{
	struct asking *a = CONTAINER_OF(j, struct asking, job);
	struct site *s = a->site;
	const struct err *err = &a->call->err;

	a->begun = false;
	s->regions->calls[err->code]++;
	if (a->entry.rank == CALL_RANKS) {
		s->opening = NULL;
		a->done(a);
		return;
	}
	ledger_end(&s->ledger, err, now_of(s));
	if (is_put_by(a))
		ledger_put_back(&s->ledger, &a->entry);
	else
		a->done(a);
	close_if_unused(s);
	pump(s);
}

static void begin(struct site *s, struct asking *a)
{
	const struct engine_conf *e = s->regions->conf.engine;

	a->begun = true;
	a->call->began = store_time(e->store);
	a->job.run = run_call;
	a->job.done = call_done;
	e->run(e->ctx, &a->job);
}

void site_ask(struct site *s, struct asking *a)
{
	a->site = s;
	a->put_by = 0;
	a->stale = false;
	a->entry.rank = a->call->rank;
	list_init(&a->entry.link);
	if (a->entry.rank == CALL_RANKS) {
		s->opening = (struct opening *)a->call;
		begin(s, a);
		return;
	}
	ledger_add(&s->ledger, &a->entry);
	pump(s);
}

bool site_withdraw(struct asking *a)
{
	if (a->begun)
		return false;
	ledger_remove(&a->site->ledger, &a->entry);
	return true;
}

/* A provider that hangs leaves some workers to the others. */
static unsigned share(const struct site *s, int64_t at_once)
{
	unsigned workers = s->regions->conf.engine->workers;
	unsigned most = workers - workers / 4;

	return most && most < at_once ? most : (unsigned)at_once;
}

void site_limit(struct site *s, const struct region *doc)
{
	int64_t per_second = doc->spec.calls_per_second;

	if (!per_second && s->provider)
		per_second = s->place.facts.calls_per_second;
	ledger_limit(&s->ledger, share(s, doc->spec.calls_at_once),
		     (unsigned)per_second);
	s->ledger.paused = doc->spec.paused;
	pump(s);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

enum site_state site_match(struct site *s, const struct region *doc)
{
	if (s->is_closing || s->opening)
		return SITE_BUSY;
	if (!s->provider)
		return SITE_CLOSED;
	s->unwanted = !doc || !is_same(doc->spec.options, s->options) ||
		      !is_same(doc->spec.credentials, s->credentials);
	if (!s->unwanted)
		return SITE_OPEN;
	close_if_unused(s);
	return SITE_BUSY;
}

static int parse(const char *text, struct arena *a, const struct node **ret,
		 struct err *err)
{
	*ret = text ? json_parse(text, strlen(text), a, err) : NULL;
	return text && !*ret ? -1 : 0;
}

static int run_open(struct provider *p, struct call *c, struct arena *a,
		    struct err *err)
{
	struct opening *o = (struct opening *)c;

	(void)p;
	if (parse(o->doc->spec.options, a, &o->conf.options, err) < 0 ||
	    parse(o->doc->spec.credentials, a, &o->conf.credentials, err) < 0)
		return -1;
	return provider_open(o->doc->spec.provider, &o->conf, &o->provider,
			     err);
}

void site_prepare(struct site *s, const struct region *doc, struct opening *ret)
{
	const struct engine_conf *e = s->regions->conf.engine;

	*ret = (struct opening){
		.call = {.run = run_open, .rank = CALL_RANKS},
		.doc = doc,
		.conf = {.region = s->id,
			 .installation = e->installation,
			 .folder = e->folder,
			 .clock = e->clock,
			 .sleep = e->sleep,
			 .ctx = e->ctx,
			 .changed = e->ring ? notices_add : NULL,
			 .listener = &s->notices},
	};
}

/* What those who wait were about to ask for was meant for another provider. */
static void tell_waiting(struct site *s)
{
	for (size_t rank = 0; rank < CALL_RANKS; rank++) {
		struct list *head = &s->ledger.waiting[rank], *l, *next;

		for (l = head->next; l != head; l = next) {
			struct asking *a =
				CONTAINER_OF(l, struct asking, entry.link);

			next = l->next;
			if (a->moved)
				a->moved(a);
		}
	}
}

/* By our clock: the provider's may run otherwise, and both are of whole
 * milliseconds. */
static uint32_t widened(uint32_t window_ms)
{
	return window_ms ? window_ms + window_ms / 100 + 10 : 0;
}

void site_take(struct site *s, struct opening *o)
{
	const struct region *doc = o->doc;
	uint32_t *window = &s->place.facts.consistency_ms;

	s->provider = o->provider;
	s->place = (struct place){o->provider, o->provider->facts};
	*window = widened(*window);
	s->options = doc->spec.options ? xstrdup(doc->spec.options) : NULL;
	s->credentials =
		doc->spec.credentials ? xstrdup(doc->spec.credentials) : NULL;
	tell_waiting(s);
	site_limit(s, doc);
	s->regions->conf.changed(s->regions->conf.ctx, s->id);
}

void regions_turn(struct regions *r, uint64_t now)
{
	struct queued *q;

	while ((q = queue_pop(&r->due, now)))
		pump(CONTAINER_OF(q, struct site, due));
	if (r->due.len)
		r->conf.wake(r->conf.ctx, queue_next(&r->due));
}

struct hearing {
	void (*fn)(void *ctx, const char *region_id, const char *machine);
	void *ctx;
	const char *region;
};

static void heard(void *ctx, const char *machine)
{
	const struct hearing *h = ctx;

	h->fn(h->ctx, h->region, machine);
}

void regions_hear(struct regions *r,
		  void (*fn)(void *ctx, const char *region_id,
			     const char *machine),
		  void *ctx)
{
	struct hearing h = {.fn = fn, .ctx = ctx};
	struct site *s;

	if (!atomic_exchange(&r->rung, false))
		return;
	for (size_t i = 0; (s = map_next(&r->by_id, &i));) {
		h.region = s->id;
		notices_take(&s->notices, heard, &h);
	}
}

void regions_stats(const struct regions *r, struct regions_stats *ret)
{
	const struct site *s;
	size_t i = 0;

	*ret = (struct regions_stats){0};
	memcpy(ret->calls, r->calls, sizeof(ret->calls));
	while ((s = map_next(&r->by_id, &i))) {
		ret->waiting += s->ledger.n_waiting;
		ret->calling += s->ledger.under_way;
	}
}

void regions_visit(const struct regions *r,
		   void (*visit)(void *ctx, const char *region,
				 const struct provider *p),
		   void *ctx)
{
	struct site *s;

	for (size_t i = 0; (s = map_next(&r->by_id, &i));)
		if (s->provider && !s->is_closing)
			visit(ctx, s->id, s->provider);
}

#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/seal.h"
#include "identity/bootstrap.h"
#include "identity/quota.h"
#include "identity/token.h"
#include "reconcile/cascade.h"

#define ARENA_MOST ((size_t)64 << 20)

static int64_t wall(const struct clock *c)
{
	return ((const struct world *)c)->wall;
}

static uint64_t mono(const struct clock *c)
{
	return ((const struct world *)c)->mono;
}

static void tap(void *ctx, const struct row *row)
{
	model_row(ctx, row);
}

uint64_t roll(struct world *w, uint64_t n)
{
	return random_below(&w->schedule.base, n);
}

void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){
		.clock = {wall, mono}, .wall = 1700000000000, .mono = 1000};
	random_seed(&w->schedule, seed);
	random_seed(&w->random, seed ^ 0x5bd1e995);
	list_init(&w->asks);
	w->disk = disk_new();
	disk_tap(w->disk, tap, &w->model);
	w->small_log = roll(w, 3) == 0;
	w->store_conf = (struct store_conf){
		.clock = &w->clock,
		.random = &w->random.base,
		.batch_most = 1 + roll(w, 8),
		.log_revisions = w->small_log ? 1 + roll(w, 20) : 1000000,
	};
	w->trims_audit = w->small_log && roll(w, 2);
	if (w->trims_audit)
		w->store_conf.audit_age_ms = 20000;
	w->keys = keyring_new();
	keyring_renew(w->keys, &w->random.base);
	w->store_conf.keys = w->keys;
	token_make(&w->random.base, w->token);
	snprintf(w->bearer, sizeof(w->bearer), "Bearer %s", w->token);
}

static int make_token(struct tx *tx, void *ctx, struct err *err)
{
	struct world *w = ctx;

	return bootstrap(tx, w->token, err);
}

static void made(struct txn *t, const struct err *err)
{
	if (err)
		model_broken(&((struct world *)t->ctx)->model, "no token: %s",
			     err->msg);
}

void world_boot(struct world *w)
{
	struct txn t = {.fn = make_token, .done = made, .ctx = w};
	struct err err = {0};
	struct api_conf conf = {.clock = &w->clock,
				.random = &w->random.base,
				.version = "sim"};

	w->booted_at = w->requests;
	w->backend = memory_open(w->disk);
	w->sums = quota_sums_new();
	w->store_conf.observe = quota_observe;
	w->store_conf.observe_ctx = w->sums;
	if (store_open(&w->store_conf, w->backend, &w->store, &err) < 0) {
		fprintf(stderr, "the store does not open: %s\n", err.msg);
		abort();
	}
	if (!store_revision(w->store)) {
		store_transact(w->store, &t);
		memory_answer(w->backend, MEMORY_WRITTEN);
	}
	w->cascade = cascade_new(w->store);
	conf.store = w->store;
	conf.sums = w->sums;
	w->api = api_new(&conf);
}

void world_crash(struct world *w, bool written)
{
	struct list *l;

	if (written)
		memory_write_silently(w->backend);
	api_free(w->api);
	cascade_free(w->cascade);
	store_close(w->store);
	w->store = NULL;
	quota_sums_free(w->sums);
	while ((l = list_pop(&w->asks)))
		ask_free(CONTAINER_OF(l, struct ask, link));
	w->crashes++;
}

void world_release(struct world *w)
{
	if (w->store)
		world_crash(w, false);
	disk_free(w->disk);
	keyring_free(w->keys);
	model_release(&w->model);
}

static struct ask *ask_of(struct exchange *x)
{
	return (struct ask *)x;
}

static const char *get_header(struct exchange *x, const char *name)
{
	struct ask *a = ask_of(x);

	for (size_t i = 0; i < a->n_headers; i++)
		if (strcasecmp(a->headers[i].name, name) == 0)
			return a->headers[i].value;
	return NULL;
}

static void take_reply(struct exchange *x, const struct reply *r)
{
	struct ask *a = ask_of(x);

	if (a->status)
		model_broken(&a->world->model, "answered twice");
	a->status = r->status;
	free(a->reply);
	a->reply = xmemdup(r->body ? r->body : "", r->len);
	a->len = r->len;
	a->timer = NULL;
}

static void take_stream(struct exchange *x, const struct reply *head,
			const struct stream_source *source)
{
	(void)head;
	ask_of(x)->source = source;
	ask_of(x)->woken = true;
}

static void take_wake(struct exchange *x)
{
	ask_of(x)->woken = true;
}

static void take_after(struct exchange *x, uint64_t ms,
		       void (*fn)(struct exchange *x))
{
	struct ask *a = ask_of(x);

	a->timer = fn;
	a->timer_at = a->world->mono + ms;
}

static const struct exchange_ops ops = {get_header, take_reply, take_stream,
					take_wake, take_after};

struct ask *ask_new(struct world *w, enum ask_kind kind, const char *method)
{
	struct ask *a = xcalloc(1, sizeof(*a));

	a->world = w;
	a->kind = kind;
	arena_init(&a->arena, ARENA_MOST);
	list_init(&a->link);
	a->x = (struct exchange){.ops = &ops,
				 .arena = &a->arena,
				 .method = method,
				 .target = a->target,
				 .peer = "sim",
				 .body = a->body,
				 .id = a->request_id};
	a->request = w->requests++;
	snprintf(a->request_id, sizeof(a->request_id), "sim-%ld", a->request);
	a->op = -1;
	ask_header(a, "Authorization", w->bearer);
	return a;
}

void ask_header(struct ask *a, const char *name, const char *value)
{
	a->headers[a->n_headers++] = (struct header){name, value};
}

void ask_send(struct ask *a)
{
	a->started = store_revision(a->world->store);
	a->x.body_len = strlen(a->body);
	list_add(&a->world->asks, &a->link);
	api_handle(a->world->api, &a->x);
}

void ask_free(struct ask *a)
{
	list_remove(&a->link);
	arena_release(&a->arena);
	free(a->reply);
	free(a);
}

bool ask_pull(struct ask *a)
{
	struct buf out = BUF_INIT((size_t)4 << 20);
	bool more = a->source->fill(&a->x, &out);

	free(a->reply);
	a->reply = buf_take(&out, &a->len);
	a->woken = a->len > 0;
	return more;
}

void ask_leave(struct ask *a)
{
	a->source->gone(&a->x);
	a->source = NULL;
}

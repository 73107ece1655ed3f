#include "api/admit.h"

#include <stdlib.h>

#include "api/call.h"
#include "base/mem.h"
#include "identity/bootstrap.h"
#include "identity/quota.h"
#include "stepped.h"
#include "store/memory.h"
#include "test.h"

enum { PENDING_MOST = 3 };

/* The server's, kept apart from any network. */
struct door {
	struct disk *disk;
	struct backend *backend;
	struct quota_sums *sums;
	struct store *store;
	struct api *api;
	char token[TOKEN_LEN + 1], bearer[TOKEN_LEN + 16];
	size_t most; /* changes that may wait */
};

struct ask {
	struct exchange x; /* first */
	struct arena arena;
	const char *bearer;
	char body[64];
	int status;
	bool again; /* it says when to come again */
	void (*after)(struct exchange *x);
	uint64_t at;
};

static const char *get_header(struct exchange *x, const char *name)
{
	if (strcmp(name, "Authorization") == 0)
		return ((struct ask *)x)->bearer;
	return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static void take_reply(struct exchange *x, const struct reply *r)
{
	struct ask *a = (struct ask *)x;

	a->status = r->status;
	a->after = NULL;
	for (size_t i = 0; i < r->n_headers; i++)
		a->again |= strcmp(r->headers[i].name, "Retry-After") == 0;
}

static void take_after(struct exchange *x, uint64_t ms,
		       void (*fn)(struct exchange *x))
{
	((struct ask *)x)->after = fn;
	((struct ask *)x)->at = (uint64_t)now + ms;
}

static const struct exchange_ops ops = {
	.header = get_header, .reply = take_reply, .after = take_after};

static struct ask *ask_new(struct door *d, const char *method,
			   const char *target)
{
	static int serial;
	struct ask *a = xcalloc(1, sizeof(*a));

	arena_init(&a->arena, (size_t)64 << 20);
	a->bearer = d->bearer;
	a->x = (struct exchange){.ops = &ops,
				 .arena = &a->arena,
				 .method = method,
				 .target = target,
				 .peer = "test",
				 .body = a->body,
				 .id = "test"};
	if (strcmp(method, "POST") == 0)
		a->x.body_len =
			(size_t)snprintf(a->body, sizeof(a->body),
					 "{\"name\":\"o-%d\"}", serial++);
	return a;
}

static struct ask *ask(struct door *d, const char *method, const char *target)
{
	struct ask *a = ask_new(d, method, target);

	api_handle(d->api, &a->x);
	return a;
}

static int ask_end(struct ask *a)
{
	int status = a->status;

	arena_release(&a->arena);
	free(a);
	return status;
}

static struct ask *create(struct door *d)
{
	return ask(d, "POST", "/v1/organizations");
}

static int begin(struct tx *tx, void *ctx, struct err *err)
{
	return bootstrap(tx, ((struct door *)ctx)->token, err);
}

static void begun(struct txn *t, const struct err *err)
{
	(void)t;
	CHECK(!err);
}

static void door_open(struct door *d)
{
	static struct random_seeded random;
	struct store_conf conf = {.clock = &stepped,
				  .random = &random.base,
				  .observe = quota_observe};
	struct api_conf api = {.clock = &stepped,
			       .random = &random.base,
			       .version = "test",
			       .pending_most = d->most};
	struct txn t = {.fn = begin, .done = begun, .ctx = d};
	struct err err = {0};

	random_seed(&random, 1);
	d->disk = disk_new();
	d->backend = memory_open(d->disk);
	d->sums = quota_sums_new();
	conf.observe_ctx = d->sums;
	CHECK(store_open(&conf, d->backend, &d->store, &err) == 0);
	token_make(&random.base, d->token);
	snprintf(d->bearer, sizeof(d->bearer), "Bearer %s", d->token);
	store_transact(d->store, &t);
	memory_answer(d->backend, MEMORY_WRITTEN);
	api.store = d->store;
	api.sums = d->sums;
	d->api = api_new(&api);
}

static void settle(struct door *d)
{
	while (memory_pending(d->backend))
		memory_answer(d->backend, MEMORY_WRITTEN);
}

static void door_close(struct door *d)
{
	settle(d);
	store_close(d->store);
	api_free(d->api);
	quota_sums_free(d->sums);
	disk_free(d->disk);
}

/* What the first request of a token writes of its own is done with. */
static void door_warm(struct door *d)
{
	CHECK(ask_end(ask(d, "GET", "/v1/organizations")) == 200);
	settle(d);
}

/* Fill the store with as many changes as may wait. */
static void fill(struct door *d, struct ask *asks[PENDING_MOST])
{
	door_warm(d);
	for (int i = 0; i < PENDING_MOST; i++) {
		asks[i] = create(d);
		CHECK(asks[i]->status == 0);
	}
}

static void empty(struct door *d, struct ask *asks[PENDING_MOST])
{
	settle(d);
	for (int i = 0; i < PENDING_MOST; i++)
		CHECK(ask_end(asks[i]) == 201);
}

static void a_change_too_many_is_refused(void)
{
	struct ask *asks[PENDING_MOST], *more;
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	fill(&d, asks);
	more = create(&d);
	CHECK(more->again);
	CHECK(ask_end(more) == 503);
	/* Not looked at any further: neither its caller nor its body. */
	more = ask_new(&d, "POST", "/v1/organizations");
	more->bearer = "Bearer nobody";
	more->body[0] = '?';
	api_handle(d.api, &more->x);
	CHECK(ask_end(more) == 503);
	CHECK(ask_end(ask(&d, "GET", "/v1/organizations")) == 200);
	CHECK(d.api->shed == 2);
	empty(&d, asks);
	more = create(&d);
	settle(&d);
	CHECK(ask_end(more) == 201);
	door_close(&d);
}

static int ask_late(struct door *d, const char *target, uint64_t ms)
{
	struct ask *a = ask_new(d, "GET", target);

	a->x.behind_ms = ms;
	api_handle(d->api, &a->x);
	return ask_end(a);
}

static void who_is_late_is_refused_and_probes_are_not(void)
{
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	CHECK(ask_late(&d, "/v1/organizations", ADMIT_LATE_MS) == 200);
	CHECK(ask_late(&d, "/v1/organizations", ADMIT_LATE_MS + 1) == 503);
	CHECK(ask_late(&d, "/healthz", 10 * ADMIT_LATE_MS) == 200);
	CHECK(ask_late(&d, "/readyz", 10 * ADMIT_LATE_MS) == 200);
	CHECK(ask_late(&d, "/metrics", 10 * ADMIT_LATE_MS) == 200);
	door_close(&d);
}

static int ask_as_guest(struct door *d, const char *target)
{
	struct ask *a = ask_new(d, "GET", target);

	a->x.guest = true;
	api_handle(d->api, &a->x);
	return ask_end(a);
}

static void guests_have_probes_only(void)
{
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	/* At once, however many there are: the server lets in few. */
	for (int i = 0; i < 100; i++)
		CHECK(ask_as_guest(&d, "/v1/organizations") == 503);
	CHECK(ask_as_guest(&d, "/readyz") == 200);
	CHECK(ask_as_guest(&d, "/metrics") == 200);
	door_close(&d);
}

enum { CROWD = 1000 };

/* Fire the timers that are due; how many were answered. */
static int answer_due(struct ask *crowd[CROWD])
{
	int n = 0;

	for (int i = 0; i < CROWD; i++) {
		struct ask *a = crowd[i];

		if (!a->after || a->at > (uint64_t)now)
			continue;
		a->after(&a->x);
		CHECK(a->status == 503 && a->again);
		n++;
	}
	return n;
}

static void refusing_is_paced(void)
{
	struct ask *asks[PENDING_MOST], *crowd[CROWD];
	int at_once = 0, later = 0, steps = 0;
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	fill(&d, asks);
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = create(&d);
		at_once += crowd[i]->status == 503;
	}
	CHECK(at_once == ADMIT_REFUSALS_PER_MS);
	for (; at_once + later < CROWD && steps < 1000; steps++) {
		now++;
		later += answer_due(crowd);
		/* In groups, which may be a little early by a step. */
		CHECK(at_once + later <= (steps + 2) * ADMIT_REFUSALS_PER_MS);
	}
	CHECK(at_once + later == CROWD);
	CHECK(steps >= CROWD / ADMIT_REFUSALS_PER_MS);
	for (int i = 0; i < CROWD; i++)
		CHECK(ask_end(crowd[i]) == 503);
	empty(&d, asks);
	door_close(&d);
}

static void nobody_waits_long_to_be_refused(void)
{
	struct ask *asks[PENDING_MOST], *more;
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	fill(&d, asks);
	for (int i = 0; i < 100 * CROWD; i++) {
		more = create(&d);
		if (more->after) {
			CHECK(more->at <= (uint64_t)now + 520);
			more->after(&more->x);
		}
		CHECK(ask_end(more) == 503);
	}
	empty(&d, asks);
	door_close(&d);
}

static void who_waits_to_be_refused_is_told_of_a_stop(void)
{
	struct ask *asks[PENDING_MOST], *some[10];
	struct door d = {.most = PENDING_MOST};

	door_open(&d);
	fill(&d, asks);
	for (int i = 0; i < 10; i++)
		some[i] = create(&d);
	CHECK(some[9]->status == 0);
	api_drain(d.api);
	for (int i = 0; i < 10; i++)
		CHECK(ask_end(some[i]) == 503);
	empty(&d, asks);
	door_close(&d);
}

/* Have N changes asked for, and as many taken as are. */
static size_t ask_for(struct door *d, struct ask **to, size_t n)
{
	size_t taken = 0;

	for (size_t i = 0; i < n; i++) {
		to[i] = create(d);
		taken += !to[i]->status && !to[i]->after;
	}
	return taken;
}

static void end_all(struct ask **asks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (asks[i]->after)
			asks[i]->after(&asks[i]->x);
		ask_end(asks[i]);
	}
}

/* What waits is what is written in a quarter of a second, as soon as it is
 * known how much that is. */
static void no_more_are_taken_than_are_written_in_time(void)
{
	enum { MOST = 4000 };
	static struct ask *first[MOST], *more[MOST];
	struct door d = {.most = MOST};
	uint64_t before, wrote;

	door_open(&d);
	door_warm(&d);
	CHECK(ask_for(&d, first, MOST) == MOST);
	before = store_revision(d.store);
	/* About half of them in half a second. */
	for (int i = 0; i < MOST / 2 / 128; i++)
		memory_answer(d.backend, MEMORY_WRITTEN);
	now += 500;
	wrote = store_revision(d.store) - before;
	CHECK(ask_for(&d, more, 1) == 0);
	CHECK(d.api->written_per_s == 2 * wrote);
	settle(&d);
	end_all(more, 1);
	CHECK(ask_for(&d, more, MOST) == ADMIT_ALWAYS);
	settle(&d);
	end_all(first, MOST);
	end_all(more, MOST);
	door_close(&d);
}

int main(void)
{
	RUN(a_change_too_many_is_refused);
	RUN(who_is_late_is_refused_and_probes_are_not);
	RUN(guests_have_probes_only);
	RUN(refusing_is_paced);
	RUN(nobody_waits_long_to_be_refused);
	RUN(who_waits_to_be_refused_is_told_of_a_stop);
	RUN(no_more_are_taken_than_are_written_in_time);
	return test_done();
}

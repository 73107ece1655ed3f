/*
 * A whole server under random clients, faults and crashes, one seed a history.
 *
 *     SEEDS=2000 test_sim        run that many from seed 1
 *     test_sim --seed 17         replay one, telling what happens
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "check.h"
#include "reconcile/cascade.h"
#include "test.h"
#include "trail.h"
#include "world.h"

enum { WATCHERS = 3, STEPS = 300 };

static bool loud;

struct play {
	struct world w;
	struct sight sights[WATCHERS];
	struct ask *streams[WATCHERS];
	struct {
		char noun[16], target[256], body[512], key[32];
		char name[32], within[40];
		long op;
	} last; /* the last create with a key, for trying it again */
};

/* The id of some object of this noun that is there, or was; false: none. */
static bool some_id(struct play *p, const char *noun, char *ret)
{
	struct model *m = &p->w.model;
	size_t start = m->n ? roll(&p->w, m->n) : 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct fact *f = &m->facts[(start + i) % m->n];

		if (strcmp(f->kind, noun) != 0)
			continue;
		snprintf(ret, 40, "%s", f->id);
		return true;
	}
	return false;
}

static long new_op(struct play *p)
{
	return p->w.ops++;
}

static void fill_create(struct play *p, struct ask *a)
{
	snprintf(a->name, sizeof(a->name), "n%d", (int)roll(&p->w, 5));
	if (strcmp(a->noun, "project") == 0) {
		if (!some_id(p, "organization", a->within))
			snprintf(a->within, sizeof(a->within),
				 "00000000-0000-7000-8000-000000000000");
		snprintf(a->body, sizeof(a->body),
			 "{\"name\":\"%s\",\"organizationId\":\"%s\","
			 "\"description\":\"%ld\"}",
			 a->name, a->within, a->op);
	} else {
		snprintf(a->body, sizeof(a->body),
			 "{\"name\":\"%s\",\"description\":\"%ld\"}", a->name,
			 a->op);
	}
}

static struct ask *begin_create(struct play *p, const char *noun)
{
	bool plan = roll(&p->w, 8) == 0;
	struct ask *a = ask_new(&p->w, plan ? ASK_PLAN : ASK_CREATE, "POST");

	a->noun = noun;
	a->op = new_op(p);
	snprintf(a->target, sizeof(a->target), "/v1/%ss%s", noun,
		 plan ? "?plan=true" : "");
	fill_create(p, a);
	ask_header(a, "Content-Type", "application/json");
	if (!plan && roll(&p->w, 2)) {
		snprintf(a->key, sizeof(a->key), "k%ld", a->op);
		ask_header(a, "Idempotency-Key", a->key);
		snprintf(p->last.noun, sizeof(p->last.noun), "%s", noun);
		memcpy(p->last.target, a->target, sizeof(a->target));
		memcpy(p->last.body, a->body, sizeof(a->body));
		memcpy(p->last.key, a->key, sizeof(a->key));
		memcpy(p->last.name, a->name, sizeof(a->name));
		memcpy(p->last.within, a->within, sizeof(a->within));
		p->last.op = a->op;
	}
	return a;
}

/* The same request again, as after a lost answer. */
static struct ask *begin_retry(struct play *p)
{
	struct ask *a;

	if (!p->last.key[0])
		return NULL;
	a = ask_new(&p->w, ASK_CREATE, "POST");
	a->noun = strcmp(p->last.noun, "project") ? "organization" : "project";
	a->op = p->last.op;
	a->retry = true;
	p->w.retried[a->op % OPS_MOST] = true;
	memcpy(a->target, p->last.target, sizeof(a->target));
	memcpy(a->body, p->last.body, sizeof(a->body));
	memcpy(a->key, p->last.key, sizeof(a->key));
	memcpy(a->name, p->last.name, sizeof(a->name));
	memcpy(a->within, p->last.within, sizeof(a->within));
	ask_header(a, "Content-Type", "application/json");
	ask_header(a, "Idempotency-Key", a->key);
	return a;
}

static struct ask *begin_update(struct play *p, const char *noun)
{
	struct ask *a = ask_new(&p->w, ASK_UPDATE, "PATCH");
	const struct fact *f;

	a->noun = noun;
	if (!some_id(p, noun, a->id)) {
		ask_free(a);
		return NULL;
	}
	a->op = new_op(p);
	snprintf(a->target, sizeof(a->target), "/v1/%ss/%s", noun, a->id);
	f = model_at(&p->w.model, p->w.model.newest, noun, a->id);
	if (f)
		snprintf(a->within, sizeof(a->within), "%s", f->within);
	if (roll(&p->w, 3) == 0) {
		snprintf(a->name, sizeof(a->name), "n%d", (int)roll(&p->w, 5));
		snprintf(a->body, sizeof(a->body),
			 "{\"name\":\"%s\",\"description\":\"%ld\"}", a->name,
			 a->op);
	} else {
		snprintf(a->body, sizeof(a->body), "{\"description\":\"%ld\"}",
			 a->op);
	}
	if (f && roll(&p->w, 3) == 0) {
		a->if_match = f->revision;
		snprintf(a->match, sizeof(a->match), "\"%llu\"",
			 (unsigned long long)f->revision);
		ask_header(a, "If-Match", a->match);
	}
	ask_header(a, "Content-Type", "application/merge-patch+json");
	return a;
}

static struct ask *begin_delete(struct play *p, const char *noun)
{
	struct ask *a = ask_new(&p->w, ASK_DELETE, "DELETE");

	a->noun = noun;
	if (!some_id(p, noun, a->id)) {
		ask_free(a);
		return NULL;
	}
	snprintf(a->target, sizeof(a->target), "/v1/%ss/%s", noun, a->id);
	return a;
}

static uint64_t some_past(struct play *p)
{
	uint64_t newest = store_revision(p->w.store);

	return roll(&p->w, 2) && newest ? 1 + roll(&p->w, newest) : 0;
}

static struct ask *begin_read(struct play *p, const char *noun)
{
	bool wait = roll(&p->w, 4) == 0;
	struct ask *a = ask_new(&p->w, wait ? ASK_WAIT : ASK_GET, "GET");

	a->noun = noun;
	if (!some_id(p, noun, a->id)) {
		ask_free(a);
		return NULL;
	}
	if (wait) {
		snprintf(a->target, sizeof(a->target),
			 "/v1/%ss/%s?wait=%s&timeoutMs=%d", noun, a->id,
			 roll(&p->w, 2) ? "changed" : "deleted",
			 (int)roll(&p->w, 3000));
		return a;
	}
	a->at = some_past(p);
	if (a->at)
		snprintf(a->target, sizeof(a->target), "/v1/%ss/%s?at=%llu",
			 noun, a->id, (unsigned long long)a->at);
	else
		snprintf(a->target, sizeof(a->target), "/v1/%ss/%s", noun,
			 a->id);
	return a;
}

static struct ask *begin_list(struct play *p, const char *noun)
{
	struct ask *a = ask_new(&p->w, ASK_LIST, "GET");
	size_t n;

	a->noun = noun;
	a->at = some_past(p);
	n = (size_t)snprintf(a->target, sizeof(a->target), "/v1/%ss?limit=%d",
			     noun, 1 + (int)roll(&p->w, 10));
	if (a->at)
		n += (size_t)snprintf(a->target + n, sizeof(a->target) - n,
				      "&at=%llu", (unsigned long long)a->at);
	if (strcmp(noun, "project") == 0 && roll(&p->w, 2) &&
	    some_id(p, "organization", a->within))
		snprintf(a->target + n, sizeof(a->target) - n,
			 "&organizationId=%s", a->within);
	return a;
}

/* Begin a watch, or go on with it where it was cut off. */
static void begin_watch(struct play *p, int i)
{
	struct sight *s = &p->sights[i];
	struct ask *a = ask_new(&p->w, ASK_WATCH, "GET");

	a->noun = i == 0 ? "organization" : "project";
	a->sight = s;
	if (s->ended || !s->ready) {
		sight_release(s);
		if (i == 2)
			some_id(p, "organization", s->within);
	}
	s->partial = 0;
	snprintf(a->within, sizeof(a->within), "%s", s->within);
	snprintf(a->target, sizeof(a->target), "/v1/%ss%s%s", a->noun,
		 s->within[0] ? "?organizationId=" : "", s->within);
	ask_header(a, "Accept", "text/event-stream");
	if (s->ready) {
		snprintf(a->last_id, sizeof(a->last_id), "%llu",
			 (unsigned long long)s->position);
		ask_header(a, "Last-Event-ID", a->last_id);
	}
	ask_send(a);
	if (!a->status) {
		p->streams[i] = a;
		return;
	}
	check_answer(a);
	s->ended = true;
	ask_free(a);
}

static void end_stream(struct play *p, int i)
{
	ask_leave(p->streams[i]);
	ask_free(p->streams[i]);
	p->streams[i] = NULL;
}

static void pull(struct play *p, int i)
{
	struct ask *a = p->streams[i];
	bool more = ask_pull(a);

	if (loud && a->len)
		printf("#   watch %d at %llu: %.*s\n", i,
		       (unsigned long long)p->sights[i].position,
		       (int)strcspn(a->reply, "{"), a->reply);
	check_events(a);
	if (!more)
		end_stream(p, i);
}

static void step_stream(struct play *p)
{
	int i = (int)roll(&p->w, WATCHERS);

	if (!p->streams[i])
		begin_watch(p, i);
	else if (roll(&p->w, 8) == 0)
		end_stream(p, i);
	else if (p->streams[i]->woken)
		pull(p, i);
}

static void step_ask(struct play *p)
{
	const char *noun = roll(&p->w, 3) ? "project" : "organization";
	struct ask *a = NULL;

	switch (roll(&p->w, 12)) {
	case 0:
	case 1:
	case 2:
		a = begin_create(p, noun);
		break;
	case 3:
	case 4:
		a = begin_update(p, noun);
		break;
	case 5:
	case 6:
		a = begin_delete(p, noun);
		break;
	case 7:
		a = begin_retry(p);
		break;
	case 8:
	case 9:
		a = begin_read(p, noun);
		break;
	default:
		a = begin_list(p, noun);
		break;
	}
	if (!a)
		return;
	if (loud)
		printf("#   %s %s %s\n", a->x.method, a->target, a->body);
	ask_send(a);
}

static void step_disk(struct play *p)
{
	if (!memory_pending(p->w.backend))
		return;
	memory_answer(p->w.backend,
		      roll(&p->w, 12) ? MEMORY_WRITTEN : MEMORY_REFUSED);
}

static void step_time(struct play *p)
{
	struct list *l, *next;
	uint64_t ms = roll(&p->w, 1500);

	cascade_tick(p->w.cascade);
	p->w.mono += ms;
	p->w.wall += (int64_t)ms - (roll(&p->w, 10) == 0 ? 5000 : 0);
	store_expire(p->w.store);
	for (l = p->w.asks.next; l != &p->w.asks; l = next) {
		struct ask *a = CONTAINER_OF(l, struct ask, link);

		next = l->next;
		if (a->timer && a->timer_at <= p->w.mono)
			a->timer(&a->x);
	}
}

static void step_crash(struct play *p)
{
	bool written = roll(&p->w, 2);

	if (loud)
		printf("#   crash, batch %s\n", written ? "written" : "lost");
	world_crash(&p->w, written);
	memset(p->streams, 0, sizeof(p->streams));
	world_boot(&p->w);
	check_world(&p->w);
	trail_check(&p->w, false);
}

/* Look at everything that was answered in this step. */
static void reap(struct play *p)
{
	struct list *l, *next;

	for (l = p->w.asks.next; l != &p->w.asks; l = next) {
		struct ask *a = CONTAINER_OF(l, struct ask, link);

		next = l->next;
		if (!a->status)
			continue;
		if (loud)
			printf("#     %d %s %s\n", a->status, a->target,
			       a->reply);
		check_answer(a);
		trail_answer(a);
		ask_free(a);
	}
}

static void step(struct play *p)
{
	uint64_t what = roll(&p->w, 100);

	if (what < 40)
		step_ask(p);
	else if (what < 65)
		step_disk(p);
	else if (what < 88)
		step_stream(p);
	else if (what < 97)
		step_time(p);
	else
		step_crash(p);
	reap(p);
}

/* A tick writes what was refused; nothing more is on its way then. */
static void finish_trail(struct play *p)
{
	for (int i = 0; i < 20 && !store_idle(p->w.store); i++) {
		store_expire(p->w.store);
		while (memory_pending(p->w.backend))
			memory_answer(p->w.backend, MEMORY_WRITTEN);
	}
	if (!store_idle(p->w.store))
		model_broken(&p->w.model, "the store never comes to rest");
	trail_check(&p->w, true);
}

/* No more faults: let everything come to an end, then look at all of it. */
static void settle(struct play *p)
{
	for (int i = 0; i < 500; i++) {
		cascade_tick(p->w.cascade);
		if (!memory_pending(p->w.backend))
			break;
		memory_answer(p->w.backend, MEMORY_WRITTEN);
		reap(p);
	}
	if (cascade_pending(p->w.cascade))
		model_broken(&p->w.model, "a deletion does not end");
	p->w.mono += 3600 * 1000;
	step_time(p);
	reap(p);
	for (int i = 0; i < WATCHERS; i++) {
		if (!p->streams[i])
			begin_watch(p, i);
		while (p->streams[i] && p->streams[i]->woken)
			pull(p, i);
		check_complete(&p->w, i == 0 ? "organization" : "project",
			       &p->sights[i]);
		if (p->streams[i])
			end_stream(p, i);
	}
	if (!list_empty(&p->w.asks))
		model_broken(&p->w.model, "a request was never answered");
	finish_trail(p);
	world_crash(&p->w, false);
	world_boot(&p->w);
	check_world(&p->w);
}

static bool run(uint64_t seed)
{
	struct play *p = xcalloc(1, sizeof(*p));
	bool ok;

	world_init(&p->w, seed);
	world_boot(&p->w);
	for (int i = 0; i < STEPS && !p->w.model.why[0]; i++)
		step(p);
	if (!p->w.model.why[0])
		settle(p);
	ok = !p->w.model.why[0];
	if (!ok)
		printf("# seed %llu: %s\n# replay: test_sim --seed %llu\n",
		       (unsigned long long)seed, p->w.model.why,
		       (unsigned long long)seed);
	for (int i = 0; i < WATCHERS; i++)
		sight_release(&p->sights[i]);
	world_release(&p->w);
	free(p);
	return ok;
}

static uint64_t seeds(void)
{
	const char *text = getenv("SEEDS");

	return text ? strtoull(text, NULL, 10) : 2000;
}

static void histories_hold_against_the_model(void)
{
	const char *from = getenv("FROM");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1;
	uint64_t n = seeds(), bad = 0;

	for (uint64_t seed = first; seed < first + n && bad < 5; seed++)
		bad += !run(seed);
	CHECK(bad == 0);
	printf("# %llu histories, %llu violations\n", (unsigned long long)n,
	       (unsigned long long)bad);
}

int main(int argc, char **argv)
{
	log_setup(LOG_ERROR, false);
	if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
		loud = true;
		return run(strtoull(argv[2], NULL, 10)) ? 0 : 1;
	}
	RUN(histories_hold_against_the_model);
	return test_done();
}

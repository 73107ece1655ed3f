/*
 * Random histories against a naive model that keeps every state there ever
 * was: reads, index scans and watching at every revision the log keeps, with
 * limits so small that it expires all the time, failures and reopening.
 */
#include <stdlib.h>

#include "rig/rig.h"
#include "store/store_priv.h"
#include "test.h"

enum {
	SHELVES = 5,
	BOOKS = 8,
	THINGS = SHELVES + BOOKS, /* shelves first */
	NAMES = 4,
	TAGS = 3,
	ROUNDS = 120,
	REVISIONS = 3 * ROUNDS + 1,
	WAITING = 8, /* deeds between two settlings */
};

/* One object at one revision. */
struct thing {
	bool there;
	uint64_t revision;
	int name, shelf, also, color, tag; /* also, tag: -1 for none */
};

struct state {
	struct thing things[THINGS];
};

struct change_made {
	int things[DEED_STEPS]; /* in the order first written */
	int n;
	char key[16]; /* that was remembered */
};

struct model {
	uint64_t seed;
	struct random_seeded random;
	struct rig rig;
	struct state states[REVISIONS]; /* by revision */
	struct change_made made[REVISIONS];
	uint64_t durable, newest;
	struct cursor cursors[2];

	struct plan {
		struct deed deed;
		enum err_code want;
		uint64_t revision; /* 0: it fails */
		struct field_tag tags[DEED_STEPS];
		const char *also[DEED_STEPS];
		char key[16];
	} plans[WAITING];
	int waiting;
};

static char ids[THINGS][37];
static const char *const names[NAMES] = {"ant", "bee", "cow", "dog"};
static const char *const values[TAGS] = {"x", "y", "z"};

static int pick(struct model *m, int n)
{
	return (int)random_below(&m->random.base, (uint64_t)n);
}

static const struct kind *kind_of(int thing)
{
	return thing < SHELVES ? &shelf_kind : &book_kind;
}

/* What the store should say to writing T as thing I over STATE. */
static enum err_code judge_put(const struct state *state, int i,
			       const struct thing *t)
{
	int from = i < SHELVES ? 0 : SHELVES,
	    to = i < SHELVES ? SHELVES : THINGS;

	if (i >= SHELVES && !state->things[t->shelf].there)
		return ERR_INVALID;
	if (i >= SHELVES && t->also >= 0 && !state->things[t->also].there)
		return ERR_INVALID;
	for (int j = from; j < to; j++)
		if (j != i && state->things[j].there &&
		    state->things[j].name == t->name &&
		    (i < SHELVES || state->things[j].shelf == t->shelf))
			return ERR_CONFLICT;
	return ERR_NONE;
}

static enum err_code judge_delete(const struct state *state, int i)
{
	if (!state->things[i].there)
		return ERR_NOT_FOUND;
	for (int j = SHELVES; i < SHELVES && j < THINGS; j++)
		if (state->things[j].there &&
		    (state->things[j].shelf == i || state->things[j].also == i))
			return ERR_CONFLICT;
	return ERR_NONE;
}

static void note(struct change_made *made, int thing)
{
	for (int i = 0; i < made->n; i++)
		if (made->things[i] == thing)
			return;
	made->things[made->n++] = thing;
}

static void plan_book(struct plan *p, int i, const struct thing *t)
{
	struct book b = book_of(ids[i], names[t->name], ids[t->shelf]);
	struct field_tag *tag = &p->tags[p->deed.n];
	const char **also = &p->also[p->deed.n];

	b.color = t->color;
	b.note = "hush";
	if (t->tag >= 0) {
		*tag = (struct field_tag){"k", values[t->tag]};
		b.meta.tags = (struct items){tag, 1};
	}
	if (t->also >= 0) {
		*also = ids[t->also];
		b.also = (struct items){also, 1};
	}
	deed_book(&p->deed, &b);
}

/* Add a random write to the plan, and do it to STATE as well. */
static enum err_code plan_step(struct model *m, struct plan *p,
			       struct state *state, struct change_made *made)
{
	int i = pick(m, THINGS);
	struct thing t = {.there = true, .revision = m->newest + 1};
	enum err_code code;

	if (pick(m, 3) == 0) {
		deed_delete(&p->deed, kind_of(i), ids[i]);
		code = judge_delete(state, i);
		t.there = false;
	} else {
		t.name = pick(m, NAMES);
		t.shelf = pick(m, SHELVES);
		t.also = pick(m, 3) ? -1 : pick(m, SHELVES);
		t.tag = pick(m, TAGS + 1) - 1;
		t.color = pick(m, 3);
		if (i < SHELVES)
			deed_shelf(&p->deed, ids[i], names[t.name]);
		else
			plan_book(p, i, &t);
		code = judge_put(state, i, &t);
	}
	if (code == ERR_NONE) {
		state->things[i] = t;
		note(made, i);
	}
	return code;
}

static void start_one(struct model *m)
{
	struct plan *p = &m->plans[m->waiting++];
	struct state state = m->states[m->newest];
	struct change_made made = {0};

	*p = (struct plan){0};
	for (int n = 1 + pick(m, 3); n > 0 && p->want == ERR_NONE; n--)
		p->want = plan_step(m, p, &state, &made);
	if (p->want == ERR_NONE && pick(m, 8) == 0) {
		deed_fail(&p->deed);
		p->want = ERR_QUOTA;
	}
	if (p->want == ERR_NONE) {
		p->revision = ++m->newest;
		snprintf(p->key, sizeof(p->key), "%llu-%d",
			 (unsigned long long)p->revision, pick(m, 1000));
		deed_remember(&p->deed, p->key, ids[made.things[0]]);
		memcpy(made.key, p->key, sizeof(made.key));
		m->states[m->newest] = state;
		m->made[m->newest] = made;
	}
	deed_start(&p->deed, m->rig.store);
}

static void check_record(const struct model *m, const struct record *r,
			 const struct thing *t, int i)
{
	const struct meta *meta = r->object;

	CHECK_SEED(r->revision == t->revision, m->seed);
	CHECK_SEED(meta->revision == (int64_t)t->revision, m->seed);
	CHECK_SEED(strcmp(r->id, ids[i]) == 0, m->seed);
	CHECK_SEED(strcmp(meta->name, names[t->name]) == 0, m->seed);
	CHECK_SEED(strlen(r->json) >= r->len, m->seed);
	CHECK_SEED(!memmem(r->json, r->len, "hush", 4), m->seed);
	if (i >= SHELVES) {
		const struct book *b = r->object;

		CHECK_SEED(strcmp(b->shelf_id, ids[t->shelf]) == 0, m->seed);
		CHECK_SEED(b->color == t->color, m->seed);
		CHECK_SEED(strcmp(b->note, "hush") == 0, m->seed);
	}
}

/* Is thing I, at one revision, what the index path and value ask for? */
struct query {
	const struct kind *kind;
	const char *path; /* NULL: all */
	char value[100];
	int name, shelf, also, color, tag; /* -1: any */
};

static bool matches(const struct query *q, const struct thing *t, int i)
{
	if (!t->there || kind_of(i) != q->kind)
		return false;
	return (q->name < 0 || t->name == q->name) &&
	       (q->shelf < 0 || t->shelf == q->shelf) &&
	       (q->also < 0 || t->also == q->also) &&
	       (q->color < 0 || t->color == q->color) &&
	       (q->tag < 0 || t->tag == q->tag);
}

static void check_scan(struct model *m, uint64_t at, const struct query *q)
{
	const struct state *state = &m->states[at];
	int after = pick(m, 3) ? -1 : pick(m, THINGS);
	const char *from = after < 0 ? NULL : ids[after];
	struct scan scan = store_scan(m->rig.store, at, q->kind, from);
	struct record r;
	size_t effort = 0;

	if (q->path)
		CHECK_SEED(scan_narrow(&scan, q->path, q->value, from),
			   m->seed);
	for (int i = 0; i < THINGS; i++) {
		if (!matches(q, &state->things[i], i) ||
		    (from && strcmp(ids[i], from) <= 0))
			continue;
		if (!scan_next(&scan, &r, &effort)) {
			CHECK_SEED(!"an object is not found", m->seed);
			return;
		}
		CHECK_SEED(strcmp(r.id, ids[i]) == 0, m->seed);
		CHECK_SEED(r.revision == state->things[i].revision, m->seed);
	}
	CHECK_SEED(!scan_next(&scan, &r, &effort), m->seed);
}

static struct query query_all(const struct kind *k)
{
	return (struct query){k, NULL, "", -1, -1, -1, -1, -1};
}

static void check_scans(struct model *m, uint64_t at)
{
	static const char *const colors[] = {NULL, "red", "blue"};
	struct query q = query_all(&shelf_kind);

	check_scan(m, at, &q);
	q.path = "@name";
	q.name = pick(m, NAMES);
	snprintf(q.value, sizeof(q.value), "/%s", names[q.name]);
	check_scan(m, at, &q);
	q = query_all(&book_kind);
	check_scan(m, at, &q);
	q.path = "shelfId";
	q.shelf = pick(m, SHELVES);
	snprintf(q.value, sizeof(q.value), "%s", ids[q.shelf]);
	check_scan(m, at, &q);
	q.path = "@name";
	q.name = pick(m, NAMES);
	snprintf(q.value, sizeof(q.value), "%s/%s", ids[q.shelf],
		 names[q.name]);
	check_scan(m, at, &q);
	q = query_all(&book_kind);
	q.path = "alsoIds";
	q.also = pick(m, SHELVES);
	snprintf(q.value, sizeof(q.value), "%s", ids[q.also]);
	check_scan(m, at, &q);
	q = query_all(&book_kind);
	q.path = "tags";
	q.tag = pick(m, TAGS);
	snprintf(q.value, sizeof(q.value), "k=%s", values[q.tag]);
	check_scan(m, at, &q);
	q = query_all(&book_kind);
	q.path = "color";
	q.color = 1 + pick(m, 2);
	snprintf(q.value, sizeof(q.value), "%s", colors[q.color]);
	check_scan(m, at, &q);
}

static void check_at(struct model *m, uint64_t at)
{
	struct record r;

	for (int i = 0; i < THINGS; i++) {
		const struct thing *t = &m->states[at].things[i];
		/* Revision 0 means now: nothing was there before the first. */
		bool is = at &&
			  store_get(m->rig.store, at, kind_of(i), ids[i], &r);

		CHECK_SEED(is == t->there, m->seed);
		if (is && t->there)
			check_record(m, &r, t, i);
	}
	if (at)
		check_scans(m, at);
}

static void check_memos(struct model *m)
{
	for (uint64_t at = 1; at <= m->durable; at++) {
		uint64_t first = m->rig.store->history.first;
		struct deed d = {0};

		if (at + 3 < first || pick(m, 4))
			continue;
		deed_recall(&d, m->made[at].key);
		deed_start(&d, m->rig.store);
		CHECK_SEED(d.answers == 1, m->seed);
		CHECK_SEED(d.recalled == (at >= first), m->seed);
	}
	m->rig.ops->settle(&m->rig);
}

static void check_all(struct model *m)
{
	struct store_stats stats;
	struct err err;
	size_t live[2] = {0};

	store_stats(m->rig.store, &stats);
	CHECK_SEED(stats.durable == m->durable, m->seed);
	CHECK_SEED(stats.pending == 0, m->seed);
	for (int i = 0; i < THINGS; i++)
		live[i >= SHELVES] += m->states[m->durable].things[i].there;
	CHECK_SEED(stats.objects[0] == live[0], m->seed);
	CHECK_SEED(stats.objects[1] == live[1], m->seed);
	if (stats.oldest)
		CHECK_SEED(store_check_at(m->rig.store, stats.oldest - 1,
					  &err) < 0 &&
				   err.code == ERR_GONE,
			   m->seed);
	CHECK_SEED(store_check_at(m->rig.store, m->durable + 1, &err) < 0,
		   m->seed);
	for (uint64_t at = stats.oldest; at <= m->durable; at++) {
		CHECK_SEED(store_check_at(m->rig.store, at, &err) == 0,
			   m->seed);
		check_at(m, at);
	}
	check_memos(m);
}

static void check_event(const struct model *m, const struct event *e,
			uint64_t at, int i)
{
	const struct thing *now = &m->states[at].things[i];
	const struct thing *before = &m->states[at - 1].things[i];

	CHECK_SEED(e->now.revision == at, m->seed);
	CHECK_SEED(strcmp(e->now.id, ids[i]) == 0, m->seed);
	CHECK_SEED(!!e->now.object == now->there, m->seed);
	CHECK_SEED(!!e->before.object == before->there, m->seed);
	if (now->there && e->now.object)
		check_record(m, &e->now, now, i);
	if (before->there && e->before.object)
		check_record(m, &e->before, before, i);
}

/* The changes of revision AT that cursor C is told of, all of them. */
static bool follow_one(struct model *m, const struct kind *k, struct cursor *c,
		       uint64_t at)
{
	const struct change_made *made = &m->made[at];
	struct event e;
	bool gone;
	int last = -1;

	for (int i = 0; i < made->n; i++)
		if (kind_of(made->things[i]) == k)
			last = i;
	for (int i = 0; i <= last; i++) {
		if (kind_of(made->things[i]) != k)
			continue;
		if (!store_next(m->rig.store, k, c, &e, &gone))
			return false;
		check_event(m, &e, at, made->things[i]);
		CHECK_SEED(e.last == (i == last), m->seed);
	}
	return true;
}

/* Every change since the last time, once and in order; or that it is gone. */
static void follow(struct model *m, int which)
{
	const struct kind *k = which ? &book_kind : &shelf_kind;
	struct cursor *c = &m->cursors[which];
	bool lost = c->revision + 1 < m->rig.store->history.first;
	struct event e;
	bool gone;

	for (uint64_t at = c->revision + 1; !lost && at <= m->durable; at++)
		CHECK_SEED(follow_one(m, k, c, at), m->seed);
	CHECK_SEED(!store_next(m->rig.store, k, c, &e, &gone), m->seed);
	CHECK_SEED(gone == lost, m->seed);
	if (gone)
		*c = (struct cursor){m->durable, 0};
	CHECK_SEED(c->revision == m->durable, m->seed);
}

static void check_answers(struct model *m, bool failed)
{
	for (int i = 0; i < m->waiting; i++) {
		const struct plan *p = &m->plans[i];
		enum err_code got = p->deed.err.code;

		CHECK_SEED(p->deed.answers == 1, m->seed);
		/* A refusal that rests on nothing undurable is its own. */
		if (failed && p->want == ERR_NONE)
			CHECK_SEED(got == ERR_UNAVAILABLE, m->seed);
		else if (failed)
			CHECK_SEED(got == ERR_UNAVAILABLE || got == p->want,
				   m->seed);
		else
			CHECK_SEED(got == p->want, m->seed);
		if (!failed)
			CHECK_SEED(p->deed.txn.revision == p->revision,
				   m->seed);
	}
	m->waiting = 0;
}

/* Some deeds at once, then one fate for all of them. */
static void do_round(struct model *m)
{
	const struct rig_ops *ops = m->rig.ops;
	bool failed = pick(m, 8) == 0;

	if (failed)
		ops->fill(&m->rig, true);
	for (int n = pick(m, WAITING); n > 0 && m->newest + 1 < REVISIONS; n--)
		start_one(m);
	m->rig.clock.now += pick(m, 1000);
	if (pick(m, 6) == 0)
		store_expire(m->rig.store);
	ops->settle(&m->rig);
	if (failed)
		ops->fill(&m->rig, false);
	check_answers(m, failed);
	if (failed)
		m->newest = m->durable;
	m->durable = m->newest;
	CHECK_SEED(store_revision(m->rig.store) == m->durable, m->seed);
}

static void run_seed(const struct rig_ops *ops, uint64_t seed)
{
	static struct model m;
	struct err err;

	m = (struct model){.seed = seed};
	random_seed(&m.random, seed);
	rig_init(&m.rig, ops);
	m.rig.conf.log_revisions = 1 + random_below(&m.random.base, 12);
	m.rig.conf.log_age_ms = 1 + pick(&m, 8000);
	m.rig.conf.log_bytes = pick(&m, 3) ? 0 : 3000;
	m.rig.conf.batch_most = 1 + random_below(&m.random.base, 6);
	CHECK(rig_open(&m.rig, &err) == 0);
	for (int i = 0; i < ROUNDS && m.newest + 1 < REVISIONS; i++) {
		do_round(&m);
		for (int k = 0; k < 2; k++)
			if (pick(&m, 3))
				follow(&m, k);
		if (pick(&m, 6) == 0)
			rig_reopen(&m.rig);
		if (pick(&m, 4) == 0)
			check_all(&m);
		if (!test_ok)
			break;
	}
	check_all(&m);
	rig_release(&m.rig);
}

static void the_store_agrees_with_a_naive_one(const struct rig_ops *ops)
{
	unsigned seeds = ops->shared ? rig_seeds(400, 200) : rig_seeds(60, 40);

	for (unsigned seed = 1; seed <= seeds && test_ok; seed++)
		run_seed(ops, seed);
}

int main(void)
{
	for (unsigned i = 0; i < THINGS; i++)
		shelves_id(ids[i], i < SHELVES ? 1 : 2, i);
	RUN_ON_ALL(the_store_agrees_with_a_naive_one);
	return test_done();
}

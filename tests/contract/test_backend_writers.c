/* Two servers on one disk: each revision is written once, by one of them. */
#include <stdlib.h>

#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "test.h"

enum { SERVERS = 2, MARKS = 400 };

static const struct rig_ops *shared_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (!(*ops)->shared)
		ops++;
	return *ops;
}

static void open_both(struct rig r[SERVERS], size_t log_revisions)
{
	struct err err;

	for (int i = 0; i < SERVERS; i++) {
		rig_init(&r[i], shared_backend());
		r[i].disk = r[0].disk;
		r[i].conf.log_revisions = log_revisions;
		CHECK(rig_open(&r[i], &err) == 0);
	}
}

static void release_both(struct rig r[SERVERS])
{
	rig_close(&r[1]);
	r[1].disk = NULL;
	rig_release(&r[1]);
	rig_release(&r[0]);
}

static void hear(struct rig *r)
{
	struct err err;

	CHECK(memory_poll(r->backend, &err) == 0);
}

/* Count up, and leave a mark of one's own. */
struct mark {
	struct txn txn;
	char id[37], name[16];
	bool done, failed;
};

static char counter_id[37];

static int count_up(struct tx *tx, void *ctx, struct err *err)
{
	struct mark *m = ctx;
	const struct shelf *old = tx_get(tx, &shelf_kind, counter_id);
	struct shelf counter = shelf_of(counter_id, "counter");
	struct shelf mark = shelf_of(m->id, m->name);

	counter.meta.generation = old ? old->meta.generation + 1 : 1;
	if (tx_put(tx, &shelf_kind, &counter, err) < 0)
		return -1;
	return tx_put(tx, &shelf_kind, &mark, err);
}

static void mark_done(struct txn *t, const struct err *err)
{
	struct mark *m = t->ctx;

	CHECK(!m->done && !m->failed);
	m->done = !err;
	m->failed = err != NULL;
}

static void mark_start(struct mark *m, unsigned i, struct store *s)
{
	shelves_id(m->id, 2, i);
	snprintf(m->name, sizeof(m->name), "m%u", i);
	m->txn = (struct txn){.fn = count_up, .done = mark_done, .ctx = m};
	store_transact(s, &m->txn);
}

/* What one server is told: every revision once, in order. */
static void follow(const struct rig *r, struct cursor *c, uint64_t seed)
{
	struct event e;
	uint64_t last = c->revision;
	bool gone;

	while (store_next(r->store, &shelf_kind, c, &e, &gone)) {
		CHECK_SEED(e.now.revision == last + 1, seed);
		last += e.last;
	}
	if (gone)
		*c = (struct cursor){store_revision(r->store), 0};
	CHECK_SEED(c->revision == store_revision(r->store), seed);
}

/* The counter is the number of marks, which are those that were acknowledged,
 * and maybe some that nobody was told of. */
static void check_marks(struct rig *r, const struct mark *marks, unsigned n,
			uint64_t seed)
{
	struct record record;
	int64_t there = 0, counted = 0;

	for (unsigned i = 0; i < n; i++) {
		bool is = store_get(r->store, 0, &shelf_kind, marks[i].id,
				    &record);

		there += is;
		CHECK_SEED(!marks[i].done || is, seed);
		CHECK_SEED(!marks[i].failed || !is, seed);
	}
	if (store_get(r->store, 0, &shelf_kind, counter_id, &record))
		counted = ((const struct meta *)record.object)->generation;
	CHECK_SEED(counted == there, seed);
	CHECK_SEED(store_revision(r->store) == (uint64_t)there, seed);
}

static void step(struct rig *r, struct cursor *c, struct random *random)
{
	if (memory_behind(r->backend)) {
		rig_reopen(r);
		*c = (struct cursor){store_revision(r->store), 0};
	}
	switch (random_below(random, 12)) {
	case 0:
		if (random_below(random, 2))
			memory_write_silently(r->backend);
		rig_reopen(r);
		*c = (struct cursor){store_revision(r->store), 0};
		break;
	case 1:
	case 2:
		hear(r);
		break;
	case 3:
		if (memory_pending(r->backend))
			memory_answer(r->backend, MEMORY_REFUSED);
		break;
	case 4:
		r->clock.now += 1000;
		store_expire(r->store);
		break;
	default:
		if (memory_pending(r->backend))
			memory_answer(r->backend, MEMORY_WRITTEN);
	}
}

static void finish(struct rig *r, struct cursor *c)
{
	if (memory_behind(r->backend)) {
		rig_reopen(r);
		*c = (struct cursor){store_revision(r->store), 0};
	}
	if (memory_pending(r->backend))
		memory_answer(r->backend, MEMORY_WRITTEN);
}

static void run_two(uint64_t seed)
{
	static struct mark marks[MARKS];
	struct cursor cursors[SERVERS] = {0};
	struct rig r[SERVERS];
	struct random_seeded random;
	unsigned n = 0;

	memset(marks, 0, sizeof(marks));
	random_seed(&random, seed);
	open_both(r, 1 + random_below(&random.base, 12));
	for (int i = 0; i < MARKS; i++) {
		int who = (int)random_below(&random.base, SERVERS);

		if (random_below(&random.base, 3)) {
			mark_start(&marks[n], n, r[who].store);
			n++;
		} else {
			step(&r[who], &cursors[who], &random.base);
		}
		follow(&r[who], &cursors[who], seed);
	}
	while (memory_pending(r[0].backend) || memory_pending(r[1].backend))
		for (int i = 0; i < SERVERS; i++)
			finish(&r[i], &cursors[i]);
	for (int i = 0; i < SERVERS; i++) {
		finish(&r[i], &cursors[i]);
		hear(&r[i]);
		follow(&r[i], &cursors[i], seed);
		check_marks(&r[i], marks, n, seed);
		rig_reopen(&r[i]);
		check_marks(&r[i], marks, n, seed);
	}
	release_both(r);
}

static void two_servers_lose_and_double_nothing(void)
{
	for (unsigned seed = 1; seed <= rig_seeds(100, 100); seed++)
		run_two(seed);
}

/* The one whose guard is lost runs its functions again, over the other's. */
static void the_overtaken_are_run_again(void)
{
	struct deed first = {0}, second = {0}, held = {0};
	char id[3][37];
	struct rig r[SERVERS];

	open_both(r, 100);
	deed_shelf(&first, shelves_id(id[0], 1, 0), "a");
	deed_shelf(&second, shelves_id(id[1], 1, 1), "a");
	deed_shelf(&held, shelves_id(id[2], 1, 2), "a");
	deed_start(&first, r[0].store);
	deed_start(&second, r[1].store);
	deed_start(&held, r[1].store);
	memory_answer(r[0].backend, MEMORY_WRITTEN);
	CHECK(first.answers == 1 && first.txn.revision == 1);
	memory_answer(r[1].backend, MEMORY_WRITTEN);
	CHECK(second.runs == 2 && second.err.code == ERR_CONFLICT);
	CHECK(held.runs == 2 && held.err.code == ERR_CONFLICT);
	CHECK(strstr(held.err.msg, id[0]) != NULL);
	CHECK(r[1].store->reruns == 2);
	release_both(r);
}

/* A batch of trims alone has no guard to lose; what was written behind it is
 * run again all the same. */
static void overtake_trims(bool heard_first)
{
	struct deed third = {0}, behind = {0};
	char id[4][37];
	struct rig r[SERVERS];

	open_both(r, 100);
	for (int i = 0; i < 3; i++) {
		struct deed d = {0};

		deed_shelf(&d, shelves_id(id[0], 1, 0), "a");
		CHECK(deed_do(&d, &r[0]) == ERR_NONE);
	}
	hear(&r[1]);
	r[1].store->conf.log_revisions = 1;
	r[1].store->conf.log_age_ms = 0;
	r[1].clock.now += 1;
	store_expire(r[1].store);
	if (!memory_pending(r[1].backend)) {
		CHECK(!"no trims are under way");
		release_both(r);
		return;
	}
	deed_shelf(&behind, shelves_id(id[1], 1, 1), "c");
	deed_start(&behind, r[1].store);
	deed_shelf(&third, shelves_id(id[2], 1, 2), "c");
	CHECK(deed_do(&third, &r[0]) == ERR_NONE);
	if (heard_first)
		hear(&r[1]);
	r[1].ops->settle(&r[1]);
	hear(&r[1]);
	CHECK(behind.answers == 1 && behind.err.code == ERR_CONFLICT);
	CHECK(store_revision(r[1].store) == 4);
	release_both(r);
}

static void trims_alone_are_overtaken_too(void)
{
	overtake_trims(true);
}

static void trims_alone_hide_no_rows(void)
{
	overtake_trims(false);
}

/* The one that keeps more of the past must not write back what the other has
 * trimmed: here a line that the other's tombstone deleted. */
static void the_slower_does_not_undo_trims(void)
{
	struct deed two = {0}, other = {0}, gone = {0};
	char id[4][37], name[16];
	struct rig r[SERVERS];
	struct record record;

	open_both(r, 2);
	r[1].store->conf.log_revisions = 8;
	deed_shelf(&two, shelves_id(id[0], 1, 0), "a");
	deed_shelf(&two, shelves_id(id[1], 1, 1), "b");
	CHECK(deed_do(&two, &r[0]) == ERR_NONE);
	hear(&r[1]);
	deed_shelf(&other, id[0], "c");
	CHECK(deed_do(&other, &r[0]) == ERR_NONE);
	hear(&r[1]);
	deed_delete(&gone, &shelf_kind, id[1]);
	CHECK(deed_do(&gone, &r[0]) == ERR_NONE);
	for (int i = 0; i < 5; i++) {
		struct deed more = {0};

		hear(&r[1]);
		snprintf(name, sizeof(name), "d%d", i);
		deed_shelf(&more, shelves_id(id[2], 1, 2), name);
		CHECK(deed_do(&more, &r[0]) == ERR_NONE);
	}
	/* Now the slower one lets go of revision 2 alone, and so has the first
	 * row rewritten with the line that is still in its own log. */
	for (int i = 0; i < 4; i++) {
		struct deed late = {0};

		hear(&r[1]);
		snprintf(name, sizeof(name), "e%d", i);
		deed_shelf(&late, shelves_id(id[3], 1, 3), name);
		CHECK(deed_do(&late, &r[1]) == ERR_NONE);
		rig_reopen(&r[0]);
		CHECK(!store_get(r[0].store, 0, &shelf_kind, id[1], &record));
	}
	release_both(r);
}

/* Who has missed what is trimmed by now cannot go on, nor pretend to. */
static void who_is_left_behind_must_load_anew(void)
{
	struct deed first = {0}, gone = {0};
	char id[2][37];
	struct rig r[SERVERS];
	struct record record;
	struct err err;

	open_both(r, 1);
	deed_shelf(&first, shelves_id(id[0], 1, 0), "a");
	CHECK(deed_do(&first, &r[0]) == ERR_NONE);
	hear(&r[1]);
	deed_delete(&gone, &shelf_kind, id[0]);
	CHECK(deed_do(&gone, &r[0]) == ERR_NONE);
	for (int i = 0; i < 3; i++) {
		struct deed more = {0};

		deed_shelf(&more, shelves_id(id[1], 1, 1), "b");
		CHECK(deed_do(&more, &r[0]) == ERR_NONE);
	}
	CHECK(memory_behind(r[1].backend));
	CHECK(memory_poll(r[1].backend, &err) < 0 && err.code == ERR_GONE);
	rig_reopen(&r[1]);
	CHECK(!store_get(r[1].store, 0, &shelf_kind, id[0], &record));
	release_both(r);
}

/* What fails while it waits to be run again is told so, once. */
static void the_overtaken_may_fail(void)
{
	struct deed first = {0}, second = {0}, again = {0};
	char id[2][37];
	struct rig r[SERVERS];

	open_both(r, 100);
	deed_shelf(&first, shelves_id(id[0], 1, 0), "a");
	deed_shelf(&second, shelves_id(id[1], 1, 1), "b");
	deed_start(&second, r[1].store);
	CHECK(deed_do(&first, &r[0]) == ERR_NONE);
	hear(&r[1]);
	CHECK(second.answers == 0);
	/* The backend cannot even say that the guard was lost. */
	r[1].store->batch.result = BATCH_FAILED;
	err_set(&r[1].store->batch.err, ERR_UNAVAILABLE, "out of reach");
	r[1].store->batch.done(&r[1].store->batch);
	CHECK(second.answers == 1 && second.err.code == ERR_UNAVAILABLE);
	rig_reopen(&r[1]);
	deed_shelf(&again, id[1], "b");
	CHECK(deed_do(&again, &r[1]) == ERR_NONE && again.txn.revision == 2);
	release_both(r);
}

int main(void)
{
	shelves_id(counter_id, 1, 1);
	RUN(the_overtaken_are_run_again);
	RUN(trims_alone_are_overtaken_too);
	RUN(trims_alone_hide_no_rows);
	RUN(the_slower_does_not_undo_trims);
	RUN(who_is_left_behind_must_load_anew);
	RUN(the_overtaken_may_fail);
	RUN(two_servers_lose_and_double_nothing);
	return test_done();
}

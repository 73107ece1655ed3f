/* Corners of the store, each where something once was or could be wrong. */
#include <stdlib.h>

#include "base/mem.h"
#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "test.h"

static void open_on(struct rig *r, const struct rig_ops *ops)
{
	struct err err;

	rig_init(r, ops);
	if (rig_open(r, &err) < 0)
		CHECK(!err.msg[0]);
}

static void put(struct rig *r, const char *id, const char *name)
{
	struct deed d = {0};

	deed_shelf(&d, id, name);
	CHECK(deed_do(&d, r) == ERR_NONE);
}

static const char *name_of(const struct rig *r, const char *id)
{
	struct record record;

	if (!store_get(r->store, 0, &shelf_kind, id, &record))
		return "nothing";
	return ((const struct meta *)record.object)->name;
}

/* A deed that starts another as soon as it is answered. */
struct chain {
	struct deed first, second;
	struct store *store;
	void (*done)(struct txn *t, const struct err *err);
};

static void start_second(struct txn *t, const struct err *err)
{
	struct chain *c = CONTAINER_OF(t, struct chain, first.txn);

	c->done(t, err);
	deed_start(&c->second, c->store);
}

static void chain_start(struct chain *c, struct store *s)
{
	c->store = s;
	/* The batch is under way when this returns: no answer is missed. */
	deed_start(&c->first, s);
	c->done = c->first.txn.done;
	c->first.txn.done = start_second;
}

static void everyone_is_told_why_a_batch_failed(const struct rig_ops *ops)
{
	struct chain c = {0};
	struct deed after = {0};
	char id[3][37];
	struct rig r;

	open_on(&r, ops);
	deed_shelf(&c.first, shelves_id(id[0], 1, 0), "a");
	deed_shelf(&c.second, shelves_id(id[1], 1, 1), "b");
	deed_shelf(&after, shelves_id(id[2], 1, 2), "c");
	ops->fill(&r, true);
	chain_start(&c, r.store);
	deed_start(&after, r.store);
	ops->settle(&r);
	ops->fill(&r, false);
	CHECK(c.first.err.code == ERR_UNAVAILABLE && c.first.err.msg[0]);
	CHECK(after.err.code == ERR_UNAVAILABLE && after.err.msg[0]);
	CHECK(c.second.answers == 1);
	CHECK(c.second.err.code == ERR_UNAVAILABLE);
	rig_release(&r);
}

static void a_transaction_may_begin_in_an_answer(const struct rig_ops *ops)
{
	struct chain c = {0};
	struct deed beside = {0}, held = {0};
	char id[4][37];
	struct rig r;

	open_on(&r, ops);
	deed_shelf(&c.first, shelves_id(id[0], 1, 0), "a");
	deed_shelf(&c.second, shelves_id(id[1], 1, 1), "b");
	deed_shelf(&beside, shelves_id(id[2], 1, 2), "c");
	deed_shelf(&held, shelves_id(id[3], 1, 3), "a");
	chain_start(&c, r.store);
	deed_start(&beside, r.store);
	deed_start(&held, r.store);
	ops->settle(&r);
	CHECK(c.first.answers == 1 && c.second.answers == 1);
	CHECK(beside.answers == 1 && held.answers == 1);
	CHECK(held.err.code == ERR_CONFLICT);
	CHECK(store_revision(r.store) == 3);
	rig_release(&r);
}

/* Watchers that remove each other: whoever is woken first frees the rest. */
struct party {
	struct watcher watcher;
	struct party **all;
	unsigned woken;
};

static void leave_alone(struct watcher *w)
{
	struct party *p = CONTAINER_OF(w, struct party, watcher);

	p->woken++;
	for (int i = 0; i < 4; i++) {
		if (!p->all[i] || p->all[i] == p)
			continue;
		store_unwatch(&p->all[i]->watcher);
		free(p->all[i]);
		p->all[i] = NULL;
	}
}

static void a_watcher_may_remove_any_other(const struct rig_ops *ops)
{
	struct party *all[4];
	struct rig r;
	char id[37];
	int left = 0;

	open_on(&r, ops);
	for (int i = 0; i < 4; i++) {
		all[i] = xcalloc(1, sizeof(*all[i]));
		all[i]->all = all;
		all[i]->watcher.wake = leave_alone;
		store_watch(r.store, &all[i]->watcher);
	}
	put(&r, shelves_id(id, 1, 1), "a");
	put(&r, id, "b");
	for (int i = 0; i < 4; i++) {
		if (!all[i])
			continue;
		left++;
		CHECK(all[i]->woken == 2);
		store_unwatch(&all[i]->watcher);
		free(all[i]);
	}
	CHECK(left == 1);
	rig_release(&r);
}

/* Writing an object twice, the second time made of the first. */
static int write_twice(struct tx *tx, void *ctx, struct err *err)
{
	struct shelf shelf = shelf_of(ctx, "a"), again;
	const struct shelf *first;

	if (tx_put(tx, &shelf_kind, &shelf, err) < 0)
		return -1;
	first = tx_get(tx, &shelf_kind, ctx);
	again = *first;
	again.meta.description = "the second";
	if (tx_put(tx, &shelf_kind, &again, err) < 0)
		return -1;
	first = tx_get(tx, &shelf_kind, ctx);
	if (tx_delete(tx, &shelf_kind, first->meta.id, err) < 0)
		return -1;
	return tx_put(tx, &shelf_kind, &shelf, err);
}

static void note_answer(struct txn *t, const struct err *err)
{
	(void)t;
	CHECK(!err);
}

static void an_object_may_be_written_twice(const struct rig_ops *ops)
{
	struct cursor cursor = {0};
	struct event event;
	struct rig r;
	char id[37];
	struct txn t = {write_twice, note_answer, id};
	bool gone;

	open_on(&r, ops);
	shelves_id(id, 1, 1);
	store_transact(r.store, &t);
	ops->settle(&r);
	CHECK(t.revision == 1);
	CHECK_STR(name_of(&r, id), "a");
	CHECK(store_next(r.store, &shelf_kind, &cursor, &event, &gone));
	CHECK(event.last && event.now.revision == 1 && !event.before.object);
	CHECK(!store_next(r.store, &shelf_kind, &cursor, &event, &gone));
	rig_reopen(&r);
	CHECK_STR(name_of(&r, id), "a");
	rig_release(&r);
}

/* One takes a name that another has given up after the first had been written
 * before: in the row they stand the other way round. */
static void names_are_handed_on_in_a_transaction(const struct rig_ops *ops)
{
	struct deed swap = {0}, third = {0}, failed = {0}, last = {0};
	char id[3][37];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(id[0], 1, 0), "ant");
	put(&r, shelves_id(id[1], 1, 1), "bee");
	shelves_id(id[2], 1, 2);
	deed_shelf(&swap, id[1], "cow");
	deed_shelf(&swap, id[0], "dog");
	deed_shelf(&swap, id[1], "ant");
	CHECK(deed_do(&swap, &r) == ERR_NONE);
	rig_reopen(&r);
	CHECK_STR(name_of(&r, id[1]), "ant");
	deed_shelf(&third, id[2], "ant");
	CHECK(deed_do(&third, &r) == ERR_CONFLICT);
	/* The same, taken back. */
	deed_shelf(&failed, id[0], "eel");
	deed_shelf(&failed, id[1], "fox");
	deed_shelf(&failed, id[0], "ant");
	deed_fail(&failed);
	CHECK(deed_do(&failed, &r) == ERR_QUOTA);
	deed_shelf(&last, id[2], "dog");
	CHECK(deed_do(&last, &r) == ERR_CONFLICT);
	rig_release(&r);
}

/* A name may be free because of a write that is not durable: whoever has seen
 * that waits. */
static void a_free_name_is_a_thing_seen(const struct rig_ops *ops)
{
	struct deed gone = {0}, plan = {0};
	char id[2][37];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(id[0], 1, 0), "a");
	deed_delete(&gone, &shelf_kind, id[0]);
	deed_shelf(&plan, shelves_id(id[1], 1, 1), "a");
	deed_fail(&plan);
	deed_start(&gone, r.store);
	deed_start(&plan, r.store);
	CHECK(plan.answers == 0);
	ops->settle(&r);
	CHECK(plan.answers == 1 && plan.err.code == ERR_QUOTA);
	rig_release(&r);
}

/* What a provider says may be anything; it must not lock us out. */
static void odd_bytes_can_be_read_again(const struct rig_ops *ops)
{
	struct deed d = {0};
	char id[37];
	struct rig r;

	open_on(&r, ops);
	deed_shelf(&d, shelves_id(id, 1, 1), "a");
	d.steps[0].shelf.meta.description =
		"\xff\xc3 \x01\x7f\n\r\t\"\\ \xed\xa0\x80 \xf4\x90\x80\x80";
	CHECK(deed_do(&d, &r) == ERR_NONE);
	rig_reopen(&r);
	CHECK_STR(name_of(&r, id), "a");
	rig_release(&r);
}

static void recalling_ones_own_key_holds_nothing(const struct rig_ops *ops)
{
	struct deed d = {0};
	struct rig r;
	char id[37];

	open_on(&r, ops);
	deed_shelf(&d, shelves_id(id, 1, 1), "a");
	deed_remember(&d, "key", id);
	deed_recall(&d, "key");
	deed_fail(&d);
	deed_start(&d, r.store);
	CHECK(d.answers == 1 && d.err.code == ERR_QUOTA && d.recalled);
	rig_release(&r);
}

/* A tombstone is past the log while an undurable version stands on it.  When
 * that fails, nothing may be left of either. */
static void an_expired_tombstone_goes_in_the_end(const struct rig_ops *ops)
{
	struct deed gone = {0}, again = {0};
	char id[37], other[37];
	struct store_stats stats;
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.log_revisions = 2;
	CHECK(rig_open(&r, &err) == 0);
	put(&r, shelves_id(id, 1, 1), "a");
	deed_delete(&gone, &shelf_kind, id);
	CHECK(deed_do(&gone, &r) == ERR_NONE);
	put(&r, shelves_id(other, 1, 2), "b");
	/* Keeping the log: the tombstone expires under the next one. */
	r.store->conf.log_revisions = 100;
	put(&r, other, "c");
	put(&r, other, "d");
	deed_shelf(&again, id, "a");
	r.store->conf.log_revisions = 1;
	ops->fill(&r, true);
	deed_start(&again, r.store);
	store_stats(r.store, &stats);
	CHECK(stats.oldest >= 2);
	ops->settle(&r);
	ops->fill(&r, false);
	CHECK(again.err.code == ERR_UNAVAILABLE);
	CHECK(!cache_find(store_cache(r.store, &shelf_kind), id));
	rig_reopen(&r);
	CHECK_STR(name_of(&r, id), "nothing");
	rig_release(&r);
}

/* Trims that cannot be written wait for the next change; they do not keep a
 * full disk busy. */
static void trims_do_not_hammer_a_full_disk(const struct rig_ops *ops)
{
	struct store_stats stats;
	struct deed d = {0};
	char id[37];
	struct rig r;

	open_on(&r, ops);
	for (int i = 0; i < 5; i++)
		put(&r, shelves_id(id, 1, 1), "a");
	r.store->conf.log_revisions = 1;
	deed_shelf(&d, id, "b");
	ops->fill(&r, true);
	deed_start(&d, r.store);
	ops->settle(&r);
	ops->fill(&r, false);
	store_stats(r.store, &stats);
	CHECK(stats.failures == 1);
	put(&r, id, "c");
	store_stats(r.store, &stats);
	CHECK(stats.failures == 1);
	if (r.disk)
		CHECK(disk_rows(r.disk) <= 2);
	rig_release(&r);
}

static void expiring_alone_trims_the_disk(const struct rig_ops *ops)
{
	struct rig r;
	char id[37];

	open_on(&r, ops);
	for (int i = 0; i < 9; i++)
		put(&r, shelves_id(id, 1, 1), "a");
	r.clock.now += 2 * 3600 * 1000;
	store_expire(r.store);
	ops->settle(&r);
	if (r.disk)
		CHECK(disk_rows(r.disk) == 2); /* and what it replaced */
	rig_reopen(&r);
	CHECK(store_revision(r.store) == 9 && r.store->history.n == 1);
	rig_release(&r);
}

static void a_store_may_be_closed_in_mid_flight(const struct rig_ops *ops)
{
	struct deed d[3] = {0};
	char id[3][37], name[3][8];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(id[0], 1, 0), "a");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u", i);
		deed_shelf(&d[i], shelves_id(id[i], 1, i), name[i]);
		deed_start(&d[i], r.store);
	}
	r.store->conf.log_revisions = 1;
	rig_reopen(&r);
	CHECK(d[0].answers + d[1].answers + d[2].answers == 0);
	/* The first had begun; whether it ended is the disk's to say. */
	CHECK(store_revision(r.store) == 1 || store_revision(r.store) == 2);
	rig_release(&r);
}

static void a_missing_row_is_noticed(void)
{
	struct err err = {0};
	struct rig r;
	char id[37];

	open_on(&r, rig_backends[0]);
	for (int i = 0; i < 5; i++)
		put(&r, shelves_id(id, 1, 1), "a");
	rig_close(&r);
	disk_tear(r.disk, 3);
	CHECK(rig_open(&r, &err) < 0);
	CHECK(err.code == ERR_INTERNAL && strstr(err.msg, "missing"));
	r.store = NULL;
	rig_release(&r);
}

static void the_past_is_pinned_while_it_is_read(const struct rig_ops *ops)
{
	struct record record;
	struct pin pin;
	struct rig r;
	struct err err;
	char id[37], name[8];

	rig_init(&r, ops);
	r.conf.log_revisions = 2;
	CHECK(rig_open(&r, &err) == 0);
	put(&r, shelves_id(id, 1, 1), "n0");
	store_pin(r.store, &pin, 1);
	for (int i = 1; i < 30; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put(&r, id, name);
		CHECK(store_check_at(r.store, 1, &err) == 0);
	}
	CHECK(store_get(r.store, 1, &shelf_kind, id, &record));
	CHECK_STR(((const struct meta *)record.object)->name, "n0");
	store_unpin(&pin);
	put(&r, id, "last");
	CHECK(store_check_at(r.store, 1, &err) < 0 && err.code == ERR_GONE);
	rig_release(&r);
}

int main(void)
{
	RUN_ON_ALL(everyone_is_told_why_a_batch_failed);
	RUN_ON_ALL(a_transaction_may_begin_in_an_answer);
	RUN_ON_ALL(a_watcher_may_remove_any_other);
	RUN_ON_ALL(an_object_may_be_written_twice);
	RUN_ON_ALL(names_are_handed_on_in_a_transaction);
	RUN_ON_ALL(a_free_name_is_a_thing_seen);
	RUN_ON_ALL(odd_bytes_can_be_read_again);
	RUN_ON_ALL(recalling_ones_own_key_holds_nothing);
	RUN_ON_ALL(an_expired_tombstone_goes_in_the_end);
	RUN_ON_ALL(trims_do_not_hammer_a_full_disk);
	RUN_ON_ALL(expiring_alone_trims_the_disk);
	RUN_ON_ALL(a_store_may_be_closed_in_mid_flight);
	RUN(a_missing_row_is_noticed);
	RUN_ON_ALL(the_past_is_pinned_while_it_is_read);
	return test_done();
}

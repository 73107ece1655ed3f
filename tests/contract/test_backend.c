/* What every backend must do, through the store on top of it. */
#include "rig/rig.h"
#include "store/memory.h"
#include "test.h"

enum { MANY = 300 };

static void open_on(struct rig *r, const struct rig_ops *ops)
{
	struct err err;

	rig_init(r, ops);
	if (rig_open(r, &err) < 0)
		CHECK(!err.msg[0]);
}

static const char *name_at(const struct rig *r, uint64_t at, const char *id)
{
	struct record record;

	if (!store_get(r->store, at, &shelf_kind, id, &record))
		return "nothing";
	return ((const struct meta *)record.object)->name;
}

static size_t count(const struct rig *r, uint64_t at, const struct kind *k)
{
	struct scan scan = store_scan(r->store, at, k, NULL);
	struct record record;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &record, &effort))
		n++;
	return n;
}

/* Put shelf ID with NAME; its revision. */
static uint64_t put(struct rig *r, const char *id, const char *name)
{
	struct deed d = {0};

	deed_shelf(&d, id, name);
	CHECK(deed_do(&d, r) == ERR_NONE);
	return d.txn.revision;
}

static enum err_code remove_shelf(struct rig *r, const char *id)
{
	struct deed d = {0};

	deed_delete(&d, &shelf_kind, id);
	return deed_do(&d, r);
}

static void committed_is_there_after_reopening(const struct rig_ops *ops)
{
	char id[2][37], copy[400];
	struct record record;
	struct rig r;
	size_t len;

	open_on(&r, ops);
	shelves_id(id[0], 1, 1);
	shelves_id(id[1], 1, 2);
	CHECK(put(&r, id[0], "first") == 1);
	CHECK(put(&r, id[1], "second") == 2);
	CHECK(put(&r, id[0], "third") == 3);
	CHECK(store_get(r.store, 0, &shelf_kind, id[0], &record));
	len = record.len;
	memcpy(copy, record.json, len + 1);
	rig_reopen(&r);
	CHECK(store_revision(r.store) == 3);
	CHECK_STR(name_at(&r, 0, id[0]), "third");
	CHECK_STR(name_at(&r, 2, id[0]), "first");
	CHECK_STR(name_at(&r, 1, id[1]), "nothing");
	CHECK(store_get(r.store, 0, &shelf_kind, id[0], &record));
	CHECK(record.revision == 3 && record.len == len);
	CHECK(memcmp(record.json, copy, len) == 0);
	CHECK(put(&r, id[1], "fourth") == 4);
	rig_release(&r);
}

static void revisions_have_no_gap_and_keep_the_order(const struct rig_ops *ops)
{
	static struct deed deeds[MANY];
	static char ids[MANY][37], names[MANY][16];
	struct rig r;

	memset(deeds, 0, sizeof(deeds));
	rig_init(&r, ops);
	r.conf.batch_most = 16;
	CHECK(rig_open(&r, &deeds[0].err) == 0);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		deed_shelf(&deeds[i], shelves_id(ids[i], 1, i), names[i]);
		if (i % 3 == 1)
			deed_fail(&deeds[i]);
		deed_start(&deeds[i], r.store);
	}
	ops->settle(&r);
	for (unsigned i = 0; i < MANY; i++) {
		bool fails = i % 3 == 1;

		CHECK(deeds[i].answers == 1);
		CHECK(deeds[i].err.code == (fails ? ERR_QUOTA : ERR_NONE));
		CHECK(deeds[i].txn.revision ==
		      (fails ? 0 : i + 1 - (i + 1) / 3));
	}
	CHECK(store_revision(r.store) == MANY - MANY / 3);
	rig_reopen(&r);
	CHECK(store_revision(r.store) == MANY - MANY / 3);
	CHECK(count(&r, 0, &shelf_kind) == MANY - MANY / 3);
	rig_release(&r);
}

static void trims_and_the_horizon_survive(const struct rig_ops *ops)
{
	struct store_stats before, after;
	char id[37], name[16];
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.log_revisions = 4;
	CHECK(rig_open(&r, &err) == 0);
	shelves_id(id, 1, 1);
	for (int i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put(&r, id, name);
	}
	store_stats(r.store, &before);
	CHECK(before.durable == 20 && before.oldest >= 14);
	rig_reopen(&r);
	store_stats(r.store, &after);
	CHECK(after.durable == 20 && after.oldest == before.oldest);
	CHECK(store_check_at(r.store, after.oldest - 1, &err) < 0 &&
	      err.code == ERR_GONE);
	CHECK(store_check_at(r.store, 21, &err) < 0 && err.code == ERR_INVALID);
	for (uint64_t at = after.oldest; at <= 20; at++) {
		CHECK(store_check_at(r.store, at, &err) == 0);
		snprintf(name, sizeof(name), "n%llu", (unsigned long long)at);
		CHECK_STR(name_at(&r, at, id), name);
	}
	if (r.disk)
		CHECK(disk_rows(r.disk) <= 6);
	rig_release(&r);
}

static void the_deleted_do_not_come_back(const struct rig_ops *ops)
{
	char ids[10][37], name[16];
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.log_revisions = 3;
	CHECK(rig_open(&r, &err) == 0);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put(&r, shelves_id(ids[i], 1, i), name);
	}
	for (unsigned i = 0; i < 9; i++) {
		CHECK(remove_shelf(&r, ids[i]) == ERR_NONE);
		CHECK(remove_shelf(&r, ids[i]) == ERR_NOT_FOUND);
		rig_reopen(&r);
		CHECK(count(&r, 0, &shelf_kind) == 9 - i);
	}
	for (int i = 0; i < 8; i++) {
		put(&r, ids[9], "again");
		rig_reopen(&r);
		CHECK(count(&r, 0, &shelf_kind) == 1);
	}
	/* Nothing is left of them but the log. */
	if (r.disk)
		CHECK(disk_rows(r.disk) <= 5);
	rig_release(&r);
}

static uint64_t recall(struct rig *r, const char *key)
{
	struct deed d = {0};

	deed_recall(&d, key);
	CHECK(deed_do(&d, r) == ERR_NONE && d.txn.revision == 0);
	return d.recalled ? d.recalled_revision : 0;
}

static void what_was_answered_is_remembered(const struct rig_ops *ops)
{
	struct deed d = {0};
	char id[37], other[37];
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.log_revisions = 5;
	CHECK(rig_open(&r, &err) == 0);
	put(&r, shelves_id(other, 1, 2), "other");
	CHECK(recall(&r, "key") == 0);
	deed_shelf(&d, shelves_id(id, 1, 1), "made");
	deed_remember(&d, "key", id);
	CHECK(deed_do(&d, &r) == ERR_NONE);
	CHECK(recall(&r, "key") == 2);
	rig_reopen(&r);
	CHECK(recall(&r, "key") == 2);
	/* The version that was answered with, whatever came of it. */
	CHECK(remove_shelf(&r, id) == ERR_NONE);
	rig_reopen(&r);
	CHECK(recall(&r, "key") == 2);
	for (int i = 0; i < 6; i++)
		put(&r, other, "again");
	CHECK(recall(&r, "key") == 0);
	rig_reopen(&r);
	CHECK(recall(&r, "key") == 0);
	rig_release(&r);
}

static void a_function_sees_what_readers_do_not(const struct rig_ops *ops)
{
	struct deed first = {0}, second = {0}, third = {0};
	char shelf[37], id[37];
	struct record record;
	struct book book;
	struct rig r;

	open_on(&r, ops);
	deed_shelf(&first, shelves_id(shelf, 1, 1), "a");
	book = book_of(shelves_id(id, 2, 1), "b", shelf);
	deed_book(&second, &book); /* refers to what is not durable */
	deed_delete(&third, &book_kind, id);
	deed_start(&first, r.store);
	deed_start(&second, r.store);
	deed_start(&third, r.store);
	CHECK(first.answers + second.answers + third.answers == 0);
	CHECK(!store_get(r.store, 0, &shelf_kind, shelf, &record));
	CHECK(count(&r, 0, &book_kind) == 0 && store_revision(r.store) == 0);
	ops->settle(&r);
	CHECK(first.err.code == ERR_NONE && second.err.code == ERR_NONE);
	CHECK(third.err.code == ERR_NONE && third.txn.revision == 3);
	CHECK(count(&r, 2, &book_kind) == 1 && count(&r, 3, &book_kind) == 0);
	rig_release(&r);
}

static void refusals_wait_for_what_they_rest_on(const struct rig_ops *ops)
{
	struct deed writes = {0}, clashes = {0}, looks = {0}, alone = {0};
	char one[37], two[37];
	struct rig r;

	open_on(&r, ops);
	deed_shelf(&writes, shelves_id(one, 1, 1), "name");
	deed_shelf(&clashes, shelves_id(two, 1, 2), "name");
	deed_delete(&looks, &shelf_kind, one);
	deed_fail(&looks);
	deed_fail(&alone);
	deed_start(&writes, r.store);
	deed_start(&clashes, r.store);
	deed_start(&looks, r.store);
	deed_start(&alone, r.store);
	CHECK(writes.answers == 0 && clashes.answers == 0);
	CHECK(looks.answers == 0);
	CHECK(alone.answers == 1); /* it saw nothing */
	ops->settle(&r);
	CHECK(writes.err.code == ERR_NONE);
	CHECK(clashes.err.code == ERR_CONFLICT);
	CHECK_STR(clashes.err.field, "/name");
	CHECK(looks.err.code == ERR_QUOTA);
	CHECK(writes.order < clashes.order && clashes.order < looks.order);
	rig_release(&r);
}

static void a_failed_batch_leaves_nothing(const struct rig_ops *ops)
{
	struct deed d[5] = {0};
	char id[5][37], name[5][8];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(id[0], 1, 0), "kept");
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u", i);
		deed_shelf(&d[i], shelves_id(id[i], 1, i), name[i]);
	}
	/* The fourth is a refusal that rests on what fails. */
	d[3].steps[0].shelf.meta.name = name[2];
	ops->fill(&r, true);
	for (unsigned i = 0; i < 5; i++)
		deed_start(&d[i], r.store);
	ops->settle(&r);
	ops->fill(&r, false);
	for (unsigned i = 0; i < 5; i++) {
		CHECK(d[i].answers == 1);
		CHECK(d[i].err.code == ERR_UNAVAILABLE);
	}
	CHECK(store_revision(r.store) == 1 && count(&r, 0, &shelf_kind) == 1);
	CHECK_STR(name_at(&r, 0, id[0]), "kept");
	/* The next works, at the next revision. */
	CHECK(put(&r, id[1], "later") == 2);
	rig_reopen(&r);
	CHECK(store_revision(r.store) == 2 && count(&r, 0, &shelf_kind) == 2);
	CHECK_STR(name_at(&r, 0, id[0]), "kept");
	rig_release(&r);
}

static void names_are_unique(const struct rig_ops *ops)
{
	struct deed two = {0}, moved = {0}, clash = {0}, freed = {0};
	char shelf[2][37], id[3][37];
	struct book book[4];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(shelf[0], 1, 1), "a");
	put(&r, shelves_id(shelf[1], 1, 2), "b");
	for (unsigned i = 0; i < 3; i++)
		shelves_id(id[i], 2, i);
	/* The same name on two shelves, then moved together. */
	book[0] = book_of(id[0], "same", shelf[0]);
	book[1] = book_of(id[1], "same", shelf[1]);
	deed_book(&two, &book[0]);
	deed_book(&two, &book[1]);
	CHECK(deed_do(&two, &r) == ERR_NONE);
	book[2] = book_of(id[1], "same", shelf[0]);
	deed_book(&moved, &book[2]);
	CHECK(deed_do(&moved, &r) == ERR_CONFLICT);
	rig_reopen(&r);
	book[3] = book_of(id[2], "same", shelf[1]);
	deed_book(&clash, &book[3]);
	CHECK(deed_do(&clash, &r) == ERR_CONFLICT);
	CHECK(strstr(clash.err.msg, id[1]) != NULL);
	/* A name that a transaction frees is its own to give. */
	deed_delete(&freed, &book_kind, id[1]);
	deed_book(&freed, &book[3]);
	CHECK(deed_do(&freed, &r) == ERR_NONE);
	rig_release(&r);
}

static void references_hold(const struct rig_ops *ops)
{
	struct deed bad = {0}, list = {0}, all = {0}, last = {0};
	char shelf[2][37], nowhere[37], id[37];
	const char *also[2];
	struct book book;
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(shelf[0], 1, 1), "a");
	put(&r, shelves_id(shelf[1], 1, 2), "b");
	book = book_of(shelves_id(id, 2, 1), "b", shelves_id(nowhere, 1, 9));
	deed_book(&bad, &book);
	CHECK(deed_do(&bad, &r) == ERR_INVALID);
	CHECK_STR(bad.err.field, "/shelfId");
	book.shelf_id = shelf[0];
	also[0] = also[1] = shelf[1];
	book.also = (struct items){also, 2};
	deed_book(&list, &book);
	CHECK(deed_do(&list, &r) == ERR_NONE);
	rig_reopen(&r);
	CHECK(remove_shelf(&r, shelf[0]) == ERR_CONFLICT);
	CHECK(remove_shelf(&r, shelf[1]) == ERR_CONFLICT);
	/* User and used may go together, but in order. */
	deed_delete(&all, &shelf_kind, shelf[0]);
	deed_delete(&all, &book_kind, id);
	CHECK(deed_do(&all, &r) == ERR_CONFLICT);
	deed_delete(&last, &book_kind, id);
	deed_delete(&last, &shelf_kind, shelf[0]);
	deed_delete(&last, &shelf_kind, shelf[1]);
	CHECK(deed_do(&last, &r) == ERR_NONE);
	rig_release(&r);
}

/* What is going away keeps its users, but gets no new ones. */
static void nothing_new_refers_to_what_goes_away(const struct rig_ops *ops)
{
	struct deed old = {0}, going = {0}, same = {0}, new = {0};
	char shelf[37], id[2][37];
	struct book book;
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(shelf, 1, 1), "a");
	book = book_of(shelves_id(id[0], 2, 0), "b", shelf);
	deed_book(&old, &book);
	CHECK(deed_do(&old, &r) == ERR_NONE);
	deed_shelf(&going, shelf, "a");
	going.steps[0].shelf.meta.deleted_at = 1700000000000;
	CHECK(deed_do(&going, &r) == ERR_NONE);
	book.color = COLOR_RED;
	deed_book(&same, &book);
	CHECK(deed_do(&same, &r) == ERR_NONE);
	book = book_of(shelves_id(id[1], 2, 1), "c", shelf);
	deed_book(&new, &book);
	CHECK(deed_do(&new, &r) == ERR_CONFLICT);
	CHECK_STR(new.err.field, "/shelfId");
	rig_release(&r);
}

static void what_is_in_use_names_its_users(const struct rig_ops *ops)
{
	char shelf[2][37], id[37], name[16];
	struct rig r;

	open_on(&r, ops);
	put(&r, shelves_id(shelf[0], 1, 1), "a");
	put(&r, shelves_id(shelf[1], 1, 2), "b");
	for (unsigned i = 0; i < 8; i++) {
		struct deed one = {0}, gone = {0};
		const char *also[1] = {shelf[1]};
		struct book book;

		snprintf(name, sizeof(name), "book-%u", i);
		/* Some by the one field, some by the other, one by both. */
		book = book_of(shelves_id(id, 2, i), name, shelf[i < 5]);
		if (i >= 5)
			book.also = (struct items){also, 1};
		deed_book(&one, &book);
		CHECK(deed_do(&one, &r) == ERR_NONE);
		deed_delete(&gone, &shelf_kind, shelf[1]);
		CHECK(deed_do(&gone, &r) == ERR_CONFLICT);
		CHECK(strstr(gone.err.msg, "\"book-0\"") != NULL);
		CHECK(!!strstr(gone.err.msg, name) == (i < 5));
		if (i == 7)
			CHECK(strstr(gone.err.msg, " and 3 more") != NULL);
	}
	rig_release(&r);
}

static void too_many_at_once_are_refused(const struct rig_ops *ops)
{
	struct deed d[6] = {0};
	char id[6][37], name[6][8];
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.pending_most = 4;
	CHECK(rig_open(&r, &err) == 0);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u", i);
		deed_shelf(&d[i], shelves_id(id[i], 1, i), name[i]);
		deed_start(&d[i], r.store);
		CHECK(d[i].answers == (i >= 4));
	}
	ops->settle(&r);
	for (unsigned i = 0; i < 6; i++)
		CHECK(d[i].err.code == (i < 4 ? ERR_NONE : ERR_UNAVAILABLE));
	CHECK(put(&r, id[5], "later") == 5);
	rig_release(&r);
}

/* They go on at the pace of the clock that cannot be set. */
static void times_never_go_back(const struct rig_ops *ops)
{
	struct deed d[3] = {0};
	struct rig r;
	char id[37];

	open_on(&r, ops);
	for (int i = 0; i < 3; i++)
		deed_shelf(&d[i], shelves_id(id, 1, 1), "a");
	CHECK(deed_do(&d[0], &r) == ERR_NONE);
	r.clock.now -= 3600 * 1000;
	CHECK(deed_do(&d[1], &r) == ERR_NONE);
	rig_reopen(&r);
	r.clock.now += 1000;
	CHECK(deed_do(&d[2], &r) == ERR_NONE);
	CHECK(d[1].at == d[0].at && d[2].at == d[0].at + 1000);
	rig_release(&r);
}

int main(void)
{
	RUN_ON_ALL(committed_is_there_after_reopening);
	RUN_ON_ALL(revisions_have_no_gap_and_keep_the_order);
	RUN_ON_ALL(trims_and_the_horizon_survive);
	RUN_ON_ALL(the_deleted_do_not_come_back);
	RUN_ON_ALL(what_was_answered_is_remembered);
	RUN_ON_ALL(a_function_sees_what_readers_do_not);
	RUN_ON_ALL(refusals_wait_for_what_they_rest_on);
	RUN_ON_ALL(a_failed_batch_leaves_nothing);
	RUN_ON_ALL(names_are_unique);
	RUN_ON_ALL(references_hold);
	RUN_ON_ALL(nothing_new_refers_to_what_goes_away);
	RUN_ON_ALL(what_is_in_use_names_its_users);
	RUN_ON_ALL(too_many_at_once_are_refused);
	RUN_ON_ALL(times_never_go_back);
	return test_done();
}

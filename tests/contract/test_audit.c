/* The audit trail, on every backend: durable with what it tells of, in order,
 * bounded, and a chain that holds. */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/audit.h"
#include "store/memory.h"
#include "store/sqlite.h"
#include "store/store_priv.h"
#include "test.h"

#define ACME "00000000-0000-4000-8000-00000000acce"

static void open_on(struct rig *r, const struct rig_ops *ops)
{
	struct err err;

	rig_init(r, ops);
	if (rig_open(r, &err) < 0)
		CHECK(!err.msg[0]);
}

/* A change with its entry. */
struct act {
	struct txn txn;
	char id[37], text[160];
	const char *organization, *name;
	bool fail;
	enum err_code code;
};

static int do_act(struct tx *tx, void *ctx, struct err *err)
{
	struct act *a = ctx;
	struct shelf shelf = shelf_of(a->id, a->name);

	tx_audit(tx, a->organization, a->text);
	if (a->fail)
		return err_set(err, ERR_FORBIDDEN, "no");
	return tx_put(tx, &shelf_kind, &shelf, err);
}

static void act_done(struct txn *t, const struct err *err)
{
	((struct act *)t->ctx)->code = err ? err->code : ERR_NONE;
}

static void start(struct rig *r, struct act *a, unsigned i, const char *who)
{
	*a = (struct act){.name = "n", .code = ERR_CODE_COUNT};
	shelves_id(a->id, 1, i);
	a->name = a->id;
	snprintf(a->text, sizeof(a->text),
		 "{\"who\":{\"id\":\"%s\",\"name\":\"user:%s\"},"
		 "\"action\":\"create\",\"kind\":\"shelf\",\"objectId\":\"%s\","
		 "\"result\":\"ok\"}",
		 who, who, a->id);
	a->organization = i % 2 ? ACME : NULL;
	a->txn = (struct txn){.fn = do_act, .done = act_done, .ctx = a};
	store_transact(r->store, &a->txn);
}

static void act(struct rig *r, unsigned i, const char *who)
{
	struct act a;

	start(r, &a, i, who);
	r->ops->settle(r);
	CHECK(a.code == ERR_NONE);
}

static void refuse(struct rig *r)
{
	static const char text[] = "{\"result\":\"forbidden\"}";

	store_note(r->store, ACME, text, sizeof(text) - 1);
}

static void found(struct audit_query *q)
{
	struct rig *r = q->ctx;

	q->ctx = NULL;
	if (r->loop)
		loop_stop(r->loop);
}

static struct audit_query *look(struct rig *r, const struct audit_filter *f)
{
	struct audit_query *q = audit_query_new(f, true);

	q->ctx = r;
	q->done = found;
	if (!q->filter.limit)
		q->filter.limit = 10000;
	store_audit(r->store, q);
	if (q->ctx)
		loop_run(r->loop);
	if (q->err.code)
		CHECK(!q->err.msg[0]);
	return q;
}

static size_t count(struct rig *r, const struct audit_filter *f)
{
	struct audit_query *q = look(r, f);
	size_t n = q->n;

	audit_query_free(q);
	return n;
}

static bool holds(struct rig *r)
{
	struct audit_report report;
	struct err err = {0};

	if (r->disk)
		return disk_audits_hold(r->disk);
	if (sqlite_audit_verify(r->dir, NULL, &report, &err) == 0)
		return true;
	printf("# %s\n", err.msg);
	return false;
}

static void every_change_has_its_entry_in_order(const struct rig_ops *ops)
{
	struct audit_query *q;
	const char *p;
	struct rig r;

	open_on(&r, ops);
	for (unsigned i = 0; i < 20; i++)
		act(&r, i, i % 3 ? "ann" : "bob");
	rig_reopen(&r);
	act(&r, 20, "ann");
	q = look(&r, &(struct audit_filter){0});
	CHECK(q->n == 21 && !q->next);
	p = buf_str(&q->text);
	for (unsigned i = 21; i-- > 0;) {
		char id[37], head[64];

		snprintf(head, sizeof(head), "{\"seq\":%u,", i + 1);
		p = strstr(p, head);
		CHECK(p && strstr(p, shelves_id(id, 1, i)) < strchr(p, '\n'));
		snprintf(head, sizeof(head), "\"revision\":%u,", i + 1);
		CHECK(p && strstr(p, head) < strchr(p, '\n'));
	}
	audit_query_free(q);
	CHECK(holds(&r));
	rig_release(&r);
}

static void a_failed_batch_leaves_no_entry(const struct rig_ops *ops)
{
	struct act a;
	struct rig r;

	open_on(&r, ops);
	act(&r, 0, "ann");
	ops->fill(&r, true);
	start(&r, &a, 1, "ann");
	refuse(&r);
	ops->settle(&r);
	ops->fill(&r, false);
	CHECK(a.code == ERR_UNAVAILABLE);
	CHECK(count(&r, &(struct audit_filter){.result = "ok"}) == 1);
	act(&r, 2, "ann");
	CHECK(count(&r, &(struct audit_filter){.result = "ok"}) == 2);
	/* The note of the refused one waited for the next batch. */
	CHECK(count(&r, &(struct audit_filter){.result = "forbidden"}) == 1);
	CHECK(holds(&r));
	rig_reopen(&r);
	CHECK(count(&r, &(struct audit_filter){0}) == 3);
	CHECK(holds(&r));
	rig_release(&r);
}

static void a_refusal_costs_no_revision_and_waits(const struct rig_ops *ops)
{
	struct store_stats stats;
	struct act a;
	struct rig r;

	open_on(&r, ops);
	act(&r, 0, "ann");
	start(&r, &a, 1, "ann");
	ops->settle(&r);
	a.fail = true;
	store_transact(r.store, &a.txn);
	CHECK(a.code == ERR_FORBIDDEN);
	refuse(&r);
	store_stats(r.store, &stats);
	CHECK(!r.store->busy && stats.commits == 2 && !store_idle(r.store));
	store_expire(r.store);
	ops->settle(&r);
	CHECK(store_revision(r.store) == 2 && store_idle(r.store));
	CHECK(count(&r, &(struct audit_filter){.result = "forbidden"}) == 1);
	CHECK(count(&r, &(struct audit_filter){.result = "ok"}) == 2);
	CHECK(holds(&r));
	rig_release(&r);
}

static void a_flood_of_refusals_is_counted(const struct rig_ops *ops)
{
	struct audit_query *q;
	struct rig r;

	open_on(&r, ops);
	for (int i = 0; i < 5000; i++)
		refuse(&r);
	store_omit_note(r.store);
	act(&r, 0, "ann");
	store_expire(r.store);
	ops->settle(&r);
	CHECK(count(&r, &(struct audit_filter){.result = "forbidden"}) == 1024);
	q = look(&r, &(struct audit_filter){.action = "omit"});
	CHECK(q->n == 1 && strstr(buf_str(&q->text), "\"count\":3977"));
	audit_query_free(q);
	CHECK(holds(&r) && store_idle(r.store));
	rig_release(&r);
}

static void entries_are_found_by_what_they_say(const struct rig_ops *ops)
{
	struct audit_filter page = {.limit = 3};
	size_t pages = 0, n = 0;
	struct rig r;
	char id[37];

	open_on(&r, ops);
	for (unsigned i = 0; i < 10; i++) {
		r.clock.now += 1000;
		act(&r, i, i < 4 ? "ann" : "bob");
	}
	CHECK(count(&r, &(struct audit_filter){.who = "ann"}) == 4);
	CHECK(count(&r, &(struct audit_filter){.who = "user:bob"}) == 6);
	CHECK(count(&r, &(struct audit_filter){.who = "eve"}) == 0);
	CHECK(count(&r, &(struct audit_filter){.organization = ACME}) == 5);
	CHECK(count(&r, &(struct audit_filter){.organization = ACME,
					       .who = "ann"}) == 2);
	shelves_id(id, 1, 7);
	CHECK(count(&r, &(struct audit_filter){.object = id}) == 1);
	CHECK(count(&r, &(struct audit_filter){.since = r.clock.now}) == 1);
	CHECK(count(&r, &(struct audit_filter){.until = r.clock.now}) == 9);
	CHECK(count(&r, &(struct audit_filter){.action = "delete"}) == 0);
	do {
		struct audit_query *q = look(&r, &page);

		n += q->n;
		pages++;
		page.before = q->next;
		audit_query_free(q);
	} while (page.before && pages < 20);
	CHECK(n == 10 && pages == 4);
	rig_release(&r);
}

static void what_is_old_goes_and_the_chain_holds(const struct rig_ops *ops)
{
	struct err err;
	struct rig r;
	size_t left;

	rig_init(&r, ops);
	r.conf.audit_age_ms = 10000;
	CHECK(rig_open(&r, &err) == 0);
	for (unsigned i = 0; i < 8; i++)
		act(&r, i, "ann");
	r.clock.now += 100000;
	act(&r, 8, "ann");
	for (int i = 0; i < 20; i++) {
		r.clock.now += 1;
		store_expire(r.store);
		ops->settle(&r);
		CHECK(holds(&r));
	}
	left = count(&r, &(struct audit_filter){0});
	CHECK(left == 1);
	rig_reopen(&r);
	CHECK(holds(&r));
	r.clock.now += 100000;
	act(&r, 9, "ann");
	r.clock.now += 100000;
	for (int i = 0; i < 5; i++)
		store_expire(r.store), ops->settle(&r);
	CHECK(count(&r, &(struct audit_filter){0}) == 0);
	CHECK(holds(&r));
	act(&r, 10, "ann");
	CHECK(holds(&r));
	rig_release(&r);
}

static void a_query_may_outlive_the_store(const struct rig_ops *ops)
{
	struct audit_filter all = {.limit = 10};
	struct audit_query *q = audit_query_new(&all, false);
	struct rig r;

	open_on(&r, ops);
	act(&r, 0, "ann");
	q->done = audit_query_free;
	store_audit(r.store, q);
	rig_release(&r);
}

/* One statement at the closed database, past the program. */
static void meddle(struct rig *r, const char *sql)
{
	char path[64];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/" SQLITE_FILE, r->dir);
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		CHECK(!sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void meddling_is_found(void)
{
	/* Each with what undoes it. */
	static const char *const deeds[][2] = {
		{"UPDATE audit SET entry=replace(entry,'ann','bob') WHERE "
		 "seq=3",
		 "UPDATE audit SET entry=replace(entry,'bob','ann') WHERE "
		 "seq=3"},
		{"UPDATE audit SET at=at+1 WHERE seq=3",
		 "UPDATE audit SET at=at-1 WHERE seq=3"},
		{"UPDATE audit SET revision=9 WHERE seq=3",
		 "UPDATE audit SET revision=3 WHERE seq=3"},
		{"UPDATE audit SET organization='x' WHERE seq=3",
		 "UPDATE audit SET organization=NULL WHERE seq=3"},
		{"UPDATE audit SET organization=NULL WHERE seq=4",
		 "UPDATE audit SET organization='" ACME "' WHERE seq=4"},
		{"UPDATE audit SET seq=99 WHERE seq=5",
		 "UPDATE audit SET seq=5 WHERE seq=99"},
		{"UPDATE audit SET seq=99 WHERE seq=1;"
		 "UPDATE audit SET seq=1 WHERE seq=2;"
		 "UPDATE audit SET seq=2 WHERE seq=99",
		 "UPDATE audit SET seq=99 WHERE seq=1;"
		 "UPDATE audit SET seq=1 WHERE seq=2;"
		 "UPDATE audit SET seq=2 WHERE seq=99"},
		{"UPDATE audit SET hash=x'00' WHERE seq=5", NULL},
	};
	struct rig r;

	open_on(&r, rig_backends[1]);
	for (unsigned i = 0; i < 5; i++)
		act(&r, i, "ann");
	rig_close(&r);
	for (size_t i = 0; i < COUNT_OF(deeds); i++) {
		CHECK(holds(&r));
		meddle(&r, deeds[i][0]);
		CHECK(!holds(&r));
		if (deeds[i][1])
			meddle(&r, deeds[i][1]);
	}
	rig_release(&r);
}

/* The same of the disk in memory. */
static void meddling_in_memory_is_found(void)
{
	const struct disk_audit *list;
	struct disk_audit *ours;
	struct rig r;
	size_t n;

	open_on(&r, rig_backends[0]);
	for (unsigned i = 0; i < 5; i++)
		act(&r, i, "ann");
	CHECK(holds(&r));
	n = disk_audits(r.disk, &list);
	CHECK(n == 5);
	memcpy(&ours, &list, sizeof(ours));
	ours[2].hash[0] ^= 1;
	CHECK(!holds(&r));
	ours[2].hash[0] ^= 1;
	ours[3].seq++;
	CHECK(!holds(&r));
	ours[3].seq--;
	CHECK(holds(&r));
	rig_release(&r);
}

static void a_missing_end_or_beginning_is_found(void)
{
	static const char *const deeds[] = {
		"DELETE FROM audit WHERE seq=1",
		"DELETE FROM audit WHERE seq=3",
		"DELETE FROM audit WHERE seq=5",
		"DELETE FROM audit",
		"UPDATE meta SET value='x' WHERE key='installation'",
		"DELETE FROM meta WHERE key='audit.head'",
	};

	for (size_t i = 0; i < COUNT_OF(deeds); i++) {
		struct rig r;

		open_on(&r, rig_backends[1]);
		for (unsigned n = 0; n < 5; n++)
			act(&r, n, "ann");
		rig_close(&r);
		CHECK(holds(&r));
		meddle(&r, deeds[i]);
		CHECK(!holds(&r));
		rig_release(&r);
	}
}

/* A file as version 2 of the schema had it. */
static const char version_2[] =
	"PRAGMA journal_mode=WAL;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE log(revision INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" sum INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE TABLE audit(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" revision INTEGER NOT NULL, entry TEXT NOT NULL);"
	"INSERT INTO audit VALUES"
	"(1, 1700000000000, 1, '{\"who\":\"ann\",\"action\":\"create\","
	"\"kind\":\"shelf\",\"id\":\"7\"}'),"
	"(2, 1700000000001, 2, '{\"who\":\"bob\",\"action\":\"delete\","
	"\"kind\":\"shelf\",\"id\":\"7\"}'),"
	"(4, 1700000000002, 3, '{\"who\":\"ann\"}');"
	"PRAGMA user_version=2; PRAGMA application_id=1299412082;";

static void the_trail_of_version_2_is_chained(void)
{
	struct rig r;

	open_on(&r, rig_backends[1]);
	rig_close(&r);
	files_remove(r.dir);
	snprintf(r.dir, sizeof(r.dir), "/tmp/muster-test-XXXXXX");
	CHECK(mkdtemp(r.dir) != NULL);
	meddle(&r, version_2);
	rig_reopen(&r);
	CHECK(count(&r, &(struct audit_filter){0}) == 3);
	CHECK(count(&r, &(struct audit_filter){.who = "ann"}) == 2);
	CHECK(count(&r, &(struct audit_filter){.object = "7"}) == 2);
	CHECK(holds(&r));
	act(&r, 0, "ann");
	CHECK(holds(&r));
	rig_close(&r);
	meddle(&r, "UPDATE audit SET entry='{\"who\":\"eve\"}' WHERE seq=2");
	CHECK(!holds(&r));
	rig_release(&r);
}

int main(void)
{
	RUN_ON_ALL(every_change_has_its_entry_in_order);
	RUN_ON_ALL(a_failed_batch_leaves_no_entry);
	RUN_ON_ALL(a_refusal_costs_no_revision_and_waits);
	RUN_ON_ALL(a_flood_of_refusals_is_counted);
	RUN_ON_ALL(entries_are_found_by_what_they_say);
	RUN_ON_ALL(what_is_old_goes_and_the_chain_holds);
	RUN_ON_ALL(a_query_may_outlive_the_store);
	RUN(meddling_is_found);
	RUN(meddling_in_memory_is_found);
	RUN(a_missing_end_or_beginning_is_found);
	RUN(the_trail_of_version_2_is_chained);
	return test_done();
}

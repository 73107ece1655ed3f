/* SQLite without memory, disks that cannot be read, files that are not what
 * they should be: refused in words, and nothing is taken for damage or lost. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/seal.h"
#include "loop/loop.h"
#include "model/region.h"
#include "rig/fault.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/audit.h"
#include "store/sqlite.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_priv.h"
#include "store/store_priv.h"
#include "test.h"

#define REGION "00000000-0000-7000-8000-00000000000c"
#define OTHER  "00000000-0000-7000-8000-00000000000d"

enum { CHANGES = 12, EXIT_DISK = 74 };

static const struct rig_ops *sqlite_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	return *ops;
}

/* A change of a region, which has a secret, with its entry in the trail. */
struct act {
	struct txn txn;
	const char *id;
	char name[16];
	bool done;
	enum err_code code;
};

static int do_act(struct tx *tx, void *ctx, struct err *err)
{
	struct act *a = ctx;
	struct region r = {.meta = {.id = a->id, .name = a->name},
			   .spec = {.provider = "sim",
				    .credentials = "{\"key\":1}",
				    .sync_seconds = 60,
				    .calls_at_once = 1},
			   .status.state = BACKED_PENDING};

	tx_audit(tx, NULL, "{\"who\":{\"id\":\"u\"}}");
	if (!a->name[0])
		return tx_delete(tx, &region_kind, a->id, err);
	return tx_put(tx, &region_kind, &r, err);
}

static void act_done(struct txn *t, const struct err *err)
{
	struct act *a = t->ctx;

	a->done = true;
	a->code = err ? err->code : ERR_NONE;
}

static enum err_code act(struct rig *r, const char *id, const char *name)
{
	struct act a = {.id = id};

	snprintf(a.name, sizeof(a.name), "%s", name);
	a.txn = (struct txn){.fn = do_act, .done = act_done, .ctx = &a};
	store_transact(r->store, &a.txn);
	if (!a.done)
		r->ops->settle(r);
	CHECK(a.done);
	return a.code;
}

/* A folder with history, and a backup of it. */
struct desk {
	struct rig rig;
	char backup[64];
};

static void desk_init(struct desk *d)
{
	struct err err = {0};
	char name[16];

	rig_init(&d->rig, sqlite_backend());
	d->rig.conf.kinds = NULL;
	d->rig.conf.log_revisions = 4;
	CHECK(rig_open(&d->rig, &err) == 0);
	for (int n = 0; n < CHANGES - 2; n++) {
		snprintf(name, sizeof(name), "n%d", n);
		CHECK(act(&d->rig, REGION, name) == ERR_NONE);
	}
	CHECK(act(&d->rig, OTHER, "other") == ERR_NONE);
	CHECK(act(&d->rig, OTHER, "") == ERR_NONE);
	files_path(d->backup, d->rig.dir, "backup");
	CHECK(sqlite_backup(d->rig.dir, d->backup, &err) == 0);
}

static void desk_release(struct desk *d)
{
	rig_release(&d->rig);
}

/* What can be asked of a folder without a server; what it says is checked. */
static int verify(struct desk *d, struct err *err)
{
	struct audit_report report;
	int r = sqlite_audit_verify(d->rig.dir, NULL, &report, err);

	CHECK(r < 0 || report.count == CHANGES);
	return r;
}

static int verify_backup(struct desk *d, struct err *err)
{
	struct audit_report report;
	int r = sqlite_audit_verify(NULL, d->backup, &report, err);

	CHECK(r < 0 || report.count == CHANGES);
	return r;
}

static int use(struct desk *d, struct err *err)
{
	struct secret_use use;
	int r = sqlite_secret_use(d->rig.dir, &use, err);

	CHECK(r < 0 || (use.plain > 0 && use.n == 0));
	return r;
}

static int back_up(struct desk *d, struct err *err)
{
	char file[64], temporary[72];
	struct err ignored = {0};
	int r = sqlite_backup(d->rig.dir, files_path(file, d->rig.dir, "b2"),
			      err);

	snprintf(temporary, sizeof(temporary), "%s.tmp", file);
	CHECK(access(temporary, F_OK) < 0);
	CHECK(!access(file, F_OK) == !r);
	if (r == 0) {
		struct audit_report report;

		fault_clear();
		CHECK(sqlite_audit_verify(NULL, file, &report, &ignored) == 0);
		unlink(file);
	}
	return r;
}

static int restore(struct desk *d, struct err *err)
{
	char dir[32], path[64];
	int r;

	files_new(dir);
	r = sqlite_restore(d->backup, dir, err);
	CHECK(access(files_path(path, dir, SQLITE_FILE ".restore"), F_OK) < 0);
	CHECK(!access(files_path(path, dir, SQLITE_FILE), F_OK) == !r);
	files_remove(dir);
	return r;
}

static int query(struct desk *d, struct err *err)
{
	struct audit_query *q;
	struct audit_filter all = {.limit = 3};
	sqlite3 *db = NULL;
	char path[64];
	int r;

	files_path(path, d->rig.dir, SQLITE_FILE);
	q = audit_query_new(&all, true);
	r = sqlite_open_quietly(path, SQLITE_OPEN_READONLY, &db, err);
	if (r == 0)
		r = trail_look(db, q, err);
	sqlite3_close(db);
	CHECK(r < 0 || (q->n == 3 && strstr(buf_str(&q->text), "who")));
	audit_query_free(q);
	return r;
}

static int open_again(struct desk *d, struct err *err)
{
	struct rig *r = &d->rig;
	struct record record;

	rig_close(r);
	if (rig_open(r, err) < 0) {
		struct err ignored = {0};

		fault_clear();
		r->store = NULL;
		CHECK(rig_open(r, &ignored) == 0);
		return -1;
	}
	CHECK(store_get(r->store, 0, &region_kind, REGION, &record));
	CHECK(store_revision(r->store) == CHANGES);
	return 0;
}

static const struct errand {
	const char *name;
	int (*run)(struct desk *d, struct err *err);
} errands[] = {
	{"verify", verify},   {"verify a backup", verify_backup},
	{"secrets", use},     {"back up", back_up},
	{"restore", restore}, {"look in the trail", query},
	{"open", open_again},
};

/* The errand as call after call of MASK fails; every one near the beginning,
 * then some. */
static void fail_each(int mask, bool from_then_on)
{
	struct desk d;

	desk_init(&d);
	for (size_t i = 0; i < COUNT_OF(errands); i++) {
		int n = 1, hits = 1;

		for (; hits && test_ok; n += 1 + n / 24) {
			struct err err = {0};
			int r;

			fault_set(mask, n, from_then_on ? 1 << 30 : n,
				  SQLITE_IOERR_READ);
			r = errands[i].run(&d, &err);
			hits = fault_hits();
			fault_clear();
			CHECK(r == 0 || hits);
			CHECK(r == 0 || err.msg[0]);
			CHECK(r == 0 || !strstr(err.msg, "damaged"));
			CHECK(r == 0 || !strstr(err.msg, "as it was written"));
			if (!test_ok)
				printf("# %s, call %d: %s\n", errands[i].name,
				       n, err.msg);
		}
	}
	desk_release(&d);
}

static void want_of_memory_is_not_taken_for_damage(void)
{
	fail_each(FAULT_MEMORY, false);
}

static void nor_is_having_none_at_all(void)
{
	fail_each(FAULT_MEMORY, true);
}

static void nor_is_what_cannot_be_read(void)
{
	fail_each(FAULT_READ, false);
}

/* In a process of its own, for a commit that nobody can tell of ends it: how
 * it went. */
static int change_elsewhere(struct desk *d, int n, int *ret_hits)
{
	int ends[2], status = -1, told[2] = {-1, 1};
	pid_t child;

	if (pipe(ends) < 0)
		abort();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct err err = {0};

		if (!freopen("/dev/null", "w", stderr))
			_exit(3);
		d->rig.loop = loop_new();
		d->rig.conf.audit_age_ms = 1000;
		d->rig.clock.now += 3600000; /* old entries go with it */
		if (rig_open(&d->rig, &err) < 0)
			_exit(1);
		fault_set(FAULT_MEMORY, n, n, 0);
		told[0] = (int)act(&d->rig, REGION, "changed");
		told[1] = fault_hits();
		fault_clear();
		if (write(ends[1], told, sizeof(told)) != sizeof(told))
			_exit(2);
		rig_close(&d->rig);
		loop_free(d->rig.loop);
		exit(0);
	}
	close(ends[1]);
	if (read(ends[0], told, sizeof(told)) < 0)
		abort();
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_DISK);
	*ret_hits = told[1];
	return told[0];
}

/* What is left must open and hold together, whatever happened. */
static void check_left(struct desk *d, int code)
{
	struct audit_report report;
	struct err err = {0};
	uint64_t revision;

	d->rig.loop = loop_new();
	if (rig_open(&d->rig, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"it opens");
		return;
	}
	revision = store_revision(d->rig.store);
	CHECK(revision == CHANGES || revision == CHANGES + 1);
	CHECK(code != ERR_NONE || revision == CHANGES + 1);
	CHECK(code <= ERR_NONE || revision == CHANGES);
	CHECK(act(&d->rig, REGION, "after") == ERR_NONE);
	rig_close(&d->rig);
	CHECK(sqlite_audit_verify(d->rig.dir, NULL, &report, &err) == 0);
	CHECK(report.trimmed + report.count == revision + 1);
	loop_free(d->rig.loop);
}

/* The log's beginning and the trail's end are written with every change: they
 * must never be written as nothing. */
static void want_of_memory_in_a_change_leaves_all_or_nothing(void)
{
	struct desk d;
	char kept[32];
	int hits = 1;

	desk_init(&d);
	rig_close(&d.rig);
	loop_free(d.rig.loop);
	memcpy(kept, d.rig.dir, sizeof(kept));
	for (int n = 1; hits && test_ok; n += 1 + n / 24) {
		struct desk copy = d;
		int code;

		files_new(copy.rig.dir);
		files_copy(kept, copy.rig.dir);
		code = change_elsewhere(&copy, n, &hits);
		check_left(&copy, code);
		files_remove(copy.rig.dir);
		if (!test_ok)
			printf("# call %d\n", n);
	}
	files_remove(kept);
}

static const char version_2[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE log(revision INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" sum INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE TABLE audit(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" revision INTEGER NOT NULL, entry TEXT NOT NULL);"
	"INSERT INTO audit VALUES(1, 1, 1, '{\"who\":\"ann\"}'),"
	" (2, 2, 2, '{\"who\":\"bob\"}'), (5, 3, 3, '{}');"
	"PRAGMA user_version=2; PRAGMA application_id=1299412082;";

static void make_old(const char *dir)
{
	char path[64];
	sqlite3 *db;

	CHECK(sqlite3_open(files_path(path, dir, SQLITE_FILE), &db) == 0);
	CHECK(sqlite3_exec(db, version_2, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

/* An upgrade that is cut short is done by the next to open the file. */
static void an_upgrade_is_done_as_a_whole_or_not(void)
{
	static const int masks[] = {FAULT_MEMORY, FAULT_READ, FAULT_WRITE};

	for (size_t i = 0; i < COUNT_OF(masks); i++) {
		int n = 1, hits = 1;

		for (; hits && test_ok; n += 1 + n / 24) {
			struct audit_report report = {0};
			struct err err = {0};
			struct rig r;

			rig_init(&r, sqlite_backend());
			files_new(r.dir);
			r.loop = loop_new();
			make_old(r.dir);
			fault_set(masks[i], n, n, SQLITE_IOERR_READ);
			if (rig_open(&r, &err) == 0)
				rig_close(&r);
			else
				CHECK(!strstr(err.msg, "damaged"));
			hits = fault_hits();
			fault_clear();
			CHECK(rig_open(&r, &err) == 0);
			rig_close(&r);
			CHECK(sqlite_audit_verify(r.dir, NULL, &report, &err) ==
			      0);
			CHECK(report.count == 3);
			rig_release(&r);
			if (!test_ok)
				printf("# mask %d, call %d: %s\n", masks[i], n,
				       err.msg);
		}
	}
}

static struct keyring *ring(const char *first, const char *second)
{
	struct keyring *k = keyring_new();
	struct err err = {0};

	CHECK(keyring_read(k, first, strlen(first), &err) == 0);
	if (second)
		CHECK(keyring_read(k, second, strlen(second), &err) == 0);
	return k;
}

/* How many are sealed with which key, and how many with none. */
static void secrets_are_counted_by_their_keys(void)
{
	static const char a[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
	static const char b[] = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";
	struct keyring *one = ring(a, NULL), *both = ring(b, a);
	struct secret_use count;
	struct err err = {0};
	struct rig r;

	rig_init(&r, sqlite_backend());
	r.conf.kinds = NULL;
	r.conf.keys = one;
	CHECK(rig_open(&r, &err) == 0);
	CHECK(act(&r, REGION, "first") == ERR_NONE);
	CHECK(act(&r, OTHER, "second") == ERR_NONE);
	CHECK(sqlite_secret_use(r.dir, &count, &err) == 0);
	CHECK(count.n == 1 && count.keys[0].count == 2 && !count.plain);
	store_set_keys(r.store, both);
	CHECK(act(&r, OTHER, "again") == ERR_NONE);
	CHECK(sqlite_secret_use(r.dir, &count, &err) == 0);
	CHECK(count.n == 2 && !count.plain);
	CHECK(count.keys[0].count + count.keys[1].count == 3);
	rig_release(&r);
	keyring_free(one);
	keyring_free(both);
}

int main(void)
{
	fault_install();
	RUN(secrets_are_counted_by_their_keys);
	RUN(an_upgrade_is_done_as_a_whole_or_not);
	RUN(want_of_memory_is_not_taken_for_damage);
	RUN(nor_is_having_none_at_all);
	RUN(nor_is_what_cannot_be_read);
	RUN(want_of_memory_in_a_change_leaves_all_or_nothing);
	return test_done();
}

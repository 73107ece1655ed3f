#include "store/sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/backend.h"
#include "test.h"

static const struct rig_ops *sqlite_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	return *ops;
}

static void sql(const char *dir, const char *text)
{
	char path[64], *why = NULL;
	sqlite3 *db;

	if (sqlite3_open(files_path(path, dir, SQLITE_FILE), &db) ||
	    sqlite3_exec(db, text, NULL, NULL, &why)) {
		printf("# %s: %s\n", text, why);
		CHECK(!"SQL");
	}
	sqlite3_free(why);
	sqlite3_close(db);
}

static long long sql_number(const char *dir, const char *text)
{
	char path[64];
	sqlite3_stmt *st;
	sqlite3 *db;
	long long n = -1;

	CHECK(sqlite3_open(files_path(path, dir, SQLITE_FILE), &db) == 0);
	CHECK(sqlite3_prepare_v2(db, text, -1, &st, NULL) == 0);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* Open DIR and close it again; how that went. */
static enum err_code try_open(const char *dir, struct err *err)
{
	struct loop *l = loop_new();
	struct backend *b;

	*err = (struct err){0};
	if (sqlite_open(dir, l, &b, err) == 0)
		b->ops->close(b);
	loop_free(l);
	return err->code;
}

/* Some objects, some history, some of it trimmed. */
static void fill(struct rig *r)
{
	char id[37], name[16];
	struct err err;

	rig_init(r, sqlite_backend());
	r->conf.log_revisions = 20;
	CHECK(rig_open(r, &err) == 0);
	for (unsigned i = 0; i < 130; i++) {
		struct deed d = {0};

		snprintf(name, sizeof(name), "n%u", i);
		if (i % 7 == 6)
			deed_delete(&d, &shelf_kind,
				    shelves_id(id, 1, (i - 1) % 61));
		else
			deed_shelf(&d, shelves_id(id, 1, i % 61), name);
		if (i % 7 == 5)
			deed_remember(&d, name, id);
		r->clock.now += 1000;
		CHECK(deed_do(&d, r) == ERR_NONE);
	}
}

static void a_second_process_is_refused(void)
{
	struct rig r;
	struct err err;
	char pid[32];
	int status;
	pid_t child;

	rig_init(&r, sqlite_backend());
	CHECK(rig_open(&r, &err) == 0);
	snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct backend *b;

		if (sqlite_open(r.dir, NULL, &b, &err) == 0)
			_exit(1);
		if (err.code != ERR_CONFLICT || !strstr(err.msg, pid) ||
		    !strstr(err.msg, "--data"))
			_exit(2);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	/* The same process is no exception; a closed folder is free. */
	CHECK(try_open(r.dir, &err) == ERR_CONFLICT);
	rig_close(&r);
	CHECK(try_open(r.dir, &err) == ERR_NONE);
	rig_release(&r);
}

static void the_files_are_ours_alone(void)
{
	static const char *const names[] = {"muster.db", "muster.db-wal",
					    "lock"};
	struct stat st;
	char path[64], dir[40];
	struct rig r;
	struct err err;

	fill(&r);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		CHECK(stat(files_path(path, r.dir, names[i]), &st) == 0 &&
		      (st.st_mode & 0777) == 0600);
	rig_close(&r);
	/* A folder is made; one level of it. */
	snprintf(dir, sizeof(dir), "%s/new", r.dir);
	CHECK(try_open(dir, &err) == ERR_NONE);
	CHECK(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700);
	files_remove(dir);
	snprintf(dir, sizeof(dir), "%s/no/such", r.dir);
	CHECK(try_open(dir, &err) == ERR_UNAVAILABLE);
	CHECK(strstr(err.msg, dir) != NULL);
	rig_release(&r);
}

static void a_newer_file_is_refused(void)
{
	char text[40];
	struct rig r;
	struct err err;

	fill(&r);
	rig_close(&r);
	snprintf(text, sizeof(text), "PRAGMA user_version=%d",
		 SQLITE_VERSION_NOW + 1);
	sql(r.dir, text);
	CHECK(try_open(r.dir, &err) == ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "newer") != NULL);
	sql(r.dir, "PRAGMA user_version=-1");
	CHECK(try_open(r.dir, &err) == ERR_INTERNAL);
	CHECK(strstr(err.msg, "damaged") != NULL);
	sql(r.dir, "PRAGMA user_version=0");
	CHECK(try_open(r.dir, &err) == ERR_INTERNAL);
	snprintf(text, sizeof(text), "PRAGMA user_version=%d",
		 SQLITE_VERSION_NOW);
	sql(r.dir, text);
	CHECK(try_open(r.dir, &err) == ERR_NONE);
	rig_release(&r);
}

static void a_foreign_file_is_refused_and_left_alone(void)
{
	char dir[32], path[64], *before, *after;
	size_t len[2];
	struct err err;

	files_new(dir);
	files_path(path, dir, SQLITE_FILE);
	sql(dir, "CREATE TABLE guests(name); INSERT INTO guests VALUES('Ann')");
	before = files_read(path, &len[0]);
	CHECK(try_open(dir, &err) == ERR_CONFLICT);
	CHECK(strstr(err.msg, "not a database of muster's") != NULL);
	after = files_read(path, &len[1]);
	CHECK(len[0] == len[1] && memcmp(before, after, len[0]) == 0);
	free(before);
	free(after);
	/* Its tables may be gone, but its mark is not ours. */
	sql(dir, "DROP TABLE guests; PRAGMA application_id=7");
	CHECK(try_open(dir, &err) == ERR_CONFLICT);
	files_write(path, "This is a letter, not a database.\n", 34);
	CHECK(try_open(dir, &err) == ERR_INTERNAL);
	/* An empty file is what a crash at the first start leaves. */
	files_write(path, "", 0);
	CHECK(try_open(dir, &err) == ERR_NONE);
	files_remove(dir);
}

static void add_old_row(struct buf *out, unsigned revision, const char *id,
			const char *name)
{
	char data[256], head[48];
	unsigned long sum;
	int n;

	snprintf(
		data, sizeof(data),
		"+shelf@1 %s {\"id\":\"%s\",\"name\":\"%s\",\"revision\":%u}\n",
		id, id, name, revision);
	n = snprintf(head, sizeof(head), "%u %u ", revision, 1000 + revision);
	sum = crc32(0, (const unsigned char *)head, (unsigned)n);
	sum = crc32(sum, (const unsigned char *)data, (unsigned)strlen(data));
	buf_addf(out,
		 "INSERT INTO log VALUES(%u, %u, %lu, CAST('%s' AS BLOB));",
		 revision, 1000 + revision, sum, data);
}

static void the_first_schema_is_upgraded(void)
{
	struct buf text = BUF_INIT(1 << 20);
	struct record record;
	char id[2][37];
	struct deed d = {0};
	struct rig r;
	struct err err;

	rig_init(&r, sqlite_backend());
	r.loop = loop_new();
	files_new(r.dir);
	buf_adds(&text,
		 "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
		 "CREATE TABLE log(revision INTEGER PRIMARY KEY,"
		 " at INTEGER NOT NULL, sum INTEGER NOT NULL,"
		 " data BLOB NOT NULL);"
		 "PRAGMA application_id=1299412082; PRAGMA user_version=1;");
	add_old_row(&text, 1, shelves_id(id[0], 1, 1), "a");
	add_old_row(&text, 2, shelves_id(id[1], 1, 2), "b");
	add_old_row(&text, 3, id[0], "c");
	sql(r.dir, text.data);
	buf_release(&text);
	if (rig_open(&r, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"it opens");
		rig_release(&r);
		return;
	}
	CHECK(store_revision(r.store) == 3);
	CHECK(store_get(r.store, 2, &shelf_kind, id[0], &record));
	CHECK_STR(((const struct meta *)record.object)->name, "a");
	CHECK(store_get(r.store, 0, &shelf_kind, id[0], &record));
	CHECK_STR(((const struct meta *)record.object)->name, "c");
	deed_shelf(&d, id[1], "d");
	CHECK(deed_do(&d, &r) == ERR_NONE);
	rig_reopen(&r);
	CHECK(store_revision(r.store) == 4);
	rig_close(&r);
	CHECK(sql_number(r.dir, "PRAGMA user_version") == SQLITE_VERSION_NOW);
	CHECK(sql_number(r.dir, "SELECT count(*) FROM audit") == 0);
	rig_release(&r);
}

static int write_audited(struct tx *tx, void *ctx, struct err *err)
{
	struct shelf shelf = shelf_of(ctx, "a");

	tx_audit(tx, NULL, "{\"who\":\"nobody\"}");
	tx_audit(tx, NULL, "{\"who\":\"Ann\"}");
	return tx_put(tx, &shelf_kind, &shelf, err);
}

static void ignore_answer(struct txn *t, const struct err *err)
{
	(void)t;
	(void)err;
}

static void the_audit_trail_is_written_with_the_change(void)
{
	char id[37];
	struct txn t[2];
	struct rig r;
	struct err err;

	rig_init(&r, sqlite_backend());
	CHECK(rig_open(&r, &err) == 0);
	shelves_id(id, 1, 1);
	for (int i = 0; i < 2; i++) {
		t[i] = (struct txn){write_audited, ignore_answer, id};
		r.ops->fill(&r, i == 0);
		store_transact(r.store, &t[i]);
		r.ops->settle(&r);
	}
	rig_close(&r);
	CHECK(sql_number(r.dir, "SELECT count(*) FROM audit WHERE revision=1 "
				"AND entry='{\"who\":\"Ann\"}'") == 1);
	CHECK(sql_number(r.dir, "SELECT count(*) FROM audit") == 1);
	rig_release(&r);
}

/* Open a damaged copy: refused, or exactly WANT, and writable then. */
static bool open_damaged(struct rig *copy, const struct buf *want)
{
	struct buf have = BUF_INIT(1 << 20);
	struct deed d = {0};
	char id[37];
	struct err err = {0};
	bool refused = rig_open(copy, &err) < 0;

	if (refused) {
		copy->store = NULL;
		if (err.code != ERR_INTERNAL && err.code != ERR_CONFLICT &&
		    err.code != ERR_UNSUPPORTED && err.code != ERR_UNAVAILABLE)
			CHECK(!"an unexpected error");
		return true;
	}
	dump_store(copy->store, &have);
	CHECK(strcmp(buf_str(&have), buf_str(want)) == 0);
	buf_release(&have);
	deed_shelf(&d, shelves_id(id, 1, 999), "written-to");
	deed_do(&d, copy);
	rig_close(copy);
	return false;
}

/* Where the log begins decides what is kept: it is not taken on trust. */
static void a_changed_horizon_is_refused(void)
{
	static const char *const changes[] = {
		"UPDATE meta SET value = (CAST(value AS INTEGER) + 3) ||"
		" substr(value, instr(value, ' ')) WHERE key='horizon'",
		"UPDATE meta SET value = CAST(value AS INTEGER)"
		" WHERE key='horizon'",
		"UPDATE meta SET value = '' WHERE key='horizon'",
		"DELETE FROM meta WHERE key='horizon'",
	};

	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		struct err err = {0};
		struct rig r;

		fill(&r);
		rig_close(&r);
		sql(r.dir, changes[i]);
		CHECK(rig_open(&r, &err) < 0 && err.code == ERR_INTERNAL);
		if (err.code)
			r.store = NULL;
		rig_release(&r);
	}
}

/* The file's header, then every page's (kind, free space, number of cells),
 * then where the log begins, then anywhere. */
static size_t choose(const char *file, size_t len, unsigned i,
		     struct random *random)
{
	const char *horizon = memmem(file, len, "horizon", 7);
	size_t size = (size_t)(unsigned char)file[16] << 8; /* of a page */
	size_t pages = len / size;

	if (i < 100)
		return i;
	i -= 100;
	if (i < 40 * pages)
		return i / 40 * size + (i < 40 ? 100 : 0) + i % 40 / 5;
	i -= 40 * (unsigned)pages;
	if (i < 40 && horizon)
		return (size_t)(horizon - file) + i % 20;
	return random_below(random, len);
}

static void a_flipped_byte_is_no_data(void)
{
	unsigned flips = rig_seeds(1800, 1200), refused = 0;
	struct buf want = BUF_INIT(1 << 20);
	struct random_seeded random;
	struct rig r, copy;
	char path[64], *file;
	size_t len;

	random_seed(&random, 11);
	fill(&r);
	rig_reopen(&r);
	dump_store(r.store, &want);
	rig_close(&r);
	file = files_read(files_path(path, r.dir, SQLITE_FILE), &len);
	copy = r;
	copy.loop = loop_new();
	files_new(copy.dir);
	for (unsigned i = 0; i < flips; i++) {
		size_t at = choose(file, len, i, &random.base);
		char was = file[at];
		unsigned flip = 0xff;

		files_remove(copy.dir);
		CHECK(mkdir(copy.dir, 0700) == 0);
		if (i % 3)
			flip = 1U << random_below(&random.base, 8);
		file[at] = (char)((unsigned char)was ^ flip);
		files_write(files_path(path, copy.dir, SQLITE_FILE), file, len);
		refused += open_damaged(&copy, &want);
		if (!test_ok) {
			printf("# byte %zu was %d is %d\n", at, was, file[at]);
			break;
		}
		file[at] = was;
	}
	/* Most of the file is data or tells where it is. */
	CHECK(refused > flips / 8 && refused < flips);
	free(file);
	buf_release(&want);
	rig_release(&copy);
	rig_release(&r);
}

/* The write-ahead log ends where it is damaged; what is before it counts. */
static void a_damaged_wal_is_a_shorter_one(void)
{
	struct buf states[12];
	struct random_seeded random;
	char path[64], id[37], name[16], *file;
	struct rig r, copy;
	struct err err;
	size_t len;

	random_seed(&random, 12);
	rig_init(&r, sqlite_backend());
	CHECK(rig_open(&r, &err) == 0);
	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		struct deed d = {0};

		states[i] = BUF_INIT(1 << 20);
		dump_store(r.store, &states[i]);
		snprintf(name, sizeof(name), "n%u", i);
		deed_shelf(&d, shelves_id(id, 1, i % 3), name);
		CHECK(deed_do(&d, &r) == ERR_NONE);
	}
	file = files_read(files_path(path, r.dir, SQLITE_FILE "-wal"), &len);
	copy = r;
	copy.loop = loop_new();
	files_new(copy.dir);
	for (unsigned i = 0; i < 200 && test_ok; i++) {
		struct buf have = BUF_INIT(1 << 20);
		size_t at = random_below(&random.base, len);

		files_remove(copy.dir);
		CHECK(mkdir(copy.dir, 0700) == 0);
		files_copy(r.dir, copy.dir);
		file[at] ^= 0x10;
		files_write(files_path(path, copy.dir, SQLITE_FILE "-wal"),
			    file, len);
		file[at] ^= 0x10;
		if (rig_open(&copy, &err) < 0) {
			CHECK(err.code == ERR_INTERNAL);
			copy.store = NULL;
			continue;
		}
		dump_store(copy.store, &have);
		if (store_revision(copy.store) < COUNT_OF(states))
			CHECK_STR(have.data,
				  states[store_revision(copy.store)].data);
		rig_close(&copy);
		buf_release(&have);
	}
	for (unsigned i = 0; i < COUNT_OF(states); i++)
		buf_release(&states[i]);
	free(file);
	rig_release(&copy);
	rig_release(&r);
}

int main(void)
{
	RUN(a_second_process_is_refused);
	RUN(the_files_are_ours_alone);
	RUN(a_newer_file_is_refused);
	RUN(a_foreign_file_is_refused_and_left_alone);
	RUN(the_first_schema_is_upgraded);
	RUN(the_audit_trail_is_written_with_the_change);
	RUN(a_changed_horizon_is_refused);
	RUN(a_flipped_byte_is_no_data);
	RUN(a_damaged_wal_is_a_shorter_one);
	return test_done();
}

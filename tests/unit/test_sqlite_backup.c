/* Backups of a database that is written meanwhile, and restoring them. */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "loop/loop.h"
#include "rig/fault.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/sqlite.h"
#include "test.h"

enum { SEAL = 14 + 64 + 1 };

static const struct rig_ops *sqlite_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	return *ops;
}

/* Some objects and history; the store is open. */
static void fill(struct rig *r, unsigned rows)
{
	char id[37], name[16];
	struct err err;

	rig_init(r, sqlite_backend());
	r->conf.log_revisions = 8;
	CHECK(rig_open(r, &err) == 0);
	for (unsigned i = 0; i < rows; i++) {
		struct deed d = {0};

		snprintf(name, sizeof(name), "n%u", i);
		deed_shelf(&d, shelves_id(id, 1, i % 5), name);
		CHECK(deed_do(&d, r) == ERR_NONE);
	}
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Open the folder R has, and compare. */
static void check_same(struct rig *r, const struct buf *want)
{
	struct buf have = BUF_INIT(1 << 20);
	struct deed d = {0};
	char id[37];
	struct err err;

	r->store = NULL;
	r->loop = loop_new();
	if (rig_open(r, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"it opens");
		r->store = NULL;
	} else {
		dump_store(r->store, &have);
		CHECK_STR(buf_str(&have), buf_str(want));
		deed_shelf(&d, shelves_id(id, 1, 77), "after");
		CHECK(deed_do(&d, r) == ERR_NONE);
	}
	buf_release(&have);
	rig_release(r);
}

static void what_is_backed_up_comes_back(void)
{
	struct buf want = BUF_INIT(1 << 20);
	char file[64], path[70];
	struct rig r, back;
	struct stat st;
	struct err err;

	fill(&r, 30);
	dump_store(r.store, &want);
	/* The store is open; everything is in the write-ahead log still. */
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "backup"), &err) ==
	      0);
	CHECK(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600);
	for (const char *const *end =
		     (const char *const[]){"-wal", "-shm", "-journal", ".tmp",
					   ".tmp-journal", ".tmp-wal", NULL};
	     *end; end++) {
		snprintf(path, sizeof(path), "%s%s", file, *end);
		CHECK(!exists(path));
	}
	back = r;
	files_new(back.dir);
	rmdir(back.dir); /* it is made */
	CHECK(sqlite_restore(file, back.dir, &err) == 0);
	check_same(&back, &want);
	/* Into a folder that is there, too; and the backup is as it was. */
	back = r;
	files_new(back.dir);
	CHECK(sqlite_restore(file, back.dir, &err) == 0);
	check_same(&back, &want);
	buf_release(&want);
	rig_release(&r);
}

static void nothing_is_overwritten(void)
{
	char file[64], path[70], dir[32];
	struct rig r;
	struct err err = {0};

	fill(&r, 3);
	files_path(file, r.dir, "backup");
	snprintf(path, sizeof(path), "%s.tmp", file);
	files_write(file, "precious", 8);
	CHECK(sqlite_backup(r.dir, file, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "exists already"));
	unlink(file);
	files_write(path, "another's", 9);
	CHECK(sqlite_backup(r.dir, file, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, path));
	CHECK(exists(path) && !exists(file));
	unlink(path);
	CHECK(sqlite_backup(r.dir, file, &err) == 0);
	/* A folder that is open, one that holds a database, and one with a
	 * write-ahead log that a database left behind. */
	CHECK(sqlite_restore(file, r.dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "already"));
	files_new(dir);
	files_write(files_path(path, dir, SQLITE_FILE "-wal"), "old", 3);
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "muster.db-wal"));
	unlink(path);
	files_write(files_path(path, dir, SQLITE_FILE ".restore"), "old", 3);
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, ".restore is there"));
	files_remove(dir);
	CHECK(sqlite_backup("/no/such/folder", path, &err) < 0);
	CHECK(err.code == ERR_NOT_FOUND);
	CHECK(sqlite_restore("/no/such/file", dir, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE && !exists(dir));
	rig_release(&r);
}

static void a_folder_in_use_is_not_restored_into(void)
{
	char file[64], path[64];
	struct rig r, other;
	struct err err;

	fill(&r, 3);
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "backup"), &err) ==
	      0);
	rig_init(&other, sqlite_backend());
	CHECK(rig_open(&other, &err) == 0);
	/* Its database is removed under its feet, but it has the lock. */
	unlink(files_path(path, other.dir, SQLITE_FILE));
	unlink(files_path(path, other.dir, SQLITE_FILE "-wal"));
	CHECK(sqlite_restore(file, other.dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "in use"));
	rig_release(&other);
	rig_release(&r);
}

/* Refused, with a reason, and nothing left behind. */
static bool refused(const char *file, const char *dir, struct err *err)
{
	*err = (struct err){0};
	if (sqlite_restore(file, dir, err) == 0)
		return false;
	CHECK(err->msg[0] && !exists(dir));
	return true;
}

static void every_flipped_byte_is_noticed(void)
{
	struct random_seeded random;
	char file[64], bad[64], dir[32], *data;
	struct rig r;
	struct err err;
	size_t len, step;

	random_seed(&random, 1);
	fill(&r, 3);
	files_new(dir);
	rmdir(dir);
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "backup"), &err) ==
	      0);
	data = files_read(file, &len);
	files_path(bad, r.dir, "bad");
	step = len / rig_seeds((unsigned)len, 2000) + 1;
	for (size_t i = 0; i < len && test_ok; i += step) {
		char was = data[i];

		data[i] = (char)(was ^
				 (char)(1 + random_below(&random.base, 255)));
		files_write(bad, data, len);
		data[i] = was;
		CHECK(refused(bad, dir, &err) && err.code == ERR_INVALID);
	}
	for (size_t i = 0; i < len && test_ok; i += len / 50 + 1) {
		files_write(bad, data, i);
		CHECK(refused(bad, dir, &err) && err.code == ERR_INVALID);
	}
	free(data);
	rig_release(&r);
}

/* Change the backup at FILE by SQL, and seal it as if that were right. */
static void forge(const char *file, const char *sql)
{
	unsigned char digest[DIGEST_SHA256_LEN];
	char seal[SEAL + 1] = "muster backup ", *data;
	sqlite3 *db;
	size_t len;

	data = files_read(file, &len);
	files_write(file, data, len - SEAL);
	free(data);
	CHECK(sqlite3_open(file, &db) == 0);
	CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == 0);
	sqlite3_close(db);
	data = files_read(file, &len);
	data = realloc(data, len + SEAL);
	if (!data)
		abort();
	digest_sha256(data, len, digest);
	digest_hex(digest, sizeof(digest), seal + 14);
	seal[SEAL - 1] = '\n';
	memcpy(data + len, seal, SEAL);
	files_write(file, data, len + SEAL);
	free(data);
}

static void what_is_not_a_backup_is_refused(void)
{
	char file[64], path[64], dir[32], *data;
	struct rig r;
	struct err err;
	size_t len;

	fill(&r, 3);
	files_new(dir);
	rmdir(dir);
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "backup"), &err) ==
	      0);
	rig_close(&r);
	/* A database is not a backup of itself. */
	CHECK(refused(files_path(path, r.dir, SQLITE_FILE), dir, &err));
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "'muster backup'"));
	data = files_read(file, &len);
	forge(file, "UPDATE log SET at = at + 1 WHERE revision = 3");
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "digest of its rows"));
	CHECK(!exists(files_path(path, dir, SQLITE_FILE)));
	CHECK(!exists(files_path(path, dir, SQLITE_FILE ".restore")));
	files_remove(dir);
	files_write(file, data, len);
	forge(file, "DELETE FROM meta WHERE key='digest'");
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "digest of its rows"));
	files_remove(dir);
	files_write(file, data, len);
	forge(file, "PRAGMA user_version=99");
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_UNSUPPORTED && strstr(err.msg, "newer"));
	CHECK(!exists(files_path(path, dir, SQLITE_FILE)));
	files_remove(dir);
	files_write(file, data, len);
	forge(file, "PRAGMA application_id=99");
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	files_remove(dir);
	free(data);
	rig_release(&r);
}

/* Both with every write failing in its turn. */
static void a_full_disk_leaves_no_half_backup(void)
{
	char file[64], path[70], dir[32];
	struct rig r;
	struct err err;
	int done = 0;

	fill(&r, 10);
	files_path(file, r.dir, "backup");
	snprintf(path, sizeof(path), "%s.tmp", file);
	for (int n = 1; n < 100 && !done; n++) {
		fault_set(FAULT_WRITE, n, 1 << 30, SQLITE_FULL);
		done = sqlite_backup(r.dir, file, &err) == 0;
		fault_clear();
		CHECK(exists(file) == done && !exists(path));
		if (!done)
			CHECK(err.code == ERR_UNAVAILABLE);
	}
	CHECK(done);
	files_new(dir);
	done = 0;
	for (int n = 1; n < 100 && !done; n++) {
		fault_set(FAULT_WRITE | FAULT_READ | FAULT_OPEN, n, 1 << 30,
			  SQLITE_IOERR_READ);
		done = sqlite_restore(file, dir, &err) == 0;
		fault_clear();
		CHECK(exists(files_path(path, dir, SQLITE_FILE)) == done);
		CHECK(!exists(files_path(path, dir, SQLITE_FILE ".restore")));
	}
	CHECK(done);
	files_remove(dir);
	rig_release(&r);
}

/* A writer that never stops: each revision counts one of four objects up. */
static struct deed endless[4];
static char endless_ids[4][37];

static void write_on(struct txn *t, const struct err *err);

static int write_named(struct tx *tx, void *ctx, struct err *err)
{
	const char *id = ctx;
	const struct shelf *old = tx_get(tx, &shelf_kind, id);
	struct shelf shelf = shelf_of(id, NULL);

	shelf.meta.generation = old ? old->meta.generation + 1 : 1;
	shelf.meta.name = arena_printf(tx_arena(tx), "%s-%lld", id + 32,
				       (long long)shelf.meta.generation);
	return tx_put(tx, &shelf_kind, &shelf, err);
}

static struct store *endless_store;

static void write_on(struct txn *t, const struct err *err)
{
	if (err)
		_exit(1);
	*t = (struct txn){write_named, write_on, t->ctx};
	store_transact(endless_store, t);
}

static pid_t start_writer(struct rig *r)
{
	struct err err;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	r->loop = loop_new();
	if (rig_open(r, &err) < 0)
		_exit(2);
	endless_store = r->store;
	for (unsigned i = 0; i < 4; i++) {
		shelves_id(endless_ids[i], 1, i);
		endless[i].txn.ctx = endless_ids[i];
		write_on(&endless[i].txn, NULL);
	}
	loop_run(r->loop);
	_exit(3);
}

/* One moment of the writer: without a gap, every object as often as the
 * revisions say. */
static uint64_t check_moment(struct rig *r)
{
	struct scan scan;
	struct record record;
	int64_t sum = 0;
	uint64_t revision = 0;
	size_t effort = 0;
	struct err err;

	r->loop = loop_new();
	if (rig_open(r, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"it opens");
		r->store = NULL;
	} else {
		revision = store_revision(r->store);
		scan = store_scan(r->store, 0, &shelf_kind, NULL);
		while (scan_next(&scan, &record, &effort))
			sum += ((const struct meta *)record.object)->generation;
		CHECK((uint64_t)sum == revision);
	}
	rig_release(r);
	return revision;
}

static void a_backup_is_one_moment_of_a_busy_server(void)
{
	char file[64], out[32];
	struct rig r, back;
	uint64_t last = 0;
	pid_t writer;
	int status;

	rig_init(&r, sqlite_backend());
	r.conf.log_revisions = 50;
	files_new(r.dir);
	files_new(out);
	files_path(file, out, "backup");
	writer = start_writer(&r);
	while (!exists(files_path(file, r.dir, SQLITE_FILE "-wal")))
		usleep(1000);
	usleep(20000);
	files_path(file, out, "backup");
	/* A moment that the writer had no time to move on from is the same. */
	for (unsigned i = 0; i < rig_seeds(10, 10) + 1 && test_ok;) {
		struct err err = {0};
		uint64_t revision;

		CHECK(sqlite_backup(r.dir, file, &err) == 0);
		back = r;
		files_new(back.dir);
		CHECK(sqlite_restore(file, back.dir, &err) == 0);
		if (err.msg[0])
			printf("# %s\n", err.msg);
		revision = check_moment(&back);
		CHECK(revision >= last);
		i += revision > last;
		last = revision;
		unlink(file);
	}
	CHECK(kill(writer, SIGKILL) == 0);
	CHECK(waitpid(writer, &status, 0) == writer && WIFSIGNALED(status));
	files_remove(out);
	CHECK(check_moment(&r) >= last);
}

int main(void)
{
	fault_install();
	RUN(a_backup_is_one_moment_of_a_busy_server);
	RUN(what_is_backed_up_comes_back);
	RUN(nothing_is_overwritten);
	RUN(a_folder_in_use_is_not_restored_into);
	RUN(every_flipped_byte_is_noticed);
	RUN(what_is_not_a_backup_is_refused);
	RUN(a_full_disk_leaves_no_half_backup);
	return test_done();
}

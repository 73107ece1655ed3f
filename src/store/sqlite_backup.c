/*
 * sqlite_backup - the whole database in one file, and back.
 *
 * A backup is a SQLite file like any other, with two things added: in its meta
 * table a digest over all rows, which says that the copy is the original, and
 * after its last page a seal, a line with a digest over all bytes before it,
 * which says that the file has not changed since.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "store/sqlite.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_priv.h"

#define HEX_LEN   (2 * DIGEST_SHA256_LEN)
#define SEAL_WORD "muster backup "
#define SEAL_LEN  (sizeof(SEAL_WORD) - 1 + HEX_LEN + 1)
#define SEAL_ROOM 128 /* more than SEAL_LEN */
#define PIECE     ((size_t)64 << 10)

/* Each value with its type and length, so that no two tables of rows have the
 * same text. */
static void digest_value(struct digest *d, sqlite3_stmt *st, int i)
{
	const void *data = sqlite3_column_blob(st, i);
	size_t len = (size_t)sqlite3_column_bytes(st, i);
	char head[40];
	int n = snprintf(head, sizeof(head),
			 "%d:%zu:", sqlite3_column_type(st, i), len);

	digest_add(d, head, (size_t)n);
	if (len)
		digest_add(d, data, len);
}

static int digest_rows(struct digest *d, sqlite3 *db, const char *sql,
		       struct err *err)
{
	sqlite3_stmt *st;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "digest");
	digest_add(d, sql, strlen(sql) + 1);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++)
			digest_value(d, st, i);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : sqlite_err(db, err, "digest");
}

/* What a table of any version of ours has, in the order of its first column,
 * which is its key; but for the digest's own row. */
static int digest_table(struct digest *d, sqlite3 *db, const char *table,
			struct err *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT * FROM \"%.40s\" %s ORDER BY 1",
		 table,
		 strcmp(table, "meta") == 0 ? "WHERE key <> 'digest'" : "");
	return digest_rows(d, db, sql, err);
}

static int digest_tables(struct digest *d, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *st;
	int rc, r = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT name FROM sqlite_schema "
			       "WHERE type='table' ORDER BY name",
			       -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "digest");
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = digest_table(d, db,
				 (const char *)sqlite3_column_text(st, 0), err);
	if (r == 0 && rc != SQLITE_DONE)
		r = sqlite_err(db, err, "digest");
	sqlite3_finalize(st);
	return r;
}

/* Over the shape of the database, then over every row. */
static int digest_database(sqlite3 *db, char hex[HEX_LEN + 1], struct err *err)
{
	unsigned char out[DIGEST_SHA256_LEN];
	struct digest *d = digest_new();
	int r;

	r = digest_rows(d, db, "PRAGMA user_version", err);
	if (r == 0)
		r = digest_rows(d, db,
				"SELECT name, sql FROM sqlite_schema "
				"ORDER BY name",
				err);
	if (r == 0)
		r = digest_tables(d, db, err);
	digest_end(d, out);
	digest_hex(out, sizeof(out), hex);
	return r;
}

int sqlite_open_quietly(const char *path, int flags, sqlite3 **ret,
			struct err *err)
{
	if (sqlite3_open_v2(path, ret,
			    flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		return err_set(err, ERR_UNAVAILABLE, "cannot open %s: %s", path,
			       sqlite3_errmsg(*ret));
	/* Bringing the write-ahead log in is the server's to do. */
	sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(*ret, 10000);
	return sqlite_exec(*ret, "PRAGMA trusted_schema=OFF", err);
}

/* One statement, hence one snapshot, however much is written meanwhile. */
static int copy_database(const char *from, const char *to, struct err *err)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int version, r;

	r = sqlite_open_quietly(from, SQLITE_OPEN_READWRITE, &db, err);
	if (r == 0)
		r = sqlite_check_ours(db, from, &version, err);
	if (r == 0 && version != SQLITE_VERSION_NOW)
		r = err_set(err, ERR_CONFLICT,
			    "%s is of an older version of muster: start the "
			    "server once, then back up",
			    from);
	if (r == 0 &&
	    (sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &st, NULL) !=
		     SQLITE_OK ||
	     sqlite3_bind_text(st, 1, to, -1, SQLITE_STATIC) != SQLITE_OK ||
	     sqlite3_step(st) != SQLITE_DONE))
		r = sqlite_err(db, err, "copy");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return r;
}

static int add_digest(const char *path, struct err *err)
{
	char hex[HEX_LEN + 1];
	sqlite3 *db = NULL;
	int r;

	r = sqlite_open_quietly(path, SQLITE_OPEN_READWRITE, &db, err);
	if (r == 0)
		r = sqlite_exec(db, "PRAGMA journal_mode=OFF", err);
	if (r == 0)
		r = digest_database(db, hex, err);
	if (r == 0) {
		char sql[160];

		snprintf(sql, sizeof(sql),
			 "INSERT OR REPLACE INTO meta VALUES('digest', '%s')",
			 hex);
		r = sqlite_exec(db, sql, err);
	}
	sqlite3_close(db);
	return r;
}

static int fail_file(struct err *err, const char *what, const char *path)
{
	return err_set(err, ERR_UNAVAILABLE, "cannot %s %s: %s", what, path,
		       strerror(errno));
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The digest of the first LEN bytes of FROM, which are copied to TO unless it
 * is -1; errno 0 when there are not so many. */
static int digest_bytes(int from, off_t len, int to, char hex[HEX_LEN + 1])
{
	unsigned char out[DIGEST_SHA256_LEN];
	struct digest *d = digest_new();
	auto_free char *piece = xmalloc(PIECE);
	off_t at = 0;
	int r = 0;

	while (r == 0 && at < len) {
		off_t left = len - at;
		ssize_t n =
			pread(from, piece,
			      left < (off_t)PIECE ? (size_t)left : PIECE, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : 0;
			r = -1;
			break;
		}
		digest_add(d, piece, (size_t)n);
		at += n;
		if (to >= 0)
			r = write_all(to, piece, (size_t)n);
	}
	digest_end(d, out);
	digest_hex(out, sizeof(out), hex);
	return r;
}

static int add_seal(const char *path, struct err *err)
{
	auto_close int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	char hex[HEX_LEN + 1], seal[SEAL_ROOM];
	struct stat st;
	int n;

	if (fd < 0 || fstat(fd, &st) < 0 ||
	    digest_bytes(fd, st.st_size, -1, hex) < 0)
		return fail_file(err, "read", path);
	n = snprintf(seal, sizeof(seal), SEAL_WORD "%s\n", hex);
	if (write_all(fd, seal, (size_t)n) < 0 || fsync(fd) < 0)
		return fail_file(err, "write", path);
	return 0;
}

static int refuse_existing(struct err *err, const char *path)
{
	return err_set(err, ERR_CONFLICT,
		       "%s exists already and is not overwritten: move it away "
		       "or choose another name",
		       path);
}

/* Never over a file that has come into being meanwhile, where the file system
 * can do that. */
static int rename_new(const char *from, const char *to, struct err *err)
{
	int r = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	if (r < 0 && errno == EEXIST)
		return refuse_existing(err, to);
	if (r < 0 && (errno == EINVAL || errno == ENOSYS))
		r = rename(from, to);
	if (r < 0)
		return fail_file(err, "rename to", to);
	return sqlite_sync_folder(to, err);
}

/* An empty file of our own, that nobody else can read. */
static int claim(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_CONFLICT,
			       "%s is there: another backup or restore is "
			       "running, or one was cut short; remove the file "
			       "if none is",
			       path);
	if (fd < 0)
		return fail_file(err, "make", path);
	close(fd);
	return 0;
}

int sqlite_backup(const char *dir, const char *file, struct err *err)
{
	char from[4096], temporary[4096];
	int n = snprintf(temporary, sizeof(temporary), "%s.tmp", file);

	if ((size_t)n >= sizeof(temporary))
		return err_set(err, ERR_INVALID, "the path is too long: %s",
			       file);
	if (sqlite_path(dir, SQLITE_FILE, from, err) < 0)
		return -1;
	if (access(from, F_OK) < 0)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no database in %s: name the folder "
			       "that the server is given as --data",
			       dir);
	if (access(file, F_OK) == 0)
		return refuse_existing(err, file);
	if (claim(temporary, err) < 0)
		return -1;
	if (copy_database(from, temporary, err) < 0 ||
	    add_digest(temporary, err) < 0 || add_seal(temporary, err) < 0 ||
	    rename_new(temporary, file, err) < 0) {
		unlink(temporary);
		return err_wrap(err, "backup");
	}
	return 0;
}

/* Copy the pages of FILE, whose seal must be right, to TO unless it is -1. */
static int check_seal(const char *file, int to, struct err *err)
{
	auto_close int fd = open(file, O_RDONLY | O_CLOEXEC);
	char hex[HEX_LEN + 1], seal[SEAL_ROOM], have[SEAL_ROOM] = "";
	struct stat st;

	if (fd < 0)
		return fail_file(err, "open", file);
	if (fstat(fd, &st) < 0)
		return fail_file(err, "read", file);
	if (st.st_size < (off_t)SEAL_LEN ||
	    pread(fd, have, SEAL_LEN, st.st_size - (off_t)SEAL_LEN) !=
		    (ssize_t)SEAL_LEN ||
	    strncmp(have, SEAL_WORD, sizeof(SEAL_WORD) - 1) != 0)
		return err_set(err, ERR_INVALID,
			       "%s is not a backup made by 'muster backup', or "
			       "it is damaged or cut short: use another",
			       file);
	if (digest_bytes(fd, st.st_size - (off_t)SEAL_LEN, to, hex) < 0)
		return fail_file(err, "copy", file);
	snprintf(seal, sizeof(seal), SEAL_WORD "%s\n", hex);
	if (memcmp(have, seal, SEAL_LEN) != 0)
		return err_set(err, ERR_INVALID,
			       "%s is damaged (its digest is not that of its "
			       "contents): use another backup",
			       file);
	return 0;
}

static int check_digest(sqlite3 *db, const char *file, struct err *err)
{
	sqlite3_stmt *st;
	char hex[HEX_LEN + 1];
	const char *have = NULL;
	int rc, r = digest_database(db, hex, err);

	if (r < 0 ||
	    sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key='digest'",
			       -1, &st, NULL) != SQLITE_OK)
		return r < 0 ? -1 : sqlite_err(db, err, file);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		have = (const char *)sqlite3_column_text(st, 0);
	else if (rc != SQLITE_DONE)
		r = sqlite_err(db, err, file);
	if (r == 0 && (!have || strcmp(have, hex) != 0))
		r = err_set(err, ERR_INVALID,
			    "%s is damaged (the digest of its rows is wrong): "
			    "use another backup",
			    file);
	sqlite3_finalize(st);
	return r;
}

/* The copy at PATH of the backup FILE: what is it, is it whole; then it is a
 * database again. */
static int settle_copy(const char *path, const char *file, struct err *err)
{
	sqlite3 *db = NULL;
	int version, r;

	r = sqlite_open_quietly(path, SQLITE_OPEN_READWRITE, &db, err);
	if (r == 0)
		r = sqlite_check_ours(db, file, &version, err);
	if (r == 0)
		r = sqlite_check_sound(db, err);
	if (r == 0)
		r = check_digest(db, file, err);
	if (r == 0)
		r = sqlite_exec(db,
				"PRAGMA journal_mode=OFF;"
				"PRAGMA synchronous=FULL;"
				"DELETE FROM meta WHERE key='digest'",
				err);
	sqlite3_close(db);
	return r;
}

static int make_copy(const char *file, const char *path, struct err *err)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_file(err, "open", path);
	if (check_seal(file, fd, err) < 0 || settle_copy(path, file, err) < 0)
		return -1;
	return fsync(fd) < 0 ? fail_file(err, "sync", path) : 0;
}

/* A write-ahead log of a database that was removed would be taken for the
 * restored one's. */
static int refuse_database(const char *dir, struct err *err)
{
	static const char *const names[] = {SQLITE_FILE, SQLITE_FILE "-wal",
					    SQLITE_FILE "-journal"};
	char path[4096];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (sqlite_path(dir, names[i], path, err) < 0)
			return -1;
		if (access(path, F_OK) == 0)
			return err_set(err, ERR_CONFLICT,
				       "there is a database in %s already "
				       "(%s): restore into an empty folder, or "
				       "move it away first",
				       dir, names[i]);
	}
	return 0;
}

static int verify_file(const char *path, struct audit_report *ret,
		       struct err *err)
{
	sqlite3 *db = NULL;
	int version, r;

	r = sqlite_open_quietly(path, SQLITE_OPEN_READWRITE, &db, err);
	if (r == 0)
		r = sqlite_check_ours(db, path, &version, err);
	if (r == 0 && version != SQLITE_VERSION_NOW)
		r = err_set(err, ERR_CONFLICT,
			    "%s is of an older version of muster, which kept "
			    "no hashes: start the server once",
			    path);
	if (r == 0)
		r = trail_verify(db, ret, err);
	sqlite3_close(db);
	return r;
}

int sqlite_audit_verify(const char *dir, const char *file,
			struct audit_report *ret, struct err *err)
{
	char path[4096];

	if (!dir)
		return check_seal(file, -1, err) < 0
			       ? -1
			       : verify_file(file, ret, err);
	if (sqlite_path(dir, SQLITE_FILE, path, err) < 0)
		return -1;
	if (access(path, F_OK) < 0)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no database in %s: name the folder "
			       "that the server is given as --data",
			       dir);
	return verify_file(path, ret, err);
}

int sqlite_restore(const char *file, const char *dir, struct err *err)
{
	char path[4096], temporary[4096];
	auto_close int lock = -1;

	/* What is wrong with the file is said before anything is touched. */
	if (sqlite_path(dir, SQLITE_FILE, path, err) < 0 ||
	    sqlite_path(dir, SQLITE_FILE ".restore", temporary, err) < 0 ||
	    check_seal(file, -1, err) < 0 || refuse_database(dir, err) < 0 ||
	    sqlite_lock(dir, &lock, err) < 0 || refuse_database(dir, err) < 0 ||
	    claim(temporary, err) < 0)
		return -1;
	if (make_copy(file, temporary, err) < 0 ||
	    rename_new(temporary, path, err) < 0) {
		unlink(temporary);
		return err_wrap(err, "restore");
	}
	return 0;
}

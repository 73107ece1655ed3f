/* sqlite_schema - the file's shape, how it got there, and who may have it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/sqlite.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_priv.h"

#define APPLICATION_ID 0x4d737472 /* "Mstr" */

/* upgrades[v] turns version v into v + 1; version 0 is an empty file. */
static const char *const upgrades[SQLITE_VERSION_NOW] = {
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE log(revision INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" sum INTEGER NOT NULL, data BLOB NOT NULL);",
	"CREATE TABLE audit(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL,"
	" revision INTEGER NOT NULL, entry TEXT NOT NULL);",
	"ALTER TABLE audit ADD COLUMN organization TEXT;"
	"ALTER TABLE audit ADD COLUMN hash BLOB NOT NULL DEFAULT x'';",
};

/* What the system last said against a call on FILE; 0 when it never did. */
static int errno_of(sqlite3_file *file)
{
	int code = 0;

	if (file && file->pMethods)
		file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO,
					     &code);
	return code;
}

static int last_errno(sqlite3 *db, int which)
{
	sqlite3_file *file = NULL;

	sqlite3_file_control(db, NULL, which, &file);
	return errno_of(file);
}

bool sqlite_has_no_room(sqlite3 *db)
{
	int code = last_errno(db, SQLITE_FCNTL_JOURNAL_POINTER);

	return (sqlite3_errcode(db) & 0xff) == SQLITE_FULL ||
	       (sqlite3_extended_errcode(db) == SQLITE_IOERR_WRITE &&
		(code == ENOSPC || code == EDQUOT || code == EFBIG));
}

/* SQLite calls a page that the disk refuses to give a damaged one; nobody
 * should restore a backup for that. */
static int damaged(sqlite3 *db, struct err *err, const char *what,
		   const char *why)
{
	int code = last_errno(db, SQLITE_FCNTL_FILE_POINTER);

	if (!code)
		code = last_errno(db, SQLITE_FCNTL_JOURNAL_POINTER);
	if (code)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: the disk failed (%s); nothing was written",
			       what, strerror(code));
	return err_set(err, ERR_INTERNAL,
		       "%s: the database is damaged (%.120s); restore a "
		       "backup with 'muster restore'",
		       what, why);
}

int sqlite_err(sqlite3 *db, struct err *err, const char *what)
{
	int code = sqlite3_errcode(db) & 0xff;

	if (sqlite_has_no_room(db))
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: the disk is full; nothing was written",
			       what);
	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return damaged(db, err, what, sqlite3_errmsg(db));
	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: another program has the database locked; "
			       "nothing was written",
			       what);
	if (code == SQLITE_IOERR || code == SQLITE_READONLY ||
	    code == SQLITE_CANTOPEN)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s: the disk failed (%s); nothing was written",
			       what, sqlite3_errmsg(db));
	return err_set(err, ERR_INTERNAL, "%s: %s", what, sqlite3_errmsg(db));
}

int sqlite_exec(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return sqlite_err(db, err, "database");
}

int sqlite_number(sqlite3 *db, const char *sql, sqlite3_int64 *ret,
		  struct err *err)
{
	sqlite3_stmt *st;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "database");
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	else
		*ret = 0;
	if (sqlite3_finalize(st) != SQLITE_OK)
		return sqlite_err(db, err, "database");
	return 0;
}

/* A page that could not be read says nothing about what is on it. */
static bool is_unread(const char *said)
{
	static const char word[] = "error code=";
	const char *at = strstr(said, word);
	long code = at ? strtol(at + sizeof(word) - 1, NULL, 10) & 0xff : 0;

	return code == SQLITE_IOERR || code == SQLITE_NOMEM;
}

int sqlite_check_sound(sqlite3 *db, struct err *err)
{
	sqlite3_stmt *st;
	int r = 0;

	const char *said = NULL;

	if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL) !=
	    SQLITE_OK)
		return sqlite_err(db, err, "database");
	if (sqlite3_step(st) == SQLITE_ROW)
		said = (const char *)sqlite3_column_text(st, 0);
	if (!said)
		r = sqlite_err(db, err, "database");
	else if (is_unread(said))
		r = err_set(err, ERR_UNAVAILABLE,
			    "database: the disk failed (%.120s); nothing was "
			    "written",
			    said);
	else if (strcmp(said, "ok") != 0)
		r = damaged(db, err, "database", said);
	sqlite3_finalize(st);
	return r;
}

static int upgrade(sqlite3 *db, int from, struct err *err)
{
	char sql[80];

	if (sqlite_exec(db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	for (int v = from; v < SQLITE_VERSION_NOW; v++)
		if (sqlite_exec(db, upgrades[v], err) < 0 ||
		    (v == 2 && trail_upgrade(db, err) < 0))
			return -1;
	snprintf(sql, sizeof(sql),
		 "PRAGMA user_version=%d; PRAGMA application_id=%d",
		 SQLITE_VERSION_NOW, APPLICATION_ID);
	if (sqlite_exec(db, sql, err) < 0)
		return -1;
	return sqlite_exec(db, "COMMIT", err);
}

int sqlite_check_ours(sqlite3 *db, const char *path, int *ret_version,
		      struct err *err)
{
	sqlite3_int64 version = 0, app = 0, tables = 0;

	if (sqlite_number(db, "PRAGMA user_version", &version, err) < 0 ||
	    sqlite_number(db, "PRAGMA application_id", &app, err) < 0 ||
	    sqlite_number(db, "SELECT count(*) FROM sqlite_schema", &tables,
			  err) < 0)
		return err_wrap(err, "%s", path);
	if ((tables || app || version) && app != APPLICATION_ID)
		return err_set(err, ERR_CONFLICT,
			       "%s is not a database of muster's", path);
	if (version > SQLITE_VERSION_NOW)
		return err_set(err, ERR_UNSUPPORTED,
			       "%s was written by a newer version of muster "
			       "(schema %lld; this one knows %d): use that one",
			       path, (long long)version, SQLITE_VERSION_NOW);
	/* What is ours has both or neither, for they are set together. */
	if (version < 0 || !version != !tables)
		return err_set(err, ERR_INTERNAL,
			       "%s: the database is damaged (schema %lld with "
			       "%lld tables); restore a backup with 'muster "
			       "restore'",
			       path, (long long)version, (long long)tables);
	*ret_version = (int)version;
	return 0;
}

int sqlite_prepare_schema(sqlite3 *db, const char *path, int version,
			  struct err *err)
{
	if (version && sqlite_check_sound(db, err) < 0)
		return err_wrap(err, "%s", path);
	if (version < SQLITE_VERSION_NOW && upgrade(db, version, err) < 0)
		return err_wrap(err, "%s: upgrade", path);
	return 0;
}

int sqlite_path(const char *dir, const char *name, char out[4096],
		struct err *err)
{
	int n = snprintf(out, 4096, "%s/%s", dir, name);

	if (n >= 4096)
		return err_set(err, ERR_INVALID, "the path is too long: %s",
			       dir);
	return 0;
}

int sqlite_sync_folder(const char *path, struct err *err)
{
	size_t len = strlen(path);
	char folder[4096] = ".";
	auto_close int fd = -1;

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	if (len && len < sizeof(folder)) {
		memcpy(folder, path, len);
		folder[len] = '\0';
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot sync the folder %s: %s", folder,
			       strerror(errno));
	return 0;
}

/* Whose lock it is; only for the message. */
static long holder(int fd)
{
	char text[24] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? strtol(text, NULL, 10) : 0;
}

int sqlite_lock(const char *dir, int *ret_fd, struct err *err)
{
	char path[4096], text[24];
	int fd, n;

	if (sqlite_path(dir, "lock", path, err) < 0)
		return -1;
	if (mkdir(dir, 0700) == 0) {
		if (sqlite_sync_folder(dir, err) < 0)
			return -1;
	} else if (errno != EEXIST) {
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot make the folder %s: %s", dir,
			       strerror(errno));
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot open %s: %s", path,
			       strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		err_set(err, ERR_CONFLICT,
			"the folder %s is in use by another muster (process "
			"%ld): stop that one, or give --data another folder",
			dir, holder(fd));
		close(fd);
		return -1;
	}
	n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		err_set(err, ERR_UNAVAILABLE, "cannot write %s: %s", path,
			strerror(errno));
		close(fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

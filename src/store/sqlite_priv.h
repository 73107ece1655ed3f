/* sqlite_priv - what the files of the sqlite backend share. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "base/err.h"

/* ERR from DB's last error, in words that say what to do. */
int sqlite_err(sqlite3 *db, struct err *err, const char *what);

/* Whether DB's last error is that a write found the disk full, a quota used up
 * or the file too large: less than all of it was written, then. */
bool sqlite_has_no_room(sqlite3 *db);

int sqlite_exec(sqlite3 *db, const char *sql, struct err *err);

/* The number that SQL answers with. */
int sqlite_number(sqlite3 *db, const char *sql, sqlite3_int64 *ret,
		  struct err *err);

/* Refuse what is not ours or too new, having changed nothing; the schema's
 * version, 0 when the file is empty. */
int sqlite_check_ours(sqlite3 *db, const char *path, int *ret_version,
		      struct err *err);

/* Refuse what is damaged; every page is read. */
int sqlite_check_sound(sqlite3 *db, struct err *err);

/* Refuse what is damaged, bring what is old up to date. */
int sqlite_prepare_schema(sqlite3 *db, const char *path, int version,
			  struct err *err);

/* Open what another process may be writing, leaving its write-ahead log. */
int sqlite_open_quietly(const char *path, int flags, sqlite3 **ret,
			struct err *err);

/* "DIR/NAME" into OUT. */
int sqlite_path(const char *dir, const char *name, char out[4096],
		struct err *err);

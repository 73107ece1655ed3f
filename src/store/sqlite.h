/*
 * sqlite - the log in one SQLite file, written by one thread.
 *
 * WAL with synchronous=FULL; a batch is one SQL transaction.  Each row carries
 * a checksum, looked at when it is read.  One process may have the folder open
 * at a time.  A disk that refuses to sync ends the process: nobody can say what
 * is durable then.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/seal.h"

struct backend;
struct loop;

#define SQLITE_FILE        "muster.db"
#define SQLITE_VERSION_NOW 3

/* Open the folder DIR, made when it is not there.  Refused, with what to do: a
 * folder in use, a file that is not ours, is damaged or is of a newer version
 * of the program. */
int sqlite_open(const char *dir, struct loop *l, struct backend **out,
		struct err *err);

/* Copy the database of DIR to FILE while a server may be writing it, with a
 * digest over all of it inside. */
int sqlite_backup(const char *dir, const char *file, struct err *err);

/* Make DIR, which must not hold a database yet, from the backup FILE, whose
 * digest is checked first. */
int sqlite_restore(const char *file, const char *dir, struct err *err);

struct audit_report {
	uint64_t count, trimmed; /* entries there; that retention dropped */
	char last[96];           /* "SEQ HASH" of the newest */
};

/* Go through the audit trail of DIR, while a server may be writing it, or of
 * the backup FILE when DIR is NULL.  Fails, saying where, when any of it is not
 * as it was written. */
int sqlite_audit_verify(const char *dir, const char *file,
			struct audit_report *ret, struct err *err);

/* How many secrets in the log are sealed with which key, and how many are not
 * sealed. */
struct secret_use {
	struct {
		char id[SEAL_ID_LEN + 1];
		uint64_t count;
	} keys[SEAL_KEYS_MOST];
	size_t n;
	uint64_t plain;
};

/* Of the folder DIR, while a server may be writing it. */
int sqlite_secret_use(const char *dir, struct secret_use *ret, struct err *err);

/* Make what was created or renamed at PATH durable in its folder. */
int sqlite_sync_folder(const char *path, struct err *err);

/* Take the folder's lock; the descriptor holds it until it is closed. */
int sqlite_lock(const char *dir, int *ret_fd, struct err *err);

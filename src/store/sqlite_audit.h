/*
 * sqlite_audit - the audit trail in its table; for the sqlite backend's files.
 *
 * A trail belongs to the thread that writes the database.
 */
#pragma once

#include <sqlite3.h>

#include "store/audit.h"

enum trail_statement {
	TRAIL_INSERT,
	TRAIL_SET,
	TRAIL_OLDEST,
	TRAIL_DROP,
	TRAIL_STATEMENTS, /* how many there are */
};

struct trail {
	sqlite3 *db;
	struct chain head, next; /* durable; with the batch under way */
	int64_t oldest, next_oldest;
	sqlite3_stmt *st[TRAIL_STATEMENTS];
};

struct audit_report;

int trail_open(struct trail *t, sqlite3 *db, struct err *err);

/* The installation's id, which the trail begins with. */
int trail_installation(sqlite3 *db, char id[37], struct err *err);
void trail_close(struct trail *t);

/* In the batch's SQL transaction; -1 with the error in the database.  Then say
 * whether it was committed, if it was. */
int trail_write(struct trail *t, struct batch *b);
void trail_committed(struct trail *t);

/* Fill Q's page, on any connection. */
int trail_look(sqlite3 *db, struct audit_query *q, struct err *err);

int trail_verify(sqlite3 *db, struct audit_report *ret, struct err *err);

/* Bring the trail of schema 2, whose columns are there by now, into a chain. */
int trail_upgrade(sqlite3 *db, struct err *err);

/*
 * line - how a transaction is written down: one line a write, for machines
 * and for people with the sqlite3 shell.
 *
 *     +project@1 0190c… {"id":…}      the object as it is now
 *     -project@1 0190c…               deleted
 *     =KEY DIGEST project 0190c…      the request KEY was answered with it
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct line {
	char type; /* '+', '-' or '=' */
	char kind[32];
	unsigned version;
	char id[40];
	char key[72], digest[72]; /* of '=' */
	const char *json;         /* of '+': inside the row */
	size_t len;
};

/* Take the next line off *DATA; 1, or 0 at the end. */
int line_read(const char **data, const char *end, struct line *ret,
	      struct err *err) MUST_CHECK;

/* "+project@1 ID " and so on: what stands before the JSON. */
void line_begin(struct buf *b, char type, const char *kind, unsigned version,
		const char *id);
void line_memo(struct buf *b, const char *key, const char *digest,
	       const char *kind, const char *id);

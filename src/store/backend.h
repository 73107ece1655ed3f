/*
 * backend - where the log is kept, behind one table.
 *
 * The store is a log of rows, one a transaction, numbered without a gap.  A
 * backend keeps rows; it knows nothing of what is in them.  The store's core
 * gives it one batch at a time.
 *
 * commit MUST make the whole batch durable before it answers BATCH_DONE, or
 * leave nothing of it behind.  When it cannot tell whether the batch is
 * durable, it MUST end the process.  It answers on the loop's thread, by
 * done(), never from inside commit().
 *
 * Where several may write: when another's row already stands at the batch's
 * first revision (the guard), the backend MUST first feed the core every row
 * from there on and then answer BATCH_LOST.  A batch whose horizon lies before
 * the log's own MUST leave its trims undone and the horizon alone: another has
 * trimmed further, and less may be left of the same rows.  Rows that the core
 * has yet to hear of must be whole: when some lie before the horizon, nobody
 * can tell what was deleted, and the process MUST end, to load anew.
 *
 * The audit trail is beside the log; see audit.h.  What of it is in a batch is
 * durable with the batch, or not there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct backend;

struct row {
	uint64_t revision;
	int64_t at;       /* wall time */
	const char *data; /* lines; see line.h */
	size_t len;
};

/* An entry of the audit trail: of a row in the same batch, or of a request that
 * changed nothing. */
struct audit {
	int64_t at;
	uint64_t revision;        /* the row's; 0: it was refused */
	const char *organization; /* whose it is, or NULL */
	const char *text;         /* a JSON object on one line */
	size_t len;
};

/* A row before the horizon that has lost lines: what is left of it. */
struct trim {
	uint64_t revision;
	int64_t at;       /* of the row, unchanged */
	const char *data; /* NULL: nothing, drop the row */
	size_t len;
};

enum batch_result { BATCH_DONE, BATCH_LOST, BATCH_FAILED };

struct batch {
	const struct row *rows;
	size_t n;
	const struct trim *trims;
	size_t n_trims;
	uint64_t horizon; /* rows from here on are whole; older ones trimmed */
	const struct audit *audits; /* go to the end of the trail, in order */
	size_t n_audits;
	int64_t audit_from; /* entries older than this may go, some at a time */

	bool audit_more; /* older ones are left */
	enum batch_result result;
	struct err err; /* with BATCH_FAILED */
	void (*done)(struct batch *b);
	void *ctx;
};

/* Told of every row: on load, and when another writer wrote it. */
typedef int backend_feed(void *ctx, const struct row *row, struct err *err);

struct audit_query;

struct backend_ops {
	const char *name;

	/* Feed every row in order, after setting *ret_horizon.  FEED and CTX
	 * are kept for rows of other writers. */
	int (*load)(struct backend *b, backend_feed *feed, void *ctx,
		    uint64_t *ret_horizon, struct err *err);
	void (*commit)(struct backend *b, struct batch *batch);

	/* Look in the audit trail without holding up the loop; q->done() is
	 * called on its thread, perhaps before this returns, unless the backend
	 * is closed first: then Q is freed. */
	void (*audit)(struct backend *b, struct audit_query *q);
	void (*close)(struct backend *b);
};

/* The part all backends share; a backend's own struct begins with one. */
struct backend {
	const struct backend_ops *ops;
	char installation[40]; /* the log's id, made with it; once it is open */
};

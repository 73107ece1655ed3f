/*
 * audit - the trail of who did what: entries in a chain of hashes.
 *
 * An entry's hash is SHA-256 over the hash before it, as 32 bytes, and the
 * entry's text: "SEQ AT REVISION ORGANIZATION\n" followed by its JSON.  The
 * first one follows on the hash of the installation's id.  So nothing can be
 * changed, left out or put elsewhere without every later hash being another.
 *
 * Backends keep the chain: entries get their places when they are written.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "loop/pool.h"
#include "store/backend.h"

struct store;

#define AUDIT_MARK_LEN (24 + 2 * DIGEST_SHA256_LEN)

/* Where the chain has come to. */
struct chain {
	uint64_t seq;
	unsigned char hash[DIGEST_SHA256_LEN];
};

void chain_begin(struct chain *c, const char *installation);
void chain_add(struct chain *c, const struct audit *e);

/* As text, "SEQ HASH", and back; false when TEXT is none. */
void chain_text(const struct chain *c, char out[AUDIT_MARK_LEN]);
bool chain_read(struct chain *c, const char *text);

/* Which entries are asked for; what is NULL or 0 is not asked. */
struct audit_filter {
	const char *who; /* id or name, of the caller or of whom it acts for */
	const char *kind, *object, *organization, *project, *action, *result;
	int64_t since, until; /* from SINCE on, before UNTIL */
	uint64_t before;      /* only entries before this one */
	size_t limit;
};

/* A page of entries, newest first.  Made on the heap; whoever asks gives up
 * waiting by setting done to audit_query_free. */
struct audit_query {
	struct audit_filter filter; /* its strings live in arena */
	struct arena arena;
	bool lines;      /* a line each, rather than commas between */
	struct buf text; /* the entries as JSON */
	size_t n;
	uint64_t next; /* go on before this one; 0: that was all */
	struct err err;
	void (*done)(struct audit_query *q);
	void *ctx;

	size_t looked; /* the rest is the backend's */
	struct job job;
	struct list link;
	void *owner;
};

/* FILTER is copied, strings and all. */
struct audit_query *audit_query_new(const struct audit_filter *filter,
				    bool lines);
void audit_query_free(struct audit_query *q);

/* An entry to look at, the newest first; HASH is its own.  False when no more
 * are wanted: the page is full or has taken enough work. */
bool audit_query_take(struct audit_query *q, uint64_t seq,
		      const struct audit *e, const unsigned char *hash);

/* Have an entry about a request that changed nothing kept in the audit trail:
 * with the next batch, or at the next store_expire().  When too many wait, only
 * how many were left out is kept; the caller may leave one out, too. */
void store_note(struct store *s, const char *organization, const char *text,
		size_t len);
void store_omit_note(struct store *s);

/* Have Q answered; see backend.h. */
void store_audit(struct store *s, struct audit_query *q);

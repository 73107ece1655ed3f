/*
 * tx - what a transaction function can do; see store.h.
 *
 * A function sees everything that was written before it, durable or not, and
 * what it has written itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/kind.h"

struct record;
struct tx;

/* NULL when it is not there. */
const void *tx_get(struct tx *tx, const struct kind *k, const char *id);

/* Up to MOST ids of objects of kind K where the indexed field PATH is VALUE,
 * in memory of the transaction. */
size_t tx_find(struct tx *tx, const struct kind *k, const char *path,
	       const char *value, size_t most, const char ***ret);

/* What is decided rests on everything that was written so far. */
void tx_rest_on_all(struct tx *tx);

/* What FN does not see may not be referred to: it is as if it were not
 * there. */
void tx_set_view(struct tx *tx,
		 bool (*fn)(void *ctx, const struct kind *k,
			    const void *object),
		 void *ctx);

/* What OBJECT, yet to be written, refers to is there. */
int tx_check_references(struct tx *tx, const struct kind *k, const void *object,
			struct err *err) MUST_CHECK;

/* Write OBJECT, a struct of kind K, whose id and name are set; its revision is
 * set here.  Fails when its name is taken or it refers to what is not there.
 * OBJECT is copied. */
int tx_put(struct tx *tx, const struct kind *k, void *object,
	   struct err *err) MUST_CHECK;

/* OBJECT is about to be put, after more checks: have its places in the indexes
 * fetched from memory meanwhile. */
void tx_expect(struct tx *tx, const struct kind *k, const void *object);

/* Fails when something else refers to it, or it is not there. */
int tx_delete(struct tx *tx, const struct kind *k, const char *id,
	      struct err *err) MUST_CHECK;

/* Nothing but itself refers to it, or would only lose the mention; otherwise
 * ERR_CONFLICT names who does. */
int tx_check_unused(struct tx *tx, const struct kind *k, const char *id,
		    struct err *err) MUST_CHECK;

/* The wall time of this transaction; never earlier than the one before. */
int64_t tx_time(const struct tx *tx);
void tx_new_id(struct tx *tx, char id[37]);

/* Memory until the function returns. */
struct arena *tx_arena(struct tx *tx);

/* Remember that this transaction, which must write something, answers the
 * request KEY with object ID; and find that again for as long as the log holds
 * it.  Once a transaction, for a key not yet remembered.  DIGEST is of the
 * request's body; KEY and DIGEST have 1 to 71 bytes, no space or newline. */
void tx_remember(struct tx *tx, const char *key, const char *digest,
		 const struct kind *k, const char *id);
bool tx_recall(struct tx *tx, const char *key, const char **ret_digest,
	       struct record *ret);

/* The object as it was before this transaction; false when it was not there. */
bool tx_before(struct tx *tx, const struct kind *k, const char *id,
	       struct record *ret);

/* The revision that this transaction will have, if it writes anything. */
uint64_t tx_revision(const struct tx *tx);

/* Have ENTRY, a JSON object on one line, kept in the audit trail with this
 * transaction, if it writes anything.  ORGANIZATION, whose it is, may be
 * NULL. */
void tx_audit(struct tx *tx, const char *organization, const char *entry);

/* Tell that REASON, a word that does not change, happened to object ID, which
 * is there or is deleted by this transaction; the rest is a message for people,
 * without secrets.  The same reason again is counted.  Durable with the rest of
 * what this transaction writes; alone, it is a change like any other. */
void tx_event(struct tx *tx, const struct kind *k, const char *id,
	      const char *reason, const char *fmt, ...) PRINTF(5, 6);

/* Which part of the server the events of this transaction come from. */
void tx_set_source(struct tx *tx, const char *source);

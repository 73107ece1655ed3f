/* history - what was, for as long as the log keeps it; the store's own. */
#pragma once

#include "store/backend.h"
#include "store/cache.h"

/* That a request was answered, and with what. */
struct memo {
	struct change *change;
	const struct kind *kind;
	char id[40];
	char digest[72];
	char key[72];
};

/* The recent changes by revision, without a gap: revision R is at
 * ring[R % room] while first <= R < first + n. */
struct history {
	struct change **ring;
	size_t n, room;
	uint64_t first;
	size_t bytes;         /* in superseded versions */
	struct list trims;    /* changes whose rows have lost something */
	struct list rewrites; /* those whose rows are of an older version */
	size_t trim_bytes;    /* that writing the trims takes, at most */
};

/* Take back everything that C wrote, the newest change there is, and free
 * it. */
void change_undo(struct store *s, struct change *c);
struct change *change_new(uint64_t revision, int64_t at);
void change_free(struct change *c);

void history_add(struct store *s, struct change *c);
struct change *history_at(const struct store *s, uint64_t revision);

/* The newest change, taken out again. */
struct change *history_pop(struct store *s);
void history_release(struct store *s);

/* Add MEMO's key to the map; forget it again. */
void memo_add(struct store *s, struct change *c, const char *key,
	      const char *digest, const struct kind *k, const char *id);
void memo_drop(struct store *s, struct change *c);

/* Apply a row, newer than all before it: of the log, or of another writer. */
int replay_row(struct store *s, const struct row *row,
	       struct err *err) MUST_CHECK;

/* C lies before the log: let go of what no reader can reach, the versions that
 * it replaced or deleted. */
void history_settle(struct store *s, struct change *c);

/* Let go of V, which no reader can reach: its row has lost a line. */
void history_let_go(struct store *s, struct version *v);

/* Have what is left of C's row written in the next batch; or, of a row that
 * only needs renewing, in some batch. */
void history_trim(struct store *s, struct change *c);
void history_rewrite(struct store *s, struct change *c);

/* Let go of changes that are past the log's limits, a batch's worth. */
void history_expire(struct store *s);

/*
 * ledger - who may call a region's provider next.
 *
 * So many calls at once, so many begun in a second; deletions before creations
 * before looking, though of sixteen that begin one is the lowest that waits.  A
 * provider that says when to come back is left alone until then, and then tried
 * with one call at first, one more at once for each that it takes.  Pure: times
 * are the caller's, monotonic milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "reconcile/controller.h"

struct ledger_entry {
	struct list link; /* unlinked: it does not wait */
	enum call_rank rank;
};

struct ledger {
	struct list waiting[CALL_RANKS];
	size_t n_waiting;
	unsigned at_once;    /* calls under way at most */
	unsigned per_second; /* 0: as many as come */
	bool paused;

	unsigned under_way;
	unsigned trust; /* at once, since it was too busy; 0: it was not */
	unsigned begun; /* for whose turn it is */
	uint64_t blocked_until;
	uint64_t credit_at; /* thousandths of calls there were then */
	uint64_t credit;
};

/* Without credit: a process that died just before NOW may have used it up. */
void ledger_init(struct ledger *l, uint64_t now);
void ledger_limit(struct ledger *l, unsigned at_once, unsigned per_second);

void ledger_add(struct ledger *l, struct ledger_entry *e);
/* Before those that wait already. */
void ledger_put_back(struct ledger *l, struct ledger_entry *e);
void ledger_remove(struct ledger *l, struct ledger_entry *e);

/* The one that may begin now, counted as under way; or NULL. */
struct ledger_entry *ledger_next(struct ledger *l, uint64_t now);

/* One that was under way has ended as ERR says (ERR_NONE: well). */
void ledger_end(struct ledger *l, const struct err *err, uint64_t now);

/* When ledger_next() is worth calling, if nothing ends before: QUEUE_NEVER when
 * nothing waits, or only an end or the end of a pause can help. */
uint64_t ledger_when(const struct ledger *l, uint64_t now);

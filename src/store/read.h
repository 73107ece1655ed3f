/*
 * read - looking at the store: one object, many, and what changed.
 *
 * A record stays valid until the loop's turn ends, or until the next call that
 * writes or expires; copy what must live longer.  Loop thread only.
 */
#pragma once

#include "store/store.h"

struct cache;
struct sorted;

/* The object as it was at revision AT (0: now); false when it was not there.
 * The revision must be readable: see store_check_at(). */
bool store_get(const struct store *s, uint64_t at, const struct kind *k,
	       const char *id, struct record *ret);

/* ID is about to be read: have it fetched from memory meanwhile. */
void store_expect(const struct store *s, const struct kind *k, const char *id);

/* The same for KEY, which tx_recall() will be asked for. */
void store_expect_key(const struct store *s, const char *key);

/* The newest durable revision at which an object of kind K changed. */
uint64_t store_changed(const struct store *s, const struct kind *k);

/* ERR_GONE when the log no longer reaches back to AT, ERR_INVALID when AT is
 * yet to come. */
int store_check_at(const struct store *s, uint64_t at,
		   struct err *err) MUST_CHECK;

/* Objects in the order of their ids. */
struct scan {
	const struct store *store;
	const struct cache *cache;
	uint64_t at;
	const char *path, *value; /* of the index, or NULL */
	const struct sorted *set;
	size_t run, i;
};

/* Those after the id AFTER (or NULL); when PATH is an indexed field ("tags"
 * with VALUE "k=v"), only those where it is VALUE. */
struct scan store_scan(const struct store *s, uint64_t at, const struct kind *k,
		       const char *after);
bool scan_narrow(struct scan *scan, const char *path, const char *value,
		 const char *after);

/* False at the end.  Steps over what is not there at that revision; *EFFORT
 * counts everything that was looked at. */
bool scan_next(struct scan *scan, struct record *ret, size_t *effort);

/* One of those who refer to object ID of kind K, other than itself and
 * those who would only lose the mention; false when there is none. */
bool store_user(const struct store *s, const struct kind *k, const char *id,
		struct record *ret);

/* What changed, in order: every version of kind K after revision *CURSOR,
 * which is moved past what is returned.  LAST is set on the last one of its
 * revision.  BEFORE is the version it replaced; its object is NULL when there
 * was none.  False when there is no more for now; ERR_GONE (through GONE) when
 * the log no longer reaches back to the cursor. */
struct cursor {
	uint64_t revision; /* seen in full */
	size_t i;          /* versions seen of the next one */
};

struct event {
	struct record now, before;
	bool last;
};

bool store_next(const struct store *s, const struct kind *k, struct cursor *c,
		struct event *ret, bool *ret_gone);

/* Called after each batch has become durable.  Remove before freeing; wake()
 * may remove any watcher. */
struct watcher {
	struct list link;
	void (*wake)(struct watcher *w);
};

void store_watch(struct store *s, struct watcher *w);
void store_unwatch(struct watcher *w);

/* While held, the log keeps everything from REVISION on. */
struct pin {
	struct list link;
	uint64_t revision;
};

void store_pin(struct store *s, struct pin *p, uint64_t revision);
void store_unpin(struct pin *p);

/* The time, as the next transaction would have it: never before what is
 * written, whatever the clock says; and since when it has run evenly, as far as
 * this process can tell (base/steady.h). */
int64_t store_time(struct store *s);
int64_t store_even_since(struct store *s);

/*
 * rig - a store on any backend, under a test's thumb: one table of backends, a
 * stepped clock, and deeds, which are transactions made of a list of writes.
 */
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "rig/shelves.h"
#include "store/read.h"
#include "store/store.h"

struct disk;
struct loop;
struct rig;

struct rig_ops {
	const char *name;
	bool shared; /* several stores may be open on one disk */
	int (*open)(struct rig *r, struct backend **out, struct err *err);

	/* Go on until every transaction is answered. */
	void (*settle)(struct rig *r);

	/* From now on the disk takes nothing; or it does again. */
	void (*fill)(struct rig *r, bool full);
};

/* Ended by NULL. */
extern const struct rig_ops *const rig_backends[];

struct rig_clock {
	struct clock base; /* first: cast from struct clock */
	int64_t now;
};

struct rig {
	const struct rig_ops *ops;
	struct store_conf conf; /* for the test to change before it opens */
	struct rig_clock clock;
	struct random_seeded random;
	struct store *store; /* NULL while it is closed */
	struct backend *backend;
	struct disk *disk; /* memory's */
	bool full;
	struct loop *loop; /* sqlite's, and its folder */
	char dir[32];
};

void rig_init(struct rig *r, const struct rig_ops *ops); /* nothing is open */
void rig_release(struct rig *r);

int rig_open(struct rig *r, struct err *err);
void rig_close(struct rig *r);

void rig_reopen(struct rig *r); /* aborts when it cannot */

enum deed_type { DEED_PUT, DEED_DELETE, DEED_FAIL, DEED_REMEMBER, DEED_RECALL };

struct deed_step {
	enum deed_type type;
	const struct kind *kind;
	const char *id; /* of the object; or the key to remember or recall */
	union {
		struct meta meta;
		struct shelf shelf;
		struct book book;
	};
};

enum { DEED_STEPS = 6 };

struct deed {
	struct txn txn;
	struct deed_step steps[DEED_STEPS];
	size_t n;
	unsigned runs, answers;
	int64_t at;     /* tx_time() */
	struct err err; /* code ERR_NONE when it went well */
	unsigned order; /* when it was answered, counted over all deeds */
	bool recalled;  /* by DEED_RECALL, and which version it was */
	uint64_t recalled_revision;
};

/* What they point to must live as long as the deed. */
void deed_shelf(struct deed *d, const char *id, const char *name);
void deed_book(struct deed *d, const struct book *book);
void deed_delete(struct deed *d, const struct kind *k, const char *id);
void deed_fail(struct deed *d);
void deed_remember(struct deed *d, const char *key, const char *id);
void deed_recall(struct deed *d, const char *key);

void deed_start(struct deed *d, struct store *s);

/* Start it and settle; its error's code. */
enum err_code deed_do(struct deed *d, struct rig *r);

/* CHECK, saying what to repeat a failure by. */
#define CHECK_SEED(expr, seed)                                                 \
	do {                                                                   \
		if (expr)                                                      \
			break;                                                 \
		CHECK(!#expr);                                                 \
		printf("# seed %llu\n", (unsigned long long)(seed));           \
	} while (0)

/* RUN(fn), which is given the backend, on each. */
#define RUN_ON_ALL(fn)                                                         \
	for (const struct rig_ops *const *on = rig_backends; *on; on++) {      \
		test_ok = true;                                                \
		fn(*on);                                                       \
		test_bad += !test_ok;                                          \
		printf("%s %d - %s, %s\n", test_ok ? "ok" : "not ok",          \
		       ++test_count, #fn, (*on)->name);                        \
	}

/* How many seeds: SEEDS from the environment scaled by PERCENT, or MANY. */
unsigned rig_seeds(unsigned many, unsigned percent);

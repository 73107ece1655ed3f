/*
 * store - revisioned objects: one write path, memory in front of a log.
 *
 * Writing is a function.  It runs when it is submitted, over everything that
 * was written before it, durable or not.  What it writes joins the open batch;
 * the backend takes batches one after the other and makes each durable as a
 * whole.  Only then is done() called, and only then can a reader see it.  A
 * function that fails, or writes nothing, is answered once everything it saw is
 * durable, so that nobody learns of a write that may yet be lost.
 *
 * A function may be run again when another server's writes came first: it must
 * set its results anew each time and touch nothing else.
 *
 * One revision is one transaction.  Reading is from memory, at the newest
 * durable revision or at any that the log still holds.  Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/random.h"
#include "model/kind.h"
#include "store/tx.h"

struct backend;
struct change;
struct keyring;
struct store;
struct tx;
struct version;

/* Told (BY 1) of every object as it becomes what is so, durable or not yet,
 * and (BY -1) as it ceases to be: for sums that are kept beside the store. */
typedef void store_observe(void *ctx, const struct kind *k, const void *object,
			   int by);

struct store_conf {
	const struct clock *clock;
	struct random *random;
	const struct kind *const *kinds; /* NULL: all of them */
	store_observe *observe;          /* may be NULL */
	void *observe_ctx;
	size_t log_revisions;       /* how much history is kept: 1,000,000 */
	int64_t log_age_ms;         /* and how long: an hour */
	size_t log_bytes;           /* and no more memory than this */
	size_t batch_most;          /* functions in one batch: 128 */
	size_t pending_most;        /* functions not yet durable: 4096 */
	const struct keyring *keys; /* secrets are sealed with; NULL: not */
	int64_t event_age_ms;       /* how long events are kept; 0: always */
	int64_t audit_age_ms; /* how long the audit trail is kept; 0: always */
};

/* A version of an object, as readers see it. */
struct record {
	const struct kind *kind;
	const char *id;
	uint64_t revision;
	const void *object; /* decoded; NULL when it was deleted here */
	const char *json;   /* encoded, without secrets */
	size_t len;
};

/* Takes over BACKEND, reads everything in it. */
int store_open(const struct store_conf *conf, struct backend *backend,
	       struct store **out, struct err *err);

/* Drops what is not answered; a large one's memory goes with the process. */
void store_close(struct store *s);

struct txn {
	int (*fn)(struct tx *tx, void *ctx, struct err *err);
	/* ERR is NULL when it is durable. */
	void (*done)(struct txn *t, const struct err *err);
	void *ctx;
	uint64_t revision; /* what it was written at; 0 when it wrote nothing */

	struct list link; /* the rest is the store's */
	struct change *change;
	uint64_t rests_on;
	struct err err;
	bool failed;
};

/* T must live until its done() is called, which may be before this returns.
 * Over pending_most it fails at once with ERR_UNAVAILABLE. */
void store_transact(struct store *s, struct txn *t);

/* The store's numbers, for metrics and admission. */
struct store_stats {
	uint64_t durable; /* newest revision a reader can see */
	uint64_t oldest;  /* oldest revision that can still be read */
	uint64_t commits, failures, reruns;
	size_t objects[KINDS_MOST];
	size_t pending;       /* functions not yet answered */
	size_t history_bytes; /* memory in superseded versions */
	uint64_t commit_ms;   /* how long the last batch took */
};

void store_stats(const struct store *s, struct store_stats *ret);
uint64_t store_revision(const struct store *s);
const char *store_installation(const struct store *s); /* its id */
const struct kind *store_kind(const struct store *s, const char *name);

/* Let go of what is past its limits, in memory and on disk, and write what
 * waits for no change.  Call every second; every batch does most of it, too. */
void store_expire(struct store *s);

/* Seal secrets with other keys from now on, those that are there as
 * store_expire() is called.  KEYS, which has the old ones, too, must live as
 * long as the store; those before it are not used any more. */
void store_set_keys(struct store *s, const struct keyring *keys);

/* Nothing is being written, and nothing waits to be. */
bool store_idle(const struct store *s);

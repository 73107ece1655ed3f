/*
 * memory - a backend that keeps its rows in memory, for tests and simulation.
 *
 * The rows lie on a disk that outlives the backends opened on it, so that a
 * crash is dropping the store and opening another.  Two backends on one disk
 * are two servers.  Nothing happens by itself: a commit is answered when the
 * test says how it went.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/backend.h"

struct disk;

struct disk *disk_new(void);
void disk_free(struct disk *d);

/* Another with the same rows and the same trail. */
struct disk *disk_copy(const struct disk *d);
size_t disk_rows(const struct disk *d); /* how many there are, trimmed or not */

/* Lose the row of REVISION, as no disk should: load() must notice. */
void disk_tear(struct disk *d, uint64_t revision);

/* Have FN told of every row that comes to the disk, for a test's own view. */
void disk_tap(struct disk *d, void (*fn)(void *ctx, const struct row *row),
	      void *ctx);

/* Tell the tap of the rows that are there already. */
void disk_tell(const struct disk *d);

/* The audit trail, as it lies there; whether its chain holds. */
struct disk_audit {
	uint64_t seq;
	unsigned char hash[32];
	struct note *note; /* its entry; see store_priv.h */
};

#define DISK_INSTALLATION "00000000-0000-7000-8000-000000000000"

size_t disk_audits(const struct disk *d, const struct disk_audit **ret);
bool disk_audits_hold(const struct disk *d);

struct backend *memory_open(struct disk *d);

enum memory_fate {
	MEMORY_WRITTEN, /* as it should be */
	MEMORY_REFUSED, /* the disk is full: nothing is there */
};

/* A batch waits for its answer. */
bool memory_pending(const struct backend *b);

/* Some of what others have written is trimmed already: this one must be closed,
 * for it can neither hear of it nor have its next batch answered. */
bool memory_behind(const struct backend *b);

/* Decide the waiting batch's fate; a lost guard comes before it. */
void memory_answer(struct backend *b, enum memory_fate fate);

/* Write the waiting batch without ever answering: the crash comes in between.
 * No-op when none waits. */
void memory_write_silently(struct backend *b);

/* Hear of what other backends on this disk have written. */
int memory_poll(struct backend *b, struct err *err);

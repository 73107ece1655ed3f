/*
 * arena - memory that is given back all at once.
 *
 * One a request, one a transaction, one a reconcile turn: everything made on
 * the way comes from it, and nobody frees pieces.  An arena has a ceiling; what
 * a user can make grow asks with arena_try() and answers "too large", the rest
 * uses arena_alloc(), which aborts.
 *
 * Not shared between threads.  Built with ARENA_DEBUG (the sanitizer builds)
 * every piece is a heap block of its own, so that an overrun is seen.
 */
#pragma once

#include <stddef.h>

#include "base/attr.h"

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used; /* bytes handed out, against max */
	size_t max;
};

void arena_init(struct arena *a, size_t max);
void arena_release(struct arena *a);

/* Empty again, keeping one block for the next use. */
void arena_clear(struct arena *a);

/* How full it is, to be so again when something was tried in vain: whatever was
 * taken in between is given back. */
struct arena_mark {
	struct arena_block *first, *second;
	size_t first_used, used;
};

struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *m);

/* Zeroed memory for any type. */
void *arena_alloc(struct arena *a, size_t size);

/* The same, not zeroed; NULL when the ceiling is reached. */
void *arena_try(struct arena *a, size_t size);

char *arena_strdup(struct arena *a, const char *s);
char *arena_memdup(struct arena *a, const void *p, size_t len); /* NUL after */
/* The strings, up to a NULL, one after the other. */
char *arena_join(struct arena *a, ...) __attribute__((sentinel));
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

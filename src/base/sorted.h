/*
 * sorted - a set of pointers in the order of their keys.
 *
 * Kept as runs of up to 64, so that an insert moves little memory at any size
 * and a walk is a walk over arrays; a single member, as most sets have, takes no
 * memory.  The key of a member is a string found by
 * the set's key function; no two members have the same.
 *
 * A set must not change while it is walked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sorted_top;

struct sorted {
	const char *(*key)(const void *member);
	union {
		struct sorted_top *tops;
		void *only; /* without any run: the single member */
	};
	size_t n, room; /* runs */
	size_t count;   /* members */
};

void sorted_init(struct sorted *s, const char *(*key)(const void *));
void sorted_release(struct sorted *s);

/* False when a member with that key is there already. */
bool sorted_add(struct sorted *s, void *member);

/* The member that was there, or NULL. */
void *sorted_remove(struct sorted *s, const char *key);
void *sorted_get(const struct sorted *s, const char *key);

/* A walk: begins at the first member whose key is greater than AFTER; NULL
 * begins at the beginning. */
struct sorted_walk {
	const struct sorted *set;
	size_t run, i;
};

struct sorted_walk sorted_from(const struct sorted *s, const char *after);

/* NULL at the end. */
void *sorted_next(struct sorted_walk *w);

/* The member that follows after N others, or NULL when it is not known without
 * a search: to fetch ahead what a walk will need. */
const void *sorted_ahead(const struct sorted_walk *w, size_t n);

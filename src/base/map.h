/*
 * map - strings to pointers.
 *
 * The map keeps a pointer to each key, not a copy: a key must live as long as
 * its entry, which is easy when it lies in the value.  Order is not kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	const char *key; /* NULL: free */
	void *value;
	uint32_t hash;
	uint32_t len; /* of key */
};

struct map {
	struct map_slot *slots;
	size_t count, room; /* room is 0 or a power of two */
};

void map_release(struct map *m);

/* NULL when there is no such key. */
void *map_get(const struct map *m, const char *key);
void *map_getn(const struct map *m, const char *key, size_t len);

/* KEY is about to be looked for: have its place fetched from memory. */
void map_expect(const struct map *m, const char *key);

/* The key must not be there yet. */
void map_add(struct map *m, const char *key, void *value);

/* The value that was there, or NULL. */
void *map_remove(struct map *m, const char *key);

/* Every value: start with i = 0, end at NULL. */
void *map_next(const struct map *m, size_t *i);

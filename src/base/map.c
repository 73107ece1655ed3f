#include "base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_ROOM 8

void map_release(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

/* Where KEY is, or where it would go. */
static size_t place(const struct map *m, const char *key, size_t len,
		    uint32_t hash)
{
	size_t i = hash & (m->room - 1);

	while (m->slots[i].key) {
		const struct map_slot *s = &m->slots[i];

		if (s->hash == hash && s->len == len &&
		    memcmp(s->key, key, len) == 0)
			break;
		i = (i + 1) & (m->room - 1);
	}
	return i;
}

void *map_getn(const struct map *m, const char *key, size_t len)
{
	if (!m->count)
		return NULL;
	return m->slots[place(m, key, len, hash_of(key, len))].value;
}

void *map_get(const struct map *m, const char *key)
{
	return map_getn(m, key, strlen(key));
}

void map_expect(const struct map *m, const char *key)
{
	if (m->room)
		__builtin_prefetch(
			&m->slots[hash_of(key, strlen(key)) & (m->room - 1)]);
}

static void grow(struct map *m)
{
	struct map old = *m;

	m->room = old.room ? 2 * old.room : FIRST_ROOM;
	m->slots = xcalloc(m->room, sizeof(*m->slots));
	for (size_t i = 0; i < old.room; i++) {
		struct map_slot *s = &old.slots[i];

		if (s->key)
			m->slots[place(m, s->key, s->len, s->hash)] = *s;
	}
	free(old.slots);
}

void map_add(struct map *m, const char *key, void *value)
{
	size_t len = strlen(key), i;
	uint32_t hash = hash_of(key, len);

	assert(value && len <= UINT32_MAX);
	if (4 * (m->count + 1) > 3 * m->room)
		grow(m);
	i = place(m, key, len, hash);
	assert(!m->slots[i].key);
	m->slots[i] = (struct map_slot){key, value, hash, (uint32_t)len};
	m->count++;
}

/* Linear probing without tombstones: whoever was pushed past the hole moves
 * back into it. */
static void close_hole(struct map *m, size_t hole)
{
	size_t mask = m->room - 1, i = hole;

	for (;;) {
		size_t home;

		i = (i + 1) & mask;
		if (!m->slots[i].key)
			break;
		home = m->slots[i].hash & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct map_slot){0};
}

void *map_remove(struct map *m, const char *key)
{
	size_t len = strlen(key), i;
	void *value;

	if (!m->count)
		return NULL;
	i = place(m, key, len, hash_of(key, len));
	value = m->slots[i].value;
	if (!value)
		return NULL;
	close_hole(m, i);
	m->count--;
	return value;
}

void *map_next(const struct map *m, size_t *i)
{
	while (*i < m->room) {
		struct map_slot *s = &m->slots[(*i)++];

		if (s->key)
			return s->value;
	}
	return NULL;
}

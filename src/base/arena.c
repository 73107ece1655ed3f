#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_BYTES ((size_t)8 << 10)
#define ALIGN       ((size_t)16)

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	_Alignas(16) char bytes[];
};

void arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){.max = max};
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->blocks = NULL;
	a->used = 0;
}

void arena_clear(struct arena *a)
{
	struct arena_block *b = a->blocks;

	if (b && !b->next && b->size == BLOCK_BYTES) {
		b->used = 0;
		a->used = 0;
		return;
	}
	arena_release(a);
}

struct arena_mark arena_mark(const struct arena *a)
{
	struct arena_block *b = a->blocks;

	return (struct arena_mark){b, b ? b->next : NULL, b ? b->used : 0,
				   a->used};
}

/* New blocks stand before the first one of then, or right after it. */
void arena_rewind(struct arena *a, const struct arena_mark *m)
{
	struct arena_block **at = &a->blocks;

	while (*at != m->second) {
		struct arena_block *b = *at;

		if (b == m->first) {
			b->used = m->first_used;
			at = &b->next;
			continue;
		}
		*at = b->next;
		free(b);
	}
	a->used = m->used;
}

static size_t block_size(size_t need)
{
#ifdef ARENA_DEBUG
	return need;
#else
	return need > BLOCK_BYTES / 4 ? need : BLOCK_BYTES;
#endif
}

static struct arena_block *add_block(struct arena *a, size_t need)
{
	size_t size = block_size(need);
	struct arena_block *b = xmalloc(sizeof(*b) + size);

	b->size = size;
	b->used = 0;
	/* A block made for one large piece is full from birth: it goes second,
	 * so that the small pieces go on filling the first. */
	if (size == need && a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *arena_try(struct arena *a, size_t size)
{
	size_t need = (size + ALIGN - 1) & ~(ALIGN - 1);
	struct arena_block *b = a->blocks;
	char *p;

	if (need < size || need > a->max - a->used)
		return NULL;
#ifdef ARENA_DEBUG
	/* The exact size, so that the byte after it is out of bounds. */
	b = add_block(a, size ? size : 1);
	need = b->size;
#else
	if (!b || b->size - b->used < need)
		b = add_block(a, need);
#endif
	p = b->bytes + b->used;
	b->used += need;
	a->used += need;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = arena_try(a, size);

	if (!p)
		abort();
	return memset(p, 0, size);
}

char *arena_memdup(struct arena *a, const void *p, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (len)
		memcpy(copy, p, len);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_memdup(a, s, strlen(s));
}

char *arena_join(struct arena *a, ...)
{
	size_t len = 0;
	const char *s;
	char *out, *p;
	va_list ap;

	va_start(ap, a);
	while ((s = va_arg(ap, const char *)))
		len += strlen(s);
	va_end(ap);
	p = out = arena_alloc(a, len + 1);
	va_start(ap, a);
	while ((s = va_arg(ap, const char *))) {
		size_t n = strlen(s);

		memcpy(p, s, n);
		p += n;
	}
	va_end(ap);
	return out;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = arena_alloc(a, (size_t)len + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return s;
}

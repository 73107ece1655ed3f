#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

void *xmalloc(size_t size)
{
	return need(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return need(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		abort();
	return need(realloc(p, bytes ? bytes : 1));
}

char *xstrdup(const char *s)
{
	return need(strdup(s));
}

char *xmemdup(const void *p, size_t len)
{
	char *copy = xmalloc(len + 1);

	if (len)
		memcpy(copy, p, len);
	copy[len] = '\0';
	return copy;
}

void mem_free_at(void *pp)
{
	free(*(void **)pp);
}

void mem_close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/*
 * mem - heap memory that is always there.
 *
 * Every input has a ceiling, so running out means that the machine is gone:
 * these abort rather than return NULL.
 */
#pragma once

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);

/* Room for N items of SIZE at P, which may be NULL. */
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xmemdup(const void *p, size_t len); /* with a NUL after it */

/* auto_free: the pointer is freed when it goes out of scope. */
void mem_free_at(void *pp);
#define auto_free __attribute__((cleanup(mem_free_at)))

/* auto_close: the descriptor is closed when it goes out of scope; -1 is
 * none. */
void mem_close_at(int *fd);
#define auto_close __attribute__((cleanup(mem_close_at)))

/*
 * buf - bytes that grow, up to a ceiling.
 *
 * A buf cannot be made without its maximum.  An append that would pass it
 * changes nothing but `full`, which stays set: append away, and look once at
 * the end with buf_ok().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

struct buf {
	char *data; /* NULL while empty; a NUL always follows the last byte */
	size_t len, room, max;
	bool full;
};

#define BUF_INIT(most) ((struct buf){.max = (most)})

void buf_release(struct buf *b);

/* Empty again; keeps the memory. */
void buf_clear(struct buf *b);

/* The bytes are now the caller's to free(); the buf is empty. */
char *buf_take(struct buf *b, size_t *ret_len);

/* Everything that was appended is there. */
bool buf_ok(const struct buf *b);

/* Room for LEN more bytes, to be written at the returned place and counted
 * with buf_grew(); NULL when that would pass the ceiling. */
char *buf_reserve(struct buf *b, size_t len);
void buf_grew(struct buf *b, size_t len);

/* Inline, for documents are made of many short pieces. */
static inline void buf_add(struct buf *b, const void *p, size_t len)
{
	bool fits = b->room - b->len > len && b->max - b->len >= len;
	char *to = fits && !b->full ? b->data + b->len : buf_reserve(b, len);

	if (!to)
		return;
	if (len)
		memcpy(to, p, len);
	to[len] = '\0';
	b->len += len;
}

static inline void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

static inline void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

/* I in digits before END, where 20 characters have room; where it begins. */
char *digits_before(char *end, int64_t i);

void buf_addi(struct buf *b, int64_t i);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Drop the first LEN bytes. */
void buf_eat(struct buf *b, size_t len);

/* "" rather than NULL while empty. */
const char *buf_str(const struct buf *b);

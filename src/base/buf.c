#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->max);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = '\0';
}

char *buf_take(struct buf *b, size_t *ret_len)
{
	char *data = b->data ? b->data : xmemdup("", 0);

	*ret_len = b->len;
	*b = BUF_INIT(b->max);
	return data;
}

bool buf_ok(const struct buf *b)
{
	return !b->full;
}

char *buf_reserve(struct buf *b, size_t len)
{
	size_t room = b->room ? b->room : 64;

	if (b->full || len > b->max - b->len) {
		b->full = true;
		return NULL;
	}
	if (b->room - b->len > len)
		return b->data + b->len;
	while (room - b->len <= len)
		room *= 2;
	b->data = xrealloc(b->data, room, 1);
	b->room = room;
	return b->data + b->len;
}

void buf_grew(struct buf *b, size_t len)
{
	assert(b->room - b->len > len);
	b->len += len;
	b->data[b->len] = '\0';
}

char *digits_before(char *end, int64_t i)
{
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;

	do {
		*--end = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (i < 0)
		*--end = '-';
	return end;
}

void buf_addi(struct buf *b, int64_t i)
{
	char digits[24];
	char *end = digits + sizeof(digits);
	const char *p = digits_before(end, i);

	buf_add(b, p, (size_t)(end - p));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int len;
	char *to;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	to = buf_reserve(b, (size_t)len);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf_grew(b, (size_t)len);
}

void buf_eat(struct buf *b, size_t len)
{
	assert(len <= b->len);
	if (!len)
		return;
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
	b->data[b->len] = '\0';
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

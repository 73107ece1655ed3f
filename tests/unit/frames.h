/* frames - the client's end of a WebSocket in a test: frames over a wire. */
#pragma once

#include "base/mem.h"
#include "test.h"
#include "wire.h"

enum { CONTINUED, TEXT, BINARY, CLOSE = 8, PING, PONG, FIN = 0x80 };

/* One frame, masked as a client must. */
static inline void put(struct wire *w, int first, const char *data, size_t len)
{
	unsigned char head[14] = {(unsigned char)first};
	static const unsigned char mask[4] = {1, 2, 3, 4};
	size_t n = 2;
	char *bytes = xmalloc(len + 1);

	head[1] = 0x80 | (len < 126     ? (unsigned char)len
			  : len < 65536 ? 126
					: 127);
	for (int i = len < 126 ? 0 : len < 65536 ? 2 : 8; i > 0; i--)
		head[n++] = (unsigned char)(len >> (8 * (i - 1)));
	memcpy(head + n, mask, 4);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)((unsigned char)data[i] ^ mask[i % 4]);
	CHECK(wire_write(w, head, n + 4));
	(void)wire_write(w, bytes, len);
	free(bytes);
}

static inline size_t payload_length(const unsigned char *head, size_t *ret_at)
{
	size_t len = head[1], more = len < 126 ? 0 : len == 126 ? 2 : 8;

	*ret_at = 2 + more;
	if (more)
		len = 0;
	for (size_t i = 0; i < more; i++)
		len = len << 8 | head[2 + i];
	return len;
}

/* The next frame into BODY: its first byte, -1 when none comes. */
static inline int get(struct wire *w, struct buf *body)
{
	size_t at, len;
	int first;

	while (w->in.len < 10)
		if (w->in.len >= 2 &&
		    (w->in.data[1] & 0x7f) + 2 <= (int)w->in.len)
			break;
		else if (!wire_more(w))
			return -1;
	first = (unsigned char)w->in.data[0];
	len = payload_length((const unsigned char *)w->in.data, &at);
	while (w->in.len < at + len)
		if (!wire_more(w))
			return -1;
	buf_clear(body);
	buf_add(body, w->in.data + at, len);
	buf_eat(&w->in, at + len);
	return first;
}

static inline void expect(struct wire *w, int first, const char *data,
			  size_t len)
{
	struct buf body = BUF_INIT(32 << 20);
	int got = get(w, &body);

	if (got != first || body.len != len)
		printf("# got %x with %zu bytes\n", (unsigned)got, body.len);
	CHECK(got == first);
	CHECK(body.len == len && !memcmp(buf_str(&body), data, len));
	buf_release(&body);
}

static inline void expect_close(struct wire *w, unsigned code)
{
	struct buf body = BUF_INIT(32 << 20);
	unsigned got = 0;
	int first;

	do
		first = get(w, &body);
	while (first >= 0 && first != (FIN | CLOSE));
	if (body.len >= 2)
		got = (unsigned)(unsigned char)body.data[0] << 8 |
		      (unsigned char)body.data[1];
	if (got != code)
		printf("# closed with %u\n", got);
	CHECK(got == code);
	buf_release(&body);
}

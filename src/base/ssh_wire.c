#include "base/ssh_wire.h"

#include <string.h>

bool wire_u32(struct wire *w, uint32_t *ret)
{
	const unsigned char *p = w->at;

	if (w->left < 4)
		return false;
	*ret = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
	w->at += 4;
	w->left -= 4;
	return true;
}

bool wire_string(struct wire *w, struct wire *ret)
{
	struct wire rest = *w;
	uint32_t len;

	if (!wire_u32(&rest, &len) || len > rest.left)
		return false;
	*ret = (struct wire){rest.at, len};
	*w = (struct wire){rest.at + len, rest.left - len};
	return true;
}

bool wire_is(struct wire *w, const char *text)
{
	struct wire rest = *w, s;

	if (!wire_string(&rest, &s) || s.left != strlen(text) ||
	    memcmp(s.at, text, s.left) != 0)
		return false;
	*w = rest;
	return true;
}

void wire_add_u32(struct buf *out, uint32_t n)
{
	unsigned char b[] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
			     (unsigned char)(n >> 8), (unsigned char)n};

	buf_add(out, b, sizeof(b));
}

void wire_add_u64(struct buf *out, uint64_t n)
{
	wire_add_u32(out, (uint32_t)(n >> 32));
	wire_add_u32(out, (uint32_t)n);
}

void wire_add(struct buf *out, const void *p, size_t len)
{
	wire_add_u32(out, (uint32_t)len);
	buf_add(out, p, len);
}

void wire_adds(struct buf *out, const char *text)
{
	wire_add(out, text, strlen(text));
}

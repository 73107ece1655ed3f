#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

long base64_decode(const char *text, size_t len, unsigned char *out)
{
	unsigned char *to = out;
	uint32_t bits = 0;
	unsigned n = 0;

	if (len % 4)
		return -1;
	for (int i = 0; i < 2 && len && text[len - 1] == '='; i++)
		len--;
	for (size_t i = 0; i < len; i++) {
		int v = value_of(text[i]);

		if (v < 0)
			return -1;
		bits = (bits << 6 | (uint32_t)v) & 0xffffff;
		n += 6;
		if (n >= 8) {
			n -= 8;
			*to++ = (unsigned char)(bits >> n);
		}
	}
	/* What does not fill a byte must be zero. */
	if (n >= 6 || bits & (((uint32_t)1 << n) - 1))
		return -1;
	return (long)(to - out);
}

void base64_encode(const unsigned char *p, size_t len, char *out)
{
	uint32_t bits = 0;
	unsigned n = 0;
	size_t pad = (3 - len % 3) % 3;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | p[i];
		for (n += 8; n >= 6; n -= 6)
			*out++ = alphabet[bits >> (n - 6) & 63];
	}
	if (n)
		*out++ = alphabet[bits << (6 - n) & 63];
	memset(out, '=', pad);
	out[pad] = '\0';
}

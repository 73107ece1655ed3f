#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/* The last two of each alphabet. */
static const char plain[] = "+/", url[] = "-_";

static int value_of(char c, const char *last)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last[0] ? 62 : c == last[1] ? 63 : -1;
}

static char letter_of(uint32_t value, const char *last)
{
	if (value < 62)
		return letters[value];
	return last[value - 62];
}

static long decode(const char *text, size_t len, const char *last,
		   unsigned char *out)
{
	unsigned char *to = out;
	uint32_t bits = 0;
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		int v = value_of(text[i], last);

		if (v < 0)
			return -1;
		bits = (bits << 6 | (uint32_t)v) & 0xffffff;
		n += 6;
		if (n >= 8) {
			n -= 8;
			*to++ = (unsigned char)(bits >> n);
		}
	}
	/* One letter alone is no byte; what does not fill one must be zero. */
	if (n >= 6 || bits & (((uint32_t)1 << n) - 1))
		return -1;
	return (long)(to - out);
}

/* Where the text ends. */
static char *encode(const unsigned char *p, size_t len, const char *last,
		    char *out)
{
	uint32_t bits = 0;
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | p[i];
		for (n += 8; n >= 6; n -= 6)
			*out++ = letter_of(bits >> (n - 6) & 63, last);
	}
	if (n)
		*out++ = letter_of(bits << (6 - n) & 63, last);
	*out = '\0';
	return out;
}

long base64_decode(const char *text, size_t len, unsigned char *out)
{
	if (len % 4)
		return -1;
	for (int i = 0; i < 2 && len && text[len - 1] == '='; i++)
		len--;
	return decode(text, len, plain, out);
}

long base64url_decode(const char *text, size_t len, unsigned char *out)
{
	return decode(text, len, url, out);
}

void base64_encode(const unsigned char *p, size_t len, char *out)
{
	size_t pad = (3 - len % 3) % 3;

	out = encode(p, len, plain, out);
	memset(out, '=', pad);
	out[pad] = '\0';
}

void base64url_encode(const unsigned char *p, size_t len, char *out)
{
	encode(p, len, url, out);
}

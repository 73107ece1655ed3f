#include "base/uuid.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"

static void format(unsigned char b[16], unsigned version, char *out)
{
	static const char hex[] = "0123456789abcdef";

	b[6] = (unsigned char)((b[6] & 0x0f) | version << 4);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		*out++ = hex[b[i] >> 4];
		*out++ = hex[b[i] & 15];
		if (i == 3 || i == 5 || i == 7 || i == 9)
			*out++ = '-';
	}
	*out = '\0';
}

static unsigned char nibble(char c)
{
	return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void parse(const char *text, unsigned char out[16])
{
	for (int i = 0; i < 16; i++) {
		if (*text == '-')
			text++;
		out[i] =
			(unsigned char)(nibble(text[0]) << 4 | nibble(text[1]));
		text += 2;
	}
}

void uuid_v5(const char *space, const char *name, char out[UUID_LEN + 1])
{
	unsigned char sum[DIGEST_SHA1_LEN];
	size_t len = strlen(name);
	auto_free unsigned char *text = xmalloc(16 + len);

	assert(uuid_valid(space, strlen(space)));
	parse(space, text);
	memcpy(text + 16, name, len);
	digest_sha1(text, 16 + len, sum);
	format(sum, 5, out);
}

void uuid_v7(int64_t wall_ms, unsigned sequence, struct random *r,
	     char out[UUID_LEN + 1])
{
	unsigned char b[16];

	for (int i = 0; i < 6; i++)
		b[i] = (unsigned char)((uint64_t)wall_ms >> (40 - 8 * i));
	b[6] = (unsigned char)(sequence >> 8);
	b[7] = (unsigned char)sequence;
	random_fill(r, b + 8, 8);
	format(b, 7, out);
}

bool uuid_valid(const char *text, size_t len)
{
	if (len != UUID_LEN)
		return false;
	for (int i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text[i];

		if (dash ? c != '-'
			 : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
	}
	return true;
}

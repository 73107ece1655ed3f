#include "base/digest.h"

#include <openssl/sha.h>

void digest_sha1(const void *p, size_t len, unsigned char out[DIGEST_SHA1_LEN])
{
	SHA1(p, len, out);
}

void digest_sha256(const void *p, size_t len,
		   unsigned char out[DIGEST_SHA256_LEN])
{
	SHA256(p, len, out);
}

void digest_hex(const unsigned char *p, size_t n, char *out)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = hex[p[i] >> 4];
		*out++ = hex[p[i] & 15];
	}
	*out = '\0';
}

/* The functions that are not deprecated look their algorithm up by its name in
 * each call, which takes longer than hashing a request. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

#include "base/word.h"

void digest_sha1(const void *p, size_t len, unsigned char out[DIGEST_SHA1_LEN])
{
	SHA1(p, len, out);
}

void digest_sha256(const void *p, size_t len,
		   unsigned char out[DIGEST_SHA256_LEN])
{
	digest_sha256_two(p, len, "", 0, out);
}

void digest_sha256_two(const void *a, size_t a_len, const void *b, size_t b_len,
		       unsigned char out[DIGEST_SHA256_LEN])
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, a, a_len);
	SHA256_Update(&ctx, b, b_len);
	SHA256_Final(out, &ctx);
}

/* OpenSSL's own struct under our name.  It fails for want of memory alone, as
 * long as SHA-256 is there. */
struct digest *digest_new(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1)
		abort();
	return (struct digest *)ctx;
}

void digest_add(struct digest *d, const void *p, size_t len)
{
	if (EVP_DigestUpdate((EVP_MD_CTX *)d, p, len) != 1)
		abort();
}

void digest_end(struct digest *d, unsigned char out[DIGEST_SHA256_LEN])
{
	if (EVP_DigestFinal_ex((EVP_MD_CTX *)d, out, NULL) != 1)
		abort();
	EVP_MD_CTX_free((EVP_MD_CTX *)d);
}

/* The digits of four bytes at once: half a byte in each of eight, and more for
 * those that are letters. */
static uint64_t hex_of_four(const unsigned char *p)
{
	const uint64_t halves = UINT64_C(0x000f000f000f000f);
	uint64_t w = p[0] | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 32 |
		     (uint64_t)p[3] << 48;
	uint64_t digits = (w >> 4 & halves) | (w & halves) << 8;
	uint64_t letters = (digits + WORD_EACH(6)) >> 4 & WORD_EACH(1);

	return digits + WORD_EACH('0') + letters * ('a' - '0' - 10);
}

void digest_hex(const unsigned char *p, size_t n, char *out)
{
	static const char hex[] = "0123456789abcdef";

	for (; n >= 4; n -= 4, p += 4, out += 8) {
		uint64_t w = htole64(hex_of_four(p));

		memcpy(out, &w, sizeof(w));
	}
	for (; n; n--, p++) {
		*out++ = hex[*p >> 4];
		*out++ = hex[*p & 15];
	}
	*out = '\0';
}

/* digest - SHA-1 (for UUIDs only) and SHA-256, by OpenSSL. */
#pragma once

#include <stddef.h>

#define DIGEST_SHA1_LEN   20
#define DIGEST_SHA256_LEN 32

void digest_sha1(const void *p, size_t len, unsigned char out[DIGEST_SHA1_LEN]);
void digest_sha256(const void *p, size_t len,
		   unsigned char out[DIGEST_SHA256_LEN]);

/* Of A and then B. */
void digest_sha256_two(const void *a, size_t a_len, const void *b, size_t b_len,
		       unsigned char out[DIGEST_SHA256_LEN]);

/* SHA-256 of what comes in pieces; digest_end() frees it. */
struct digest;

struct digest *digest_new(void);
void digest_add(struct digest *d, const void *p, size_t len);
void digest_end(struct digest *d, unsigned char out[DIGEST_SHA256_LEN]);

/* N bytes as 2N lower-case hex digits and a NUL. */
void digest_hex(const unsigned char *p, size_t n, char *out);

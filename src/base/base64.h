/*
 * base64 - base64 with padding (RFC 4648, section 4), as files and mail have it.
 *
 * Strict: each value has one text.  For names and addresses: base64url.h.
 */
#pragma once

#include <stddef.h>

/* At most so many bytes are in LEN characters; so many characters LEN bytes
 * take. */
#define BASE64_BYTES(len) ((len) / 4 * 3)
#define BASE64_TEXT(len)  (((len) + 2) / 3 * 4)

/* Into OUT, which has room for BASE64_BYTES(LEN); the bytes written, or -1 when
 * TEXT is not base64. */
long base64_decode(const char *text, size_t len, unsigned char *out);

/* Into OUT, which has room for BASE64_TEXT(LEN) and a NUL. */
void base64_encode(const unsigned char *p, size_t len, char *out);

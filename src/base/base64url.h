/*
 * base64url - base64 for names and addresses (RFC 4648, section 5), unpadded.
 *
 * Strict: each value has one text.  Padding, blanks, letters of the other
 * alphabet and bits left over are refused.
 */
#pragma once

#include <stddef.h>

/* Bytes that LEN characters decode to, and characters that LEN bytes take. */
#define BASE64URL_BYTES(len) ((len) / 4 * 3 + (len) % 4 * 3 / 4)
#define BASE64URL_TEXT(len)  ((len) / 3 * 4 + ((len) % 3 * 4 + 2) / 3)

/* Into OUT, which has room for BASE64URL_BYTES(LEN); the bytes written, or -1
 * when TEXT is not base64url. */
long base64url_decode(const char *text, size_t len, unsigned char *out);

/* Into OUT, which has room for BASE64URL_TEXT(LEN) and a NUL. */
void base64url_encode(const unsigned char *p, size_t len, char *out);

/*
 * base64 - bytes as text (RFC 4648): with padding, as files and mail have it
 * (section 4), and without, for names and addresses (section 5).
 *
 * Strict: each value has one text.  Blanks, letters of the other alphabet,
 * padding where there is none, and bits left over are refused.
 */
#pragma once

#include <stddef.h>

/* At most so many bytes are in LEN characters; so many characters LEN bytes
 * take. */
#define BASE64_BYTES(len)    ((len) / 4 * 3)
#define BASE64_TEXT(len)     (((len) + 2) / 3 * 4)
#define BASE64URL_BYTES(len) ((len) / 4 * 3 + (len) % 4 * 3 / 4)
#define BASE64URL_TEXT(len)  ((len) / 3 * 4 + ((len) % 3 * 4 + 2) / 3)

/* Into OUT, which has room for …_BYTES(LEN); the bytes written, or -1 when TEXT
 * is not of that form. */
long base64_decode(const char *text, size_t len, unsigned char *out);
long base64url_decode(const char *text, size_t len, unsigned char *out);

/* Into OUT, which has room for …_TEXT(LEN) and a NUL. */
void base64_encode(const unsigned char *p, size_t len, char *out);
void base64url_encode(const unsigned char *p, size_t len, char *out);

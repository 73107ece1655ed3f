/* utf8 - one character of UTF-8 at a time, strictly. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the character that S, of LEN bytes, begins with, the
 * character itself in *RET; 0 when that is none: cut, overlong, a surrogate,
 * past U+10FFFF.  NUL is a character. */
size_t utf8_take(const char *s, size_t len, uint32_t *ret);

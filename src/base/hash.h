/* hash - a number for bytes that users may choose. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Nobody outside of this process can foresee it, so nobody can send keys that
 * all fall into one place.  Not for anything that is kept. */
uint32_t hash_of(const char *key, size_t len);

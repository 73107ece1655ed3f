/*
 * uuid - names that need no asking (RFC 9562), as lower-case text.
 *
 * Version 5 is derived from a namespace and a name: the same two give the same
 * id.  Version 7 begins with the time, so that ids sort by age.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define UUID_LEN 36

/* SPACE must be a valid UUID. */
void uuid_v5(const char *space, const char *name, char out[UUID_LEN + 1]);
/* SEQUENCE, of 12 bits, sorts those of one millisecond. */
void uuid_v7(int64_t wall_ms, unsigned sequence, struct random *r,
	     char out[UUID_LEN + 1]);

/* Exactly 36 characters, lower case. */
bool uuid_valid(const char *text, size_t len);

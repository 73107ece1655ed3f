/*
 * ssh_wire - the shapes that SSH's data has on the wire (RFC 4251, section 5),
 * read from bytes that may be anything, and written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct wire {
	const unsigned char *at;
	size_t left;
};

/* False when there is not as much; nothing is read then. */
bool wire_u32(struct wire *w, uint32_t *ret);
bool wire_string(struct wire *w, struct wire *ret);

/* A string that is TEXT. */
bool wire_is(struct wire *w, const char *text);

void wire_add_u32(struct buf *out, uint32_t n);
void wire_add_u64(struct buf *out, uint64_t n);
void wire_add(struct buf *out, const void *p, size_t len);
void wire_adds(struct buf *out, const char *text);

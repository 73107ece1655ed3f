/*
 * gunzip - what gzip has packed (RFC 1952), unpacked up to a ceiling.
 *
 * A few bytes can stand for a great many: no more is unpacked than the buf
 * takes.
 */
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"

/* Append what the LEN bytes at P hold to OUT: one file, or several one after
 * the other, as gzip does it.  -1 when they are damaged, cut short or followed
 * by something else, or when OUT cannot take it all (!buf_ok(OUT)). */
int gunzip(const void *p, size_t len, struct buf *out) MUST_CHECK;

/*
 * text - words on a terminal: width, safety, ages, names of flags.
 *
 * What comes from a server or a file may hold anything; text_add_safe() is the
 * only way it reaches a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* S with control characters, bad UTF-8 and marks that turn the direction of
 * writing shown as escapes ("\n", "\x1b"). */
void text_add_safe(struct buf *out, const char *s, size_t len);
const char *text_safe(struct arena *a, const char *s);

/* JSON or YAML, in which such characters can only be inside of quotes: they
 * become \u escapes, and the text means the same. */
void text_add_document(struct buf *out, const char *s, size_t len);

/* How many columns S takes; wide letters take two, accents none. */
size_t text_width(const char *s);

/* As much of S as fits into WIDTH columns, "…" last when it was cut. */
void text_add_cut(struct buf *out, const char *s, size_t width);

void text_add_spaces(struct buf *out, size_t n);

/* TEXT in lines of at most WIDTH columns, all but the first begun with INDENT
 * spaces; empty lines part paragraphs.  Ends without a line break. */
void text_add_wrapped(struct buf *out, const char *text, size_t indent,
		      size_t width);

/* "45s", "3m", "2h", "5d", "3y"; what lies ahead is "in 3m". */
void text_add_age(struct buf *out, int64_t age_ms);

/* "90" (seconds), "500ms", "90s", "2m", "1h", "7d"; -1 when it is not. */
int text_duration(const char *s, uint64_t *ret_ms);

/* Digits with an optional minus, all of S; -1 when it is not. */
int text_int(const char *s, int64_t *ret);

/* "organizationId" as "organization-id"; "memoryMiB" as "memory-mib". */
const char *text_kebab(struct arena *a, const char *camel);

/* "organizationId" as "ORGANIZATION ID", or as "Organization id". */
const char *text_caps(struct arena *a, const char *camel);
const char *text_words(struct arena *a, const char *camel);

/* The one of the NULL-ended WORDS that WORD was most likely meant to be, or
 * NULL when none is near. */
const char *text_nearest(const char *word, const char *const *words);

/* LEN bytes in base64 (RFC 4648, section 4). */
const char *text_base64(struct arena *a, const char *bytes, size_t len);

/*
 * word - eight bytes of a text at once.
 *
 * For the checks that look at every byte of every request: whole words that
 * hold nothing special are passed over, and the rest is looked at byte by byte.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORD_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The first byte is the lowest. */
static inline uint64_t word_load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return le64toh(w);
}

/* How many bytes are before the first that has its uppermost bit in MARKS,
 * which are not all 0. */
static inline unsigned word_first(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks) / 8;
}

/*
 * The bytes that a string in JSON cannot have as they are, and those that are not
 * ASCII: the first that is marked is one of them, others may be marked behind it.
 * Those from 0x80 on are marked anyhow; of the others a difference has the
 * uppermost bit only when it is negative.  The quote changes places with the
 * space, and so is next to the control characters.
 */
static inline uint64_t word_string_marks(uint64_t w)
{
	uint64_t low = (w ^ WORD_EACH('"' ^ ' ')) - WORD_EACH(' ' + 1);
	uint64_t escape = (w ^ WORD_EACH('\\')) - WORD_EACH(1);

	return (w | low | escape) & WORD_EACH(0x80);
}

/* Some byte of W is below N, which is at most 0x80. */
static inline bool word_has_below(uint64_t w, unsigned char n)
{
	return (w - WORD_EACH(n)) & ~w & WORD_EACH(0x80);
}

static inline bool word_has(uint64_t w, unsigned char byte)
{
	return word_has_below(w ^ WORD_EACH(byte), 1);
}

/* All of it is printable ASCII. */
static inline bool word_is_plain(uint64_t w)
{
	return !(w & WORD_EACH(0x80)) && !word_has_below(w, ' ') &&
	       !word_has(w, 0x7f);
}

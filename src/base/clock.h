/*
 * clock - time, behind a table, so that a test can set it.
 *
 * Wall time is Unix milliseconds and may jump; the monotonic clock only goes
 * forward and is what waits and deadlines are measured on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock {
	int64_t (*wall_ms)(const struct clock *c);
	uint64_t (*mono_ms)(const struct clock *c);
};

/* The machine's own. */
extern const struct clock clock_system;

int64_t clock_wall(const struct clock *c);
uint64_t clock_mono(const struct clock *c);

/* "2026-11-15T04:40:28.123Z" and back. */
#define CLOCK_TEXT_LEN 24
void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_LEN + 1]);

/* RFC 3339, UTC or with an offset, to the millisecond; -1 when it is not, or
 * when the moment lies outside the years 1970 to 9999 of UTC. */
int clock_parse(const char *text, size_t len, int64_t *ret_wall_ms);

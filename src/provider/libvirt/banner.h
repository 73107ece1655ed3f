/* banner - whether SSH servers answer, of many at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BANNERS_MOST = 64 };

/* A connection on which nothing has come yet. */
struct banner_line {
	bool open;
	int fd;
	uint64_t first, since; /* when nothing came at first, and on this */
	size_t got;
	char text[4];
};

struct banner {
	const char *address; /* IPv4 or IPv6 */
	int64_t port;
	bool answers; /* the result */
	struct banner_line line;
};

/* Ask the N of LIST, for MS at most, or until there is something to be read from
 * STOP.  A line on which nothing came is left open for the next time: what is
 * given up is in the way of a guest that boots slowly, for it has to be answered
 * in the end.  It is begun anew after half of what was waited before it, a minute
 * at most: QEMU calls a guest that is not there ever less often, and one that was
 * restarted knows of no line. */
void banners_ask(struct banner *list, size_t n, uint32_t ms, int stop);

void banner_close(struct banner_line *l);

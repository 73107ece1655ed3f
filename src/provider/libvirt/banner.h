/* banner - whether SSH servers answer, of many at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BANNERS_MOST = 64 };

struct banner {
	const char *address; /* IPv4 or IPv6 */
	int64_t port;
	bool answers; /* the result */

	int fd; /* its own */
	size_t got;
	char text[4];
};

/* Ask the N of LIST, for MS at most, or until there is something to be read from
 * STOP. */
void banners_ask(struct banner *list, size_t n, uint32_t ms, int stop);

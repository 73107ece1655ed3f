/*
 * relay - a WebSocket joined to a stream, byte for byte, both ways.
 *
 * Who does not read stops the other: little is held on the way, and neither
 * side is read from while the other is behind.  It ends when either side does,
 * when nothing was said for too long, when it was open for too long, or when
 * relay_end() says so.
 *
 * Loop thread only.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct exchange;
struct loop;
struct relay;

/* What a relay came to, told with its last call. */
struct relay_facts {
	uint64_t sent, received; /* bytes to the client, and from it */
	uint64_t ms;             /* how long it was open */
	const char *why;         /* it ended */
};

struct relay_conf {
	struct loop *loop;
	int fd;                     /* the relay's, once it has begun */
	uint64_t idle_ms, total_ms; /* 0: no limit */

	/* The last call; the relay is gone when it returns. */
	void (*ended)(void *ctx, const struct relay_facts *facts);
	void *ctx;
};

/* Answer X with the upgrade, and begin.  The protocol "binary" is agreed to.
 * Fails, with X still to be answered and the descriptor still the caller's,
 * when X does not ask for a WebSocket properly. */
int relay_begin(struct exchange *x, const struct relay_conf *conf,
		struct relay **out, struct err *err) MUST_CHECK;

/* Close both sides, with a code of RFC 6455; ended() follows.  WHY stays. */
void relay_end(struct relay *r, unsigned code, const char *why);

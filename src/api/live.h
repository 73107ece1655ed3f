/*
 * live - what only the provider can tell, asked while the caller waits.
 *
 * The API knows no provider: the daemon gives it a function that takes a
 * question and calls it back on the loop, once, when it has been answered.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum live_what {
	LIVE_CONSOLE_OUTPUT = 1, /* the end of what the machine has printed */
	LIVE_SERIAL,             /* a way to its serial line, */
	LIVE_VNC,                /* and to its screen */
	LIVE_LOOK,               /* a look at it, which is written down */
};

/* Who asks keeps it until done(), and releases the text. */
struct live_question {
	enum live_what what;
	const char *instance_id;
	size_t length; /* of the output: about so many bytes */
	int64_t since; /* a look must have begun then (wall time) or later */

	/* On the loop; ERR is NULL when there is an answer. */
	void (*done)(struct live_question *q, const struct err *err);

	struct buf text; /* the answer: the output, an address, or nothing */
	int fd;          /* of a console without one: a stream; else -1 */
};

struct live {
	/* done() may be called before this returns. */
	void (*ask)(void *ctx, struct live_question *q);
	void *ctx;
};

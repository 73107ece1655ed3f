/*
 * feed - watches of lists, several at once, in one thread.
 *
 * Each tells what is there, then what changes.  A lost connection is made again
 * and goes on where it was; when the server no longer knows where that was, the
 * feed begins anew, and what is not told again by then is gone.
 */
#pragma once

#include <poll.h>

#include "base/json.h"
#include "cli/cli.h"

enum feed_what {
	FEED_BEGIN, /* what is there follows; no document */
	FEED_PUT,
	FEED_DELETE, /* the document has its id and revision */
	FEED_READY,  /* all that is there has been told; no document */
};

struct feeds;

/* DOC lives until the function returns. */
typedef void feed_fn(void *ctx, enum feed_what what, struct node *doc);

struct feed_conf {
	const char *target; /* "/v1/instances&projectId=…"; lives on */
	bool optional;      /* do without when the server refuses it */
	feed_fn *fn;
	void *ctx;
};

struct feeds *feeds_new(struct cli *c);
void feeds_free(struct feeds *f);
void feeds_add(struct feeds *f, const struct feed_conf *conf);

/* Wait for something to come, for one of the N FDS, or as long as it takes.
 * -1 when a feed cannot go on. */
int feeds_turn(struct feeds *f, struct pollfd *fds, size_t n, int timeout_ms,
	       struct failure *p) MUST_CHECK;

/* Every feed has told what is there, or does without. */
bool feeds_ready(const struct feeds *f);

/* Why nothing comes just now; NULL when all is well. */
const char *feeds_trouble(const struct feeds *f);

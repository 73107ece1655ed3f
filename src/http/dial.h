/*
 * dial - the client's end of a WebSocket, for the command line: connected by
 * libcurl, framed by wslay.  One thread, which polls.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>

#include "http/client.h"

struct dial;

struct dial_conf {
	struct client_conf client; /* its token is not sent */
	const char *target;        /* "/v1/…" */
	const char *protocol;      /* offered; or NULL */

	/* Bytes that came; called from dial_turn(). */
	void (*data)(void *ctx, const char *bytes, size_t len);
	void *ctx;
};

/* 0 when there was an answer: connected, or *OUT is NULL and the answer is in
 * RET, which is released as that of client_call().  CONF is not needed after. */
int dial_open(const struct dial_conf *conf, struct dial **out,
	      struct client_result *ret, struct err *err) MUST_CHECK;
void dial_free(struct dial *d); /* NULL is fine */

/* What to poll for before the next turn. */
struct pollfd dial_polled(const struct dial *d);

/* Go on as far as it goes; false once it is closed. */
bool dial_turn(struct dial *d);

/* More may be sent now; whoever sends without is let do it. */
bool dial_has_room(const struct dial *d);
void dial_send(struct dial *d, const void *bytes, size_t len);

/* Ask for the end, which comes with a later turn. */
void dial_close(struct dial *d);

/* What it was closed with: a code of RFC 6455 (1006: it broke), and words. */
unsigned dial_code(const struct dial *d);
const char *dial_why(const struct dial *d);

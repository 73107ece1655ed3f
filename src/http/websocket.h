/*
 * websocket - messages over an upgraded exchange (RFC 6455), framed by wslay.
 *
 * Loop thread only.  The socket is ours to use until closed() was called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "http/exchange.h"

struct websocket;

enum { WEBSOCKET_MESSAGE_MOST = 8 << 20, WEBSOCKET_QUEUE_MOST = 16 << 20 };

struct websocket_handler {
	void (*message)(struct websocket *w, bool text, const char *data,
			size_t len);
	/* The last call, for whatever reason; W is gone when it returns. */
	void (*closed)(struct websocket *w);

	/* Some of what was queued has gone out, and the client is not behind;
	 * may be NULL. */
	void (*drained)(struct websocket *w);

	const char *protocol; /* agreed to when the client offers it; or NULL */
	size_t message_most;  /* bytes; 0: WEBSOCKET_MESSAGE_MOST */
};

/* Answer X with the upgrade.  Fails, with X still to be answered, when X does
 * not ask for a WebSocket properly. */
int websocket_accept(struct exchange *x, const struct websocket_handler *h,
		     void *ctx, struct websocket **out, struct err *err);

void *websocket_ctx(const struct websocket *w);

/* Fails with ERR_TOO_LARGE when the client does not keep up and the queue is
 * at its ceiling; nothing was queued then. */
int websocket_send(struct websocket *w, bool text, const void *data, size_t len,
		   struct err *err) MUST_CHECK;

/* So much is queued that whoever can should wait for drained(). */
bool websocket_is_behind(const struct websocket *w);

/* Take nothing from the client until that is taken back; a message or two that
 * had come already may still be told.  Its silence is not held against it
 * meanwhile. */
void websocket_pause(struct websocket *w, bool pause);

/* Send what is queued and a close frame, with WHY (or NULL) for people; closed()
 * follows. */
void websocket_close(struct websocket *w, unsigned code, const char *why);

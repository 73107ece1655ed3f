/*
 * exchange - one request, and the ways to answer it.
 *
 * The server makes one when a request has arrived whole, and calls the handler
 * once.  The handler answers exactly once, then or later: with a reply, with a
 * stream, or with an upgrade (websocket.h).  A reply ends the exchange: do not
 * touch it afterwards.  A client that leaves before its held reply changes
 * nothing; the reply goes nowhere.
 *
 * The server is one implementation of the table; the simulator has another.
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct exchange;

struct header {
	const char *name, *value;
};

enum { REPLY_HEADERS_MOST = 10 };

struct reply {
	int status;
	const char *type; /* content type; NULL without a body */
	const char *body; /* copied, unless it is taken */
	size_t len;
	struct buf *own; /* what the body is in, if it may be taken; or NULL */
	struct header headers[REPLY_HEADERS_MOST]; /* copied */
	size_t n_headers;
};

/* A fill may stop once it has appended this much: it is called again, without
 * a pause, when that has gone out.  The ceiling is higher by the largest body
 * that the server takes, so that one event always fits. */
enum { STREAM_ENOUGH = 64 << 10 };

/* Where a stream's bytes come from. */
struct stream_source {
	/* Append what there is, whole events, up to OUT's ceiling.  Called
	 * when the client can take more: at first, after exchange_wake(), and
	 * again as long as something was appended.  False: the stream ends
	 * after these bytes. */
	bool (*fill)(struct exchange *x, struct buf *out);

	/* The client left, the stream ended or the server stops: the last
	 * call.  The exchange is gone when it returns. */
	void (*gone)(struct exchange *x);
};

struct exchange_ops {
	/* The value of a request header; NULL when it was not sent.  Good until
	 * the handler is left: a client may go, and this with it.  Whoever
	 * needs it later asks again, and is told the same. */
	const char *(*header)(struct exchange *x, const char *name);
	void (*reply)(struct exchange *x, const struct reply *r);
	void (*stream)(struct exchange *x, const struct reply *head,
		       const struct stream_source *source);
	void (*wake)(struct exchange *x);
	void (*after)(struct exchange *x, uint64_t ms,
		      void (*fn)(struct exchange *x));
};

struct exchange {
	const struct exchange_ops *ops;
	struct arena *arena; /* everything about this request */
	const char *method;
	const char *target;      /* path and query as they were sent */
	const char *peer;        /* the client's address, without the port */
	const char *tls_subject; /* of its verified certificate, or NULL */
	bool secure;             /* it came by TLS to us */
	const char *body;        /* body_len bytes, then a NUL */
	size_t body_len;
	const char *id; /* the request's id, for logs and replies */
	void *ctx;      /* the handler's own */

	/* For so long the server had been busy with what came before, this time
	 * and the time before: one hiccup does not count. */
	uint64_t behind_ms;

	/* There was no room for its connection, which ends with it: answer what
	 * must always be answered, and refuse the others. */
	bool guest;
};

const char *exchange_header(struct exchange *x, const char *name);
void exchange_reply(struct exchange *x, const struct reply *r);

/* Answer with a stream of SOURCE's bytes.  The server sends a comment line
 * now and then (": \n\n") so that a client that left is noticed. */
void exchange_stream(struct exchange *x, const struct reply *head,
		     const struct stream_source *source);

/* The stream has something to say.  Cheap, and may be called at any rate: a
 * stream is filled at most every 20 ms. */
void exchange_wake(struct exchange *x);

/* Call FN on this exchange in MS milliseconds unless it has been answered
 * first.  One at a time: a second call replaces the first. */
void exchange_after(struct exchange *x, uint64_t ms,
		    void (*fn)(struct exchange *x));

/* Add a header to a reply being built; VALUE must live until it is sent. */
void reply_header(struct reply *r, const char *name, const char *value);

/*
 * server - HTTP/1.1 in our loop, by libmicrohttpd; TLS in front, by OpenSSL.
 *
 * What reaches the handler has been checked: one Content-Length or chunks and
 * not both, no NUL, a Host, a whole body within its limit and in time.  What
 * fails is answered here, with a body that conf.refuse writes.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "http/exchange.h"

struct loop;
struct server;

/* More connections than max_connections, for one request each. */
enum { SERVER_GUESTS = 256 };

struct server_conf {
	const char *listen;             /* "127.0.0.1:7070", "[::1]:0" */
	const char *tls_cert, *tls_key; /* PEM files; NULL: plain HTTP */
	const char *tls_client_ca;      /* ask for client certificates */
	unsigned max_connections;       /* in all */
	unsigned max_per_address;       /* 0: no limit of its own */
	unsigned max_working;           /* requests at a time: see below */
	unsigned crowded_ms, stuck_ms, calm_ms; /* see below */
	size_t max_body;                        /* bytes */
	size_t max_head;       /* bytes of request line + headers */
	unsigned idle_ms;      /* keep-alive without a request */
	unsigned request_ms;   /* to send a whole request */
	unsigned heartbeat_ms; /* between comments on a stream */
	unsigned pace_ms;      /* between two fills of a stream */
	void (*handle)(void *ctx, struct exchange *x);

	/* Write the body of an answer that never reaches the handler. */
	void (*refuse)(void *ctx, int status, const char *why, struct buf *body,
		       const char **ret_type);
	void *ctx;
};

struct server_stats {
	uint64_t connections; /* open now */
	uint64_t accepted;    /* ever */
	uint64_t refused;     /* answered here and not by the handler */
	uint64_t left;        /* by their clients before they were looked at */
	uint64_t streams;     /* open now */
};

/* While the handler works on max_working requests, or as many connections are
 * here and it takes long to go through them, nobody new is let in: the more
 * connections are served at a time, the longer each takes.  They wait in the
 * kernel's queue, where they cost nothing; after crowded_ms of this some are
 * let in as guests, to be told so.  Whoever came before and is more than that
 * is answered, and then has to come again.  It is over when it has not been so
 * for calm_ms: many are answered together, and then for a moment little is
 * worked on.  When none of them has been answered for stuck_ms it is not for
 * want of time: they are let in as if nothing were worked on.  What waits by
 * exchange_after() is not.
 *
 * Limits that are 0 get the defaults of docs/operating.md.  The names of the
 * TLS files must live as long as the server. */
int server_start(struct loop *l, const struct server_conf *conf,
		 struct server **out, struct err *err);

/* "127.0.0.1:7070": what it really listens on. */
const char *server_address(const struct server *s);

/* Read the certificate and key again; on failure the old ones stay. */
int server_reload(struct server *s, struct err *err);

void server_stats(const struct server *s, struct server_stats *ret);

/* Take what waits in the accept queue, then no more; answer what was
 * accepted, end the streams, and call STOPPED once all is still or GRACE_MS
 * have passed. */
void server_stop(struct server *s, uint64_t grace_ms,
		 void (*stopped)(void *ctx), void *ctx);

/* Cuts off whatever is left.  A request that is still held stays its handler's:
 * it must still be answered, into nothing, at any time before or after. */
void server_free(struct server *s);

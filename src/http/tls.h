/*
 * tls - TLS in front of the server, by OpenSSL, on our loop.
 *
 * A link stands between a client and the server: it speaks TLS on the client's
 * socket and passes plain bytes through one end of a socket pair, the other end
 * of which is what libmicrohttpd reads.  Each direction holds at most one
 * record: who does not read stops the other.
 *
 * Loop thread only.
 */
#pragma once

#include "base/err.h"

struct loop;
struct tls;
struct tls_link;

struct tls_conf {
	const char *cert, *key; /* PEM files */
	const char *client_ca;  /* ask for client certificates; or NULL */
};

/* CONF's strings must live as long as it. */
int tls_new(struct loop *l, const struct tls_conf *conf, struct tls **out,
	    struct err *err);

/* After the last of its links. */
void tls_free(struct tls *t);

/* Read the files again; on failure the old certificate stays. */
int tls_reload(struct tls *t, struct err *err);

/* Begin with a client at FD, which is the link's now.  READY is called with the
 * plain end once the two have agreed, if they do; CLOSED is the last call. */
struct tls_link *tls_accept(struct tls *t, int fd,
			    void (*ready)(void *ctx, int fd),
			    void (*closed)(void *ctx), void *ctx);

/* Close at once; CLOSED is called before this returns. */
void tls_link_abort(struct tls_link *k);

/* The subject of the client's certificate; NULL when it showed none. */
const char *tls_link_subject(const struct tls_link *k);

/*
 * wire - the client's end of a test: raw bytes over a blocking socket, with or
 * without TLS.  Every read has a deadline, so that a test fails, not hangs.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

enum { WIRE_SECONDS = 20 };

struct wire {
	int fd;
	SSL *ssl;      /* NULL: plain */
	struct buf in; /* read and not yet used */
};

static inline struct wire wire_open(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct timeval limit = {.tv_sec = WIRE_SECONDS};
	const char *port = strrchr(address, ':') + 1;
	struct wire w = {.fd = socket(AF_INET, SOCK_STREAM, 0),
			 .in = BUF_INIT(64 << 20)};

	to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(w.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(w.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(w.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	if (connect(w.fd, (struct sockaddr *)&to, sizeof(to)))
		printf("# connect: %s\n", strerror(errno));
	return w;
}

static inline void wire_close(struct wire *w)
{
	SSL_free(w->ssl);
	close(w->fd);
	buf_release(&w->in);
}

static inline bool wire_write(struct wire *w, const void *p, size_t len)
{
	const char *bytes = p;

	while (len) {
		ssize_t n = w->ssl ? SSL_write(w->ssl, bytes, (int)len)
				   : send(w->fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static inline bool wire_puts(struct wire *w, const char *text)
{
	return wire_write(w, text, strlen(text));
}

/* Some more bytes; false at the end, at an error, or when none come. */
static inline bool wire_more(struct wire *w)
{
	char *to = buf_reserve(&w->in, 64 << 10);
	ssize_t n;

	errno = 0;
	n = w->ssl ? SSL_read(w->ssl, to, 64 << 10)
		   : recv(w->fd, to, 64 << 10, 0);

	if (n <= 0)
		return false;
	buf_grew(&w->in, (size_t)n);
	return true;
}

/* True when the server closes, whatever it says before. */
static inline bool wire_ends(struct wire *w)
{
	while (wire_more(w))
		;
	return errno != EAGAIN;
}

static inline bool wire_await(struct wire *w, const char *text)
{
	while (!strstr(buf_str(&w->in), text))
		if (!wire_more(w))
			return false;
	return true;
}

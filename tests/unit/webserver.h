/*
 * webserver - a web server of one file, that can be told to misbehave; for tests
 * of what is fetched.  One connection at a time, in a thread.
 */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct webserver {
	int fd;
	pthread_t thread;
	char url[64];
	const char *body;
	size_t len;
	const char *etag;     /* or NULL: it tells none */
	const char *redirect; /* where to; or NULL */
	int status;           /* instead of 200; 0: none */
	size_t said;          /* instead of the length; 0: none */
	atomic_size_t cut;    /* end once after so many bytes; 0: not */
	atomic_size_t hold;   /* stand still after so many bytes; 0: not */
	atomic_int asked;     /* requests */
	atomic_size_t from;   /* where the last one began */
	atomic_bool over;
};

static inline void webserver_send(struct webserver *w, int to, size_t from)
{
	size_t cut = atomic_exchange(&w->cut, 0), sent = 0;

	while (from + sent < w->len) {
		size_t n = w->len - from - sent, hold = atomic_load(&w->hold);
		ssize_t done;

		if (cut && n > cut - sent)
			n = cut - sent;
		if (hold && n > hold)
			n = hold;
		if (n > 65536)
			n = 65536;
		done = send(to, w->body + from + sent, n, MSG_NOSIGNAL);
		if (done <= 0)
			return;
		sent += (size_t)done;
		if (cut && sent >= cut)
			return;
		while (hold && sent >= hold && atomic_load(&w->hold) &&
		       !atomic_load(&w->over))
			usleep(10000);
	}
}

static inline void webserver_answer(struct webserver *w, int to)
{
	char head[4096], reply[1024];
	char *range, *same;
	size_t from = 0;
	ssize_t n = recv(to, head, sizeof(head) - 1, 0);
	int len;

	if (n <= 0)
		return;
	head[n] = '\0';
	atomic_fetch_add(&w->asked, 1);
	range = strstr(head, "Range: bytes=");
	same = strstr(head, "If-Range: ");
	if (range && same && w->etag &&
	    strncmp(same + 10, w->etag, strlen(w->etag)) == 0)
		from = (size_t)strtoull(range + 13, NULL, 10);
	atomic_store(&w->from, from);
	len = snprintf(reply, sizeof(reply),
		       "HTTP/1.1 %d x\r\nConnection: close\r\n"
		       "Content-Length: %zu\r\n%s%s%s",
		       w->status     ? w->status
		       : w->redirect ? 302
		       : from        ? 206
				     : 200,
		       w->said       ? w->said
		       : w->redirect ? 0
				     : w->len - from,
		       w->etag ? "ETag: " : "", w->etag ? w->etag : "",
		       w->etag ? "\r\n" : "");
	if (w->redirect)
		len += snprintf(reply + len, sizeof(reply) - (size_t)len,
				"Location: %s\r\n", w->redirect);
	if (from)
		len += snprintf(reply + len, sizeof(reply) - (size_t)len,
				"Content-Range: bytes %zu-%zu/%zu\r\n", from,
				w->len - 1, w->len);
	len += snprintf(reply + len, sizeof(reply) - (size_t)len, "\r\n");
	send(to, reply, (size_t)len, MSG_NOSIGNAL);
	if (!w->redirect)
		webserver_send(w, to, from);
}

static inline void *webserver_run(void *ctx)
{
	struct webserver *w = ctx;
	int to;

	while ((to = accept(w->fd, NULL, NULL)) >= 0) {
		if (!atomic_load(&w->over))
			webserver_answer(w, to);
		close(to);
	}
	return NULL;
}

static inline void webserver_start(struct webserver *w, const char *body,
				   size_t len)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);

	memset(w, 0, sizeof(*w));
	w->body = body;
	w->len = len;
	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(w->fd, (void *)&at, size) < 0 || listen(w->fd, 8) < 0 ||
	    getsockname(w->fd, (void *)&at, &size) < 0)
		abort();
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/disk",
		 ntohs(at.sin_port));
	pthread_create(&w->thread, NULL, webserver_run, w);
}

static inline void webserver_stop(struct webserver *w)
{
	atomic_store(&w->over, true);
	shutdown(w->fd, SHUT_RDWR);
	pthread_join(w->thread, NULL);
	close(w->fd);
}

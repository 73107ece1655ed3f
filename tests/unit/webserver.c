#include "unit/webserver.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_body(struct webserver *w, int to, size_t from)
{
	size_t cut = atomic_exchange(&w->cut, 0), sent = 0;

	while (from + sent < w->len || atomic_load(&w->endless)) {
		size_t at = (from + sent) % w->len, n = w->len - at;
		size_t hold = atomic_load(&w->hold);
		ssize_t done;

		if (cut && n > cut - sent)
			n = cut - sent;
		if (hold && n > hold)
			n = hold;
		if (n > 65536)
			n = 65536;
		done = send(to, w->body + at, n, MSG_NOSIGNAL);
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

/* Where to begin: later, when the one who asks has the same file. */
static size_t begin_at(struct webserver *w, const char *asked)
{
	const char *etag = atomic_load(&w->etag);
	const char *range = strstr(asked, "Range: bytes=");
	const char *same = strstr(asked, "If-Range: ");

	if (!range || !same || !etag ||
	    strncmp(same + 10, etag, strlen(etag)) != 0)
		return 0;
	return (size_t)strtoull(range + 13, NULL, 10);
}

static void answer(struct webserver *w, int to)
{
	char asked[4096], head[1024], part[128] = "";
	const char *etag = atomic_load(&w->etag), *own = atomic_load(&w->head);
	ssize_t n = recv(to, asked, sizeof(asked) - 1, 0);
	size_t from;

	if (n <= 0)
		return;
	asked[n] = '\0';
	from = begin_at(w, asked);
	atomic_store(&w->from, from);
	if (from)
		snprintf(part, sizeof(part),
			 "Content-Range: bytes %zu-%zu/%zu\r\n", from,
			 w->len - 1, w->len);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 %d x\r\nConnection: close\r\n"
		 "Content-Length: %zu\r\n%s%s%s%s\r\n",
		 from ? 206 : 200, w->len - from, etag ? "ETag: " : "",
		 etag ? etag : "", etag ? "\r\n" : "", part);
	if (own)
		snprintf(head, sizeof(head), "%s\r\n", own);
	send(to, head, strlen(head), MSG_NOSIGNAL);
	send_body(w, to, from);
}

static void *serve(void *ctx)
{
	struct webserver *w = ctx;
	int to;

	while ((to = accept(w->fd, NULL, NULL)) >= 0) {
		if (!atomic_load(&w->over))
			answer(w, to);
		close(to);
	}
	return NULL;
}

void webserver_start(struct webserver *w, const char *body, size_t len)
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
	pthread_create(&w->thread, NULL, serve, w);
}

void webserver_stop(struct webserver *w)
{
	atomic_store(&w->over, true);
	shutdown(w->fd, SHUT_RDWR);
	pthread_join(w->thread, NULL);
	close(w->fd);
}

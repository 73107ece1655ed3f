/*
 * watch - many watchers of one list, counting what they are told.
 *
 *   bench_watch -p PORT -t TOKEN -c WATCHERS -n EVENTS -s SECONDS -e REVISION
 *               PATH
 *
 * Each goes on from REVISION.  Prints "ready" when all of them have been
 * answered, then ends when each has had EVENTS events or after SECONDS, with
 * one line: how many had exactly that many, and the sums.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "bench.h"

enum { BATCH = 256 };

/* What every event has once, and no document can hold: a line of its own. */
static const char mark[] = "\nevent: put\n";

enum { MARK = sizeof(mark) - 1 };

/* What of a chunked answer comes next. */
enum part { PART_HEAD, PART_SIZE, PART_DATA, PART_END };

struct watcher {
	int fd;
	enum part part;
	size_t left;    /* of the chunk, or of the line that ends it */
	size_t matched; /* of the mark, or of the head's end */
	size_t events;
};

struct watch {
	unsigned port;
	size_t n, want, seconds;
	const char *token, *revision;
	int epoll;
	struct watcher *watchers;
	size_t answered, complete, events;
	uint64_t bytes;
};

static void connect_one(struct watch *w, struct watcher *one, const char *path)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = one};
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: bench\r\n"
			 "Accept: text/event-stream\r\n"
			 "Last-Event-ID: %s\r\n"
			 "Authorization: Bearer %s\r\n\r\n",
			 path, w->revision, w->token);

	one->fd = connect_to(w->port);
	if (send(one->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		die("send: %s", strerror(errno));
	fcntl(one->fd, F_SETFL, O_NONBLOCK);
	epoll_ctl(w->epoll, EPOLL_CTL_ADD, one->fd, &e);
}

/* Go on with a mark that the piece before ended in the middle of; how many
 * bytes of this piece were used up. */
static size_t go_on(struct watcher *one, const char *p, size_t len)
{
	size_t used = 0;

	while (one->matched && used < len && p[used] == mark[one->matched]) {
		used++;
		if (++one->matched < MARK)
			continue;
		one->events++;
		one->matched = 0;
	}
	if (used < len)
		one->matched = 0;
	return used;
}

static void count(struct watcher *one, const char *p, size_t len)
{
	const char *end = p + len, *hit;

	p += go_on(one, p, len);
	while ((hit = memmem(p, (size_t)(end - p), mark, MARK))) {
		one->events++;
		p = hit + MARK;
	}
	for (size_t n = MARK - 1; n > 0 && !one->matched; n--)
		if ((size_t)(end - p) >= n && memcmp(end - n, mark, n) == 0)
			one->matched = n;
}

static void take_head(struct watch *w, struct watcher *one, char c)
{
	one->matched = c == "\r\n\r\n"[one->matched] ? one->matched + 1 : 0;
	if (one->matched < 4)
		return;
	one->matched = one->left = 0;
	one->part = PART_SIZE;
	w->answered++;
}

static void take_size(struct watcher *one, char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *hit = strchr(digits, c | 0x20);

	if (hit && c != '\r' && c != '\n')
		one->left = one->left * 16 + (size_t)(hit - digits);
	if (c == '\n')
		one->part = PART_DATA;
}

static void take(struct watch *w, struct watcher *one, const char *p,
		 size_t len)
{
	while (len) {
		size_t n = 1;

		switch (one->part) {
		case PART_HEAD:
			take_head(w, one, *p);
			break;
		case PART_SIZE:
			take_size(one, *p);
			break;
		case PART_DATA:
			n = one->left < len ? one->left : len;
			count(one, p, n);
			one->left -= n;
			if (!one->left)
				one->part = PART_END;
			break;
		case PART_END:
			if (*p == '\n')
				one->part = PART_SIZE;
			break;
		}
		p += n;
		len -= n;
	}
}

static void pull(struct watch *w, struct watcher *one)
{
	static char piece[256 << 10];
	ssize_t n = recv(one->fd, piece, sizeof(piece), 0);
	size_t before = one->events;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		die("the server ended a watch");
	if (!w->bytes && (n < 12 || memcmp(piece + 9, "200", 3) != 0))
		die("a watch was refused: %.*s", (int)n, piece);
	w->bytes += (uint64_t)n;
	take(w, one, piece, (size_t)n);
	w->events += one->events - before;
	if (before < w->want && one->events >= w->want)
		w->complete++;
}

static void run(struct watch *w)
{
	uint64_t ends = now_ns() + w->seconds * 1000000000U;
	struct epoll_event events[BATCH];
	bool told = false;

	while (w->complete < w->n && now_ns() < ends) {
		int n = epoll_wait(w->epoll, events, BATCH, 100);

		for (int i = 0; i < n; i++)
			pull(w, events[i].data.ptr);
		if (!told && w->answered == w->n) {
			puts("ready");
			fflush(stdout);
			told = true;
		}
	}
}

static void option(struct watch *w, int letter, const char *value)
{
	switch (letter) {
	case 'p':
		w->port = (unsigned)number(value);
		break;
	case 'c':
		w->n = number(value);
		break;
	case 'n':
		w->want = number(value);
		break;
	case 's':
		w->seconds = number(value);
		break;
	case 't':
		w->token = value;
		break;
	case 'e':
		w->revision = value;
		break;
	default:
		die("see the head of watch.c for the options");
	}
}

int main(int argc, char **argv)
{
	struct watch w = {.n = 1, .seconds = 10, .token = "none"};
	size_t exact = 0;
	int letter;

	while ((letter = getopt(argc, argv, "p:c:n:s:t:e:")) != -1)
		option(&w, letter, optarg);
	if (optind + 1 != argc || !w.revision)
		die("say PATH, and from which revision");
	w.epoll = epoll_create1(EPOLL_CLOEXEC);
	w.watchers = calloc(w.n, sizeof(*w.watchers));
	if (w.epoll < 0 || !w.watchers)
		die("no memory");
	for (size_t i = 0; i < w.n; i++)
		connect_one(&w, &w.watchers[i], argv[optind]);
	run(&w);
	for (size_t i = 0; i < w.n; i++)
		exact += w.watchers[i].events == w.want;
	printf("exact=%zu events=%zu bytes=%llu\n", exact, w.events,
	       (unsigned long long)w.bytes);
	return exact != w.n;
}

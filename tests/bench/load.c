/*
 * load - ask a server as fast as it answers, or at a given rate, and tell how
 * long the answers took.
 *
 *   bench_load -p PORT [-c CONNECTIONS] [-n COUNT] [-s SECONDS] [-r RATE]
 *              [-t TOKEN] [-w FILE] [-k] [-y] get PATHS
 *   bench_load … create ORGANIZATIONS PREFIX
 *   bench_load … post BODIES PREFIX PATH
 *
 * Every connection is kept and has one request under way.  PATHS,
 * ORGANIZATIONS and BODIES are files with a line each, taken in turn; a body is
 * an object of JSON, which is given a name.  With a rate the time of an answer
 * counts from when its request was due.  -w writes the paths of what was
 * created, -k speaks TLS, -y leaves the core to others while there is nothing
 * to do.  Prints one line of numbers; times are microseconds.
 */
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "bench.h"

enum { HEAD_MOST = 4096, REQUEST_MOST = 4096, EVENTS = 256 };

struct conn {
	int fd;
	SSL *ssl;
	char *request;
	size_t request_len, sent;
	uint64_t due;
	bool busy;
	bool has_head;
	char head[HEAD_MOST + 1];
	size_t head_len;
	size_t left; /* of the body */
};

struct load {
	unsigned port;
	size_t n_conns, count, seconds, rate;
	const char *token, *prefix, *path;
	FILE *made;
	SSL_CTX *tls;
	bool yields;
	void (*build)(struct load *l, struct conn *c);
	char **lines;
	size_t n_lines;

	int epoll;
	struct conn *conns;
	struct conn **idle;
	size_t n_idle, begun, done, errors;
	uint64_t began, ends, bytes;
	uint32_t *times; /* a tenth of a microsecond each */
	size_t times_room;
};

static void build_get(struct load *l, struct conn *c)
{
	int n = snprintf(c->request, REQUEST_MOST,
			 "GET %s HTTP/1.1\r\nHost: bench\r\n"
			 "Authorization: Bearer %s\r\n\r\n",
			 l->lines[l->begun % l->n_lines], l->token);

	c->request_len = (size_t)n;
}

static void build_body(struct load *l, struct conn *c, const char *path,
		       const char *body, int len)
{
	int n = snprintf(c->request, REQUEST_MOST,
			 "POST %s HTTP/1.1\r\nHost: bench\r\n"
			 "Authorization: Bearer %s\r\n"
			 "Content-Type: application/json\r\n"
			 "Idempotency-Key: %s-%08zu\r\n"
			 "Content-Length: %d\r\n\r\n%s",
			 path, l->token, l->prefix, l->begun, len, body);

	if (n >= REQUEST_MOST)
		die("the request is too long");
	c->request_len = (size_t)n;
}

/* The line, with a name before what it has. */
static void build_post(struct load *l, struct conn *c)
{
	char body[2048];
	int len = snprintf(body, sizeof(body), "{\"name\":\"%s-%08zu\",%s",
			   l->prefix, l->begun,
			   l->lines[l->begun % l->n_lines] + 1);

	if ((size_t)len >= sizeof(body))
		die("the body is too long");
	build_body(l, c, l->path, body, len);
}

static void build_create(struct load *l, struct conn *c)
{
	char body[2048];
	int len = project_body(body, sizeof(body), l->prefix, l->begun,
			       l->lines[l->begun % l->n_lines]);

	build_body(l, c, "/v1/projects", body, len);
}

static ssize_t conn_send(struct conn *c, const char *p, size_t len)
{
	int n;

	if (!c->ssl)
		return send(c->fd, p, len, MSG_NOSIGNAL);
	n = SSL_write(c->ssl, p, (int)len);
	if (n <= 0 && SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_WRITE)
		errno = EAGAIN;
	return n;
}

static ssize_t conn_recv(struct conn *c, char *p, size_t room)
{
	int n;

	if (!c->ssl)
		return recv(c->fd, p, room, 0);
	n = SSL_read(c->ssl, p, (int)room);
	if (n <= 0 && SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ) {
		errno = EAGAIN;
		return -1;
	}
	return n;
}

static void push(struct load *l, struct conn *c)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

	while (c->sent < c->request_len) {
		ssize_t n = conn_send(c, c->request + c->sent,
				      c->request_len - c->sent);

		if (n < 0 && errno == EAGAIN) {
			e.events |= EPOLLOUT;
			break;
		}
		if (n <= 0)
			die("send: %s", strerror(errno));
		c->sent += (size_t)n;
	}
	if (c->sent < c->request_len)
		epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void begin(struct load *l, struct conn *c, uint64_t due)
{
	l->build(l, c);
	l->begun++;
	c->due = due;
	c->sent = c->head_len = c->left = 0;
	c->has_head = false;
	c->busy = true;
	push(l, c);
}

static bool may_begin(const struct load *l, uint64_t now)
{
	return l->begun < l->count && now < l->ends;
}

static void keep_time(struct load *l, uint64_t ns)
{
	if (l->done == l->times_room) {
		l->times_room = l->times_room ? 2 * l->times_room : 65536;
		l->times = realloc(l->times, l->times_room * sizeof(*l->times));
		if (!l->times)
			die("no memory");
	}
	l->times[l->done++] =
		ns / 100 < UINT32_MAX ? (uint32_t)(ns / 100) : UINT32_MAX;
}

static void note_made(struct load *l, struct conn *c)
{
	char *at = strstr(c->head, "\r\nLocation: ");

	if (!l->made || !at)
		return;
	at += 12;
	fprintf(l->made, "%.*s\n", (int)strcspn(at, "\r"), at);
}

static void finish(struct load *l, struct conn *c)
{
	uint64_t now = now_ns();

	if (c->head[9] != '2') {
		if (!l->errors++)
			fprintf(stderr, "bench: %.*s\n", (int)c->head_len,
				c->head);
	}
	note_made(l, c);
	keep_time(l, now - c->due);
	c->busy = false;
	if (!l->rate && may_begin(l, now))
		begin(l, c, now);
	else
		l->idle[l->n_idle++] = c;
}

/* The head may come in pieces; what of the body came with it is only counted.
 */
static void take_head(struct load *l, struct conn *c, const char *p, size_t n)
{
	size_t room = HEAD_MOST - c->head_len, part = n < room ? n : room;
	const char *end, *length;
	size_t before = c->head_len, head, size;

	memcpy(c->head + c->head_len, p, part);
	c->head_len += part;
	c->head[c->head_len] = '\0';
	end = strstr(c->head, "\r\n\r\n");
	if (!end && c->head_len == HEAD_MOST)
		die("the answer's head is too long");
	if (!end)
		return;
	head = (size_t)(end - c->head) + 4;
	length = strstr(c->head, "\r\nContent-Length: ");
	if (!length || length > end)
		die("an answer without a length");
	size = strtoul(length + 18, NULL, 10);
	c->has_head = true;
	c->left = size - (n - (head - before));
	l->bytes += size;
}

static void pull(struct load *l, struct conn *c)
{
	static char piece[256 << 10];

	for (;;) {
		ssize_t n = conn_recv(c, piece, sizeof(piece));

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			die("the server closed a connection: %s",
			    n ? strerror(errno) : "end");
		if (!c->busy)
			die("an answer to nothing");
		if (c->has_head)
			c->left -= (size_t)n;
		else
			take_head(l, c, piece, (size_t)n);
		if (c->has_head && !c->left) {
			finish(l, c);
			return;
		}
		if (!c->ssl && (size_t)n < sizeof(piece))
			return;
	}
}

static void connect_one(struct load *l, struct conn *c)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

	c->fd = connect_to(l->port);
	c->request = malloc(REQUEST_MOST);
	if (!c->request)
		die("no memory");
	if (l->tls) {
		c->ssl = SSL_new(l->tls);
		SSL_set_fd(c->ssl, c->fd);
		if (SSL_connect(c->ssl) != 1)
			die("the TLS handshake failed");
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e);
	l->idle[l->n_idle++] = c;
}

/* Begin whatever is due and has a connection free. */
static void pace(struct load *l)
{
	uint64_t now = now_ns();

	while (l->n_idle && may_begin(l, now)) {
		uint64_t due =
			l->rate ? l->began + l->begun * 1000000000U / l->rate
				: now;

		if (due > now)
			return;
		begin(l, l->idle[--l->n_idle], due);
	}
}

static void on_event(struct load *l, struct conn *c, uint32_t events)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

	if (events & EPOLLOUT) {
		epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
		push(l, c);
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		pull(l, c);
}

static void run(struct load *l)
{
	struct epoll_event events[EVENTS];

	l->began = now_ns();
	l->ends = l->began + l->seconds * 1000000000U;
	for (;;) {
		int n;

		pace(l);
		if (l->n_idle == l->n_conns && !may_begin(l, now_ns()))
			return;
		/* Nothing takes longer: a server that hangs must not hang us. */
		if (now_ns() > l->ends + 30000000000U)
			die("no answer for 30 seconds");
		/* At full speed it never sleeps: waking it would be the server's
		 * work, and more of it the slower the server is. */
		n = epoll_wait(l->epoll, events, EVENTS,
			       l->rate || l->yields ? 1 : 0);
		for (int i = 0; i < n; i++)
			on_event(l, events[i].data.ptr, events[i].events);
	}
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double time_at(const struct load *l, size_t i)
{
	return l->times[i] / 10.0;
}

static void report(struct load *l)
{
	double seconds = (double)(now_ns() - l->began) / 1e9;
	size_t last = l->done - 1;

	if (!l->done)
		die("nothing was answered");
	qsort(l->times, l->done, sizeof(*l->times), by_size);
	printf("done=%zu errors=%zu seconds=%.4f rate=%.1f p50=%.1f p99=%.1f "
	       "max=%.1f bytes=%llu\n",
	       l->done, l->errors, seconds, (double)l->done / seconds,
	       time_at(l, last / 2), time_at(l, last - last / 100),
	       time_at(l, last), (unsigned long long)l->bytes);
}

static void option(struct load *l, int letter, const char *value)
{
	switch (letter) {
	case 'p':
		l->port = (unsigned)number(value);
		break;
	case 'c':
		l->n_conns = number(value);
		break;
	case 'n':
		l->count = number(value);
		break;
	case 's':
		l->seconds = number(value);
		break;
	case 'r':
		l->rate = number(value);
		break;
	case 't':
		l->token = value;
		break;
	case 'w':
		l->made = fopen(value, "we");
		if (!l->made)
			die("%s: %s", value, strerror(errno));
		break;
	case 'k':
		l->tls = SSL_CTX_new(TLS_client_method());
		break;
	case 'y':
		l->yields = true;
		break;
	default:
		die("see the head of load.c for the options");
	}
}

int main(int argc, char **argv)
{
	struct load l = {.n_conns = 1,
			 .count = SIZE_MAX,
			 .seconds = 60,
			 .token = "none",
			 .prefix = "p"};
	int letter;

	while ((letter = getopt(argc, argv, "p:c:n:s:r:t:w:ky")) != -1)
		option(&l, letter, optarg);
	argv += optind;
	argc -= optind;
	if (argc == 2 && strcmp(argv[0], "get") == 0)
		l.build = build_get;
	else if (argc == 3 && strcmp(argv[0], "create") == 0)
		l.build = build_create;
	else if (argc == 4 && strcmp(argv[0], "post") == 0)
		l.build = build_post;
	else
		die("say get PATHS, create ORGANIZATIONS PREFIX, or post "
		    "BODIES PREFIX PATH");
	l.lines = read_lines(argv[1], &l.n_lines);
	if (argc > 2)
		l.prefix = argv[2];
	if (argc > 3)
		l.path = argv[3];
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	l.conns = calloc(l.n_conns, sizeof(*l.conns));
	l.idle = calloc(l.n_conns, sizeof(struct conn *));
	if (l.epoll < 0 || !l.conns || !l.idle)
		die("no memory");
	for (size_t i = 0; i < l.n_conns; i++)
		connect_one(&l, &l.conns[i]);
	run(&l);
	report(&l);
	if (l.made && fclose(l.made))
		die("cannot write: %s", strerror(errno));
	return l.errors != 0;
}

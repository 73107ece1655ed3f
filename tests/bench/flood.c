/*
 * flood - ask a server whether it answers or not, as a crowd of clients does.
 *
 *   bench_flood -p PORT [-t TOKEN] [-c CONNECTIONS] [-k KEPT] [-d DEADLINE_MS]
 *               [-g PERCENT] [-b TRIES] ORGANIZATIONS PATHS PREFIX
 *               RATE:SECONDS...
 *   bench_flood … -i PATH BODIES PATHS PREFIX RATE:SECONDS...
 *
 * Calls are made when they are due, RATE a second, each on a connection that
 * is free or on a new one, up to CONNECTIONS; what finds none is not sent, and
 * counted.  RATE "max" keeps KEPT connections busy instead.  PERCENT of the
 * calls are GETs of PATHS, the others create a project, or what -i says.
 *
 * A client gives up after DEADLINE_MS: it closes its connection and tries again
 * a second or so later; so it does when it is refused, after as long as
 * Retry-After says; TRIES times in all, with the same idempotency key.  What is
 * tried again takes the place of a new call, so that RATE is of all requests;
 * where more is due again than that, it comes on top.
 *
 * Prints a line for each quarter of a second, then one for each phase; times
 * are microseconds, from when a request was due.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "bench.h"

enum {
	HEAD_MOST = 2048,
	REQUEST_MOST = 4096,
	EVENTS = 256,
	SLOTS = 512,
	PHASES_MOST = 16,
	WHEEL = 8192, /* milliseconds */
	SLICE_MS = 250,
	ADDRESSES = 16,
};

#define MS 1000000U

/* Times, in steps of a sixteenth. */
struct times {
	uint32_t slots[SLOTS];
	uint64_t n, most;
};

struct tally {
	uint64_t begun, unsent, good, refused, late, failed, other, again;
	uint64_t without; /* refusals without a time to come again */
	struct times good_us, refused_us;
};

struct call {
	struct list link; /* in the wheel */
	size_t serial;
	unsigned tries;
	bool reads;
};

struct conn {
	struct list due; /* in busy, idle or closed */
	int fd;          /* -1: closed */
	struct call *call;
	uint64_t began; /* or was due */
	size_t request_len, sent;
	bool has_head;
	size_t head_len, left;
	char request[REQUEST_MOST], head[HEAD_MOST + 1];
};

struct phase {
	size_t rate, seconds; /* rate 0: as fast as it answers */
	struct tally tally;
	double took;
};

struct flood {
	unsigned port, percent, tries;
	size_t n_conns, kept, deadline_ms;
	const char *token, *prefix, *path;
	char **owners, **paths; /* or bodies */
	size_t n_owners, n_paths;
	struct phase phases[PHASES_MOST], *now;
	size_t n_phases;

	int epoll;
	struct list busy, idle, closed, wheel[WHEEL];
	size_t n_busy, n_open, serial;
	uint64_t began, turned; /* turned: the wheel, in ms */
	double owed;            /* calls that are due */
	uint64_t paced;         /* when that was */
	struct tally slice;
};

static unsigned slot_of(uint64_t us)
{
	unsigned e, slot;

	if (us < 16)
		return (unsigned)us;
	e = 63 - (unsigned)__builtin_clzll(us);
	slot = (e - 3) * 16 + ((us >> (e - 4)) & 15);
	return slot < SLOTS ? slot : SLOTS - 1;
}

static void times_add(struct times *t, uint64_t ns)
{
	uint64_t us = ns / 1000;

	t->slots[slot_of(us)]++;
	t->n++;
	if (us > t->most)
		t->most = us;
}

static uint64_t times_at(const struct times *t, double share)
{
	uint64_t want = (uint64_t)((double)t->n * share), seen = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		seen += t->slots[i];
		if (seen > want)
			return i < 16 ? i
				      : (uint64_t)(16 + i % 16) << (i / 16 - 1);
	}
	return t->most;
}

#define COUNT(f, what) ((f)->slice.what++, (f)->now->tally.what++)

static void build(struct flood *f, struct conn *c)
{
	const struct call *call = c->call;
	char body[2048];
	int n, len;

	if (call->reads) {
		n = snprintf(c->request, REQUEST_MOST,
			     "GET %s HTTP/1.1\r\nHost: bench\r\n"
			     "Authorization: Bearer %s\r\n\r\n",
			     f->paths[call->serial * 7919 % f->n_paths],
			     f->token);
		c->request_len = (size_t)n;
		return;
	}
	if (f->path)
		len = snprintf(body, sizeof(body), "{\"name\":\"%s-%08zu\",%s",
			       f->prefix, call->serial,
			       f->owners[call->serial % f->n_owners] + 1);
	else
		len = project_body(body, sizeof(body), f->prefix, call->serial,
				   f->owners[call->serial % f->n_owners]);
	n = snprintf(c->request, REQUEST_MOST,
		     "POST %s HTTP/1.1\r\nHost: bench\r\n"
		     "Authorization: Bearer %s\r\n"
		     "Content-Type: application/json\r\n"
		     "Idempotency-Key: %s-%08zu\r\n"
		     "Content-Length: %d\r\n\r\n%s",
		     f->path ? f->path : "/v1/projects", f->token, f->prefix,
		     call->serial, len, body);
	if (n >= REQUEST_MOST)
		die("the request is too long");
	c->request_len = (size_t)n;
}

/* Its call is made again in MS, and a little later than the next one's. */
static void call_again(struct flood *f, struct conn *c, size_t ms)
{
	struct call *call = c->call;
	uint64_t at = f->turned + ms + (size_t)rand() % 500;

	c->call = NULL;
	f->n_busy--;
	list_remove(&c->due);
	if (++call->tries >= f->tries) {
		free(call);
		return;
	}
	list_add(&f->wheel[at % WHEEL], &call->link);
}

static void conn_close(struct flood *f, struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	f->n_open--;
	list_remove(&c->due);
	list_add(&f->closed, &c->due);
}

static void conn_fail(struct flood *f, struct conn *c)
{
	if (c->call) {
		COUNT(f, failed);
		call_again(f, c, 1000);
	}
	conn_close(f, c);
}

/* Clients come from more than one address: one has 28,000 ports. */
static bool conn_open(struct flood *f, struct conn *c)
{
	static unsigned turn;
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)f->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr =
			htonl(INADDR_LOOPBACK + 1 + turn++ % ADDRESSES)};
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
				.data.ptr = c};
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	f->n_open++;
	(void)setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
			 sizeof(on));
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) ||
	    (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) &&
	     errno != EINPROGRESS) ||
	    epoll_ctl(f->epoll, EPOLL_CTL_ADD, c->fd, &e))
		return false;
	return true;
}

static void push(struct conn *c)
{
	while (c->sent < c->request_len) {
		ssize_t n = send(c->fd, c->request + c->sent,
				 c->request_len - c->sent, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
			return;
		/* What the server has said before it closed is still there. */
		if (n <= 0) {
			c->sent = c->request_len;
			return;
		}
		c->sent += (size_t)n;
	}
}

static struct call *call_new(struct flood *f)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		die("no memory");
	call->serial = f->serial++;
	call->reads = call->serial * 37 % 100 < f->percent;
	return call;
}

/* Make CALL, which was due at DUE. */
static void begin(struct flood *f, struct call *call, uint64_t due)
{
	struct list *l = list_pop(&f->idle);
	struct conn *c;
	bool is_new = !l;

	if (call->tries)
		COUNT(f, again);
	if (!l)
		l = list_pop(&f->closed);
	if (!l) {
		COUNT(f, unsent);
		free(call);
		return;
	}
	COUNT(f, begun);
	c = CONTAINER_OF(l, struct conn, due);
	c->call = call;
	c->began = due;
	c->sent = c->head_len = c->left = 0;
	c->has_head = false;
	build(f, c);
	f->n_busy++;
	list_add(&f->busy, &c->due);
	if (is_new && !conn_open(f, c)) {
		conn_fail(f, c);
		return;
	}
	if (!is_new)
		push(c);
}

static void keep_good(struct flood *f, uint64_t took)
{
	COUNT(f, good);
	times_add(&f->slice.good_us, took);
	times_add(&f->now->tally.good_us, took);
}

static void finish(struct flood *f, struct conn *c)
{
	uint64_t took = now_ns() - c->began;
	const char *again = strcasestr(c->head, "\r\nRetry-After: ");
	bool close = strcasestr(c->head, "\r\nConnection: close");

	if (c->head[9] == '2') {
		if (took > f->deadline_ms * MS)
			COUNT(f, late);
		else
			keep_good(f, took);
		list_remove(&c->due);
		free(c->call);
		c->call = NULL;
		f->n_busy--;
	} else if (!strncmp(c->head + 9, "503", 3) ||
		   !strncmp(c->head + 9, "429", 3)) {
		COUNT(f, refused);
		if (!again)
			COUNT(f, without);
		times_add(&f->slice.refused_us, took);
		times_add(&f->now->tally.refused_us, took);
		call_again(f, c,
			   again ? strtoul(again + 15, NULL, 10) * 1000 : 1000);
	} else {
		if (!f->now->tally.other)
			fprintf(stderr, "bench: %s\n", c->head);
		COUNT(f, other);
		call_again(f, c, 1000);
	}
	if (close)
		conn_close(f, c);
	else
		/* The one just used first, as a pool of connections has it. */
		list_add(f->idle.next, &c->due);
}

static bool take_head(struct conn *c, const char *p, size_t n)
{
	size_t room = HEAD_MOST - c->head_len, part = n < room ? n : room;
	size_t before = c->head_len;
	const char *end, *length;

	memcpy(c->head + c->head_len, p, part);
	c->head_len += part;
	c->head[c->head_len] = '\0';
	end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return c->head_len < HEAD_MOST;
	length = strcasestr(c->head, "\r\nContent-Length: ");
	if (!length || length > end)
		return false;
	c->has_head = true;
	c->left = strtoul(length + 18, NULL, 10) -
		  (n - ((size_t)(end - c->head) + 4 - before));
	return true;
}

static void pull(struct flood *f, struct conn *c)
{
	static char piece[256 << 10];

	while (c->fd >= 0) {
		ssize_t n = recv(c->fd, piece, sizeof(piece), 0);

		if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
			return;
		if (n <= 0 || !c->call) {
			conn_fail(f, c);
			return;
		}
		if (c->has_head) {
			c->left -= (size_t)n;
		} else if (!take_head(c, piece, (size_t)n)) {
			conn_fail(f, c);
			return;
		}
		if (c->has_head && !c->left) {
			finish(f, c);
			return;
		}
	}
}

/* Who has waited for as long as a client waits goes. */
static void give_up(struct flood *f, uint64_t now)
{
	while (!list_empty(&f->busy)) {
		struct conn *c = CONTAINER_OF(f->busy.next, struct conn, due);

		if (c->began + f->deadline_ms * MS > now)
			return;
		COUNT(f, late);
		call_again(f, c, 1000);
		conn_close(f, c);
	}
}

/* Make the calls that are due again. */
static void turn(struct flood *f, uint64_t now)
{
	for (; f->turned < now / MS; f->turned++) {
		struct list *due = &f->wheel[f->turned % WHEEL], *l;

		while ((l = list_pop(due))) {
			f->owed--;
			begin(f, CONTAINER_OF(l, struct call, link),
			      f->turned * MS);
		}
	}
}

/* And the new ones. */
static void pace(struct flood *f, uint64_t now)
{
	double rate = (double)f->now->rate / 1e9;

	if (!f->now->rate) {
		while (f->n_busy < f->kept)
			begin(f, call_new(f), now_ns());
		f->owed = 0;
	} else if (f->owed < rate * -1e8) {
		f->owed = rate * -1e8;
	}
	f->owed += rate * (double)(now - f->paced);
	f->paced = now;
	for (; f->owed >= 1; f->owed--)
		begin(f, call_new(f), now - (uint64_t)((f->owed - 1) / rate));
}

static void print_tally(const char *what, double at, double took,
			const struct flood *f, const struct tally *t)
{
	printf("%s at=%.2f took=%.3f begun=%llu again=%llu unsent=%llu "
	       "good=%llu refused=%llu without=%llu late=%llu failed=%llu "
	       "other=%llu p50=%llu p99=%llu max=%llu no50=%llu no99=%llu "
	       "open=%zu\n",
	       what, at, took, (unsigned long long)t->begun,
	       (unsigned long long)t->again, (unsigned long long)t->unsent,
	       (unsigned long long)t->good, (unsigned long long)t->refused,
	       (unsigned long long)t->without, (unsigned long long)t->late,
	       (unsigned long long)t->failed, (unsigned long long)t->other,
	       (unsigned long long)times_at(&t->good_us, 0.5),
	       (unsigned long long)times_at(&t->good_us, 0.99),
	       (unsigned long long)t->good_us.most,
	       (unsigned long long)times_at(&t->refused_us, 0.5),
	       (unsigned long long)times_at(&t->refused_us, 0.99), f->n_open);
	fflush(stdout);
}

static void end_slice(struct flood *f, uint64_t now)
{
	print_tally("slice", (double)(now - f->began) / 1e9, SLICE_MS / 1e3, f,
		    &f->slice);
	f->slice = (struct tally){0};
}

static void run_phase(struct flood *f, struct phase *phase)
{
	struct epoll_event events[EVENTS];
	uint64_t began = now_ns(), now = began, next = began + SLICE_MS * MS;
	uint64_t ends = began + phase->seconds * 1000 * MS;

	f->now = phase;
	while (now < ends) {
		int n;

		give_up(f, now);
		turn(f, now);
		pace(f, now);
		n = epoll_wait(f->epoll, events, EVENTS, 0);
		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;

			if (c->fd >= 0 && c->call)
				push(c);
			if (c->fd >= 0)
				pull(f, c);
		}
		now = now_ns();
		if (now >= next) {
			end_slice(f, now);
			next += SLICE_MS * MS;
		}
	}
	phase->took = (double)(now - began) / 1e9;
}

static void option(struct flood *f, int letter, const char *value)
{
	switch (letter) {
	case 'p':
		f->port = (unsigned)number(value);
		break;
	case 't':
		f->token = value;
		break;
	case 'c':
		f->n_conns = number(value);
		break;
	case 'k':
		f->kept = number(value);
		break;
	case 'd':
		f->deadline_ms = number(value);
		break;
	case 'g':
		f->percent = (unsigned)number(value);
		break;
	case 'b':
		f->tries = (unsigned)number(value);
		break;
	case 'i':
		f->path = value;
		break;
	default:
		die("see the head of flood.c for the options");
	}
}

static void add_phase(struct flood *f, char *text)
{
	char *colon = strchr(text, ':');
	struct phase *phase = &f->phases[f->n_phases++];

	if (!colon || f->n_phases == PHASES_MOST)
		die("say RATE:SECONDS, not %s", text);
	*colon = '\0';
	phase->rate = strcmp(text, "max") == 0 ? 0 : number(text);
	phase->seconds = number(colon + 1);
}

static void prepare(struct flood *f)
{
	struct conn *conns = calloc(f->n_conns, sizeof(*conns));

	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (f->epoll < 0 || !conns)
		die("no memory");
	list_init(&f->busy);
	list_init(&f->idle);
	list_init(&f->closed);
	for (size_t i = 0; i < f->n_conns; i++) {
		conns[i].fd = -1;
		list_add(&f->closed, &conns[i].due);
	}
	for (size_t i = 0; i < WHEEL; i++)
		list_init(&f->wheel[i]);
	f->began = f->paced = now_ns();
	f->turned = f->began / MS;
}

int main(int argc, char **argv)
{
	static struct flood f = {.n_conns = 4096,
				 .kept = 256,
				 .deadline_ms = 1000,
				 .tries = 3,
				 .token = "none"};
	int letter;

	while ((letter = getopt(argc, argv, "p:t:c:k:d:g:b:i:")) != -1)
		option(&f, letter, optarg);
	argv += optind;
	argc -= optind;
	if (argc < 4)
		die("see the head of flood.c for the arguments");
	f.owners = read_lines(argv[0], &f.n_owners);
	f.paths = read_lines(argv[1], &f.n_paths);
	f.prefix = argv[2];
	for (int i = 3; i < argc; i++)
		add_phase(&f, argv[i]);
	prepare(&f);
	for (size_t i = 0; i < f.n_phases; i++)
		run_phase(&f, &f.phases[i]);
	for (size_t i = 0; i < f.n_phases; i++)
		print_tally("phase", 0, f.phases[i].took, &f,
			    &f.phases[i].tally);
	return 0;
}

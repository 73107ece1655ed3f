#include "cut.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

enum { WIRES_MOST = 64 };

/* Of libvirt's protocol: what sort of packet it is. */
enum { CALL = 0, REPLY = 1, STREAM = 3, HOLE = 6 };
enum { HEADER = 28, PACKET_MOST = 64 << 20 };

struct cut {
	const char *path, *to;
	char away[sizeof(((struct sockaddr_un *)0)->sun_path)];
	pthread_t thread;
	int listener;
	pthread_mutex_t lock; /* of what follows */
	unsigned calls, at;
	bool answered, happened;
	pid_t killed;    /* when it breaks; 0: nobody */
	uint32_t serial; /* of the call whose answer is lost; 0: of none */
	unsigned whose;  /* which connection's that is */
	unsigned connections;
	int wires[WIRES_MOST];
};

/* One direction of a connection. */
struct wire {
	struct cut *cut;
	int from, to;
	unsigned number; /* of the connection */
	bool back;       /* answers */
};

/* What a packet begins with, after its length. */
struct packet {
	char *bytes;
	size_t len;
	uint32_t sort, serial;
};

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, 16) < 0)
		abort();
	return fd;
}

static int connect_to(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool read_all(int fd, char *to, size_t len)
{
	while (len) {
		ssize_t n = read(fd, to, len);

		if (n <= 0)
			return false;
		to += n;
		len -= (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const char *from, size_t len)
{
	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
	}
	return true;
}

static uint32_t word(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return ntohl(n);
}

static bool read_packet(int fd, struct packet *ret)
{
	char head[HEADER];

	if (!read_all(fd, head, sizeof(head)))
		return false;
	ret->len = word(head);
	if (ret->len < HEADER || ret->len > PACKET_MOST)
		return false;
	ret->sort = word(head + 16);
	ret->serial = word(head + 20);
	ret->bytes = xrealloc(ret->bytes, ret->len, 1);
	memcpy(ret->bytes, head, sizeof(head));
	return read_all(fd, ret->bytes + HEADER, ret->len - HEADER);
}

/* With the lock held. */
static void break_it(struct cut *c)
{
	c->happened = true;
	c->at = 0;
	c->serial = 0;
	/* First: it must not come to see that the way is broken. */
	if (c->killed)
		kill(c->killed, SIGKILL);
	rename(c->path, c->away);
	for (size_t i = 0; i < WIRES_MOST; i++)
		if (c->wires[i] >= 0)
			shutdown(c->wires[i], SHUT_RDWR);
}

/* Whether it goes on to the host; breaks the way when it is time. */
static bool passes(struct wire *w, const struct packet *p)
{
	struct cut *c = w->cut;
	bool call = p->sort == CALL;
	bool good = true;

	pthread_mutex_lock(&c->lock);
	if (call || p->sort == STREAM || p->sort == HOLE) {
		c->calls++;
		if (c->calls == c->at && c->answered && call) {
			c->serial = p->serial;
			c->whose = w->number;
		} else if (c->calls == c->at) {
			good = false;
		}
	}
	if (!good)
		break_it(c);
	pthread_mutex_unlock(&c->lock);
	return good;
}

/* Whether an answer goes on to who asked. */
static bool returns(struct wire *w, const struct packet *p)
{
	struct cut *c = w->cut;
	bool good;

	pthread_mutex_lock(&c->lock);
	good = !c->serial || p->sort != REPLY || p->serial != c->serial ||
	       w->number != c->whose;
	if (!good)
		break_it(c);
	pthread_mutex_unlock(&c->lock);
	return good;
}

static void forget(struct cut *c, int fd)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < WIRES_MOST; i++)
		if (c->wires[i] == fd)
			c->wires[i] = -1;
	pthread_mutex_unlock(&c->lock);
}

/* Each direction reads one socket, and closes it: the other is told before. */
static void *carry(void *ctx)
{
	struct wire *w = ctx;
	struct packet p = {0};

	while (read_packet(w->from, &p) &&
	       (w->back ? returns : passes)(w, &p) &&
	       write_all(w->to, p.bytes, p.len))
		;
	shutdown(w->to, SHUT_RDWR);
	forget(w->cut, w->from);
	close(w->from);
	close(w->to);
	free(p.bytes);
	free(w);
	return NULL;
}

static void begin(struct cut *c, int from, int to, bool back)
{
	struct wire *w = xcalloc(1, sizeof(*w));
	pthread_t thread;

	*w = (struct wire){c, from, dup(to), c->connections, back};
	for (size_t i = 0; i < WIRES_MOST; i++)
		if (c->wires[i] < 0) {
			c->wires[i] = from;
			break;
		}
	if (pthread_create(&thread, NULL, carry, w) != 0)
		abort();
	pthread_detach(thread);
}

static void *serve(void *ctx)
{
	struct cut *c = ctx;
	int in;

	while ((in = accept(c->listener, NULL, NULL)) >= 0) {
		int out;

		pthread_mutex_lock(&c->lock);
		out = c->happened ? -1 : connect_to(c->to);
		if (out >= 0) {
			c->connections++;
			begin(c, in, out, false);
			begin(c, out, in, true);
		} else {
			close(in);
		}
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

struct cut *cut_open(const char *path, const char *to)
{
	struct cut *c = xcalloc(1, sizeof(*c));

	c->path = path;
	c->to = to;
	snprintf(c->away, sizeof(c->away), "%s.away", path);
	for (size_t i = 0; i < WIRES_MOST; i++)
		c->wires[i] = -1;
	pthread_mutex_init(&c->lock, NULL);
	c->listener = listen_at(path);
	if (pthread_create(&c->thread, NULL, serve, c) != 0)
		abort();
	return c;
}

/* Whoever is still connected goes on being carried. */
void cut_close(struct cut *c)
{
	shutdown(c->listener, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	close(c->listener);
}

void cut_at(struct cut *c, unsigned nth, bool answered)
{
	pthread_mutex_lock(&c->lock);
	c->calls = 0;
	c->at = nth;
	c->answered = answered;
	pthread_mutex_unlock(&c->lock);
}

void cut_kills(struct cut *c, pid_t pid)
{
	pthread_mutex_lock(&c->lock);
	c->killed = pid;
	pthread_mutex_unlock(&c->lock);
}

bool cut_happened(struct cut *c)
{
	bool happened;

	pthread_mutex_lock(&c->lock);
	happened = c->happened;
	pthread_mutex_unlock(&c->lock);
	return happened;
}

unsigned cut_calls(struct cut *c)
{
	unsigned calls;

	pthread_mutex_lock(&c->lock);
	calls = c->calls;
	pthread_mutex_unlock(&c->lock);
	return calls;
}

void cut_mend(struct cut *c)
{
	pthread_mutex_lock(&c->lock);
	if (c->happened)
		rename(c->away, c->path);
	c->happened = false;
	c->at = 0;
	c->serial = 0;
	pthread_mutex_unlock(&c->lock);
}

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/request_priv.h"

/* Connections taken in one go before others get their turn. */
enum { BATCH = 64, BACKLOG = 1024 };

/* Going through those that have come takes long; and so it does for as much as
 * this to be answered. */
enum { BUSY_MS = 50, MUCH = 16 << 10 };

/* Of those that find no room, one is taken in so many milliseconds, and so many
 * at once after a while; the others wait in the accept queue, where they cost
 * nothing. */
enum { GUEST_MS = 4, GUESTS_AT_ONCE = 64 };

/* Who has waited in the accept queue for so long may have given up. */
enum { QUEUED_MS = 10 };

/* Everyone at one address. */
struct peer {
	unsigned count;
	char key[INET6_ADDRSTRLEN];
};

static void set_option(int fd, int level, int option)
{
	int on = 1;

	(void)setsockopt(fd, level, option, &on, sizeof(on));
}

/* "host:port" or "[host]:port", into HOST and the returned port. */
static const char *split(const char *text, char *host, size_t room)
{
	const char *colon = strrchr(text, ':');
	size_t len;

	if (!colon || !colon[1])
		return NULL;
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		return NULL;
	}
	if (len >= room)
		return NULL;
	memcpy(host, text, len);
	host[len] = '\0';
	return colon + 1;
}

static int bind_to(struct server *s, const struct addrinfo *where,
		   struct err *err)
{
	int fd = socket(where->ai_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s", strerror(errno));
	set_option(fd, SOL_SOCKET, SO_REUSEADDR);
	/* Accepted sockets inherit it. */
	set_option(fd, IPPROTO_TCP, TCP_NODELAY);
	if (bind(fd, where->ai_addr, where->ai_addrlen) ||
	    listen(fd, BACKLOG)) {
		err_set(err, ERR_UNAVAILABLE, "%s", strerror(errno));
		close(fd);
		return -1;
	}
	s->listen_fd = fd;
	return 0;
}

static void name_address(struct server *s)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);
	char host[INET6_ADDRSTRLEN], port[8];

	if (getsockname(s->listen_fd, (struct sockaddr *)&at, &len) ||
	    getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(s->address, sizeof(s->address),
		 at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void on_ready(void *ctx, int events)
{
	(void)events;
	listen_take(ctx);
}

int listen_open(struct server *s, struct err *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE};
	struct addrinfo *where;
	char host[256];
	const char *port = split(s->conf.listen, host, sizeof(host));
	int bad;

	if (!port)
		return err_set(err, ERR_INVALID,
			       "listen: \"%s\" is not host:port",
			       s->conf.listen);
	bad = getaddrinfo(host[0] ? host : NULL, port, &hints, &where);
	if (bad)
		return err_set(err, ERR_INVALID, "listen: %s: %s",
			       s->conf.listen, gai_strerror(bad));
	bad = bind_to(s, where, err);
	freeaddrinfo(where);
	if (bad)
		return err_wrap(err, "cannot listen on %s", s->conf.listen);
	name_address(s);
	s->listen = poller_new(s->loop, s->listen_fd, on_ready, s);
	poller_want(s->listen, POLLER_READ);
	return 0;
}

void listen_close(struct server *s)
{
	if (s->listen_fd < 0)
		return;
	poller_free(s->listen);
	s->listen = NULL;
	close(s->listen_fd);
	s->listen_fd = -1;
}

void listen_pause(struct server *s, bool pause)
{
	s->paused = pause;
	if (s->listen)
		poller_want(s->listen, pause ? 0 : POLLER_READ);
	if (pause)
		timer_set(s->tick, s->tick_ms);
}

/* The address as text; and what its limit is counted by: a client with IPv6
 * has a whole /64 to itself. */
static void name_client(struct conn *c, char key[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in6 *v6 = &c->from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)v6;
	struct in6_addr net;

	if (v6->sin6_family == AF_INET6 &&
	    !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		inet_ntop(AF_INET6, &v6->sin6_addr, c->address,
			  sizeof(c->address));
		net = v6->sin6_addr;
		memset(net.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &net, key, INET6_ADDRSTRLEN);
		return;
	}
	if (v6->sin6_family == AF_INET6)
		inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, c->address,
			  sizeof(c->address));
	else
		inet_ntop(AF_INET, &v4->sin_addr, c->address,
			  sizeof(c->address));
	memcpy(key, c->address, INET6_ADDRSTRLEN);
}

static bool count_peer(struct conn *c, const char *key)
{
	struct server *s = c->server;
	struct peer *p;

	if (!s->conf.max_per_address)
		return true;
	p = map_get(&s->peers, key);
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		memcpy(p->key, key, strlen(key) + 1);
		map_add(&s->peers, p->key, p);
	}
	if (p->count == s->conf.max_per_address)
		return false;
	p->count++;
	c->peer = p;
	return true;
}

static void conn_free(struct conn *c)
{
	struct server *s = c->server;

	if (c->peer && --c->peer->count == 0) {
		map_remove(&s->peers, c->peer->key);
		free(c->peer);
	}
	list_remove(&c->due);
	list_remove(&c->link);
	s->stats.connections--;
	free(c);
	/* A stop waits for the last one. */
	server_poke(s);
}

static void on_plain(void *ctx, int fd)
{
	struct conn *c = ctx;
	struct server *s = c->server;

	c->fd = fd;
	s->adding = c;
	(void)MHD_add_connection(s->mhd, fd, (struct sockaddr *)&c->from,
				 sizeof(c->from));
	s->adding = NULL;
	/* It has closed the descriptor if it could not. */
	if (!c->mhd && !c->tls)
		conn_free(c);
}

static void on_tls_closed(void *ctx)
{
	struct conn *c = ctx;

	c->tls = NULL;
	if (!c->mhd)
		conn_free(c);
}

void conn_notify(void *ctx, struct MHD_Connection *mhd, void **conn,
		 enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;
	struct conn *c;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		s->adding->mhd = mhd;
		*conn = s->adding;
		return;
	}
	c = *conn;
	c->mhd = NULL;
	c->fd = -1;
	conn_due(c, NULL);
	if (!c->tls)
		conn_free(c);
}

void conn_due(struct conn *c, struct list *list)
{
	list_remove(&c->due);
	if (!list)
		return;
	c->since = loop_now(c->server->loop);
	list_add(list, &c->due);
}

void conn_shut(struct conn *c)
{
	conn_due(c, NULL);
	if (!c->mhd)
		tls_link_abort(c->tls);
	else
		shutdown(c->fd, SHUT_RDWR);
}

bool conn_has_ended(const struct conn *c)
{
	char byte;

	return c->mhd && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static const char *status_words(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 408:
		return "Request Timeout";
	case 413:
		return "Content Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Error";
	}
}

/* One try: who does not take a few hundred bytes at once goes without. */
static void send_refusal(struct server *s, int fd, int status, const char *why,
			 const char *id)
{
	struct buf body = BUF_INIT(64 << 10), all = BUF_INIT(128 << 10);
	const char *type;

	server_refusal(s, status, why, &body, &type);
	buf_addf(&all,
		 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n"
		 "Content-Length: %zu\r\nConnection: close\r\n",
		 status, status_words(status), type, body.len);
	if (id)
		buf_addf(&all, "X-Request-Id: %s\r\n", id);
	if (status == 503)
		buf_adds(&all, "Retry-After: 1\r\n");
	buf_adds(&all, "\r\n");
	buf_add(&all, buf_str(&body), body.len);
	(void)send(fd, buf_str(&all), all.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_release(&body);
	buf_release(&all);
}

void conn_refuse(struct conn *c, int status, const char *why)
{
	if (c->mhd && !c->dismissed)
		send_refusal(c->server, c->fd, status, why,
			     c->request ? c->request->id : NULL);
	c->dismissed = true;
	conn_shut(c);
}

void conn_dismiss(struct conn *c, int status, const char *why)
{
	send_refusal(c->server, c->fd, status, why, c->request->id);
	c->dismissed = true;
	/* A link that has nothing more to pass on does not stay for long. */
	if (!c->tls)
		shutdown(c->fd, SHUT_WR);
}

static void turn_away(struct server *s, int fd)
{
	if (s->tls)
		s->stats.refused++;
	else
		send_refusal(s, fd, 503, "too many connections", NULL);
	close(fd);
}

static bool is_full(const struct server *s)
{
	return s->stats.connections >= s->conf.max_connections;
}

/* Many are here, and it takes long to go through them. */
static bool is_slow(const struct server *s, uint64_t turn)
{
	return s->stats.connections >= s->conf.max_working && turn >= BUSY_MS;
}

/* As much is done as should be at a time; and not because nothing moves. */
static bool does_enough(const struct server *s)
{
	return is_slow(s, s->last_ms) ||
	       (s->working >= s->conf.max_working &&
		loop_now(s->loop) < s->worked_ms + s->conf.stuck_ms);
}

static bool has_room(const struct server *s)
{
	return !is_full(s) && !s->crowded_ms;
}

/* Those in the accept queue wait for the turn's end, and for longer when there
 * is no room. */
static bool may_have_left(const struct server *s)
{
	return s->last_ms > QUEUED_MS || !has_room(s);
}

/* Whoever waited in the accept queue may have left: what they sent before is
 * not worth reading. */
static bool has_left(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 &&
	       p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static void take(struct server *s, int fd, const struct sockaddr_in6 *from)
{
	struct conn *c = xcalloc(1, sizeof(*c));
	char key[INET6_ADDRSTRLEN];

	c->server = s;
	c->from = *from;
	c->fresh = true;
	c->guest = !has_room(s);
	c->fd = -1;
	list_init(&c->due);
	list_add(&s->conns, &c->link);
	if (s->stats.connections++ == 0)
		timer_set(s->tick, s->tick_ms);
	name_client(c, key);
	if (!count_peer(c, key)) {
		turn_away(s, fd);
		conn_free(c);
		return;
	}
	s->stats.accepted++;
	conn_due(c, &s->receiving);
	if (s->tls)
		c->tls = tls_accept(s->tls, fd, on_plain, on_tls_closed, c);
	else
		on_plain(c, fd);
}

void listen_note(struct server *s)
{
	uint64_t now = loop_now(s->loop);

	if (does_enough(s)) {
		s->enough_ms = now;
		if (!s->crowded_ms)
			s->crowded_ms = now;
	} else if (now >= s->enough_ms + s->conf.calm_ms) {
		s->crowded_ms = 0;
	}
}

/* Not only for a moment. */
static bool is_crowded(const struct server *s, uint64_t now)
{
	return s->crowded_ms && now > s->crowded_ms + s->conf.crowded_ms;
}

bool listen_sheds(const struct request *r)
{
	const struct server *s = r->server;

	if (!s->crowded_ms)
		return false;
	return r->works ? s->working > s->conf.max_working
			: r->out.len >= MUCH && is_slow(s, server_turn(s));
}

/* Whether one more that finds no room may be taken now. */
static bool may_welcome(struct server *s, uint64_t now)
{
	uint64_t more = (now - s->welcomed_ms) / GUEST_MS;

	if (s->welcome + more >= GUESTS_AT_ONCE) {
		s->welcome = GUESTS_AT_ONCE;
		s->welcomed_ms = now;
	} else {
		s->welcome += (unsigned)more;
		s->welcomed_ms += more * GUEST_MS;
	}
	if (!s->welcome)
		return false;
	s->welcome--;
	return true;
}

/* Whether one more may be taken now; otherwise a little later. */
static bool may_take(struct server *s)
{
	uint64_t now = loop_now(s->loop);

	if (has_room(s) || s->stopping)
		return true;
	if ((is_full(s) || is_crowded(s, now)) && may_welcome(s, now))
		return true;
	poller_want(s->listen, 0);
	timer_set(s->breath, 1);
	return false;
}

void listen_breathed(void *server)
{
	struct server *s = server;

	if (s->listen && !s->paused)
		poller_want(s->listen, POLLER_READ);
}

/* Take FD, or say why not. */
static void welcome(struct server *s, int fd, const struct sockaddr_in6 *from)
{
	if (s->stats.connections >= s->conf.max_connections + SERVER_GUESTS)
		turn_away(s, fd);
	else
		take(s, fd, from);
}

/* Those who have left are many when the queue is long, and soon dealt with:
 * they do not count. */
void listen_take(struct server *s)
{
	int left = 0;

	for (int i = 0; s->stopping || i < BATCH + left; i++) {
		struct sockaddr_in6 from = {0};
		socklen_t len = sizeof(from);
		int fd;

		if (!may_take(s))
			return;
		fd = accept4(s->listen_fd, (struct sockaddr *)&from, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			/* No descriptors, most likely: the queue keeps what it
			 * has until one is free. */
			if (errno != EAGAIN)
				listen_pause(s, true);
			return;
		}
		if (may_have_left(s) && left < BACKLOG && has_left(fd)) {
			close(fd);
			left++;
			s->stats.left++;
			s->welcome++;
			continue;
		}
		welcome(s, fd, &from);
	}
}

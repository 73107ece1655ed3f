#include "http/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/random.h"
#include "http/request_priv.h"
#include "http/websocket.h"

/* How often in a row libmicrohttpd runs before others get their turn, and not
 * again after so long. */
enum { RUNS_MOST = 4, TURN_MS = 10 };

/* While requests are held awake, how soon it runs again although nothing seems
 * to go on: others may be ready that cannot be told from them. */
enum { AWAKE_AGAIN_MS = 1 };

/* How long a stop waits for the first request of a connection that came just
 * before it. */
enum { FRESH_MS = 250 };

void server_poke(struct server *s)
{
	s->dirty = true;
}

uint64_t server_turn(const struct server *s)
{
	return s->ran ? clock_mono(&clock_system) - s->turn_ms : 0;
}

static void run(struct server *s)
{
	if (!s->ran)
		s->turn_ms = clock_mono(&clock_system);
	s->dirty = false;
	s->ran = true;
	s->moved = false;
	MHD_run(s->mhd);
}

static void on_epoll(void *ctx, int events)
{
	(void)events;
	run(ctx);
}

static void on_again(void *ctx)
{
	server_poke(ctx);
}

static bool wants_run(struct server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	/* Those who wait for an answer are always ready for it. */
	if (s->awake && !s->moved)
		return s->dirty;
	return s->dirty || (MHD_get_timeout(s->mhd, &ms) == MHD_YES && ms == 0);
}

/* Idle connections end; one whose next request is already here is left to
 * libmicrohttpd for a turn. */
static void shut_idle(struct server *s)
{
	struct list *next;

	for (struct list *l = s->waiting.next; l != &s->waiting; l = next) {
		struct conn *c = CONTAINER_OF(l, struct conn, due);
		int bytes = 0;

		next = l->next;
		if (ioctl(c->fd, FIONREAD, &bytes) || bytes == 0)
			conn_shut(c);
	}
	if (loop_now(s->loop) < s->fresh_until)
		return;
	for (struct list *l = s->receiving.next; l != &s->receiving; l = next) {
		struct conn *c = CONTAINER_OF(l, struct conn, due);

		next = l->next;
		if (c->fresh)
			conn_shut(c);
	}
}

static void on_grace(void *ctx)
{
	struct server *s = ctx;
	void (*stopped)(void *ctx) = s->stopped;

	s->stopped = NULL;
	if (stopped)
		stopped(s->stopped_ctx);
}

static void stop_step(struct server *s)
{
	shut_idle(s);
	if (list_empty(&s->conns) && s->stopped)
		timer_set(s->grace, 0);
}

/* A resumed connection is not announced by any descriptor: without this it
 * would wait for somebody else's event. */
static void before_sleep(void *ctx)
{
	struct server *s = ctx;

	if (s->stopping)
		stop_step(s);
	for (int runs = 0; (s->ran || s->dirty) && runs < RUNS_MOST &&
			   wants_run(s) && server_turn(s) < TURN_MS;
	     runs++)
		run(s);
	s->last_ms = server_turn(s);
	if (s->ran && wants_run(s))
		timer_set(s->again, 0);
	else if (s->ran && s->awake)
		timer_set(s->again, AWAKE_AGAIN_MS);
	s->ran = false;
	listen_note(s);
}

static void close_late(struct server *s)
{
	uint64_t now = loop_now(s->loop);
	struct conn *c;

	while (!list_empty(&s->waiting)) {
		c = CONTAINER_OF(s->waiting.next, struct conn, due);
		if (c->since + s->conf.idle_ms > now)
			break;
		conn_shut(c);
	}
	while (!list_empty(&s->receiving)) {
		c = CONTAINER_OF(s->receiving.next, struct conn, due);
		if (c->since + s->conf.request_ms > now)
			break;
		/* Without a first line there may be nobody to answer. */
		if (c->request)
			conn_refuse(c, 408,
				    "the request did not arrive in time");
		else
			conn_shut(c);
	}
}

/* libmicrohttpd waits for an edge that does not come when a client's last
 * bytes and its end arrive together.  Such a connection is in the middle of a
 * request, or has just become idle. */
static void close_ended(struct server *s)
{
	uint64_t now = loop_now(s->loop);
	struct list *l, *next;

	for (l = s->receiving.next; l != &s->receiving; l = next) {
		struct conn *c = CONTAINER_OF(l, struct conn, due);

		next = l->next;
		if (conn_has_ended(c))
			conn_shut(c);
	}
	for (l = s->waiting.prev; l != &s->waiting; l = next) {
		struct conn *c = CONTAINER_OF(l, struct conn, due);

		next = l->prev;
		if (c->since + 2 * s->tick_ms < now)
			return;
		if (conn_has_ended(c))
			conn_shut(c);
	}
}

static void on_tick(void *ctx)
{
	struct server *s = ctx;

	close_late(s);
	close_ended(s);
	stream_beat(s);
	if (s->paused)
		listen_pause(s, false);
	/* For libmicrohttpd's own timeout: clients that do not read. */
	server_poke(s);
	if (!list_empty(&s->conns))
		timer_set(s->tick, s->tick_ms);
}

void server_refusal(struct server *s, int status, const char *why,
		    struct buf *body, const char **ret_type)
{
	s->stats.refused++;
	*ret_type = "text/plain";
	if (s->conf.refuse) {
		s->conf.refuse(s->conf.ctx, status, why, body, ret_type);
		return;
	}
	buf_adds(body, why);
	buf_addc(body, '\n');
}

/* The raw target goes to the handler, which decodes it more strictly. */
static size_t keep_escapes(void *ctx, struct MHD_Connection *mhd, char *text)
{
	(void)ctx;
	(void)mhd;
	return strlen(text);
}

static int start_mhd(struct server *s, struct err *err)
{
	/* Stalled replies only, and in seconds: what must be exact is ours. */
	unsigned stall = s->conf.idle_ms / 1000 + 1;
	const union MHD_DaemonInfo *info;

	s->mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
			MHD_USE_NO_LISTEN_SOCKET,
		0, NULL, NULL, request_call, s, MHD_OPTION_CONNECTION_LIMIT,
		s->conf.max_connections + SERVER_GUESTS + 1,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->conf.max_head,
		MHD_OPTION_CONNECTION_TIMEOUT, stall,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_escapes, s, MHD_OPTION_URI_LOG_CALLBACK, request_begin, s,
		MHD_OPTION_NOTIFY_COMPLETED, request_done, s,
		MHD_OPTION_NOTIFY_CONNECTION, conn_notify, s, MHD_OPTION_END);
	if (!s->mhd)
		return err_set(err, ERR_INTERNAL, "libmicrohttpd: no start");
	info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	s->epoll = poller_new(s->loop, info->epoll_fd, on_epoll, s);
	poller_want(s->epoll, POLLER_READ);
	return 0;
}

static unsigned or_else(unsigned value, unsigned otherwise)
{
	return value ? value : otherwise;
}

static void fill_defaults(struct server_conf *c)
{
	c->max_connections = or_else(c->max_connections, 4096);
	c->max_working = or_else(c->max_working, 512);
	c->crowded_ms = or_else(c->crowded_ms, 100);
	c->stuck_ms = or_else(c->stuck_ms, 1000);
	c->calm_ms = or_else(c->calm_ms, 100);
	c->max_body = c->max_body ? c->max_body : (size_t)1 << 20;
	/* libmicrohttpd clears as much for each request: no more than what a
	 * large token needs. */
	c->max_head = c->max_head ? c->max_head : (size_t)12 << 10;
	c->idle_ms = or_else(c->idle_ms, 75 * 1000);
	c->request_ms = or_else(c->request_ms, 30 * 1000);
	c->heartbeat_ms = or_else(c->heartbeat_ms, 15 * 1000);
	c->pace_ms = or_else(c->pace_ms, 20);
}

static uint64_t pick_tick(const struct server_conf *c)
{
	unsigned least = c->request_ms;

	if (c->idle_ms < least)
		least = c->idle_ms;
	if (c->heartbeat_ms < least)
		least = c->heartbeat_ms;
	least /= 8;
	return least < 5 ? 5 : least > 1000 ? 1000 : least;
}

static struct server *make(struct loop *l, const struct server_conf *conf)
{
	struct server *s = xcalloc(1, sizeof(*s));
	unsigned char random[4];

	s->loop = l;
	s->conf = *conf;
	fill_defaults(&s->conf);
	s->listen_fd = -1;
	s->tick_ms = pick_tick(&s->conf);
	list_init(&s->conns);
	list_init(&s->waiting);
	list_init(&s->receiving);
	list_init(&s->held);
	list_init(&s->streams);
	list_init(&s->resting);
	list_init(&s->spare);
	list_init(&s->websockets);
	random_fill(&random_system, random, sizeof(random));
	digest_hex(random, sizeof(random), s->id_prefix);
	s->tick = timer_new(l, on_tick, s);
	s->again = timer_new(l, on_again, s);
	s->pace = timer_new(l, stream_rested, s);
	s->grace = timer_new(l, on_grace, s);
	s->breath = timer_new(l, listen_breathed, s);
	loop_add_hook(l, before_sleep, s);
	return s;
}

int server_start(struct loop *l, const struct server_conf *conf,
		 struct server **out, struct err *err)
{
	struct server *s = make(l, conf);
	struct tls_conf tls = {conf->tls_cert, conf->tls_key,
			       conf->tls_client_ca};

	if ((conf->tls_cert && tls_new(l, &tls, &s->tls, err)) ||
	    start_mhd(s, err) || listen_open(s, err)) {
		server_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

const char *server_address(const struct server *s)
{
	return s->address;
}

int server_reload(struct server *s, struct err *err)
{
	return s->tls ? tls_reload(s->tls, err) : 0;
}

void server_stats(const struct server *s, struct server_stats *ret)
{
	*ret = s->stats;
}

void server_stop(struct server *s, uint64_t grace_ms,
		 void (*stopped)(void *ctx), void *ctx)
{
	struct list *next;

	s->stopping = true;
	s->stopped = stopped;
	s->stopped_ctx = ctx;
	s->fresh_until = loop_now(s->loop) + FRESH_MS;
	timer_set(s->tick, FRESH_MS);
	timer_set(s->grace, grace_ms);
	if (s->listen_fd >= 0)
		listen_take(s);
	listen_close(s);
	for (struct list *l = s->streams.next; l != &s->streams; l = next) {
		next = l->next;
		stream_end(CONTAINER_OF(l, struct request, link));
	}
	for (struct list *l = s->websockets.next; l != &s->websockets;
	     l = next) {
		next = l->next;
		websocket_close(
			CONTAINER_OF(l, struct request, link)->websocket, 1001,
			"the server is stopping");
	}
	server_poke(s);
}

/* Nothing may be left suspended: libmicrohttpd aborts over it. */
static void cut_off(struct server *s)
{
	struct list *l;

	s->dead = true;
	while (!list_empty(&s->held)) {
		l = s->held.next;
		request_orphan(CONTAINER_OF(l, struct request, link));
	}
	for (l = s->streams.next; l != &s->streams; l = l->next)
		stream_doom(CONTAINER_OF(l, struct request, link));
	while (!list_empty(&s->websockets)) {
		l = s->websockets.next;
		websocket_abort(
			CONTAINER_OF(l, struct request, link)->websocket);
	}
	run(s);
	run(s);
	MHD_stop_daemon(s->mhd);
	while (!list_empty(&s->conns)) {
		l = s->conns.next;
		tls_link_abort(CONTAINER_OF(l, struct conn, link)->tls);
	}
}

void server_free(struct server *s)
{
	struct list *l;

	if (!s)
		return;
	loop_remove_hook(s->loop, before_sleep, s);
	listen_close(s);
	poller_free(s->epoll);
	if (s->mhd)
		cut_off(s);
	timer_free(s->tick);
	timer_free(s->again);
	timer_free(s->pace);
	timer_free(s->grace);
	timer_free(s->breath);
	while ((l = list_pop(&s->spare)))
		request_free(CONTAINER_OF(l, struct request, link));
	map_release(&s->peers);
	tls_free(s->tls);
	free(s);
}

#include "http/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/websocket.h"
#include "loop/loop.h"

/* One read of the stream, and so the largest message to the client. */
enum { PIECE = 32 << 10 };

/* The largest message from it; and what can be held of them: one that could
 * not be written, and those that came with it. */
enum { MESSAGE_MOST = 256 << 10, HELD_MOST = MESSAGE_MOST + (64 << 10) };

enum { CODE_DONE = 1000, CODE_REFUSED = 1008, CODE_TOO_LARGE = 1009 };

struct relay {
	struct relay_conf conf;
	struct websocket *socket;
	struct poller *poller; /* of the stream; NULL: it is closed */
	struct timer *timer;
	struct buf held; /* from the client, for the stream */
	uint64_t began, touched;
	struct relay_facts facts;
};

static void want(struct relay *r)
{
	int events = 0;

	if (!r->poller)
		return;
	if (!websocket_is_behind(r->socket))
		events |= POLLER_READ;
	if (r->held.len)
		events |= POLLER_WRITE;
	poller_want(r->poller, events);
}

static void close_stream(struct relay *r)
{
	if (!r->poller)
		return;
	poller_free(r->poller);
	r->poller = NULL;
	close(r->conf.fd);
}

void relay_end(struct relay *r, unsigned code, const char *why)
{
	if (!r->facts.why)
		r->facts.why = why;
	close_stream(r);
	buf_clear(&r->held);
	websocket_close(r->socket, code, why);
}

static void touch(struct relay *r)
{
	r->touched = loop_now(r->conf.loop);
}

/* As much of what is held as the stream takes. */
static void write_held(struct relay *r)
{
	while (r->held.len) {
		ssize_t n = write(r->conf.fd, r->held.data, r->held.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			relay_end(r, CODE_DONE, "the console was closed");
		if (n < 0)
			return;
		touch(r);
		buf_eat(&r->held, (size_t)n);
	}
}

static void read_piece(struct relay *r)
{
	char piece[PIECE];
	ssize_t n = read(r->conf.fd, piece, sizeof(piece));
	struct err err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		relay_end(r, CODE_DONE, "the console was closed");
		return;
	}
	touch(r);
	r->facts.sent += (uint64_t)n;
	if (websocket_send(r->socket, false, piece, (size_t)n, &err) < 0)
		relay_end(r, CODE_REFUSED, "the client does not keep up");
}

static void on_stream(void *ctx, int events)
{
	struct relay *r = ctx;

	if (events & POLLER_WRITE) {
		write_held(r);
		if (r->poller && !r->held.len)
			websocket_pause(r->socket, false);
	}
	if (r->poller && events & POLLER_READ)
		read_piece(r);
	want(r);
}

static void on_message(struct websocket *w, bool text, const char *data,
		       size_t len)
{
	struct relay *r = websocket_ctx(w);

	(void)text;
	if (!r->poller)
		return;
	touch(r);
	r->facts.received += len;
	buf_add(&r->held, data, len);
	if (!buf_ok(&r->held)) {
		relay_end(r, CODE_TOO_LARGE, "more than can be held");
		return;
	}
	write_held(r);
	if (r->poller)
		websocket_pause(w, r->held.len);
	want(r);
}

static void on_drained(struct websocket *w)
{
	want(websocket_ctx(w));
}

static void on_closed(struct websocket *w)
{
	struct relay *r = websocket_ctx(w);

	close_stream(r);
	timer_free(r->timer);
	buf_release(&r->held);
	r->facts.ms = loop_now(r->conf.loop) - r->began;
	if (!r->facts.why)
		r->facts.why = "the client left";
	r->conf.ended(r->conf.ctx, &r->facts);
	free(r);
}

/* When LIMIT, which began at SINCE, is over; the sooner of that and SOONEST. */
static uint64_t sooner(uint64_t soonest, uint64_t since, uint64_t limit)
{
	return limit && since + limit < soonest ? since + limit : soonest;
}

static void set_timer(struct relay *r)
{
	uint64_t now = loop_now(r->conf.loop);
	uint64_t at = sooner(UINT64_MAX, r->touched, r->conf.idle_ms);

	at = sooner(at, r->began, r->conf.total_ms);
	if (at != UINT64_MAX)
		timer_set(r->timer, at > now ? at - now : 0);
}

static void on_timer(void *ctx)
{
	struct relay *r = ctx;
	uint64_t now = loop_now(r->conf.loop);

	if (sooner(UINT64_MAX, r->began, r->conf.total_ms) <= now)
		relay_end(r, CODE_REFUSED,
			  "it was open for as long as one may "
			  "be");
	else if (sooner(UINT64_MAX, r->touched, r->conf.idle_ms) <= now)
		relay_end(r, CODE_REFUSED, "nothing was said for too long");
	else
		set_timer(r);
}

/* What can be waited for, and without blocking from now on. */
static bool make_ready(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat s;

	return fstat(fd, &s) == 0 &&
	       (S_ISSOCK(s.st_mode) || S_ISFIFO(s.st_mode) || isatty(fd)) &&
	       flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

int relay_begin(struct exchange *x, const struct relay_conf *conf,
		struct relay **out, struct err *err)
{
	static const struct websocket_handler handler = {
		.message = on_message,
		.closed = on_closed,
		.drained = on_drained,
		.protocol = "binary",
		.message_most = MESSAGE_MOST,
	};
	struct relay *r;

	if (!make_ready(conf->fd))
		return err_set(err, ERR_PROVIDER,
			       "the provider's stream cannot be relayed");
	r = xcalloc(1, sizeof(*r));
	r->conf = *conf;
	r->held = BUF_INIT(HELD_MOST);
	if (websocket_accept(x, &handler, r, &r->socket, err) < 0) {
		free(r);
		return -1;
	}
	r->began = r->touched = loop_now(conf->loop);
	r->poller = poller_new(conf->loop, conf->fd, on_stream, r);
	r->timer = timer_new(conf->loop, on_timer, r);
	set_timer(r);
	want(r);
	*out = r;
	return 0;
}

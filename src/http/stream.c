#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/request_priv.h"

/*
 * libmicrohttpd pulls: stream_read() is called when the client can take more.
 * With nothing to give, the connection is suspended until stream_wake(), the
 * heartbeat or the pace resumes it.  A stream that was just filled rests for
 * pace_ms, so that many small events go out as few larger ones; one that came
 * back with STREAM_ENOUGH has more, and is filled again without a rest.
 */
#define COMMENT ": \n\n"

/* Feeding a stream takes some 20 us: however many there are, at most a third of
 * the loop's time goes into it, in pieces short enough for others to wait. */
enum { RESUMES_MOST = 32, RESUMES_MS = 2 };

/* What a fill begins with, rather than grow to it by small steps. */
#define FIRST_ROOM ((size_t)16 << 10)

static void rest(struct request *r)
{
	struct server *s = r->server;

	r->filled = loop_now(s->loop);
	if (list_empty(&s->resting))
		timer_set(s->pace, s->conf.pace_ms);
	list_remove(&r->rest);
	list_add(&s->resting, &r->rest);
}

static void resume(struct request *r)
{
	if (!r->suspended)
		return;
	r->suspended = false;
	MHD_resume_connection(r->conn->mhd);
	server_poke(r->server);
}

static void spoke(struct request *r)
{
	struct server *s = r->server;

	r->spoke = loop_now(s->loop);
	r->beat = false;
	list_remove(&r->link);
	list_add(&s->streams, &r->link);
}

static bool may_fill(const struct request *r)
{
	return !r->ending && r->woken &&
	       (list_empty(&r->rest) || r->out.len >= STREAM_ENOUGH);
}

static void fill(struct request *r)
{
	buf_clear(&r->out);
	buf_reserve(&r->out, FIRST_ROOM);
	r->taken = 0;
	r->woken = false;
	rest(r);
	if (!r->source.fill(&r->base, &r->out))
		r->ending = true;
	/* There may be more: it is asked again when this has gone out. */
	if (r->out.len)
		r->woken = true;
}

static ssize_t take(struct request *r, char *to, size_t max)
{
	size_t left = r->out.len - r->taken;
	size_t n = left < max ? left : max;

	memcpy(to, r->out.data + r->taken, n);
	r->taken += n;
	return (ssize_t)n;
}

static void go_quiet(struct request *r)
{
	int on = 1;

	/* libmicrohttpd sent the head with MSG_MORE, and the kernel would keep
	 * it back for what comes next; setting this pushes it out. */
	if (!r->pushed)
		(void)setsockopt(r->conn->fd, IPPROTO_TCP, TCP_NODELAY, &on,
				 sizeof(on));
	r->pushed = true;
	/* An idle stream keeps no buffer. */
	buf_release(&r->out);
	r->taken = 0;
	r->suspended = true;
	MHD_suspend_connection(r->conn->mhd);
}

static ssize_t stream_read(void *ctx, uint64_t pos, char *to, size_t max)
{
	struct request *r = ctx;

	(void)pos;
	r->server->moved = true;
	if (r->doomed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (r->taken == r->out.len && may_fill(r)) {
		fill(r);
		if (r->out.len)
			spoke(r);
	}
	if (r->taken < r->out.len)
		return take(r, to, max);
	if (r->ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (r->beat && max >= sizeof(COMMENT)) {
		spoke(r);
		memcpy(to, COMMENT, sizeof(COMMENT) - 1);
		return sizeof(COMMENT) - 1;
	}
	go_quiet(r);
	return 0;
}

void stream_begin(struct request *r, const struct reply *head,
		  const struct stream_source *source)
{
	struct server *s = r->server;
	/* The block is for clients without chunks only; with them
	 * libmicrohttpd fills what its pool has left. */
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, 128, stream_read, r, NULL);

	if (!response)
		abort(); /* no memory */
	if (head->type)
		answer_header(response, "Content-Type", head->type);
	for (size_t i = 0; i < head->n_headers; i++)
		answer_header(response, head->headers[i].name,
			      head->headers[i].value);
	answer_header(response, "X-Request-Id", r->id);
	answer_header(response, "Connection", "close");
	answer_send(r, (unsigned)head->status, response);
	r->phase = PHASE_STREAM;
	r->source = *source;
	r->out.max = s->conf.max_body + STREAM_ENOUGH;
	r->woken = true;
	r->ending = s->stopping;
	s->stats.streams++;
	spoke(r);
}

void stream_wake(struct request *r)
{
	r->woken = true;
	if (list_empty(&r->rest))
		resume(r);
}

void stream_rested(void *server)
{
	struct server *s = server;
	uint64_t now = loop_now(s->loop);
	int resumed = 0;

	while (!list_empty(&s->resting)) {
		struct request *r =
			CONTAINER_OF(s->resting.next, struct request, rest);
		uint64_t due = r->filled + s->conf.pace_ms;

		if (due <= now && resumed == RESUMES_MOST)
			due = now + RESUMES_MS;
		if (due > now) {
			timer_set(s->pace, due - now);
			return;
		}
		list_remove(&r->rest);
		if (!r->woken)
			continue;
		resume(r);
		resumed++;
	}
}

void stream_beat(struct server *s)
{
	uint64_t now = loop_now(s->loop);

	while (!list_empty(&s->streams)) {
		struct request *r =
			CONTAINER_OF(s->streams.next, struct request, link);

		if (r->spoke + s->conf.heartbeat_ms > now)
			return;
		spoke(r);
		/* One that is not suspended has a client that does not read;
		 * libmicrohttpd's own timeout is for those. */
		if (r->suspended) {
			r->beat = true;
			resume(r);
		}
	}
}

void stream_end(struct request *r)
{
	r->ending = true;
	resume(r);
}

void stream_doom(struct request *r)
{
	r->doomed = true;
	resume(r);
}

void stream_release(struct request *r)
{
	r->server->stats.streams--;
	r->source.gone(&r->base);
}

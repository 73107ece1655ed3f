/*
 * handler - what the server under test does: a few paths that answer in each of
 * the possible ways, and counts for the client's side to wait for.
 */
#pragma once

#include <stdatomic.h>

#include "replies.h"
#include "serving.h"
#include "wait.h"

/* What the handler's side counts, for the client's side to wait for. */
struct counts {
	atomic_int handled, fills, gone, live;
	atomic_int wanted; /* events the stream should have sent */
	struct exchange *held, *stream;
	int sent;
};

static struct counts seen;

static inline void answer(struct exchange *x, int status, const char *body,
			  size_t len)
{
	struct reply r = {.status = status,
			  .type = "text/plain",
			  .body = body,
			  .len = len};

	reply_header(&r, "X-Handled", "yes");
	exchange_reply(x, &r);
}

static inline void answer_held(struct exchange *x)
{
	answer(x, 201, x->body, x->body_len);
}

static inline bool fill(struct exchange *x, struct buf *out)
{
	int wanted = atomic_load(&seen.wanted);

	(void)x;
	atomic_fetch_add(&seen.fills, 1);
	while (seen.sent < wanted && out->len < STREAM_ENOUGH)
		buf_addf(out, "id: %d\n\n", ++seen.sent);
	return seen.sent < 1000000;
}

static inline void gone(struct exchange *x)
{
	(void)x;
	seen.stream = NULL;
	atomic_fetch_sub(&seen.live, 1);
	atomic_fetch_add(&seen.gone, 1);
}

static inline void begin_stream(struct exchange *x)
{
	static const struct stream_source source = {fill, gone};
	struct reply head = {.status = 200, .type = "text/event-stream"};

	seen.stream = x;
	atomic_fetch_add(&seen.live, 1);
	exchange_stream(x, &head, &source);
}

static inline void answer_echo(struct exchange *x)
{
	const char *word = exchange_header(x, "X-Word");
	char *text = arena_printf(x->arena, "%s %s %s %s %.*s", x->method,
				  x->target, x->peer, word ? word : "-",
				  (int)x->body_len, x->body);

	answer(x, 200, text, strlen(text));
}

static inline void handle(void *ctx, struct exchange *x)
{
	(void)ctx;
	if (x->guest)
		answer(x, 503, "no room", 7);
	else if (!strcmp(x->target, "/later"))
		exchange_after(x, 30, answer_held);
	else if (!strcmp(x->target, "/held"))
		seen.held = x;
	else if (!strcmp(x->target, "/stream"))
		begin_stream(x);
	else if (!strcmp(x->target, "/stream-later"))
		exchange_after(x, 10, begin_stream);
	else if (!strcmp(x->target, "/big"))
		answer(x, 200, arena_alloc(x->arena, 3 << 20), 3 << 20);
	else
		answer_echo(x);
	/* Last: who waits for the count may look at what is held. */
	atomic_fetch_add(&seen.handled, 1);
}

static inline void start(struct serving *s)
{
	memset(&seen, 0, sizeof(seen));
	s->conf.handle = handle;
	serving_start(s);
}

#define HOST "Host: x\r\n"
#define GET  "GET / HTTP/1.1\r\n" HOST "\r\n"

static inline void answer_the_held(struct serving *s)
{
	(void)s;
	answer_held(seen.held);
	seen.held = NULL;
}

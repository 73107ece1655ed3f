#include <time.h>

#include "handler.h"
#include "test.h"

static void wake(struct serving *s)
{
	(void)s;
	if (seen.stream)
		exchange_wake(seen.stream);
}

static struct wire open_stream(struct serving *s)
{
	struct wire w = wire_open(s->address);
	struct reply_read r;

	wire_puts(&w, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
	r = reply_head(&w);
	CHECK(r.status == 200);
	CHECK(strstr(buf_str(&r.head), "text/event-stream") != NULL);
	reply_release(&r);
	CHECK(reaches(&seen.live, 1));
	return w;
}

static void streams_are_whole_and_in_order(void)
{
	struct serving s = {0};
	struct reply_read r = {.body = BUF_INIT(64 << 20)};
	struct buf want = BUF_INIT(64 << 20);
	struct wire w;

	start(&s);
	w = open_stream(&s);
	for (int i = 1; i <= 100000; i++) {
		buf_addf(&want, "id: %d\n\n", i);
		if (i % 5000)
			continue;
		atomic_store(&seen.wanted, i);
		serving_do(&s, wake);
		while (r.body.len < want.len)
			if (reply_chunk(&w, &r) <= 0)
				break;
	}
	CHECK(r.body.len == want.len);
	CHECK_STR(buf_str(&r.body), buf_str(&want));
	wire_close(&w);
	buf_release(&r.body);
	buf_release(&want);
	serving_stop(&s, 5000);
	CHECK(seen.gone == 1);
}

static void wakes_are_gathered(void)
{
	struct serving s = {.conf = {.pace_ms = 50}};
	struct timespec began, now;
	struct wire w;
	double ms = 0;
	int most;

	start(&s);
	w = open_stream(&s);
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (int i = 1; ms < 500; i++) {
		/* Never so much that it has to go out at once. */
		atomic_store(&seen.wanted, i < 4000 ? i : 4000);
		serving_do(&s, wake);
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (double)(now.tv_sec - began.tv_sec) * 1e3 +
		     (double)(now.tv_nsec - began.tv_nsec) / 1e6;
	}
	most = (int)(ms / 50) + 3;
	printf("# %.0f ms of wakes: %d fills\n", ms, seen.fills);
	CHECK(seen.fills > 2 && seen.fills <= most);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void quiet_streams_have_a_heartbeat(void)
{
	struct serving s = {.conf = {.heartbeat_ms = 40}};
	struct reply_read r = {.body = BUF_INIT(64 << 10)};
	struct wire w;

	start(&s);
	w = open_stream(&s);
	for (int i = 0; i < 3; i++)
		CHECK(reply_chunk(&w, &r) > 0);
	CHECK_STR(buf_str(&r.body), ": \n\n: \n\n: \n\n");
	buf_release(&r.body);
	/* Which is also how it is noticed that the client left. */
	wire_close(&w);
	CHECK(reaches(&seen.gone, 1));
	CHECK(serving_stats(&s).streams == 0);
	serving_stop(&s, 5000);
	CHECK(seen.gone == 1);
}

static void a_client_that_does_not_read_is_not_filled(void)
{
	struct serving s = {0};
	struct reply_read r = {.body = BUF_INIT(64 << 20)};
	struct wire w;
	int filled;

	start(&s);
	w = open_stream(&s);
	atomic_store(&seen.wanted, 900000);
	serving_do(&s, wake);
	/* It stops by itself, long before it has sent it all. */
	do {
		filled = atomic_load(&seen.fills);
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	} while (filled != atomic_load(&seen.fills));
	printf("# %d fills without a reader\n", filled);
	CHECK(filled < 150);
	while (!strstr(buf_str(&r.body) +
			       (r.body.len > 20 ? r.body.len - 20 : 0),
		       "id: 900000\n\n"))
		if (reply_chunk(&w, &r) <= 0)
			break;
	CHECK(r.body.len ==
	      9 * 7 + 90 * 8 + 900 * 9 + 9000 * 10 + 90000 * 11 + 800001 * 12);
	buf_release(&r.body);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void streams_may_begin_later(void)
{
	struct serving s = {0};
	struct reply_read r;
	struct wire w;

	start(&s);
	atomic_store(&seen.wanted, 1);
	w = wire_open(s.address);
	wire_puts(&w, "GET /stream-later HTTP/1.1\r\n" HOST "\r\n");
	r = reply_head(&w);
	CHECK(r.status == 200);
	CHECK(reply_chunk(&w, &r) > 0);
	CHECK_STR(buf_str(&r.body), "id: 1\n\n");
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.gone == 1);
}

static void near_the_end(struct serving *s)
{
	seen.sent = 999990;
	atomic_store(&seen.wanted, 1000000);
	wake(s);
}

static void streams_may_end(void)
{
	struct serving s = {0};
	struct reply_read r = {.body = BUF_INIT(64 << 20)};
	struct wire w;

	start(&s);
	w = open_stream(&s);
	serving_do(&s, near_the_end);
	while (reply_chunk(&w, &r) > 0)
		;
	CHECK(strstr(buf_str(&r.body), "id: 999991\n") != NULL);
	CHECK(strstr(buf_str(&r.body), "id: 1000000\n\n") != NULL);
	CHECK(wire_ends(&w));
	CHECK(reaches(&seen.gone, 1));
	buf_release(&r.body);
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.gone == 1);
}

static void a_stop_answers_what_is_here(void)
{
	struct serving s = {.grace_ms = 10000};
	struct wire held, stream, idle, queued;
	struct reply_read r = {.body = BUF_INIT(64 << 10)};
	char text[128];

	start(&s);
	idle = wire_open(s.address);
	CHECK(reply_status(&idle, GET) == 200);
	stream = open_stream(&s);
	held = wire_open(s.address);
	wire_puts(&held,
		  "POST /held HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx");
	CHECK(reaches(&seen.handled, 3));
	queued = wire_open(s.address);
	wire_puts(&queued, GET);
	serving_do(&s, serving_begin_stop);
	CHECK(wire_ends(&idle));
	while (reply_chunk(&stream, &r) > 0)
		;
	CHECK(wire_ends(&stream));
	buf_release(&r.body);
	CHECK(reaches(&seen.gone, 1));
	CHECK(reply_status(&queued, "") == 200);
	CHECK(wire_ends(&queued));
	serving_do(&s, answer_the_held);
	r = reply_read(&held);
	CHECK(r.status == 201);
	CHECK_STR(reply_value(&r, "Connection", text), "close");
	reply_release(&r);
	CHECK(wire_ends(&held));
	pthread_join(s.thread, NULL);
	CHECK(seen.gone == 1);
	wire_close(&idle);
	wire_close(&stream);
	wire_close(&held);
	wire_close(&queued);
}

static void a_stop_does_not_wait_for_ever(void)
{
	struct serving s = {0};
	struct exchange *x;
	struct wire held, stream, half;

	start(&s);
	held = wire_open(s.address);
	wire_puts(&held,
		  "POST /held HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx");
	CHECK(reaches(&seen.handled, 1));
	half = wire_open(s.address);
	wire_puts(&half, "POST /half HTTP/1.1\r\n");
	stream = open_stream(&s);
	x = seen.held;
	serving_stop(&s, 50);
	CHECK(seen.gone == 1);
	CHECK(wire_ends(&held));
	CHECK(wire_ends(&half));
	/* The handler still has it, and answers as if nothing had happened. */
	CHECK_STR(x->method, "POST");
	CHECK_STR(x->body, "x");
	CHECK_STR(x->peer, "127.0.0.1");
	CHECK_STR(exchange_header(x, "Host"), "x");
	answer_held(x);
	wire_close(&held);
	wire_close(&half);
	wire_close(&stream);
}

int main(void)
{
	RUN(streams_are_whole_and_in_order);
	RUN(wakes_are_gathered);
	RUN(quiet_streams_have_a_heartbeat);
	RUN(a_client_that_does_not_read_is_not_filled);
	RUN(streams_may_begin_later);
	RUN(streams_may_end);
	RUN(a_stop_answers_what_is_here);
	RUN(a_stop_does_not_wait_for_ever);
	return test_done();
}

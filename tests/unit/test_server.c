#include "http/server.h"

#include "base/mem.h"
#include "handler.h"
#include "test.h"

static void a_request_arrives_and_is_answered(void)
{
	struct serving s = {0};
	struct wire w;
	struct reply_read r;
	char text[128];

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "PUT /a%20b?c=%2F HTTP/1.1\r\n" HOST "X-Word: hey\r\n"
		      "X-Request-Id: my.own-1\r\nContent-Length: 3\r\n\r\nabc");
	r = reply_read(&w);
	CHECK(r.status == 200);
	CHECK_STR(buf_str(&r.body), "PUT /a%20b?c=%2F 127.0.0.1 hey abc");
	CHECK_STR(reply_value(&r, "X-Request-Id", text), "my.own-1");
	CHECK_STR(reply_value(&r, "X-Handled", text), "yes");
	CHECK_STR(reply_value(&r, "Content-Type", text), "text/plain");
	reply_release(&r);
	wire_puts(&w, "GET / HTTP/1.1\r\n" HOST "X-Request-Id: b@d\r\n\r\n");
	r = reply_read(&w);
	CHECK(strlen(reply_value(&r, "X-Request-Id", text)) > 8);
	CHECK(!strstr(text, "b@d"));
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void a_connection_is_used_again(void)
{
	struct serving s = {0};
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	for (int i = 0; i < 100; i++)
		CHECK(reply_status(&w, GET) == 200);
	CHECK(serving_stats(&s).accepted == 1);
	CHECK(serving_stats(&s).connections == 1);
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 100);
}

/* Chunks and trailers are where two readers differ most. */
static void nothing_is_taken_after_chunks(void)
{
	static const char text[] =
		"POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
		"1\r\nz\r\n0\r\n\r\n"
		"GET /2 HTTP/1.1\r\n" HOST "\r\n";
	struct serving s = {0};
	struct reply_read a;
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	wire_write(&w, text, sizeof(text) - 1);
	a = reply_read(&w);
	CHECK_STR(buf_str(&a.body), "POST /1 127.0.0.1 - z");
	CHECK(wire_ends(&w));
	reply_release(&a);
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 1);
}

static void requests_in_a_row_are_answered_in_order(void)
{
	struct serving s = {0};
	struct buf all = BUF_INIT(64 << 10);
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	for (int i = 0; i < 50; i++)
		buf_addf(&all,
			 "POST /%d HTTP/1.1\r\n" HOST
			 "Content-Length: 2\r\n\r\n%02d"
			 "POST /later HTTP/1.1\r\n" HOST
			 "Content-Length: 1\r\n\r\nz",
			 i, i);
	wire_write(&w, all.data, all.len);
	for (int i = 0; i < 50; i++) {
		struct reply_read a = reply_read(&w), b = reply_read(&w);
		char want[64];

		snprintf(want, sizeof(want), "POST /%d 127.0.0.1 - %02d", i, i);
		CHECK_STR(buf_str(&a.body), want);
		CHECK(b.status == 201);
		CHECK_STR(buf_str(&b.body), "z");
		reply_release(&a);
		reply_release(&b);
	}
	buf_release(&all);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void bytes_may_come_one_by_one(void)
{
	static const char text[] =
		"POST /slow HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello";
	struct serving s = {0};
	struct reply_read r;
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		CHECK(wire_write(&w, text + i, 1));
	r = reply_read(&w);
	CHECK_STR(buf_str(&r.body), "POST /slow 127.0.0.1 - hello");
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void a_large_reply_goes_out_whole(void)
{
	struct serving s = {0};
	struct reply_read r;
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	r = reply_read(&w);
	CHECK(r.status == 200 && r.body.len == 3 << 20);
	reply_release(&r);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void head_has_the_length_and_no_body(void)
{
	struct serving s = {0};
	struct reply_read r;
	struct wire w;
	char text[128];

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "HEAD /big HTTP/1.1\r\n" HOST "\r\n" GET);
	r = reply_head(&w);
	CHECK_STR(reply_value(&r, "Content-Length", text), "3145728");
	reply_release(&r);
	r = reply_read(&w);
	CHECK_STR(buf_str(&r.body), "GET / 127.0.0.1 - ");
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
}

struct bad {
	int status;
	const char *request;
	size_t len; /* 0: a string */
};

#define NUL_VALUE "GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n"
#define NUL_LINE  "GET /a\0b HTTP/1.1\r\n" HOST "\r\n"

static const struct bad bad[] = {
	{400, "GET / HTTP/1.1\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
	      "Content-Length: 1\r\n\r\nx"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
	      "Content-Length: 2\r\n\r\nx"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
	      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n"
	      "\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\nx"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\nx"},
	{400, "GET / HTTP/1.1\r\n" HOST "Content-Length : 1\r\n\r\nx"},
	{400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n folded\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n \r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "X: a\nY: b\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "X: a\x01\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" HOST "X(: a\r\n\r\n"},
	{400, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
	{400, "G(T / HTTP/1.1\r\n" HOST "\r\n"},
	{400, NUL_VALUE, sizeof(NUL_VALUE) - 1},
	{400, NUL_LINE, sizeof(NUL_LINE) - 1},
	{413, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1025\r\n\r\n"},
	{413, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1025\r\n"
	      "Expect: 100-continue\r\n\r\n"},
	{417, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
	      "Expect: magic\r\n\r\n"},
	{505, "GET / HTTP/9.9\r\n" HOST "\r\n"},
};

static void heads_that_could_be_read_two_ways_are_refused(void)
{
	struct serving s = {.conf = {.max_body = 1024}};

	start(&s);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct wire w = wire_open(s.address);
		size_t len = bad[i].len ? bad[i].len : strlen(bad[i].request);
		struct reply_read r;

		wire_write(&w, bad[i].request, len);
		r = reply_read(&w);
		if (r.status != bad[i].status)
			printf("# case %zu: %d\n", i, r.status);
		CHECK(r.status == bad[i].status);
		CHECK(wire_ends(&w));
		reply_release(&r);
		wire_close(&w);
	}
	CHECK(serving_stats(&s).refused > 0);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

static void good_heads_pass_the_guard(void)
{
	static const char *const good[] = {
		GET,
		"GET /?a=b&c=d&e HTTP/1.1\r\nhost:x\r\nX:\t a b \r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\n" HOST "Cookie: a=b; c=d\r\nX:\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"DELETE /x HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
		"PATCH /x HTTP/1.1\r\n" HOST
		"Transfer-Encoding: Chunked\r\n\r\n"
		"3;ext=1\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
	};
	struct serving s = {0};

	start(&s);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		CHECK(reply_once(s.address, good[i]) == 200);
	serving_stop(&s, 5000);
}

static void refuse(void *ctx, int status, const char *why, struct buf *body,
		   const char **ret_type)
{
	(void)ctx;
	*ret_type = "application/problem+json";
	buf_addf(body, "{\"status\":%d,\"why\":\"%s\"}", status, why);
}

static void refusals_have_the_callers_body(void)
{
	struct serving s = {.conf = {.refuse = refuse}};
	struct reply_read r;
	struct wire w;
	char text[128];

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "GET / HTTP/1.1\r\n" HOST HOST "\r\n");
	r = reply_read(&w);
	CHECK_STR(buf_str(&r.body),
		  "{\"status\":400,\"why\":\"Host was sent twice\"}");
	CHECK_STR(reply_value(&r, "Content-Type", text),
		  "application/problem+json");
	CHECK(*reply_value(&r, "X-Request-Id", text));
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void chunks_have_a_ceiling_too(void)
{
	struct serving s = {.conf = {.max_body = 1024}};
	struct wire w;
	int status;

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "PUT / HTTP/1.1\r\n" HOST
		      "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 1024; i++)
		wire_puts(&w, "1\r\nx\r\n");
	status = reply_status(&w, "1\r\nx\r\n");
	CHECK(status == 413);
	CHECK(wire_ends(&w));
	wire_close(&w);
	w = wire_open(s.address);
	CHECK(reply_status(&w,
			   "PUT / HTTP/1.1\r\n" HOST "Content-Length: 10\r\n"
			   "Expect: 100-continue\r\n\r\n") == 100);
	CHECK(reply_status(&w, "0123456789") == 200);
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 1);
}

/* Whether all of a body of LEN bytes after HEAD could be sent. */
static bool sends_first(struct wire *w, const char *head, size_t len)
{
	char *body = xcalloc(1, len);
	bool sent = wire_puts(w, head) && wire_write(w, body, len);

	free(body);
	return sent;
}

/* More than the sockets hold: it is sent only if it is read as well. */
static void who_sends_too_much_first_still_reads_why(void)
{
	static const char *const heads[] = {
		"PUT / HTTP/1.1\r\n" HOST "Content-Length: 15000000\r\n\r\n",
		"PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
		"e4e1c0\r\n",
	};
	struct serving s = {.conf = {.max_body = 1024}};

	start(&s);
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		struct wire w = wire_open(s.address);

		CHECK(sends_first(&w, heads[i], 15000000));
		CHECK(reply_status(&w, i ? "\r\n0\r\n\r\n" : "") == 413);
		CHECK(wire_ends(&w));
		wire_close(&w);
	}
	CHECK(drains(&s, 0));
	CHECK(serving_stats(&s).refused == COUNT_OF(heads));
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

static void who_sends_without_end_is_cut_off(void)
{
	struct serving s = {.conf = {.max_body = 1024}};
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	CHECK(!sends_first(&w,
			   "PUT / HTTP/1.1\r\n" HOST
			   "Content-Length: 99999999\r\n\r\n",
			   99999999));
	wire_close(&w);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

/* One answer is enough. */
static void who_is_told_and_sends_no_more_is_given_up(void)
{
	struct serving s = {.conf = {.max_body = 1024, .request_ms = 200}};
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	CHECK(reply_status(&w, "PUT / HTTP/1.1\r\n" HOST
			       "Content-Length: 2000\r\n\r\n01") == 413);
	CHECK(wire_ends(&w));
	CHECK(drains(&s, 0));
	CHECK(serving_stats(&s).refused == 1);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void a_cut_body_never_reaches_the_handler(void)
{
	struct serving s = {0};
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	wire_puts(&w, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\n01");
	shutdown(w.fd, SHUT_WR);
	CHECK(wire_ends(&w));
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

static void slow_senders_are_given_up(void)
{
	struct serving s = {.conf = {.request_ms = 500, .idle_ms = 100000}};
	struct wire head, body, drip, mute;
	struct timespec pause = {.tv_nsec = 10000000};
	bool open = true;

	start(&s);
	head = wire_open(s.address);
	body = wire_open(s.address);
	drip = wire_open(s.address);
	mute = wire_open(s.address);
	wire_puts(&head, "GET / HTTP/1.1\r\n");
	wire_puts(&drip, "GET / HTTP/1.1\r\nX: ");
	CHECK(reply_status(&body, "PUT / HTTP/1.1\r\n" HOST
				  "Content-Length: 10\r\n\r\n01") == 408);
	CHECK(wire_ends(&body));
	CHECK(reply_status(&head, "X: ") == 408);
	CHECK(wire_ends(&mute) && mute.in.len == 0);
	/* Each byte would put off a timeout that counts from the last one. */
	for (int i = 0; open && i < 2000; i++) {
		open = send(drip.fd, "x", 1, MSG_NOSIGNAL) == 1;
		nanosleep(&pause, NULL);
	}
	CHECK(!open);
	wire_close(&head);
	wire_close(&body);
	wire_close(&drip);
	wire_close(&mute);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

static void idle_connections_are_closed(void)
{
	struct serving s = {.conf = {.idle_ms = 100, .request_ms = 100000}};
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	CHECK(reply_status(&w, GET) == 200);
	CHECK(wire_ends(&w));
	CHECK(w.in.len == 0);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void an_address_has_its_limit(void)
{
	struct serving s = {.conf = {.max_per_address = 2}};
	struct wire a, b, c;

	start(&s);
	a = wire_open(s.address);
	b = wire_open(s.address);
	CHECK(reply_status(&a, GET) == 200);
	CHECK(reply_status(&b, GET) == 200);
	c = wire_open(s.address);
	CHECK(reply_status(&c, "") == 503);
	CHECK(wire_ends(&c));
	wire_close(&c);
	wire_close(&a);
	CHECK(drains(&s, 1));
	c = wire_open(s.address);
	CHECK(reply_status(&c, GET) == 200);
	wire_close(&b);
	wire_close(&c);
	serving_stop(&s, 5000);
}

static void all_together_have_theirs(void)
{
	struct serving s = {.conf = {.max_connections = 3}};
	struct wire w[3];

	start(&s);
	for (int i = 0; i < 3; i++) {
		w[i] = wire_open(s.address);
		CHECK(reply_status(&w[i], GET) == 200);
	}
	for (int i = 0; i < 200; i++)
		CHECK(reply_once(s.address, GET) == 503);
	CHECK(serving_stats(&s).refused == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(reply_status(&w[i], GET) == 200);
		wire_close(&w[i]);
	}
	CHECK(drains(&s, 0));
	CHECK(reply_once(s.address, GET) == 200);
	serving_stop(&s, 5000);
}

static void a_reply_may_come_later(void)
{
	struct serving s = {0};
	struct reply_read r;
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	CHECK(reply_status(&w, "POST /later HTTP/1.1\r\n" HOST
			       "Content-Length: 2\r\n\r\nab") == 201);
	wire_puts(&w,
		  "POST /held HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\ncd");
	CHECK(reaches(&seen.handled, 2));
	serving_do(&s, answer_the_held);
	r = reply_read(&w);
	CHECK(r.status == 201);
	CHECK_STR(buf_str(&r.body), "cd");
	reply_release(&r);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void a_client_may_leave_before_its_reply(void)
{
	struct serving s = {0};
	struct wire w;

	start(&s);
	for (int i = 0; i < 20; i++) {
		w = wire_open(s.address);
		wire_puts(&w, "GET /held HTTP/1.1\r\n" HOST "\r\n");
		CHECK(reaches(&seen.handled, i + 1));
		wire_close(&w);
		serving_do(&s, answer_the_held);
	}
	CHECK(drains(&s, 0));
	CHECK(reply_once(s.address, GET) == 200);
	serving_stop(&s, 5000);
}

static void bad_addresses_are_errors(void)
{
	static const char *const bad_listen[] = {
		"x", "127.0.0.1", "127.0.0.1:", "::1:80", "256.1.1.1:80"};
	struct loop *l = loop_new();
	struct server_conf conf = {.handle = handle};
	struct server *s, *t;
	struct err err;

	for (size_t i = 0; i < COUNT_OF(bad_listen); i++) {
		conf.listen = bad_listen[i];
		CHECK(server_start(l, &conf, &s, &err) == -1);
	}
	conf.listen = "127.0.0.1:0";
	CHECK(server_start(l, &conf, &s, &err) == 0);
	conf.listen = server_address(s);
	CHECK(server_start(l, &conf, &t, &err) == -1);
	CHECK(strstr(err.msg, "Address already in use") != NULL);
	server_free(s);
	loop_free(l);
}

int main(void)
{
	RUN(a_request_arrives_and_is_answered);
	RUN(a_connection_is_used_again);
	RUN(requests_in_a_row_are_answered_in_order);
	RUN(nothing_is_taken_after_chunks);
	RUN(bytes_may_come_one_by_one);
	RUN(a_large_reply_goes_out_whole);
	RUN(head_has_the_length_and_no_body);
	RUN(heads_that_could_be_read_two_ways_are_refused);
	RUN(good_heads_pass_the_guard);
	RUN(refusals_have_the_callers_body);
	RUN(chunks_have_a_ceiling_too);
	RUN(who_sends_too_much_first_still_reads_why);
	RUN(who_sends_without_end_is_cut_off);
	RUN(who_is_told_and_sends_no_more_is_given_up);
	RUN(a_cut_body_never_reaches_the_handler);
	RUN(slow_senders_are_given_up);
	RUN(idle_connections_are_closed);
	RUN(an_address_has_its_limit);
	RUN(all_together_have_theirs);
	RUN(a_reply_may_come_later);
	RUN(a_client_may_leave_before_its_reply);
	RUN(bad_addresses_are_errors);
	return test_done();
}

/* Requests that are answered later: soon, after a while, or to nobody. */
#include <sys/resource.h>

#include "handler.h"
#include "test.h"

/* More than are held awake at once. */
enum { MANY = 600 };

static struct exchange *many[MANY];
static atomic_int turns, called;

static void keep(void *ctx, struct exchange *x)
{
	int i = atomic_load(&seen.handled);

	(void)ctx;
	if (!strcmp(x->target, "/"))
		answer(x, 200, "ok", 2);
	else
		many[i % MANY] = x;
	atomic_fetch_add(&seen.handled, 1);
}

static void answer_many(struct serving *s)
{
	(void)s;
	for (size_t i = 0; i < MANY; i++) {
		size_t at = (i * 7) % MANY;

		answer(many[at], 201, many[at]->target,
		       strlen(many[at]->target));
	}
}

static void pass(int ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* What came for a held request is for its own client, whenever it comes, and
 * what that client asks next is answered after it. */
static void check_answer_after(int ms)
{
	struct serving s = {0};
	struct reply_read r;
	struct wire w;

	start(&s);
	w = wire_open(s.address);
	for (int i = 0; i < 3; i++) {
		wire_puts(&w, "POST /held HTTP/1.1\r\n" HOST
			      "Content-Length: 2\r\n\r\ncd");
		CHECK(reaches(&seen.handled, 2 * i + 1));
		wire_puts(&w, GET);
		pass(ms);
		CHECK(atomic_load(&seen.handled) == 2 * i + 1);
		CHECK(reply_once(s.address, GET) == 200);
		atomic_fetch_sub(&seen.handled, 1);
		serving_do(&s, answer_the_held);
		r = reply_read(&w);
		CHECK(r.status == 201);
		CHECK_STR(buf_str(&r.body), "cd");
		reply_release(&r);
		r = reply_read(&w);
		CHECK(r.status == 200);
		reply_release(&r);
	}
	wire_close(&w);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
}

static void an_answer_may_come_soon(void)
{
	check_answer_after(1);
}

static void an_answer_may_come_after_a_while(void)
{
	check_answer_after(100);
}

static void as_many_as_there_are_may_wait(void)
{
	struct serving s = {.conf.handle = keep};
	struct rlimit files;
	struct wire *w = calloc(MANY, sizeof(*w));

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	memset(&seen, 0, sizeof(seen));
	s.conf.max_working = MANY + 1;
	serving_start(&s);
	for (int i = 0; i < MANY; i++) {
		char text[64];

		w[i] = wire_open(s.address);
		snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\n" HOST "\r\n",
			 i);
		wire_puts(&w[i], text);
		CHECK(reaches(&seen.handled, i + 1));
	}
	CHECK(reply_once(s.address, GET) == 200);
	serving_do(&s, answer_many);
	for (int i = 0; i < MANY; i++) {
		struct reply_read r = reply_read(&w[i]);
		char text[16];

		snprintf(text, sizeof(text), "/%d", i);
		CHECK(r.status == 201);
		CHECK_STR(buf_str(&r.body), text);
		reply_release(&r);
		CHECK(reply_status(&w[i], GET) == 200);
		wire_close(&w[i]);
	}
	free(w);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
}

/* The connection is reset: libmicrohttpd says so at once. */
static void leave(struct wire *w)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	wire_close(w);
}

static bool has_word(struct exchange *x)
{
	const char *word = exchange_header(x, "x-word");

	return word && strcmp(word, "yes") == 0;
}

static void look_at_the_held(struct serving *s)
{
	struct exchange *x = seen.held;

	(void)s;
	CHECK_STR(x->method, "POST");
	CHECK_STR(x->target, "/held");
	CHECK_STR(x->body, "cd");
	CHECK_STR(x->peer, "127.0.0.1");
	CHECK(has_word(x));
	CHECK(!exchange_header(x, "X-Other"));
}

static void hold_one(struct serving *s)
{
	struct wire w = wire_open(s->address);
	int before = atomic_load(&seen.handled);

	wire_puts(&w, "POST /held HTTP/1.1\r\n" HOST "X-Word: yes\r\n"
		      "Content-Length: 2\r\n\r\ncd");
	CHECK(reaches(&seen.handled, before + 1));
	leave(&w);
	CHECK(drains(s, 0));
}

/* A transaction that is run again reads the same head as the first time. */
static void what_was_asked_stays_when_its_client_is_gone(void)
{
	struct serving s = {0};

	start(&s);
	for (int i = 0; i < 5; i++) {
		hold_one(&s);
		serving_do(&s, look_at_the_held);
		serving_do(&s, answer_the_held);
	}
	CHECK(reply_once(s.address, GET) == 200);
	serving_stop(&s, 5000);
}

static void answer_called(struct exchange *x)
{
	answer_held(x);
	atomic_fetch_add(&called, 1);
}

static void answer_soon(struct serving *s)
{
	(void)s;
	exchange_after(seen.held, 5, answer_called);
}

static void nobody_s_request_may_wait_for_a_time(void)
{
	struct serving s = {0};

	start(&s);
	hold_one(&s);
	serving_do(&s, answer_soon);
	CHECK(reaches(&called, 1));
	serving_stop(&s, 5000);
}

static void a_server_may_go_before_nobody_s_request_does(void)
{
	struct serving s = {0};
	struct exchange *x;

	start(&s);
	hold_one(&s);
	x = seen.held;
	serving_stop(&s, 5000);
	CHECK(has_word(x));
	exchange_after(x, 5, answer_called);
	answer_held(x);
}

static void count_turn(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&turns, 1);
}

static void count_turns(struct serving *s)
{
	loop_add_hook(s->loop, count_turn, NULL);
}

static void who_waits_keeps_nobody_busy(void)
{
	struct serving s = {0};
	struct wire w;

	start(&s);
	serving_do(&s, count_turns);
	w = wire_open(s.address);
	wire_puts(&w, "GET /held HTTP/1.1\r\n" HOST "\r\n");
	CHECK(reaches(&seen.handled, 1));
	pass(300);
	printf("# %d turns of the loop\n", atomic_load(&turns));
	CHECK(atomic_load(&turns) < 100);
	serving_do(&s, answer_the_held);
	CHECK(wire_await(&w, "201"));
	wire_close(&w);
	serving_stop(&s, 5000);
}

int main(void)
{
	RUN(an_answer_may_come_soon);
	RUN(an_answer_may_come_after_a_while);
	RUN(as_many_as_there_are_may_wait);
	RUN(what_was_asked_stays_when_its_client_is_gone);
	RUN(nobody_s_request_may_wait_for_a_time);
	RUN(a_server_may_go_before_nobody_s_request_does);
	RUN(who_waits_keeps_nobody_busy);
	return test_done();
}

/* More than the server can do: who finds no room, who waits, who has left. */
#include "http/server.h"

#include "handler.h"
#include "test.h"

#define SLOW    "GET /slow HTTP/1.1\r\n" HOST "\r\n"
#define HELD    "GET /held HTTP/1.1\r\n" HOST "\r\n"
#define PATIENT "GET /patient HTTP/1.1\r\n" HOST "\r\n"
#define ALWAYS  "GET /always HTTP/1.1\r\n" HOST "\r\n"

enum { ROOM = 3, SLOW_ONES = 4, IDLE_MOST = SERVER_GUESTS };

struct busy {
	atomic_ulong behind; /* the most that a request was */
	atomic_bool gated;   /* the next waits at the gate */
	atomic_int waits;    /* at the gate */
	sem_t gate;
};

static struct busy busy;

/* Keep the loop from everything else, for a while; and with a gate, until it
 * is opened before that. */
static void answer_slowly(struct exchange *x)
{
	if (atomic_exchange(&busy.gated, false)) {
		atomic_store(&busy.waits, 1);
		sem_wait(&busy.gate);
	}
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	answer_echo(x);
	atomic_fetch_add(&seen.handled, 1);
}

static void wait_patiently(struct exchange *x)
{
	seen.held = x;
	exchange_after(x, 60000, answer_held);
	atomic_fetch_add(&seen.handled, 1);
}

static void handle_busy(void *ctx, struct exchange *x)
{
	if (x->behind_ms > atomic_load(&busy.behind))
		atomic_store(&busy.behind, x->behind_ms);
	if (strcmp(x->target, "/slow") == 0)
		answer_slowly(x);
	else if (strcmp(x->target, "/always") == 0)
		answer_echo(x);
	else if (strcmp(x->target, "/patient") == 0)
		wait_patiently(x);
	else
		handle(ctx, x);
}

static void start_busy(struct serving *s)
{
	memset(&seen, 0, sizeof(seen));
	memset(&busy, 0, sizeof(busy));
	sem_init(&busy.gate, 0, 0);
	s->conf.handle = handle_busy;
	serving_start(s);
}

/* Whoever comes now has one request, and what must always be answered is. */
static void is_a_guest(struct serving *s)
{
	struct wire w = wire_open(s->address);

	CHECK(reply_status(&w, GET) == 503);
	CHECK(wire_ends(&w));
	wire_close(&w);
	w = wire_open(s->address);
	CHECK(reply_status(&w, ALWAYS) == 200);
	CHECK(wire_ends(&w));
	wire_close(&w);
}

static void a_guest_has_one_request(void)
{
	struct serving s = {.conf = {.max_connections = ROOM}};
	struct wire w[ROOM];

	start_busy(&s);
	for (int i = 0; i < ROOM; i++) {
		w[i] = wire_open(s.address);
		CHECK(reply_status(&w[i], GET) == 200);
	}
	is_a_guest(&s);
	for (int i = 0; i < ROOM; i++) {
		CHECK(reply_status(&w[i], GET) == 200);
		wire_close(&w[i]);
	}
	serving_stop(&s, 5000);
}

static void one_more_than_the_guests_is_turned_away(void)
{
	struct serving s = {.conf = {.max_connections = ROOM}};
	struct wire w[ROOM + IDLE_MOST];

	start_busy(&s);
	for (int i = 0; i < ROOM + IDLE_MOST; i++)
		w[i] = wire_open(s.address);
	CHECK(reply_once(s.address, "") == 503);
	CHECK(serving_stats(&s).refused == 1);
	CHECK(serving_stats(&s).connections == ROOM + IDLE_MOST);
	CHECK(reply_status(&w[0], GET) == 200);
	CHECK(reply_status(&w[ROOM], GET) == 503);
	for (int i = 0; i < ROOM + IDLE_MOST; i++)
		wire_close(&w[i]);
	CHECK(drains(&s, 0));
	CHECK(reply_once(s.address, GET) == 200);
	serving_stop(&s, 5000);
}

/* One request is worked on, which is as many as may be. */
static struct wire start_full(struct serving *s, const char *request)
{
	struct wire w;

	s->conf.max_working = 1;
	start_busy(s);
	w = wire_open(s->address);
	wire_puts(&w, request);
	CHECK(reaches(&seen.handled, 1));
	return w;
}

static void end_full(struct serving *s, struct wire *w)
{
	serving_do(s, answer_the_held);
	CHECK(reply_status(w, "") == 201);
	wire_close(w);
	serving_stop(s, 5000);
}

/* Twice: a guest's connection would have ended. */
static void is_let_in(struct serving *s)
{
	struct wire w = wire_open(s->address);

	CHECK(reply_status(&w, GET) == 200);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
}

static void who_comes_to_a_crowd_is_told_so(void)
{
	struct serving s = {.conf = {.crowded_ms = 1, .stuck_ms = 60000}};
	struct wire w = start_full(&s, HELD);

	is_a_guest(&s);
	end_full(&s, &w);
}

static void who_comes_to_a_short_crowd_is_let_in_after_it(void)
{
	struct serving s = {.conf = {.crowded_ms = 60000, .stuck_ms = 60000}};
	struct wire w = start_full(&s, HELD), next = wire_open(s.address);

	wire_puts(&next, GET);
	CHECK(serving_stats(&s).accepted == 1);
	serving_do(&s, answer_the_held);
	CHECK(reply_status(&w, "") == 201);
	CHECK(reply_status(&next, "") == 200);
	CHECK(reply_status(&next, GET) == 200);
	wire_close(&next);
	wire_close(&w);
	serving_stop(&s, 5000);
}

/* Between two batches, say, little is worked on: that is no room. */
static void who_comes_right_after_a_crowd_is_told_so(void)
{
	struct serving s = {
		.conf = {.crowded_ms = 1, .stuck_ms = 60000, .calm_ms = 60000}};
	struct wire w = start_full(&s, HELD);

	serving_do(&s, answer_the_held);
	CHECK(reply_status(&w, "") == 201);
	is_a_guest(&s);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	serving_stop(&s, 5000);
}

/* Two are worked on, and one may be: both are answered, and the first that is
 * has to come again. */
static void who_is_more_than_may_be_has_to_go(void)
{
	struct serving s = {.conf = {.crowded_ms = 60000, .stuck_ms = 60000}};
	struct wire next, w;
	struct exchange *held;

	s.conf.max_working = 1;
	start_busy(&s);
	next = wire_open(s.address);
	CHECK(reply_status(&next, GET) == 200);
	w = wire_open(s.address);
	wire_puts(&w, HELD);
	CHECK(reaches(&seen.handled, 2));
	held = seen.held;
	wire_puts(&next, HELD);
	CHECK(reaches(&seen.handled, 3));
	serving_do(&s, answer_the_held);
	CHECK(reply_status(&next, "") == 201);
	CHECK(wire_ends(&next));
	wire_close(&next);
	seen.held = held;
	serving_do(&s, answer_the_held);
	CHECK(reply_status(&w, "") == 201);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void waiting_for_something_else_is_not_work(void)
{
	struct serving s = {.conf = {.crowded_ms = 1, .stuck_ms = 60000}};
	struct wire w = start_full(&s, PATIENT);

	is_let_in(&s);
	end_full(&s, &w);
}

/* The disk hangs, say: whoever only reads need not. */
static void work_that_is_stuck_keeps_nobody_out(void)
{
	struct serving s = {.conf = {.crowded_ms = 60000, .stuck_ms = 50}};
	struct wire w = start_full(&s, HELD);

	is_let_in(&s);
	end_full(&s, &w);
}

struct crowd {
	struct serving s;
	struct wire first, slow[SLOW_ONES], gone[2];
};

static struct wire join(struct crowd *c)
{
	struct wire w = wire_open(c->s.address);

	CHECK(reply_status(&w, GET) == 200);
	return w;
}

static void leave(struct wire *w)
{
	wire_puts(w, GET);
	wire_close(w);
}

/* While the loop is kept busy by the first, the others come; two of them, one
 * before those that take their time and one after, have left when it looks. */
static void crowd_start(struct crowd *c)
{
	start_busy(&c->s);
	c->first = join(c);
	for (int i = 0; i < 2; i++)
		c->gone[i] = join(c);
	for (int i = 0; i < SLOW_ONES; i++)
		c->slow[i] = join(c);
	CHECK(busy.behind == 0);
	atomic_store(&busy.gated, true);
	wire_puts(&c->first, SLOW);
	CHECK(reaches(&busy.waits, 1));
	leave(&c->gone[0]);
	for (int i = 0; i < SLOW_ONES; i++)
		wire_puts(&c->slow[i], SLOW);
	leave(&c->gone[1]);
	sem_post(&busy.gate);
}

static void crowd_end(struct crowd *c)
{
	CHECK(reply_status(&c->first, "") == 200);
	wire_close(&c->first);
	for (int i = 0; i < SLOW_ONES; i++) {
		CHECK(reply_status(&c->slow[i], "") == 200);
		wire_close(&c->slow[i]);
	}
	CHECK(drains(&c->s, 0));
}

static void who_is_late_twice_is_behind(void)
{
	struct crowd c = {0};

	crowd_start(&c);
	crowd_end(&c);
	CHECK(busy.behind >= 40);
	serving_stop(&c.s, 5000);
}

/* It comes while one is answered slowly, and others are to be after that. */
static void who_comes_when_turns_are_long_is_told_so(void)
{
	struct serving s = {
		.conf = {.crowded_ms = 1, .max_working = SLOW_ONES}};
	struct wire w[SLOW_ONES], guest;

	start_busy(&s);
	for (int i = 0; i < SLOW_ONES; i++) {
		w[i] = wire_open(s.address);
		CHECK(reply_status(&w[i], GET) == 200);
	}
	atomic_store(&busy.gated, true);
	for (int i = 0; i < SLOW_ONES; i++) {
		wire_puts(&w[i], SLOW);
		CHECK(reaches(&busy.waits, 1));
	}
	guest = wire_open(s.address);
	wire_puts(&guest, GET);
	sem_post(&busy.gate);
	CHECK(reply_status(&guest, "") == 503);
	CHECK(wire_ends(&guest));
	wire_close(&guest);
	for (int i = 0; i < SLOW_ONES; i++) {
		CHECK(reply_status(&w[i], "") == 200);
		wire_close(&w[i]);
	}
	serving_stop(&s, 5000);
}

/* They are few: it is slow, and no crowd. */
static void who_comes_to_a_few_slow_ones_is_let_in(void)
{
	struct serving s = {
		.conf = {.crowded_ms = 1, .max_working = SLOW_ONES}};
	struct wire w, next;

	start_busy(&s);
	w = wire_open(s.address);
	atomic_store(&busy.gated, true);
	wire_puts(&w, SLOW SLOW SLOW SLOW);
	CHECK(reaches(&busy.waits, 1));
	next = wire_open(s.address);
	wire_puts(&next, GET);
	sem_post(&busy.gate);
	for (int i = 0; i < SLOW_ONES; i++)
		CHECK(reply_status(&w, "") == 200);
	CHECK(reply_status(&next, "") == 200);
	CHECK(reply_status(&next, GET) == 200);
	wire_close(&next);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void wait_at_gate(struct post *p)
{
	(void)p;
	atomic_store(&busy.waits, 1);
	sem_wait(&busy.gate);
}

/* Two come at once, after a time in which the server did not look. */
static void being_late_once_is_not_being_behind(void)
{
	struct post hiccup = {.fn = wait_at_gate};
	struct serving s = {0};
	struct wire w[2];

	start_busy(&s);
	for (int i = 0; i < 2; i++) {
		w[i] = wire_open(s.address);
		CHECK(reply_status(&w[i], GET) == 200);
	}
	list_init(&hiccup.link);
	loop_post(s.loop, &hiccup);
	CHECK(reaches(&busy.waits, 1));
	for (int i = 0; i < 2; i++)
		wire_puts(&w[i], SLOW);
	sem_post(&busy.gate);
	for (int i = 0; i < 2; i++) {
		CHECK(reply_status(&w[i], "") == 200);
		wire_close(&w[i]);
	}
	CHECK(busy.behind < 40);
	serving_stop(&s, 5000);
}

static void nothing_is_done_for_who_has_left(void)
{
	struct crowd c = {0};
	uint64_t left;

	crowd_start(&c);
	crowd_end(&c);
	left = serving_stats(&c.s).left;
	CHECK(left >= 1);
	CHECK((uint64_t)seen.handled + left ==
	      3 + SLOW_ONES + 1 + SLOW_ONES + 2);
	serving_stop(&c.s, 5000);
}

/* No turn is long, but a crowd is: for half a second nobody is let in. */
static void nothing_is_done_for_who_left_the_queue(void)
{
	struct serving s = {.conf = {.crowded_ms = 500, .stuck_ms = 60000}};
	struct wire w = start_full(&s, HELD), gone = wire_open(s.address);

	leave(&gone);
	is_a_guest(&s);
	CHECK(serving_stats(&s).left == 1);
	end_full(&s, &w);
}

int main(void)
{
	RUN(a_guest_has_one_request);
	RUN(one_more_than_the_guests_is_turned_away);
	RUN(who_comes_to_a_crowd_is_told_so);
	RUN(who_comes_to_a_short_crowd_is_let_in_after_it);
	RUN(who_comes_right_after_a_crowd_is_told_so);
	RUN(who_is_more_than_may_be_has_to_go);
	RUN(waiting_for_something_else_is_not_work);
	RUN(work_that_is_stuck_keeps_nobody_out);
	RUN(who_comes_when_turns_are_long_is_told_so);
	RUN(who_comes_to_a_few_slow_ones_is_let_in);
	RUN(being_late_once_is_not_being_behind);
	RUN(who_is_late_twice_is_behind);
	RUN(nothing_is_done_for_who_has_left);
	RUN(nothing_is_done_for_who_left_the_queue);
	return test_done();
}

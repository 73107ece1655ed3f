#include "loop/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "test.h"

struct note {
	struct loop *loop;
	struct timer *timer;
	struct poller *poller;
	struct signals *signals;
	int fds[2];
	int count, last, events, hooks;
};

struct numbered {
	struct post post;
	struct note *note;
	int number;
};

static void stop(void *ctx)
{
	struct note *n = ctx;

	n->count++;
	loop_stop(n->loop);
}

static void a_timer_fires_once_for_each_set(void)
{
	struct note n = {.loop = loop_new()};
	uint64_t before = loop_now(n.loop);

	n.timer = timer_new(n.loop, stop, &n);
	timer_set(n.timer, 30);
	loop_run(n.loop);
	CHECK(n.count == 1);
	CHECK(loop_now(n.loop) - before >= 30);
	timer_set(n.timer, 1);
	loop_run(n.loop);
	CHECK(n.count == 2);
	timer_free(n.timer);
	loop_free(n.loop);
}

static void never(void *ctx)
{
	struct note *n = ctx;

	n->last = -1;
}

static void a_stopped_or_freed_timer_does_not_fire(void)
{
	struct note n = {.loop = loop_new()};
	struct timer *stopped = timer_new(n.loop, never, &n);
	struct timer *freed = timer_new(n.loop, never, &n);

	n.timer = timer_new(n.loop, stop, &n);
	timer_set(stopped, 1);
	timer_set(freed, 1);
	timer_set(n.timer, 20);
	timer_stop(stopped);
	timer_free(freed);
	timer_free(NULL);
	loop_run(n.loop);
	CHECK(n.last == 0);
	timer_free(stopped);
	timer_free(n.timer);
	loop_free(n.loop);
}

static void count_post(struct post *p)
{
	struct numbered *m = CONTAINER_OF(p, struct numbered, post);
	struct note *n = m->note;

	if (m->number == n->last + 1)
		n->count++;
	n->last = m->number;
	if (m->number == 1000)
		loop_stop(n->loop);
	free(m);
}

static void *post_thousand(void *ctx)
{
	struct note *n = ctx;

	for (int i = 1; i <= 1000; i++) {
		struct numbered *m = xcalloc(1, sizeof(*m));

		m->note = n;
		m->number = i;
		m->post.fn = count_post;
		loop_post(n->loop, &m->post);
	}
	return NULL;
}

static void posts_from_another_thread_run_in_order(void)
{
	struct note n = {.loop = loop_new()};
	pthread_t thread;

	pthread_create(&thread, NULL, post_thousand, &n);
	loop_run(n.loop);
	pthread_join(thread, NULL);
	CHECK(n.count == 1000);
	loop_free(n.loop);
}

static void posts_before_a_stop_are_still_run(void)
{
	struct note n = {.loop = loop_new()};
	struct numbered *m = xcalloc(1, sizeof(*m));

	m->note = &n;
	m->number = 1;
	m->post.fn = count_post;
	loop_stop(n.loop);
	loop_post(n.loop, &m->post);
	loop_run(n.loop);
	CHECK(n.count == 1);
	loop_free(n.loop);
}

static void a_post_that_was_taken_back_is_not_run(void)
{
	struct note n = {.loop = loop_new()};
	struct numbered m = {.note = &n, .number = 1, .post.fn = count_post};

	list_init(&m.post.link);
	loop_unpost(n.loop, &m.post);
	loop_post(n.loop, &m.post);
	loop_unpost(n.loop, &m.post);
	loop_stop(n.loop);
	loop_run(n.loop);
	CHECK(n.count == 0);
	loop_free(n.loop);
}

static void hook(void *ctx)
{
	struct note *n = ctx;

	n->hooks++;
}

static void hooks_run_before_each_sleep(void)
{
	struct note n = {.loop = loop_new()};
	int seen;

	n.timer = timer_new(n.loop, stop, &n);
	loop_add_hook(n.loop, hook, &n);
	timer_set(n.timer, 5);
	loop_run(n.loop);
	seen = n.hooks;
	CHECK(seen > 0);
	loop_remove_hook(n.loop, hook, &n);
	timer_set(n.timer, 5);
	loop_run(n.loop);
	CHECK(n.hooks == seen);
	timer_free(n.timer);
	loop_free(n.loop);
}

static void on_events(void *ctx, int events)
{
	struct note *n = ctx;

	n->events = events;
	stop(n);
}

static void a_poller_tells_what_was_wanted(void)
{
	struct note n = {.loop = loop_new()};

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, n.fds));
	n.poller = poller_new(n.loop, n.fds[0], on_events, &n);
	poller_want(n.poller, POLLER_WRITE);
	loop_run(n.loop);
	CHECK(n.events == POLLER_WRITE);
	poller_want(n.poller, POLLER_READ);
	CHECK(write(n.fds[1], "x", 1) == 1);
	loop_run(n.loop);
	CHECK(n.events == POLLER_READ);
	poller_want(n.poller, 0);
	n.timer = timer_new(n.loop, stop, &n);
	n.events = 0;
	timer_set(n.timer, 10);
	loop_run(n.loop);
	CHECK(n.events == 0);
	poller_want(n.poller, POLLER_READ | POLLER_WRITE);
	close(n.fds[1]);
	loop_run(n.loop);
	CHECK(n.events & POLLER_READ);
	poller_free(n.poller);
	timer_free(n.timer);
	close(n.fds[0]);
	loop_free(n.loop);
}

static void on_error(void *ctx, int events)
{
	struct note *n = ctx;

	n->events = events;
	n->count++;
	/* Wanting nothing holds, even after an error. */
	if (n->last)
		poller_want(n->poller, n->last - 1);
}

/* A socket whose other end was closed with bytes unread is in error. */
static void an_error_shows_as_what_was_wanted(void)
{
	struct note n = {.loop = loop_new()};

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, n.fds));
	CHECK(write(n.fds[0], "x", 1) == 1);
	close(n.fds[1]);
	n.poller = poller_new(n.loop, n.fds[0], on_error, &n);
	n.timer = timer_new(n.loop, stop, &n);
	n.last = 1;
	poller_want(n.poller, POLLER_READ);
	timer_set(n.timer, 20);
	loop_run(n.loop);
	CHECK(n.events == POLLER_READ);
	CHECK(n.count == 2); /* one of which is the timer's */
	n.last = 0;
	n.count = 0;
	poller_want(n.poller, POLLER_READ);
	timer_set(n.timer, 20);
	loop_run(n.loop);
	CHECK(n.count > 2);
	poller_free(n.poller);
	timer_free(n.timer);
	close(n.fds[0]);
	loop_free(n.loop);
}

static void signals_reach_the_loop(void)
{
	struct note n = {.loop = loop_new()};

	n.signals = signals_new(n.loop, SIGUSR1, stop, &n);
	CHECK(!raise(SIGUSR1));
	loop_run(n.loop);
	CHECK(n.count == 1);
	signals_free(n.signals);
	loop_free(n.loop);
}

int main(void)
{
	RUN(a_timer_fires_once_for_each_set);
	RUN(a_stopped_or_freed_timer_does_not_fire);
	RUN(posts_from_another_thread_run_in_order);
	RUN(posts_before_a_stop_are_still_run);
	RUN(a_post_that_was_taken_back_is_not_run);
	RUN(hooks_run_before_each_sleep);
	RUN(a_poller_tells_what_was_wanted);
	RUN(an_error_shows_as_what_was_wanted);
	RUN(signals_reach_the_loop);
	return test_done();
}

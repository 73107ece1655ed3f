#include "loop/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test.h"

enum { JOBS = 200 };

struct tally {
	struct loop *loop;
	int done, in_order;
	atomic_int started;
};

struct sum {
	struct job job;
	struct tally *tally;
	int number, square;
};

static void square(struct job *j)
{
	struct sum *s = CONTAINER_OF(j, struct sum, job);

	s->square = s->number * s->number;
}

static void count(struct job *j)
{
	struct sum *s = CONTAINER_OF(j, struct sum, job);
	struct tally *t = s->tally;

	CHECK(s->square == s->number * s->number);
	t->in_order += s->number == t->done;
	if (++t->done == JOBS)
		loop_stop(t->loop);
	free(s);
}

static void give(struct pool *p, struct tally *t)
{
	for (int i = 0; i < JOBS; i++) {
		struct sum *s = xcalloc(1, sizeof(*s));

		s->tally = t;
		s->number = i;
		s->job.run = square;
		s->job.done = count;
		pool_run(p, &s->job);
	}
}

static void one_thread_ends_jobs_in_order(void)
{
	struct tally t = {.loop = loop_new()};
	struct pool *p = pool_new(t.loop, 1);

	give(p, &t);
	loop_run(t.loop);
	CHECK(t.done == JOBS && t.in_order == JOBS);
	pool_free(p);
	loop_free(t.loop);
}

static void many_threads_end_them_all(void)
{
	struct tally t = {.loop = loop_new()};
	struct pool *p = pool_new(t.loop, 4);

	give(p, &t);
	loop_run(t.loop);
	CHECK(t.done == JOBS);
	pool_free(p);
	loop_free(t.loop);
}

static void freeing_waits_for_what_was_given(void)
{
	struct tally t = {.loop = loop_new()};
	struct pool *p = pool_new(t.loop, 2);

	give(p, &t);
	pool_free(p);
	CHECK(t.done == 0);
	loop_stop(t.loop);
	loop_run(t.loop);
	CHECK(t.done == JOBS);
	loop_free(t.loop);
	pool_free(NULL);
}

/* Ends only once another job runs beside it. */
static void meet(struct job *j)
{
	struct sum *s = CONTAINER_OF(j, struct sum, job);

	atomic_fetch_add(&s->tally->started, 1);
	while (atomic_load(&s->tally->started) < 2)
		;
}

static void met(struct job *j)
{
	struct sum *s = CONTAINER_OF(j, struct sum, job);

	if (++s->tally->done == 2)
		loop_stop(s->tally->loop);
}

static void two_threads_work_at_once(void)
{
	struct tally t = {.loop = loop_new()};
	struct pool *p = pool_new(t.loop, 2);
	struct sum a = {.tally = &t, .job = {.run = meet, .done = met}};
	struct sum b = {.tally = &t, .job = {.run = meet, .done = met}};

	pool_run(p, &a.job);
	pool_run(p, &b.job);
	loop_run(t.loop);
	CHECK(t.done == 2);
	pool_free(p);
	loop_free(t.loop);
}

int main(void)
{
	RUN(one_thread_ends_jobs_in_order);
	RUN(many_threads_end_them_all);
	RUN(freeing_waits_for_what_was_given);
	RUN(two_threads_work_at_once);
	return test_done();
}

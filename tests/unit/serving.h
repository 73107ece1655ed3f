/*
 * serving - the server's end of a test: a loop and a server on a thread of
 * their own, so that the test itself is a straight line of client's bytes.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "http/server.h"
#include "loop/loop.h"
#include "wire.h"

struct serving {
	struct server_conf conf;
	struct loop *loop;
	struct server *server;
	pthread_t thread;
	sem_t ready;
	struct err err;
	bool failed;
	uint64_t grace_ms;
	struct server_stats stats;
	char address[64];
};

struct serving_call {
	struct post post;
	void (*fn)(struct serving *s);
	struct serving *serving;
	sem_t done;
};

static inline void serving_stopped(void *ctx)
{
	struct serving *s = ctx;

	loop_stop(s->loop);
}

static inline void *serving_main(void *ctx)
{
	struct serving *s = ctx;

	s->loop = loop_new();
	s->failed = server_start(s->loop, &s->conf, &s->server, &s->err) != 0;
	if (!s->failed)
		snprintf(s->address, sizeof(s->address), "%s",
			 server_address(s->server));
	sem_post(&s->ready);
	if (!s->failed)
		loop_run(s->loop);
	server_free(s->server);
	loop_free(s->loop);
	return NULL;
}

/* S->conf is filled in. */
static inline void serving_start(struct serving *s)
{
	if (!s->conf.listen)
		s->conf.listen = "127.0.0.1:0";
	sem_init(&s->ready, 0, 0);
	pthread_create(&s->thread, NULL, serving_main, s);
	sem_wait(&s->ready);
	if (s->failed)
		printf("# server_start: %s\n", s->err.msg);
}

static inline void serving_run_call(struct post *p)
{
	struct serving_call *c = CONTAINER_OF(p, struct serving_call, post);

	c->fn(c->serving);
	sem_post(&c->done);
}

/* Run FN on the loop's thread, and wait for it. */
static inline void serving_do(struct serving *s, void (*fn)(struct serving *s))
{
	struct serving_call c = {.fn = fn, .serving = s};

	c.post.fn = serving_run_call;
	sem_init(&c.done, 0, 0);
	loop_post(s->loop, &c.post);
	sem_wait(&c.done);
	sem_destroy(&c.done);
}

static inline void serving_begin_stop(struct serving *s)
{
	server_stop(s->server, s->grace_ms, serving_stopped, s);
}

/* Stop within GRACE_MS, and wait for the end of it all. */
static inline void serving_stop(struct serving *s, uint64_t grace_ms)
{
	s->grace_ms = grace_ms;
	serving_do(s, serving_begin_stop);
	pthread_join(s->thread, NULL);
	sem_destroy(&s->ready);
}

static inline void serving_take_stats(struct serving *s)
{
	server_stats(s->server, &s->stats);
}

static inline struct server_stats serving_stats(struct serving *s)
{
	serving_do(s, serving_take_stats);
	return s->stats;
}

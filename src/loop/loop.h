/*
 * loop - the event loop: a thin face on libuv.
 *
 * One thread runs the loop and owns everything that hangs on it; all of these
 * are for that thread only, but for loop_post().  What is freed is unhooked at
 * once, so that no call comes after it; its memory goes when libuv lets go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct loop;
struct timer;
struct poller;
struct signals;

struct loop *loop_new(void);

/* Everything that hangs on it must have been freed; what was posted is run. */
void loop_free(struct loop *l);

/* Until loop_stop(); posts that came before it are still run. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Milliseconds on the monotonic clock, read once a turn: free to ask. */
uint64_t loop_now(const struct loop *l);

/* Call FN before each sleep.  At most four hooks; taken back with the same
 * FN and CTX. */
void loop_add_hook(struct loop *l, void (*fn)(void *ctx), void *ctx);
void loop_remove_hook(struct loop *l, void (*fn)(void *ctx), void *ctx);

/* Have FN(post) called on the loop's thread, in order.  Any thread may post;
 * the post must live until then. */
struct post {
	struct list link;
	void (*fn)(struct post *p);
};

void loop_post(struct loop *l, struct post *p);

/* Take a post back that may be on its way: it is not run any more.  One that was
 * never posted must have had its link set up by list_init(). */
void loop_unpost(struct loop *l, struct post *p);

/* A timer fires once for each timer_set(). */
struct timer *timer_new(struct loop *l, void (*fn)(void *ctx), void *ctx);
void timer_set(struct timer *t, uint64_t ms);
void timer_stop(struct timer *t);
void timer_free(struct timer *t); /* NULL is fine */

/* POLLER_GONE: the other side has closed, for who does not read meanwhile. */
enum { POLLER_READ = 1, POLLER_WRITE = 2, POLLER_GONE = 4 };

/* FN is told which of the wanted events came (an error or a hang-up shows as
 * all of those wanted).  Wants nothing at first. */
struct poller *poller_new(struct loop *l, int fd,
			  void (*fn)(void *ctx, int events), void *ctx);
void poller_want(struct poller *p, int events);
void poller_free(struct poller *p); /* does not close the fd */

struct signals *signals_new(struct loop *l, int signo, void (*fn)(void *ctx),
			    void *ctx);
void signals_free(struct signals *s);

#include "loop/loop.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"

enum { HOOKS_MOST = 4 };

/* Descriptors that are held while libuv opens its own, and those of them that
 * are held for ever. */
enum { HELD = 48, LOW = 10 };

struct hook {
	void (*fn)(void *ctx); /* NULL: free */
	void *ctx;
};

struct loop {
	uv_loop_t uv;
	uv_async_t async;
	uv_prepare_t prepare;
	struct hook hooks[HOOKS_MOST];
	pthread_mutex_t mutex;
	struct list posts; /* under mutex */
};

struct timer {
	uv_timer_t uv;
	void (*fn)(void *ctx); /* NULL: freed */
	void *ctx;
};

struct poller {
	uv_poll_t uv;
	void (*fn)(void *ctx, int events); /* NULL: freed */
	void *ctx;
	int wanted;
	bool stopped; /* by libuv, for an error */
};

struct signals {
	uv_signal_t uv;
	void (*fn)(void *ctx);
	void *ctx;
};

static void run_posts(struct loop *l)
{
	struct list mine, *link;

	list_init(&mine);
	pthread_mutex_lock(&l->mutex);
	while ((link = list_pop(&l->posts)))
		list_add(&mine, link);
	pthread_mutex_unlock(&l->mutex);
	while ((link = list_pop(&mine))) {
		struct post *p = CONTAINER_OF(link, struct post, link);

		p->fn(p);
	}
}

static void on_async(uv_async_t *a)
{
	run_posts(a->data);
}

static void on_prepare(uv_prepare_t *p)
{
	struct loop *l = p->data;

	for (size_t i = 0; i < HOOKS_MOST; i++)
		if (l->hooks[i].fn)
			l->hooks[i].fn(l->hooks[i].ctx);
}

/*
 * In every child of this process libuv closes a pipe of its own by its number,
 * even when the child has closed it long ago.  A child of libvirt's closes all
 * that it has, opens others under the lowest numbers, forks again, and would
 * lose those.  So the lowest numbers are never libuv's, nor free for it.
 */
static int init(uv_loop_t *uv)
{
	int held[HELD], r;

	for (int i = 0; i < HELD; i++)
		held[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = uv_loop_init(uv);
	for (int i = 0; i < HELD; i++)
		if (held[i] >= LOW)
			close(held[i]);
	return r;
}

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));
	int bad = init(&l->uv);

	bad |= uv_async_init(&l->uv, &l->async, on_async);
	bad |= uv_prepare_init(&l->uv, &l->prepare);
	bad |= uv_prepare_start(&l->prepare, on_prepare);
	/* Without an epoll and an event descriptor there is no program. */
	if (bad)
		abort();
	l->async.data = l;
	l->prepare.data = l;
	pthread_mutex_init(&l->mutex, NULL);
	list_init(&l->posts);
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	/* Whoever was closed while its job ran waits for this to go. */
	run_posts(l);
	uv_close((uv_handle_t *)&l->async, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
	/* Only closing is left: this lets libuv let go of it all. */
	while (uv_run(&l->uv, UV_RUN_NOWAIT))
		;
	if (uv_loop_close(&l->uv))
		abort();
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

void loop_run(struct loop *l)
{
	uv_run(&l->uv, UV_RUN_DEFAULT);
	run_posts(l);
}

void loop_stop(struct loop *l)
{
	uv_stop(&l->uv);
}

uint64_t loop_now(const struct loop *l)
{
	return uv_now(&l->uv);
}

void loop_add_hook(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	for (size_t i = 0; i < HOOKS_MOST; i++) {
		if (l->hooks[i].fn)
			continue;
		l->hooks[i] = (struct hook){fn, ctx};
		return;
	}
	assert(!"a fifth hook");
}

void loop_remove_hook(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	const struct hook old = {fn, ctx};

	for (size_t i = 0; i < HOOKS_MOST; i++)
		if (l->hooks[i].fn == old.fn && l->hooks[i].ctx == old.ctx)
			l->hooks[i] = (struct hook){0};
}

void loop_post(struct loop *l, struct post *p)
{
	bool first;

	pthread_mutex_lock(&l->mutex);
	first = list_empty(&l->posts);
	list_add(&l->posts, &p->link);
	/* Sent under the lock, so that the loop's thread cannot free the loop
	 * between the two. */
	if (first)
		uv_async_send(&l->async);
	pthread_mutex_unlock(&l->mutex);
}

void loop_unpost(struct loop *l, struct post *p)
{
	pthread_mutex_lock(&l->mutex);
	list_remove(&p->link);
	pthread_mutex_unlock(&l->mutex);
}

static void on_timer(uv_timer_t *uv)
{
	struct timer *t = uv->data;

	if (t->fn)
		t->fn(t->ctx);
}

static void free_handle(uv_handle_t *uv)
{
	free(uv->data);
}

struct timer *timer_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct timer *t = xcalloc(1, sizeof(*t));

	t->fn = fn;
	t->ctx = ctx;
	t->uv.data = t;
	uv_timer_init(&l->uv, &t->uv);
	return t;
}

void timer_set(struct timer *t, uint64_t ms)
{
	uv_timer_start(&t->uv, on_timer, ms, 0);
}

void timer_stop(struct timer *t)
{
	uv_timer_stop(&t->uv);
}

void timer_free(struct timer *t)
{
	if (!t)
		return;
	t->fn = NULL;
	uv_close((uv_handle_t *)&t->uv, free_handle);
}

static void on_poll(uv_poll_t *uv, int status, int events)
{
	struct poller *p = uv->data;
	int wanted = p->wanted;

	if (!p->fn)
		return;
	if (status == 0) {
		/* The bits are the same: asserted in poller_new(). */
		p->fn(p->ctx, events & wanted);
		return;
	}
	/* libuv has stopped the handle; whoever reads or writes now learns
	 * what is wrong. */
	p->stopped = true;
	p->fn(p->ctx, wanted);
	if (p->fn && p->stopped)
		poller_want(p, p->wanted);
}

struct poller *poller_new(struct loop *l, int fd,
			  void (*fn)(void *ctx, int events), void *ctx)
{
	struct poller *p = xcalloc(1, sizeof(*p));

	static_assert((int)POLLER_READ == (int)UV_READABLE, "the same bits");
	static_assert((int)POLLER_WRITE == (int)UV_WRITABLE, "the same bits");
	static_assert((int)POLLER_GONE == (int)UV_DISCONNECT, "the same bits");
	p->fn = fn;
	p->ctx = ctx;
	p->uv.data = p;
	if (uv_poll_init(&l->uv, &p->uv, fd))
		abort(); /* not a descriptor that can be waited for */
	return p;
}

void poller_want(struct poller *p, int events)
{
	if (events == p->wanted && !p->stopped)
		return;
	p->wanted = events;
	p->stopped = false;
	if (events)
		uv_poll_start(&p->uv, events, on_poll);
	else
		uv_poll_stop(&p->uv);
}

void poller_free(struct poller *p)
{
	if (!p)
		return;
	p->fn = NULL;
	uv_close((uv_handle_t *)&p->uv, free_handle);
}

static void on_signal(uv_signal_t *uv, int signo)
{
	struct signals *s = uv->data;

	(void)signo;
	if (s->fn)
		s->fn(s->ctx);
}

struct signals *signals_new(struct loop *l, int signo, void (*fn)(void *ctx),
			    void *ctx)
{
	struct signals *s = xcalloc(1, sizeof(*s));

	s->fn = fn;
	s->ctx = ctx;
	s->uv.data = s;
	uv_signal_init(&l->uv, &s->uv);
	if (uv_signal_start(&s->uv, on_signal, signo))
		abort(); /* no such signal */
	return s;
}

void signals_free(struct signals *s)
{
	if (!s)
		return;
	s->fn = NULL;
	uv_close((uv_handle_t *)&s->uv, free_handle);
}

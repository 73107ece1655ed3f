#include "provider/libvirt/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/embed.h"

/* A connection attempt cannot be called off: it goes on in a thread of its own,
 * and is nobody's when that took too long. */
enum { OPEN_SECONDS = 10, KEEPALIVE_SECONDS = 5, KEEPALIVE_TIMES = 3 };

struct attempt {
	pthread_mutex_t lock;
	pthread_cond_t ended_now;
	char *uri;
	bool ended, left; /* whoever is second frees it */
	virConnectPtr conn;
	struct err err;
};

static void attempt_free(struct attempt *t)
{
	host_drop(&t->conn);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->ended_now);
	free(t->uri);
	free(t);
}

static void *try_it(void *ctx)
{
	const struct host nobody = {.name = "there"};
	struct attempt *t = ctx;
	virConnectPtr conn = virConnectOpen(t->uri);
	struct err err = {0};
	bool left;

	if (!conn)
		host_err(&nobody, "connect", &err);
	pthread_mutex_lock(&t->lock);
	t->conn = conn;
	t->err = err;
	t->ended = true;
	left = t->left;
	pthread_cond_signal(&t->ended_now);
	pthread_mutex_unlock(&t->lock);
	if (left)
		attempt_free(t);
	return NULL;
}

static struct attempt *attempt_begin(const char *uri)
{
	struct attempt *t = xcalloc(1, sizeof(*t));
	pthread_condattr_t steady;
	pthread_t thread;

	t->uri = xstrdup(uri);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ended_now, &steady);
	pthread_condattr_destroy(&steady);
	if (pthread_create(&thread, NULL, try_it, t) != 0) {
		attempt_free(t);
		return NULL;
	}
	pthread_detach(thread);
	return t;
}

static int attempt_wait(const struct host *h, struct attempt *t,
			virConnectPtr *ret, struct err *err)
{
	uint64_t until = clock_mono(&clock_system) + OPEN_SECONDS * 1000;
	struct timespec at = {.tv_sec = (time_t)(until / 1000),
			      .tv_nsec = (long)(until % 1000) * 1000000};
	bool ended;

	pthread_mutex_lock(&t->lock);
	while (!t->ended &&
	       pthread_cond_timedwait(&t->ended_now, &t->lock, &at) == 0)
		;
	ended = t->ended;
	t->left = true;
	if (ended) {
		*ret = t->conn;
		*err = t->err;
		t->conn = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	if (!ended)
		return err_set(err, ERR_UNAVAILABLE,
			       "host %s: no answer within %d s", h->name,
			       OPEN_SECONDS);
	attempt_free(t);
	return *ret ? 0 : -1;
}

static int open_within(const struct host *h, virConnectPtr *ret,
		       struct err *err)
{
	struct attempt *t = attempt_begin(h->uri);
	struct err why = {0};

	if (!t)
		return err_set(err, ERR_UNAVAILABLE, "host %s: no thread",
			       h->name);
	if (attempt_wait(h, t, ret, &why) == 0)
		return 0;
	*err = why;
	if (why.provider_msg[0])
		snprintf(err->msg, sizeof(err->msg), "host %s: %s", h->name,
			 why.provider_msg);
	/* Whatever it is, the next try may find it otherwise. */
	err->code = ERR_UNAVAILABLE;
	err->retry = ERR_RETRY_LATER;
	return -1;
}

int connect_open(const struct host *h, virConnectPtr *ret, struct err *err)
{
	/* In our own process: it ends, and may take its time to find out what
	 * QEMU can. */
	if (h->embedded || h->fake) {
		*ret = virConnectOpen(h->uri);
		if (*ret && h->embedded)
			embed_sweep(h);
		if (*ret)
			return 0;
		host_err(h, "use the libvirt in this process", err);
		err->code = ERR_UNAVAILABLE;
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	if (open_within(h, ret, err) < 0)
		return -1;
	virConnectSetKeepAlive(*ret, KEEPALIVE_SECONDS, KEEPALIVE_TIMES);
	return 0;
}

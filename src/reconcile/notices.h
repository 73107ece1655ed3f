/*
 * notices - what a provider says has happened to its machines, on its way to
 * the engine.
 *
 * Any thread adds, the engine's takes.  A machine that is named twice is one
 * notice; there are so many at most, and when there would be more all of the
 * provider's machines are meant.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { NOTICES_MOST = 128, NOTICE_LEN = 127 };

struct notices {
	pthread_mutex_t lock;
	/* Called by whoever adds the first after all were taken. */
	void (*ring)(void *ctx);
	void *ctx;
	char (*machines)[NOTICE_LEN + 1]; /* NULL until there is one */
	size_t n;
	bool all;
};

void notices_init(struct notices *n, void (*ring)(void *ctx), void *ctx);
void notices_release(struct notices *n);

/* NOTICES is a struct notices, MACHINE the provider's id: see
 * provider_conf.changed. */
void notices_add(void *notices, const char *machine);

/* FN is called with each machine, or once with NULL: all of them. */
void notices_take(struct notices *n, void (*fn)(void *ctx, const char *machine),
		  void *ctx);

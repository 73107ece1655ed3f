/*
 * webserver - a web server of one file, that can be told to misbehave; for tests
 * of what is fetched.  One connection at a time, in a thread.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct webserver {
	int fd;
	pthread_t thread;
	char url[64];
	const char *body;
	size_t len;
	/* What is changed while the thread may yet be at the last answer. */
	_Atomic(const char *) etag; /* or NULL: it tells none */
	_Atomic(const char *) head; /* sent instead of a true one; or NULL */
	atomic_bool endless;        /* it begins again whenever it ends */
	atomic_size_t cut;          /* end once after so many bytes; 0: not */
	atomic_size_t hold; /* stand still after so many bytes; 0: not */
	atomic_size_t from; /* where the last request began */
	atomic_bool over;
};

void webserver_start(struct webserver *w, const char *body, size_t len);
void webserver_stop(struct webserver *w);

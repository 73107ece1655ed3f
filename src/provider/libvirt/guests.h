/*
 * guests - whether the guests of machines that run are up.
 *
 * One is when the agent in it answers, or the SSH server at its address sends
 * its first line.  That takes as long as it takes: a thread of its own asks
 * again and again, of many at a time, and who wants to know is told what was
 * last found out.  One that is up is asked now and then; when it does not answer
 * several times in a row it is not up any more.
 *
 * Any thread may call; nothing here waits but guests_free(), and that not long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct guests;

struct guests_conf {
	/* The guest's agent answers; may take a second or two.  NULL: there are
	 * none. */
	bool (*ping)(void *ctx, const char *machine);
	/* What is known of it is another; may be NULL. */
	void (*changed)(void *ctx, const char *machine);
	void *ctx;
	/* Between two tries, of those that are not up and of those that are, and
	 * how long one may take; 0: as is good for machines. */
	uint32_t wait_ms, check_ms, try_ms;
};

struct guest_target {
	const char *machine; /* its id */
	int run;             /* which run of it: another one begins anew */
	/* Where its SSH server would be; NULL: it is not reached from here. */
	const char *address;
	int64_t port;
	/* It is there if anything is: no answer is an answer.  Otherwise a
	 * machine of which nothing was ever heard is one that cannot be asked. */
	bool certain;
};

struct guests *guests_new(const struct guests_conf *conf);
void guests_free(struct guests *r); /* NULL is fine */

/* What is known of it (enum ready), with how or what is missing in words that
 * stay; it is looked after from now on, until nobody has asked for long. */
int guests_look(struct guests *r, const struct guest_target *t,
		const char **ret_why);

/* It boots again, or is gone: nothing is known of it any more. */
void guests_forget(struct guests *r, const char *machine);

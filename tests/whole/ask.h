/*
 * ask - one request of a client, which comes to the handlers as an exchange
 * like one of the real server's.
 */
#pragma once

#include "base/list.h"
#include "http/exchange.h"
#include "judge.h"

struct rig;

struct ask {
	struct exchange x; /* first: an exchange is cast to its ask */
	struct arena arena;
	struct rig *rig;
	struct list link;
	char target[320], body[1400], key[40], last_id[32];
	struct header headers[8];
	size_t n_headers;
	char request_id[24];
	long request;
	long op;          /* its number in what it writes; -1: it says none */
	bool repeats;     /* it was asked before */
	unsigned asked;   /* the judge's number of it */
	uint64_t started; /* the newest durable revision when it was asked */

	int status; /* 0: not answered */
	char *reply;
	size_t len;

	const struct stream_source *source; /* of a stream */
	unsigned stream;                    /* which */
	bool woken;
	void (*timer)(struct exchange *x);
	uint64_t timer_at;
};

struct ask *ask_new(struct rig *r, const char *method);
void ask_header(struct ask *a, const char *name, const char *value);
void ask_send(struct ask *a); /* hand it to the API */
void ask_free(struct ask *a);

/* As the judge is told of it. */
struct verdict_ask ask_verdict(const struct ask *a);

/* Pull what a stream has to say into a->reply; false when it has ended. */
bool ask_pull(struct ask *a);
void ask_leave(struct ask *a); /* the client of a stream does */

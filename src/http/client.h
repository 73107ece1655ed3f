/*
 * client - HTTP calls, by libcurl.  Blocking: for the command line and for
 * worker threads.  A client keeps its connection between calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct client;

struct client_conf {
	const char *server;  /* "http://127.0.0.1:7070" */
	const char *token;   /* bearer token, or NULL */
	const char *ca_file; /* PEM; NULL: the system's */
	unsigned timeout_ms; /* a whole call; 0: 60 s */
	size_t body_most;    /* bytes of an answer; 0: 64 MiB */
	const char *agent;   /* User-Agent */
	const char *act_as;  /* Muster-Act-As, or NULL */
};

struct client_call {
	const char *method, *target;
	const char *body; /* or NULL */
	size_t len;
	const char *content_type, *accept;                      /* or NULL */
	const char *if_match, *idempotency_key, *last_event_id; /* or NULL */

	/* When set, a 2xx body goes here as it comes, not into the result, and
	 * there is no timeout.  False ends the call, which then succeeds. */
	bool (*data)(void *ctx, const char *bytes, size_t len);
	void *ctx;
};

struct client_result {
	int status;
	char type[64];
	char request_id[65];
	struct buf body;
};

int client_new(const struct client_conf *conf, struct client **out,
	       struct err *err);
void client_free(struct client *c);

/* 0 when a reply came, whatever its status; ERR_UNAVAILABLE when the server
 * cannot be reached, ERR_TIMEOUT when it does not answer in time. */
int client_call(struct client *c, const struct client_call *call,
		struct client_result *ret, struct err *err) MUST_CHECK;
void client_result_release(struct client_result *r);

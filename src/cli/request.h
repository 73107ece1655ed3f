/*
 * request - the API's calls, as the commands need them.
 *
 * JSON goes out and comes in as trees in the cli's arena; a refusal becomes a
 * failure.  The connection is made by the first call and kept.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/kind.h"

struct request {
	const char *method, *target; /* "/v1/projects" */
	const struct node *body;     /* or NULL */
	const char *content_type;    /* NULL: application/json */
	const char *if_match;        /* a revision, or NULL */
};

/* A POST carries a key of its own, and is sent again with it when the
 * connection was lost: it is done once however often it arrives.  *RET is NULL
 * when the reply had no body. */
int request_send(struct cli *c, const struct request *r, struct node **ret,
		 struct failure *p) MUST_CHECK;

/* GET. */
int request_get(struct cli *c, const char *target, struct node **ret,
		struct failure *p) MUST_CHECK;

/* Every item of a list, page after page, but at most MOST (0: all) of them, as
 * an array.  QUERY is a run of "&word=value". */
int request_list(struct cli *c, const struct kind *k, const char *query,
		 size_t most, struct node **ret, struct failure *p) MUST_CHECK;

/* Where a stream goes: false ends it.  DATA may make other requests. */
struct request_sink {
	bool (*data)(void *ctx, const char *bytes, size_t len);
	void *ctx;
};

/* An event stream, until its end or the sink's.  AFTER is the last event's id,
 * or NULL. */
int request_stream(struct cli *c, const char *target, const char *after,
		   const struct request_sink *sink,
		   struct failure *p) MUST_CHECK;

/* A connection for whoever makes calls by itself; its to free. */
int request_connect(struct cli *c, struct client **ret,
		    struct failure *p) MUST_CHECK;

/* What an answer says: its JSON in *RET (or NULL), a refusal in P. */
struct client_result;
int request_reply(struct cli *c, const struct client_result *r,
		  struct node **ret, struct failure *p) MUST_CHECK;

/* How long to wait before the N-th (from 0) new attempt, in milliseconds. */
uint64_t request_pause(const struct cli *c, unsigned n);

/* Sleep before the N-th (from 0) new attempt: doubling, with jitter. */
void request_back_off(const struct cli *c, unsigned n);

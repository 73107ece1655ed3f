/*
 * call - one request on its way through the API.
 *
 * Lives in its exchange's arena.  A handler answers it once; see exchange.h.
 */
#pragma once

#include <stdbool.h>

#include "api/api.h"
#include "api/rate.h"
#include "base/field_ops.h"
#include "base/list.h"
#include "http/uri.h"
#include "identity/access.h"
#include "identity/token.h"
#include "model/kind.h"
#include "store/read.h"
#include "store/store.h"

enum { STATUS_CLASSES = 6 };

struct api {
	struct api_conf conf;
	struct rate callers, strangers, refusals;
	struct access *access;
	struct buf openapi;
	struct list waits;   /* long polls */
	struct list held;    /* calls whose callers are not known yet, and those
			      * whose refusals wait: see admit.h */
	struct list asking;  /* questions to providers: see live.h */
	struct list unheard; /* those that nobody waits for any more */
	struct consoles *consoles;
	size_t streams; /* watches and long polls */
	bool draining;
	uint64_t calls[STATUS_CLASSES], shed, limited;
	uint64_t in_flight;
	uint64_t next_refusal; /* in parts of a millisecond: see admit.c */
	uint64_t told_ms, told_shed;
	uint64_t paced_ms,
		paced_at; /* when it was measured, at which revision */
	uint64_t written_per_s;
};

struct asking;
struct route;
struct noun;
struct wait;

struct call {
	struct api *api;
	struct exchange *x;
	struct uri uri;
	const struct route *route;
	const struct noun *noun;
	const char *id;
	const struct principal *who;
	struct node *body;
	bool plan, stream;
	const char *shed;   /* why it is refused, when it is for the load */
	struct list held;   /* in the API's, or alone */
	uint64_t held_from; /* when that began; 0: it did not */

	/* A change under way. */
	struct txn txn;
	void *object; /* as asked for, then as written, until that is over */
	struct owner owner; /* whose that was to be */
	const char *of;     /* what a verb makes the object of */
	int (*make)(struct call *c, struct tx *tx, void *object,
		    struct err *err); /* in place of the noun's create() */
	const char *key, *digest;
	char new_id[37];
	uint64_t revision;       /* what the answer shows */
	bool replayed, accepted; /* done before; begun, and not done yet */
	const char *secret;      /* shown with the answer, and never again */
	const char *planned;     /* what is answered instead: the plan's body */
	const char *plan_json;   /* the noun's own plan, for that */

	struct wait *wait;     /* a long poll under way */
	struct asking *asking; /* a question under way: see live.h */
};

/* Answer with the problem that ERR is. */
void call_fail(struct call *c, const struct err *err);

/* Answer with JSON; ETAG is a revision, or 0 for none. */
void call_reply(struct call *c, int status, const char *json, size_t len,
		uint64_t etag);
void call_reply_with(struct call *c, struct reply *r);

/* Answer with the object R, as far as the caller is shown it. */
void call_show(struct call *c, const struct record *r);

/* Find out again who is calling and what they may do: time has passed. */
int call_renew(struct call *c, struct err *err) MUST_CHECK;

/* Run FN, a change, and answer with the call's object as it then is. */
void call_change(struct call *c,
		 int (*fn)(struct tx *tx, void *ctx, struct err *err));

/* Who did ACTION to object ID, for the audit trail. */
void call_audit(struct call *c, struct tx *tx, const char *action,
		const char *id);

/* The words of a problem body. */
void problem_write(const struct err *err, int status, const char *request,
		   struct buf *out);
int problem_status(enum err_code code);

/* The precondition that the request brings about revision HAVE. */
int call_check_match(struct call *c, uint64_t have, struct err *err);

/* TAGS, as If-None-Match has them, name the revision HAVE. */
bool call_matches(const char *tags, uint64_t have);

const char *call_arg(const struct call *c, const char *word);

/* A query word as a number from LEAST to MOST; FALLBACK when it is absent. */
int call_number(const struct call *c, const char *word, uint64_t least,
		uint64_t most, uint64_t *ret, struct err *err);

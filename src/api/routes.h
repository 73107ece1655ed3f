/* routes - the table of what the API answers to. */
#pragma once

#include "api/call.h"
#include "api/noun.h"

enum {
	ROUTE_FILTERS = 1 << 0, /* a list, filtered by fields, or a watch */
	ROUTE_PROBE = 1 << 1,
	ROUTE_LINES = 1 << 2, /* may be answered with lines of JSON */
	ROUTE_BODY_OPTIONAL = 1 << 3,
	ROUTE_SECRET = 1 << 4,  /* what it gives is kept by nobody on the way,
				* and who asked is told, refused or not */
	ROUTE_UPGRADE = 1 << 5, /* becomes a WebSocket: 101 */
};

/* What a caller needs.  A row without one does not compile: see ROUTE(). */
enum need {
	NEED_UNSAID,
	NEED_NOTHING, /* not even a token */
	NEED_TICKET,  /* a secret in its address: see consoles.h */
	NEED_CALLER,  /* any token */
	NEED_VERB,    /* from here on: that verb, on the noun */
	NEED_READ = NEED_VERB + VERB_READ,
	NEED_CREATE = NEED_VERB + VERB_CREATE,
	NEED_UPDATE = NEED_VERB + VERB_UPDATE,
	NEED_DELETE = NEED_VERB + VERB_DELETE,
	NEED_ROTATE = NEED_VERB + VERB_ROTATE,
	NEED_START = NEED_VERB + VERB_START,
	NEED_STOP = NEED_VERB + VERB_STOP,
	NEED_REBOOT = NEED_VERB + VERB_REBOOT,
	NEED_REBUILD = NEED_VERB + VERB_REBUILD,
	NEED_SNAPSHOT = NEED_VERB + VERB_SNAPSHOT,
	NEED_CONSOLE = NEED_VERB + VERB_CONSOLE,
	NEED_CONSOLE_OUTPUT = NEED_VERB + VERB_CONSOLE_OUTPUT,
	NEED_SSH_CERTIFICATE = NEED_VERB + VERB_SSH_CERTIFICATE,
	NEED_SSH_KEY = NEED_VERB + VERB_SSH_KEY,
	NEED_SYNC = NEED_VERB + VERB_SYNC,
};

struct route {
	const char *method;
	const char *path; /* "/v1/{noun}/{id}" */
	enum need need;
	const char *const *query;    /* words it takes, ended by NULL */
	const char *const *consumes; /* content types, ended by NULL */
	const char *summary;
	void (*handle)(struct call *c);
	unsigned flags;
	const struct field *takes;   /* its body, when that is not the noun's */
	const struct kind *gives;    /* the object in its answer, likewise */
	const struct field *answers; /* or what else it answers with */
};

#define ROUTE(method, path, what, query, consumes, summary, handle, ...)       \
	{                                                                      \
		method, path,                                                  \
			(enum need)(sizeof(char[(what) ? 1 : -1]) * (what)),   \
			query, consumes, summary, handle, __VA_ARGS__          \
	}

extern const struct route routes[];

/* The route of METHOD and URI; fills the call's noun and id.  ERR_NOT_FOUND, or
 * ERR_METHOD with the methods that would do in ALLOW. */
int route_find(struct call *c, const char *method, struct buf *allow,
	       struct err *err);

/* What a caller must be permitted for R, whose need is a verb's. */
enum verb route_verb(const struct route *r);

/* Objects of K take R: what is read-only is only read. */
bool route_has(const struct route *r, const struct kind *k);

/* The words that R takes besides its own when it is about noun N; or NULL. */
const char *const *route_words(const struct route *r, const struct noun *n);

/* The handlers. */
void handle_list(struct call *c);
void handle_events(struct call *c);
void handle_watch(struct call *c);
void handle_wait(struct call *c, const struct record *now);
void handle_get(struct call *c);
void handle_create(struct call *c);
void handle_replace(struct call *c);
void handle_patch(struct call *c);
void handle_delete(struct call *c);
void handle_health(struct call *c);
void handle_ready(struct call *c);
void handle_metrics(struct call *c);
void handle_version(struct call *c);
void handle_login(struct call *c);
void handle_whoami(struct call *c);
void handle_openapi(struct call *c);

/* The OpenAPI document of all routes and nouns. */
void openapi_write(const char *version, struct buf *out);

/* End every long poll now. */
void wait_end_all(struct api *api);

/* Answer everyone who waits for a provider now; and let go of what was asked,
 * once no answer can come any more. */
void live_end_all(struct api *api);
void live_forget_all(struct api *api);

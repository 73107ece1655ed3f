/*
 * world - a server in one thread: the real API handlers and the real store,
 * on a disk in memory, a clock that is stepped and a seeded schedule.
 *
 * An ask is one request of a client.  It comes to the handlers as an exchange,
 * like one of the real server's.
 */
#pragma once

#include "api/api.h"
#include "base/clock.h"
#include "base/random.h"
#include "http/exchange.h"
#include "model.h"
#include "store/memory.h"
#include "store/store.h"

struct world;

enum ask_kind {
	ASK_CREATE,
	ASK_UPDATE,
	ASK_DELETE,
	ASK_GET,
	ASK_LIST,
	ASK_WATCH,
	ASK_WAIT,
	ASK_PLAN,
};

/* What a watch has seen; it outlives the connection. */
struct sight {
	bool ready, ended;
	uint64_t position; /* seen in full */
	size_t partial;    /* events seen of the next revision */
	char within[40];   /* the filter, or empty */
	char **snapshot;   /* documents before `ready` */
	size_t n;
};

struct ask {
	struct exchange x; /* first: an exchange is cast to its ask */
	struct arena arena;
	struct world *world;
	struct list link;
	enum ask_kind kind;
	const char *noun; /* "organization" */
	char target[256], body[512];
	struct header headers[8];
	size_t n_headers;
	char key[32], match[32], last_id[32];
	char id[40], name[32], within[40];
	uint64_t started; /* the newest revision when it was asked */
	uint64_t at;      /* the revision it asks for; 0: now */
	uint64_t if_match;
	long op, request; /* the request's number, which its id says */
	char request_id[24];
	bool retry;

	int status; /* 0: not answered */
	char *reply;
	size_t len;
	const struct stream_source *source;
	bool woken;
	void (*timer)(struct exchange *x);
	uint64_t timer_at;
	struct sight *sight;
};

enum { OPS_MOST = 4096, ASKS_MOST = 8192 };
enum answer { ANSWER_NONE, ANSWER_READ, ANSWER_ACCEPTED, ANSWER_REFUSED };

struct world {
	struct clock clock; /* first: a clock is cast to its world */
	int64_t wall;
	uint64_t mono;
	struct random_seeded schedule, random;
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct store_conf store_conf;
	struct quota_sums *sums;
	struct api *api;
	struct cascade *cascade;
	char token[80], bearer[96];
	struct list asks;
	struct model model;
	long ops;
	bool refused[OPS_MOST]; /* ops that were refused for good */
	bool retried[OPS_MOST]; /* … one try may fail and the next succeed */
	bool small_log;         /* history is let go of all the time */
	unsigned crashes;
	struct keyring *keys;     /* that secrets are sealed with */
	long requests, booted_at; /* how many, and at the last start */
	char answers[ASKS_MOST];  /* enum answer, by request */
	bool trims_audit;         /* the trail is let go of all the time */
};

void world_init(struct world *w, uint64_t seed);
void world_release(struct world *w);

/* One of 0 … n-1, from the schedule. */
uint64_t roll(struct world *w, uint64_t n);

/* Start the server on what is on the disk. */
void world_boot(struct world *w);

/* Drop everything but the disk; the waiting batch may have been written. */
void world_crash(struct world *w, bool written);

struct ask *ask_new(struct world *w, enum ask_kind kind, const char *method);
void ask_header(struct ask *a, const char *name, const char *value);

void ask_send(struct ask *a); /* hand it to the API */
void ask_free(struct ask *a);

/* Pull what the stream has to say into a->reply; false when it has ended. */
bool ask_pull(struct ask *a);

void ask_leave(struct ask *a); /* the client of a stream does */

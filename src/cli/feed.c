#include "cli/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/request.h"
#include "cli/sse.h"
#include "http/flow.h"

enum { FEEDS_MOST = 4 };

struct feed {
	struct feeds *feeds;
	struct feed_conf conf;
	struct client *client; /* while it is connected */
	struct flow *flow;
	struct client_call call;
	struct sse sse;
	char after[SSE_WORD_MOST]; /* the last event's id, or "" */
	bool ready, heard, given_up;
	unsigned tries;
	uint64_t again_at; /* when to connect again */
	bool failed;
	struct failure failure; /* the stream's own last words */
};

struct feeds {
	struct cli *cli;
	struct flows *flows;
	struct arena arena; /* of one event */
	struct feed list[FEEDS_MOST];
	size_t n;
	char trouble[sizeof(((struct err *)0)->msg)];
};

struct feeds *feeds_new(struct cli *c)
{
	struct feeds *f = xcalloc(1, sizeof(*f));

	f->cli = c;
	f->flows = flows_new();
	arena_init(&f->arena, (size_t)1 << 30);
	return f;
}

static void disconnect(struct feed *w)
{
	if (!w->client)
		return;
	if (w->flow)
		flow_drop(w->flow);
	w->flow = NULL;
	sse_release(&w->sse);
	client_free(w->client);
	w->client = NULL;
}

void feeds_free(struct feeds *f)
{
	for (size_t i = 0; i < f->n; i++)
		disconnect(&f->list[i]);
	flows_free(f->flows);
	arena_release(&f->arena);
	free(f);
}

void feeds_add(struct feeds *f, const struct feed_conf *conf)
{
	if (f->n == FEEDS_MOST)
		abort(); /* a bug */
	f->list[f->n++] = (struct feed){.feeds = f, .conf = *conf};
}

static void tell(struct feed *w, enum feed_what what, struct node *doc)
{
	w->conf.fn(w->conf.ctx, what, doc);
}

static bool on_error(struct feed *w, const struct node *body)
{
	const struct node *n = node_get(body, "status");
	int status = n && node_type(n) == NODE_INT ? (int)node_int(n) : 500;

	failure_read(&w->failure, status, NULL, body, &w->feeds->cli->arena);
	w->failed = true;
	return false;
}

static bool on_event(void *ctx, const struct sse_event *e)
{
	struct feed *w = ctx;
	struct arena *a = &w->feeds->arena;
	struct err why;
	struct node *doc = json_parse(e->data, e->len, a, &why);
	bool go_on = true;

	w->heard = true;
	if (!doc || node_type(doc) != NODE_OBJECT)
		return true;
	if (strcmp(e->event, "put") == 0) {
		tell(w, FEED_PUT, doc);
	} else if (strcmp(e->event, "delete") == 0) {
		tell(w, FEED_DELETE, doc);
	} else if (strcmp(e->event, "ready") == 0) {
		w->ready = true;
		tell(w, FEED_READY, NULL);
	} else if (strcmp(e->event, "error") == 0) {
		go_on = on_error(w, doc);
	}
	if (e->id)
		memcpy(w->after, e->id, strlen(e->id) + 1);
	arena_clear(a);
	return go_on;
}

static bool on_data(void *ctx, const char *bytes, size_t len)
{
	return sse_feed(ctx, bytes, len);
}

static int begin(struct feed *w, struct failure *p)
{
	struct feeds *f = w->feeds;
	char *target = arena_strdup(&f->cli->arena, w->conf.target);
	char *first = strchr(target, '&');

	if (request_connect(f->cli, &w->client, p) < 0)
		return -1;
	if (first)
		*first = '?';
	w->failed = w->heard = false;
	w->call = (struct client_call){
		.method = "GET",
		.target = target,
		.accept = "text/event-stream",
		.last_event_id = w->after[0] ? w->after : NULL,
		.data = on_data,
		.ctx = &w->sse,
	};
	sse_init(&w->sse, on_event, w);
	if (!w->after[0])
		tell(w, FEED_BEGIN, NULL);
	w->flow = flow_begin(f->flows, w->client, &w->call);
	return 0;
}

/* Whether a new connection may do better than the one that ended with P. */
static bool may_go_on(const struct feed *w, const struct failure *p)
{
	return p->err.code == ERR_GONE || (w->ready && err_passes(&p->err));
}

/* Its connection has ended; -1 when it cannot go on. */
static int ended(struct feed *w, struct failure *p)
{
	struct feeds *f = w->feeds;
	struct client_result result = {0};
	struct node *none = NULL;
	int rc = flow_end(w->flow, &result, &p->err);

	w->flow = NULL;
	if (rc == 0)
		rc = request_reply(f->cli, &result, &none, p);
	client_result_release(&result);
	if (rc == 0 && w->failed) {
		*p = w->failure;
		rc = -1;
	}
	disconnect(w);
	if (rc < 0 && !may_go_on(w, p)) {
		w->given_up = w->conf.optional;
		return w->given_up ? 0 : -1;
	}
	if (w->heard)
		w->tries = 0;
	if (rc < 0 && p->err.code == ERR_GONE)
		w->after[0] = '\0';
	else if (rc < 0)
		memcpy(f->trouble, p->err.msg, sizeof(f->trouble));
	*p = (struct failure){0};
	w->again_at =
		clock_mono(f->cli->clock) + request_pause(f->cli, w->tries++);
	return 0;
}

int feeds_turn(struct feeds *f, struct pollfd *fds, size_t n, int timeout_ms,
	       struct failure *p)
{
	uint64_t now = clock_mono(f->cli->clock);

	for (size_t i = 0; i < f->n; i++) {
		struct feed *w = &f->list[i];

		if (w->client || w->given_up)
			continue;
		if (w->again_at <= now) {
			if (begin(w, p) < 0)
				return -1;
		} else if (w->again_at - now < (uint64_t)timeout_ms) {
			timeout_ms = (int)(w->again_at - now);
		}
	}
	flows_wait(f->flows, fds, n, timeout_ms);
	for (size_t i = 0; i < f->n; i++) {
		struct feed *w = &f->list[i];

		if (w->heard)
			f->trouble[0] = '\0';
		if (w->flow && flow_is_done(w->flow) && ended(w, p) < 0)
			return -1;
	}
	return 0;
}

bool feeds_ready(const struct feeds *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->list[i].ready && !f->list[i].given_up)
			return false;
	return true;
}

const char *feeds_trouble(const struct feeds *f)
{
	return f->trouble[0] ? f->trouble : NULL;
}

/*
 * watch - a list that goes on: server-sent events.
 *
 * Without Last-Event-ID the stream begins with every object as it was at one
 * revision, then `ready` with that revision; then, and from the start when it
 * resumes, each change after it.  The snapshot's revision is fixed when the
 * stream begins, and the changes are taken up right behind it: what happens
 * while the snapshot is sent is neither lost nor told twice.
 *
 * A watch keeps no queue: it holds a place in the log and reads on when its
 * client can take more.  One that falls behind the log's end is told so.
 */
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "api/permit.h"
#include "api/routes.h"

/* A filter may let little through: after looking at so much, others get their
 * turn first. */
#define LOOK_MOST 5000

struct watch {
	struct call *call;
	struct watcher watcher;
	struct filters filters;
	struct pin pin;
	struct cursor cursor;
	bool snapshot; /* still being sent */
	char after[40];
};

static struct watch *watch_of(struct exchange *x)
{
	return x->ctx;
}

static void add_event(struct buf *out, const char *event, const char *json,
		      size_t len, uint64_t id)
{
	if (id) {
		buf_adds(out, "id: ");
		buf_addi(out, (int64_t)id);
		buf_addc(out, '\n');
	}
	buf_adds(out, "event: ");
	buf_adds(out, event);
	buf_add(out, "\ndata: ", 7);
	buf_add(out, json, len);
	buf_add(out, "\n\n", 2);
}

static void add_ready(struct watch *w, struct buf *out)
{
	char json[48];
	struct buf b = BUF_INIT(sizeof(json));

	buf_addf(&b, "{\"revision\":%llu}",
		 (unsigned long long)w->cursor.revision);
	add_event(out, "ready", b.data, b.len, w->cursor.revision);
	buf_release(&b);
	w->snapshot = false;
	store_unpin(&w->pin);
}

static bool shows(const struct watch *w, const void *object)
{
	return filters_match(&w->filters, object) &&
	       permit_sees(w->call, w->call->noun->kind, object);
}

static void add_put(const struct watch *w, const struct record *r, uint64_t id,
		    struct buf *out)
{
	struct buf room = BUF_INIT((size_t)1 << 20);
	struct record shown = *r;

	permit_show(w->call, &shown, &room);
	add_event(out, "put", shown.json, shown.len, id);
	buf_release(&room);
}

static void fill_snapshot(struct watch *w, struct buf *out)
{
	const struct store *s = w->call->api->conf.store;
	struct scan scan =
		store_scan(s, w->cursor.revision, w->call->noun->kind,
			   w->after[0] ? w->after : NULL);
	size_t effort = 0;
	struct record r;

	while (out->len < STREAM_ENOUGH && effort < LOOK_MOST) {
		if (!scan_next(&scan, &r, &effort)) {
			add_ready(w, out);
			return;
		}
		memcpy(w->after, r.id, strlen(r.id) + 1);
		if (shows(w, r.object))
			add_put(w, &r, 0, out);
	}
	exchange_wake(w->call->x);
}

/* Only the last event of a revision carries it as its id: a client that is cut
 * off in the middle of one gets it again whole. */
static void add_change(struct watch *w, const struct event *e, struct buf *out)
{
	bool now = shows(w, e->now.object);
	bool before = shows(w, e->before.object);
	uint64_t id = e->last ? e->now.revision : 0;

	if (now) {
		add_put(w, &e->now, id, out);
	} else if (before) {
		char json[96];
		struct buf b = BUF_INIT(sizeof(json));

		buf_addf(&b, "{\"id\":\"%s\",\"revision\":%llu}", e->now.id,
			 (unsigned long long)e->now.revision);
		add_event(out, "delete", b.data, b.len, id);
		buf_release(&b);
	}
}

static void add_problem(struct watch *w, const struct err *err, struct buf *out)
{
	struct buf b = BUF_INIT(4096);

	problem_write(err, problem_status(err->code), w->call->x->id, &b);
	add_event(out, "error", b.data, b.len, 0);
	buf_release(&b);
}

static void add_gone(struct watch *w, struct buf *out)
{
	struct err err;

	err_set(&err, ERR_GONE,
		"the watch fell behind: the log no longer reaches back to "
		"revision %llu; list again",
		(unsigned long long)w->cursor.revision);
	add_problem(w, &err, out);
}

static bool fill_changes(struct watch *w, struct buf *out)
{
	const struct store *s = w->call->api->conf.store;
	size_t looked = 0;
	struct event e;
	bool lost = false;

	while (out->len < STREAM_ENOUGH && looked < LOOK_MOST &&
	       store_next(s, w->call->noun->kind, &w->cursor, &e, &lost)) {
		add_change(w, &e, out);
		looked++;
	}
	if (looked == LOOK_MOST)
		exchange_wake(w->call->x);
	if (lost)
		add_gone(w, out);
	return !lost;
}

/* Rights may be taken away while a watch is open: it asks again each time. */
static bool fill(struct exchange *x, struct buf *out)
{
	struct watch *w = watch_of(x);
	struct err err = {0};

	if (call_renew(w->call, &err) < 0) {
		add_problem(w, &err, out);
		return false;
	}
	if (w->snapshot)
		fill_snapshot(w, out);
	return w->snapshot || fill_changes(w, out);
}

static void gone(struct exchange *x)
{
	struct watch *w = watch_of(x);

	store_unwatch(&w->watcher);
	if (w->snapshot)
		store_unpin(&w->pin);
	w->call->api->streams--;
	w->call->api->in_flight--;
}

static void wake(struct watcher *watcher)
{
	struct watch *w = CONTAINER_OF(watcher, struct watch, watcher);

	exchange_wake(w->call->x);
}

static const struct stream_source source = {fill, gone};

/* Where to go on from, when the request says so. */
static int read_resume(struct call *c, struct watch *w, bool *ret_resumes,
		       struct err *err)
{
	const char *id = exchange_header(c->x, "Last-Event-ID");
	uint64_t revision;
	char *end;

	*ret_resumes = id && *id;
	if (!*ret_resumes)
		return 0;
	revision = strtoull(id, &end, 10);
	if (*end || strspn(id, "0123456789") != strlen(id))
		return err_set(err, ERR_INVALID,
			       "Last-Event-ID must be a revision");
	if (revision > store_revision(c->api->conf.store))
		return err_set(err, ERR_GONE,
			       "this server has not come to revision %llu (it "
			       "may have been restored from a backup); list "
			       "again",
			       (unsigned long long)revision);
	w->cursor.revision = revision;
	return store_check_at(c->api->conf.store, revision, err);
}

static int begin(struct call *c, struct watch *w, struct err *err)
{
	struct api *api = c->api;
	bool resumes;

	w->call = c;
	w->filters.kind = c->noun->kind;
	for (size_t i = 0; i < c->uri.n_query; i++)
		if (strcmp(c->uri.query[i].name, "limit") == 0 ||
		    strcmp(c->uri.query[i].name, "after") == 0 ||
		    strcmp(c->uri.query[i].name, "at") == 0)
			return err_set(err, ERR_INVALID,
				       "a watch takes filters only, not %s",
				       c->uri.query[i].name);
	if (filters_read(c, &w->filters, err) < 0 ||
	    read_resume(c, w, &resumes, err) < 0)
		return -1;
	if (api->draining || api->streams >= api->conf.streams_most) {
		err_set(err, ERR_UNAVAILABLE, "%s",
			api->draining ? "the server is stopping"
				      : "too many watches are open");
		err->retry_after_ms = 1000;
		return -1;
	}
	if (!resumes) {
		w->snapshot = true;
		w->cursor.revision = store_revision(api->conf.store);
		store_pin(api->conf.store, &w->pin, w->cursor.revision);
	}
	return 0;
}

void handle_watch(struct call *c)
{
	struct watch *w = arena_alloc(c->x->arena, sizeof(*w));
	struct reply head = {.status = 200, .type = "text/event-stream"};
	struct err err = {0};

	if (begin(c, w, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	reply_header(&head, "Cache-Control", "no-store");
	if (strcmp(c->x->method, "HEAD") == 0) {
		if (w->snapshot)
			store_unpin(&w->pin);
		call_reply_with(c, &head);
		return;
	}
	c->api->streams++;
	c->api->calls[2]++;
	w->watcher.wake = wake;
	store_watch(c->api->conf.store, &w->watcher);
	c->x->ctx = w;
	exchange_stream(c->x, &head, &source);
}

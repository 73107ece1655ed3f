/*
 * wait - a read that waits: until the object is in a state, has failed, has
 * changed or is gone, or the time is up.  The answer is the object as it is
 * then; 204 when it is gone.
 */
#include <string.h>

#include "api/permit.h"
#include "api/routes.h"

#define TIMEOUT_MOST     (10 * 60 * 1000)
#define TIMEOUT_FALLBACK (60 * 1000)

struct wait {
	struct list link;
	struct call *call;
	struct watcher watcher;
	const char *word;
	const struct field *state; /* NULL for "changed" and "deleted" */
	uint64_t since;            /* for "changed" */
};

/* The object as it is; false when it is gone. */
static bool look(const struct wait *w, struct record *r)
{
	return store_get(w->call->api->conf.store, 0, w->call->noun->kind,
			 w->call->id, r);
}

static bool is_over(const struct wait *w, bool there, const struct record *r)
{
	const void *at;

	if (!there)
		return true;
	if (!w->state)
		return strcmp(w->word, "changed") == 0 &&
		       r->revision != w->since;
	field_find(w->call->noun->kind->fields, "status.state", r->object, &at);
	/* What has failed waits for somebody to do something. */
	return field_is(w->state, at, w->word) ||
	       field_is(w->state, at, "failed");
}

static void finish(struct wait *w)
{
	struct call *c = w->call;
	struct err err = {0};
	struct record r;

	list_remove(&w->link);
	store_unwatch(&w->watcher);
	c->api->streams--;
	if (call_renew(c, &err) < 0)
		call_fail(c, &err);
	else if (look(w, &r) && permit_sees(c, c->noun->kind, r.object))
		call_show(c, &r);
	else
		call_reply(c, 204, NULL, 0, 0);
}

static void wake(struct watcher *watcher)
{
	struct wait *w = CONTAINER_OF(watcher, struct wait, watcher);
	struct record r;

	if (is_over(w, look(w, &r), &r))
		finish(w);
}

static void time_up(struct exchange *x)
{
	finish(((struct call *)x->ctx)->wait);
}

void wait_end_all(struct api *api)
{
	while (!list_empty(&api->waits))
		finish(CONTAINER_OF(api->waits.next, struct wait, link));
}

static int read_word(struct call *c, struct wait *w, struct err *err)
{
	const struct field *f;
	struct buf words = BUF_INIT(512);
	const char *word = call_arg(c, "wait");

	w->word = word;
	if (strcmp(word, "changed") == 0 || strcmp(word, "deleted") == 0)
		return 0;
	f = field_find(c->noun->kind->fields, "status.state", NULL, NULL);
	if (f && !(f->flags & FIELD_STATE))
		f = NULL;
	w->state = f;
	for (int i = 1; f && f->names[i]; i++) {
		if (strcmp(f->names[i], word) == 0) {
			buf_release(&words);
			return 0;
		}
		buf_addf(&words, ", %s", f->names[i]);
	}
	err_set(err, ERR_INVALID, "wait must be one of changed, deleted%s",
		buf_str(&words));
	buf_release(&words);
	return -1;
}

static int begin(struct call *c, struct wait *w, uint64_t *ret_ms,
		 struct err *err)
{
	struct api *api = c->api;

	*ret_ms = TIMEOUT_FALLBACK;
	if (call_number(c, "timeoutMs", 0, TIMEOUT_MOST, ret_ms, err) < 0 ||
	    read_word(c, w, err) < 0)
		return -1;
	if (call_arg(c, "at"))
		return err_set(err, ERR_INVALID,
			       "wait is for now: it does not go with at");
	if (api->draining || api->streams >= api->conf.streams_most) {
		err_set(err, ERR_UNAVAILABLE, "%s",
			api->draining ? "the server is stopping"
				      : "too many watches are open");
		err->retry_after_ms = 1000;
		return -1;
	}
	return 0;
}

void handle_wait(struct call *c, const struct record *now)
{
	struct wait *w = arena_alloc(c->x->arena, sizeof(*w));
	const char *since = exchange_header(c->x, "If-None-Match");
	struct err err = {0};
	uint64_t ms;

	w->call = c;
	w->since = now->revision;
	if (begin(c, w, &ms, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	/* The caller says which revision it knows: another one will do. */
	if (since && !call_matches(since, now->revision))
		w->since = 0;
	if (is_over(w, true, now) || ms == 0) {
		call_show(c, now);
		return;
	}
	c->wait = w;
	c->api->streams++;
	list_add(&c->api->waits, &w->link);
	w->watcher.wake = wake;
	store_watch(c->api->conf.store, &w->watcher);
	exchange_after(c->x, ms, time_up);
}

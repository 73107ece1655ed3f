#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "base/mem.h"
#include "judge.h"
#include "rig.h"

#define ARENA_MOST  ((size_t)16 << 20)
#define STREAM_MOST ((size_t)4 << 20)

static struct ask *ask_of(struct exchange *x)
{
	return (struct ask *)x;
}

static const char *get_header(struct exchange *x, const char *name)
{
	struct ask *a = ask_of(x);

	for (size_t i = 0; i < a->n_headers; i++)
		if (strcasecmp(a->headers[i].name, name) == 0)
			return a->headers[i].value;
	return NULL;
}

static void take_reply(struct exchange *x, const struct reply *r)
{
	struct ask *a = ask_of(x);

	if (a->status)
		judge_broken(a->rig->judge, JUDGE_OTHER, "answered twice: %s",
			     a->target);
	a->status = r->status;
	free(a->reply);
	a->reply = xmemdup(r->body ? r->body : "", r->len);
	a->len = r->len;
	a->timer = NULL;
	a->rig->answered = true;
}

static void take_stream(struct exchange *x, const struct reply *head,
			const struct stream_source *source)
{
	(void)head;
	ask_of(x)->source = source;
	ask_of(x)->woken = true;
}

static void take_wake(struct exchange *x)
{
	ask_of(x)->woken = true;
}

static void take_after(struct exchange *x, uint64_t ms,
		       void (*fn)(struct exchange *x))
{
	struct ask *a = ask_of(x);

	a->timer = fn;
	a->timer_at = a->rig->mono + ms;
}

static const struct exchange_ops ops = {get_header, take_reply, take_stream,
					take_wake, take_after};

struct ask *ask_new(struct rig *r, const char *method)
{
	struct ask *a = xcalloc(1, sizeof(*a));

	a->rig = r;
	arena_init(&a->arena, ARENA_MOST);
	list_init(&a->link);
	a->x = (struct exchange){.ops = &ops,
				 .arena = &a->arena,
				 .method = method,
				 .target = a->target,
				 .peer = "sim",
				 .body = a->body,
				 .id = a->request_id};
	a->request = r->requests++;
	a->op = -1;
	snprintf(a->request_id, sizeof(a->request_id), "sim-%ld", a->request);
	ask_header(a, "Authorization", r->bearer);
	return a;
}

void ask_header(struct ask *a, const char *name, const char *value)
{
	a->headers[a->n_headers++] = (struct header){name, value};
}

struct verdict_ask ask_verdict(const struct ask *a)
{
	return (struct verdict_ask){
		.request = a->op,
		.method = a->x.method,
		.target = a->target,
		.body = a->body,
		.key = a->key[0] ? a->key : NULL,
		.started = a->started,
		.repeats = a->repeats,
		.status = a->status,
		.reply = a->reply,
		.len = a->len,
	};
}

void ask_send(struct ask *a)
{
	struct verdict_ask v;

	a->started = store_revision(a->rig->store);
	a->x.body_len = strlen(a->body);
	list_add(&a->rig->asks, &a->link);
	tell(a->rig, "%s %s %s", a->x.method, a->target, a->body);
	v = ask_verdict(a);
	a->asked = judge_asked(a->rig->judge, &v);
	api_handle(a->rig->api, &a->x);
}

void ask_free(struct ask *a)
{
	list_remove(&a->link);
	arena_release(&a->arena);
	free(a->reply);
	free(a);
}

bool ask_pull(struct ask *a)
{
	struct buf out = BUF_INIT(STREAM_MOST);
	bool more = a->source->fill(&a->x, &out);

	free(a->reply);
	a->reply = buf_take(&out, &a->len);
	a->woken = a->len > 0;
	return more;
}

void ask_leave(struct ask *a)
{
	a->source->gone(&a->x);
	a->source = NULL;
}

#include "provider/sim_http.h"

#include <string.h>

#include "base/field_ops.h"
#include "provider/sim_cloud.h"

#define TRUTH_MOST  ((size_t)1 << 30)
#define ANSWER_MOST ((size_t)16 << 20)

#define JSON "application/json"

static int status_of(const struct err *err)
{
	switch (err->code) {
	case ERR_INVALID:
		return 400;
	case ERR_NOT_FOUND:
		return 404;
	case ERR_METHOD:
		return 405;
	case ERR_CONFLICT:
	case ERR_CAPACITY:
	case ERR_QUOTA:
		return 409;
	case ERR_RATE:
		return 429;
	case ERR_UNSUPPORTED:
		return 501;
	case ERR_UNAVAILABLE:
		return 503;
	case ERR_TIMEOUT:
		return 504;
	default:
		return 500;
	}
}

/* An answer that is held back. */
struct held {
	int status;
	const char *body;
	size_t len;
};

static void reply_held(struct exchange *x)
{
	const struct held *h = x->ctx;
	const struct reply r = {.status = h->status,
				.type = JSON,
				.body = h->body,
				.len = h->len};

	exchange_reply(x, &r);
}

/* BODY is taken. */
static void answer(struct exchange *x, int status, struct buf *body,
		   uint64_t wait_ms)
{
	struct held *h = arena_alloc(x->arena, sizeof(*h));

	*h = (struct held){status, buf_str(body), body->len};
	x->ctx = h;
	if (wait_ms) {
		h->body = arena_memdup(x->arena, h->body, h->len);
		exchange_after(x, wait_ms, reply_held);
	} else {
		reply_held(x);
	}
	buf_release(body);
}

static void refuse(struct exchange *x, const struct err *err, uint64_t wait_ms)
{
	struct buf body = BUF_INIT(65536);

	sim_err_write(err, &body);
	answer(x, status_of(err), &body, wait_ms);
}

/* What was asked, by a table; NULL when it makes no sense. */
static const void *read_ask(struct exchange *x, const struct sim_method *m,
			    struct err *err)
{
	const struct node *n = json_parse(x->body, x->body_len, x->arena, err);
	void *ask = arena_alloc(x->arena, m->asks_size);
	struct violations v;

	if (!n)
		return NULL;
	violations_init(&v, x->arena);
	field_decode(m->asks, n, FIELD_STORED, ask, &v);
	if (!v.n)
		return ask;
	violations_err(&v, err);
	return NULL;
}

static void call(struct sim_cloud *c, struct exchange *x, enum sim_call name)
{
	const struct sim_method *m = &sim_methods[name];
	void *result = arena_alloc(x->arena, m->answers_size + 1);
	struct buf body = BUF_INIT(ANSWER_MOST);
	struct err err = {0};
	const void *ask = read_ask(x, m, &err);

	if (!ask) {
		refuse(x, &err, 0);
		return;
	}
	if (sim_cloud_call(c, name, ask, x->arena, result, &err) < 0) {
		refuse(x, &err, sim_cloud_wait(c));
		return;
	}
	if (m->answers)
		field_encode(m->answers, result, FIELD_FULL, &body);
	else
		buf_adds(&body, "{}");
	answer(x, 200, &body, sim_cloud_wait(c));
}

static void show_options(struct sim_cloud *c, struct exchange *x)
{
	struct buf body = BUF_INIT(ANSWER_MOST);

	field_encode(sim_option_fields, sim_cloud_options(c), FIELD_FULL,
		     &body);
	answer(x, 200, &body, 0);
}

/* What is said replaces what was; what is null is as by default. */
static void change_options(struct sim_cloud *c, struct exchange *x)
{
	struct buf old = BUF_INIT(ANSWER_MOST);
	struct sim_options options;
	struct err err = {0};
	struct node *n, *patch;

	field_encode(sim_option_fields, sim_cloud_options(c), FIELD_FULL, &old);
	n = json_parse(buf_str(&old), old.len, x->arena, &err);
	buf_release(&old);
	patch = n ? json_parse(x->body, x->body_len, x->arena, &err) : NULL;
	if (patch)
		n = node_merge(x->arena, n, patch);
	if (!patch || !n || sim_options_read(n, x->arena, &options, &err) < 0) {
		refuse(x, &err, 0);
		return;
	}
	sim_cloud_set_options(c, &options);
	show_options(c, x);
}

static void show_truth(struct sim_cloud *c, struct exchange *x)
{
	struct buf body = BUF_INIT(TRUTH_MOST);

	sim_cloud_truth(c, &body);
	answer(x, 200, &body, 0);
}

static void drift(struct sim_cloud *c, struct exchange *x, const char *rest)
{
	const char *slash = strchr(rest, '/');
	struct buf body = BUF_INIT(64);
	struct err err = {0};
	const char *id;

	id = arena_memdup(x->arena, rest,
			  slash ? (size_t)(slash - rest) : strlen(rest));
	if (sim_cloud_drift(c, id, slash ? slash + 1 : "", &err) < 0) {
		refuse(x, &err, 0);
		return;
	}
	buf_adds(&body, "{}");
	answer(x, 200, &body, 0);
}

/* What follows PREFIX in the path, or NULL. */
static const char *after(const struct exchange *x, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(x->target, prefix, len) == 0 ? x->target + len : NULL;
}

static bool is_get(const struct exchange *x, const char *path)
{
	return strcmp(x->method, "GET") == 0 && strcmp(x->target, path) == 0;
}

static bool is_post(const struct exchange *x, const char *path)
{
	return strcmp(x->method, "POST") == 0 && strcmp(x->target, path) == 0;
}

void sim_http_handle(void *ctx, struct exchange *x)
{
	struct sim_cloud *c = ctx;
	bool post = strcmp(x->method, "POST") == 0;
	const char *name = post ? after(x, "/calls/") : NULL;
	const char *machine = post ? after(x, "/machines/") : NULL;
	struct err err;

	for (int i = 0; name && i < SIM_CALLS; i++)
		if (strcmp(sim_methods[i].name, name) == 0) {
			call(c, x, (enum sim_call)i);
			return;
		}
	if (machine) {
		drift(c, x, machine);
	} else if (is_get(x, "/truth")) {
		show_truth(c, x);
	} else if (is_get(x, "/options") || is_get(x, "/faults")) {
		show_options(c, x);
	} else if (is_post(x, "/options") || is_post(x, "/faults")) {
		change_options(c, x);
	} else {
		err_set(&err, ERR_NOT_FOUND, "there is nothing at %s %s",
			x->method, x->target);
		refuse(x, &err, 0);
	}
}

void sim_http_refuse(void *ctx, int status, const char *why, struct buf *body,
		     const char **ret_type)
{
	struct err err;

	(void)ctx;
	err_set(&err, status == 503 ? ERR_UNAVAILABLE : ERR_INVALID, "%s", why);
	sim_err_write(&err, body);
	*ret_type = JSON;
}

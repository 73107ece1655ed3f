#include "cli/request.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/uuid.h"
#include "cli/oauth.h"
#include "http/client.h"
#include "http/uri.h"

#define BODY_MOST      ((size_t)64 << 20)
#define TRIES_MOST     3
#define BACK_OFF_FIRST 200
#define BACK_OFF_MOST  10000
#define CALL_MS        60000
#define PAGE_MOST      500

int request_connect(struct cli *c, struct client **ret, struct failure *p)
{
	struct client_conf conf;

	if (cli_target(c, p) < 0 || oauth_renew(c, p) < 0)
		return -1;
	conf = (struct client_conf){
		.server = c->target.server,
		.token = c->target.token,
		.ca_file = c->target.ca_file,
		.timeout_ms = c->timeout_ms && c->timeout_ms < CALL_MS
				      ? (unsigned)c->timeout_ms
				      : CALL_MS,
		.agent = "muster/" MUSTER_VERSION,
		.act_as = c->act_as,
	};
	return client_new(&conf, ret, &p->err);
}

uint64_t request_pause(const struct cli *c, unsigned n)
{
	uint64_t ms = BACK_OFF_FIRST;

	while (n-- && ms < BACK_OFF_MOST)
		ms *= 2;
	if (ms > BACK_OFF_MOST)
		ms = BACK_OFF_MOST;
	return ms / 2 + random_below(c->random, ms / 2 + 1);
}

void request_back_off(const struct cli *c, unsigned n)
{
	uint64_t ms = request_pause(c, n);
	struct timespec t;

	t = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	nanosleep(&t, NULL);
}

static int call_again(struct cli *c, const struct client_call *call,
		      struct client_result *ret, struct failure *p)
{
	unsigned tries = call->idempotency_key ? TRIES_MOST : 0;

	for (unsigned i = 0;; i++) {
		if (client_call(c->client, call, ret, &p->err) == 0)
			return 0;
		if (p->err.code != ERR_UNAVAILABLE || i == tries)
			return -1;
		cli_say(c, "muster: %s; trying again (%u of %u)", p->err.msg,
			i + 1, tries);
		client_result_release(ret);
		*ret = (struct client_result){0};
		request_back_off(c, i);
	}
}

int request_reply(struct cli *c, const struct client_result *r,
		  struct node **ret, struct failure *p)
{
	struct node *body = NULL;
	struct err why = {0};

	if (r->body.len)
		body = json_parse(buf_str(&r->body), r->body.len, &c->arena,
				  &why);
	if (r->status >= 200 && r->status < 300) {
		if (r->body.len && !body) {
			p->err = why;
			return err_wrap(&p->err,
					"%s answered oddly; is it a "
					"muster server?",
					c->target.server);
		}
		*ret = body;
		return 0;
	}
	return failure_read(p, r->status, r->request_id, body, &c->arena);
}

static int send_call(struct cli *c, struct client_call *call, struct node **ret,
		     struct failure *p)
{
	struct client_result result = {0};
	char key[UUID_LEN + 1];
	int rc;

	if (!c->client && request_connect(c, &c->client, p) < 0)
		return -1;
	if (strcmp(call->method, "POST") == 0) {
		uuid_v7(clock_wall(c->clock), 0, c->random, key);
		call->idempotency_key = key;
	}
	rc = call_again(c, call, &result, p);
	if (rc == 0)
		rc = request_reply(c, &result, ret, p);
	client_result_release(&result);
	return rc;
}

int request_send(struct cli *c, const struct request *r, struct node **ret,
		 struct failure *p)
{
	struct buf body = BUF_INIT(BODY_MOST);
	struct client_call call = {
		.method = r->method,
		.target = r->target,
		.accept = "application/json",
	};
	int rc;

	if (r->body) {
		json_write(r->body, false, &body);
		call.body = buf_str(&body);
		call.len = body.len;
		call.content_type =
			r->content_type ? r->content_type : "application/json";
	}
	if (r->if_match)
		call.if_match = arena_printf(&c->arena, "\"%s\"", r->if_match);
	if (!buf_ok(&body))
		rc = err_set(&p->err, ERR_TOO_LARGE,
			     "the document is larger "
			     "than can be sent");
	else
		rc = send_call(c, &call, ret, p);
	buf_release(&body);
	return rc;
}

int request_get(struct cli *c, const char *target, struct node **ret,
		struct failure *p)
{
	struct request r = {.method = "GET", .target = target};

	return request_send(c, &r, ret, p);
}

static int odd_list(struct cli *c, struct failure *p)
{
	return err_set(&p->err, ERR_INTERNAL,
		       "%s did not answer with a list; is it a muster server?",
		       c->target.server);
}

static const char *page_target(struct cli *c, const struct kind *k,
			       const char *query, const char *after,
			       size_t most)
{
	struct buf b = BUF_INIT(65536);
	const char *target;

	buf_addf(&b, "/v1/%s%s&limit=%zu", k->plural, query,
		 most && most < PAGE_MOST ? most : PAGE_MOST);
	if (after) {
		buf_adds(&b, "&after=");
		uri_add_escaped(&b, after);
	}
	target = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return target;
}

/* The first '&' of a query is a '?'. */
static const char *as_query(struct cli *c, const char *target)
{
	char *copy = arena_strdup(&c->arena, target);
	char *first = strchr(copy, '&');

	if (first)
		*first = '?';
	return copy;
}

int request_list(struct cli *c, const struct kind *k, const char *query,
		 size_t most, struct node **ret, struct failure *p)
{
	struct node *all = node_new_array(&c->arena);
	const char *after = NULL;

	do {
		const char *target =
			as_query(c, page_target(c, k, query, after, most));
		struct node *page = NULL, *items;

		if (request_get(c, target, &page, p) < 0)
			return -1;
		items = page ? node_get(page, "items") : NULL;
		if (!items || node_type(items) != NODE_ARRAY)
			return odd_list(c, p);
		for (size_t i = 0; i < node_count(items); i++) {
			if (most && node_count(all) == most)
				break;
			if (!node_append(&c->arena, all, node_at(items, i)))
				return err_set(&p->err, ERR_TOO_LARGE,
					       "the list is too long to hold");
		}
		after = node_text(page, "next");
	} while (after && !(most && node_count(all) == most));
	*ret = all;
	return 0;
}

int request_stream(struct cli *c, const char *target, const char *after,
		   const struct request_sink *sink, struct failure *p)
{
	struct client_call call = {
		.method = "GET",
		.target = as_query(c, target),
		.accept = "text/event-stream",
		.last_event_id = after,
		.data = sink->data,
		.ctx = sink->ctx,
	};
	struct client_result result = {0};
	struct client *own = NULL;
	struct node *none = NULL;
	int rc;

	/* A connection of its own: the sink may make calls. */
	rc = request_connect(c, &own, p);
	if (rc == 0)
		rc = client_call(own, &call, &result, &p->err);
	if (rc == 0)
		rc = request_reply(c, &result, &none, p);
	client_result_release(&result);
	client_free(own);
	return rc;
}

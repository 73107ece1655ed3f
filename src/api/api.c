#include "api/api.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/admit.h"
#include "api/call.h"
#include "api/consoles.h"
#include "api/filter.h"
#include "api/routes.h"
#include "base/mem.h"

/* Guesses at tokens that one address may make: a burst, then so many a
 * second. */
#define GUESSES_BURST      50
#define GUESSES_PER_SECOND 5

/* Refused changes of one caller that the audit trail tells one by one. */
#define REFUSALS_BURST      300
#define REFUSALS_PER_SECOND 1

#define TREE_MOST ((size_t)16 << 20)

/* How long a call waits for its caller to become known (the keys of an issuer,
 * a user that is being bound), and how often it looks. */
enum { HELD_MOST_MS = 5000, HELD_SOON_MS = 200 };

static const char *const repeatable[] = {"tag", NULL};

struct api *api_new(const struct api_conf *conf)
{
	struct api *api = xcalloc(1, sizeof(*api));

	api->conf = *conf;
	if (!api->conf.pending_most)
		api->conf.pending_most = 4096;
	if (!api->conf.streams_most)
		api->conf.streams_most = 16384;
	if (!api->conf.consoles_most)
		api->conf.consoles_most = 256;
	if (!api->conf.consoles_each)
		api->conf.consoles_each = 16;
	if (!api->conf.console_ticket_ms)
		api->conf.console_ticket_ms = 60000;
	api->written_per_s = UINT32_MAX; /* not known yet */
	rate_init(&api->callers, conf->requests_per_second,
		  2.0 * conf->requests_per_second + 1);
	rate_init(&api->strangers, GUESSES_PER_SECOND, GUESSES_BURST);
	rate_init(&api->refusals, REFUSALS_PER_SECOND, REFUSALS_BURST);
	api->access = access_new(&(struct access_conf){
		.store = conf->store,
		.clock = conf->clock,
		.oidc = conf->oidc,
		.mtls = conf->mtls,
		.n_mtls = conf->n_mtls,
	});
	list_init(&api->waits);
	list_init(&api->held);
	list_init(&api->asking);
	list_init(&api->unheard);
	api->consoles = consoles_new(api);
	api->openapi = BUF_INIT((size_t)4 << 20);
	return api;
}

void api_free(struct api *api)
{
	if (!api)
		return;
	live_forget_all(api);
	consoles_free(api->consoles);
	access_free(api->access);
	buf_release(&api->openapi);
	free(api);
}

static void fail_held(struct call *c, const char *why)
{
	struct err err;

	list_remove(&c->held);
	err_set(&err, ERR_UNAVAILABLE, "%s", why);
	err.retry_after_ms = 1000;
	call_fail(c, &err);
}

void api_drain(struct api *api)
{
	struct list *l;

	api->draining = true;
	wait_end_all(api);
	live_end_all(api);
	consoles_drain(api->consoles);
	while ((l = list_pop(&api->held)))
		fail_held(CONTAINER_OF(l, struct call, held),
			  "the server is stopping");
}

static bool is_among(const char *const *words, const char *word)
{
	for (; words && *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

static bool takes_word(const struct call *c, const char *word)
{
	char path[FILTER_PATH];

	if (is_among(c->route->query, word) ||
	    (c->noun && is_among(route_words(c->route, c->noun), word)))
		return true;
	return c->route->flags & ROUTE_FILTERS && c->noun &&
	       filter_field(c->noun->kind, word, path);
}

static int check_query(struct call *c, struct err *err)
{
	const char *plan;

	for (size_t i = 0; i < c->uri.n_query; i++)
		if (!takes_word(c, c->uri.query[i].name))
			return err_set(
				err, ERR_INVALID,
				"the query word \"%s\" is not known here",
				c->uri.query[i].name);
	plan = call_arg(c, "plan");
	if (plan && strcmp(plan, "true") != 0 && strcmp(plan, "false") != 0)
		return err_set(err, ERR_INVALID,
			       "the query word plan must be true or false");
	c->plan = plan && strcmp(plan, "true") == 0;
	return 0;
}

/* The media range that begins at P covers TYPE and is not refused by q=0. */
static bool range_covers(const char *p, size_t len, const char *type)
{
	size_t word = strcspn(p, ";, \t");
	size_t major = strcspn(type, "/") + 1;
	const char *q;

	if (word > len)
		word = len;
	q = memmem(p, len, "q=0", 3);
	if (q && (q + 3 == p + len ||
		  strspn(q + 3, ".0") == (size_t)(p + len - (q + 3))))
		return false;
	if (word == 3 && memcmp(p, "*/*", 3) == 0)
		return true;
	if (word == major + 1 && p[major] == '*' &&
	    strncasecmp(p, type, major) == 0)
		return true;
	return word == strlen(type) && strncasecmp(p, type, word) == 0;
}

static bool accepts(const char *accept, const char *type)
{
	while (*accept) {
		size_t len;

		accept += strspn(accept, ", \t");
		len = strcspn(accept, ",");
		if (len && range_covers(accept, len, type))
			return true;
		accept += len;
	}
	return false;
}

/* What a route answers with besides JSON, or NULL. */
static const char *stream_type(const struct route *r)
{
	if (r->flags & ROUTE_LINES)
		return "application/x-ndjson";
	return r->flags & ROUTE_FILTERS ? "text/event-stream" : NULL;
}

static int check_accept(struct call *c, struct err *err)
{
	const char *accept = exchange_header(c->x, "Accept");
	const char *stream = stream_type(c->route);

	if (!accept || c->route->flags & ROUTE_PROBE)
		return 0;
	if (accepts(accept, "application/json"))
		return 0;
	if (stream && accepts(accept, stream)) {
		c->stream = true;
		return 0;
	}
	return err_set(err, ERR_ACCEPT,
		       "this is answered with application/json%s%s, which "
		       "Accept does not name",
		       stream ? " or " : "", stream ? stream : "");
}

/* A tree is many times larger than its text: it has a budget of its own, so
 * that what comes after it never meets the arena's ceiling. */
static int parse_body(struct call *c, struct err *err)
{
	struct arena *a = c->x->arena;
	size_t most = a->max;

	a->max = a->used + TREE_MOST;
	c->body = json_parse(c->x->body, c->x->body_len, a, err);
	a->max = most;
	return c->body ? 0 : -1;
}

static int check_body(struct call *c, struct err *err)
{
	const char *const *want = c->route->consumes;
	const char *type, *coding;
	size_t len;

	if (!want && c->x->body_len)
		return err_set(err, ERR_INVALID, "%s takes no body",
			       c->x->method);
	if (!want || (c->route->flags & ROUTE_BODY_OPTIONAL && !c->x->body_len))
		return 0;
	type = exchange_header(c->x, "Content-Type");
	coding = exchange_header(c->x, "Content-Encoding");
	if (coding && strcasecmp(coding, "identity") != 0)
		return err_set(err, ERR_MEDIA,
			       "send the body as it is, not as %.60s", coding);
	if (!type)
		return err_set(err, ERR_MEDIA,
			       "say what the body is: Content-Type: %s",
			       want[0]);
	len = strcspn(type, "; \t");
	for (; *want; want++)
		if (strlen(*want) == len && strncasecmp(type, *want, len) == 0)
			break;
	if (!*want)
		return err_set(err, ERR_MEDIA, "send %s, not %.60s",
			       c->route->consumes[0], type);
	return parse_body(c, err);
}

/* Who is calling; 1: that is not known yet. */
static int identify(struct call *c, struct err *err)
{
	struct credentials brought = {
		.header = exchange_header(c->x, "Authorization"),
		.tls_subject = c->x->tls_subject,
		.act_as = exchange_header(c->x, "Muster-Act-As"),
	};

	return access_check(c->api->access, &brought, &c->who, err);
}

int call_renew(struct call *c, struct err *err)
{
	int rc = identify(c, err);

	if (rc <= 0)
		return rc;
	err_set(err, ERR_UNAVAILABLE, "who you are is being looked up");
	err->retry_after_ms = 1000;
	return -1;
}

/* Who brings a good token is not shut out for what others at the same address
 * (a proxy's, or this machine's) have guessed. */
static int authenticate(struct call *c, struct err *err)
{
	struct api *api = c->api;
	uint64_t now;
	uint32_t wait;
	int rc = identify(c, err);

	if (rc > 0 || (rc < 0 && err->code == ERR_UNAVAILABLE))
		return rc;
	if (rc == 0 && !api->conf.requests_per_second)
		return 0;
	now = clock_mono(api->conf.clock);
	if (rc < 0) {
		if (rate_take(&api->strangers, c->x->peer, now, &wait))
			return -1;
		api->limited++;
		err_set(err, ERR_RATE, "too many wrong tokens from %s",
			c->x->peer);
		err->retry_after_ms = wait;
		return -1;
	}
	if (rate_take(&api->callers, c->who->id, now, &wait))
		return 0;
	api->limited++;
	err_set(err, ERR_RATE, "more than %u requests a second",
		api->conf.requests_per_second);
	err->retry_after_ms = wait;
	return -1;
}

static void answer_options(struct call *c, const char *allow)
{
	struct reply r = {.status = 204};

	reply_header(&r, "Allow", allow);
	reply_header(&r, "Accept-Patch", "application/merge-patch+json");
	call_reply_with(c, &r);
}

static void answer_method(struct call *c, const char *allow,
			  const struct err *err)
{
	struct buf body = BUF_INIT(4096);
	struct reply r = {.status = 405, .type = "application/problem+json"};

	problem_write(err, r.status, c->x->id, &body);
	r.body = body.data;
	r.len = body.len;
	reply_header(&r, "Allow", allow);
	call_reply_with(c, &r);
	buf_release(&body);
}

/* Find the route; false when the call has been answered. */
static bool find_route(struct call *c)
{
	bool options = strcmp(c->x->method, "OPTIONS") == 0;
	struct buf allow = BUF_INIT(256);
	struct err err;
	bool found = route_find(c, c->x->method, &allow, &err) == 0;

	if (!found && err.code == ERR_METHOD && options)
		answer_options(c, allow.data);
	else if (!found && err.code == ERR_METHOD)
		answer_method(c, allow.data, &err);
	else if (!found)
		call_fail(c, &err);
	buf_release(&allow);
	return found;
}

static void try_again(struct exchange *x);

/* Wait for what is needed to know the caller; it comes soon, or not at all. */
static void hold(struct call *c)
{
	uint64_t now = clock_mono(c->api->conf.clock), since;

	if (c->api->draining) {
		fail_held(c, "the server is stopping");
		return;
	}
	if (!c->held_from) {
		c->held_from = now;
		list_add(&c->api->held, &c->held);
	}
	since = now - c->held_from;
	if (since >= HELD_MOST_MS)
		fail_held(c, "what is needed to know who you are did not come "
			     "in time");
	else
		exchange_after(c->x, since < HELD_SOON_MS ? 10 : 100,
			       try_again);
}

static void go_on(struct call *c)
{
	struct err err;
	int rc = 0;

	if (c->route->need > NEED_TICKET)
		rc = authenticate(c, &err);
	if (rc > 0) {
		hold(c);
		return;
	}
	list_remove(&c->held);
	if (rc < 0 || check_query(c, &err) < 0 || check_accept(c, &err) < 0 ||
	    check_body(c, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	c->route->handle(c);
}

static void try_again(struct exchange *x)
{
	go_on(x->ctx);
}

void api_handle(void *ctx, struct exchange *x)
{
	struct api *api = ctx;
	struct call *c = arena_alloc(x->arena, sizeof(*c));
	struct err err;

	c->api = api;
	c->x = x;
	x->ctx = c;
	list_init(&c->held);
	api->in_flight++;
	if (uri_parse(x->target, repeatable, x->arena, &c->uri, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	if (!find_route(c))
		return;
	/* While it is found out who is calling. */
	if (c->id && c->noun)
		store_expect(api->conf.store, c->noun->kind, c->id);
	if (admit_call(c))
		go_on(c);
}

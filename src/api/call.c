#include "api/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/permit.h"
#include "api/routes.h"
#include "api/verb.h"
#include "base/log.h"

const char *call_arg(const struct call *c, const char *word)
{
	return uri_query(&c->uri, word);
}

int call_number(const struct call *c, const char *word, uint64_t least,
		uint64_t most, uint64_t *ret, struct err *err)
{
	const char *text = call_arg(c, word);
	char *end;

	if (!text)
		return 0;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || *end || !*text ||
	    strspn(text, "0123456789") != strlen(text) || *ret < least ||
	    *ret > most)
		return err_set(err, ERR_INVALID,
			       "the query word %s must be a number from %llu "
			       "to %llu",
			       word, (unsigned long long)least,
			       (unsigned long long)most);
	return 0;
}

int call_body(struct call *c, void *out, struct err *err)
{
	struct arena *a = c->x->arena;
	struct violations v;

	violations_init(&v, a);
	field_decode(c->route->takes, c->body ? c->body : node_new_object(a),
		     FIELD_CREATE, out, &v);
	return v.n ? violations_err(&v, err) : 0;
}

void call_reply_with(struct call *c, struct reply *r)
{
	struct api *api = c->api;
	int class = r->status / 100;

	api->in_flight--;
	if (class > 0 && class < STATUS_CLASSES)
		api->calls[class]++;
	/* Refusals are counted, and told once a second: see admit.h. */
	if ((r->status >= 500 && !c->shed) || log_wants(LOG_DEBUG))
		log_line(r->status >= 500 ? LOG_WARN : LOG_DEBUG, "request",
			 c->x->id, "method=%s path=%s status=%d from=%s%s%.*s",
			 c->x->method, c->uri.path ? c->uri.path : "-",
			 r->status, c->x->peer,
			 r->status >= 500 ? " answer=" : "",
			 r->status >= 500 ? (int)(r->len < 400 ? r->len : 400)
					  : 0,
			 r->body ? r->body : "");
	exchange_reply(c->x, r);
}

enum { TAG_ROOM = 24 };

/* The revision in quotes, in the end of ROOM; where it begins. */
static const char *make_tag(char room[TAG_ROOM], uint64_t revision)
{
	char *p = digits_before(room + TAG_ROOM - 2, (int64_t)revision);

	memcpy(room + TAG_ROOM - 2, "\"", 2);
	*--p = '"';
	return p;
}

void call_reply(struct call *c, int status, const char *json, size_t len,
		uint64_t etag)
{
	struct reply r = {.status = status,
			  .type = json ? "application/json" : NULL,
			  .body = json,
			  .len = len};
	char room[TAG_ROOM];
	const char *tag = etag ? make_tag(room, etag) : NULL;

	if (tag)
		reply_header(&r, "ETag", tag);
	if (c->route->flags & ROUTE_SECRET)
		reply_header(&r, "Cache-Control", "no-store");
	if (c->replayed)
		reply_header(&r, "Idempotency-Replayed", "true");
	if (status == 201 && c->id)
		reply_header(&r, "Location",
			     arena_join(c->x->arena, "/v1/",
					c->noun->kind->plural, "/", c->id,
					NULL));
	call_reply_with(c, &r);
}

void call_show(struct call *c, const struct record *r)
{
	struct buf room = BUF_INIT((size_t)1 << 20);
	struct record shown = *r;

	permit_show(c, &shown, &room);
	call_reply(c, 200, shown.json, shown.len, shown.revision);
	buf_release(&room);
}

bool call_matches(const char *tags, uint64_t have)
{
	char tag[TAG_ROOM];

	return strcmp(tags, "*") == 0 || strstr(tags, make_tag(tag, have));
}

int call_check_match(struct call *c, uint64_t have, struct err *err)
{
	const char *want = exchange_header(c->x, "If-Match");

	if (!want || call_matches(want, have))
		return 0;
	return err_set(err, ERR_STALE,
		       "it is at revision %llu now, and If-Match names %s: "
		       "read it again",
		       (unsigned long long)have, want);
}

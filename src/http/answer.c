#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#include "http/request_priv.h"

enum { TAKEN_LEAST = 16 << 10 };

static struct request *of(struct exchange *x)
{
	return (struct request *)x;
}

void answer_header(struct MHD_Response *response, const char *name,
		   const char *value)
{
	/* Fails for a line break or a NUL in it: then it is not sent. */
	(void)MHD_add_response_header(response, name, value);
}

void answer_common(struct request *r, struct MHD_Response *response)
{
	answer_header(response, "X-Request-Id", r->id);
	if (r->server->stopping || r->last || listen_sheds(r))
		answer_header(response, "Connection", "close");
}

void answer_send(struct request *r, unsigned status,
		 struct MHD_Response *response)
{
	struct conn *c = r->conn;

	timer_free(r->timer);
	r->timer = NULL;
	if (r->phase != PHASE_HELD) {
		r->server->moved = true;
		(void)MHD_queue_response(c->mhd, status, response);
		MHD_destroy_response(response);
		return;
	}
	/* It may be queued only when it is asked for, by request_call(). */
	r->status = status;
	r->response = response;
	request_rest(r);
	list_remove(&r->link);
	if (!request_wake(r))
		MHD_resume_connection(c->mhd);
	server_poke(r->server);
}

/* A large one is not copied when it need not be. */
static void keep_body(struct request *r, const struct reply *reply)
{
	if (reply->own && reply->len > TAKEN_LEAST) {
		buf_release(&r->out);
		r->out = *reply->own;
		*reply->own = BUF_INIT(r->out.max);
		return;
	}
	r->out.max = reply->len;
	buf_add(&r->out, reply->body, reply->len);
}

/* The body is the request's, which is there for as long as libmicrohttpd reads
 * it, and keeps its memory for the next. */
static struct MHD_Response *make(struct request *r, const struct reply *reply)
{
	struct MHD_Response *response;

	keep_body(r, reply);
	response = MHD_create_response_from_buffer(reply->len, r->out.data,
						   MHD_RESPMEM_PERSISTENT);
	if (!response)
		abort(); /* no memory */
	if (reply->type)
		answer_header(response, "Content-Type", reply->type);
	for (size_t i = 0; i < reply->n_headers; i++)
		answer_header(response, reply->headers[i].name,
			      reply->headers[i].value);
	answer_common(r, response);
	return response;
}

static const char *kept_header(const struct request *r, const char *name)
{
	const struct kept_header *h = r->kept;

	while (h && strcasecmp(h->name, name) != 0)
		h = h->next;
	return h ? h->value : NULL;
}

static const char *answer_get_header(struct exchange *x, const char *name)
{
	struct request *r = of(x);

	if (r->phase == PHASE_ORPHAN)
		return kept_header(r, name);
	return MHD_lookup_connection_value(r->conn->mhd, MHD_HEADER_KIND, name);
}

static void answer_orphan(struct request *r)
{
	r->over = true;
	if (r->server)
		request_rest(r);
	if (!r->known)
		request_free(r);
}

static void answer_reply(struct exchange *x, const struct reply *reply)
{
	struct request *r = of(x);

	if (r->phase == PHASE_ORPHAN) {
		answer_orphan(r);
		return;
	}
	assert(r->phase == PHASE_CALLED || r->phase == PHASE_HELD);
	answer_send(r, (unsigned)reply->status, make(r, reply));
	r->phase = PHASE_ANSWERED;
}

void answer_refuse(struct request *r, int status, const char *why)
{
	struct reply reply = {.status = status};
	struct buf body = BUF_INIT(64 << 10);
	struct MHD_Response *response;

	server_refusal(r->server, status, why, &body, &reply.type);
	reply.body = buf_str(&body);
	reply.len = body.len;
	response = make(r, &reply);
	answer_send(r, (unsigned)status, response);
	r->phase = PHASE_ANSWERED;
	buf_release(&body);
}

static void answer_stream(struct exchange *x, const struct reply *head,
			  const struct stream_source *source)
{
	struct request *r = of(x);

	if (r->phase == PHASE_ORPHAN) {
		source->gone(x);
		answer_orphan(r);
		return;
	}
	assert(r->phase == PHASE_CALLED || r->phase == PHASE_HELD);
	stream_begin(r, head, source);
}

static void answer_wake(struct exchange *x)
{
	struct request *r = of(x);

	if (r->phase == PHASE_STREAM)
		stream_wake(r);
}

static void on_after(void *ctx)
{
	struct request *r = ctx;

	r->after(&r->base);
}

static void answer_after(struct exchange *x, uint64_t ms,
			 void (*fn)(struct exchange *x))
{
	struct request *r = of(x);

	if (!r->server || (r->phase != PHASE_CALLED && r->phase != PHASE_HELD &&
			   r->phase != PHASE_ORPHAN))
		return;
	if (!r->timer)
		r->timer = timer_new(r->server->loop, on_after, r);
	request_rest(r);
	r->after = fn;
	timer_set(r->timer, ms);
}

const struct exchange_ops answer_ops = {
	.header = answer_get_header,
	.reply = answer_reply,
	.stream = answer_stream,
	.wake = answer_wake,
	.after = answer_after,
};

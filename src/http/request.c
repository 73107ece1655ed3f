#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/guard.h"

/* As many as there are connections, unless told otherwise. */
enum { SPARE_MOST = 4096 };

/* Who has waited for so long, a turn of the loop and what has passed of the
 * next, may have given up.  Not looked at before: that is a call of the
 * kernel's, and some close their side once they have asked. */
enum { GONE_MS = 200 };

/* A held request waits for the disk, and most of them wait for a moment.  To
 * suspend its connection and resume it takes three calls of the kernel's; so for
 * this long it stays where libmicrohttpd asks for its answer in every run.  Not
 * too many of them, for that takes time, too. */
enum { AWAKE_MS = 20, AWAKE_MOST = 512 };

#define ARENA_MOST ((size_t)256 << 20)

/* A buffer this small keeps its memory for the next request. */
#define KEPT ((size_t)16 << 10)

/* In a query: far more than anyone has use for. */
enum { WORDS_MOST = 128 };

/* Of a body that is too large, so that its sender comes to read why. */
#define DROPPED_MOST ((size_t)16 << 20)

static struct request *take_spare(struct server *s)
{
	struct list *link = list_pop(&s->spare);
	struct request *r;

	if (link) {
		s->n_spare--;
		return CONTAINER_OF(link, struct request, link);
	}
	r = xcalloc(1, sizeof(*r));
	arena_init(&r->arena, ARENA_MOST);
	r->body = BUF_INIT(s->conf.max_body);
	list_init(&r->link);
	list_init(&r->rest);
	return r;
}

void request_free(struct request *r)
{
	list_remove(&r->link);
	list_remove(&r->rest);
	timer_free(r->timer);
	arena_release(&r->arena);
	buf_release(&r->body);
	buf_release(&r->out);
	free(r);
}

static void empty(struct buf *b)
{
	if (b->room > KEPT)
		buf_release(b);
	else
		buf_clear(b);
}

static void put_spare(struct request *r)
{
	struct server *s = r->server;
	struct arena arena = r->arena;
	struct buf body = r->body, out = r->out;

	timer_free(r->timer);
	list_remove(&r->link);
	list_remove(&r->rest);
	if (r->response)
		MHD_destroy_response(r->response);
	if (s->n_spare == SPARE_MOST) {
		r->timer = NULL;
		request_free(r);
		return;
	}
	arena_clear(&arena);
	empty(&body);
	empty(&out);
	*r = (struct request){.arena = arena, .body = body, .out = out};
	list_init(&r->rest);
	/* In front: the one just used is still in the processor's cache. */
	list_add(s->spare.next, &r->link);
	s->n_spare++;
}

static struct conn *conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

static void name_request(struct request *r)
{
	struct server *s = r->server;
	uint64_t n = ++s->next_id;
	char *p = r->id;

	memcpy(p, s->id_prefix, 8);
	p[8] = '-';
	/* Hex digits, the least first: no name needs to be read as a number. */
	for (p += 9; n; n >>= 4)
		*p++ = "0123456789abcdef"[n & 15];
	*p = '\0';
}

/* libmicrohttpd takes a query apart before anyone is asked, and is at a loss
 * when its memory does not do for that. */
static bool has_many_words(const char *target)
{
	int words = 0;

	while (words < WORDS_MOST && (target = strchr(target, '&'))) {
		target++;
		words++;
	}
	return words == WORDS_MOST;
}

void *request_begin(void *ctx, const char *target, struct MHD_Connection *mhd)
{
	struct server *s = ctx;
	struct conn *c = conn_of(mhd);
	struct request *r = take_spare(s);
	char *to;

	r->server = s;
	r->conn = c;
	r->phase = PHASE_NEW;
	r->target_len = target ? strlen(target) : 0;
	r->base.ops = &answer_ops;
	r->base.arena = &r->arena;
	/* A short one, as most are, needs no memory of its own. */
	to = r->target_len < sizeof(r->target)
		     ? r->target
		     : arena_alloc(&r->arena, r->target_len + 1);
	memcpy(to, target ? target : "", r->target_len + 1);
	r->base.target = to;
	r->base.peer = c->address;
	r->base.secure = c->tls;
	r->base.tls_subject = c->tls ? tls_link_subject(c->tls) : NULL;
	r->base.id = r->id;
	r->base.guest = c->guest;
	name_request(r);
	c->request = r;
	/* A first request has had its deadline since the connection came. */
	if (!c->fresh)
		conn_due(c, &s->receiving);
	c->fresh = false;
	if (has_many_words(to))
		conn_refuse(c, 400, "the query has too many words");
	return r;
}

static bool id_is_good(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789._-");

	return n > 0 && n <= 64 && !id[n];
}

static void request_dismiss(struct request *r, const char *why)
{
	buf_release(&r->body);
	conn_dismiss(r->conn, 413, why);
	r->phase = PHASE_DISMISSED;
}

static enum MHD_Result accept_head(struct request *r,
				   struct MHD_Connection *mhd, const char *url,
				   const char *version)
{
	struct guard_facts facts = {0};
	const char *why;
	int status = guard_check(r, mhd, url, version, &facts, &why);

	if (facts.request_id && id_is_good(facts.request_id))
		memcpy(r->id, facts.request_id, strlen(facts.request_id) + 1);
	if (status == 413 && !facts.expects) {
		request_dismiss(r, why);
		return MHD_YES;
	}
	if (status) {
		answer_refuse(r, status, why);
		return MHD_YES;
	}
	/* libmicrohttpd reads chunks and trailers more kindly than others do:
	 * what comes after them is not taken for a request. */
	r->last = facts.chunked || r->conn->guest;
	/* A length that was only announced is not worth much memory. */
	if (facts.length)
		buf_reserve(&r->body, facts.length < KEPT ? (size_t)facts.length
							  : KEPT / 2);
	r->phase = PHASE_RECEIVING;
	return MHD_YES;
}

static enum MHD_Result take_body(struct request *r, const char *bytes,
				 size_t *len)
{
	buf_add(&r->body, bytes, *len);
	*len = 0;
	if (buf_ok(&r->body))
		return MHD_YES;
	/* Only chunks come here: a length was checked with the head. */
	request_dismiss(r, "the body is larger than this server takes");
	return MHD_YES;
}

static enum MHD_Result drop_body(struct request *r, size_t *len)
{
	r->dropped += *len;
	if (*len == 0 || r->dropped > DROPPED_MOST)
		return MHD_NO;
	*len = 0;
	return MHD_YES;
}

static void request_work(struct request *r)
{
	struct server *s = r->server;

	r->works = true;
	if (s->working++ == 0)
		s->worked_ms = loop_now(s->loop);
}

void request_rest(struct request *r)
{
	struct server *s = r->server;

	if (!r->works)
		return;
	r->works = false;
	s->working--;
	s->worked_ms = loop_now(s->loop);
}

static void hold(struct request *r)
{
	struct server *s = r->server;

	r->phase = PHASE_HELD;
	r->since = loop_now(s->loop);
	list_add(&s->held, &r->link);
	if (!r->timer)
		request_work(r);
	r->awake = !r->timer && s->awake < AWAKE_MOST;
	if (r->awake)
		s->awake++;
	else
		MHD_suspend_connection(r->conn->mhd);
}

bool request_wake(struct request *r)
{
	bool was = r->awake;

	r->server->awake -= was;
	r->awake = false;
	return was;
}

static enum MHD_Result deliver(struct request *r)
{
	struct server *s = r->server;
	uint64_t turn = server_turn(s);

	r->base.behind_ms = turn < s->last_ms ? turn : s->last_ms;
	if (turn + s->last_ms > GONE_MS && conn_has_ended(r->conn)) {
		s->stats.left++;
		return MHD_NO;
	}
	conn_due(r->conn, NULL);
	r->phase = PHASE_CALLED;
	r->base.body = buf_str(&r->body);
	r->base.body_len = r->body.len;
	s->conf.handle(s->conf.ctx, &r->base);
	if (r->phase == PHASE_CALLED)
		hold(r);
	return MHD_YES;
}

/* libmicrohttpd asks for the answer of a request that was held. */
static enum MHD_Result ask(struct request *r)
{
	struct server *s = r->server;
	struct MHD_Response *response = r->response;
	enum MHD_Result queued;

	if (response) {
		s->moved = true;
		r->response = NULL;
		queued = MHD_queue_response(r->conn->mhd, r->status, response);
		MHD_destroy_response(response);
		return queued;
	}
	if (loop_now(s->loop) >= r->since + AWAKE_MS) {
		request_wake(r);
		MHD_suspend_connection(r->conn->mhd);
	}
	return MHD_YES;
}

/* libmicrohttpd calls with the head alone, then with pieces of the body if
 * there are any, then once more; its signature is not ours to choose. */
/* NOLINTNEXTLINE(readability-function-size) */
enum MHD_Result request_call(void *ctx, struct MHD_Connection *mhd,
			     const char *url, const char *method,
			     const char *version, const char *upload,
			     size_t *upload_size, void **request)
{
	struct server *s = ctx;
	struct request *r = *request;

	if (!s->dead && (r->phase == PHASE_HELD || r->response))
		return ask(r);
	if (s->dead || (r->phase == PHASE_NEW && r->conn->dismissed))
		return MHD_NO;
	switch (r->phase) {
	case PHASE_NEW:
		r->base.method = method;
		return accept_head(r, mhd, url, version);
	case PHASE_RECEIVING:
		if (*upload_size)
			return take_body(r, upload, upload_size);
		return deliver(r);
	case PHASE_DISMISSED:
		return drop_body(r, upload_size);
	case PHASE_CALLED:
	case PHASE_HELD:
	case PHASE_ANSWERED:
	case PHASE_STREAM:
	case PHASE_UPGRADE:
	case PHASE_ORPHAN:
		break;
	}
	/* Asked again, because its answer could not be queued. */
	return MHD_NO;
}

static enum MHD_Result keep_header(void *ctx, enum MHD_ValueKind kind,
				   const char *name, const char *value)
{
	struct request *r = ctx;
	struct kept_header *h = arena_alloc(&r->arena, sizeof(*h));

	(void)kind;
	h->name = arena_strdup(&r->arena, name);
	h->value = arena_strdup(&r->arena, value ? value : "");
	h->next = r->kept;
	r->kept = h;
	return MHD_YES;
}

/* From now on R is its handler's alone.  What lay in the connection, which does
 * not stay, is kept: a transaction may be run again, and look at it again. */
static void become_orphan(struct request *r)
{
	r->phase = PHASE_ORPHAN;
	r->base.method = arena_strdup(&r->arena, r->base.method);
	r->base.peer = arena_strdup(&r->arena, r->base.peer);
	if (r->base.tls_subject)
		r->base.tls_subject =
			arena_strdup(&r->arena, r->base.tls_subject);
	MHD_get_connection_values(r->conn->mhd, MHD_HEADER_KIND, keep_header,
				  r);
}

void request_done(void *ctx, struct MHD_Connection *mhd, void **request,
		  enum MHD_RequestTerminationCode why)
{
	struct request *r = *request;
	struct conn *c;

	(void)ctx;
	(void)mhd;
	(void)why;
	*request = NULL;
	if (!r)
		return;
	c = r->conn;
	c->request = NULL;
	/* Its client left; what it asked for goes on. */
	if (r->phase == PHASE_HELD) {
		request_wake(r);
		become_orphan(r);
		r->conn = NULL;
		return;
	}
	if (r->phase == PHASE_ORPHAN) {
		r->known = false;
		r->conn = NULL;
		if (r->over)
			request_free(r);
		return;
	}
	if (r->phase == PHASE_STREAM)
		stream_release(r);
	if (r->websocket)
		websocket_abort(r->websocket);
	conn_due(c, &r->server->waiting);
	put_spare(r);
}

void request_orphan(struct request *r)
{
	struct MHD_Connection *mhd = r->conn ? r->conn->mhd : NULL;
	bool asleep = mhd && !request_wake(r);

	request_rest(r);
	if (mhd)
		become_orphan(r);
	r->known = mhd != NULL;
	r->server = NULL;
	list_remove(&r->link);
	timer_free(r->timer);
	r->timer = NULL;
	if (asleep)
		MHD_resume_connection(mhd);
}

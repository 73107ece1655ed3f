#include "http/websocket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <wslay/wslay.h>

#include "base/digest.h"
#include "base/mem.h"
#include "http/request_priv.h"

#define GUID    "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define KEY_LEN 24

/* Bytes taken from one client before others get their turn. */
#define TURN ((size_t)1 << 20)

/* How long a client has to answer our close frame. */
enum { CLOSE_MS = 5000 };

/* Frames that wait to be sent, pongs among them: a client that asks and does
 * not read is not read from. */
enum { FRAMES_MOST = 1024 };

/* From here on a client is behind. */
enum { BEHIND_BYTES = 256 << 10, BEHIND_FRAMES = 256 };

/* What a close frame has room for, beside its code. */
enum { WHY_MOST = 123 };

struct websocket {
	struct request *request;
	struct websocket_handler handler;
	void *ctx;
	wslay_event_context_ptr wslay;
	struct MHD_UpgradeResponseHandle *upgrade; /* NULL: not yet */
	int fd;
	struct poller *poller;
	struct timer *timer; /* the next ping, or the end of a close */
	struct buf early;    /* came right behind the request */
	size_t turn;         /* bytes taken in this one */
	unsigned silent;     /* pings since the client last spoke */
	bool broken;
	bool paused;
	bool closing;  /* nothing more is queued but the close frame, */
	bool said;     /* which is */
	uint16_t code; /* its code */
	char why[WHY_MOST + 1];
};

/* Calls closed(), exactly once: W is gone afterwards. */
static void end(struct websocket *w)
{
	struct request *r = w->request;

	list_remove(&r->link);
	r->websocket = NULL;
	w->handler.closed(w);
	poller_free(w->poller);
	timer_free(w->timer);
	if (w->upgrade)
		(void)MHD_upgrade_action(w->upgrade, MHD_UPGRADE_ACTION_CLOSE);
	server_poke(r->server);
	wslay_event_context_free(w->wslay);
	buf_release(&w->early);
	free(w);
}

void websocket_abort(struct websocket *w)
{
	end(w);
}

static bool is_full(const struct websocket *w)
{
	return wslay_event_get_queued_msg_count(w->wslay) > FRAMES_MOST ||
	       wslay_event_get_queued_msg_length(w->wslay) >
		       WEBSOCKET_QUEUE_MOST / 2;
}

static ssize_t on_recv(wslay_event_context_ptr ctx, uint8_t *to, size_t len,
		       int flags, void *data)
{
	struct websocket *w = data;
	ssize_t n;

	(void)flags;
	if (w->early.len) {
		n = (ssize_t)(w->early.len < len ? w->early.len : len);
		memcpy(to, w->early.data, (size_t)n);
		buf_eat(&w->early, (size_t)n);
		return n;
	}
	if (w->turn >= TURN || w->paused || is_full(w)) {
		wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	n = recv(w->fd, to, len, 0);
	if (n > 0) {
		w->turn += (size_t)n;
		w->silent = 0;
		return n;
	}
	w->broken = n == 0 || errno != EAGAIN;
	wslay_event_set_error(ctx, w->broken ? WSLAY_ERR_CALLBACK_FAILURE
					     : WSLAY_ERR_WOULDBLOCK);
	return -1;
}

static ssize_t on_send(wslay_event_context_ptr ctx, const uint8_t *bytes,
		       size_t len, int flags, void *data)
{
	struct websocket *w = data;
	int more = (flags & WSLAY_MSG_MORE) != 0 ? MSG_MORE : 0;
	ssize_t n = send(w->fd, bytes, len, MSG_NOSIGNAL | more);

	if (n >= 0)
		return n;
	w->broken = errno != EAGAIN;
	wslay_event_set_error(ctx, w->broken ? WSLAY_ERR_CALLBACK_FAILURE
					     : WSLAY_ERR_WOULDBLOCK);
	return -1;
}

static void on_message(wslay_event_context_ptr ctx,
		       const struct wslay_event_on_msg_recv_arg *m, void *data)
{
	struct websocket *w = data;

	(void)ctx;
	if (m->opcode != WSLAY_TEXT_FRAME && m->opcode != WSLAY_BINARY_FRAME)
		return;
	w->handler.message(w, m->opcode == WSLAY_TEXT_FRAME,
			   (const char *)m->msg, m->msg_length);
}

static void want(struct websocket *w)
{
	int events = 0;

	if (!w->poller)
		return;
	if (wslay_event_want_read(w->wslay) && !w->paused && !is_full(w))
		events |= POLLER_READ;
	if (wslay_event_want_write(w->wslay) || (w->closing && !w->said))
		events |= POLLER_WRITE;
	if (w->paused)
		events |= POLLER_GONE;
	poller_want(w->poller, events);
}

static void flush(struct websocket *w)
{
	if (wslay_event_want_write(w->wslay) && wslay_event_send(w->wslay))
		w->broken = true;
	/* A close frame overtakes messages, and none is sent after it: it has
	 * to wait for them. */
	if (!w->closing || w->said || w->broken ||
	    wslay_event_get_queued_msg_count(w->wslay))
		return;
	w->said = true;
	(void)wslay_event_queue_close(w->wslay, w->code,
				      (const uint8_t *)w->why, strlen(w->why));
	if (wslay_event_want_write(w->wslay) && wslay_event_send(w->wslay))
		w->broken = true;
}

bool websocket_is_behind(const struct websocket *w)
{
	return wslay_event_get_queued_msg_count(w->wslay) > BEHIND_FRAMES ||
	       wslay_event_get_queued_msg_length(w->wslay) > BEHIND_BYTES;
}

static void on_events(void *ctx, int events)
{
	struct websocket *w = ctx;

	w->turn = 0;
	if (w->paused && events & POLLER_GONE)
		w->broken = true;
	if (!w->broken && wslay_event_want_read(w->wslay) &&
	    wslay_event_recv(w->wslay))
		w->broken = true;
	if (!w->broken)
		flush(w);
	if (w->handler.drained && events & POLLER_WRITE && !w->broken &&
	    !w->closing && !websocket_is_behind(w))
		w->handler.drained(w);
	if (w->broken || (!wslay_event_want_read(w->wslay) &&
			  !wslay_event_want_write(w->wslay)))
		end(w);
	else
		want(w);
}

static void on_timer(void *ctx)
{
	struct websocket *w = ctx;
	const struct wslay_event_msg ping = {.opcode = WSLAY_PING};

	if (w->paused && !w->closing)
		w->silent = 0;
	if (w->closing || w->silent++ == 2) {
		end(w);
		return;
	}
	(void)wslay_event_queue_msg(w->wslay, &ping);
	timer_set(w->timer, w->request->server->conf.heartbeat_ms);
	want(w);
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd's signature. */
static void on_upgrade(void *ctx, struct MHD_Connection *mhd, void *request,
		       const char *early, size_t early_len, MHD_socket fd,
		       struct MHD_UpgradeResponseHandle *upgrade)
{
	struct request *r = ctx;
	struct websocket *w = r->websocket;
	int on = 1;

	(void)mhd;
	(void)request;
	if (!w) {
		(void)MHD_upgrade_action(upgrade, MHD_UPGRADE_ACTION_CLOSE);
		return;
	}
	/* libmicrohttpd has just turned it off. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	w->fd = fd;
	w->upgrade = upgrade;
	buf_add(&w->early, early, early_len);
	w->poller = poller_new(r->server->loop, fd, on_events, w);
	/* It can be written to: so it begins in the next turn, outside of
	 * libmicrohttpd, with what came early too. */
	poller_want(w->poller, POLLER_READ | POLLER_WRITE);
}

/* Whether the comma-separated LIST has WORD in it. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t n;

		list += strspn(list, ", \t");
		n = strcspn(list, ", \t");
		if (n == len && !strncasecmp(list, word, len))
			return true;
		list += n;
	}
	return false;
}

static int check(struct exchange *x, struct err *err)
{
	const char *key = exchange_header(x, "Sec-WebSocket-Key");
	const char *version = exchange_header(x, "Sec-WebSocket-Version");
	unsigned char nonce[KEY_LEN];

	if (x->ops != &answer_ops)
		return err_set(err, ERR_UNSUPPORTED,
			       "this server has no WebSockets");
	if (strcmp(x->method, "GET") != 0 ||
	    !has_word(exchange_header(x, "Upgrade"), "websocket") ||
	    !has_word(exchange_header(x, "Connection"), "upgrade"))
		return err_set(err, ERR_INVALID,
			       "this is a WebSocket; ask for an upgrade");
	if (!version || strcmp(version, "13") != 0)
		return err_set(err, ERR_INVALID,
			       "only version 13 of WebSocket is spoken here");
	if (!key || strlen(key) != KEY_LEN ||
	    EVP_DecodeBlock(nonce, (const unsigned char *)key, KEY_LEN) < 0)
		return err_set(err, ERR_INVALID,
			       "Sec-WebSocket-Key is not 16 bytes in base64");
	return 0;
}

static void prove(const char *key, char out[32])
{
	char text[KEY_LEN + sizeof(GUID)];
	unsigned char sum[DIGEST_SHA1_LEN];

	memcpy(text, key, KEY_LEN);
	memcpy(text + KEY_LEN, GUID, sizeof(GUID));
	digest_sha1(text, sizeof(text) - 1, sum);
	EVP_EncodeBlock((unsigned char *)out, sum, sizeof(sum));
}

static struct websocket *make(struct request *r,
			      const struct websocket_handler *h, void *ctx)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.on_msg_recv_callback = on_message,
	};
	struct websocket *w = xcalloc(1, sizeof(*w));

	w->request = r;
	w->handler = *h;
	w->ctx = ctx;
	w->fd = -1;
	w->early = BUF_INIT(r->server->conf.max_head);
	if (wslay_event_context_server_init(&w->wslay, &callbacks, w))
		abort(); /* no memory */
	wslay_event_config_set_max_recv_msg_length(
		w->wslay,
		h->message_most ? h->message_most : WEBSOCKET_MESSAGE_MOST);
	w->timer = timer_new(r->server->loop, on_timer, w);
	timer_set(w->timer, r->server->conf.heartbeat_ms);
	return w;
}

int websocket_accept(struct exchange *x, const struct websocket_handler *h,
		     void *ctx, struct websocket **out, struct err *err)
{
	struct request *r = (struct request *)x;
	struct MHD_Response *response;
	char proof[32];

	if (check(x, err))
		return -1;
	response = MHD_create_response_for_upgrade(on_upgrade, r);
	if (!response)
		abort(); /* no memory */
	prove(exchange_header(x, "Sec-WebSocket-Key"), proof);
	answer_header(response, "Upgrade", "websocket");
	answer_header(response, "Sec-WebSocket-Accept", proof);
	answer_header(response, "X-Request-Id", r->id);
	if (h->protocol &&
	    has_word(exchange_header(x, "Sec-WebSocket-Protocol"), h->protocol))
		answer_header(response, "Sec-WebSocket-Protocol", h->protocol);
	answer_send(r, MHD_HTTP_SWITCHING_PROTOCOLS, response);
	r->phase = PHASE_UPGRADE;
	r->websocket = make(r, h, ctx);
	list_add(&r->server->websockets, &r->link);
	*out = r->websocket;
	return 0;
}

void *websocket_ctx(const struct websocket *w)
{
	return w->ctx;
}

int websocket_send(struct websocket *w, bool text, const void *data, size_t len,
		   struct err *err)
{
	const struct wslay_event_msg m = {
		.opcode = text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
		.msg = data,
		.msg_length = len,
	};
	size_t queued = wslay_event_get_queued_msg_length(w->wslay);

	if (queued > WEBSOCKET_QUEUE_MOST ||
	    len > WEBSOCKET_QUEUE_MOST - queued)
		return err_set(err, ERR_TOO_LARGE,
			       "the client does not keep up");
	if (w->closing || wslay_event_queue_msg(w->wslay, &m))
		return err_set(err, ERR_GONE, "the WebSocket is closing");
	want(w);
	return 0;
}

void websocket_pause(struct websocket *w, bool pause)
{
	w->paused = pause;
	want(w);
}

void websocket_close(struct websocket *w, unsigned code, const char *why)
{
	if (w->closing)
		return;
	w->closing = true;
	w->paused = false;
	w->code = (uint16_t)code;
	snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
	timer_set(w->timer, CLOSE_MS);
	want(w);
}

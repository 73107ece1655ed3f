#include "http/dial.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wslay/wslay.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/random.h"
#include "http/client_priv.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum { HEAD_MOST = 64 << 10, QUEUED_MOST = 64 << 10 };
enum { NONCE_LEN = 16, KEY_ROOM = 32 };
enum { CODE_BROKEN = 1006, CODE_DONE = 1000 };

struct dial {
	CURL *curl;
	curl_socket_t fd;
	unsigned timeout_ms;
	struct dial_conf conf; /* of which the callback is kept */
	wslay_event_context_ptr wslay;
	struct buf in; /* came with the answer's head, and not used yet */
	bool broken, closed;
	unsigned code;
	char why[128];
};

void dial_free(struct dial *d)
{
	if (!d)
		return;
	if (d->wslay)
		wslay_event_context_free(d->wslay);
	curl_easy_cleanup(d->curl);
	buf_release(&d->in);
	free(d);
}

/* 1: some; 0: none now; -1: it has ended. */
static int recv_some(struct dial *d, void *to, size_t room, size_t *ret)
{
	CURLcode code;

	if (d->in.len) {
		*ret = d->in.len < room ? d->in.len : room;
		memcpy(to, d->in.data, *ret);
		buf_eat(&d->in, *ret);
		return 1;
	}
	code = curl_easy_recv(d->curl, to, room, ret);
	if (code == CURLE_AGAIN)
		return 0;
	return code == CURLE_OK && *ret ? 1 : -1;
}

static ssize_t on_recv(wslay_event_context_ptr ctx, uint8_t *to, size_t len,
		       int flags, void *data)
{
	struct dial *d = data;
	size_t n = 0;
	int r = recv_some(d, to, len, &n);

	(void)flags;
	if (r > 0)
		return (ssize_t)n;
	d->broken = r < 0;
	wslay_event_set_error(ctx, r < 0 ? WSLAY_ERR_CALLBACK_FAILURE
					 : WSLAY_ERR_WOULDBLOCK);
	return -1;
}

static ssize_t on_send(wslay_event_context_ptr ctx, const uint8_t *bytes,
		       size_t len, int flags, void *data)
{
	struct dial *d = data;
	size_t n = 0;
	CURLcode code = curl_easy_send(d->curl, bytes, len, &n);

	(void)flags;
	if (code == CURLE_OK)
		return (ssize_t)n;
	d->broken = code != CURLE_AGAIN;
	wslay_event_set_error(ctx, d->broken ? WSLAY_ERR_CALLBACK_FAILURE
					     : WSLAY_ERR_WOULDBLOCK);
	return -1;
}

static int on_mask(wslay_event_context_ptr ctx, uint8_t *to, size_t len,
		   void *data)
{
	(void)ctx;
	(void)data;
	random_fill(&random_system, to, len);
	return 0;
}

static void on_message(wslay_event_context_ptr ctx,
		       const struct wslay_event_on_msg_recv_arg *m, void *data)
{
	struct dial *d = data;

	(void)ctx;
	if (m->opcode == WSLAY_TEXT_FRAME || m->opcode == WSLAY_BINARY_FRAME) {
		d->conf.data(d->conf.ctx, (const char *)m->msg, m->msg_length);
	} else if (m->opcode == WSLAY_CONNECTION_CLOSE && !d->closed) {
		d->closed = true;
		d->code = m->status_code ? m->status_code : CODE_DONE;
		if (m->msg_length > 2)
			snprintf(d->why, sizeof(d->why), "%.*s",
				 (int)m->msg_length - 2,
				 (const char *)m->msg + 2);
	}
}

/* Wait for EVENTS; false when they do not come in time. */
static bool await(const struct dial *d, short events)
{
	struct pollfd p = {.fd = d->fd, .events = events};
	int n;

	do
		n = poll(&p, 1, (int)d->timeout_ms);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static bool send_all(struct dial *d, const struct buf *b)
{
	size_t at = 0;

	while (at < b->len) {
		size_t n = 0;
		CURLcode code =
			curl_easy_send(d->curl, b->data + at, b->len - at, &n);

		if (code == CURLE_AGAIN ? !await(d, POLLOUT) : code != CURLE_OK)
			return false;
		at += n;
	}
	return true;
}

/* More of the answer behind what has come; false at its end, or when none comes
 * in time. */
static bool read_more(struct dial *d, struct buf *b)
{
	char piece[4096];
	size_t n = 0;
	CURLcode code;

	for (;;) {
		code = curl_easy_recv(d->curl, piece, sizeof(piece), &n);
		if (code != CURLE_AGAIN)
			break;
		if (!await(d, POLLIN))
			return false;
	}
	if (code != CURLE_OK || !n)
		return false;
	buf_add(b, piece, n);
	return buf_ok(b);
}

/* The value of a header in the LEN bytes of HEAD, copied to TO; "" without. */
static void header(const char *head, size_t len, const char *name, char *to,
		   size_t room)
{
	const char *p = head, *end = head + len;
	size_t name_len = strlen(name);

	to[0] = '\0';
	while ((p = memchr(p, '\n', (size_t)(end - p))) && ++p < end) {
		size_t line = strcspn(p, "\r\n");

		if (line <= name_len || p[name_len] != ':' ||
		    strncasecmp(p, name, name_len) != 0)
			continue;
		p += name_len + 1;
		line -= name_len + 1;
		while (line && *p == ' ') {
			p++;
			line--;
		}
		snprintf(to, room, "%.*s", (int)line, p);
		return;
	}
}

/* An answer that is no upgrade, with its body. */
static void take_refusal(struct dial *d, struct buf *b, size_t head,
			 struct client_result *ret)
{
	char length[24];
	size_t most;

	header(b->data, head, "Content-Length", length, sizeof(length));
	header(b->data, head, "Content-Type", ret->type, sizeof(ret->type));
	header(b->data, head, "X-Request-Id", ret->request_id,
	       sizeof(ret->request_id));
	most = head + strtoul(length, NULL, 10);
	while (b->len < most && read_more(d, b))
		;
	if (b->len < most)
		most = b->len;
	ret->body = BUF_INIT(HEAD_MOST);
	buf_add(&ret->body, b->data + head, most - head);
}

static void prove(const char *key, char out[KEY_ROOM])
{
	char text[KEY_ROOM + sizeof(GUID)];
	unsigned char sum[DIGEST_SHA1_LEN];
	int n = snprintf(text, sizeof(text), "%s%s", key, GUID);

	digest_sha1(text, (size_t)n, sum);
	EVP_EncodeBlock((unsigned char *)out, sum, sizeof(sum));
}

/* What comes back to the request; 0 when it is an answer. */
static int read_answer(struct dial *d, const char *key,
		       struct client_result *ret, struct err *err)
{
	struct buf b = BUF_INIT(HEAD_MOST);
	char proof[KEY_ROOM], shown[64];
	const char *end = NULL;
	size_t head;
	int r = 0;

	while (!(end = strstr(buf_str(&b), "\r\n\r\n")) && read_more(d, &b))
		;
	if (!end || strncmp(b.data, "HTTP/1.1 ", 9) != 0) {
		buf_release(&b);
		return err_set(err, ERR_UNAVAILABLE,
			       "%s does not answer as a server does",
			       d->conf.client.server);
	}
	head = (size_t)(end - b.data) + 4;
	ret->status = (int)strtol(b.data + 9, NULL, 10);
	header(b.data, head, "Sec-WebSocket-Accept", shown, sizeof(shown));
	prove(key, proof);
	if (ret->status != 101) {
		take_refusal(d, &b, head, ret);
	} else if (strcmp(shown, proof) != 0) {
		r = err_set(err, ERR_UNAVAILABLE, "%s does not speak WebSocket",
			    d->conf.client.server);
	} else {
		buf_eat(&b, head);
		d->in = b;
		return 0;
	}
	buf_release(&b);
	return r;
}

static void add_part(CURLU *u, CURLUPart part, const char *before,
		     struct buf *out)
{
	char *text = NULL;

	if (curl_url_get(u, part, &text, 0) != CURLUE_OK)
		return;
	buf_addf(out, "%s%s", before, text);
	curl_free(text);
}

static void add_request(const struct dial_conf *conf, const char *key,
			struct buf *out)
{
	struct buf path = BUF_INIT(HEAD_MOST);
	CURLU *u = curl_url();

	if (!u)
		abort(); /* no memory */
	(void)curl_url_set(u, CURLUPART_URL, conf->client.server, 0);
	add_part(u, CURLUPART_PATH, "", &path);
	while (path.len && path.data[path.len - 1] == '/')
		path.len--;
	buf_addf(out, "GET %.*s%s HTTP/1.1\r\n", (int)path.len, buf_str(&path),
		 conf->target);
	add_part(u, CURLUPART_HOST, "Host: ", out);
	add_part(u, CURLUPART_PORT, ":", out);
	buf_addf(out,
		 "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
		 key);
	if (conf->protocol)
		buf_addf(out, "Sec-WebSocket-Protocol: %s\r\n", conf->protocol);
	if (conf->client.agent)
		buf_addf(out, "User-Agent: %s\r\n", conf->client.agent);
	buf_adds(out, "\r\n");
	buf_release(&path);
	curl_url_cleanup(u);
}

static int upgrade(struct dial *d, struct client_result *ret, struct err *err)
{
	unsigned char nonce[NONCE_LEN];
	char key[KEY_ROOM];
	struct buf request = BUF_INIT(HEAD_MOST);
	bool sent;

	random_fill(&random_system, nonce, sizeof(nonce));
	EVP_EncodeBlock((unsigned char *)key, nonce, sizeof(nonce));
	add_request(&d->conf, key, &request);
	sent = buf_ok(&request) && send_all(d, &request);
	buf_release(&request);
	if (!sent)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s hung up while it was asked",
			       d->conf.client.server);
	return read_answer(d, key, ret, err);
}

static int connect_to(struct dial *d, struct err *err)
{
	const struct client_conf *c = &d->conf.client;
	char why[CURL_ERROR_SIZE] = "";
	CURLcode code;

	curl_easy_setopt(d->curl, CURLOPT_URL, c->server);
	curl_easy_setopt(d->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(d->curl, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(d->curl, CURLOPT_HTTPPROXYTUNNEL, 1L);
	curl_easy_setopt(d->curl, CURLOPT_SSL_ENABLE_ALPN, 0L);
	curl_easy_setopt(d->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(d->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(d->curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(d->curl, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)d->timeout_ms);
	if (c->ca_file)
		curl_easy_setopt(d->curl, CURLOPT_CAINFO, c->ca_file);
	code = curl_easy_perform(d->curl);
	curl_easy_setopt(d->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(d->curl, CURLINFO_ACTIVESOCKET,
					 &d->fd);
	if (code == CURLE_OK)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", c->server,
		       why[0] ? why : curl_easy_strerror(code));
}

int dial_open(const struct dial_conf *conf, struct dial **out,
	      struct client_result *ret, struct err *err)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.genmask_callback = on_mask,
		.on_msg_recv_callback = on_message,
	};
	struct dial *d = xcalloc(1, sizeof(*d));

	*out = NULL;
	*ret = (struct client_result){0};
	d->conf = *conf;
	d->code = CODE_BROKEN;
	d->timeout_ms =
		conf->client.timeout_ms ? conf->client.timeout_ms : 60000;
	d->curl = curl_easy_init();
	if (!d->curl)
		abort(); /* no memory */
	if (connect_to(d, err) < 0 || upgrade(d, ret, err) < 0) {
		dial_free(d);
		return -1;
	}
	if (ret->status != 101) {
		dial_free(d);
		return 0;
	}
	if (wslay_event_context_client_init(&d->wslay, &callbacks, d))
		abort(); /* no memory */
	*out = d;
	return 0;
}

struct pollfd dial_polled(const struct dial *d)
{
	struct pollfd p = {.fd = d->fd};

	if (wslay_event_want_read(d->wslay))
		p.events |= POLLIN;
	if (wslay_event_want_write(d->wslay))
		p.events |= POLLOUT;
	return p;
}

bool dial_turn(struct dial *d)
{
	if (wslay_event_want_read(d->wslay) && wslay_event_recv(d->wslay))
		d->broken = true;
	if (!d->broken && wslay_event_want_write(d->wslay) &&
	    wslay_event_send(d->wslay))
		d->broken = true;
	return !d->broken && (wslay_event_want_read(d->wslay) ||
			      wslay_event_want_write(d->wslay));
}

bool dial_has_room(const struct dial *d)
{
	return wslay_event_get_queued_msg_length(d->wslay) < QUEUED_MOST;
}

void dial_send(struct dial *d, const void *bytes, size_t len)
{
	const struct wslay_event_msg m = {
		.opcode = WSLAY_BINARY_FRAME,
		.msg = bytes,
		.msg_length = len,
	};

	(void)wslay_event_queue_msg(d->wslay, &m);
}

void dial_close(struct dial *d)
{
	(void)wslay_event_queue_close(d->wslay, CODE_DONE, NULL, 0);
}

unsigned dial_code(const struct dial *d)
{
	return d->code;
}

const char *dial_why(const struct dial *d)
{
	return d->why;
}

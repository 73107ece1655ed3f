/*
 * The whole way of a request: bytes on a connection to the real server.
 *
 * A strict reader of our own (RFC 9112, nothing that "a lenient recipient may")
 * cuts the same bytes into requests.  What the handler is given must be what
 * that reader found, one after the other: a request that some reader in front
 * of us would have cut differently must never get there.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "http/server.h"
#include "loop/loop.h"

/*
 * The strict reader: CR LF everywhere, one space, one length.  It knows only what
 * decides where a request ends.
 */
struct strict {
	const char *method, *target, *body;
	size_t body_len;
	bool chunked;
};

struct strict_framing {
	bool has_length, chunked;
	size_t length;
};

static bool strict_is_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f ||
		    strchr("\"(),/:;<=>?@[\\]{}", s[i]))
			return false;
	return len > 0;
}

/* The line at *AT without its CR LF; NULL when there is no whole one.  NUL LF
 * passes for it: libmicrohttpd leaves the same two bytes of both. */
static const char *strict_line(const char **at, const char *end,
			       size_t *ret_len)
{
	const char *line = *at, *lf;

	lf = end > line ? memchr(line, '\n', (size_t)(end - line)) : NULL;
	if (!lf || lf == line || (lf[-1] && lf[-1] != '\r'))
		return NULL;
	*ret_len = (size_t)(lf - 1 - line);
	if (memchr(line, '\r', *ret_len) || memchr(line, '\0', *ret_len))
		return NULL;
	*at = lf + 1;
	return line;
}

static bool strict_number(const char *s, size_t len, int base, size_t *ret)
{
	const char *digits = "0123456789abcdef";

	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		const char *d = memchr(digits, s[i] | (base == 16 ? 0x20 : 0),
				       (size_t)base);

		if (!d || *ret > (size_t)1 << 40)
			return false;
		*ret = *ret * (size_t)base + (size_t)(d - digits);
	}
	return len > 0;
}

static bool strict_header(const char *line, size_t len,
			  struct strict_framing *f)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : 0;
	const char *v = line + name + 1, *end = line + len;

	if (!strict_is_token(line, name))
		return false;
	while (v < end && (*v == ' ' || *v == '\t'))
		v++;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (name == 14 && !strncasecmp(line, "content-length", 14)) {
		if (f->has_length || f->chunked)
			return false;
		f->has_length = true;
		return strict_number(v, (size_t)(end - v), 10, &f->length);
	}
	if (name == 17 && !strncasecmp(line, "transfer-encoding", 17)) {
		if (f->has_length || f->chunked || end - v != 7 ||
		    strncasecmp(v, "chunked", 7) != 0)
			return false;
		f->chunked = true;
	}
	return true;
}

/* libmicrohttpd takes a line that begins with a NUL, or with the colon that it
 * puts one over, for the empty one that ends the head, and a NUL for the end of
 * a value.  The guard measures from the last value to the end of the head and
 * wants four bytes, of which it can no longer tell what they were. */
static bool ends_oddly(const char **at, const char *end, size_t *ret_len)
{
	const char *line = *at, *lf, *last, *nul;
	size_t len;

	lf = end > line ? memchr(line, '\n', (size_t)(end - line)) : NULL;
	if (!lf || lf == line || lf + 1 == end || !strchr("\r\n:", lf[1]))
		return false;
	last = memchr(lf + 1, '\n', (size_t)(end - lf - 1));
	len = (size_t)(lf - line) - (lf[-1] == '\r');
	nul = memchr(line, '\0', len);
	if (nul)
		len = (size_t)(nul - line);
	if (!len || !last || last + 1 - line != (ptrdiff_t)len + 4)
		return false;
	*ret_len = len;
	*at = last + 1;
	return true;
}

/* Headers up to and with the empty line. */
static bool strict_headers(const char **at, const char *end,
			   struct strict_framing *f)
{
	const char *line = *at;
	size_t len;

	if (ends_oddly(at, end, &len))
		return strict_header(line, len, f);
	while ((line = strict_line(at, end, &len))) {
		if (!len)
			return true;
		if (!strict_header(line, len, f))
			return false;
		line = *at;
		if (ends_oddly(at, end, &len))
			return strict_header(line, len, f);
	}
	return false;
}

/*
 * libmicrohttpd takes a bare LF for the end of a line between chunks, behind the
 * guard's back; here alone, so does this reader.
 */
static const char *chunk_line(const char **at, const char *end, size_t *ret_len)
{
	const char *line = *at, *lf;

	lf = end > line ? memchr(line, '\n', (size_t)(end - line)) : NULL;
	if (!lf)
		return NULL;
	*ret_len = (size_t)(lf - line);
	*ret_len -= *ret_len && lf[-1] == '\r';
	*at = lf + 1;
	return line;
}

static bool strict_chunks(const char **at, const char *end, struct buf *body)
{
	const char *line;
	size_t len, n;

	while ((line = chunk_line(at, end, &len))) {
		const char *semicolon = memchr(line, ';', len);

		if (semicolon)
			len = (size_t)(semicolon - line);
		while (semicolon && len && strchr(" \t", line[len - 1]))
			len--;
		if (!strict_number(line, len, 16, &n))
			return false;
		if (!n)
			return true; /* trailers: see check() */
		if (n > (size_t)(end - *at))
			return false;
		buf_add(body, *at, n);
		*at += n;
		line = chunk_line(at, end, &len);
		if (!line || len)
			return false;
	}
	return false;
}

static bool strict_request_line(const char *line, size_t len, struct arena *a,
				struct strict *ret)
{
	const char *one = memchr(line, ' ', len);
	size_t method = one ? (size_t)(one - line) : 0;
	const char *two = one ? memchr(one + 1, ' ', len - method - 1) : NULL;
	size_t target = two ? (size_t)(two - one - 1) : 0;

	if (!strict_is_token(line, method) || !target ||
	    line + len - two != 9 || memcmp(two, " HTTP/1.", 8) != 0 ||
	    two[8] < '0' || two[8] > '9')
		return false;
	ret->method = arena_memdup(a, line, method);
	ret->target = arena_memdup(a, one + 1, target);
	return true;
}

/* Pass over empty lines before a request, as RFC 9112 2.2 asks; libmicrohttpd
 * takes a line that begins with a NUL, or ends with LF alone, for one. */
static void skip_empty(const char **at, const char *end)
{
	const char *next = *at;
	size_t len;

	while (chunk_line(&next, end, &len) && (!len || !**at))
		*at = next;
}

/* The next request; false when there is no whole, good one. */
static bool strict_next(const char **at, const char *end, struct arena *a,
			struct strict *ret)
{
	struct buf body = BUF_INIT((size_t)1 << 20);
	struct strict_framing f = {0};
	const char *line;
	size_t len = 0;
	bool ok;

	*ret = (struct strict){0};
	skip_empty(at, end);
	line = strict_line(at, end, &len);
	ok = line && strict_request_line(line, len, a, ret) &&
	     strict_headers(at, end, &f);
	if (ok && f.chunked)
		ok = strict_chunks(at, end, &body);
	else if (ok && f.length > (size_t)(end - *at))
		ok = false;
	else if (ok) {
		buf_add(&body, *at, f.length);
		*at += f.length;
	}
	ret->chunked = f.chunked;
	ret->body_len = body.len;
	ret->body = arena_memdup(a, buf_str(&body), body.len);
	buf_release(&body);
	return ok;
}

enum { MOST = 64 };

static struct {
	struct loop *loop;
	struct server *server;
	struct sockaddr_in address;
	unsigned long sent; /* connections made */
	struct poller *poller;
	struct timer *timer;
	struct arena arena; /* of one run */
	struct strict got[MOST];
	size_t n_got;
	const char *bytes;
	size_t left;
	int fd;
} run;

static void handle(void *ctx, struct exchange *x)
{
	struct reply r = {.status = 204};

	(void)ctx;
	if (run.n_got < MOST)
		run.got[run.n_got++] = (struct strict){
			.method = arena_strdup(&run.arena, x->method),
			.target = arena_strdup(&run.arena, x->target),
			.body = arena_memdup(&run.arena, x->body, x->body_len),
			.body_len = x->body_len,
		};
	exchange_reply(x, &r);
}

static void refuse(void *ctx, int status, const char *why, struct buf *body,
		   const char **ret_type)
{
	(void)ctx;
	buf_addf(body, "%d %s", status, why);
	*ret_type = "text/plain";
}

static void too_long(void *ctx)
{
	(void)ctx;
	MUST(!"the server neither answers nor closes");
}

/* Until the server closes: what it says does not matter here. */
static void on_client(void *ctx, int events)
{
	char ignored[4096];
	ssize_t n;

	(void)ctx;
	if (events & POLLER_WRITE && run.left) {
		n = send(run.fd, run.bytes, run.left, MSG_NOSIGNAL);
		if (n > 0) {
			run.bytes += n;
			run.left -= (size_t)n;
		}
		if (n < 0 && errno != EAGAIN)
			run.left = 0;
		if (!run.left) {
			shutdown(run.fd, SHUT_WR);
			poller_want(run.poller, POLLER_READ);
		}
	}
	n = recv(run.fd, ignored, sizeof(ignored), 0);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		loop_stop(run.loop);
}

static void set_up(void)
{
	struct server_conf conf = {.listen = "127.0.0.1:0",
				   .max_head = 8192,
				   .max_body = 8192,
				   .idle_ms = 2000,
				   .request_ms = 2000,
				   .handle = handle,
				   .refuse = refuse};
	struct err err = {0};
	const char *colon;

	run.loop = loop_new();
	MUST(server_start(run.loop, &conf, &run.server, &err) == 0);
	run.timer = timer_new(run.loop, too_long, NULL);
	colon = strrchr(server_address(run.server), ':');
	run.address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Ports rest for a minute after use: more addresses have more of them. */
static int connect_somehow(void)
{
	int on = 1;

	for (int i = 0; i < 200; i++) {
		struct sockaddr_in from = {.sin_family = AF_INET};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		MUST(fd >= 0);
		from.sin_addr.s_addr =
			htonl(INADDR_LOOPBACK + (uint32_t)(run.sent++ % 200));
		MUST(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
				sizeof(on)) == 0);
		MUST(bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0);
		if (connect(fd, (struct sockaddr *)&run.address,
			    sizeof(run.address)) == 0)
			return fd;
		close(fd);
	}
	MUST(!"a connection");
	return -1;
}

static void send_all(const char *bytes, size_t size)
{
	int fd = connect_somehow();

	MUST(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	run.fd = fd;
	run.bytes = bytes;
	run.left = size;
	run.poller = poller_new(run.loop, fd, on_client, NULL);
	poller_want(run.poller, POLLER_READ | POLLER_WRITE);
	timer_set(run.timer, 8000);
	loop_run(run.loop);
	timer_stop(run.timer);
	poller_free(run.poller);
	close(fd);
}

/* libmicrohttpd puts NULs over the ends of lines, and so cannot be asked which
 * were sent: heads with NULs are only looked at for crashes. */
static void check(const char *at, size_t size)
{
	const char *end = at + size;

	if (memchr(at, '\0', size))
		return;
	for (size_t i = 0; i < run.n_got; i++) {
		struct strict want;

		MUST(strict_next(&at, end, &run.arena, &want));
		MUST_SAME(run.got[i].method, want.method);
		MUST_SAME(run.got[i].target, want.target);
		MUST(run.got[i].body_len == want.body_len);
		MUST(!memcmp(run.got[i].body, want.body, want.body_len));
		/* Nobody guards the trailers, and what libmicrohttpd takes for
		 * their end is not worth following. */
		if (want.chunked)
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* One more request, so that the server closes without waiting. */
	static const char last[] = "GET /last HTTP/1.1\r\nHost: x\r\n"
				   "Connection: close\r\n\r\n";
	struct buf all = BUF_INIT((size_t)1 << 20);

	if (!run.loop)
		set_up();
	arena_init(&run.arena, (size_t)16 << 20);
	run.n_got = 0;
	buf_add(&all, data, size);
	buf_adds(&all, last);
	send_all(all.data, all.len);
	check(all.data, all.len);
	buf_release(&all);
	arena_release(&run.arena);
	return 0;
}

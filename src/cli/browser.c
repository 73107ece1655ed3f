/* Signing in by way of a browser: it is sent back to a port of this machine,
 * where one request is taken (RFC 8252, RFC 7636). */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/random.h"
#include "cli/oauth.h"
#include "cli/text.h"
#include "http/uri.h"

#define HEAD_MOST 16384

enum { WAIT_MS = 5 * 60 * 1000, SECRET = 32, SECRET_TEXT = 43 };

/* What makes this attempt ours. */
struct attempt {
	const struct oauth_issuer *issuer;
	char verifier[SECRET_TEXT + 1], challenge[SECRET_TEXT + 1];
	char state[SECRET_TEXT + 1], nonce[SECRET_TEXT + 1];
	const char *redirect;
};

static void make_secret(struct cli *c, char out[SECRET_TEXT + 1])
{
	unsigned char bytes[SECRET];

	random_fill(c->random, bytes, sizeof(bytes));
	base64url_encode(bytes, sizeof(bytes), out);
	explicit_bzero(bytes, sizeof(bytes));
}

static void begin(struct cli *c, struct attempt *a)
{
	unsigned char sum[DIGEST_SHA256_LEN];

	make_secret(c, a->verifier);
	make_secret(c, a->state);
	make_secret(c, a->nonce);
	digest_sha256(a->verifier, SECRET_TEXT, sum);
	base64url_encode(sum, sizeof(sum), a->challenge);
}

/* A port of this machine alone. */
static int listen_here(struct cli *c, const char **ret_redirect)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*ret_redirect = arena_printf(&c->arena, "http://127.0.0.1:%u/callback",
				     ntohs(at.sin_port));
	return fd;
}

static const char *question(struct cli *c, const struct attempt *a,
			    const char *place)
{
	bool offline = strstr(a->issuer->scopes, "offline_access");
	const char *const pairs[] = {
		"response_type",  "code",
		"client_id",      a->issuer->client_id,
		"redirect_uri",   a->redirect,
		"scope",          a->issuer->scopes,
		"state",          a->state,
		"nonce",          a->nonce,
		"code_challenge", a->challenge,
		"prompt",         "consent",
	};
	struct buf b = BUF_INIT(64 << 10);
	const char *text;

	buf_addf(&b, "%s%ccode_challenge_method=S256", place,
		 strchr(place, '?') ? '&' : '?');
	for (size_t i = 0; i < COUNT_OF(pairs); i += 2) {
		/* Only who agrees to it may be asked for later. */
		if (strcmp(pairs[i], "prompt") == 0 && !offline)
			continue;
		buf_addf(&b, "&%s=", pairs[i]);
		uri_add_escaped(&b, pairs[i + 1]);
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

/* When there is a screen; the address has been printed in any case. */
static void open_browser(const char *url)
{
	static const char name[] = "xdg-open";
	const char *screen = getenv("DISPLAY"), *wayland;
	posix_spawn_file_actions_t quiet;
	union {
		const char *in;
		char *out;
	} words[] = {{name}, {url}, {NULL}};
	char *argv[] = {words[0].out, words[1].out, NULL};
	pid_t pid;

	wayland = getenv("WAYLAND_DISPLAY");
	if ((!screen || !*screen) && (!wayland || !*wayland))
		return;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	(void)posix_spawnp(&pid, name, &quiet, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
}

static void answer(int fd, const char *status, const char *words)
{
	struct buf b = BUF_INIT(4096);

	buf_addf(&b,
		 "HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\n"
		 "Content-Length: %zu\r\nConnection: close\r\n"
		 "Referrer-Policy: no-referrer\r\n\r\n%s",
		 status, strlen(words), words);
	(void)send(fd, buf_str(&b), b.len, MSG_NOSIGNAL);
	buf_release(&b);
}

static bool wait_for(struct cli *c, int fd, uint64_t end)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = clock_mono(c->clock);

	return now < end && poll(&p, 1, (int)(end - now)) > 0;
}

/* The target of the request at FD; NULL when it is none of ours. */
static const char *read_target(struct cli *c, int fd, uint64_t end)
{
	char head[HEAD_MOST + 1];
	size_t len = 0, target;

	/* A browser that opens a connection in advance must not hold us up. */
	if (end > clock_mono(c->clock) + 2000)
		end = clock_mono(c->clock) + 2000;
	do {
		ssize_t n;

		if (!wait_for(c, fd, end))
			return NULL;
		n = recv(fd, head + len, HEAD_MOST - len, 0);
		if (n <= 0)
			return NULL;
		len += (size_t)n;
		head[len] = '\0';
	} while (!strstr(head, "\r\n\r\n") && len < HEAD_MOST);
	if (strncmp(head, "GET /callback?", 14) != 0)
		return NULL;
	target = strcspn(head + 4, " \r\n");
	return arena_memdup(&c->arena, head + 4, target);
}

/* TARGET answers this attempt's question; anyone on this machine may ask for
 * that page, and most would be a mistake or worse. */
static bool is_ours(struct cli *c, const struct attempt *a, const char *target,
		    struct uri *uri)
{
	static const char *const none[] = {NULL};
	struct err why = {0};
	const char *state, *from;

	if (uri_parse(target, none, &c->arena, uri, &why) < 0)
		return false;
	state = uri_query(uri, "state");
	from = uri_query(uri, "iss");
	return state && strcmp(state, a->state) == 0 &&
	       (!from || strcmp(from, a->issuer->issuer) == 0);
}

static int read_code(struct cli *c, const struct uri *uri, const char **ret,
		     struct failure *p)
{
	const char *error = uri_query(uri, "error_description");

	if (!error)
		error = uri_query(uri, "error");
	*ret = uri_query(uri, "code");
	if (!error && *ret)
		return 0;
	return err_set(
		&p->err, ERR_UNAUTHENTICATED, "the issuer refused: %.200s",
		error ? text_safe(&c->arena, error) : "there is no code");
}

static int wait_code(struct cli *c, const struct attempt *a, int listener,
		     const char **ret, struct failure *p)
{
	uint64_t end = clock_mono(c->clock) +
		       (c->timeout_ms ? c->timeout_ms : WAIT_MS);

	while (wait_for(c, listener, end)) {
		auto_close int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		const char *target = fd < 0 ? NULL : read_target(c, fd, end);
		struct uri uri;
		int rc;

		if (!target || !is_ours(c, a, target, &uri)) {
			if (fd >= 0)
				answer(fd, "404 Not Found", "Not here.");
			continue;
		}
		rc = read_code(c, &uri, ret, p);
		answer(fd, rc < 0 ? "400 Bad Request" : "200 OK",
		       rc < 0 ? "Signing in failed; see the terminal."
			      : "You are signed in, and may close this page.");
		return rc;
	}
	return err_set(&p->err, ERR_TIMEOUT,
		       "the browser did not come back in time");
}

static int redeem(struct cli *c, const struct attempt *a, const char *place,
		  const char *code, struct failure *p)
{
	const char *const pairs[] = {
		"grant_type", "authorization_code", "code",
		code,         "redirect_uri",       a->redirect,
		"client_id",  a->issuer->client_id, "code_verifier",
		a->verifier,
	};
	struct buf form = BUF_INIT(64 << 10);
	struct oauth_answer answered = {0};
	int rc;

	for (size_t i = 0; i < COUNT_OF(pairs); i += 2) {
		buf_addf(&form, "%s%s=", i ? "&" : "", pairs[i]);
		uri_add_escaped(&form, pairs[i + 1]);
	}
	rc = oauth_call(c, place, buf_str(&form), &answered, p);
	buf_release(&form);
	if (rc < 0)
		return -1;
	if (answered.status != 200 || !answered.body)
		return oauth_refused(c, &answered, "the issuer refused", p);
	return oauth_take(c, a->issuer, answered.body, a->nonce, p);
}

int oauth_browser(struct cli *c, const struct oauth_issuer *i,
		  const struct oauth_places *at, struct failure *p)
{
	struct attempt a = {.issuer = i};
	auto_close int listener = listen_here(c, &a.redirect);
	const char *code = NULL, *url;

	if (listener < 0)
		return err_set(&p->err, ERR_UNAVAILABLE,
			       "cannot listen on this machine");
	if (!at->authorization || !uri_is_trusty(at->authorization))
		return err_set(&p->err, ERR_UNSUPPORTED,
			       "%s does not sign in by a browser",
			       text_safe(&c->arena, i->name));
	begin(c, &a);
	url = question(c, &a, at->authorization);
	fprintf(c->err, "Open this address to sign in:\n%s\n",
		text_safe(&c->arena, url));
	fflush(c->err);
	open_browser(url);
	if (wait_code(c, &a, listener, &code, p) < 0)
		return -1;
	return redeem(c, &a, at->token, code, p);
}

#include "http/client.h"

#include <signal.h>

#include "certs.h"
#include "handler.h"
#include "test.h"

/* A server that says one thing to whoever connects: for answers that ours does
 * not give. */
struct fixed {
	pthread_t thread;
	int fd;
	const char *says;
	char url[64];
};

static void *say(void *ctx)
{
	struct fixed *f = ctx;
	char request[4096];
	int fd = accept(f->fd, NULL, NULL);

	(void)!recv(fd, request, sizeof(request), 0);
	(void)!send(fd, f->says, strlen(f->says), MSG_NOSIGNAL);
	/* Until the client has had enough. */
	(void)!recv(fd, request, sizeof(request), 0);
	close(fd);
	return NULL;
}

static void fixed_start(struct fixed *f)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!bind(f->fd, (struct sockaddr *)&at, len) && !listen(f->fd, 1));
	getsockname(f->fd, (struct sockaddr *)&at, &len);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u",
		 ntohs(at.sin_port));
	pthread_create(&f->thread, NULL, say, f);
}

static void fixed_stop(struct fixed *f)
{
	pthread_join(f->thread, NULL);
	close(f->fd);
}

static struct client *make(const char *server, unsigned timeout_ms,
			   const char *ca_file)
{
	struct client_conf conf = {.server = server,
				   .token = "secret",
				   .timeout_ms = timeout_ms,
				   .ca_file = ca_file,
				   .agent = "test/1"};
	struct client *c = NULL;
	struct err err;

	CHECK(client_new(&conf, &c, &err) == 0);
	return c;
}

static void show_headers(struct exchange *x)
{
	static const char *const names[] = {
		"Authorization", "User-Agent", "Content-Type", "Accept",
		"If-Match",      "Expect",     "Last-Event-ID"};
	struct buf b = BUF_INIT(4096);

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *value = exchange_header(x, names[i]);

		buf_addf(&b, "%s|", value ? value : "-");
	}
	answer(x, 200, buf_str(&b), b.len);
	buf_release(&b);
}

static void handle_client(void *ctx, struct exchange *x)
{
	if (!strcmp(x->target, "/headers"))
		show_headers(x);
	else
		handle(ctx, x);
}

static void call_with(const char *address, bool tls, const char *ca_file)
{
	char url[96];
	struct client_call call = {.method = "PUT",
				   .target = "/a%2Fb/../c?d=%20",
				   .body = "x\0y",
				   .len = 3};
	struct client_result r;
	struct client *c;
	struct err err;

	snprintf(url, sizeof(url), "http%s://%s/", tls ? "s" : "", address);
	c = make(url, 0, ca_file);
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK(r.status == 200);
	CHECK_STR(r.type, "text/plain");
	CHECK(strlen(r.request_id) > 8);
	CHECK(strstr(buf_str(&r.body), "PUT /a%2Fb/../c?d=%20 127.0.0.1"));
	client_result_release(&r);
	call = (struct client_call){.method = "GET",
				    .target = "/headers",
				    .accept = "application/json",
				    .if_match = "\"3\"",
				    .last_event_id = "7\r\nX: y"};
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK_STR(buf_str(&r.body), "Bearer secret|test/1|-|"
				    "application/json|\"3\"|-|-|");
	client_result_release(&r);
	call = (struct client_call){.method = "HEAD", .target = "/big"};
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK(r.status == 200 && r.body.len == 0);
	client_result_release(&r);
	call = (struct client_call){.method = "POST", .target = "/later"};
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK(r.status == 201 && r.body.len == 0);
	client_result_release(&r);
	client_free(c);
}

static void calls_are_answered(void)
{
	struct serving s = {.conf = {.handle = handle_client}};

	memset(&seen, 0, sizeof(seen));
	serving_start(&s);
	call_with(s.address, false, NULL);
	/* One connection for all of them. */
	CHECK(serving_stats(&s).accepted == 1);
	serving_stop(&s, 5000);
}

static void over_tls_too(void)
{
	char dir[] = "/tmp/muster-client-XXXXXX", cert[64], key[64], url[96];
	struct cert own = cert_make("client", NULL, true);
	struct serving s = {.conf = {.handle = handle_client,
				     .tls_cert = cert,
				     .tls_key = key}};
	struct client_call call = {.method = "GET", .target = "/"};
	struct client_result r;
	struct client *c;
	struct err err;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	snprintf(key, sizeof(key), "%s/key.pem", dir);
	cert_write(&own, cert, key);
	serving_start(&s);
	call_with(s.address, true, cert);
	snprintf(url, sizeof(url), "https://%s", s.address);
	c = make(url, 0, NULL);
	CHECK(client_call(c, &call, &r, &err) == -1);
	CHECK(err.code == ERR_UNAVAILABLE);
	CHECK(strstr(err.msg, "cannot trust https://127.0.0.1") != NULL);
	client_free(c);
	serving_stop(&s, 5000);
	cert_release(&own);
	unlink(cert);
	unlink(key);
	rmdir(dir);
}

static void failures_say_what_is_wrong(void)
{
	struct client_call call = {.method = "GET", .target = "/"};
	struct client_conf conf = {.server = "ftp://x"};
	struct fixed f = {.says = ""};
	struct client_result r;
	struct client *c;
	struct err err;

	CHECK(client_new(&conf, &c, &err) == -1 && err.code == ERR_INVALID);
	/* A port that was just given up. */
	fixed_start(&f);
	shutdown(f.fd, SHUT_RDWR);
	fixed_stop(&f);
	c = make(f.url, 0, NULL);
	CHECK(client_call(c, &call, &r, &err) == -1);
	CHECK(err.code == ERR_UNAVAILABLE);
	CHECK(strstr(err.msg, "cannot reach http://127.0.0.1:") != NULL);
	CHECK(strstr(err.msg, ": connection refused") != NULL);
	client_free(c);
	c = make("http://no.such.host.invalid", 0, NULL);
	CHECK(client_call(c, &call, &r, &err) == -1);
	CHECK(err.code == ERR_UNAVAILABLE);
	client_free(c);
	fixed_start(&f);
	c = make(f.url, 100, NULL);
	CHECK(client_call(c, &call, &r, &err) == -1);
	CHECK(err.code == ERR_TIMEOUT);
	client_free(c);
	fixed_stop(&f);
}

static void redirects_are_not_followed(void)
{
	struct fixed f = {.says = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
				  "Location: http://127.0.0.1:1/\r\n\r\n"};
	struct client_call call = {.method = "GET", .target = "/"};
	struct client_result r;
	struct client *c;
	struct err err;

	fixed_start(&f);
	c = make(f.url, 0, NULL);
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK(r.status == 302);
	client_result_release(&r);
	client_free(c);
	fixed_stop(&f);
}

static void an_answer_cut_short_is_a_failure(void)
{
	struct fixed f = {.says = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
				  "\r\nabc"};
	struct client_call call = {.method = "GET", .target = "/"};
	struct client_result r;
	struct client *c;
	struct err err;

	fixed_start(&f);
	c = make(f.url, 200, NULL);
	CHECK(client_call(c, &call, &r, &err) == -1);
	client_free(c);
	fixed_stop(&f);
}

static bool on_data(void *ctx, const char *bytes, size_t len)
{
	struct buf *b = ctx;

	buf_add(b, bytes, len);
	return !strstr(buf_str(b), "id: 3\n\n");
}

static void streams_are_given_as_they_come(void)
{
	struct serving s = {0};
	struct buf got = BUF_INIT(1 << 20);
	struct client_call call = {.method = "GET",
				   .target = "/stream",
				   .data = on_data,
				   .ctx = &got};
	struct client_result r;
	struct client *c;
	struct err err;
	char url[96];

	start(&s);
	atomic_store(&seen.wanted, 3);
	snprintf(url, sizeof(url), "http://%s", s.address);
	c = make(url, 0, NULL);
	CHECK(client_call(c, &call, &r, &err) == 0);
	CHECK(r.status == 200 && r.body.len == 0);
	CHECK_STR(buf_str(&got), "id: 1\n\nid: 2\n\nid: 3\n\n");
	client_result_release(&r);
	buf_release(&got);
	client_free(c);
	serving_stop(&s, 5000);
	CHECK(seen.gone == 1);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	unsetenv("http_proxy");
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	unsetenv("ALL_PROXY");
	unsetenv("all_proxy");
	RUN(calls_are_answered);
	RUN(over_tls_too);
	RUN(failures_say_what_is_wrong);
	RUN(redirects_are_not_followed);
	RUN(an_answer_cut_short_is_a_failure);
	RUN(streams_are_given_as_they_come);
	return test_done();
}

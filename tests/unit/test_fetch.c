/* Documents fetched by worker threads, from a server that says what it is
 * told to. */
#include "daemon/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "identity/oidc.h"
#include "loop/loop.h"
#include "signing.h"
#include "test.h"

/* Answers a number of requests, one after the other. */
struct issuer {
	pthread_t thread;
	int fd;
	int requests;
	const char *status;
	struct buf documents[2]; /* discovery, keys */
	char url[64];
	struct oidc_issuer conf;

	struct loop *loop;
	struct timer *late; /* so that a test that fails ends */
	struct fetcher *fetcher;
	size_t keys;
	struct err err;
};

static void *serve(void *ctx)
{
	struct issuer *i = ctx;

	for (int n = 0; n < i->requests; n++) {
		int fd = accept(i->fd, NULL, NULL);
		struct buf b = BUF_INIT((size_t)4 << 20);
		const struct buf *document;
		char head[4096] = "";

		(void)!recv(fd, head, sizeof(head) - 1, 0);
		document = &i->documents[!strstr(head, "/.well-known/")];
		buf_addf(&b,
			 "HTTP/1.1 %s\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n\r\n",
			 i->status, document->len);
		buf_add(&b, document->data, document->len);
		(void)!send(fd, b.data, b.len, MSG_NOSIGNAL);
		(void)!recv(fd, head, sizeof(head), 0);
		close(fd);
		buf_release(&b);
	}
	return NULL;
}

static void get(void *ctx, struct oidc_fetch *f)
{
	struct issuer *i = ctx;

	fetcher_get(i->fetcher, f);
}

static void tell(void *ctx, const struct oidc_issuer *conf, size_t keys,
		 const struct err *err)
{
	struct issuer *i = ctx;

	CHECK(conf == &i->conf);
	i->keys = keys;
	if (err)
		i->err = *err;
	loop_stop(i->loop);
}

static void start(struct issuer *i, int requests)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	EVP_PKEY *key = EVP_EC_gen("P-256");
	socklen_t len = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	i->fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!bind(i->fd, (struct sockaddr *)&at, len) && !listen(i->fd, 4));
	getsockname(i->fd, (struct sockaddr *)&at, &len);
	snprintf(i->url, sizeof(i->url), "http://127.0.0.1:%u",
		 ntohs(at.sin_port));
	i->conf = (struct oidc_issuer){
		.name = "corp", .issuer = i->url, .audience = "muster"};
	i->requests = requests;
	if (!i->status)
		i->status = "200 OK";
	i->documents[0] = BUF_INIT((size_t)1 << 20);
	i->documents[1] = BUF_INIT((size_t)1 << 20);
	buf_addf(&i->documents[0],
		 "{\"issuer\":\"%s\",\"jwks_uri\":\"%s/keys?x=1\"}", i->url,
		 i->url);
	buf_adds(&i->documents[1], "{\"keys\":[");
	add_jwk(&i->documents[1], key, "k", "");
	buf_adds(&i->documents[1], "]}");
	EVP_PKEY_free(key);
}

static void too_late(void *ctx)
{
	struct issuer *i = ctx;

	loop_stop(i->loop);
}

static void run(struct issuer *i, bool wait)
{
	struct oidc_conf conf = {.issuers = &i->conf,
				 .n = 1,
				 .clock = &clock_system,
				 .fetch = get,
				 .tell = tell,
				 .ctx = i};
	struct oidc *oidc;

	pthread_create(&i->thread, NULL, serve, i);
	i->loop = loop_new();
	i->fetcher = fetcher_new(i->loop);
	oidc = oidc_new(&conf);
	oidc_tick(oidc);
	i->late = timer_new(i->loop, too_late, i);
	timer_set(i->late, 30000);
	if (wait)
		loop_run(i->loop);
	timer_free(i->late);
	fetcher_free(i->fetcher);
	oidc_free(oidc);
	loop_free(i->loop);
	pthread_join(i->thread, NULL);
	close(i->fd);
	buf_release(&i->documents[0]);
	buf_release(&i->documents[1]);
}

static void gets_the_keys(void)
{
	struct issuer i = {0};

	start(&i, 2);
	run(&i, true);
	CHECK(i.keys == 1 && !i.err.code);
}

static void takes_no_other_answer_than_200(void)
{
	struct issuer i = {.status = "302 Found"};

	start(&i, 1);
	run(&i, true);
	CHECK(i.keys == 0 && strstr(i.err.msg, "answered with 302"));
}

static void takes_no_document_without_end(void)
{
	struct issuer i = {0};

	start(&i, 1);
	while (i.documents[0].len < (size_t)JWT_SET_MOST + 1)
		buf_adds(&i.documents[0], "                                ");
	run(&i, true);
	CHECK(i.keys == 0 && strstr(i.err.msg, "too large"));
}

static void says_why_it_cannot(void)
{
	struct issuer i = {0};

	start(&i, 0);
	i.conf.issuer = "http://127.0.0.1:1";
	run(&i, true);
	CHECK(i.err.code == ERR_UNAVAILABLE && i.keys == 0);
}

/* Nothing is told, and nothing is left behind. */
static void may_be_stopped_in_the_middle(void)
{
	struct issuer i = {0};

	start(&i, 1);
	run(&i, false);
	CHECK(i.keys == 0 && !i.err.code);
}

int main(void)
{
	RUN(gets_the_keys);
	RUN(takes_no_other_answer_than_200);
	RUN(takes_no_document_without_end);
	RUN(says_why_it_cannot);
	RUN(may_be_stopped_in_the_middle);
	return test_done();
}

#include "http/flow.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "test.h"

/* A server that says one thing to whoever connects, and holds on. */
struct fixed {
	pthread_t thread;
	int fd, peer;
	const char *says;
	bool holds;
	char url[64];
};

static void *say(void *ctx)
{
	struct fixed *f = ctx;
	char request[4096];

	f->peer = accept(f->fd, NULL, NULL);
	(void)!recv(f->peer, request, sizeof(request), 0);
	(void)!send(f->peer, f->says, strlen(f->says), MSG_NOSIGNAL);
	/* Until the client has had enough. */
	if (f->holds)
		(void)!recv(f->peer, request, sizeof(request), 0);
	close(f->peer);
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

static struct client *make(const char *server)
{
	struct client_conf conf = {.server = server};
	struct client *c = NULL;
	struct err err;

	CHECK(client_new(&conf, &c, &err) == 0);
	return c;
}

static bool on_data(void *ctx, const char *bytes, size_t len)
{
	buf_add(ctx, bytes, len);
	return !strstr(buf_str(ctx), "enough");
}

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

static void two_calls_go_on_at_once(void)
{
	struct fixed servers[2] = {{.says = HEAD "one enough", .holds = true},
				   {.says = HEAD "two"}};
	struct buf got[2] = {BUF_INIT(1024), BUF_INIT(1024)};
	struct client_call calls[2];
	struct client *clients[2];
	struct flow *list[2];
	struct flows *f = flows_new();

	for (size_t i = 0; i < 2; i++) {
		fixed_start(&servers[i]);
		clients[i] = make(servers[i].url);
		calls[i] = (struct client_call){.method = "GET",
						.target = "/",
						.data = on_data,
						.ctx = &got[i]};
		list[i] = flow_begin(f, clients[i], &calls[i]);
	}
	while (!flow_is_done(list[0]) || !flow_is_done(list[1]))
		flows_wait(f, NULL, 0, 1000);
	for (size_t i = 0; i < 2; i++) {
		struct client_result r = {0};
		struct err err;

		CHECK(flow_end(list[i], &r, &err) == 0 && r.status == 200);
		client_result_release(&r);
		client_free(clients[i]);
		fixed_stop(&servers[i]);
	}
	CHECK_STR(buf_str(&got[0]), "one enough");
	CHECK_STR(buf_str(&got[1]), "two");
	buf_release(&got[0]);
	buf_release(&got[1]);
	flows_free(f);
}

static void a_descriptor_ends_the_waiting(void)
{
	struct fixed server = {.says = HEAD "begun", .holds = true};
	struct buf got = BUF_INIT(1024);
	struct flows *f = flows_new();
	struct client_call call = {
		.method = "GET", .target = "/", .data = on_data, .ctx = &got};
	struct pollfd fd = {.events = POLLIN};
	struct client *c;
	int ends[2];

	CHECK(pipe(ends) == 0);
	fd.fd = ends[0];
	fixed_start(&server);
	c = make(server.url);
	flow_begin(f, c, &call);
	while (!got.len)
		flows_wait(f, NULL, 0, 1000);
	CHECK(write(ends[1], "x", 1) == 1);
	/* As long as it takes: it must not be for ever. */
	flows_wait(f, &fd, 1, 60000);
	CHECK(fd.revents == POLLIN);
	/* What is under way is dropped. */
	flows_free(f);
	client_free(c);
	fixed_stop(&server);
	close(ends[0]);
	close(ends[1]);
	buf_release(&got);
}

static void a_server_that_is_not_there_is_told(void)
{
	struct flows *f = flows_new();
	struct client *c = make("http://127.0.0.1:1");
	struct client_call call = {.method = "GET", .target = "/"};
	struct flow *w = flow_begin(f, c, &call);
	struct client_result r = {0};
	struct err err = {0};

	while (!flow_is_done(w))
		flows_wait(f, NULL, 0, 1000);
	CHECK(flow_end(w, &r, &err) < 0 && err.code == ERR_UNAVAILABLE);
	flows_free(f);
	client_free(c);
}

int main(void)
{
	RUN(two_calls_go_on_at_once);
	RUN(a_descriptor_ends_the_waiting);
	RUN(a_server_that_is_not_there_is_told);
	return test_done();
}

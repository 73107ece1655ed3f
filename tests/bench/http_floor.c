/*
 * http_floor - what the HTTP library alone can do: fixed bytes from memory, by
 * libmicrohttpd in our loop, with the server's flags and nothing else of it.
 * The floor that `make bench` measures the server against.
 *
 *   bench_http_floor BYTES [hold]     prints the address it listens on
 *
 * With "hold" no request is answered at once: it is asked for its answer again,
 * as one is that waits for the disk, and has it with all others when the loop has
 * nothing else to do.
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"

enum { CONNECTIONS_MOST = 4096 };

struct floor {
	struct MHD_Daemon *mhd;
	struct MHD_Response *response;
	struct timer *again;
	bool ran;
	bool hold;
	bool answers; /* those that are held */
	size_t n_held;
};

static void run(struct floor *f)
{
	MHD_run(f->mhd);
	f->ran = true;
}

static void on_epoll(void *ctx, int events)
{
	(void)events;
	run(ctx);
}

static void on_again(void *ctx)
{
	run(ctx);
}

/* They are asked in one run, and sent in the next. */
static void answer_held(struct floor *f)
{
	f->n_held = 0;
	f->answers = true;
	run(f);
	f->answers = false;
	run(f);
}

static void before_sleep(void *ctx)
{
	struct floor *f = ctx;
	MHD_UNSIGNED_LONG_LONG ms;

	if (!f->ran)
		return;
	if (f->n_held)
		answer_held(f);
	f->ran = false;
	if (MHD_get_timeout(f->mhd, &ms) == MHD_YES && ms == 0)
		timer_set(f->again, 0);
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd's signature. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *upload,
				  size_t *upload_size, void **seen)
{
	struct floor *f = ctx;

	(void)url;
	(void)method;
	(void)version;
	(void)upload;
	/* A reply in the first call would close the connection. */
	if (!*seen) {
		*seen = f;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (f->hold && !f->answers) {
		f->n_held++;
		return MHD_YES;
	}
	return MHD_queue_response(c, f->hold ? MHD_HTTP_CREATED : MHD_HTTP_OK,
				  f->response);
}

/* With the head that the server's answer has, for the same bytes to be sent. */
static struct MHD_Response *fixed(size_t size)
{
	char *body = xmalloc(size + 1);
	struct MHD_Response *r;

	memset(body, 'x', size);
	r = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
	if (r) {
		MHD_add_response_header(r, "Content-Type", "application/json");
		MHD_add_response_header(r, "ETag", "\"123456\"");
		MHD_add_response_header(r, "X-Request-Id", "0123456789ab");
	}
	return r;
}

int main(int argc, char **argv)
{
	static struct floor f;
	const union MHD_DaemonInfo *info;
	struct loop *l = loop_new();
	struct poller *poller;
	unsigned long size = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;

	f.hold = argc > 2;
	f.response = fixed(size);
	f.mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0,
		NULL, NULL, on_request, &f, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)12 << 10, MHD_OPTION_CONNECTION_TIMEOUT, 76U,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!f.response || !f.mhd) {
		fprintf(stderr, "libmicrohttpd does not start\n");
		return 1;
	}
	info = MHD_get_daemon_info(f.mhd, MHD_DAEMON_INFO_BIND_PORT);
	printf("127.0.0.1:%u\n", (unsigned)info->port);
	fflush(stdout);
	f.again = timer_new(l, on_again, &f);
	info = MHD_get_daemon_info(f.mhd, MHD_DAEMON_INFO_EPOLL_FD);
	poller = poller_new(l, info->epoll_fd, on_epoll, &f);
	poller_want(poller, POLLER_READ);
	loop_add_hook(l, before_sleep, &f);
	/* The listening socket joins the epoll set in the first run. */
	run(&f);
	loop_run(l);
	return 0;
}

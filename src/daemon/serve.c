#include "daemon/serve.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "daemon/first.h"
#include "daemon/notify.h"
#include "http/server.h"
#include "http/tls.h"
#include "loop/loop.h"
#include "store/sqlite.h"
#include "store/store.h"

#define TICK_MS 1000

struct daemon {
	const struct config *conf;
	struct loop *loop;
	struct store *store;
	struct api *api;
	struct server *server;
	struct timer *tick;
	struct signals *signals[3];
	bool stopping;
};

static size_t history_bytes(const struct config *c)
{
	if (c->history.max_mib)
		return (size_t)c->history.max_mib << 20;
	return (size_t)sysconf(_SC_PHYS_PAGES) / 4 *
	       (size_t)sysconf(_SC_PAGE_SIZE);
}

static int open_store(struct daemon *d, struct err *err)
{
	const struct config *c = d->conf;
	struct store_conf conf = {
		.clock = &clock_system,
		.random = &random_system,
		.log_revisions = (size_t)c->history.max_revisions,
		.log_age_ms = c->history.max_age_seconds * 1000,
		.log_bytes = history_bytes(c),
		.pending_most = (size_t)c->limits.pending_changes * 2,
	};
	struct backend *backend;

	if (sqlite_open(c->data, d->loop, &backend, err) < 0)
		return -1;
	return store_open(&conf, backend, &d->store, err);
}

static void add(struct buf *b, const char *name, const char *type,
		const char *help, uint64_t value)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name,
		 type, name, (unsigned long long)value);
}

static void metrics(void *ctx, struct buf *out)
{
	struct daemon *d = ctx;
	struct server_stats stats;

	server_stats(d->server, &stats);
	add(out, "muster_connections", "gauge", "Connections open.",
	    stats.connections);
	add(out, "muster_connections_total", "counter", "Connections accepted.",
	    stats.accepted);
	add(out, "muster_http_refused_total", "counter",
	    "Requests refused before they were read.", stats.refused);
}

static int start_server(struct daemon *d, struct err *err)
{
	const struct config *c = d->conf;
	struct api_conf api = {
		.store = d->store,
		.clock = &clock_system,
		.random = &random_system,
		.version = MUSTER_VERSION,
		.requests_per_second = (unsigned)c->limits.requests_per_second,
		.pending_most = (size_t)c->limits.pending_changes,
		.streams_most = (size_t)c->limits.watches,
		.metrics = metrics,
		.ctx = d,
	};
	struct server_conf server = {
		.listen = c->listen,
		.tls_cert = c->tls.cert,
		.tls_key = c->tls.key,
		.tls_client_ca = c->tls.client_ca,
		.max_connections = (unsigned)c->limits.connections,
		.max_per_address = (unsigned)c->limits.connections_per_address,
		.max_body = (size_t)c->limits.body_bytes,
		.max_head = (size_t)c->limits.head_bytes,
		.idle_ms = (unsigned)c->limits.idle_seconds * 1000,
		.request_ms = (unsigned)c->limits.request_seconds * 1000,
		.handle = api_handle,
		.refuse = api_refuse,
	};

	d->api = api_new(&api);
	server.ctx = d->api;
	return server_start(d->loop, &server, &d->server, err);
}

static void on_tick(void *ctx)
{
	struct daemon *d = ctx;

	store_expire(d->store);
	timer_set(d->tick, TICK_MS);
}

static void on_stopped(void *ctx)
{
	struct daemon *d = ctx;

	loop_stop(d->loop);
}

static void on_stop(void *ctx)
{
	struct daemon *d = ctx;

	if (d->stopping) {
		log_warn("stop", "asked again: not waiting any longer");
		loop_stop(d->loop);
		return;
	}
	d->stopping = true;
	notify("STOPPING=1");
	log_info("stop", "finishing what was accepted");
	api_drain(d->api);
	server_stop(d->server, (uint64_t)d->conf->limits.stop_seconds * 1000,
		    on_stopped, d);
}

static void on_reload(void *ctx)
{
	struct daemon *d = ctx;
	struct err err = {0};

	if (!d->conf->tls.cert)
		log_info("reload", "there is no certificate to read again");
	else if (server_reload(d->server, &err) < 0)
		log_error("reload", "the old certificate stays: %s", err.msg);
	else
		log_info("reload", "the certificate was read again");
}

/* The buffers of long lists and of streams come and go: giving their memory
 * back each time costs more than the work that is done in it. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 2 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
}

static int start(struct daemon *d, struct err *err)
{
	keep_memory();
	/* A limit on file sizes shall be an error of the write, not the end. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	d->loop = loop_new();
	if (open_store(d, err) < 0 ||
	    first_start(d->store, d->loop, d->conf->data, err) < 0 ||
	    start_server(d, err) < 0)
		return -1;
	d->signals[0] = signals_new(d->loop, SIGTERM, on_stop, d);
	d->signals[1] = signals_new(d->loop, SIGINT, on_stop, d);
	d->signals[2] = signals_new(d->loop, SIGHUP, on_reload, d);
	d->tick = timer_new(d->loop, on_tick, d);
	timer_set(d->tick, TICK_MS);
	return 0;
}

static void finish(struct daemon *d)
{
	server_free(d->server);
	timer_free(d->tick);
	for (size_t i = 0; i < COUNT_OF(d->signals); i++)
		signals_free(d->signals[i]);
	store_close(d->store);
	api_free(d->api);
	if (d->loop)
		loop_free(d->loop);
}

int serve_check(const struct config *conf, struct err *err)
{
	struct tls_conf files = {conf->tls.cert, conf->tls.key,
				 conf->tls.client_ca};
	struct loop *l;
	struct tls *tls = NULL;
	int r;

	if (!conf->tls.cert)
		return 0;
	l = loop_new();
	r = tls_new(l, &files, &tls, err);
	tls_free(tls);
	loop_free(l);
	return r;
}

int serve(const struct config *conf, struct err *err)
{
	struct daemon d = {.conf = conf};
	const char *scheme = conf->tls.cert ? "https" : "http";

	if (start(&d, err) < 0) {
		finish(&d);
		return -1;
	}
	log_info("start", "muster %s revision=%llu data=%s", MUSTER_VERSION,
		 (unsigned long long)store_revision(d.store), conf->data);
	log_info("ready", "listening on %s://%s", scheme,
		 server_address(d.server));
	first_steps(conf->data, scheme, server_address(d.server));
	notify("READY=1");
	loop_run(d.loop);
	finish(&d);
	log_info("stopped", "bye");
	return 0;
}

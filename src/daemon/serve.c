#include "daemon/serve.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "base/seal.h"
#include "daemon/fetch.h"
#include "daemon/first.h"
#include "daemon/notify.h"
#include "daemon/provider.h"
#include "daemon/reconciler.h"
#include "daemon/secrets.h"
#include "daemon/tally.h"
#include "http/server.h"
#include "http/tls.h"
#include "identity/oidc.h"
#include "identity/quota.h"
#include "loop/loop.h"
#include "reconcile/cascade.h"
#include "store/backend.h"
#include "store/sqlite.h"
#include "store/store.h"

#define TICK_MS 1000

/* How often the last of the audit trail is looked at before giving up. */
#define STOP_TICKS_MOST 2000

struct daemon {
	const struct config *conf;
	struct loop *loop;
	struct store *store;
	struct quota_sums *sums;
	struct tally tally;
	struct keyring *keys;
	bool keys_fixed; /* by the environment */
	struct cascade *cascade;
	struct reconciler *reconciler;
	struct fetcher *fetcher; /* NULL: there are no issuers */
	struct oidc *oidc;
	struct api *api;
	struct server *server;
	struct timer *tick;
	struct signals *signals[3];
	bool stopping, served; /* asked to stop; nobody is served any more */
	unsigned stop_ticks;
};

static size_t history_bytes(const struct config *c)
{
	if (c->history.max_mib)
		return (size_t)c->history.max_mib << 20;
	return (size_t)sysconf(_SC_PHYS_PAGES) / 4 *
	       (size_t)sysconf(_SC_PAGE_SIZE);
}

static void observe(void *ctx, const struct kind *k, const void *object, int by)
{
	struct daemon *d = ctx;

	quota_observe(d->sums, k, object, by);
	tally_observe(&d->tally, k, object, by);
}

/* What waits is written in a few batches, however long one takes. */
enum { BATCH_MOST = 512 };

static int open_store(struct daemon *d, struct err *err)
{
	const struct config *c = d->conf;
	struct store_conf conf = {
		.clock = &clock_system,
		.random = &random_system,
		.observe = observe,
		.observe_ctx = d,
		.log_revisions = (size_t)c->history.max_revisions,
		.log_age_ms = c->history.max_age_seconds * 1000,
		.log_bytes = history_bytes(c),
		.batch_most = BATCH_MOST,
		.pending_most = (size_t)c->limits.pending_changes * 2,
		.event_age_ms = c->events.max_age_hours * 3600 * 1000,
		.audit_age_ms = c->audit.max_age_days * 86400 * 1000,
	};
	struct backend *backend;

	d->sums = quota_sums_new();
	if (sqlite_open(c->data, d->loop, &backend, err) < 0)
		return -1;
	if (secrets_open(c->data, c->secrets.key_file, &d->keys, err) < 0) {
		backend->ops->close(backend);
		return -1;
	}
	conf.keys = d->keys;
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
	add(out, "muster_http_left_total", "counter",
	    "Requests whose clients had gone before they were looked at.",
	    stats.left);
	reconciler_metrics(d->reconciler, out);
	tally_write(&d->tally, out);
}

static void tell_keys(void *ctx, const struct oidc_issuer *issuer, size_t keys,
		      const struct err *err)
{
	(void)ctx;
	if (err)
		log_warn("oidc", "issuer=%s the keys cannot be fetched%s: %s",
			 issuer->name, keys ? ", the old ones stay" : "",
			 err->msg);
	else
		log_info("oidc", "issuer=%s keys=%zu", issuer->name, keys);
}

static void start_oidc(struct daemon *d)
{
	struct oidc_conf conf = {.issuers = d->conf->oidc.at,
				 .n = d->conf->oidc.n,
				 .clock = &clock_system,
				 .fetch = fetcher_get,
				 .tell = tell_keys};

	if (!conf.n)
		return;
	conf.ctx = d->fetcher = fetcher_new(d->loop);
	d->oidc = oidc_new(&conf);
	oidc_tick(d->oidc);
}

static void start_reconciler(struct daemon *d)
{
	struct reconciler_conf conf = {
		.loop = d->loop,
		.store = d->store,
		.data = d->conf->data,
		.workers = (size_t)d->conf->workers,
	};

	d->cascade = cascade_new(d->store);
	d->reconciler = reconciler_new(&conf);
}

static int start_server(struct daemon *d, struct err *err)
{
	const struct config *c = d->conf;
	struct api_conf api = {
		.store = d->store,
		.sums = d->sums,
		.clock = &clock_system,
		.random = &random_system,
		.version = MUSTER_VERSION,
		.oidc = d->oidc,
		.mtls = c->mtls.at,
		.n_mtls = c->mtls.n,
		.requests_per_second = (unsigned)c->limits.requests_per_second,
		.pending_most = (size_t)c->limits.pending_changes,
		.streams_most = (size_t)c->limits.watches,
		.loop = d->loop,
		.consoles_most = (size_t)c->limits.consoles,
		.consoles_each = (size_t)c->limits.consoles_per_caller,
		.console_ticket_ms = (uint64_t)c->limits.ticket_seconds * 1000,
		.console_idle_ms =
			(uint64_t)c->limits.console_idle_seconds * 1000,
		.console_ms = (uint64_t)c->limits.console_seconds * 1000,
		.live = reconciler_live(d->reconciler),
		.check_region = provider_check_region,
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

/* What the audit trail has yet to be told is not lost by stopping. */
static void on_stopped(void *ctx)
{
	struct daemon *d = ctx;

	d->served = true;
	if (store_idle(d->store) || d->stop_ticks++ == STOP_TICKS_MOST) {
		loop_stop(d->loop);
		return;
	}
	store_expire(d->store);
	timer_set(d->tick, 1);
}

static void on_tick(void *ctx)
{
	struct daemon *d = ctx;

	if (d->served) {
		on_stopped(d);
		return;
	}
	store_expire(d->store);
	cascade_tick(d->cascade);
	oidc_tick(d->oidc);
	timer_set(d->tick, TICK_MS);
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

/* Those in the environment are as they were. */
static void reload_keys(struct daemon *d)
{
	const struct config *c = d->conf;
	struct keyring *keys;
	struct err err = {0};

	if (d->keys_fixed)
		return;
	if (secrets_open(c->data, c->secrets.key_file, &keys, &err) < 0) {
		log_error("reload", "the old keys stay: %s", err.msg);
		return;
	}
	store_set_keys(d->store, keys);
	keyring_free(d->keys);
	d->keys = keys;
	log_info("reload", "the keys of secrets were read again; newest=%s",
		 keyring_id(keys, 0));
}

static void on_reload(void *ctx)
{
	struct daemon *d = ctx;
	struct err err = {0};

	reload_keys(d);
	if (!d->conf->tls.cert)
		log_info("reload", "there is no certificate to read again");
	else if (server_reload(d->server, &err) < 0)
		log_error("reload", "the old certificate stays: %s", err.msg);
	else
		log_info("reload", "the certificate was read again");
}

static int start(struct daemon *d, struct err *err)
{
	/* A limit on file sizes shall be an error of the write, not the end. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!d->conf->secrets.core_dumps)
		secrets_harden();
	d->keys_fixed = getenv(SECRETS_VARIABLE);
	d->loop = loop_new();
	if (open_store(d, err) < 0)
		return -1;
	secrets_forget_environment();
	if (first_start(d->store, d->loop, d->conf, err) < 0)
		return -1;
	start_oidc(d);
	start_reconciler(d);
	if (start_server(d, err) < 0)
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
	reconciler_free(d->reconciler);
	server_free(d->server);
	timer_free(d->tick);
	for (size_t i = 0; i < COUNT_OF(d->signals); i++)
		signals_free(d->signals[i]);
	cascade_free(d->cascade);
	store_close(d->store);
	quota_sums_free(d->sums);
	keyring_free(d->keys);
	api_free(d->api);
	fetcher_free(d->fetcher);
	oidc_free(d->oidc);
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
	first_steps(d.store, conf, scheme, server_address(d.server));
	notify("READY=1");
	loop_run(d.loop);
	finish(&d);
	log_info("stopped", "bye");
	return 0;
}

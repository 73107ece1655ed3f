/* metrics - the small answers: health, numbers, who and what. */
#include <string.h>

#include "api/consoles.h"
#include "api/routes.h"
#include "model/region.h"
#include "store/read.h"

static void reply_text(struct call *c, int status, const char *text, size_t len)
{
	struct reply r = {.status = status,
			  .type = "text/plain; charset=utf-8",
			  .body = text,
			  .len = len};

	call_reply_with(c, &r);
}

void handle_health(struct call *c)
{
	reply_text(c, 200, "ok\n", 3);
}

void handle_ready(struct call *c)
{
	if (c->api->draining)
		reply_text(c, 503, "stopping\n", 9);
	else
		reply_text(c, 200, "ok\n", 3);
}

static void add(struct buf *b, const char *name, const char *type,
		const char *help, uint64_t value)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name,
		 type, name, (unsigned long long)value);
}

static void add_calls(struct buf *b, const struct api *api)
{
	buf_adds(b, "# HELP muster_requests_total Requests answered, by class "
		    "of status.\n# TYPE muster_requests_total counter\n");
	for (int i = 2; i < STATUS_CLASSES; i++)
		buf_addf(b, "muster_requests_total{class=\"%dxx\"} %llu\n", i,
			 (unsigned long long)api->calls[i]);
	add(b, "muster_requests_in_flight", "gauge",
	    "Requests and streams under way.", api->in_flight);
	add(b, "muster_requests_shed_total", "counter",
	    "Requests refused because there was too much to do.", api->shed);
	add(b, "muster_requests_limited_total", "counter",
	    "Requests refused for their rate.", api->limited);
	add(b, "muster_watches", "gauge", "Watches and long polls open.",
	    api->streams);
	add(b, "muster_consoles", "gauge", "Consoles being relayed.",
	    consoles_relayed(api->consoles));
}

static void add_store(struct buf *b, const struct store *s)
{
	struct store_stats stats;

	store_stats(s, &stats);
	add(b, "muster_store_revision", "gauge", "Newest durable revision.",
	    stats.durable);
	add(b, "muster_store_oldest_revision", "gauge",
	    "Oldest revision that can be read.", stats.oldest);
	add(b, "muster_store_commits_total", "counter", "Batches written.",
	    stats.commits);
	add(b, "muster_store_failures_total", "counter",
	    "Batches that could not be written.", stats.failures);
	add(b, "muster_store_reruns_total", "counter",
	    "Functions run again because another server was first.",
	    stats.reruns);
	add(b, "muster_store_pending", "gauge", "Changes not yet durable.",
	    stats.pending);
	add(b, "muster_store_history_bytes", "gauge",
	    "Memory held by superseded versions.", stats.history_bytes);
	add(b, "muster_store_commit_milliseconds", "gauge",
	    "How long the last batch took.", stats.commit_ms);
	buf_adds(b, "# HELP muster_objects Objects, by kind.\n"
		    "# TYPE muster_objects gauge\n");
	for (size_t i = 0; kinds[i]; i++)
		buf_addf(b, "muster_objects{kind=\"%s\"} %zu\n", kinds[i]->name,
			 stats.objects[i]);
}

/* A number that a region's monitoring has, of each region. */
static void add_region_gauge(struct buf *b, const struct store *s,
			     const char *name, const char *help, size_t at)
{
	struct scan scan = store_scan(s, 0, &region_kind, NULL);
	struct record r;
	size_t effort = 0;

	buf_addf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	while (scan_next(&scan, &r, &effort)) {
		const struct region *region = r.object;
		const char *m = (const char *)&region->status.monitor;

		buf_addf(b, "%s{region=\"%s\"} %lld\n", name, region_mark(r.id),
			 (long long)*(const int64_t *)(const void *)(m + at));
	}
}

static void add_regions(struct buf *b, const struct store *s)
{
	add_region_gauge(b, s, "muster_region_missing",
			 "Machines missing at once, too many to be believed.",
			 offsetof(struct monitoring, missing));
	add_region_gauge(b, s, "muster_orphans",
			 "Machines and other things that carry our tags and "
			 "are nobody's.",
			 offsetof(struct monitoring, orphan_count));
}

void handle_metrics(struct call *c)
{
	struct buf b = BUF_INIT((size_t)1 << 20);
	struct reply r = {.status = 200,
			  .type = "text/plain; version=0.0.4; charset=utf-8"};

	add_calls(&b, c->api);
	add_store(&b, c->api->conf.store);
	add_regions(&b, c->api->conf.store);
	if (c->api->conf.metrics)
		c->api->conf.metrics(c->api->conf.ctx, &b);
	r.body = b.data;
	r.len = b.len;
	call_reply_with(c, &r);
	buf_release(&b);
}

void handle_version(struct call *c)
{
	const char *json =
		arena_printf(c->x->arena,
			     "{\"name\":\"muster\",\"version\":\"%s\","
			     "\"api\":\"v1\"}",
			     c->api->conf.version);

	call_reply(c, 200, json, strlen(json), 0);
}

static void add_ids(struct buf *b, const struct principal *p)
{
	buf_adds(b, ",\"userIds\":[");
	for (size_t i = 0; i < p->n_ids; i++) {
		if (i)
			buf_addc(b, ',');
		json_add_string(b, p->ids[i], strlen(p->ids[i]));
	}
	buf_addc(b, ']');
}

static void add_who(struct buf *b, const struct principal *p)
{
	buf_adds(b, "{\"id\":");
	json_add_string(b, p->id, strlen(p->id));
	buf_adds(b, ",\"name\":");
	json_add_string(b, p->name, strlen(p->name));
	if (p->token_id)
		buf_addf(b, ",\"tokenId\":\"%s\"", p->token_id);
	if (p->n_ids > 1)
		add_ids(b, p);
	buf_adds(b, ",\"grants\":[");
	for (size_t i = 0; i < p->n; i++) {
		const struct grant *g = &p->grants[i];

		buf_adds(b, i ? ",{" : "{");
		if (g->organization)
			buf_addf(b, "\"organizationId\":\"%s\",",
				 g->organization);
		if (g->project)
			buf_addf(b, "\"projectId\":\"%s\",", g->project);
		buf_adds(b, "\"permissions\":");
		rights_write(&g->rights, b);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
	if (p->as) {
		buf_adds(b, ",\"actingFor\":");
		add_who(b, p->as);
	}
	buf_addc(b, '}');
}

void handle_whoami(struct call *c)
{
	struct buf b = BUF_INIT((size_t)1 << 30);

	add_who(&b, c->who);
	call_reply(c, 200, b.data, b.len, 0);
	buf_release(&b);
}

void handle_openapi(struct call *c)
{
	struct buf *doc = &c->api->openapi;

	/* Written when it is first asked for: a start need not wait for it. */
	if (!doc->len)
		openapi_write(c->api->conf.version, doc);

	call_reply(c, 200, doc->data, doc->len, 0);
}

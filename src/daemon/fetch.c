#include "daemon/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/client.h"
#include "identity/oidc.h"
#include "loop/pool.h"

/* A slow issuer must not keep the others waiting. */
enum { THREADS = 2, TIMEOUT_MS = 5000 };

struct fetcher {
	struct pool *pool;
	struct list jobs; /* under way */
};

struct fetch_job {
	struct job job;
	struct list link;
	struct oidc_fetch *fetch; /* NULL: nobody waits for it any more */
	char *url, *ca_file;
	size_t most;
	struct client_result result;
	struct err err;
	bool failed;
};

struct fetcher *fetcher_new(struct loop *l)
{
	struct fetcher *f = xcalloc(1, sizeof(*f));

	list_init(&f->jobs);
	f->pool = pool_new(l, THREADS);
	return f;
}

void fetcher_free(struct fetcher *f)
{
	struct list *l;

	if (!f)
		return;
	pool_free(f->pool);
	/* Their done() is yet to come. */
	while ((l = list_pop(&f->jobs)))
		CONTAINER_OF(l, struct fetch_job, link)->fetch = NULL;
	free(f);
}

/* "https://host" and "/path", of one address. */
static int get(struct fetch_job *j, struct err *err)
{
	const char *host = strstr(j->url, "://") + 3;
	const char *path = host + strcspn(host, "/?");
	auto_free char *server = xmemdup(j->url, (size_t)(path - j->url));
	struct client_conf conf = {.server = server,
				   .ca_file = j->ca_file,
				   .timeout_ms = TIMEOUT_MS,
				   .body_most = j->most,
				   .agent = "muster/" MUSTER_VERSION};
	struct client_call call = {.method = "GET",
				   .target = *path ? path : "/",
				   .accept = "application/json"};
	struct client *client;
	int rc;

	if (client_new(&conf, &client, err) < 0)
		return -1;
	rc = client_call(client, &call, &j->result, err);
	client_free(client);
	if (rc == 0 && j->result.status != 200)
		return err_set(err, ERR_UNAVAILABLE, "%.200s answered with %d",
			       j->url, j->result.status);
	return rc;
}

static void run(struct job *job)
{
	struct fetch_job *j = CONTAINER_OF(job, struct fetch_job, job);

	j->failed = get(j, &j->err) < 0;
}

static void done(struct job *job)
{
	struct fetch_job *j = CONTAINER_OF(job, struct fetch_job, job);

	list_remove(&j->link);
	if (j->fetch)
		oidc_fetched(j->fetch, buf_str(&j->result.body),
			     j->result.body.len, j->failed ? &j->err : NULL);
	client_result_release(&j->result);
	free(j->url);
	free(j->ca_file);
	free(j);
}

void fetcher_get(void *ctx, struct oidc_fetch *f)
{
	struct fetcher *fetcher = ctx;
	struct fetch_job *j = xcalloc(1, sizeof(*j));

	j->job.run = run;
	j->job.done = done;
	j->fetch = f;
	j->url = xstrdup(f->url);
	j->ca_file = f->ca_file ? xstrdup(f->ca_file) : NULL;
	j->most = f->most;
	list_add(&fetcher->jobs, &j->link);
	pool_run(fetcher->pool, &j->job);
}

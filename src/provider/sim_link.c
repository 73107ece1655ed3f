#include "provider/sim_link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "http/client.h"

#define ASK_MOST    ((size_t)1 << 20)
#define ANSWER_MOST ((size_t)16 << 20)

/* Connections that are kept between calls. */
enum { CLIENTS_MOST = 64 };

struct sim_link {
	const struct provider_conf *conf;
	const struct sim_options *options; /* the region's */
	struct sim_options *behaves;       /* the cloud's; NULL: the same */
	struct sim_cloud *cloud;           /* NULL: it is elsewhere */
	pthread_mutex_t lock;              /* around cloud and clients */
	struct client *clients[CLIENTS_MOST];
	size_t n_clients;
};

static struct client *take_client(struct sim_link *l, struct err *err)
{
	struct client_conf conf = {
		.server = l->options->endpoint,
		.timeout_ms = (unsigned)l->options->timeout_ms,
		.body_most = ANSWER_MOST,
		.agent = "muster-sim/" MUSTER_VERSION,
	};
	struct client *c = NULL;

	pthread_mutex_lock(&l->lock);
	if (l->n_clients)
		c = l->clients[--l->n_clients];
	pthread_mutex_unlock(&l->lock);
	if (!c && client_new(&conf, &c, err) < 0)
		return NULL;
	return c;
}

static void give_client(struct sim_link *l, struct client *c)
{
	pthread_mutex_lock(&l->lock);
	if (l->n_clients < CLIENTS_MOST) {
		l->clients[l->n_clients++] = c;
		c = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	client_free(c);
}

/* What the other process says to a request, as a tree in A. */
static int exchange(struct sim_link *l, const struct client_call *call,
		    struct arena *a, const struct node **ret, struct err *err)
{
	struct client *c = take_client(l, err);
	struct client_result result;
	int r;

	if (!c)
		return -1;
	r = client_call(c, call, &result, err);
	give_client(l, c);
	if (r < 0)
		return -1;
	*ret = json_parse(buf_str(&result.body), result.body.len, a, err);
	if (!*ret)
		r = err_set(err, ERR_PROVIDER,
			    "%s answered with what is not JSON (HTTP %d)",
			    l->options->endpoint, result.status);
	else if (result.status != 200) {
		sim_err_read(*ret, err);
		r = -1;
	}
	client_result_release(&result);
	return r;
}

static int decode(struct sim_link *l, const struct field *fields,
		  const struct node *n, struct arena *a, void *out,
		  struct err *err)
{
	struct violations v;

	violations_init(&v, a);
	field_decode(fields, n, FIELD_STORED, out, &v);
	if (!v.n)
		return 0;
	return err_set(err, ERR_PROVIDER, "%s answered oddly: %s %s",
		       l->options->endpoint, v.list[0].pointer,
		       v.list[0].message);
}

static int call_remote(struct sim_link *l, const struct sim_method *m,
		       const void *ask, struct arena *a, void *answer,
		       struct err *err)
{
	struct client_call call = {
		.method = "POST",
		.target = arena_join(a, "/calls/", m->name, NULL),
		.content_type = "application/json",
	};
	struct buf body = BUF_INIT(ASK_MOST);
	const struct node *n;
	int r;

	field_encode(m->asks, ask, FIELD_FULL, &body);
	if (!buf_ok(&body)) {
		buf_release(&body);
		return err_set(err, ERR_TOO_LARGE,
			       "what is asked of the provider is too large");
	}
	call.body = buf_str(&body);
	call.len = body.len;
	r = exchange(l, &call, a, &n, err);
	buf_release(&body);
	if (r < 0 || !m->answers)
		return r;
	memset(answer, 0, m->answers_size);
	return decode(l, m->answers, n, a, answer, err);
}

static int call_here(struct sim_link *l, enum sim_call call, const void *ask,
		     struct arena *a, void *answer, struct err *err)
{
	uint64_t wait, most = (uint64_t)l->options->timeout_ms;
	int r;

	pthread_mutex_lock(&l->lock);
	r = sim_cloud_call(l->cloud, call, ask, a, answer, err);
	wait = sim_cloud_wait(l->cloud);
	pthread_mutex_unlock(&l->lock);
	if (!wait)
		return r;
	l->conf->sleep(l->conf->ctx, wait < most ? wait : most);
	if (wait < most)
		return r;
	return err_set(err, ERR_TIMEOUT, "the cloud did not answer in %llu ms",
		       (unsigned long long)most);
}

int sim_link_call(struct sim_link *l, enum sim_call call, const void *ask,
		  struct arena *a, void *answer, struct err *err)
{
	if (l->cloud)
		return call_here(l, call, ask, a, answer, err);
	return call_remote(l, &sim_methods[call], ask, a, answer, err);
}

static int open_here(struct sim_link *l, struct err *err)
{
	const struct provider_conf *conf = l->conf;
	char path[4096];

	snprintf(path, sizeof(path), "%s/sim-%s.journal",
		 conf->folder ? conf->folder : "",
		 conf->region ? conf->region : "region");
	if (sim_cloud_open(l->options, conf->clock, conf->folder ? path : NULL,
			   &l->cloud, err) < 0)
		return -1;
	sim_cloud_listen(l->cloud, conf->changed, conf->listener);
	return 0;
}

static int open_remote(struct sim_link *l, struct err *err)
{
	const struct client_call call = {.method = "GET", .target = "/options"};
	struct sim_options behaves = {0};
	const struct node *n;
	struct arena a;
	int r;

	arena_init(&a, ANSWER_MOST);
	r = exchange(l, &call, &a, &n, err);
	if (r == 0)
		r = decode(l, sim_option_fields, n, &a, &behaves, err);
	if (r == 0)
		l->behaves = field_copy(sim_option_fields, sizeof(behaves),
					&behaves);
	arena_release(&a);
	return r;
}

int sim_link_open(const struct provider_conf *conf,
		  const struct sim_options *options, struct sim_link **out,
		  struct err *err)
{
	struct sim_link *l = xcalloc(1, sizeof(*l));

	l->conf = conf;
	l->options = options;
	pthread_mutex_init(&l->lock, NULL);
	if ((options->endpoint ? open_remote(l, err) : open_here(l, err)) < 0) {
		sim_link_close(l);
		return -1;
	}
	*out = l;
	return 0;
}

void sim_link_close(struct sim_link *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_clients; i++)
		client_free(l->clients[i]);
	sim_cloud_close(l->cloud);
	free(l->behaves);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

const struct sim_options *sim_link_options(const struct sim_link *l)
{
	return l->behaves ? l->behaves : l->options;
}

struct sim_cloud *sim_link_cloud(struct sim_link *l)
{
	return l->cloud;
}

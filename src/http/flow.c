#include "http/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "http/client_priv.h"

enum { FDS_MOST = 8 };

struct flows {
	CURLM *multi;
	struct list list;
};

struct flow {
	struct list link;
	struct flows *flows;
	struct running running;
	bool done;
	CURLcode code;
};

struct flows *flows_new(void)
{
	struct flows *f = xcalloc(1, sizeof(*f));

	f->multi = curl_multi_init();
	if (!f->multi)
		abort(); /* no memory */
	list_init(&f->list);
	return f;
}

static void take_out(struct flow *w)
{
	curl_multi_remove_handle(w->flows->multi, w->running.client->curl);
	list_remove(&w->link);
}

void flow_drop(struct flow *w)
{
	struct client_result result = {0};
	struct err err;

	take_out(w);
	w->running.ended = true;
	if (running_end(&w->running, CURLE_OK, &result, &err) == 0)
		client_result_release(&result);
	free(w);
}

void flows_free(struct flows *f)
{
	struct list *next;

	for (struct list *l = f->list.next; l != &f->list; l = next) {
		next = l->next;
		flow_drop(CONTAINER_OF(l, struct flow, link));
	}
	curl_multi_cleanup(f->multi);
	free(f);
}

struct flow *flow_begin(struct flows *f, struct client *c,
			const struct client_call *call)
{
	struct flow *w = xcalloc(1, sizeof(*w));

	w->flows = f;
	w->running = (struct running){.client = c, .call = call};
	running_begin(&w->running);
	curl_easy_setopt(c->curl, CURLOPT_PRIVATE, w);
	list_add(&f->list, &w->link);
	if (curl_multi_add_handle(f->multi, c->curl) != CURLM_OK)
		abort(); /* no memory */
	return w;
}

bool flow_is_done(const struct flow *w)
{
	return w->done;
}

int flow_end(struct flow *w, struct client_result *ret, struct err *err)
{
	int rc;

	assert(w->done);
	take_out(w);
	rc = running_end(&w->running, w->code, ret, err);
	free(w);
	return rc;
}

/* Move everything on as far as it goes; true when a call is done. */
static bool turn(struct flows *f)
{
	CURLMsg *m;
	int running, left;
	bool done = false;

	curl_multi_perform(f->multi, &running);
	while ((m = curl_multi_info_read(f->multi, &left))) {
		char *at = NULL;
		struct flow *w;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &at);
		w = (struct flow *)(void *)at;
		w->code = m->data.result;
		w->done = done = true;
	}
	return done;
}

void flows_wait(struct flows *f, struct pollfd *fds, size_t n, int timeout_ms)
{
	struct curl_waitfd more[FDS_MOST];
	int ready = 0;

	assert(n <= FDS_MOST);
	if (turn(f))
		timeout_ms = 0;
	for (size_t i = 0; i < n; i++)
		more[i] = (struct curl_waitfd){.fd = fds[i].fd,
					       .events = CURL_WAIT_POLLIN};
	curl_multi_poll(f->multi, more, (unsigned)n, timeout_ms, &ready);
	for (size_t i = 0; i < n; i++)
		fds[i].revents = more[i].revents ? POLLIN : 0;
	turn(f);
}

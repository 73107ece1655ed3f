/* instance_live - the console, and a look at the machine now: what only the
 * provider can tell. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/admit.h"
#include "api/consoles.h"
#include "api/instances.h"
#include "api/live.h"
#include "api/permit.h"
#include "api/routes.h"
#include "api/verb.h"
#include "base/mem.h"
#include "model/instance.h"
#include "model/region.h"
#include "store/tx.h"

#define LENGTH_MOST     (1 << 20)
#define LENGTH_FALLBACK (64 << 10)

/* How long a provider may take. */
#define ANSWER_MS 30000

/* The same for a look, unless the caller says so. */
#define LOOK_MS      10000
#define LOOK_MOST_MS 60000

/* The oldest that somebody may still call fresh. */
#define STALENESS_MOST_MS (24 * 60 * 60 * 1000)

/* A question under way: it outlives a call that was answered for want of
 * time. */
struct asking {
	struct live_question question;
	struct list link;  /* in the API's */
	struct call *call; /* NULL: it has been answered */
	char id[37];
};

struct console {
	int kind;
};

static const char *const kind_names[] = {NULL, "serial", "vnc", NULL};

const struct field console_fields[] = {
	{"kind", FIELD_ENUM, 0, offsetof(struct console, kind),
	 "Its serial line, or its screen.", .names = kind_names,
	 .fallback = "\"serial\""},
	{0},
};

struct console_reply {
	const char *url;
	int64_t expires_at;
};

const struct field console_answer[] = {
	{"url", FIELD_STRING, 0, offsetof(struct console_reply, url),
	 "Where it can be reached, once and not for long: a WebSocket, unless "
	 "it is the provider's own."},
	{"expiresAt", FIELD_TIME, 0, offsetof(struct console_reply, expires_at),
	 "Until when it can be connected to; absent: as the provider has it."},
	{0},
};

struct output_reply {
	const char *output;
};

const struct field output_answer[] = {
	{"output", FIELD_STRING, FIELD_ALWAYS,
	 offsetof(struct output_reply, output),
	 "The end of what the machine has printed."},
	{0},
};

static void reply(struct call *c, struct live_question *q)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	const char *text = buf_str(&q->text);
	struct output_reply output = {text};
	struct console_reply console = {.url = text};
	struct err err;

	if (q->fd >= 0 && consoles_keep(c, q->fd, &console.url,
					&console.expires_at, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	q->fd = -1;
	field_encode(c->route->answers,
		     q->what == LIVE_CONSOLE_OUTPUT ? (const void *)&output
						    : (const void *)&console,
		     FIELD_PUBLIC, &b);
	call_reply(c, 200, buf_str(&b), b.len, 0);
	buf_release(&b);
}

/* The machine was looked at, or there is none. */
static void show(struct call *c)
{
	struct record r;
	struct err err;

	if (!store_get(c->api->conf.store, 0, &instance_kind, c->id, &r))
		r.object = NULL;
	if (call_renew(c, &err) < 0 || permit(c, VERB_READ, r.object, &err) < 0)
		call_fail(c, &err);
	else
		call_show(c, &r);
}

/* That it could not be looked at is no more than that, whatever the provider
 * said: what is known is there to be read. */
static void fail_look(struct call *c, const struct err *why)
{
	bool late = why->code == ERR_TIMEOUT;
	struct err err;

	if (why->code == ERR_NOT_FOUND) {
		call_fail(c, why);
		return;
	}
	err_set(&err, late ? ERR_TIMEOUT : ERR_UNAVAILABLE,
		"the machine could not be looked at: %s; what was last known "
		"of it is read without maxStalenessMs",
		why->msg);
	err.retry_after_ms = why->retry_after_ms;
	call_fail(c, &err);
}

static void fail(struct call *c, enum live_what what, const struct err *err)
{
	if (what == LIVE_LOOK)
		fail_look(c, err);
	else
		call_fail(c, err);
}

static void asking_free(struct asking *a)
{
	if (a->question.fd >= 0)
		close(a->question.fd);
	buf_release(&a->question.text);
	free(a);
}

static void answered(struct live_question *q, const struct err *err)
{
	struct asking *a = CONTAINER_OF(q, struct asking, question);
	struct call *c = a->call;

	list_remove(&a->link);
	if (c)
		c->asking = NULL;
	if (c && err)
		fail(c, q->what, err);
	else if (c && q->what == LIVE_LOOK)
		show(c);
	else if (c)
		reply(c, q);
	asking_free(a);
}

static void give_up(struct asking *a, enum err_code code, const char *why)
{
	struct call *c = a->call;
	struct err err;

	assert(c);
	list_remove(&a->link);
	list_add(&c->api->unheard, &a->link);
	a->call = NULL;
	c->asking = NULL;
	err_set(&err, code, "%s", why);
	fail(c, a->question.what, &err);
}

static void time_up(struct exchange *x)
{
	struct call *c = x->ctx;

	give_up(c->asking, ERR_TIMEOUT, "the provider did not answer in time");
}

void live_end_all(struct api *api)
{
	while (!list_empty(&api->asking))
		give_up(CONTAINER_OF(api->asking.next, struct asking, link),
			ERR_UNAVAILABLE, "the server is stopping");
}

void live_forget_all(struct api *api)
{
	struct list *next;

	for (struct list *l = api->unheard.next; l != &api->unheard; l = next) {
		struct asking *a = CONTAINER_OF(l, struct asking, link);

		next = l->next;
		asking_free(a);
	}
}

static void ask(struct call *c, const struct live_question *what, uint64_t ms)
{
	const struct live *live = c->api->conf.live;
	struct asking *a;
	struct err err;

	if (!live) {
		err_set(&err, ERR_UNSUPPORTED,
			"this server cannot ask providers");
		call_fail(c, &err);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->call = c;
	c->asking = a;
	memcpy(a->id, c->id, strlen(c->id) < 37 ? strlen(c->id) : 36);
	list_add(&c->api->asking, &a->link);
	a->question = *what;
	a->question.instance_id = a->id;
	a->question.done = answered;
	a->question.text = BUF_INIT(LENGTH_MOST * 2);
	a->question.fd = -1;
	exchange_after(c->x, ms, time_up);
	live->ask(live->ctx, &a->question);
}

/* The machine is there, and its region can tell. */
static int check(const struct region *r, const struct instance *i,
		 const char *capability, struct err *err)
{
	if (!r || !region_can(r, capability))
		return err_set(err, ERR_UNSUPPORTED,
			       "region \"%s\" has no console of machines",
			       r ? r->meta.name : i->region_id);
	if (!i->status.provider_id)
		return err_set(err, ERR_CONFLICT,
			       "there is no machine of the instance: it is %s",
			       instance_state_names[i->status.state]);
	return 0;
}

void handle_console_output(struct call *c)
{
	const struct store *s = c->api->conf.store;
	uint64_t length = LENGTH_FALLBACK;
	struct record r, region;
	struct err err;

	if (!store_get(s, 0, &instance_kind, c->id, &r))
		r.object = NULL;
	if (call_number(c, "length", 1, LENGTH_MOST, &length, &err) < 0 ||
	    permit(c, VERB_CONSOLE_OUTPUT, r.object, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	assert(r.object);
	if (!store_get(s, 0, &region_kind,
		       ((const struct instance *)r.object)->region_id, &region))
		region.object = NULL;
	if (check(region.object, r.object, "consoleOutput", &err) < 0)
		call_fail(c, &err);
	else
		ask(c,
		    &(struct live_question){.what = LIVE_CONSOLE_OUTPUT,
					    .length = length},
		    ANSWER_MS);
}

/* Who opened it is told before it is open. */
static int open_console(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct instance *i;
	struct console asked = {0};

	if (verb_begin(c, tx, (const void **)&i, err) < 0 ||
	    call_body(c, &asked, err) < 0)
		return -1;
	if (check(tx_get(tx, &region_kind, i->region_id), i, "console", err) <
		    0 ||
	    consoles_check(c, err) < 0)
		return -1;
	tx_event(tx, &instance_kind, i->meta.id, "console",
		 "%s opened its %s console", c->who->name,
		 kind_names[asked.kind]);
	verb_done(c, tx);
	return 0;
}

static void opened(struct txn *t, const struct err *err)
{
	struct call *c = t->ctx;
	struct console asked = {0};
	struct err again;

	if (err)
		call_fail(c, err);
	else if (call_body(c, &asked, &again) < 0)
		call_fail(c, &again);
	else
		ask(c,
		    &(struct live_question){.what = kind_names[asked.kind][0] ==
								    's'
							    ? LIVE_SERIAL
							    : LIVE_VNC},
		    ANSWER_MS);
}

void handle_console(struct call *c)
{
	if (!admit_change(c))
		return;
	c->who = access_copy(c->who, c->x->arena);
	c->txn = (struct txn){.fn = open_console, .done = opened, .ctx = c};
	store_transact(c->api->conf.store, &c->txn);
}

static int read_staleness(struct call *c, uint64_t *ret_age, uint64_t *ret_ms,
			  struct err *err)
{
	*ret_ms = LOOK_MS;
	if (call_number(c, "maxStalenessMs", 0, STALENESS_MOST_MS, ret_age,
			err) < 0 ||
	    call_number(c, "timeoutMs", 1, LOOK_MOST_MS, ret_ms, err) < 0)
		return -1;
	if (call_arg(c, "at") || call_arg(c, "wait"))
		return err_set(err, ERR_INVALID,
			       "maxStalenessMs is for now: it does not go with "
			       "at or wait");
	return 0;
}

void handle_fresh(struct call *c, const struct record *now)
{
	const struct instance *i = now->object;
	uint64_t age = 0, ms;
	int64_t since;
	struct err err;

	if (read_staleness(c, &age, &ms, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	since = clock_wall(c->api->conf.clock) - (int64_t)age;
	if (!i->status.provider_id || i->status.observed_at >= since) {
		call_show(c, now);
		return;
	}
	c->who = access_copy(c->who, c->x->arena);
	ask(c, &(struct live_question){.what = LIVE_LOOK, .since = since}, ms);
}

#include "reconcile/live.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/instance.h"
#include "model/region.h"
#include "provider/front.h"
#include "reconcile/engine_priv.h"

/* Under way at a time. */
#define LIVE_MOST 256

#define ARENA_MOST ((size_t)16 << 20)
#define TEXT_MOST  ((size_t)4 << 20)

struct live {
	struct asking asking;
	struct call call;
	struct engine *engine;
	struct list link;
	struct arena arena;
	struct live_call *caller;
	const char *machine;
	size_t length;          /* of the output; 0: */
	enum console_kind kind; /* a console */
	struct buf text;
	int fd; /* its stream; -1: there is none, or it was handed on */
};

static void close_stream(struct live *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* Nobody comes by it any more. */
static void live_free(struct live *l)
{
	l->engine->n_live--;
	close_stream(l);
	buf_release(&l->text);
	arena_release(&l->arena);
	free(l);
}

void live_release(struct engine *e)
{
	struct list *l = e->live.next, *next;

	for (; l != &e->live; l = next) {
		next = l->next;
		live_free(CONTAINER_OF(l, struct live, link));
	}
	list_init(&e->live);
}

static int run_console(struct provider *p, struct live *l, struct err *err)
{
	struct console console = {.fd = -1};

	close_stream(l);
	if (provider_console(p, l->machine, l->kind, &l->arena, &console, err) <
	    0)
		return -1;
	l->fd = console.fd;
	if (!console.url && l->fd < 0)
		return err_set(err, ERR_PROVIDER,
			       "the provider gave neither an address of the "
			       "console nor a stream");
	if (!console.url)
		return 0;
	/* Its own is what is wanted. */
	close_stream(l);
	buf_adds(&l->text, console.url);
	return 0;
}

static int run(struct provider *p, struct call *c, struct arena *a,
	       struct err *err)
{
	struct live *l = CONTAINER_OF(c, struct live, call);

	buf_clear(&l->text);
	if (!l->length)
		return run_console(p, l, err);
	return provider_console_output(p, l->machine, l->length, a, &l->text,
				       err);
}

static void answered(struct asking *a)
{
	struct live *l = CONTAINER_OF(a, struct live, asking);
	bool failed = l->call.err.code;

	/* The instance is there; its machine is not. */
	if (l->call.err.code == ERR_NOT_FOUND)
		err_set(&l->call.err, ERR_CONFLICT,
			"the machine is not at the provider any more");
	if (!failed) {
		l->caller->fd = l->fd;
		l->fd = -1;
	}
	l->caller->done(l->caller, failed ? &l->call.err : NULL,
			buf_str(&l->text), l->text.len);
	list_remove(&l->link);
	live_free(l);
}

/* Whom to ask about what; an err says why nobody can be. */
static int find(struct engine *e, const char *instance_id, struct record *ret,
		struct err *err)
{
	const struct instance *i;
	struct record region;

	if (!store_get(e->conf.store, 0, &instance_kind, instance_id, ret))
		return err_set(err, ERR_NOT_FOUND, "there is no instance %s",
			       instance_id);
	i = ret->object;
	if (!i->status.provider_id)
		return err_set(err, ERR_CONFLICT, "it has no machine now");
	if (e->n_live >= LIVE_MOST)
		return err_set(err, ERR_UNAVAILABLE,
			       "too many are asking for consoles");
	if (!store_get(e->conf.store, 0, &region_kind, i->region_id, &region) ||
	    ((const struct region *)region.object)->spec.paused ||
	    !site_place(regions_site(e->regions, i->region_id)))
		return err_set(err, ERR_UNAVAILABLE,
			       "its region is paused or cannot be reached");
	return 0;
}

static void ask(struct engine *e, const char *instance_id, size_t length,
		enum console_kind kind, struct live_call *caller)
{
	const struct instance *i;
	struct record r;
	struct live *l;
	struct err err;

	if (find(e, instance_id, &r, &err) < 0) {
		caller->done(caller, &err, "", 0);
		return;
	}
	i = r.object;
	l = xcalloc(1, sizeof(*l));
	arena_init(&l->arena, ARENA_MOST);
	l->engine = e;
	l->caller = caller;
	l->machine = arena_strdup(&l->arena, i->status.provider_id);
	l->length = length;
	l->kind = kind;
	l->fd = -1;
	l->text = BUF_INIT(TEXT_MOST);
	l->call = (struct call){.run = run, .rank = CALL_CREATE};
	l->asking.call = &l->call;
	l->asking.arena = &l->arena;
	l->asking.done = answered;
	list_add(&e->live, &l->link);
	e->n_live++;
	site_ask(regions_site(e->regions, i->region_id), &l->asking);
}

void live_console_output(struct engine *e, const char *instance_id,
			 size_t length, struct live_call *c)
{
	ask(e, instance_id, length ? length : 1, 0, c);
}

void live_console(struct engine *e, const char *instance_id,
		  enum console_kind kind, struct live_call *c)
{
	ask(e, instance_id, 0, kind, c);
}

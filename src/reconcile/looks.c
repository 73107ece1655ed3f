#include "reconcile/looks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/instance.h"
#include "model/region.h"
#include "model/server.h"
#include "reconcile/engine_priv.h"
#include "reconcile/live.h"
#include "reconcile/machine.h"
#include "reconcile/monitor.h"

/* Who may wait at a time. */
#define LOOKS_MOST 4096

struct look {
	struct list link; /* of the engine's */
	struct live_call *caller;
	char id[40];
};

void looks_release(struct engine *e)
{
	struct list *l = e->looks.next, *next;

	for (; l != &e->looks; l = next) {
		next = l->next;
		free(CONTAINER_OF(l, struct look, link));
	}
	list_init(&e->looks);
}

void work_looked(struct work *w, const struct err *err)
{
	struct engine *e = w->engine;
	struct list told, *l, *next;

	/* Who is told may ask again. */
	list_init(&told);
	for (l = e->looks.next; l != &e->looks; l = next) {
		next = l->next;
		if (strcmp(CONTAINER_OF(l, struct look, link)->id, w->id) != 0)
			continue;
		list_remove(l);
		list_add(&told, l);
	}
	for (l = told.next; l != &told; l = next) {
		struct look *look = CONTAINER_OF(l, struct look, link);

		next = l->next;
		e->n_looks--;
		look->caller->done(look->caller, err, "", 0);
		free(look);
	}
}

/* Why nobody can look. */
static int check(const struct engine *e, const char *id, struct err *err)
{
	struct record r, region;

	if (!store_get(e->conf.store, 0, &instance_kind, id, &r))
		return err_set(err, ERR_NOT_FOUND, "there is no instance %s",
			       id);
	if (e->n_looks >= LOOKS_MOST)
		return err_set(err, ERR_UNAVAILABLE,
			       "too many wait for a look at a machine");
	if (store_get(e->conf.store, 0, &region_kind,
		      ((const struct instance *)r.object)->region_id,
		      &region) &&
	    ((const struct region *)region.object)->spec.paused)
		return err_set(err, ERR_UNAVAILABLE,
			       "its region is paused: nothing is called there");
	return 0;
}

void live_look(struct engine *e, const char *instance_id, int64_t since,
	       struct live_call *c)
{
	struct look *look;
	struct err err;

	if (check(e, instance_id, &err) < 0) {
		c->done(c, &err, "", 0);
		return;
	}
	look = xcalloc(1, sizeof(*look));
	look->caller = c;
	memcpy(look->id, instance_id,
	       strnlen(instance_id, sizeof(look->id) - 1));
	list_add(&e->looks, &look->link);
	e->n_looks++;
	machine_look(engine_work(e, &machine_controller, instance_id), since);
}

static void heard(void *ctx, const char *region_id, const char *machine)
{
	struct engine *e = ctx;
	struct scan scan = store_scan(e->conf.store, 0, &server_kind, NULL);
	struct record r;
	size_t effort = 0;

	if (!machine) {
		monitor_hurry(engine_work(e, &monitor_controller, region_id));
		return;
	}
	if (!scan_narrow(&scan, "status.providerId", machine, NULL))
		return;
	while (scan_next(&scan, &r, &effort)) {
		const struct server *s = r.object;

		if (strcmp(s->region_id, region_id) == 0)
			machine_notice(engine_work(e, &machine_controller,
						   s->instance_id));
	}
}

void looks_hear(struct engine *e)
{
	regions_hear(e->regions, heard, e);
}

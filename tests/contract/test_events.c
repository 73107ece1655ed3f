/* Events, on every backend: with the change they tell of, counted when they
 * happen again, few of one object, and gone after a while. */
#include <stdlib.h>

#include "base/uuid.h"
#include "model/event.h"
#include "rig/rig.h"
#include "store/store_priv.h"
#include "test.h"

static const struct kind *const kinds_here[] = {&shelf_kind, &event_kind, NULL};

static void open_on(struct rig *r, const struct rig_ops *ops)
{
	struct err err;

	rig_init(r, ops);
	r->conf.kinds = kinds_here;
	r->conf.event_age_ms = 60000;
	if (rig_open(r, &err) < 0)
		CHECK(!err.msg[0]);
}

struct act {
	struct txn txn;
	char id[37];
	const char *reason;
	int n; /* how often, with a number after the reason unless it is 1 */
	bool put, remove, fail;
	enum err_code code;
};

static int do_act(struct tx *tx, void *ctx, struct err *err)
{
	struct act *a = ctx;
	struct shelf shelf = shelf_of(a->id, a->id);
	char reason[32];

	tx_set_source(tx, "test");
	if (a->put && tx_put(tx, &shelf_kind, &shelf, err) < 0)
		return -1;
	if (a->remove && tx_delete(tx, &shelf_kind, a->id, err) < 0)
		return -1;
	for (int i = 0; i < a->n; i++) {
		if (a->n > 1)
			snprintf(reason, sizeof(reason), "%s%d", a->reason, i);
		else
			snprintf(reason, sizeof(reason), "%s", a->reason);
		tx_event(tx, &shelf_kind, a->id, reason, "number %d", i);
	}
	return a->fail ? err_set(err, ERR_QUOTA, "no") : 0;
}

static void act_done(struct txn *t, const struct err *err)
{
	((struct act *)t->ctx)->code = err ? err->code : ERR_NONE;
}

static enum err_code act(struct rig *r, struct act a)
{
	shelves_id(a.id, 1, 1);
	a.n = a.n ? a.n : 1;
	a.txn = (struct txn){.fn = do_act, .done = act_done, .ctx = &a};
	store_transact(r->store, &a.txn);
	r->ops->settle(r);
	return a.code;
}

static const struct happening *find(const struct rig *r, const char *reason)
{
	char id[37], event[37];
	struct record record;

	uuid_v5(shelves_id(id, 1, 1), reason, event);
	if (!store_get(r->store, 0, &event_kind, event, &record))
		return NULL;
	return record.object;
}

static size_t count(const struct rig *r)
{
	struct scan scan = store_scan(r->store, 0, &event_kind, NULL);
	struct record record;
	size_t n = 0, effort = 0;

	while (scan_next(&scan, &record, &effort))
		n++;
	return n;
}

static void the_same_again_is_counted(const struct rig_ops *ops)
{
	const struct happening *h;
	int64_t first;
	struct rig r;

	open_on(&r, ops);
	first = r.clock.now;
	CHECK(act(&r, (struct act){.reason = "made", .put = true}) == ERR_NONE);
	CHECK(store_revision(r.store) == 1);
	r.clock.now += 500;
	CHECK(act(&r, (struct act){.reason = "made"}) == ERR_NONE);
	rig_reopen(&r);
	h = find(&r, "made");
	CHECK(h && h->count == 2 && h->first_at == first);
	CHECK(h && h->last_at == first + 500);
	CHECK(h && strcmp(h->message, "number 0") == 0);
	CHECK(h && strcmp(h->source, "test") == 0);
	CHECK(h && strcmp(h->object_kind, "shelf") == 0);
	CHECK(count(&r) == 1);
	rig_release(&r);
}

static void an_event_is_there_with_its_change_only(const struct rig_ops *ops)
{
	struct rig r;

	open_on(&r, ops);
	/* Not of what is not there. */
	CHECK(act(&r, (struct act){.reason = "early"}) == ERR_NONE);
	CHECK(count(&r) == 0 && store_revision(r.store) == 0);
	CHECK(act(&r,
		  (struct act){.reason = "no", .put = true, .fail = true}) ==
	      ERR_QUOTA);
	ops->fill(&r, true);
	CHECK(act(&r, (struct act){.reason = "full", .put = true}) ==
	      ERR_UNAVAILABLE);
	ops->fill(&r, false);
	CHECK(count(&r) == 0);
	CHECK(act(&r, (struct act){.reason = "yes", .put = true}) == ERR_NONE);
	CHECK(act(&r, (struct act){.reason = "gone", .remove = true}) ==
	      ERR_NONE);
	CHECK(count(&r) == 2 && find(&r, "gone") && !find(&r, "no"));
	rig_release(&r);
}

static void few_are_kept_of_one_object(const struct rig_ops *ops)
{
	struct rig r;

	open_on(&r, ops);
	CHECK(act(&r, (struct act){.reason = "first", .put = true}) ==
	      ERR_NONE);
	r.clock.now += 10;
	CHECK(act(&r, (struct act){.reason = "r", .n = 20}) == ERR_NONE);
	r.clock.now += 10;
	CHECK(act(&r, (struct act){.reason = "s", .n = 20}) == ERR_NONE);
	CHECK(count(&r) == 32);
	CHECK(!find(&r, "first") && find(&r, "s19") && find(&r, "s0"));
	rig_release(&r);
}

static void old_ones_go(const struct rig_ops *ops)
{
	struct rig r;

	open_on(&r, ops);
	CHECK(act(&r, (struct act){.reason = "r", .n = 20, .put = true}) ==
	      ERR_NONE);
	r.clock.now += 50000;
	CHECK(act(&r, (struct act){.reason = "r3"}) == ERR_NONE);
	store_expire(r.store);
	ops->settle(&r);
	CHECK(count(&r) == 20);
	r.clock.now += 20000;
	for (int i = 0; i < 3; i++) {
		store_expire(r.store);
		ops->settle(&r);
	}
	CHECK(count(&r) == 1 && find(&r, "r3"));
	rig_release(&r);
}

/* One after the other of many objects: a few at a time, and one round after
 * the other. */
static void many_old_ones_go_by_and_by(const struct rig_ops *ops)
{
	enum { OBJECTS = 70 };
	struct rig r;

	open_on(&r, ops);
	for (unsigned i = 0; i < OBJECTS; i++) {
		struct act a = {.reason = "r", .n = 20, .put = true};

		shelves_id(a.id, 2, i);
		a.txn = (struct txn){.fn = do_act, .done = act_done, .ctx = &a};
		store_transact(r.store, &a.txn);
		ops->settle(&r);
		CHECK(a.code == ERR_NONE);
	}
	CHECK(count(&r) == OBJECTS * 20);
	/* Young ones are looked past, too. */
	for (int i = 0; i < 4; i++) {
		store_expire(r.store);
		ops->settle(&r);
	}
	CHECK(count(&r) == OBJECTS * 20);
	r.clock.now += 70000;
	store_expire(r.store);
	store_expire(r.store); /* nothing more until those are gone */
	ops->settle(&r);
	CHECK(count(&r) == OBJECTS * 20 - 100);
	for (int i = 0; i < 30; i++) {
		store_expire(r.store);
		ops->settle(&r);
	}
	CHECK(count(&r) == 0);
	rig_release(&r);
}

int main(void)
{
	RUN_ON_ALL(many_old_ones_go_by_and_by);
	RUN_ON_ALL(the_same_again_is_counted);
	RUN_ON_ALL(an_event_is_there_with_its_change_only);
	RUN_ON_ALL(few_are_kept_of_one_object);
	RUN_ON_ALL(old_ones_go);
	return test_done();
}

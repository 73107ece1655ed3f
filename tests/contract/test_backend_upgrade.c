/* Documents of an older version of the program are read, and written anew. */
#include "base/json.h"
#include "rig/rig.h"
#include "store/store_priv.h"
#include "test.h"

enum { GADGETS = 600 };

/* Version 1 counted in MiB, version 2 counts in GiB under another name. */
struct gadget {
	struct meta meta;
	int64_t size;
};

static const struct field old_fields[] = {
	META_FIELDS,
	{"sizeMiB", FIELD_INT, 0, offsetof(struct gadget, size)},
	{0},
};

static const struct field new_fields[] = {
	META_FIELDS,
	{"sizeGiB", FIELD_INT, FIELD_INDEX, offsetof(struct gadget, size)},
	{0},
};

static const struct kind old_gadget = {
	.name = "gadget",
	.plural = "gadgets",
	.title = "Gadget",
	.size = sizeof(struct gadget),
	.fields = old_fields,
	.version = 1,
};

static unsigned upgraded;
static bool failing;

static struct node *to_gib(struct node *doc, struct arena *a, struct err *err)
{
	const struct node *old = node_get(doc, "sizeMiB");

	upgraded++;
	if (failing || !old) {
		err_set(err, ERR_INTERNAL, "there is no size");
		return NULL;
	}
	node_set(a, doc, "sizeGiB", node_new_int(a, node_int(old) / 1024));
	node_unset(a, doc, "sizeMiB");
	return doc;
}

static kind_upgrade *const upgrades[] = {to_gib};

static const struct kind new_gadget = {
	.name = "gadget",
	.plural = "gadgets",
	.title = "Gadget",
	.size = sizeof(struct gadget),
	.fields = new_fields,
	.version = 2,
	.upgrades = upgrades,
};

static const struct kind *const old_kinds[] = {&old_gadget, &shelf_kind, NULL};
static const struct kind *const new_kinds[] = {&shelf_kind, &new_gadget, NULL};
static const struct kind *const few_kinds[] = {&shelf_kind, NULL};

struct make {
	struct txn txn;
	const struct kind *kind;
	char id[37], name[16];
	int64_t size;
	bool done;
};

static int make_gadget(struct tx *tx, void *ctx, struct err *err)
{
	const struct make *m = ctx;
	struct gadget g = {.meta = {.id = m->id, .name = m->name},
			   .size = m->size};

	return tx_put(tx, m->kind, &g, err);
}

static void made(struct txn *t, const struct err *err)
{
	CHECK(!err);
	((struct make *)t->ctx)->done = true;
}

static void start(struct make *m, struct rig *r, const struct kind *k, int i)
{
	*m = (struct make){.kind = k, .size = 1024 * (i + 1)};
	shelves_id(m->id, 3, (unsigned)i % GADGETS);
	snprintf(m->name, sizeof(m->name), "g%d", i);
	m->txn = (struct txn){make_gadget, made, m};
	store_transact(r->store, &m->txn);
}

/* A log with rows before and after the horizon, all of version 1. */
static void fill(struct rig *r, const struct rig_ops *ops)
{
	static struct make makes[2 * GADGETS];
	struct err err;

	rig_init(r, ops);
	r->conf.kinds = old_kinds;
	r->conf.log_revisions = GADGETS;
	CHECK(rig_open(r, &err) == 0);
	for (int i = 0; i < 2 * GADGETS; i++) {
		start(&makes[i], r, &old_gadget, i);
		if (i % 100 == 99)
			r->ops->settle(r);
	}
	for (int i = 0; i < 2 * GADGETS; i++)
		CHECK(makes[i].done);
}

static int open_with(struct rig *r, const struct kind *const *with,
		     struct err *err)
{
	rig_close(r);
	r->conf.kinds = with;
	upgraded = 0;
	return rig_open(r, err);
}

static void check_gadgets(struct rig *r)
{
	struct store_stats stats;
	struct record record;
	char id[37];

	store_stats(r->store, &stats);
	CHECK(stats.oldest < 2 * GADGETS - 100);
	for (uint64_t at = stats.oldest; at <= 2 * GADGETS; at += 13) {
		int i = (int)at - 1;

		shelves_id(id, 3, (unsigned)i % GADGETS);
		if (!store_get(r->store, at, &new_gadget, id, &record)) {
			CHECK(!"a gadget is gone");
			continue;
		}
		CHECK(((const struct gadget *)record.object)->size == i + 1);
		CHECK(memmem(record.json, record.len, "sizeGiB", 7) != NULL);
		CHECK(!memmem(record.json, record.len, "sizeMiB", 7));
	}
}

static void old_documents_are_upgraded_and_rewritten(const struct rig_ops *ops)
{
	struct make one;
	struct rig r;
	struct err err;

	fill(&r, ops);
	CHECK(open_with(&r, new_kinds, &err) == 0);
	CHECK(upgraded >= 2 * GADGETS - 100);
	check_gadgets(&r);
	/* Opened once more before anything was rewritten. */
	CHECK(open_with(&r, new_kinds, &err) == 0);
	CHECK(upgraded >= 2 * GADGETS - 100);
	r.store->conf.log_revisions = 3 * GADGETS;
	start(&one, &r, &new_gadget, 2 * GADGETS);
	ops->settle(&r);
	CHECK(one.done && list_empty(&r.store->history.rewrites));
	r.conf.log_revisions = 3 * GADGETS;
	CHECK(open_with(&r, new_kinds, &err) == 0);
	CHECK(upgraded == 0);
	check_gadgets(&r);
	rig_release(&r);
}

static void rewriting_and_expiring_go_together(const struct rig_ops *ops)
{
	struct store_stats stats;
	struct make one;
	struct rig r;
	struct err err;

	fill(&r, ops);
	CHECK(open_with(&r, new_kinds, &err) == 0);
	for (int i = 0; i < 6; i++) {
		r.store->conf.log_revisions = (size_t)(GADGETS - 100 * i);
		if (i == 2)
			ops->fill(&r, true);
		store_expire(r.store);
		ops->settle(&r);
		ops->fill(&r, false);
	}
	start(&one, &r, &new_gadget, 2 * GADGETS);
	ops->settle(&r);
	r.conf.log_revisions = r.store->conf.log_revisions;
	CHECK(open_with(&r, new_kinds, &err) == 0);
	CHECK(upgraded == 0);
	store_stats(r.store, &stats);
	CHECK(stats.objects[1] == GADGETS);
	CHECK(stats.durable == 2 * GADGETS + 1);
	rig_release(&r);
}

static void a_newer_document_is_refused(const struct rig_ops *ops)
{
	struct make one;
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.kinds = new_kinds;
	CHECK(rig_open(&r, &err) == 0);
	start(&one, &r, &new_gadget, 1);
	ops->settle(&r);
	CHECK(open_with(&r, old_kinds, &err) < 0);
	CHECK(err.code == ERR_UNSUPPORTED && strstr(err.msg, "newer"));
	r.store = NULL;
	CHECK(open_with(&r, few_kinds, &err) < 0);
	CHECK(err.code == ERR_UNSUPPORTED && strstr(err.msg, "\"gadget\""));
	r.store = NULL;
	CHECK(open_with(&r, new_kinds, &err) == 0);
	rig_release(&r);
}

static void an_upgrade_that_fails_is_refused(const struct rig_ops *ops)
{
	struct make one;
	struct rig r;
	struct err err;

	rig_init(&r, ops);
	r.conf.kinds = old_kinds;
	CHECK(rig_open(&r, &err) == 0);
	start(&one, &r, &old_gadget, 1);
	ops->settle(&r);
	failing = true;
	CHECK(open_with(&r, new_kinds, &err) < 0);
	CHECK(strstr(err.msg, "revision 1: gadget: version 1 to 2") != NULL);
	r.store = NULL;
	failing = false;
	CHECK(open_with(&r, new_kinds, &err) == 0);
	rig_release(&r);
}

int main(void)
{
	RUN_ON_ALL(old_documents_are_upgraded_and_rewritten);
	RUN_ON_ALL(rewriting_and_expiring_go_together);
	RUN_ON_ALL(a_newer_document_is_refused);
	RUN_ON_ALL(an_upgrade_that_fails_is_refused);
	return test_done();
}

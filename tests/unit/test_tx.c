/* What a transaction may write: how much, by which name, and to whom it may
 * refer. */
#include "store/tx.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "model/event.h"
#include "model/group.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/user.h"
#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "test.h"

/* Something that a test does in a transaction. */
struct doing {
	struct txn txn;
	int (*fn)(struct tx *tx, struct err *err);
	bool done;
	struct err err;
};

static int run(struct tx *tx, void *ctx, struct err *err)
{
	return ((struct doing *)ctx)->fn(tx, err);
}

static void finished(struct txn *t, const struct err *err)
{
	struct doing *d = t->ctx;

	d->done = true;
	if (err)
		d->err = *err;
}

static struct err transact(struct rig *r,
			   int (*fn)(struct tx *tx, struct err *err))
{
	struct doing d = {.fn = fn};

	d.txn = (struct txn){.fn = run, .done = finished, .ctx = &d};
	store_transact(r->store, &d.txn);
	r->ops->settle(r);
	CHECK(d.done);
	return d.err;
}

static void open_shelves(struct rig *r)
{
	struct err err = {0};

	rig_init(r, rig_backends[0]);
	CHECK(rig_open(r, &err) == 0);
}

static void open_all(struct rig *r)
{
	struct err err = {0};

	rig_init(r, rig_backends[0]);
	r->conf.kinds = NULL;
	CHECK(rig_open(r, &err) == 0);
}

/* A name of so many bytes, the first of which say which. */
static char *long_name(size_t len, unsigned which)
{
	char *name = xmalloc(len + 1);

	memset(name, 'x', len);
	name[len] = '\0';
	memcpy(name,
	       (char[]){(char)('a' + which % 26), (char)('a' + which / 26)}, 2);
	return name;
}

static size_t name_len;
static unsigned how_many;

static int put_long(struct tx *tx, struct err *err)
{
	int r = 0;

	for (unsigned n = 0; n < how_many && r == 0; n++) {
		char id[37], *name = long_name(name_len, n);
		struct shelf s = shelf_of(shelves_id(id, 1, n), name);

		r = tx_put(tx, &shelf_kind, &s, err);
		free(name);
	}
	return r;
}

static void what_is_too_large_is_not_written(void)
{
	struct err err;
	struct rig r;

	open_shelves(&r);
	name_len = (size_t)4 << 20;
	how_many = 1;
	err = transact(&r, put_long);
	CHECK(err.code == ERR_TOO_LARGE && strstr(err.msg, "the document"));
	name_len = (size_t)4000000;
	how_many = 18;
	err = transact(&r, put_long);
	CHECK(err.code == ERR_TOO_LARGE && strstr(err.msg, "one change"));
	CHECK(store_revision(r.store) == 0);
	how_many = 16;
	CHECK(transact(&r, put_long).code == ERR_NONE);
	CHECK(store_revision(r.store) == 1);
	rig_release(&r);
}

/* Many that are large go to the disk a few at a time. */
static void a_batch_takes_no_more_text_than_enough(void)
{
	enum { MANY = 20 };
	struct deed deeds[MANY] = {0};
	static char ids[MANY][37];
	char *names[MANY];
	struct rig r;
	unsigned batches = 0;

	open_shelves(&r);
	for (unsigned n = 0; n < MANY; n++) {
		names[n] = long_name(4000000, n);
		deed_shelf(&deeds[n], shelves_id(ids[n], 1, n), names[n]);
		deed_start(&deeds[n], r.store);
	}
	for (; memory_pending(r.backend); batches++)
		memory_answer(r.backend, MEMORY_WRITTEN);
	CHECK(batches == 3); /* one, seventeen, and the rest */
	for (unsigned n = 0; n < MANY; n++) {
		CHECK(deeds[n].answers == 1 && !deeds[n].err.code);
		free(names[n]);
	}
	memset(deeds, 0, sizeof(deeds[0]));
	deed_shelf(&deeds[0], ids[0], "short");
	CHECK(deed_do(&deeds[0], &r) == ERR_NONE);
	rig_release(&r);
}

static char last_id[37];
static unsigned out_of_order, same;

static int make_ids(struct tx *tx, struct err *err)
{
	char id[37];

	(void)err;
	for (int n = 0; n < 5000; n++) {
		tx_new_id(tx, id);
		same += strcmp(id, last_id) == 0;
		out_of_order += n < 4000 && strcmp(id, last_id) < 0;
		memcpy(last_id, id, sizeof(last_id));
	}
	return 0;
}

static void ids_sort_by_age_and_never_repeat(void)
{
	struct rig r;

	open_shelves(&r);
	transact(&r, make_ids);
	r.clock.now++;
	last_id[0] = '\0';
	transact(&r, make_ids);
	CHECK(same == 0 && out_of_order == 0);
	rig_release(&r);
}

static bool see_nothing(void *ctx, const struct kind *k, const void *object)
{
	(void)ctx;
	(void)k;
	(void)object;
	return false;
}

static bool unseen;

static int put_same_name(struct tx *tx, struct err *err)
{
	char a[37], b[37];
	struct shelf first = shelf_of(shelves_id(a, 1, 1), "same");
	struct shelf second = shelf_of(shelves_id(b, 1, 2), "same");

	if (tx_put(tx, &shelf_kind, &first, err) < 0)
		return -1;
	if (unseen)
		tx_set_view(tx, see_nothing, NULL);
	return tx_put(tx, &shelf_kind, &second, err);
}

/* That a name is taken must be said; by what, only to who may see it. */
static void whoever_may_not_see_it_is_not_told_whose_a_name_is(void)
{
	char id[37];
	struct err err;
	struct rig r;

	open_shelves(&r);
	shelves_id(id, 1, 1);
	unseen = false;
	err = transact(&r, put_same_name);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, id));
	unseen = true;
	err = transact(&r, put_same_name);
	CHECK(err.code == ERR_CONFLICT && !strstr(err.msg, id));
	rig_release(&r);
}

static int look_before(struct tx *tx, struct err *err)
{
	char id[37];
	struct shelf s = shelf_of(shelves_id(id, 1, 1), "shelf");
	struct record was;

	if (tx_put(tx, &shelf_kind, &s, err) < 0)
		return -1;
	CHECK(!tx_before(tx, &shelf_kind, id, &was));
	return 0;
}

static void what_was_deleted_was_not_there_before(void)
{
	struct deed d = {0};
	char id[37];
	struct rig r;

	open_shelves(&r);
	CHECK(transact(&r, look_before).code == ERR_NONE);
	deed_delete(&d, &shelf_kind, shelves_id(id, 1, 1));
	CHECK(deed_do(&d, &r) == ERR_NONE);
	CHECK(transact(&r, look_before).code == ERR_NONE);
	rig_release(&r);
}

static int tell_event(struct tx *tx, struct err *err)
{
	char id[37];
	struct shelf s = shelf_of(shelves_id(id, 1, 1), "shelf");

	if (tx_put(tx, &shelf_kind, &s, err) < 0)
		return -1;
	tx_event(tx, &shelf_kind, id, "made", "it is there");
	return 0;
}

static void a_store_without_events_keeps_none(void)
{
	struct rig r;

	open_shelves(&r);
	r.store->conf.event_age_ms = 1000;
	CHECK(transact(&r, tell_event).code == ERR_NONE);
	r.clock.now += 5000;
	store_expire(r.store);
	r.ops->settle(&r);
	CHECK(store_revision(r.store) == 1);
	rig_release(&r);
}

static void so_many_users_are_only_counted(void)
{
	struct deed d = {0};
	char shelf[37], id[37], name[16];
	struct rig r;

	open_shelves(&r);
	deed_shelf(&d, shelves_id(shelf, 1, 1), "shelf");
	CHECK(deed_do(&d, &r) == ERR_NONE);
	for (unsigned n = 0; n < 120; n++) {
		struct book book;

		snprintf(name, sizeof(name), "book %u", n);
		book = book_of(shelves_id(id, 2, n), name, shelf);
		d = (struct deed){0};
		deed_book(&d, &book);
		CHECK(deed_do(&d, &r) == ERR_NONE);
	}
	d = (struct deed){0};
	deed_delete(&d, &shelf_kind, shelf);
	CHECK(deed_do(&d, &r) == ERR_CONFLICT);
	CHECK(strstr(d.err.msg, "and many more"));
	CHECK(strlen(d.err.msg) < 400);
	rig_release(&r);
}

#define ORG     "00000000-0000-7000-8000-00000000000a"
#define THEIRS  "00000000-0000-7000-8000-00000000000b"
#define PROJECT "00000000-0000-7000-8000-00000000000c"
#define REGION  "00000000-0000-7000-8000-00000000000d"
#define NET     "00000000-0000-7000-8000-00000000000e"
#define USER    "00000000-0000-7000-8000-00000000000f"
#define OTHER   "00000000-0000-7000-8000-000000000010"
#define GROUP   "00000000-0000-7000-8000-000000000011"

static int put_tenants(struct tx *tx, struct err *err)
{
	struct organization o = {.meta = {.id = ORG, .name = "ours"}};
	struct organization t = {.meta = {.id = THEIRS, .name = "theirs"}};
	struct project p = {.meta = {.id = PROJECT, .name = "p"},
			    .organization_id = THEIRS};
	struct region r = {.meta = {.id = REGION, .name = "r"},
			   .spec = {.provider = "sim"},
			   .status.state = BACKED_PENDING};

	return tx_put(tx, &organization_kind, &o, err) < 0 ||
			       tx_put(tx, &organization_kind, &t, err) < 0 ||
			       tx_put(tx, &project_kind, &p, err) < 0 ||
			       tx_put(tx, &region_kind, &r, err) < 0
		       ? -1
		       : 0;
}

static int put_foreign(struct tx *tx, struct err *err)
{
	struct network n = {.meta = {.id = NET, .name = "n"},
			    .organization_id = ORG,
			    .project_id = PROJECT,
			    .region_id = REGION,
			    .spec.prefix = "10.0.0.0/24",
			    .status.backed.state = BACKED_PENDING};

	return tx_put(tx, &network_kind, &n, err);
}

static void what_is_another_organization_s_is_not_there(void)
{
	struct err err;
	struct rig r;

	open_all(&r);
	CHECK(transact(&r, put_tenants).code == ERR_NONE);
	err = transact(&r, put_foreign);
	CHECK(err.code == ERR_INVALID);
	CHECK(strstr(err.msg, "there is no project " PROJECT));
	rig_release(&r);
}

static int put_members(struct tx *tx, struct err *err)
{
	static const char *ids[] = {USER, OTHER};
	struct user a = {.meta = {.id = USER, .name = "a"},
			 .organization_id = ORG};
	struct user b = {.meta = {.id = OTHER, .name = "b"},
			 .organization_id = ORG};
	struct group g = {.meta = {.id = GROUP, .name = "g"},
			  .organization_id = ORG,
			  .user_ids = {ids, 2}};

	return tx_put(tx, &user_kind, &a, err) < 0 ||
			       tx_put(tx, &user_kind, &b, err) < 0 ||
			       tx_put(tx, &group_kind, &g, err) < 0
		       ? -1
		       : 0;
}

static int drop_user(struct tx *tx, struct err *err)
{
	return tx_delete(tx, &user_kind, USER, err);
}

static void a_group_loses_who_goes_and_nobody_else(void)
{
	const struct group *g;
	struct record record;
	struct rig r;

	open_all(&r);
	CHECK(transact(&r, put_tenants).code == ERR_NONE);
	CHECK(transact(&r, put_members).code == ERR_NONE);
	CHECK(!store_user(r.store, &user_kind, USER, &record));
	CHECK(transact(&r, drop_user).code == ERR_NONE);
	CHECK(store_get(r.store, 0, &group_kind, GROUP, &record));
	g = record.object;
	CHECK(g->user_ids.n == 1);
	CHECK_STR(((const char *const *)g->user_ids.at)[0], OTHER);
	rig_release(&r);
}

static int put_selfish(struct tx *tx, struct err *err)
{
	struct rule rule = {.direction = DIRECTION_INGRESS,
			    .protocol = PROTOCOL_ANY,
			    .port = FIELD_NONE,
			    .port_max = FIELD_NONE};
	struct project p = {.meta = {.id = OTHER, .name = "q"},
			    .organization_id = ORG};
	struct network n = {.meta = {.id = NET, .name = "n"},
			    .organization_id = ORG,
			    .project_id = OTHER,
			    .region_id = REGION,
			    .spec.prefix = "10.0.0.0/24",
			    .status.backed.state = BACKED_PENDING};
	struct securitygroup g = {.meta = {.id = GROUP, .name = "g"},
				  .organization_id = ORG,
				  .project_id = OTHER,
				  .region_id = REGION,
				  .network_id = NET,
				  .spec.rules = {&rule, 1},
				  .status.state = BACKED_PENDING};

	if (tx_put(tx, &project_kind, &p, err) < 0 ||
	    tx_put(tx, &network_kind, &n, err) < 0 ||
	    tx_put(tx, &securitygroup_kind, &g, err) < 0)
		return -1;
	rule.group_id = GROUP;
	return tx_put(tx, &securitygroup_kind, &g, err);
}

static int drop_selfish(struct tx *tx, struct err *err)
{
	return tx_delete(tx, &securitygroup_kind, GROUP, err);
}

static int drop_network(struct tx *tx, struct err *err)
{
	tx_set_view(tx, see_nothing, NULL);
	return tx_delete(tx, &network_kind, NET, err);
}

static int put_unseen(struct tx *tx, struct err *err)
{
	struct project p = {.meta = {.id = USER, .name = "r"},
			    .organization_id = ORG};

	tx_set_view(tx, see_nothing, NULL);
	return tx_put(tx, &project_kind, &p, err);
}

static void what_refers_to_itself_alone_can_go(void)
{
	struct record record;
	struct err err;
	struct rig r;

	open_all(&r);
	CHECK(transact(&r, put_tenants).code == ERR_NONE);
	CHECK(transact(&r, put_selfish).code == ERR_NONE);
	CHECK(!store_user(r.store, &securitygroup_kind, GROUP, &record));
	/* Who has it is not told to who may not see that. */
	err = transact(&r, drop_network);
	CHECK(err.code == ERR_CONFLICT && !strstr(err.msg, "\"g\""));
	err = transact(&r, put_unseen);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "there is no"));
	CHECK(transact(&r, drop_selfish).code == ERR_NONE);
	rig_release(&r);
}

static int leave_group(struct tx *tx, struct err *err)
{
	static const char *ids[] = {OTHER};
	struct group g = *(const struct group *)tx_get(tx, &group_kind, GROUP);

	g.user_ids = (struct items){ids, 1};
	return tx_put(tx, &group_kind, &g, err);
}

static int drop_group(struct tx *tx, struct err *err)
{
	return tx_delete(tx, &group_kind, GROUP, err);
}

static int drop_other(struct tx *tx, struct err *err)
{
	return tx_delete(tx, &user_kind, OTHER, err);
}

/* The log still knows that they were in it; that is nobody's mention. */
static void who_has_left_a_group_is_not_taken_out_of_it_again(void)
{
	struct record record;
	uint64_t revision;
	struct rig r;

	open_all(&r);
	CHECK(transact(&r, put_tenants).code == ERR_NONE);
	CHECK(transact(&r, put_members).code == ERR_NONE);
	CHECK(transact(&r, leave_group).code == ERR_NONE);
	revision = store_revision(r.store);
	CHECK(transact(&r, drop_user).code == ERR_NONE);
	CHECK(store_get(r.store, 0, &group_kind, GROUP, &record));
	CHECK(record.revision == revision);
	CHECK(transact(&r, drop_group).code == ERR_NONE);
	CHECK(transact(&r, drop_other).code == ERR_NONE);
	CHECK(!store_get(r.store, 0, &group_kind, GROUP, &record));
	rig_release(&r);
}

static size_t on_first, on_second;

static int find_books(struct tx *tx, struct err *err)
{
	char a[37], b[37];
	const char **ids;

	(void)err;
	on_first = tx_find(tx, &book_kind, "shelfId", shelves_id(a, 1, 1), 9,
			   &ids);
	on_second = tx_find(tx, &book_kind, "shelfId", shelves_id(b, 1, 2), 9,
			    &ids);
	return 0;
}

/* Where a book was, readers of the past can see; it is found where it is. */
static void what_has_moved_is_found_where_it_is(void)
{
	char a[37], b[37], id[37];
	struct deed d = {0};
	struct book book;
	struct rig r;

	open_shelves(&r);
	book = book_of(shelves_id(id, 2, 1), "book", shelves_id(a, 1, 1));
	deed_shelf(&d, a, "first");
	deed_shelf(&d, shelves_id(b, 1, 2), "second");
	deed_book(&d, &book);
	CHECK(deed_do(&d, &r) == ERR_NONE);
	transact(&r, find_books);
	CHECK(on_first == 1 && on_second == 0);
	book.shelf_id = b;
	d = (struct deed){0};
	deed_book(&d, &book);
	CHECK(deed_do(&d, &r) == ERR_NONE);
	transact(&r, find_books);
	CHECK(on_first == 0 && on_second == 1);
	rig_release(&r);
}

static struct backend *watched;
static bool was_pending;

static void look(struct txn *t, const struct err *err)
{
	was_pending = memory_pending(watched);
	finished(t, err);
}

static unsigned which_shelf;

static int put_shelf(struct tx *tx, struct err *err)
{
	char id[37];
	struct shelf s = shelf_of(shelves_id(id, 1, which_shelf), id);

	return tx_put(tx, &shelf_kind, &s, err);
}

/* The next batch is on its way while those of the last are answered. */
static void the_disk_does_not_wait_for_answers(void)
{
	struct doing one = {.fn = put_shelf}, two = {.fn = put_shelf};
	struct rig r;

	open_shelves(&r);
	watched = r.backend;
	one.txn = (struct txn){.fn = run, .done = look, .ctx = &one};
	two.txn = (struct txn){.fn = run, .done = finished, .ctx = &two};
	which_shelf = 1;
	store_transact(r.store, &one.txn);
	which_shelf = 2;
	store_transact(r.store, &two.txn);
	memory_answer(r.backend, MEMORY_WRITTEN);
	CHECK(one.done && !one.err.code && was_pending && !two.done);
	r.ops->settle(&r);
	CHECK(two.done && !two.err.code);
	rig_release(&r);
}

int main(void)
{
	RUN(the_disk_does_not_wait_for_answers);
	RUN(who_has_left_a_group_is_not_taken_out_of_it_again);
	RUN(what_has_moved_is_found_where_it_is);
	RUN(what_refers_to_itself_alone_can_go);
	RUN(what_is_too_large_is_not_written);
	RUN(a_batch_takes_no_more_text_than_enough);
	RUN(ids_sort_by_age_and_never_repeat);
	RUN(whoever_may_not_see_it_is_not_told_whose_a_name_is);
	RUN(what_was_deleted_was_not_there_before);
	RUN(a_store_without_events_keeps_none);
	RUN(so_many_users_are_only_counted);
	RUN(what_is_another_organization_s_is_not_there);
	RUN(a_group_loses_who_goes_and_nobody_else);
	return test_done();
}

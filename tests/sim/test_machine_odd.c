/* test_machine_odd - what becomes of an instance when its provider answers what
 * it should not, or its documents go while it is being looked after. */
#include "model/deletion.h"
#include "model/image.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/volume.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "reconcile/engine_priv.h"
#include "test.h"
#include "yard.h"

#define MINUTE  60000
#define NO_SUCH "99999999-9999-4999-8999-999999999999"

/* The simulated cloud's, for a test to put something else into. */
static struct driver driver;
static struct machine_ops machines;

static void be_odd(struct yard *y)
{
	machines = *sim_driver.machines;
	driver = sim_driver;
	driver.machines = &machines;
	yard_provider(y)->driver = &driver;
}

static const char *begin(struct yard *y, const char *options)
{
	struct instance i;

	yard_open(y, options);
	i = yard_spec(y, "web-1");
	return yard_create(y, &i);
}

static bool runs(const struct yard *y, const char *id)
{
	const struct instance *i = yard_instance(y, id);

	return i && i->status.state == INSTANCE_RUNNING &&
	       i->status.provisioning == PROVISIONING_PROVISIONED;
}

static void end(struct yard *y, const char *id)
{
	if (yard_instance(y, id) && !yard_instance(y, id)->meta.deleted_at)
		yard_delete(y, id);
	yard_run(y, 20 * MINUTE);
	CHECK(!yard_instance(y, id));
	CHECK(yard_machines(y) == 0);
	CHECK(yard_count(y, &server_kind) == 0);
	CHECK(yard_count(y, &allocation_kind) == 0);
	yard_close(y);
}

static void reach_call(struct yard *y)
{
	for (int n = 0; n < 1000 && !yard_calling(y); n++)
		if (!yard_step(y))
			y->now = (int64_t)y->wake;
	CHECK(yard_calling(y));
}

static int without_end(struct provider *p, const struct machine_filter *filter,
		       const char *page, struct arena *a,
		       struct machine_page *ret, struct err *err)
{
	(void)p;
	(void)filter;
	(void)page;
	(void)a;
	(void)err;
	*ret = (struct machine_page){.next = "more"};
	return 0;
}

/* Whether there is a machine is not known: so it is not taken to be gone. */
static void a_list_without_an_end_is_no_answer(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	reach_call(&y);
	yard_call(&y, false);
	yard_crash(&y);
	yard_delete(&y, id);
	while (!yard_provider(&y))
		yard_step(&y);
	be_odd(&y);
	machines.list = without_end;
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_instance(&y, id) && yard_machines(&y) == 1);
	CHECK_STR(yard_instance(&y, id)->status.reason.code, "provider_failed");
	machines.list = sim_driver.machines->list;
	end(&y, id);
}

static void a_deletion_takes_more_than_can_be_told_apart(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"pageSize\":3}");

	reach_call(&y);
	for (int n = 0; n < 18; n++)
		yard_stray(&y, id);
	yard_call(&y, false);
	yard_crash(&y);
	yard_delete(&y, id);
	yard_run(&y, 60 * MINUTE);
	CHECK(yard_told(&y, id, "consistency"));
	end(&y, id);
}

static void public_ip(struct instance *i)
{
	i->spec.public_ip = true;
}

static void what_cannot_be_set_waits_for_its_owner(void)
{
	struct yard y;
	const char *id =
		begin(&y, "{\"faults\":[{\"call\":\"setAccess\",\"action\":"
			  "\"fail\",\"code\":\"invalid\",\"times\":1}]}");

	yard_run(&y, MINUTE);
	yard_change(&y, id, public_ip, 0);
	yard_run(&y, MINUTE);
	CHECK(yard_instance(&y, id)->status.reason.waits_for == WAITS_CHANGE);
	CHECK(yard_instance(&y, id)->status.health == HEALTH_DEGRADED);
	yard_change(&y, id, public_ip, 0);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id) && yard_instance(&y, id)->status.public_ip);
	end(&y, id);
}

static void an_address_that_could_not_be_looked_at_is_set_all_the_same(void)
{
	struct yard y;
	const char *id =
		begin(&y, "{\"faults\":[{\"call\":\"describe\",\"action\":"
			  "\"fail\",\"code\":\"unavailable\",\"times\":1}]}");

	yard_run(&y, MINUTE);
	yard_change(&y, id, public_ip, 0);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_server(&y, id)->asked.public_ip);
	end(&y, id);
}

static void spoil(struct instance *i)
{
	i->spec.user_data = "!!!";
}

/* What is wanted cannot be put together: as if the provider had refused. */
static void what_cannot_be_asked_for_is_parked(void)
{
	struct instance i;
	struct yard y;
	const char *id;
	uint64_t calls;

	yard_open(&y, NULL);
	i = yard_spec(&y, "web-1");
	spoil(&i);
	id = yard_create(&y, &i);
	calls = y.calls;
	yard_run(&y, MINUTE);
	CHECK(y.calls == calls);
	CHECK(yard_instance(&y, id)->status.provisioning == PROVISIONING_ERROR);
	CHECK(yard_told(&y, id, "parked"));
	end(&y, id);
}

static struct server_volume nothing[] = {{NO_SUCH, "vdb"}};

static int lose_volume(struct tx *tx, void *ctx, struct err *err)
{
	const struct instance *i = tx_get(tx, &instance_kind, ctx);
	struct server s = *(const struct server *)tx_get(tx, &server_kind,
							 i->status.server_id);
	struct instance new = *i;

	s.status.volumes = (struct items){nothing, 1};
	new.meta.generation++;
	return tx_put(tx, &server_kind, &s, err) < 0
		       ? -1
		       : tx_put(tx, &instance_kind, &new, err);
}

static void a_volume_that_is_no_more_is_let_go(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_run(&y, MINUTE);
	yard_transact(&y, lose_volume, copy);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id) && yard_server(&y, id)->status.volumes.n == 0);
	end(&y, id);
}

static int drop(struct tx *tx, const struct kind *k, const char *id,
		struct err *err)
{
	return tx_get(tx, k, id) ? tx_delete(tx, k, id, err) : 0;
}

static int drop_server(struct tx *tx, void *ctx, struct err *err)
{
	const struct instance *i = tx_get(tx, &instance_kind, ctx);

	return drop(tx, &server_kind, i->status.server_id, err);
}

static int drop_allocation(struct tx *tx, void *ctx, struct err *err)
{
	char allocation[37];

	allocation_id(YARD_ORGANIZATION, ctx, allocation);
	return drop(tx, &allocation_kind, allocation, err);
}

static int drop_all(struct tx *tx, void *ctx, struct err *err)
{
	if (drop_server(tx, ctx, err) < 0 || drop_allocation(tx, ctx, err) < 0)
		return -1;
	return tx_delete(tx, &instance_kind, ctx, err);
}

static void what_goes_while_it_is_called_about_stays_gone(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	struct engine_stats stats;
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	reach_call(&y);
	yard_transact(&y, drop_all, copy);
	yard_call(&y, true);
	yard_run(&y, MINUTE);
	CHECK(!yard_instance(&y, id));
	CHECK(yard_count(&y, &server_kind) == 0);
	engine_stats(y.engine, &stats);
	CHECK(stats.works <= 1);
	yard_close(&y);
}

/* One that is named and is not there: nobody guesses what it was. */
static void a_server_that_is_lost_is_not_made_anew(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	char copy[40];
	uint64_t calls;

	snprintf(copy, sizeof(copy), "%s", id);
	reach_call(&y);
	yard_transact(&y, drop_server, copy);
	yard_call(&y, true);
	calls = y.calls;
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_PENDING);
	CHECK(y.calls == calls && yard_machines(&y) == 1);
	yard_close(&y);
}

static int forget_server(struct tx *tx, void *ctx, struct err *err)
{
	struct instance i =
		*(const struct instance *)tx_get(tx, &instance_kind, ctx);

	if (drop_server(tx, ctx, err) < 0)
		return -1;
	i.status.server_id = NULL;
	return tx_put(tx, &instance_kind, &i, err);
}

static void an_instance_without_a_server_gets_one(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_transact(&y, forget_server, copy);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_server(&y, id)->number == 1);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

/* There is nothing of it anywhere: its deletion ends. */
static void an_instance_without_anything_can_be_deleted(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_transact(&y, forget_server, copy);
	yard_transact(&y, drop_allocation, copy);
	yard_delete(&y, id);
	end(&y, id);
}

static int64_t soon;

static void expires(struct instance *i)
{
	i->spec.expires_at = soon;
}

static void one_that_expires_does_so_after_a_crash_too(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	yard_run(&y, MINUTE);
	soon = y.now + 5 * MINUTE;
	yard_change(&y, id, expires, 0);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	yard_crash(&y);
	yard_run(&y, 2 * MINUTE);
	CHECK(runs(&y, id));
	yard_run(&y, 5 * MINUTE);
	CHECK(!yard_instance(&y, id));
	end(&y, id);
}

#define IMAGE "66666666-6666-4666-8666-666666666666"

static int put_image(struct tx *tx, void *ctx, struct err *err)
{
	struct image i = {
		.meta = {.id = IMAGE, .name = "snapshot", .generation = 1},
		.organization_id = YARD_ORGANIZATION,
		.project_id = YARD_PROJECT,
		.region_id = YARD_REGION,
		.spec = {.architecture = ARCHITECTURE_X86_64},
		.status = {.backed = {.state = BACKED_PENDING},
			   .source = IMAGE_SNAPSHOT,
			   .instance_id = ctx},
	};

	return tx_put(tx, &image_kind, &i, err);
}

static const struct backed *snapshot(const struct yard *y)
{
	struct record r;

	store_get(y->store, 0, &image_kind, IMAGE, &r);
	return &((const struct image *)r.object)->status.backed;
}

static void paused(struct instance *i)
{
	i->spec.paused = true;
}

static void resumed(struct instance *i)
{
	i->spec.paused = false;
}

static void a_snapshot_waits_for_a_machine(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_change(&y, id, paused, 0);
	yard_transact(&y, put_image, copy);
	yard_run(&y, MINUTE);
	CHECK(snapshot(&y)->state == BACKED_PENDING);
	yard_change(&y, id, resumed, 0);
	yard_run(&y, MINUTE);
	CHECK(snapshot(&y)->state == BACKED_READY);
	end(&y, id);
}

static void a_snapshot_of_what_never_was_is_given_up(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"faults\":[{\"call\":\"terminate\","
				   "\"action\":\"fail\"}]}");
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_change(&y, id, paused, 0);
	yard_transact(&y, put_image, copy);
	yard_run(&y, MINUTE);
	yard_delete(&y, id);
	yard_run(&y, MINUTE);
	CHECK(snapshot(&y)->state == BACKED_FAILED);
	CHECK_STR(snapshot(&y)->reason.code, "conflict");
	yard_close(&y);
}

static void a_snapshot_that_is_being_made_outlives_its_machine(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"backingMs\":30000}");
	char copy[40];

	snprintf(copy, sizeof(copy), "%s", id);
	yard_run(&y, 2 * MINUTE);
	CHECK(runs(&y, id));
	yard_transact(&y, put_image, copy);
	yard_run(&y, 1000);
	CHECK(snapshot(&y)->state == BACKED_CREATING);
	yard_delete(&y, id);
	yard_run(&y, 2 * MINUTE);
	CHECK(!yard_instance(&y, id));
	CHECK(snapshot(&y)->state == BACKED_READY);
	yard_close(&y);
}

static struct instance_volume disk = {.volume_id = YARD_VOLUME};

static void with_volume(struct instance *i)
{
	i->spec.volumes = (struct items){&disk, 1};
}

static void without_volume(struct instance *i)
{
	i->spec.volumes = (struct items){0};
}

static int begin_deletion(struct tx *tx, void *ctx, struct err *err)
{
	struct volume v =
		*(const struct volume *)tx_get(tx, &volume_kind, YARD_VOLUME);

	(void)ctx;
	deletion_begin(&volume_kind, &v, tx_time(tx), "test");
	return tx_put(tx, &volume_kind, &v, err);
}

/* It is wanted no more, and is still attached: it is let go first. */
static void a_volume_is_not_removed_from_under_a_machine(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	struct record r;

	yard_run(&y, MINUTE);
	yard_change(&y, id, with_volume, 0);
	yard_run(&y, MINUTE);
	yard_options(&y, "{\"faults\":[{\"call\":\"detach\",\"action\":"
			 "\"fail\",\"code\":\"unavailable\"}]}");
	yard_change(&y, id, without_volume, 0);
	yard_transact(&y, begin_deletion, NULL);
	yard_run(&y, 5 * MINUTE);
	CHECK(store_get(y.store, 0, &volume_kind, YARD_VOLUME, &r));
	yard_options(&y, "{}");
	yard_run(&y, 5 * MINUTE);
	CHECK(!store_get(y.store, 0, &volume_kind, YARD_VOLUME, &r));
	CHECK(runs(&y, id));
	end(&y, id);
}

#define SECOND_VOLUME "55555555-5555-4555-8555-666666666666"

static struct instance_volume disks[] = {
	{.volume_id = YARD_VOLUME, .delete_with_instance = true},
	{.volume_id = SECOND_VOLUME, .delete_with_instance = true}};

static void with_both(struct instance *i)
{
	i->spec.volumes = (struct items){disks, 2};
}

static int put_second(struct tx *tx, void *ctx, struct err *err)
{
	struct volume v =
		*(const struct volume *)tx_get(tx, &volume_kind, YARD_VOLUME);

	(void)ctx;
	v.meta.id = SECOND_VOLUME;
	v.meta.name = "second";
	v.status.backed = (struct backed){.state = BACKED_PENDING};
	return tx_put(tx, &volume_kind, &v, err);
}

/* Both are attached, both go with it; one was to go anyway. */
static void two_volumes_are_as_good_as_one(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	struct record r;

	yard_transact(&y, put_second, NULL);
	yard_run(&y, MINUTE);
	yard_change(&y, id, with_both, 0);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_server(&y, id)->status.volumes.n == 2);
	yard_transact(&y, begin_deletion, NULL);
	yard_run(&y, MINUTE);
	CHECK(store_get(y.store, 0, &volume_kind, YARD_VOLUME, &r));
	yard_delete(&y, id);
	yard_run(&y, 5 * MINUTE);
	CHECK(!store_get(y.store, 0, &volume_kind, YARD_VOLUME, &r));
	CHECK(!store_get(y.store, 0, &volume_kind, SECOND_VOLUME, &r));
	end(&y, id);
}

/* However much it has missed, it looks at everything that there is, and pokes
 * all who wait. */
static void an_engine_that_is_behind_the_log_looks_at_everything(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	yard_options(&y, "{");
	yard_change(&y, id, paused, 0);
	yard_run(&y, MINUTE);
	y.now += 2 * 3600000;
	yard_transact(&y, put_image, NULL);
	store_expire(y.store);
	for (size_t k = 0; kinds[k]; k++)
		y.engine->cursors[k] = (struct cursor){1, 0};
	yard_options(&y, "{}");
	yard_change(&y, id, resumed, 0);
	yard_run(&y, 2 * MINUTE);
	CHECK(runs(&y, id));
	end(&y, id);
}

/* A provider's clock is not ours: what it says takes so long may take longer
 * by ours, and what it does at once does. */
static void a_window_is_wider_by_our_clock(void)
{
	static const struct {
		const char *options;
		uint32_t least, most;
	} cases[] = {
		{"{\"consistencyMs\":200}", 205, 250},
		{"{\"consistencyMs\":60000}", 60600, 62000},
		{"{}", 0, 0},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		const struct place *p;
		struct yard y;

		yard_open(&y, cases[n].options);
		p = site_place(regions_site(y.engine->regions, YARD_REGION));
		CHECK(p->facts.consistency_ms >= cases[n].least);
		CHECK(p->facts.consistency_ms <= cases[n].most);
		yard_close(&y);
	}
}

int main(void)
{
	RUN(a_window_is_wider_by_our_clock);
	RUN(a_snapshot_waits_for_a_machine);
	RUN(a_snapshot_of_what_never_was_is_given_up);
	RUN(a_snapshot_that_is_being_made_outlives_its_machine);
	RUN(a_volume_is_not_removed_from_under_a_machine);
	RUN(two_volumes_are_as_good_as_one);
	RUN(an_engine_that_is_behind_the_log_looks_at_everything);
	RUN(a_list_without_an_end_is_no_answer);
	RUN(a_deletion_takes_more_than_can_be_told_apart);
	RUN(what_cannot_be_set_waits_for_its_owner);
	RUN(an_address_that_could_not_be_looked_at_is_set_all_the_same);
	RUN(what_cannot_be_asked_for_is_parked);
	RUN(a_volume_that_is_no_more_is_let_go);
	RUN(what_goes_while_it_is_called_about_stays_gone);
	RUN(a_server_that_is_lost_is_not_made_anew);
	RUN(an_instance_without_a_server_gets_one);
	RUN(an_instance_without_anything_can_be_deleted);
	RUN(one_that_expires_does_so_after_a_crash_too);
	return test_done();
}

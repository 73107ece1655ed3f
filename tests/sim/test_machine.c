/* test_machine - the life of an instance on a simulated cloud, step by step. */
#include "model/image.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/volume.h"
#include "test.h"
#include "yard.h"

#define MINUTE 60000

/* A yard, and one instance in it that was just accepted. */
static const char *begin(struct yard *y, const char *options)
{
	struct instance i;

	yard_open(y, options);
	i = yard_spec(y, "web-1");
	return yard_create(y, &i);
}

static const char *begin_running(struct yard *y, const char *options)
{
	const char *id = begin(y, options);

	yard_run(y, MINUTE);
	CHECK(yard_instance(y, id)->status.state == INSTANCE_RUNNING);
	return id;
}

static bool is_settled(const struct yard *y, const char *id, int state)
{
	const struct instance *i = yard_instance(y, id);

	return i->status.state == state &&
	       i->status.provisioning == PROVISIONING_PROVISIONED &&
	       i->status.observed_generation == i->meta.generation &&
	       !i->status.change.action && !i->status.reason.code &&
	       !i->status.deadline;
}

/* It goes, and nothing is left of it anywhere. */
static void end(struct yard *y, const char *id)
{
	if (yard_instance(y, id) && !yard_instance(y, id)->meta.deleted_at)
		yard_delete(y, id);
	yard_run(y, 10 * MINUTE);
	CHECK(!yard_instance(y, id));
	CHECK(yard_machines(y) == 0);
	CHECK(yard_count(y, &server_kind) == 0);
	CHECK(yard_count(y, &allocation_kind) == 0);
	yard_close(y);
}

static void a_plain_create_is_one_call_and_one_transaction(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	uint64_t calls = y.calls, revision = store_revision(y.store);

	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_instance(&y, id)->status.private_ip != NULL);
	CHECK(yard_instance(&y, id)->status.launched_at != 0);
	CHECK(yard_instance(&y, id)->status.health == HEALTH_HEALTHY);
	CHECK(y.calls == calls + 1);
	CHECK(store_revision(y.store) == revision + 1);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void nothing_is_called_while_it_is_as_it_is_wanted(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);
	struct engine_stats stats;
	uint64_t calls = y.calls;

	yard_run(&y, 30 * MINUTE);
	CHECK(y.calls == calls);
	engine_stats(y.engine, &stats);
	CHECK(stats.works <= 1); /* the region's own */
	end(&y, id);
}

static void a_machine_that_takes_its_time_is_looked_at(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"launchMs\":20000}");

	yard_run(&y, 5000);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_PENDING);
	CHECK(yard_instance(&y, id)->status.deadline > y.now);
	CHECK(yard_told(&y, id, "launched"));
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_told(&y, id, "running"));
	end(&y, id);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

static void on(struct instance *i)
{
	i->spec.power = POWER_ON;
}

static void it_stops_and_starts(void)
{
	struct yard y;
	const char *id =
		begin_running(&y, "{\"stopMs\":4000,\"startMs\":4000}");

	yard_change(&y, id, off, 0);
	yard_run(&y, 1000);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_STOPPING);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_STOPPED));
	CHECK(yard_told(&y, id, "stopped"));
	yard_change(&y, id, on, 0);
	yard_run(&y, 1000);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_PENDING);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void one_that_does_not_stop_loses_its_power(void)
{
	struct yard y;
	const char *id = begin_running(
		&y, "{\"stopMs\":86000000,\"stopLimitMs\":30000}");

	yard_change(&y, id, off, 0);
	yard_run(&y, 10000);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_STOPPING);
	yard_run(&y, 35000);
	CHECK_STR(yard_instance(&y, id)->status.reason.code, "timeout");
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_told(&y, id, "retrying"));
	CHECK(yard_instance(&y, id)->status.state != INSTANCE_RUNNING);
	yard_options(&y, "{}");
	yard_run(&y, 5 * MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_STOPPED));
	end(&y, id);
}

static void it_reboots(void)
{
	struct yard y;
	const char *id = begin_running(&y, "{\"startMs\":3000}");

	yard_change(&y, id, NULL, CHANGE_REBOOT);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_told(&y, id, "rebooted"));
	yard_change(&y, id, NULL, CHANGE_HARD_REBOOT);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	end(&y, id);
}

static void medium(struct instance *i)
{
	i->spec.flavor_id = yard_id(&flavor_kind, "sim.medium");
}

static void it_is_resized_in_place(void)
{
	struct yard y;
	const char *id = begin_running(&y, "{\"stopMs\":2000}");
	char machine[64];

	snprintf(machine, sizeof(machine), "%s",
		 yard_instance(&y, id)->status.provider_id);
	yard_change(&y, id, medium, CHANGE_RESIZE);
	yard_run(&y, 500);
	CHECK(yard_instance(&y, id)->status.change.step == CHANGE_STOPPING);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK_STR(yard_instance(&y, id)->status.provider_id, machine);
	CHECK_STR(yard_instance(&y, id)->status.flavor_id,
		  yard_id(&flavor_kind, "sim.medium"));
	CHECK(yard_told(&y, id, "changeDone"));
	end(&y, id);
}

static void ubuntu(struct instance *i)
{
	i->spec.image_id = yard_id(&image_kind, "ubuntu-24.04");
}

static void it_is_rebuilt_in_place(void)
{
	struct yard y;
	const char *id = begin_running(&y, "{\"launchMs\":3000}");
	char machine[64];

	snprintf(machine, sizeof(machine), "%s",
		 yard_instance(&y, id)->status.provider_id);
	yard_change(&y, id, ubuntu, CHANGE_REBUILD);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK_STR(yard_instance(&y, id)->status.provider_id, machine);
	CHECK_STR(yard_server(&y, id)->asked.image_id,
		  yard_id(&image_kind, "ubuntu-24.04"));
	end(&y, id);
}

static void it_is_replaced_by_one_other(void)
{
	struct yard y;
	const char *id = begin_running(&y, "{\"terminateMs\":3000}");
	char machine[64];

	snprintf(machine, sizeof(machine), "%s",
		 yard_instance(&y, id)->status.provider_id);
	yard_change(&y, id, ubuntu, CHANGE_REPLACE);
	yard_run(&y, 1000);
	CHECK(yard_instance(&y, id)->status.change.step == CHANGE_REMOVING);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(strcmp(yard_instance(&y, id)->status.provider_id, machine) != 0);
	CHECK(yard_server(&y, id)->number == 2);
	CHECK(yard_count(&y, &server_kind) == 1);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void without_a_change_nothing_is_destroyed(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);
	uint64_t calls = y.calls;

	yard_change(&y, id, ubuntu, 0);
	yard_run(&y, MINUTE);
	CHECK(y.calls == calls);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(yard_instance(&y, id)->status.observed_generation == 1);
	end(&y, id);
}

static void a_change_before_the_launch_is_another_try(void)
{
	struct yard y;
	const char *id;

	id = begin(&y, NULL);
	yard_change(&y, id, medium, CHANGE_RESIZE);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_server(&y, id)->attempt.number == 2);
	CHECK_STR(yard_instance(&y, id)->status.flavor_id,
		  yard_id(&flavor_kind, "sim.medium"));
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void tag_it(struct instance *i)
{
	static struct field_tag tag = {"team", "blue"};

	i->meta.tags = (struct items){&tag, 1};
}

static void settings_reach_a_machine_that_runs(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);
	uint64_t calls = y.calls;

	yard_change(&y, id, tag_it, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(y.calls == calls + 1);
	CHECK(yard_server(&y, id)->asked.tags_digest != NULL);
	end(&y, id);
}

static void public_ip(struct instance *i)
{
	i->spec.public_ip = true;
}

static void an_address_that_comes_is_seen(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	CHECK(!yard_instance(&y, id)->status.public_ip);
	yard_change(&y, id, public_ip, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_instance(&y, id)->status.public_ip != NULL);
	end(&y, id);
}

static const struct volume *volume(const struct yard *y)
{
	struct record r;

	return store_get(y->store, 0, &volume_kind, YARD_VOLUME, &r) ? r.object
								     : NULL;
}

static struct instance_volume disks[] = {
	{.volume_id = YARD_VOLUME, .delete_with_instance = true}};

static void with_volume(struct instance *i)
{
	i->spec.volumes = (struct items){disks, 1};
}

static void without_volume(struct instance *i)
{
	i->spec.volumes = (struct items){0};
}

static void volumes_come_and_go(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	yard_change(&y, id, with_volume, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(volume(&y)->status.instance_id &&
	      strcmp(volume(&y)->status.instance_id, id) == 0);
	CHECK(volume(&y)->status.device != NULL);
	yard_change(&y, id, without_volume, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(!volume(&y)->status.instance_id);
	end(&y, id);
}

static void a_volume_follows_a_replacement(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	yard_change(&y, id, with_volume, 0);
	yard_run(&y, MINUTE);
	yard_change(&y, id, NULL, CHANGE_REPLACE);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_server(&y, id)->number == 2);
	CHECK(yard_server(&y, id)->status.volumes.n == 1);
	CHECK(volume(&y)->status.instance_id &&
	      strcmp(volume(&y)->status.instance_id, id) == 0);
	yard_change(&y, id, without_volume, 0);
	yard_run(&y, MINUTE);
	end(&y, id);
}

static void larger(struct instance *i)
{
	i->spec.root_disk.size_gib = 25;
}

static void the_root_disk_grows_while_it_runs(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	yard_change(&y, id, larger, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	CHECK(yard_server(&y, id)->asked.root_disk_gib == 25);
	end(&y, id);
}

static void a_volume_may_go_with_its_instance(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	yard_change(&y, id, with_volume, 0);
	yard_run(&y, MINUTE);
	yard_delete(&y, id);
	yard_run(&y, 5 * MINUTE);
	CHECK(!yard_instance(&y, id));
	CHECK(!volume(&y));
	CHECK(yard_machines(&y) == 0);
	yard_close(&y);
}

static void paused(struct instance *i)
{
	i->spec.paused = true;
}

static void resumed(struct instance *i)
{
	i->spec.paused = false;
}

static void nothing_is_called_while_it_is_paused(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	uint64_t calls = y.calls;

	yard_change(&y, id, paused, 0);
	yard_run(&y, 5 * MINUTE);
	CHECK(y.calls == calls);
	yard_change(&y, id, resumed, 0);
	yard_run(&y, MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	yard_change(&y, id, paused, 0);
	end(&y, id);
}

static int64_t soon;

static void expires(struct instance *i)
{
	i->spec.expires_at = soon;
}

static void it_expires(void)
{
	struct yard y;
	const char *id = begin_running(&y, NULL);

	soon = y.now + 5 * MINUTE;
	yard_change(&y, id, expires, 0);
	yard_run(&y, 4 * MINUTE);
	CHECK(is_settled(&y, id, INSTANCE_RUNNING));
	yard_run(&y, 4 * MINUTE);
	CHECK(!yard_instance(&y, id));
	CHECK(yard_told(&y, id, "expired"));
	end(&y, id);
}

int main(void)
{
	RUN(a_plain_create_is_one_call_and_one_transaction);
	RUN(nothing_is_called_while_it_is_as_it_is_wanted);
	RUN(a_machine_that_takes_its_time_is_looked_at);
	RUN(it_stops_and_starts);
	RUN(one_that_does_not_stop_loses_its_power);
	RUN(it_reboots);
	RUN(it_is_resized_in_place);
	RUN(it_is_rebuilt_in_place);
	RUN(it_is_replaced_by_one_other);
	RUN(without_a_change_nothing_is_destroyed);
	RUN(a_change_before_the_launch_is_another_try);
	RUN(settings_reach_a_machine_that_runs);
	RUN(an_address_that_comes_is_seen);
	RUN(volumes_come_and_go);
	RUN(a_volume_follows_a_replacement);
	RUN(the_root_disk_grows_while_it_runs);
	RUN(a_volume_may_go_with_its_instance);
	RUN(nothing_is_called_while_it_is_paused);
	RUN(it_expires);
	return test_done();
}

/* test_machine_faults - what becomes of an instance when the cloud, or we,
 * fail. */
#include "model/image.h"
#include "model/quota.h"
#include "model/volume.h"
#include "test.h"
#include "yard.h"

#define MINUTE 60000

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

/* Where a call is when the process dies. */
enum moment {
	BEFORE_THE_CALL,
	BEFORE_THE_ANSWER,
	BEFORE_THE_RECORD,
	BEFORE_THE_RECORD_IS_KNOWN, /* it is durable, and nobody was told */
	MOMENTS,
};

static const char *const clouds[] = {
	"{}",
	"{\"launchTokens\":false}",
	"{\"consistencyMs\":4000}",
	"{\"launchTokens\":false,\"consistencyMs\":4000}",
	"{\"launchTokens\":false,\"tags\":false,\"consistencyMs\":4000}",
	"{\"launchMs\":3000,\"terminateMs\":3000,\"consistencyMs\":4000}",
};

/* Until a call waits to be made. */
static void reach_call(struct yard *y)
{
	for (int n = 0; n < 1000 && !yard_calling(y); n++) {
		if (yard_step(y))
			continue;
		y->now = (int64_t)y->wake;
	}
	CHECK(yard_calling(y));
}

static void crash_at(struct yard *y, enum moment m)
{
	reach_call(y);
	if (m == BEFORE_THE_ANSWER)
		yard_call(y, false);
	if (m >= BEFORE_THE_RECORD)
		yard_call(y, true);
	if (m == BEFORE_THE_RECORD_IS_KNOWN)
		memory_write_silently(y->backend);
	yard_crash(y);
}

static void a_crash_around_a_launch_loses_no_machine_and_makes_no_second(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		for (int m = 0; m < MOMENTS; m++) {
			struct yard y;
			const char *id = begin(&y, clouds[c]);

			crash_at(&y, (enum moment)m);
			crash_at(&y, (enum moment)m);
			yard_run(&y, 2 * MINUTE);
			if (!runs(&y, id) || yard_machines(&y) != 1)
				test_check(false, clouds[c], __FILE__, m);
			end(&y, id);
		}
	}
}

static void a_deletion_finds_what_a_crash_left(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		for (int m = 0; m < MOMENTS; m++) {
			struct yard y;
			const char *id = begin(&y, clouds[c]);

			crash_at(&y, (enum moment)m);
			yard_delete(&y, id);
			end(&y, id);
			if (!test_ok)
				test_check(false, clouds[c], __FILE__, m);
		}
	}
}

/* It was launched by a call that nobody knows of any more, and stopped by
 * somebody else since. */
static void a_deletion_finds_one_that_is_stopped(void)
{
	struct yard y;
	const char *id = begin(&y, "{}"), *machine;

	reach_call(&y);
	machine = yard_launch(&y, yard_server(&y, id)->meta.id,
			      DISK_INSTALLATION);
	CHECK(yard_power(&y, machine, false));
	yard_crash(&y);
	yard_delete(&y, id);
	end(&y, id);
}

/* What was written before a crash is older than what began after it, whatever
 * the clock says. */
static void a_clock_that_is_put_back_loses_no_machine(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		struct yard y;
		const char *id = begin(&y, clouds[c]);

		reach_call(&y);
		yard_call(&y, false);
		y.now -= 5 * MINUTE;
		yard_crash(&y);
		yard_delete(&y, id);
		yard_run(&y, 10 * MINUTE);
		end(&y, id);
		if (!test_ok)
			test_check(false, clouds[c], __FILE__, __LINE__);
	}
}

/* A copy of all that is written is another installation, with the same
 * servers. */
static void what_is_another_installation_s_is_not_taken_for_ours(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		for (int crash = 0; crash < 2; crash++) {
			struct yard y;
			const char *id = begin(&y, clouds[c]);

			reach_call(&y);
			yard_launch(&y, yard_server(&y, id)->meta.id,
				    "another-installation");
			if (crash)
				yard_crash(&y);
			else
				yard_run(&y, 2 * MINUTE);
			CHECK(crash || runs(&y, id));
			CHECK(crash || yard_machines(&y) == 2);
			yard_delete(&y, id);
			yard_run(&y, 20 * MINUTE);
			CHECK(!yard_instance(&y, id));
			CHECK(yard_machines(&y) == 1);
			yard_close(&y);
		}
	}
}

static void a_crash_around_a_termination_ends_all_the_same(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		for (int m = 0; m < MOMENTS; m++) {
			struct yard y;
			const char *id = begin(&y, clouds[c]);

			yard_run(&y, MINUTE);
			CHECK(runs(&y, id));
			yard_delete(&y, id);
			crash_at(&y, (enum moment)m);
			end(&y, id);
			if (!test_ok)
				test_check(false, clouds[c], __FILE__, m);
		}
	}
}

/* That it was asked to go is not that it has gone, and what it uses is used
 * until then. */
static void what_is_written_goes_when_the_machine_has_gone(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"terminateMs\":60000}");

	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	yard_delete(&y, id);
	for (int n = 0; n < 200 && yard_machines(&y); n++) {
		CHECK(yard_instance(&y, id) != NULL);
		CHECK(yard_count(&y, &allocation_kind) == 1);
		yard_run(&y, 1000);
	}
	end(&y, id);
}

static void ubuntu(struct instance *i)
{
	i->spec.image_id = yard_id(&image_kind, "ubuntu-24.04");
}

static void a_crash_in_a_replacement_leaves_one_machine(void)
{
	for (size_t c = 0; c < COUNT_OF(clouds); c++) {
		for (int m = 0; m < MOMENTS; m++) {
			struct yard y;
			const char *id = begin(&y, clouds[c]);

			yard_run(&y, MINUTE);
			yard_change(&y, id, ubuntu, CHANGE_REPLACE);
			for (int n = 0; n < 4; n++)
				crash_at(&y, (enum moment)m);
			yard_run(&y, 2 * MINUTE);
			if (!runs(&y, id) || yard_machines(&y) != 1)
				test_check(false, clouds[c], __FILE__, m);
			end(&y, id);
		}
	}
}

static void an_answer_that_is_lost_is_asked_for_again(void)
{
	struct yard y;
	const char *id = begin(
		&y, "{\"faults\":[{\"call\":\"launch\",\"action\":\"lose\","
		    "\"times\":3}]}");

	yard_run(&y, 2 * MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_told(&y, id, "retrying"));
	CHECK(yard_server(&y, id)->attempt.number == 1);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void a_deletion_before_the_launch_calls_nothing(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	uint64_t calls = y.calls;

	yard_delete(&y, id);
	yard_run(&y, MINUTE);
	CHECK(y.calls == calls);
	end(&y, id);
}

static void a_deletion_during_the_launch_takes_the_machine_along(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	reach_call(&y);
	yard_delete(&y, id);
	yard_call(&y, true);
	end(&y, id);
}

static void pause_it(struct instance *i)
{
	i->spec.paused = true;
}

/* The answer cannot be written, and then nothing is to be done for a while. */
static void a_launch_that_is_written_nowhere_is_not_forgotten(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	reach_call(&y);
	yard_call(&y, true);
	memory_answer(y.backend, MEMORY_REFUSED);
	yard_change(&y, id, pause_it, 0);
	yard_run(&y, MINUTE);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
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

/* Whoever has it next could not, were it still attached. */
static void an_attachment_that_a_crash_hid_is_undone(void)
{
	for (int m = 0; m < MOMENTS; m++) {
		struct yard y;
		const char *id = begin(&y, NULL), *other;
		struct instance i;

		yard_run(&y, MINUTE);
		yard_change(&y, id, with_volume, 0);
		crash_at(&y, (enum moment)m);
		yard_change(&y, id, without_volume, 0);
		yard_run(&y, MINUTE);
		CHECK(runs(&y, id));
		i = yard_spec(&y, "other");
		with_volume(&i);
		other = yard_create(&y, &i);
		yard_run(&y, MINUTE);
		CHECK(runs(&y, other));
		CHECK(yard_server(&y, other)->status.volumes.n == 1);
		yard_delete(&y, other);
		end(&y, id);
	}
}

static void a_volume_is_one_instance_s(void)
{
	struct yard y;
	const char *id = begin(&y, NULL), *other;
	const struct volume *v;
	struct instance i;
	struct record r;
	bool first;

	i = yard_spec(&y, "other");
	with_volume(&i);
	other = yard_create(&y, &i);
	yard_change(&y, id, with_volume, 0);
	yard_run(&y, MINUTE);
	first = runs(&y, id);
	CHECK(first != runs(&y, other));
	CHECK(store_get(y.store, 0, &volume_kind, YARD_VOLUME, &r));
	v = r.object;
	CHECK_STR(v->status.instance_id, first ? id : other);
	CHECK(yard_server(&y, first ? other : id)->status.volumes.n == 0);
	yard_delete(&y, first ? id : other);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, first ? other : id));
	yard_delete(&y, first ? other : id);
	end(&y, id);
}

static void a_deletion_outlasts_a_cloud_that_is_down(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	yard_options(&y, "{\"faults\":[{\"call\":\"terminate\",\"action\":"
			 "\"fail\",\"code\":\"forbidden\"}]}");
	yard_run(&y, MINUTE);
	yard_delete(&y, id);
	yard_run(&y, 30 * MINUTE);
	CHECK(yard_instance(&y, id) != NULL);
	CHECK_STR(yard_instance(&y, id)->status.reason.code, "forbidden");
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_TERMINATING);
	yard_options(&y, "{}");
	end(&y, id);
}

static struct alternative choices[2];

static struct instance choosy(const struct yard *y)
{
	struct instance i = yard_spec(y, "web-1");

	choices[0].flavor_id = yard_id(&flavor_kind, "sim.medium");
	choices[1].flavor_id = yard_id(&flavor_kind, "sim.large");
	i.spec.alternatives = (struct items){choices, 2};
	return i;
}

static int64_t charged(const struct yard *y, const char *kind)
{
	struct scan scan = store_scan(y->store, 0, &allocation_kind, NULL);
	struct record r;
	size_t effort = 0;
	int64_t sum = 0;

	while (scan_next(&scan, &r, &effort)) {
		const struct allocation *a = r.object;
		const struct quota_amount *amounts = a->amounts.at;

		for (size_t n = 0; n < a->amounts.n; n++)
			if (strcmp(amounts[n].kind, kind) == 0)
				sum += amounts[n].committed;
	}
	return sum;
}

static void what_is_sold_out_is_taken_elsewhere(void)
{
	struct instance i;
	struct yard y;
	const char *id, *second;
	uint64_t calls;

	yard_open(&y,
		  "{\"capacity\":[{\"flavor\":\"sim.small\",\"count\":0}]}");
	i = choosy(&y);
	id = yard_create(&y, &i);
	CHECK(charged(&y, "vcpus") == 8);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_server(&y, id)->attempt.offering == 1);
	CHECK_STR(yard_instance(&y, id)->status.flavor_id,
		  yard_id(&flavor_kind, "sim.medium"));
	CHECK(yard_told(&y, id, "offeringRefused"));
	CHECK(!yard_told(&y, id, "offeringRefused1"));
	CHECK(charged(&y, "vcpus") == 2);
	CHECK(charged(&y, "instances") == 1);

	/* What was found is remembered: nobody asks for it again so soon. */
	i.meta.name = "web-2";
	calls = y.calls;
	second = yard_create(&y, &i);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, second));
	CHECK(y.calls == calls + 1);
	yard_delete(&y, second);
	end(&y, id);
}

static void when_all_is_sold_out_it_waits_and_says_so(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"capacity\":[{\"flavor\":\"sim.small\","
				   "\"count\":0}]}");
	const struct instance *i;

	yard_run(&y, MINUTE);
	i = yard_instance(&y, id);
	CHECK(i->status.state == INSTANCE_PENDING);
	CHECK_STR(i->status.reason.code, "capacity");
	CHECK(i->status.reason.waits_for == WAITS_TIME);
	CHECK(i->status.reason.retry_at > y.now);
	yard_options(&y, "{}");
	yard_run(&y, 10 * MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void touch(struct instance *i)
{
	i->meta.description = "touched";
}

static void what_is_refused_is_parked_until_somebody_does_something(void)
{
	struct yard y;
	const char *id =
		begin(&y, "{\"faults\":[{\"call\":\"launch\",\"action\":"
			  "\"fail\",\"code\":\"invalid\",\"times\":1}]}");
	const struct instance *i;
	uint64_t calls;

	yard_run(&y, MINUTE);
	i = yard_instance(&y, id);
	CHECK(i->status.state == INSTANCE_PENDING);
	CHECK(i->status.provisioning == PROVISIONING_ERROR);
	CHECK(i->status.reason.waits_for == WAITS_CHANGE);
	CHECK(yard_told(&y, id, "parked"));
	calls = y.calls;
	yard_run(&y, 20 * MINUTE);
	CHECK(y.calls == calls);
	yard_crash(&y);
	yard_run(&y, 20 * MINUTE);
	CHECK(yard_instance(&y, id)->status.provisioning == PROVISIONING_ERROR);
	yard_options(&y, "{}");
	yard_change(&y, id, touch, 0);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	end(&y, id);
}

static void an_operator_s_change_of_the_region_unparks(void)
{
	struct yard y;
	const char *id =
		begin(&y, "{\"faults\":[{\"call\":\"launch\",\"action\":"
			  "\"fail\",\"code\":\"unauthenticated\"}]}");

	yard_run(&y, MINUTE);
	CHECK(yard_instance(&y, id)->status.reason.waits_for == WAITS_OPERATOR);
	yard_options(&y, "{}");
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	end(&y, id);
}

static void an_account_that_is_full_is_asked_again_by_and_by(void)
{
	struct yard y;
	const char *id;

	id = begin(&y, "{\"faults\":[{\"call\":\"launch\",\"action\":\"fail\","
		       "\"code\":\"quota_exceeded\",\"times\":2}]}");
	yard_run(&y, 30000);
	CHECK_STR(yard_instance(&y, id)->status.reason.code, "quota_exceeded");
	CHECK(yard_instance(&y, id)->status.reason.waits_for == WAITS_TIME);
	yard_run(&y, 5 * MINUTE);
	CHECK(runs(&y, id));
	end(&y, id);
}

static void machines_that_do_not_boot_are_not_made_for_ever(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"bootFailureRate\":1000}");
	const struct instance *i;

	yard_run(&y, 10 * MINUTE);
	i = yard_instance(&y, id);
	CHECK(i->status.state == INSTANCE_FAILED);
	CHECK(i->status.reason.waits_for == WAITS_OPERATOR);
	CHECK(yard_server(&y, id)->attempt.refused == 3);
	CHECK(yard_machines(&y) == 0);
	yard_options(&y, "{}");
	yard_run(&y, 2 * MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void a_machine_that_hangs_is_given_up_at_its_deadline(void)
{
	struct yard y;
	const char *id =
		begin(&y, "{\"stuckRate\":1000,\"launchLimitMs\":30000}");

	yard_run(&y, 20000);
	CHECK(yard_server(&y, id)->status.phase == SERVER_LAUNCHED);
	yard_options(&y, "{\"launchLimitMs\":30000}");
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_server(&y, id)->attempt.number == 2);
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void machines_that_vanish_before_they_run_are_counted_too(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"launchMs\":10000}");
	const struct instance *i;

	for (int n = 0; n < 3; n++) {
		yard_run(&y, 3000);
		i = yard_instance(&y, id);
		CHECK(i->status.provider_id != NULL);
		yard_drift(&y, i->status.provider_id, "vanish");
		yard_run(&y, 3000);
	}
	yard_run(&y, MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_FAILED);
	CHECK(yard_machines(&y) == 0);
	end(&y, id);
}

static void one_that_vanishes_after_it_ran_is_not_replaced(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);
	const struct instance *i;

	yard_run(&y, MINUTE);
	yard_drift(&y, yard_instance(&y, id)->status.provider_id, "vanish");
	yard_change(&y, id, NULL, CHANGE_REBOOT);
	yard_run(&y, 2 * MINUTE);
	i = yard_instance(&y, id);
	CHECK(i->status.state == INSTANCE_TERMINATED);
	CHECK(i->status.reason.waits_for == WAITS_CHANGE);
	CHECK(yard_machines(&y) == 0);
	yard_change(&y, id, NULL, CHANGE_REPLACE);
	yard_run(&y, MINUTE);
	CHECK(runs(&y, id));
	CHECK(yard_machines(&y) == 1);
	end(&y, id);
}

static void several_machines_are_never_taken_for_one(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"launchTokens\":false}");

	yard_stray(&y, id);
	yard_stray(&y, id);
	yard_run(&y, 2 * MINUTE);
	CHECK(!runs(&y, id));
	CHECK(yard_instance(&y, id)->status.reason.waits_for == WAITS_OPERATOR);
	CHECK(yard_told(&y, id, "consistency"));
	CHECK(yard_machines(&y) == 2);
	yard_run(&y, 20 * MINUTE);
	CHECK(yard_machines(&y) == 2);
	end(&y, id);
}

static void a_deletion_takes_all_that_carry_its_tag(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	reach_call(&y);
	yard_stray(&y, id);
	yard_stray(&y, id);
	crash_at(&y, BEFORE_THE_ANSWER);
	yard_delete(&y, id);
	yard_run(&y, MINUTE);
	CHECK(yard_told(&y, id, "consistency"));
	end(&y, id);
}

static void a_busy_cloud_is_not_asked_more_than_it_allows(void)
{
	struct yard y;
	struct instance i;
	char name[16], id[37];

	yard_open(&y, "{\"callsPerSecond\":5,\"tellsLimit\":false,"
		      "\"launchMs\":2000}");
	for (int n = 0; n < 30; n++) {
		snprintf(name, sizeof(name), "web-%d", n);
		i = yard_spec(&y, name);
		yard_create(&y, &i);
	}
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_machines(&y) == 30);
	for (int n = 0; n < 30; n++) {
		snprintf(name, sizeof(name), "web-%d", n);
		instance_id(YARD_NETWORK, name, id);
		CHECK(runs(&y, id));
	}
	yard_close(&y);
}

int main(void)
{
	RUN(a_crash_around_a_launch_loses_no_machine_and_makes_no_second);
	RUN(a_deletion_finds_what_a_crash_left);
	RUN(a_deletion_finds_one_that_is_stopped);
	RUN(a_clock_that_is_put_back_loses_no_machine);
	RUN(what_is_another_installation_s_is_not_taken_for_ours);
	RUN(a_crash_around_a_termination_ends_all_the_same);
	RUN(what_is_written_goes_when_the_machine_has_gone);
	RUN(a_crash_in_a_replacement_leaves_one_machine);
	RUN(an_answer_that_is_lost_is_asked_for_again);
	RUN(a_deletion_before_the_launch_calls_nothing);
	RUN(a_deletion_during_the_launch_takes_the_machine_along);
	RUN(a_launch_that_is_written_nowhere_is_not_forgotten);
	RUN(an_attachment_that_a_crash_hid_is_undone);
	RUN(a_volume_is_one_instance_s);
	RUN(a_deletion_outlasts_a_cloud_that_is_down);
	RUN(what_is_sold_out_is_taken_elsewhere);
	RUN(when_all_is_sold_out_it_waits_and_says_so);
	RUN(what_is_refused_is_parked_until_somebody_does_something);
	RUN(an_operator_s_change_of_the_region_unparks);
	RUN(an_account_that_is_full_is_asked_again_by_and_by);
	RUN(machines_that_do_not_boot_are_not_made_for_ever);
	RUN(a_machine_that_hangs_is_given_up_at_its_deadline);
	RUN(machines_that_vanish_before_they_run_are_counted_too);
	RUN(one_that_vanishes_after_it_ran_is_not_replaced);
	RUN(several_machines_are_never_taken_for_one);
	RUN(a_deletion_takes_all_that_carry_its_tag);
	RUN(a_busy_cloud_is_not_asked_more_than_it_allows);
	return test_done();
}

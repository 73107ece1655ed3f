/* test_judge - histories that are wrong in one thing each, which the judge must
 * find; and some that are right. */
#include <stdio.h>
#include <string.h>

#include "model/server.h"
#include "provider/sim_place.h"
#include "store/memory.h"
#include "verdict.h"

#define DELETED "2026-01-01T00:02:00.000Z"

static struct pair dying(void)
{
	struct pair p = pair_running;

	p.state = "terminating";
	p.deleted = DELETED;
	return p;
}

static void end_all(void)
{
	bench_drop(&b, "server", b.server);
	bench_drop(&b, "allocation", b.allocation);
	bench_drop(&b, "instance", b.id);
	bench_row(&b);
}

/* Somebody asks for something, which is not answered yet. */
static unsigned ask(const char *method, const char *id, const char *rest)
{
	static char target[128];
	struct verdict_ask a = {.request = 7,
				.method = method,
				.target = target,
				.started = b.revision};

	snprintf(target, sizeof(target), "/v1/instances/%s%s", id, rest);
	return judge_asked(b.j, &a);
}

static void answer(unsigned asked, const char *method, const char *target,
		   int status, const char *reply)
{
	struct verdict_ask a = {.request = 7,
				.method = method,
				.target = target,
				.started = b.revision,
				.status = status,
				.reply = reply,
				.len = strlen(reply)};

	judge_answered(b.j, asked, &a);
}

static void a_life_as_it_should_be_is_right(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_launch(&b);
	judge_rest(b.j, b.cloud, bench_now());
	CHECK(acquitted(&b));
	bench_pair(&b, &p);
	bench_call(&b, SIM_TERMINATE, NULL);
	end_all();
	judge_rest(b.j, b.cloud, bench_now());
	right();
}

/* Rule 1. */

static void a_machine_without_intent_is_found(void)
{
	bench_open(&b);
	bench_make(&b, b.server, DISK_INSTALLATION, b.token);
	found(JUDGE_LOST, "did not intend it");
}

static void a_launch_with_another_token_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	bench_make(&b, b.server, DISK_INSTALLATION, "another");
	found(JUDGE_LOST, "did not intend it");
}

static void a_machine_without_our_tags_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	bench_make(&b, b.server, NULL, b.token);
	found(JUDGE_LOST, "without our tags");
}

static void a_second_machine_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	bench_make(&b, b.server, DISK_INSTALLATION, b.token);
	bench_make(&b, b.server, DISK_INSTALLATION, NULL);
	found(JUDGE_DOUBLED, "of the same server");
}

static void a_token_that_is_not_the_try_s_is_found(void)
{
	bench_open(&b);
	memcpy(b.token, STRANGER, sizeof(b.token));
	bench_create(&b);
	found(JUDGE_DOUBLED, "is not its own");
}

static void another_token_for_the_same_try_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	memcpy(b.token, STRANGER, sizeof(b.token));
	bench_pair(&b, &pair_new);
	found(JUDGE_DOUBLED, "another token");
}

static void a_try_before_the_last_is_gone_is_found(void)
{
	struct pair p = pair_new;

	bench_open(&b);
	bench_create(&b);
	bench_make(&b, b.server, DISK_INSTALLATION, b.token);
	p.attempt = 2;
	bench_next_token(&b, 2);
	bench_pair(&b, &p);
	found(JUDGE_DOUBLED, "of the one before is active");
}

static void an_instance_that_goes_before_its_machine_is_found(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_launch(&b);
	bench_pair(&b, &p);
	end_all();
	found(JUDGE_LOST, "and its machine");
}

static void a_server_said_to_be_gone_that_is_not_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	p.state = p.seen = "terminated";
	p.phase = "gone";
	bench_pair(&b, &p);
	found(JUDGE_LOST, "said to be gone");
}

/* Rule 2. */

static void an_instance_without_a_server_is_found(void)
{
	bench_open(&b);
	bench_allocation(&b, 1);
	bench_instance(&b, &pair_new);
	bench_row(&b);
	found(JUDGE_LOST, "has no server");
}

static void a_server_that_nobody_names_is_found(void)
{
	bench_open(&b);
	bench_server(&b, &pair_new);
	bench_row(&b);
	found(JUDGE_OTHER, "does not name it");
}

static void a_machine_of_two_servers_is_found(void)
{
	struct pair p = pair_new;

	bench_open(&b);
	bench_launch(&b);
	bench_other(&b);
	bench_create(&b);
	p.machine = b.machine;
	p.phase = "launched";
	bench_pair(&b, &p);
	found(JUDGE_DOUBLED, "that of two servers");
}

/* Rule 3. */

static void an_instance_that_is_not_counted_is_found(void)
{
	bench_open(&b);
	bench_pair(&b, &pair_new);
	found(JUDGE_QUOTA, "is not counted");
}

static void quota_that_is_given_back_early_is_found(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_launch(&b);
	bench_pair(&b, &p);
	bench_drop(&b, "allocation", b.allocation);
	bench_row(&b);
	found(JUDGE_QUOTA, "was given back");
}

static void quota_that_is_never_given_back_is_found(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_create(&b);
	p.phase = "intended";
	p.launched = NULL;
	bench_pair(&b, &p);
	bench_drop(&b, "server", b.server);
	bench_drop(&b, "instance", b.id);
	bench_row(&b);
	found(JUDGE_QUOTA, "is gone, and counted");
}

static void less_than_it_uses_is_found(void)
{
	bench_open(&b);
	bench_allocation(&b, 0);
	bench_pair(&b, &pair_new);
	found(JUDGE_QUOTA, "is charged 0 vcpus, and has 1");
}

static void more_than_may_be_used_is_found(void)
{
	bench_open(&b);
	bench_put(&b, "quota", STRANGER,
		  "\"organizationId\":\"" ORGANIZATION
		  "\",\"limits\":[{\"kind\":\"vcpus\",\"limit\":1}]");
	bench_row(&b);
	CHECK(acquitted(&b));
	bench_allocation(&b, 2);
	bench_pair(&b, &pair_new);
	found(JUDGE_QUOTA, "uses 2 vcpus, and may use 1");
}

/* Rule 4. */

static void a_machine_that_nobody_gave_up_is_missed(void)
{
	bench_open(&b);
	bench_launch(&b);
	bench_call(&b, SIM_TERMINATE, NULL);
	found(JUDGE_WRONGLY_DELETED, "nobody gave it up");
}

static void giving_up_what_has_run_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	p.state = "pending";
	p.phase = "leaving";
	bench_pair(&b, &p);
	found(JUDGE_WRONGLY_DELETED, "is given up");
}

static void what_nobody_asked_for_is_found(void)
{
	static const struct {
		enum sim_call call;
		const char *with, *words;
	} rows[] = {
		{SIM_STOP, NULL, "was stopped"},
		{SIM_REBOOT, NULL, "was restarted"},
		{SIM_RESIZE, "sim.medium", "was resized"},
		{SIM_REBUILD, "ubuntu-24.04", "was rebuilt"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bench_open(&b);
		bench_launch(&b);
		bench_call(&b, rows[i].call, rows[i].with);
		found(JUDGE_WRONGLY_DELETED, rows[i].words);
	}
}

static void what_somebody_asked_for_is_right(void)
{
	static const struct {
		enum sim_call call;
		const char *with, *action;
	} rows[] = {
		{SIM_STOP, NULL, "resize"},
		{SIM_REBOOT, NULL, "reboot"},
		{SIM_RESIZE, "sim.medium", "resize"},
		{SIM_REBUILD, "ubuntu-24.04", "rebuild"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pair p = pair_running;

		bench_open(&b);
		bench_launch(&b);
		p.action = rows[i].action;
		bench_pair(&b, &p);
		bench_call(&b, rows[i].call, rows[i].with);
		right();
	}
}

static void a_change_that_was_not_allowed_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	ask("POST", b.id, "/rebuild");
	p.action = "rebuild";
	p.generation = 2;
	bench_pair(&b, &p);
	found(JUDGE_WRONGLY_DELETED, "was not allowed");
}

static void a_change_that_was_allowed_is_right(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	ask("POST", b.id, "/rebuild?allow=rebuild");
	p.action = "rebuild";
	p.generation = 2;
	bench_pair(&b, &p);
	right();
}

static void wishes_that_nobody_has_are_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	ask("GET", b.id, "");
	p.generation = 2;
	bench_pair(&b, &p);
	found(JUDGE_OTHER, "nobody asked for generation 2");
	bench_open(&b);
	bench_launch(&b);
	p.generation = 1;
	p.power = "off";
	bench_pair(&b, &p);
	found(JUDGE_OTHER, "and not its generation");
}

/* Rule 5. */

static void a_deletion_that_nobody_asked_for_is_found(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_launch(&b);
	ask("DELETE", STRANGER, "");
	bench_pair(&b, &p);
	found(JUDGE_WRONGLY_DELETED, "nobody asked for the deletion");
	bench_open(&b);
	bench_launch(&b);
	ask("DELETE", b.id, "");
	bench_pair(&b, &p);
	right();
}

static void a_deletion_that_is_taken_back_is_found(void)
{
	struct pair p = dying();

	bench_open(&b);
	bench_launch(&b);
	bench_pair(&b, &p);
	p.deleted = NULL;
	bench_pair(&b, &p);
	found(JUDGE_OTHER, "was taken back");
}

static void a_protected_one_that_is_deleted_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	p.more = ",\"deleteProtection\":true";
	p.generation = 2;
	bench_pair(&b, &p);
	p.state = "terminating";
	p.deleted = DELETED;
	bench_pair(&b, &p);
	found(JUDGE_WRONGLY_DELETED, "is protected");
}

/* Rule 6, and what never changes. */

static void what_goes_while_it_is_used_is_found(void)
{
	bench_open(&b);
	bench_create(&b);
	bench_drop(&b, "image", IMAGE);
	bench_row(&b);
	found(JUDGE_OTHER, "refers to it");
}

static void a_state_that_cannot_follow_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	bench_meddle(&b, "kill");
	p.state = p.seen = "terminated";
	p.phase = "gone";
	bench_pair(&b, &p);
	CHECK(acquitted(&b));
	p.state = "running";
	bench_pair(&b, &p);
	found(JUDGE_OTHER, "became running from terminated");
}

/* Rule 9. */

static void what_is_not_ours_and_touched_is_found(void)
{
	static const enum sim_call calls[] = {SIM_STOP, SIM_TERMINATE};

	for (size_t i = 0; i < 2; i++) {
		bench_open(&b);
		bench_stray(&b, STRANGER, STRANGER);
		CHECK(acquitted(&b));
		bench_call(&b, calls[i], NULL);
		found(JUDGE_WRONGLY_DELETED, "not ours, and was touched");
	}
}

static void an_orphan_that_is_removed_unwanted_is_found(void)
{
	bench_open(&b);
	bench_stray(&b, STRANGER, DISK_INSTALLATION);
	bench_region(&b, "report", -1000);
	bench_wait(3600000);
	bench_call(&b, SIM_TERMINATE, NULL);
	found(JUDGE_WRONGLY_DELETED, "it was no orphan, or too early");
}

static void an_orphan_that_is_removed_early_is_found(void)
{
	bench_open(&b);
	bench_stray(&b, STRANGER, DISK_INSTALLATION);
	bench_wait(3600000);
	bench_region(&b, "remove", 60000);
	bench_call(&b, SIM_TERMINATE, NULL);
	found(JUDGE_WRONGLY_DELETED, "it was no orphan, or too early");
}

static void an_orphan_whose_time_is_over_goes_rightly(void)
{
	bench_open(&b);
	bench_stray(&b, STRANGER, DISK_INSTALLATION);
	bench_wait(3600000);
	bench_region(&b, "remove", 60000);
	bench_wait(60001);
	bench_call(&b, SIM_TERMINATE, NULL);
	right();
}

static void a_stray_of_a_server_that_is_known_stays(void)
{
	bench_open(&b);
	bench_launch(&b);
	bench_stray(&b, b.server, DISK_INSTALLATION);
	bench_wait(3600000);
	bench_region(&b, "remove", -1000);
	bench_call(&b, SIM_TERMINATE, NULL);
	found(JUDGE_WRONGLY_DELETED, "it was no orphan, or too early");
}

/* Rules 10, 11 and 12: answers. */

#define PROBLEM(code, more)                                                    \
	"{\"status\":409,\"detail\":\"no\",\"code\":\"" code                   \
	"\",\"scope\":\"object\",\"retry\":\"never\"" more "}"

static void an_error_that_does_not_say_all_is_found(void)
{
	const char *target = "/v1/projects";

	bench_open(&b);
	answer(0, "POST", target, 409,
	       PROBLEM("conflict", ",\"requestId\":\"r\""));
	CHECK(acquitted(&b));
	answer(0, "POST", target, 409, PROBLEM("conflict", ""));
	found(JUDGE_OTHER, "is not said as it should be");
	bench_open(&b);
	answer(0, "POST", target, 409,
	       PROBLEM("nonsense", ",\"requestId\":\"r\""));
	found(JUDGE_OTHER, "is not said as it should be");
	bench_open(&b);
	answer(0, "POST", target, 409,
	       PROBLEM("confirmation_required", ",\"requestId\":\"r\""));
	found(JUDGE_OTHER, "is not said as it should be");
}

static void what_is_acknowledged_and_not_there_is_found(void)
{
	bench_open(&b);
	answer(0, "POST", "/v1/projects", 201,
	       "{\"id\":\"" STRANGER "\",\"revision\":4}");
	found(JUDGE_LOST, "is not on the disk");
}

static void what_is_told_otherwise_than_written_is_found(void)
{
	bench_open(&b);
	answer(0, "PATCH", "/v1/projects/" PROJECT, 200,
	       "{\"id\":\"" PROJECT "\",\"revision\":1,\"name\":\"other\"}");
	found(JUDGE_OTHER, "told otherwise than written");
}

static void a_404_for_what_is_there_is_found(void)
{
	bench_open(&b);
	answer(0, "GET", "/v1/projects/" PROJECT, 404,
	       "{\"status\":404,\"detail\":\"no\",\"code\":\"not_found\","
	       "\"scope\":\"object\",\"retry\":\"never\",\"requestId\":"
	       "\"r\"}");
	found(JUDGE_OTHER, "404 for what is there");
}

static void a_list_that_leaves_out_something_is_found(void)
{
	bench_open(&b);
	answer(0, "GET", "/v1/projects", 200, "{\"items\":[],\"revision\":3}");
	found(JUDGE_OTHER, "0 of 1 at 3");
}

static void a_read_of_the_past_is_found(void)
{
	char before[512];

	bench_open(&b);
	bench_put(&b, "project", PROJECT,
		  "\"name\":\"p\",\"organizationId\":\"" ORGANIZATION "\"");
	bench_row(&b);
	snprintf(before, sizeof(before),
		 "{\"id\":\"" PROJECT "\",\"revision\":1,\"name\":\"project\","
		 "\"organizationId\":\"" ORGANIZATION "\"}");
	answer(0, "GET", "/v1/projects/" PROJECT "?at=3", 200, before);
	CHECK(acquitted(&b));
	answer(0, "GET", "/v1/projects/" PROJECT, 200, before);
	found(JUDGE_OTHER, "which did not hold");
}

static void what_is_refused_and_done_is_found(void)
{
	struct pair p = pair_new;

	p.description = "op-7";
	bench_open(&b);
	bench_allocation(&b, 1);
	bench_pair(&b, &p);
	answer(0, "POST", "/v1/instances", 409,
	       PROBLEM("conflict", ",\"requestId\":\"r\""));
	found(JUDGE_OTHER, "was done, and refused");
	bench_open(&b);
	answer(0, "POST", "/v1/instances", 409,
	       PROBLEM("conflict", ",\"requestId\":\"r\""));
	bench_allocation(&b, 1);
	bench_pair(&b, &p);
	found(JUDGE_OTHER, "was refused, and done");
}

static void what_is_done_twice_is_found(void)
{
	struct pair p = pair_running;

	bench_open(&b);
	bench_launch(&b);
	p.description = "op-7";
	bench_pair(&b, &p);
	p.description = "op-8";
	bench_pair(&b, &p);
	p.description = "op-7";
	bench_pair(&b, &p);
	found(JUDGE_DOUBLED, "op-7 was done twice");
}

static void a_secret_that_is_shown_is_found(void)
{
	bench_open(&b);
	judge_secret(b.j, "hunter2");
	answer(0, "GET", "/v1/things", 200, "{\"is\":\"hunter2\"}");
	found(JUDGE_OTHER, "a secret is in");
	bench_open(&b);
	judge_secret(b.j, "hunter2");
	bench_put(&b, "event", STRANGER, "\"message\":\"hunter2\"");
	bench_row(&b);
	found(JUDGE_OTHER, "a secret is in a row");
}

/* Streams. */

static void see(const char *event, const char *id, const char *data)
{
	judge_event(b.j, 0, event, id, data, strlen(data));
}

#define SEEN(rev, name)                                                        \
	"{\"id\":\"" PROJECT "\",\"revision\":" rev ",\"name\":\"" name        \
	"\",\"organizationId\":\"" ORGANIZATION "\"}"

static void rename_project(const char *name)
{
	bench_put(&b, "project", PROJECT,
		  "\"name\":\"%s\",\"organizationId\":\"" ORGANIZATION "\"",
		  name);
	bench_row(&b);
}

static void a_stream_that_sees_all_is_right(void)
{
	bench_open(&b);
	judge_stream(b.j, 0, "project", 0);
	see("put", NULL, SEEN("1", "project"));
	see("ready", "3", "{\"revision\":3}");
	rename_project("a");
	rename_project("b");
	see("put", "4", SEEN("4", "a"));
	judge_crashed(b.j);
	judge_stream(b.j, 0, "project", 4);
	see("put", "5", SEEN("5", "b"));
	judge_rest(b.j, b.cloud, bench_now());
	right();
}

static void a_gap_in_a_stream_is_found(void)
{
	bench_open(&b);
	judge_stream(b.j, 0, "project", 3);
	rename_project("a");
	rename_project("b");
	see("put", "5", SEEN("5", "b"));
	found(JUDGE_OTHER, "saw 5, not 4");
	bench_open(&b);
	judge_stream(b.j, 0, "project", 3);
	rename_project("a");
	judge_rest(b.j, b.cloud, bench_now());
	found(JUDGE_OTHER, "never saw revision 4");
	bench_open(&b);
	judge_stream(b.j, 0, "project", 0);
	see("ready", "3", "{\"revision\":3}");
	found(JUDGE_OTHER, "began with 0 of 1");
}

static void a_thing_that_was_removed_is_found(void)
{
	bench_open(&b);
	bench_remove_network(&b);
	found(JUDGE_WRONGLY_DELETED, "is not being deleted");
}

int main(void)
{
	RUN(a_life_as_it_should_be_is_right);
	RUN(a_machine_without_intent_is_found);
	RUN(a_launch_with_another_token_is_found);
	RUN(a_machine_without_our_tags_is_found);
	RUN(a_second_machine_is_found);
	RUN(a_token_that_is_not_the_try_s_is_found);
	RUN(another_token_for_the_same_try_is_found);
	RUN(a_try_before_the_last_is_gone_is_found);
	RUN(an_instance_that_goes_before_its_machine_is_found);
	RUN(a_server_said_to_be_gone_that_is_not_is_found);
	RUN(an_instance_without_a_server_is_found);
	RUN(a_server_that_nobody_names_is_found);
	RUN(a_machine_of_two_servers_is_found);
	RUN(an_instance_that_is_not_counted_is_found);
	RUN(quota_that_is_given_back_early_is_found);
	RUN(quota_that_is_never_given_back_is_found);
	RUN(less_than_it_uses_is_found);
	RUN(more_than_may_be_used_is_found);
	RUN(a_machine_that_nobody_gave_up_is_missed);
	RUN(giving_up_what_has_run_is_found);
	RUN(what_nobody_asked_for_is_found);
	RUN(what_somebody_asked_for_is_right);
	RUN(a_change_that_was_not_allowed_is_found);
	RUN(a_change_that_was_allowed_is_right);
	RUN(wishes_that_nobody_has_are_found);
	RUN(a_deletion_that_nobody_asked_for_is_found);
	RUN(a_deletion_that_is_taken_back_is_found);
	RUN(a_protected_one_that_is_deleted_is_found);
	RUN(what_goes_while_it_is_used_is_found);
	RUN(a_state_that_cannot_follow_is_found);
	RUN(what_is_not_ours_and_touched_is_found);
	RUN(an_orphan_that_is_removed_unwanted_is_found);
	RUN(an_orphan_that_is_removed_early_is_found);
	RUN(an_orphan_whose_time_is_over_goes_rightly);
	RUN(a_stray_of_a_server_that_is_known_stays);
	RUN(an_error_that_does_not_say_all_is_found);
	RUN(what_is_acknowledged_and_not_there_is_found);
	RUN(what_is_told_otherwise_than_written_is_found);
	RUN(a_404_for_what_is_there_is_found);
	RUN(a_list_that_leaves_out_something_is_found);
	RUN(a_read_of_the_past_is_found);
	RUN(what_is_refused_and_done_is_found);
	RUN(what_is_done_twice_is_found);
	RUN(a_secret_that_is_shown_is_found);
	RUN(a_stream_that_sees_all_is_right);
	RUN(a_gap_in_a_stream_is_found);
	RUN(a_thing_that_was_removed_is_found);
	return test_done();
}

/* test_reach - where machines are reached, whether their guests are up, what
 * key they show, and what their provider says by itself. */
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "herd.h"
#include "identity/ssh.h"
#include "model/image.h"
#include "model/securitygroup.h"
#include "provider/sim_cloud.h"
#include "provider/sim_driver.h"
#include "reconcile/notices.h"
#include "test.h"

#define POLL 250 /* the sim's, by default */

static const char *begin(struct yard *y, const char *options)
{
	struct instance i;

	yard_open(y, options);
	i = yard_spec(y, "web-0");
	return yard_create(y, &i);
}

static const struct readiness *readiness(const struct yard *y, const char *id)
{
	return &yard_instance(y, id)->status.readiness;
}

static bool is(const struct yard *y, const char *id, int ready, int health)
{
	const struct instance *i = yard_instance(y, id);

	return i->status.readiness.state == ready &&
	       i->status.health == health &&
	       yard_server(y, id)->status.readiness.state == ready;
}

static void ports_are_shown_and_are_nobody_elses(void)
{
	const struct port *a, *b;
	struct yard y;

	herd_open(&y, "{\"publish\":[22,80]}", 2);
	a = herd_at(&y, 0)->status.ports.at;
	b = herd_at(&y, 1)->status.ports.at;
	CHECK(herd_at(&y, 0)->status.ports.n == 2);
	CHECK(herd_at(&y, 1)->status.ports.n == 2);
	CHECK(a[0].guest == 22 && a[1].guest == 80);
	CHECK(a[0].protocol == PROTOCOL_TCP);
	CHECK_STR(a[0].address, "203.0.113.1");
	CHECK(a[0].port > 0 && a[0].port != a[1].port);
	CHECK(a[0].port != b[0].port && a[0].port != b[1].port);
	CHECK(yard_server(&y, herd_id(0))->status.ports.n == 2);
	yard_close(&y);
}

static void where_nobody_looks_running_is_well(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	yard_run(&y, MINUTE);
	CHECK(is(&y, id, 0, HEALTH_HEALTHY));
	CHECK(!readiness(&y, id)->message && !readiness(&y, id)->since);
	CHECK(!yard_told(&y, id, "ready"));
	yard_close(&y);
}

static void a_guest_is_waited_for(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"tellsReady\":true,\"readyMs\":20000}");
	int64_t since;

	yard_run(&y, 5 * SECOND);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(yard_instance(&y, id)->status.provisioning ==
	      PROVISIONING_PROVISIONED);
	CHECK(is(&y, id, READINESS_WAITING, HEALTH_UNKNOWN));
	CHECK_STR(readiness(&y, id)->message, "the guest is booting");
	since = readiness(&y, id)->since;
	CHECK(since > 0 && since <= y.now - 4 * SECOND);
	/* Who comes after a crash goes on waiting. */
	yard_crash(&y);
	yard_run(&y, 5 * SECOND);
	CHECK(is(&y, id, READINESS_WAITING, HEALTH_UNKNOWN));
	CHECK(readiness(&y, id)->since == since);
	CHECK(!yard_told(&y, id, "ready"));
	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	CHECK_STR(readiness(&y, id)->message, "the guest is up");
	CHECK(readiness(&y, id)->since > since);
	CHECK(yard_told(&y, id, "ready") && !yard_told(&y, id, "unready"));
	yard_close(&y);
}

static void what_is_up_at_once_is_written_at_once(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"tellsReady\":true}");
	uint64_t calls = y.calls, revision = store_revision(y.store);

	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	CHECK(y.calls == calls + 1);
	CHECK(store_revision(y.store) == revision + 1);
	yard_close(&y);
}

/* No longer than a launch may take, and then by the list alone. */
static void a_guest_that_is_late_is_not_waited_for_any_more(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"tellsReady\":true,\"readyMs\":900000,"
				   "\"launchLimitMs\":60000}");
	uint64_t calls;

	yard_run(&y, 50 * SECOND);
	CHECK(is(&y, id, READINESS_WAITING, HEALTH_UNKNOWN));
	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_UNREADY, HEALTH_DEGRADED));
	CHECK(yard_told(&y, id, "unready"));
	CHECK(yard_instance(&y, id)->status.provisioning ==
	      PROVISIONING_PROVISIONED);
	calls = y.calls;
	yard_run(&y, 5 * MINUTE);
	CHECK(y.calls == calls);
	yard_observe(&y, 60);
	yard_run(&y, 20 * MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	CHECK(yard_told(&y, id, "ready") && !yard_told(&y, id, "drifted"));
	yard_close(&y);
}

static void a_guest_that_hangs_is_seen_in_a_list(void)
{
	struct yard y;

	herd_open(&y, "{\"tellsReady\":true}", 2);
	CHECK(is(&y, herd_id(0), READINESS_READY, HEALTH_HEALTHY));
	CHECK(herd_drift(&y, 0, "hang"));
	yard_run(&y, 2 * MINUTE);
	CHECK(is(&y, herd_id(0), READINESS_UNREADY, HEALTH_DEGRADED));
	CHECK(is(&y, herd_id(1), READINESS_READY, HEALTH_HEALTHY));
	CHECK_STR(herd_at(&y, 0)->status.readiness.message,
		  "the guest is hung");
	CHECK(herd_told(&y, 0, "unready") && !herd_told(&y, 0, "drifted"));
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	CHECK(yard_machines(&y) == 2);
	CHECK(herd_drift(&y, 0, "wake"));
	yard_run(&y, 2 * MINUTE);
	CHECK(is(&y, herd_id(0), READINESS_READY, HEALTH_HEALTHY));
	yard_close(&y);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

static void on(struct instance *i)
{
	i->spec.power = POWER_ON;
}

static void a_start_and_a_reboot_wait_anew(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"tellsReady\":true,\"readyMs\":20000}");

	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	yard_change(&y, id, off, 0);
	yard_run(&y, MINUTE);
	CHECK(is(&y, id, 0, HEALTH_UNKNOWN));
	CHECK(!readiness(&y, id)->since && !readiness(&y, id)->message);
	yard_change(&y, id, on, 0);
	yard_run(&y, 10 * SECOND);
	CHECK(is(&y, id, READINESS_WAITING, HEALTH_UNKNOWN));
	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	yard_change(&y, id, NULL, CHANGE_REBOOT);
	yard_run(&y, 10 * SECOND);
	CHECK(is(&y, id, READINESS_WAITING, HEALTH_UNKNOWN));
	CHECK(!yard_instance(&y, id)->status.change.action);
	yard_run(&y, MINUTE);
	CHECK(is(&y, id, READINESS_READY, HEALTH_HEALTHY));
	CHECK(!yard_told(&y, id, "unready"));
	yard_close(&y);
}

/* The key that the cloud was told of its only machine. */
static bool was_given(struct yard *y, const char *line)
{
	struct buf truth = BUF_INIT((size_t)1 << 20), want = BUF_INIT(1024);
	bool found;

	buf_addf(&want, "\"hostKey\":\"%s\"", line);
	sim_cloud_truth(yard_cloud(y), &truth);
	found = strstr(buf_str(&truth), buf_str(&want)) != NULL;
	buf_release(&truth);
	buf_release(&want);
	return found;
}

static void note(const struct yard *y, const char *id, char out[256])
{
	const char *line = yard_instance(y, id)->status.ssh_host_key;

	snprintf(out, 256, "%s", line ? line : "");
}

static void ubuntu(struct instance *i)
{
	i->spec.image_id = yard_id(&image_kind, "ubuntu-24.04");
}

static void each_root_disk_has_a_host_key_of_its_own(void)
{
	char first[256], second[256], third[256];
	struct ssh_public key;
	struct ssh_pair pair;
	struct arena a;
	struct err err;
	struct yard y;
	const char *id = begin(&y, NULL);

	arena_init(&a, (size_t)1 << 20);
	yard_run(&y, MINUTE);
	note(&y, id, first);
	CHECK(ssh_public_parse(first, "", &a, &key, &err) == 0);
	CHECK(key.type == SSH_ED25519);
	CHECK(was_given(&y, first));
	CHECK(server_host_key(yard_server(&y, id)->host_key_seed, 1, &a,
			      &pair));
	CHECK_STR(pair.public_line, first);
	/* It is the same machine, and the same key, after a stop. */
	yard_change(&y, id, off, 0);
	yard_run(&y, MINUTE);
	yard_change(&y, id, on, 0);
	yard_run(&y, MINUTE);
	note(&y, id, second);
	CHECK_STR(second, first);
	yard_change(&y, id, ubuntu, CHANGE_REBUILD);
	yard_run(&y, MINUTE);
	note(&y, id, second);
	CHECK(second[0] && strcmp(second, first) != 0);
	CHECK(was_given(&y, second) && yard_server(&y, id)->disk == 2);
	yard_change(&y, id, NULL, CHANGE_REPLACE);
	yard_run(&y, MINUTE);
	note(&y, id, third);
	CHECK(third[0] && strcmp(third, first) != 0 &&
	      strcmp(third, second) != 0);
	CHECK(was_given(&y, third) && yard_server(&y, id)->number == 2);
	arena_release(&a);
	yard_close(&y);
}

static void no_two_machines_have_the_same(void)
{
	struct yard y;

	herd_open(&y, NULL, 2);
	CHECK(strcmp(herd_at(&y, 0)->status.ssh_host_key,
		     herd_at(&y, 1)->status.ssh_host_key) != 0);
	yard_close(&y);
}

/* The answer is lost, and so is the process: the call that is made again has
 * the same key, so that what was made by the first is right. */
static void a_launch_that_is_repeated_has_the_same_key(void)
{
	struct yard y;
	const char *id = begin(&y, NULL);

	while (!yard_calling(&y) && yard_step(&y))
		;
	CHECK(yard_calling(&y));
	yard_call(&y, false);
	CHECK(yard_machines(&y) == 1);
	yard_crash(&y);
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_machines(&y) == 1);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(was_given(&y, yard_instance(&y, id)->status.ssh_host_key));
	yard_close(&y);
}

static void the_seed_is_nobodys_to_see(void)
{
	struct buf shown = BUF_INIT((size_t)1 << 20);
	struct yard y;
	const char *id = begin(&y, NULL), *seed;

	yard_run(&y, MINUTE);
	seed = yard_server(&y, id)->host_key_seed;
	CHECK(seed && strlen(seed) == 43);
	field_encode(server_kind.fields, yard_server(&y, id), FIELD_PUBLIC,
		     &shown);
	field_encode(instance_kind.fields, yard_instance(&y, id), FIELD_FULL,
		     &shown);
	CHECK(buf_ok(&shown) && strstr(buf_str(&shown), "sshHostKey"));
	CHECK(!strstr(buf_str(&shown), seed));
	CHECK(!strstr(buf_str(&shown), "hostKeySeed"));
	CHECK(!strstr(buf_str(&shown), "PRIVATE"));
	buf_release(&shown);
	yard_close(&y);
}

static void where_guests_are_given_none_there_is_none(void)
{
	struct yard y;
	const char *id = begin(&y, "{\"hostKeys\":false}");

	yard_run(&y, MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	CHECK(!yard_instance(&y, id)->status.ssh_host_key);
	yard_close(&y);
}

static void what_happens_is_seen_when_it_is_said(void)
{
	struct yard y;
	uint64_t calls;

	herd_open(&y, "{\"tellsChanges\":true,\"tellsReady\":true}", 3);
	yard_observe(&y, 86400);
	yard_run(&y, MINUTE);
	calls = y.calls;
	CHECK(herd_drift(&y, 1, "hang"));
	yard_run(&y, 10);
	CHECK(is(&y, herd_id(1), READINESS_UNREADY, HEALTH_DEGRADED));
	CHECK(y.calls == calls + 1);
	CHECK(herd_at(&y, 1)->status.observed_by == OBSERVED_DESCRIBE);
	CHECK(herd_drift(&y, 2, "fail"));
	yard_run(&y, 10);
	CHECK(herd_at(&y, 2)->status.state == INSTANCE_FAILED);
	CHECK(y.calls == calls + 2);
	yard_run(&y, MINUTE);
	CHECK(y.calls == calls + 2);
	yard_close(&y);
}

/* Without that it takes as long as there is between two lists. */
static void what_is_not_said_is_seen_later(void)
{
	struct yard y;

	herd_open(&y, "{\"tellsReady\":true}", 1);
	yard_observe(&y, 86400);
	yard_run(&y, MINUTE);
	CHECK(herd_drift(&y, 0, "hang"));
	yard_run(&y, 10 * SECOND);
	CHECK(is(&y, herd_id(0), READINESS_READY, HEALTH_HEALTHY));
	yard_close(&y);
}

/* As a driver does from a thread of its own. */
static void say(struct yard *y, const char *machine)
{
	const struct provider_conf *conf =
		((const struct sim *)yard_provider(y))->conf;

	conf->changed(conf->listener, machine);
}

static void a_flood_of_news_is_few_looks(void)
{
	struct yard y;
	char machine[64];
	uint64_t calls;

	herd_open(&y, "{\"tellsChanges\":true}", 1);
	yard_observe(&y, 86400);
	yard_run(&y, MINUTE);
	snprintf(machine, sizeof(machine), "%s", herd_machine(&y, 0));
	calls = y.calls;
	for (int ms = 0; ms < 2000; ms++) {
		say(&y, machine);
		yard_run(&y, 1);
	}
	yard_run(&y, MINUTE);
	CHECK(y.calls - calls >= 2 && y.calls - calls <= 2000 / POLL + 2);
	yard_close(&y);
}

static void news_of_strangers_are_no_news(void)
{
	struct yard y;
	uint64_t calls;

	herd_open(&y, "{\"tellsChanges\":true}", 1);
	yard_observe(&y, 86400);
	yard_run(&y, MINUTE);
	calls = y.calls;
	say(&y, "i-stranger");
	say(&y, "");
	yard_run(&y, MINUTE);
	CHECK(y.calls == calls);
	yard_close(&y);
}

static void too_much_news_is_a_look_at_all(void)
{
	char name[32];
	struct yard y;

	herd_open(&y, "{\"tellsReady\":true}", 2);
	yard_observe(&y, 86400);
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_drift(&y, 1, "hang"));
	for (int i = 0; i <= NOTICES_MOST; i++) {
		snprintf(name, sizeof(name), "i-%d", i);
		say(&y, name);
	}
	yard_run(&y, 10 * SECOND);
	CHECK(is(&y, herd_id(1), READINESS_UNREADY, HEALTH_DEGRADED));
	yard_close(&y);
}

/* A look that fails is as if it had not been made. */
static void news_that_cannot_be_followed_change_nothing(void)
{
	struct sim_options o;
	struct yard y;
	uint64_t calls, revision;

	herd_open(&y, "{\"tellsChanges\":true}", 1);
	yard_observe(&y, 86400);
	yard_run(&y, MINUTE);
	o = *sim_cloud_options(yard_cloud(&y));
	o.failure_rate = 1000;
	sim_cloud_set_options(yard_cloud(&y), &o);
	calls = y.calls;
	revision = store_revision(y.store);
	say(&y, herd_machine(&y, 0));
	yard_run(&y, 10 * SECOND);
	CHECK(y.calls == calls + 1);
	CHECK(store_revision(y.store) == revision);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

int main(void)
{
	RUN(ports_are_shown_and_are_nobody_elses);
	RUN(where_nobody_looks_running_is_well);
	RUN(a_guest_is_waited_for);
	RUN(what_is_up_at_once_is_written_at_once);
	RUN(a_guest_that_is_late_is_not_waited_for_any_more);
	RUN(a_guest_that_hangs_is_seen_in_a_list);
	RUN(a_start_and_a_reboot_wait_anew);
	RUN(each_root_disk_has_a_host_key_of_its_own);
	RUN(no_two_machines_have_the_same);
	RUN(a_launch_that_is_repeated_has_the_same_key);
	RUN(the_seed_is_nobodys_to_see);
	RUN(where_guests_are_given_none_there_is_none);
	RUN(what_happens_is_seen_when_it_is_said);
	RUN(what_is_not_said_is_seen_later);
	RUN(a_flood_of_news_is_few_looks);
	RUN(news_of_strangers_are_no_news);
	RUN(too_much_news_is_a_look_at_all);
	RUN(news_that_cannot_be_followed_change_nothing);
	return test_done();
}

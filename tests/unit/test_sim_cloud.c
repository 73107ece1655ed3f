/* The simulated cloud by itself: its rules, on a clock that we set. */
#include "provider/sim_cloud.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/json.h"
#include "stepped.h"
#include "test.h"

#define SERVER       "muster/server"
#define INSTALLATION "muster/installation"

static struct arena arena;
static struct sim_cloud *cloud;
static struct err err;

static int try_open(const char *options, const char *file)
{
	struct sim_options o;
	struct node *n;

	n = json_parse(options, strlen(options), &arena, &err);
	CHECK(n && sim_options_read(n, &arena, &o, &err) == 0);
	return sim_cloud_open(&o, &stepped, file, &cloud, &err);
}

static void begin(const char *options)
{
	sim_cloud_close(cloud);
	cloud = NULL;
	arena_clear(&arena);
	CHECK(try_open(options, NULL) == 0);
}

static int call(enum sim_call name, const void *ask, void *answer)
{
	return sim_cloud_call(cloud, name, ask, &arena, answer, &err);
}

static struct sim_machine small(void)
{
	return (struct sim_machine){
		.name = "web", .flavor = "sim.small", .image = "debian-12"};
}

/* A machine with SERVER's tag; NULL: it was refused. */
static const char *launch(const char *token, const char *server)
{
	struct field_tag tags[] = {{SERVER, server}, {INSTALLATION, "us"}};
	struct sim_machine ask = small(), made;

	ask.token = token;
	ask.tags = (struct items){tags, 2};
	return call(SIM_LAUNCH, &ask, &made) == 0 ? made.id : NULL;
}

static const char *state(const char *id)
{
	struct sim_act act = {.id = id};
	struct sim_machine m;

	return call(SIM_DESCRIBE, &act, &m) == 0 ? m.state : "none";
}

static int act(enum sim_call name, const char *id)
{
	struct sim_act ask = {.id = id};

	return call(name, &ask, NULL);
}

static size_t listed(const char *key, const char *value)
{
	struct sim_act ask = {.key = key, .value = value};
	struct sim_page page;
	size_t n = 0;

	do {
		if (call(SIM_LIST, &ask, &page) < 0)
			return SIZE_MAX;
		n += page.machines.n;
		ask.page = page.next;
	} while (page.next);
	return n;
}

static void a_machine_takes_its_time(void)
{
	const char *id;

	begin("{\"launchMs\":100,\"stopMs\":50,\"startMs\":30,"
	      "\"terminateMs\":20,\"forgetMs\":1000}");
	id = launch("t1", "s1");
	CHECK_STR(state(id), "building");
	now += 99;
	CHECK_STR(state(id), "building");
	now += 1;
	CHECK_STR(state(id), "active");
	CHECK(act(SIM_STOP, id) == 0);
	CHECK_STR(state(id), "halting");
	now += 50;
	CHECK_STR(state(id), "halted");
	CHECK(act(SIM_START, id) == 0);
	CHECK_STR(state(id), "booting");
	now += 30;
	CHECK_STR(state(id), "active");
	CHECK(act(SIM_TERMINATE, id) == 0);
	CHECK_STR(state(id), "deleting");
	now += 20;
	CHECK_STR(state(id), "deleted");
	CHECK(listed(SERVER, "s1") == 0);
	now += 2000;
	CHECK_STR(state(id), "none");
}

static void times_vary_by_as_much_as_is_said(void)
{
	begin("{\"launchMs\":100,\"jitterPercent\":50}");
	for (int i = 0; i < 50; i++) {
		const char *id = launch(NULL, "s");

		now += 99;
		CHECK_STR(state(id), "building");
		now += 51;
		CHECK_STR(state(id), "active");
	}
}

static void the_same_token_is_the_same_machine(void)
{
	struct sim_machine other = small(), made;
	const char *id;

	begin("{}");
	id = launch("t1", "s1");
	CHECK_STR(launch("t1", "s1"), id);
	CHECK(sim_cloud_machines(cloud) == 1);
	other.token = "t1";
	other.flavor = "sim.large";
	CHECK(call(SIM_LAUNCH, &other, &made) < 0);
	CHECK(err.code == ERR_CONFLICT);
	/* It is even when the machine is gone, for a while. */
	CHECK(act(SIM_TERMINATE, id) == 0);
	CHECK_STR(launch("t1", "s1"), id);
	CHECK(sim_cloud_machines(cloud) == 0);
}

static void without_tokens_each_launch_is_a_machine(void)
{
	begin("{\"launchTokens\":false}");
	CHECK(strcmp(launch("t1", "s1"), launch("t1", "s1")) != 0);
	CHECK(sim_cloud_machines(cloud) == 2);
}

static void what_is_young_is_not_seen(void)
{
	const char *id;

	begin("{\"consistencyMs\":500}");
	id = launch("t1", "s1");
	CHECK_STR(state(id), "none");
	CHECK(err.code == ERR_NOT_FOUND);
	CHECK(listed(SERVER, "s1") == 0);
	now += 499;
	CHECK(listed(SERVER, "s1") == 0);
	now += 1;
	CHECK(listed(SERVER, "s1") == 1);
	CHECK_STR(state(id), "active");
}

static void room_is_by_zone_flavor_and_market(void)
{
	struct sim_machine ask = small(), a, b, c;

	begin("{\"zones\":[\"a\",\"b\"],\"capacity\":[{\"zone\":\"a\","
	      "\"count\":1},{\"flavor\":\"sim.small\",\"count\":2},"
	      "{\"market\":\"spot\",\"count\":0}]}");
	CHECK(call(SIM_LAUNCH, &ask, &a) == 0);
	CHECK(call(SIM_LAUNCH, &ask, &b) == 0);
	CHECK(strcmp(a.zone, b.zone) != 0);
	CHECK(call(SIM_LAUNCH, &ask, &c) < 0);
	CHECK(err.code == ERR_CAPACITY && err.scope == ERR_SCOPE_FLAVOR);
	CHECK(err.retry == ERR_RETRY_ELSEWHERE);
	CHECK_STR(err.provider_code, "InsufficientCapacity");
	ask.flavor = "sim.medium";
	ask.zone = "a";
	CHECK(call(SIM_LAUNCH, &ask, &c) < 0);
	CHECK(err.code == ERR_CAPACITY && err.scope == ERR_SCOPE_ZONE);
	ask.zone = "b";
	ask.spot = true;
	CHECK(call(SIM_LAUNCH, &ask, &c) < 0);
	ask.spot = false;
	CHECK(call(SIM_LAUNCH, &ask, &c) == 0);
	/* What goes makes room. */
	CHECK(act(SIM_TERMINATE, a.id) == 0);
	ask.flavor = "sim.small";
	ask.zone = a.zone;
	CHECK(call(SIM_LAUNCH, &ask, &c) == 0);
	CHECK(sim_cloud_machines(cloud) == 3);
}

static void an_account_has_a_quota(void)
{
	const char *id;

	begin("{\"accountQuota\":2,\"terminateMs\":10}");
	id = launch(NULL, "s1");
	CHECK(launch(NULL, "s2") != NULL);
	CHECK(launch(NULL, "s3") == NULL);
	CHECK(err.code == ERR_QUOTA && err.scope == ERR_SCOPE_ACCOUNT);
	CHECK(act(SIM_TERMINATE, id) == 0);
	CHECK(launch(NULL, "s3") == NULL);
	now += 10;
	CHECK(launch(NULL, "s3") != NULL);
}

static void too_many_calls_are_told_when_to_come_again(void)
{
	begin("{\"callsPerSecond\":10,\"burst\":3}");
	for (int i = 0; i < 3; i++)
		CHECK(launch(NULL, "s") != NULL);
	CHECK(launch(NULL, "s") == NULL);
	CHECK(err.code == ERR_RATE && err.scope == ERR_SCOPE_ACCOUNT);
	CHECK(err.retry_after_ms > 0 && err.retry_after_ms <= 101);
	now += err.retry_after_ms;
	CHECK(launch(NULL, "s") != NULL);
	CHECK(launch(NULL, "s") == NULL);
	CHECK(sim_cloud_machines(cloud) == 4);
}

static void spot_machines_are_taken_away(void)
{
	struct sim_machine ask = small(), m;
	struct sim_act about;

	begin("{\"spotInterruptionMs\":1000,\"terminateMs\":10}");
	ask.spot = true;
	CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
	CHECK_STR(state(m.id), "active");
	about = (struct sim_act){.id = m.id};
	now += 1000;
	CHECK(call(SIM_DESCRIBE, &about, &m) == 0);
	CHECK_STR(m.state, "deleting");
	CHECK(strstr(m.reason, "spot") != NULL);
	now += 10;
	CHECK_STR(state(m.id), "deleted");
	CHECK(sim_cloud_machines(cloud) == 0);
}

static void addresses_are_unique_and_come_from_the_network(void)
{
	const char *reserved[] = {"192.168.7.4/30"};
	struct sim_thing net = {.kind = "network",
				.ours = "n1",
				.prefix = "192.168.7.0/28",
				.reserved = {reserved, 1}};
	struct sim_machine ask = small(), m;
	struct sim_act gone = {0};
	unsigned seen = 0;

	begin("{}");
	CHECK(call(SIM_ENSURE, &net, &net) == 0);
	CHECK_STR(net.gateway, "192.168.7.1");
	ask.network = net.id;
	/* 16, less the first two, the last and the four. */
	for (int i = 0; i < 9; i++) {
		int last;

		CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
		CHECK(strncmp(m.private_ip, "192.168.7.", 10) == 0);
		last = (int)strtol(m.private_ip + 10, NULL, 10);
		CHECK(last > 1 && last < 15 && (last < 4 || last > 7));
		CHECK(!(seen & 1U << last));
		seen |= 1U << last;
		gone.id = m.id;
	}
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0);
	CHECK(err.code == ERR_QUOTA);
	CHECK(sim_cloud_machines(cloud) == 9);
	CHECK(call(SIM_TERMINATE, &gone, NULL) == 0);
	CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
}

static void addresses_may_change_over_a_stop(void)
{
	struct sim_machine ask = small(), before, after;
	struct sim_act about;

	begin("{\"keepsAddresses\":false}");
	ask.has_public = true;
	CHECK(call(SIM_LAUNCH, &ask, &before) == 0);
	about = (struct sim_act){.id = before.id};
	CHECK(call(SIM_STOP, &about, NULL) == 0);
	CHECK(call(SIM_DESCRIBE, &about, &after) == 0);
	CHECK(!after.public_ip && !after.private_ip);
	CHECK(call(SIM_START, &about, NULL) == 0);
	CHECK(call(SIM_DESCRIBE, &about, &after) == 0);
	CHECK(strcmp(before.public_ip, after.public_ip) != 0);
	CHECK(strcmp(before.private_ip, after.private_ip) != 0);
	CHECK_STR(before.mac, after.mac);
}

static void machines_fail_or_get_stuck_by_chance(void)
{
	begin("{\"bootFailureRate\":1000,\"launchMs\":10}");
	CHECK(launch(NULL, "s1") != NULL);
	now += 10;
	CHECK_STR(state("i-000000000001"), "error");
	begin("{\"stuckRate\":1000,\"launchMs\":10}");
	CHECK(launch(NULL, "s1") != NULL);
	now += 86400000;
	CHECK_STR(state("i-000000000001"), "building");
	CHECK(act(SIM_TERMINATE, "i-000000000001") == 0);
	CHECK(sim_cloud_machines(cloud) == 0);
}

static void a_guest_may_ignore_a_stop_but_not_a_hard_one(void)
{
	struct sim_act hard;
	const char *id;

	begin("{\"stopIgnoredRate\":1000,\"stopMs\":10}");
	id = launch(NULL, "s1");
	CHECK(act(SIM_STOP, id) == 0);
	now += 100000;
	CHECK_STR(state(id), "halting");
	hard = (struct sim_act){.id = id, .hard = true};
	CHECK(call(SIM_STOP, &hard, NULL) == 0);
	now += 10;
	CHECK_STR(state(id), "halted");
}

static void calls_fail_hang_or_are_not_answered(void)
{
	begin("{\"failureRate\":1000}");
	CHECK(launch("t", "s") == NULL);
	CHECK(err.code == ERR_UNAVAILABLE);
	CHECK(sim_cloud_machines(cloud) == 0);
	begin("{\"lostAnswerRate\":1000}");
	CHECK(launch("t", "s") == NULL);
	CHECK(err.code == ERR_TIMEOUT);
	CHECK(sim_cloud_machines(cloud) == 1);
	begin("{\"hangRate\":1000,\"hangMs\":1234}");
	CHECK(launch("t", "s") != NULL);
	CHECK(sim_cloud_wait(cloud) == 1234);
}

static void lists_are_paged_and_complete(void)
{
	char server[32];

	begin("{\"pageSize\":7}");
	for (int i = 0; i < 50; i++) {
		snprintf(server, sizeof(server), "s%d", i);
		CHECK(launch(NULL, server) != NULL);
	}
	CHECK(listed(INSTALLATION, "us") == 50);
	CHECK(listed(INSTALLATION, "them") == 0);
	CHECK(listed(SERVER, "s7") == 1);
	CHECK(listed("name", "web") == 50);
	CHECK(listed("colour", "red") == 0);
	CHECK(listed(NULL, NULL) == 50);
}

static void a_page_that_cannot_be_read_is_an_error(void)
{
	begin("{\"pageSize\":2,\"partialListRate\":1000}");
	for (int i = 0; i < 2; i++)
		CHECK(launch(NULL, "s") != NULL);
	CHECK(listed(INSTALLATION, "us") == 2);
	CHECK(launch(NULL, "s") != NULL);
	CHECK(listed(INSTALLATION, "us") == SIZE_MAX);
	CHECK(err.code == ERR_UNAVAILABLE);
}

static void a_refused_launch_leaves_nothing(void)
{
	struct sim_machine ask, m;

	begin("{}");
	ask = small();
	ask.flavor = "sim.none";
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	ask = small();
	ask.image = "none";
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	ask.image = "debian-12-arm64";
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	ask = small();
	ask.zone = "z";
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	ask = small();
	ask.network = "net-none";
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	CHECK(sim_cloud_machines(cloud) == 0);
}

static void a_launch_says_only_what_can_be_asked_for(void)
{
	struct sim_machine ask = small(), m;
	struct field_tag tag = {SERVER, ""};
	char *much;
	struct sim_act retag = {.tags = {&tag, 1}};

	begin("{}");
	ask.private_ip = "192.0.2.1";
	ask.state = ask.next = "deleted";
	ask.due = now;
	CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
	CHECK_STR(m.state, "active");
	CHECK(strncmp(m.private_ip, "10.", 3) == 0);
	much = arena_alloc(&arena, 1001);
	memset(much, 'x', 1000);
	tag.value = much;
	retag.id = m.id;
	CHECK(call(SIM_SET_TAGS, &retag, NULL) < 0);
	CHECK(err.code == ERR_INVALID);
	ask = small();
	ask.tags = retag.tags;
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	ask = small();
	ask.name = much;
	CHECK(call(SIM_LAUNCH, &ask, &m) < 0 && err.code == ERR_INVALID);
	CHECK(sim_cloud_machines(cloud) == 1);
}

static void what_is_in_use_is_not_removed(void)
{
	struct sim_thing net = {
		.kind = "network", .ours = "n", .prefix = "10.1.0.0/24"};
	struct sim_act drop = {.kind = "network", .ours = "n"};
	struct sim_machine ask = small(), m;

	begin("{}");
	CHECK(call(SIM_ENSURE, &net, &net) == 0);
	ask.network = net.id;
	CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
	CHECK(call(SIM_REMOVE, &drop, NULL) < 0);
	CHECK(err.code == ERR_CONFLICT && err.retry == ERR_RETRY_LATER);
	CHECK(act(SIM_TERMINATE, m.id) == 0);
	CHECK(call(SIM_REMOVE, &drop, NULL) == 0);
	CHECK(call(SIM_REMOVE, &drop, NULL) < 0);
	CHECK(err.code == ERR_NOT_FOUND);
}

static void machines_drift_unasked(void)
{
	const char *id;

	begin("{}");
	id = launch(NULL, "s1");
	CHECK(sim_cloud_drift(cloud, id, "halt", &err) == 0);
	CHECK_STR(state(id), "halted");
	CHECK(sim_cloud_drift(cloud, id, "confuse", &err) == 0);
	CHECK_STR(state(id), "transmogrifying");
	CHECK(sim_cloud_drift(cloud, id, "untag", &err) == 0);
	CHECK(listed(SERVER, "s1") == 0);
	CHECK(sim_cloud_drift(cloud, id, "kill", &err) == 0);
	CHECK_STR(state(id), "deleted");
	CHECK(sim_cloud_drift(cloud, id, "kill", &err) < 0);
	id = launch(NULL, "s1");
	CHECK(sim_cloud_drift(cloud, id, "sing", &err) < 0);
	CHECK(sim_cloud_drift(cloud, id, "vanish", &err) == 0);
	CHECK_STR(state(id), "none");
}

static void options_change_while_it_runs(void)
{
	struct sim_options o;

	begin("{}");
	CHECK(launch(NULL, "s1") != NULL);
	o = *sim_cloud_options(cloud);
	o.account_quota = 1;
	sim_cloud_set_options(cloud, &o);
	CHECK(launch(NULL, "s2") == NULL);
	CHECK(err.code == ERR_QUOTA);
}

static char file[] = "/tmp/muster-sim-XXXXXX";

static void begin_file(void)
{
	int fd;

	memcpy(strrchr(file, '-') + 1, "XXXXXX", 6);
	fd = mkstemp(file);
	CHECK(fd >= 0);
	close(fd);
	sim_cloud_close(cloud);
	cloud = NULL;
	arena_clear(&arena);
}

/* Without how often it was called. */
static char *truth(void)
{
	struct buf out = BUF_INIT((size_t)64 << 20);
	char *text;

	sim_cloud_truth(cloud, &out);
	text = arena_strdup(&arena, buf_str(&out));
	buf_release(&out);
	CHECK(strstr(text, "\"calls\"") != NULL);
	*strstr(text, "\"calls\"") = '\0';
	return text;
}

/* Everything of every sort, one way or another. */
static void fill_cloud(void)
{
	struct sim_thing net = {.kind = "network",
				.ours = "n",
				.prefix = "10.1.0.0/24",
				.prefix6 = "fd00:1::/64"};
	struct sim_thing disk = {.kind = "volume", .ours = "v", .size_gib = 5};
	struct sim_machine ask = small(), m;
	struct sim_act join;
	struct sim_text device;

	CHECK(call(SIM_ENSURE, &net, &net) == 0);
	CHECK(call(SIM_ENSURE, &disk, &disk) == 0);
	ask.network = net.id;
	ask.token = "t-n";
	ask.has_public = true;
	CHECK(call(SIM_LAUNCH, &ask, &m) == 0);
	join = (struct sim_act){.id = m.id, .volume = disk.id};
	CHECK(call(SIM_ATTACH, &join, &device) == 0);
	CHECK_STR(device.text, "/dev/vdb");
	for (int i = 0; i < 20; i++) {
		const char *id = launch(NULL, "s1");

		if (i % 3 == 0)
			CHECK(act(SIM_TERMINATE, id) == 0);
	}
}

static void the_truth_outlives_the_process(void)
{
	static const char options[] = "{\"launchMs\":50,\"terminateMs\":30,"
				      "\"forgetMs\":1000}";
	const char *before;
	size_t n;

	begin_file();
	CHECK(try_open(options, file) == 0);
	fill_cloud();
	now += 35;
	before = truth();
	n = sim_cloud_machines(cloud);
	sim_cloud_close(cloud);
	CHECK(try_open(options, file) == 0);
	CHECK_STR(truth(), before);
	CHECK(sim_cloud_machines(cloud) == n);
	CHECK(listed(SERVER, "s1") == n - 1);
	/* Time went on meanwhile, and ids are not used again. */
	now += 100;
	CHECK_STR(state("i-000000000003"), "active");
	now += 5000;
	n = sim_cloud_machines(cloud);
	sim_cloud_close(cloud);
	CHECK(try_open(options, file) == 0);
	CHECK_STR(launch(NULL, "s9"), "i-000000000018");
	CHECK(sim_cloud_machines(cloud) == n + 1);
	unlink(file);
}

static void a_line_that_was_cut_off_is_dropped(void)
{
	FILE *f;

	begin_file();
	CHECK(try_open("{}", file) == 0);
	CHECK(launch("t1", "s1") != NULL);
	sim_cloud_close(cloud);
	cloud = NULL;
	f = fopen(file, "ae");
	fputs("{\"machine\":{\"id\":\"i-0000", f);
	fclose(f);
	CHECK(try_open("{}", file) == 0);
	CHECK(sim_cloud_machines(cloud) == 1);
	CHECK_STR(launch("t2", "s2"), "i-000000000002");
	sim_cloud_close(cloud);
	CHECK(try_open("{}", file) == 0);
	CHECK(sim_cloud_machines(cloud) == 2);
	unlink(file);
}

static void a_journal_that_is_none_is_refused(void)
{
	FILE *f;

	begin_file();
	f = fopen(file, "we");
	fputs("{\"colour\":\"red\"}\n", f);
	fclose(f);
	CHECK(try_open("{}", file) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(strstr(err.msg, "line 1") != NULL);
	unlink(file);
}

static void a_journal_has_one_user(void)
{
	struct sim_cloud *first;

	begin_file();
	CHECK(try_open("{}", file) == 0);
	first = cloud;
	CHECK(try_open("{}", file) < 0);
	CHECK(err.code == ERR_UNAVAILABLE);
	CHECK(cloud == first);
	unlink(file);
}

static void a_journal_does_not_grow_for_ever(void)
{
	FILE *f;

	begin_file();
	CHECK(try_open("{\"forgetMs\":0}", file) == 0);
	for (int i = 0; i < 20000; i++) {
		const char *id = launch(NULL, "s1");

		CHECK(act(SIM_TERMINATE, id) == 0);
		arena_clear(&arena);
		now += 2;
	}
	f = fopen(file, "re");
	fseek(f, 0, SEEK_END);
	CHECK(ftell(f) < 5 << 20);
	fclose(f);
	unlink(file);
}

/* As a full disk would. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = bytes;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* A launch that failed for that may have made the machine: it is not told of
 * before it is in the journal, or the next to open that would not have it. */
static void what_cannot_be_written_down_is_not_told(void)
{
	const char *id;

	signal(SIGXFSZ, SIG_IGN);
	begin_file();
	CHECK(try_open("{}", file) == 0);
	CHECK(launch("first", "s1") != NULL);
	limit_files(0);
	CHECK(!launch("second", "s2") && err.code == ERR_UNAVAILABLE);
	CHECK(!launch("second", "s2") && err.code == ERR_UNAVAILABLE);
	CHECK(!launch("first", "s1") && err.code == ERR_UNAVAILABLE);
	limit_files(RLIM_INFINITY);
	id = launch("second", "s2");
	CHECK(id != NULL);
	sim_cloud_close(cloud);
	cloud = NULL;
	CHECK(try_open("{}", file) == 0);
	now += 60000;
	CHECK(id && state(id) && sim_cloud_machines(cloud) == 2);
	unlink(file);
}

/* Told, not judged: what a benchmark built on it may expect. */

static void tell_rate(int64_t began, const char *what)
{
	int64_t took = clock_wall(&clock_system) - began;

	printf("# %lld %s/s\n", (long long)(50000 * 1000LL / (took ? took : 1)),
	       what);
}

static void launch_many(const char *what)
{
	int64_t began = clock_wall(&clock_system);
	char server[32];

	for (int i = 0; i < 50000; i++) {
		snprintf(server, sizeof(server), "s%d", i);
		CHECK(launch(server, server) != NULL);
		if (i % 100 == 0)
			arena_clear(&arena);
	}
	tell_rate(began, what);
}

static void it_is_fast(void)
{
	char server[32];
	int64_t began;

	begin("{}");
	launch_many("launches");
	began = clock_wall(&clock_system);
	for (int i = 0; i < 50000; i++) {
		snprintf(server, sizeof(server), "s%d", i);
		CHECK(listed(SERVER, server) == 1);
		if (i % 10 == 0)
			arena_clear(&arena);
	}
	tell_rate(began, "lists by server among 50,000");
	begin_file();
	CHECK(try_open("{}", file) == 0);
	launch_many("launches with a journal");
	unlink(file);
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 30);
	RUN(a_machine_takes_its_time);
	RUN(times_vary_by_as_much_as_is_said);
	RUN(the_same_token_is_the_same_machine);
	RUN(without_tokens_each_launch_is_a_machine);
	RUN(what_is_young_is_not_seen);
	RUN(room_is_by_zone_flavor_and_market);
	RUN(an_account_has_a_quota);
	RUN(too_many_calls_are_told_when_to_come_again);
	RUN(spot_machines_are_taken_away);
	RUN(addresses_are_unique_and_come_from_the_network);
	RUN(addresses_may_change_over_a_stop);
	RUN(machines_fail_or_get_stuck_by_chance);
	RUN(a_guest_may_ignore_a_stop_but_not_a_hard_one);
	RUN(calls_fail_hang_or_are_not_answered);
	RUN(lists_are_paged_and_complete);
	RUN(a_page_that_cannot_be_read_is_an_error);
	RUN(a_refused_launch_leaves_nothing);
	RUN(a_launch_says_only_what_can_be_asked_for);
	RUN(what_is_in_use_is_not_removed);
	RUN(machines_drift_unasked);
	RUN(options_change_while_it_runs);
	RUN(the_truth_outlives_the_process);
	RUN(a_line_that_was_cut_off_is_dropped);
	RUN(a_journal_that_is_none_is_refused);
	RUN(a_journal_has_one_user);
	RUN(a_journal_does_not_grow_for_ever);
	RUN(what_cannot_be_written_down_is_not_told);
	RUN(it_is_fast);
	sim_cloud_close(cloud);
	arena_release(&arena);
	return test_done();
}

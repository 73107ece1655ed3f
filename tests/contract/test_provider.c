/*
 * The contract of providers, on the simulated cloud in each of its ways to be:
 * in this process on a clock that only waiting moves, and over HTTP.  Drivers
 * that break it are in test_zoo.c.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "http/server.h"
#include "loop/loop.h"
#include "model/server.h"
#include "provider/counts.h"
#include "provider/driver.h"
#include "provider/front.h"
#include "provider/sim.h"
#include "provider/sim_cloud.h"
#include "provider/sim_http.h"
#include "provider/verify.h"
#include "stepped.h"
#include "test.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

static struct arena arena;
static const char *failed_check; /* the first one */
static unsigned skipped;

/* A run of the checks. */
struct run {
	struct provider *provider;
	bool quiet;
};

static int confuse(void *ctx, const char *id)
{
	const struct run *r = ctx;
	struct err err;

	return sim_cloud_drift(sim_truth(r->provider), id, "confuse", &err);
}

static size_t machines(void *ctx)
{
	const struct run *r = ctx;

	return sim_cloud_machines(sim_truth(r->provider));
}

static void tell(void *ctx, const char *check, enum verify_outcome outcome,
		 const char *why)
{
	const struct run *r = ctx;

	skipped += outcome == VERIFY_SKIPPED;
	if (outcome != VERIFY_FAILED)
		return;
	if (!failed_check)
		failed_check = check;
	if (!r->quiet)
		printf("# %s: %s\n", check, why);
}

static struct provider *open_sim(const char *options, const char *folder,
				 bool real)
{
	struct provider_conf conf = {
		.region = "r", .installation = INSTALLATION, .folder = folder};
	struct provider *p = NULL;
	struct err err = {0};

	arena_clear(&arena);
	conf.options = json_parse(options, strlen(options), &arena, &err);
	if (!real) {
		conf.clock = &stepped;
		conf.sleep = step;
	}
	if (!conf.options || provider_open("sim", &conf, &p, &err) < 0)
		printf("# %s: %s\n", options, err.msg);
	CHECK(p != NULL);
	return p;
}

static struct verify_result verify(struct provider *p, bool quiet)
{
	struct run run = {p, quiet};
	struct verify_conf conf = {.provider = p,
				   .clock = &stepped,
				   .sleep = step,
				   .confuse = confuse,
				   .machines = machines,
				   .tell = tell,
				   .ctx = &run};
	struct random_seeded random;
	struct verify_result r;

	random_seed(&random, 42);
	conf.random = &random.base;
	failed_check = NULL;
	skipped = 0;
	verify_run(&conf, &r);
	return r;
}

static const struct {
	const char *name, *options;
	unsigned skips; /* at most */
} ways[] = {
	{"as it is by default", "{}", 0},
	{"slow",
	 "{\"launchMs\":9000,\"stopMs\":3000,\"startMs\":5000,"
	 "\"terminateMs\":7000,\"backingMs\":4000,\"jitterPercent\":50}",
	 0},
	{"consistent in the end", "{\"consistencyMs\":5000}", 0},
	{"slow and consistent in the end",
	 "{\"consistencyMs\":5000,\"launchMs\":2000,\"terminateMs\":100}", 0},
	{"without launch tokens", "{\"launchTokens\":false}", 0},
	{"without launch tokens, consistent in the end",
	 "{\"launchTokens\":false,\"consistencyMs\":5000}", 0},
	{"without tags", "{\"tags\":false}", 2},
	{"without tags and launch tokens, consistent in the end",
	 "{\"tags\":false,\"launchTokens\":false,\"consistencyMs\":5000}", 2},
	{"with pages of one", "{\"pageSize\":1}", 0},
	{"with pages of three, without tags", "{\"pageSize\":3,\"tags\":false}",
	 2},
	{"with zones", "{\"zones\":[\"a\",\"b\",\"c\"]}", 0},
	{"with other addresses after a stop", "{\"keepsAddresses\":false}", 0},
	{"with ports that are reached elsewhere",
	 "{\"publish\":[22,80],\"pageSize\":3}", 0},
	{"with guests that take their time",
	 "{\"tellsReady\":true,\"readyMs\":3000,\"launchMs\":1000}", 0},
	{"without host keys", "{\"hostKeys\":false}", 0},
	{"with a resize that does not restart", "{\"resizeLive\":true}", 0},
	{"with little room",
	 "{\"capacity\":[{\"count\":6}],\"accountQuota\":6}", 0},
	{"throttled", "{\"callsPerSecond\":5,\"burst\":2}", 0},
	{"throttled, which nobody is told",
	 "{\"callsPerSecond\":3,\"tellsLimit\":false,\"pageSize\":2}", 0},
	{"failing often", "{\"failureRate\":300,\"seed\":3}", 0},
	{"losing answers", "{\"lostAnswerRate\":300,\"seed\":4}", 0},
	{"losing answers without launch tokens",
	 "{\"lostAnswerRate\":300,\"launchTokens\":false,"
	 "\"consistencyMs\":2000,\"seed\":5}",
	 0},
	{"hanging", "{\"hangRate\":200,\"hangMs\":40000,\"seed\":6}", 0},
	{"with pages that cannot be read",
	 "{\"pageSize\":2,\"partialListRate\":300}", 0},
	{"with an odd catalogue", "{\"oddCatalogue\":true}", 0},
	{"with faults on the way",
	 "{\"faults\":[{\"action\":\"fail\",\"rate\":100},{\"action\":"
	 "\"lose\",\"rate\":100},{\"action\":\"delay\",\"rate\":100},"
	 "{\"action\":\"duplicate\",\"rate\":100}]}",
	 0},
	{"that cannot stop", "{\"lacks\":[\"stop\"]}", 1},
	{"that cannot resize", "{\"lacks\":[\"resize\"]}", 1},
	{"without networks", "{\"lacks\":[\"networks\"]}", 4},
	{"without volumes and images",
	 "{\"lacks\":[\"volumes\",\"import\",\"snapshot\"]}", 3},
	{"that can do the least",
	 "{\"lacks\":[\"stop\",\"reboot\",\"resize\",\"rebuild\","
	 "\"growRootDisk\",\"tag\",\"access\",\"console\",\"consoleOutput\","
	 "\"import\",\"snapshot\",\"networks\",\"securityGroups\",\"volumes\","
	 "\"spot\"],\"tags\":false,\"launchTokens\":false}",
	 99},
	{"with everything at once",
	 "{\"launchMs\":700,\"stopMs\":300,\"startMs\":400,\"terminateMs\":500,"
	 "\"consistencyMs\":1500,\"launchTokens\":false,\"pageSize\":2,"
	 "\"keepsAddresses\":false,\"zones\":[\"a\",\"b\"],\"failureRate\":50,"
	 "\"lostAnswerRate\":50,\"hangRate\":20,\"callsPerSecond\":20,"
	 "\"partialListRate\":50,\"jitterPercent\":100,\"backingMs\":300}",
	 0},
};

static void holds_in_every_way_to_be(void)
{
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct provider *p = open_sim(ways[i].options, NULL, false);
		struct verify_result r = verify(p, false);
		bool good = !r.failed && !r.orphans && r.passed > 10 &&
			    r.skipped <= ways[i].skips &&
			    sim_cloud_machines(sim_truth(p)) == 0;

		printf("# %s: %u passed, %u failed, %u skipped, %u orphans\n",
		       ways[i].name, r.passed, r.failed, r.skipped, r.orphans);
		CHECK(good);
		provider_close(p);
	}
}

/* A simulated cloud that another thread serves. */
struct process {
	struct loop *loop;
	struct server *server;
	struct sim_cloud *cloud;
	pthread_t thread;
	struct post stop;
};

static void *run_loop(void *ctx)
{
	struct process *s = ctx;

	loop_run(s->loop);
	return NULL;
}

static void on_stop(struct post *post)
{
	loop_stop(CONTAINER_OF(post, struct process, stop)->loop);
}

static struct process *process_start(const char *options)
{
	struct process *s = xcalloc(1, sizeof(*s));
	struct server_conf conf = {.listen = "127.0.0.1:0",
				   .handle = sim_http_handle,
				   .refuse = sim_http_refuse};
	struct sim_options o;
	struct err err = {0};
	struct node *n;

	arena_clear(&arena);
	n = json_parse(options, strlen(options), &arena, &err);
	CHECK(n && sim_options_read(n, &arena, &o, &err) == 0);
	CHECK(sim_cloud_open(&o, &clock_system, NULL, &s->cloud, &err) == 0);
	s->loop = loop_new();
	conf.ctx = s->cloud;
	CHECK(server_start(s->loop, &conf, &s->server, &err) == 0);
	s->stop.fn = on_stop;
	CHECK(pthread_create(&s->thread, NULL, run_loop, s) == 0);
	return s;
}

static void process_stop(struct process *s)
{
	loop_post(s->loop, &s->stop);
	pthread_join(s->thread, NULL);
	server_free(s->server);
	sim_cloud_close(s->cloud);
	loop_free(s->loop);
	free(s);
}

static const char *const remote_ways[] = {
	"{\"pollMs\":1}",
	"{\"pollMs\":1,\"launchMs\":10,\"terminateMs\":5,\"pageSize\":2}",
	"{\"pollMs\":1,\"launchTokens\":false,\"tags\":false,\"zones\":[\"a\"],"
	"\"consistencyMs\":20}",
	"{\"pollMs\":1,\"failureRate\":100,\"lostAnswerRate\":100,"
	"\"oddCatalogue\":true,\"lacks\":[\"volumes\"]}",
};

static void holds_over_http(void)
{
	for (size_t i = 0; i < COUNT_OF(remote_ways); i++) {
		struct process *s = process_start(remote_ways[i]);
		struct run run = {0};
		struct verify_conf conf = {.tell = tell, .ctx = &run};
		struct verify_result r;
		char options[128];

		snprintf(options, sizeof(options),
			 "{\"endpoint\":\"http://%s\",\"timeoutMs\":60000}",
			 server_address(s->server));
		conf.provider = open_sim(options, NULL, true);
		verify_run(&conf, &r);
		CHECK(r.failed == 0 && r.orphans == 0 && r.passed > 10);
		provider_close(conf.provider);
		process_stop(s);
	}
}

static void a_cloud_that_cannot_be_reached_is_unavailable(void)
{
	struct provider_conf conf = {0};
	struct provider *p;
	struct err err = {0};
	const char *options = "{\"endpoint\":\"http://127.0.0.1:1\"}";

	arena_clear(&arena);
	conf.options = json_parse(options, strlen(options), &arena, &err);
	CHECK(provider_open("sim", &conf, &p, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE);
}

static void the_truth_is_found_again_in_the_folder(void)
{
	char folder[] = "/tmp/muster-contract-XXXXXX", file[64];
	const struct machine_spec spec = {.server = "s",
					  .token = "t",
					  .name = "web-1",
					  .flavor = "sim.small",
					  .image = "debian-12"};
	struct provider *p;
	struct machine m, again;
	struct err err = {0};

	CHECK(mkdtemp(folder) != NULL);
	p = open_sim("{}", folder, false);
	CHECK(provider_launch(p, &spec, &arena, &m, &err) == 0);
	CHECK(m.id != NULL);
	snprintf(file, sizeof(file), "%s", m.id);
	provider_close(p);
	p = open_sim("{}", folder, false);
	CHECK(provider_describe(p, file, &arena, &again, &err) == 0);
	CHECK(verify(p, false).failed == 0);
	provider_close(p);
	snprintf(file, sizeof(file), "%s/sim-r.journal", folder);
	CHECK(unlink(file) == 0);
	CHECK(rmdir(folder) == 0);
}

static void a_state_nobody_knows_is_unknown(void)
{
	const struct machine_spec spec = {.server = "s",
					  .token = "t",
					  .name = "web-1",
					  .flavor = "sim.small",
					  .image = "debian-12"};
	struct provider *p = open_sim("{}", NULL, false);
	struct machine m;
	struct err err = {0};

	CHECK(provider_launch(p, &spec, &arena, &m, &err) == 0);
	CHECK(sim_cloud_drift(sim_truth(p), m.id, "confuse", &err) == 0);
	CHECK(provider_describe(p, m.id, &arena, &m, &err) == 0);
	CHECK(m.state == INSTANCE_UNKNOWN);
	CHECK_STR(m.native_state, "transmogrifying");
	provider_close(p);
}

static void odd_entries_are_skipped_with_a_note(void)
{
	struct provider *p = open_sim("{\"oddCatalogue\":true,\"hidden\":"
				      "[\"sim.large\",\"cuda\"]}",
				      NULL, false);
	struct catalogue c;
	struct err err = {0};

	CHECK(provider_catalogue(p, &arena, &c, &err) == 0);
	CHECK(c.notes.n == 7);
	CHECK(c.flavors.n == 8); /* seven, and the one with no price */
	CHECK(c.images.n == 4);
	provider_close(p);
}

/* Several threads on one provider, as the workers are. */

enum { THREADS = 4, LAUNCHES = 200 };

struct worker {
	struct provider *provider;
	int number;
	unsigned wrong;
	pthread_t thread;
};

static void launch_twice(struct worker *w, int i, struct arena *a)
{
	char server[32];
	struct field_tag tags[] = {{TAG_SERVER, server},
				   {TAG_INSTALLATION, INSTALLATION}};
	const struct machine_filter filter = {TAG_SERVER, server};
	const struct machine_spec spec = {.server = server,
					  .token = server,
					  .name = "web-1",
					  .flavor = "sim.small",
					  .image = "debian-12",
					  .tags = {tags, 2}};
	struct machine first, again;
	struct machine_page page;
	struct err err;

	snprintf(server, sizeof(server), "%d-%d", w->number, i);
	if (provider_launch(w->provider, &spec, a, &first, &err) < 0 ||
	    provider_launch(w->provider, &spec, a, &again, &err) < 0 ||
	    strcmp(first.id, again.id) != 0 ||
	    provider_list(w->provider, &filter, NULL, a, &page, &err) < 0 ||
	    page.machines.n != 1 ||
	    (i % 2 && provider_terminate(w->provider, first.id, &err) < 0))
		w->wrong++;
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	struct arena a;

	arena_init(&a, 16 << 20);
	for (int i = 0; i < LAUNCHES; i++) {
		launch_twice(w, i, &a);
		arena_clear(&a);
	}
	arena_release(&a);
	return NULL;
}

static void many_threads_call_at_a_time(void)
{
	struct provider *p = open_sim("{}", NULL, true);
	struct worker workers[THREADS];
	struct provider_count c;
	uint64_t launches = 0;

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.provider = p, .number = i};
		CHECK(pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		CHECK(workers[i].wrong == 0);
	}
	CHECK(sim_cloud_machines(sim_truth(p)) == THREADS * LAUNCHES / 2);
	for (size_t i = 0; provider_count(p, &i, &c);)
		if (strcmp(c.call, "launch") == 0)
			launches += c.calls;
	CHECK(launches == 2 * THREADS * LAUNCHES);
	CHECK(provider_under_way(p) == 0);
	provider_close(p);
}

static int forgets_to_terminate(struct provider *p, const char *id,
				struct err *err)
{
	(void)p;
	(void)id;
	(void)err;
	return 0;
}

/* More drivers that break the contract are in zoo.h. */
static void what_was_left_behind_is_counted(void)
{
	struct provider *p = open_sim("{}", NULL, false);
	struct machine_ops machines_ops = *sim_driver.machines;
	struct driver driver = sim_driver;

	machines_ops.terminate = forgets_to_terminate;
	driver.machines = &machines_ops;
	p->driver = &driver;
	CHECK(verify(p, true).orphans > 0);
	p->driver = &sim_driver;
	provider_close(p);
}

static void trouble_in_the_cloud_is_found_out(void)
{
	static const char *const clouds[][2] = {
		{"{\"bootFailureRate\":1000,\"launchMs\":10}",
		 "the machine comes to run"},
		{"{\"stuckRate\":1000}", "the machine comes to run"},
		{"{\"stopIgnoredRate\":1000}",
		 "stop and start keep the machine and its tags"},
		{"{\"launchTokens\":false,\"consistencyMs\":9000,\"faults\":[{"
		 "\"call\":\"launch\",\"action\":\"duplicate\"}]}",
		 "the same launch again is the same machine"},
	};

	for (size_t i = 0; i < COUNT_OF(clouds); i++) {
		struct provider *p = open_sim(clouds[i][0], NULL, false);
		struct verify_result r = verify(p, true);

		CHECK(r.failed > 0);
		if (failed_check)
			CHECK_STR(failed_check, clouds[i][1]);
		CHECK(sim_cloud_machines(sim_truth(p)) == 0);
		provider_close(p);
	}
}

static void every_check_has_a_name_of_its_own(void)
{
	size_t n = 0;

	for (; verify_name(n); n++)
		for (size_t i = 0; i < n; i++)
			CHECK(strcmp(verify_name(i), verify_name(n)) != 0);
	CHECK(n > 30);
}

int main(void)
{
	arena_init(&arena, (size_t)256 << 20);
	RUN(holds_in_every_way_to_be);
	RUN(holds_over_http);
	RUN(a_cloud_that_cannot_be_reached_is_unavailable);
	RUN(the_truth_is_found_again_in_the_folder);
	RUN(a_state_nobody_knows_is_unknown);
	RUN(odd_entries_are_skipped_with_a_note);
	RUN(many_threads_call_at_a_time);
	RUN(what_was_left_behind_is_counted);
	RUN(trouble_in_the_cloud_is_found_out);
	RUN(every_check_has_a_name_of_its_own);
	arena_release(&arena);
	return test_done();
}

/* The front of providers: opening, capabilities, counts and faults; on the
 * simulated cloud. */
#include "provider/front.h"

#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "provider/counts.h"
#include "provider/sim.h"
#include "provider/sim_cloud.h"
#include "test.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"
#define SERVER       "7b1d3c52-93c4-5f1a-9d0e-2b6a7c8d9e0f"

static struct arena arena;
static struct provider *provider;
static uint64_t slept;

static void note_sleep(void *ctx, uint64_t ms)
{
	(void)ctx;
	slept += ms;
}

static int open_with(const char *options, struct err *err)
{
	struct provider_conf conf = {.region = "r",
				     .installation = INSTALLATION,
				     .sleep = note_sleep};

	provider_close(provider);
	provider = NULL;
	slept = 0;
	arena_clear(&arena);
	conf.options = json_parse(options, strlen(options), &arena, err);
	CHECK(conf.options != NULL);
	return provider_open("sim", &conf, &provider, err);
}

static void begin(const char *options)
{
	struct err err = {0};

	if (open_with(options, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"opened");
	}
}

static int launch(struct machine *ret, struct err *err)
{
	const struct machine_spec spec = {.server = SERVER,
					  .token = "token-1",
					  .name = "web-1",
					  .flavor = "sim.small",
					  .image = "debian-12"};

	return provider_launch(provider, &spec, &arena, ret, err);
}

static size_t machines(void)
{
	return sim_cloud_machines(sim_truth(provider));
}

static uint64_t counted(const char *call, enum err_code outcome)
{
	struct provider_count c;

	for (size_t i = 0; provider_count(provider, &i, &c);)
		if (strcmp(c.call, call) == 0 && c.outcome == outcome)
			return c.calls;
	return 0;
}

static void an_unknown_provider_is_invalid(void)
{
	struct provider_conf conf = {0};
	struct provider *p;
	struct err err = {0};

	CHECK(provider_open("cumulus", &conf, &p, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(strstr(err.msg, "cumulus") != NULL);
}

static void every_wrong_option_is_told(void)
{
	struct err err = {0};

	CHECK(open_with("{\"seed\":\"x\",\"pageSize\":0,\"colour\":1}", &err) <
	      0);
	CHECK(err.code == ERR_INVALID);
	CHECK(err.violations == NULL);
	CHECK(strstr(err.msg, "options/seed") != NULL);
	CHECK(strstr(err.msg, "options/pageSize") != NULL);
	CHECK(strstr(err.msg, "options/colour") != NULL);
}

static void an_unknown_capability_to_lack_is_invalid(void)
{
	struct err err = {0};

	CHECK(open_with("{\"lacks\":[\"stop\",\"fly\"]}", &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(strstr(err.msg, "options/lacks/1") != NULL);
}

static void credentials_that_nobody_asked_for_are_refused(void)
{
	struct provider_conf conf = {0};
	struct provider *p;
	struct err err = {0};

	arena_clear(&arena);
	conf.credentials = json_parse("{\"key\":\"s3cret\"}", 16, &arena, &err);
	CHECK(conf.credentials != NULL);
	CHECK(provider_open("sim", &conf, &p, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(strstr(err.msg, "s3cret") == NULL);
}

static void every_capability_has_a_name_of_its_own(void)
{
	for (int i = 0; i < CAPABILITIES; i++) {
		const char *name = capability_name((enum capability)i);

		CHECK(name && name[0]);
		for (int j = 0; j < i; j++)
			CHECK(strcmp(name,
				     capability_name((enum capability)j)) != 0);
	}
}

static void what_a_provider_lacks_is_refused_by_name(void)
{
	struct err err = {0};

	begin("{\"lacks\":[\"stop\",\"spot\"]}");
	CHECK(!provider_can(provider, CAN_STOP));
	CHECK(provider_can(provider, CAN_REBOOT));
	CHECK(provider_stop(provider, "i-1", false, &err) < 0);
	CHECK(err.code == ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "\"stop\"") != NULL);
	CHECK(counted("stop", ERR_UNSUPPORTED) == 1);
}

static void calls_are_counted_by_outcome(void)
{
	struct err err = {0};
	struct machine m;

	begin("{}");
	CHECK(launch(&m, &err) == 0);
	CHECK(provider_describe(provider, "i-none", &arena, &m, &err) < 0);
	CHECK(counted("launch", ERR_NONE) == 1);
	CHECK(counted("describe", ERR_NOT_FOUND) == 1);
	CHECK(counted("describe", ERR_NONE) == 0);
	CHECK(provider_under_way(provider) == 0);
}

/* What the calls below wrote to standard error. */
static void traced(const char *options, char *text, size_t size)
{
	const struct machine_spec spec = {.server = SERVER,
					  .token = "token-1",
					  .name = "web-1",
					  .flavor = "sim.small",
					  .image = "debian-12",
					  .user_data = "hunter2",
					  .user_data_len = 7};
	FILE *f = tmpfile();
	int old = dup(STDERR_FILENO);
	struct err err = {0};
	struct machine m;

	begin(options);
	CHECK(f && dup2(fileno(f), STDERR_FILENO) >= 0);
	log_setup(LOG_DEBUG, false);
	CHECK(provider_launch(provider, &spec, &arena, &m, &err) == 0);
	CHECK(provider_describe(provider, "i-none", &arena, &m, &err) < 0);
	log_setup(LOG_INFO, false);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	rewind(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
}

static void each_call_leaves_a_trace_without_secrets(void)
{
	char text[4096];

	traced("{}", text, sizeof(text));
	CHECK(strstr(text, "call=launch about=" SERVER) != NULL);
	CHECK(strstr(text, "region=r") != NULL);
	CHECK(strstr(text, "ms=") != NULL);
	CHECK(strstr(text, "outcome=done") != NULL);
	CHECK(strstr(text, "call=describe about=i-none") != NULL);
	CHECK(strstr(text, "outcome=not_found") != NULL);
	CHECK(strstr(text, "provider=MachineNotFound") != NULL);
	CHECK(strstr(text, "hunter2") == NULL);
}

static void a_fault_can_fail_a_call_before_it_is_made(void)
{
	struct err err = {0};
	struct machine m;

	begin("{\"faults\":[{\"call\":\"launch\",\"action\":\"fail\","
	      "\"times\":1,\"code\":\"capacity\"}]}");
	CHECK(launch(&m, &err) < 0);
	CHECK(err.code == ERR_CAPACITY);
	CHECK(machines() == 0);
	CHECK(launch(&m, &err) == 0);
	CHECK(machines() == 1);
}

static void a_fault_can_lose_an_answer(void)
{
	struct err err = {0};
	struct machine m;

	begin("{\"faults\":[{\"call\":\"launch\",\"action\":\"lose\","
	      "\"times\":1}]}");
	CHECK(launch(&m, &err) < 0);
	CHECK(err.code == ERR_TIMEOUT);
	CHECK(machines() == 1);
	CHECK(launch(&m, &err) == 0);
	CHECK(machines() == 1);
}

static void a_fault_can_delay_and_repeat_a_call(void)
{
	struct err err = {0};
	struct machine m;

	begin("{\"launchTokens\":false,\"consistencyMs\":60000,\"faults\":["
	      "{\"call\":\"launch\",\"action\":\"delay\",\"ms\":70,"
	      "\"times\":1},{\"call\":\"launch\",\"action\":\"duplicate\","
	      "\"times\":1}]}");
	CHECK(launch(&m, &err) == 0);
	CHECK(slept == 70);
	CHECK(machines() == 1);
	/* Neither tokens nor lists can tell here. */
	CHECK(launch(&m, &err) == 0);
	CHECK(machines() == 3);
}

static void options_are_kept_when_the_caller_lets_go_of_them(void)
{
	struct err err = {0};
	struct machine m;

	begin("{\"faults\":[{\"call\":\"launch\",\"action\":\"fail\","
	      "\"code\":\"quota_exceeded\"}]}");
	/* What was there is written over. */
	arena_clear(&arena);
	memset(arena_alloc(&arena, 65536), 'x', 65536);
	CHECK(launch(&m, &err) < 0);
	CHECK(err.code == ERR_QUOTA);
}

static void a_fault_waits_for_its_turn(void)
{
	struct err err = {0};
	struct machine m;

	begin("{\"faults\":[{\"action\":\"fail\",\"after\":2,\"times\":2}]}");
	CHECK(launch(&m, &err) == 0);
	CHECK(launch(&m, &err) == 0);
	CHECK(launch(&m, &err) < 0);
	CHECK(launch(&m, &err) < 0);
	CHECK(launch(&m, &err) == 0);
}

static unsigned failures_of_100(void)
{
	struct err err = {0};
	struct machine m;
	unsigned n = 0;

	begin("{\"seed\":7,\"faults\":[{\"action\":\"fail\",\"rate\":300}]}");
	for (int i = 0; i < 100; i++)
		n += launch(&m, &err) < 0;
	return n;
}

static void chance_follows_from_the_seed(void)
{
	unsigned first = failures_of_100();

	CHECK(first > 10 && first < 50);
	CHECK(failures_of_100() == first);
}

int main(void)
{
	arena_init(&arena, (size_t)64 << 20);
	RUN(an_unknown_provider_is_invalid);
	RUN(every_wrong_option_is_told);
	RUN(an_unknown_capability_to_lack_is_invalid);
	RUN(credentials_that_nobody_asked_for_are_refused);
	RUN(every_capability_has_a_name_of_its_own);
	RUN(what_a_provider_lacks_is_refused_by_name);
	RUN(calls_are_counted_by_outcome);
	RUN(each_call_leaves_a_trace_without_secrets);
	RUN(a_fault_can_fail_a_call_before_it_is_made);
	RUN(a_fault_can_lose_an_answer);
	RUN(a_fault_can_delay_and_repeat_a_call);
	RUN(options_are_kept_when_the_caller_lets_go_of_them);
	RUN(a_fault_waits_for_its_turn);
	RUN(chance_follows_from_the_seed);
	provider_close(provider);
	arena_release(&arena);
	return test_done();
}

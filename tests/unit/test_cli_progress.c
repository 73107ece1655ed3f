#include "cli/progress.h"

#include "model/instance.h"
#include "test.h"

static struct arena arena;

static const struct node *parse(const char *json)
{
	struct err err;

	return json_parse(json, strlen(json), &arena, &err);
}

/* A table of documents, each newer than the change or as old, and what is to be
 * thought of it. */
static const struct {
	const char *name;
	enum progress_aim aim;
	const char *state, *doc;
	enum progress_verdict verdict;
} cases[] = {
	{"as it was before", PROGRESS_STATE, "running",
	 "{\"revision\":4,\"status\":{\"state\":\"running\"}}",
	 PROGRESS_WORKING},
	{"there at once", PROGRESS_STATE, "running",
	 "{\"revision\":5,\"status\":{\"state\":\"running\"}}",
	 PROGRESS_REACHED},
	{"on its way", PROGRESS_STATE, "running",
	 "{\"revision\":6,\"status\":{\"state\":\"pending\"}}",
	 PROGRESS_WORKING},
	{"failed before", PROGRESS_STATE, "running",
	 "{\"revision\":5,\"status\":{\"state\":\"failed\"}}",
	 PROGRESS_WORKING},
	{"failed now", PROGRESS_STATE, "running",
	 "{\"revision\":6,\"status\":{\"state\":\"failed\"}}", PROGRESS_FAILED},
	{"waits for time", PROGRESS_STATE, "running",
	 "{\"revision\":6,\"status\":{\"state\":\"pending\",\"reason\":"
	 "{\"waitsFor\":\"time\"}}}",
	 PROGRESS_WORKING},
	{"waits for an operator", PROGRESS_STATE, "running",
	 "{\"revision\":6,\"status\":{\"state\":\"pending\",\"reason\":"
	 "{\"waitsFor\":\"operator\"}}}",
	 PROGRESS_FAILED},
	{"a change under way", PROGRESS_SETTLED, NULL,
	 "{\"revision\":6,\"spec\":{\"power\":\"on\"},\"status\":{"
	 "\"state\":\"running\",\"change\":{\"action\":\"rebuild\"}}}",
	 PROGRESS_WORKING},
	{"the provider not told", PROGRESS_SETTLED, NULL,
	 "{\"revision\":6,\"generation\":3,\"spec\":{\"power\":\"on\"},"
	 "\"status\":{\"state\":\"running\",\"observedGeneration\":2}}",
	 PROGRESS_WORKING},
	{"settled", PROGRESS_SETTLED, NULL,
	 "{\"revision\":6,\"generation\":3,\"spec\":{\"power\":\"on\"},"
	 "\"status\":{\"state\":\"running\",\"observedGeneration\":3}}",
	 PROGRESS_REACHED},
	{"settled, and off", PROGRESS_SETTLED, NULL,
	 "{\"revision\":6,\"spec\":{\"power\":\"off\"},"
	 "\"status\":{\"state\":\"stopped\"}}",
	 PROGRESS_REACHED},
	{"a noun without power", PROGRESS_SETTLED, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"ready\"}}", PROGRESS_REACHED},
	{"a noun without a state", PROGRESS_SETTLED, NULL, "{\"revision\":6}",
	 PROGRESS_REACHED},
	{"a catalogue read before", PROGRESS_SYNCED, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"ready\"}}", PROGRESS_WORKING},
	{"and since", PROGRESS_SYNCED, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"ready\","
	 "\"syncedAt\":\"2026-11-15T09:00:00Z\"}}",
	 PROGRESS_REACHED},
	{"one that is on its way up", PROGRESS_UP, NULL,
	 "{\"revision\":5,\"status\":{\"state\":\"pending\"}}",
	 PROGRESS_WORKING},
	{"and runs, and is not up", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"running\",\"readiness\":"
	 "{\"state\":\"waiting\"}}}",
	 PROGRESS_WORKING},
	{"up", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"running\",\"readiness\":"
	 "{\"state\":\"ready\"}}}",
	 PROGRESS_REACHED},
	{"up, and somebody has to do something all the same", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"running\",\"reason\":"
	 "{\"waitsFor\":\"operator\"}}}",
	 PROGRESS_REACHED},
	{"it was up: there is nothing to wait for", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"running\",\"readiness\":"
	 "{\"state\":\"unready\"}}}",
	 PROGRESS_REACHED},
	{"up, where nobody looks", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"running\"}}",
	 PROGRESS_REACHED},
	{"stuck all the while, and not up", PROGRESS_UP, NULL,
	 "{\"revision\":5,\"status\":{\"state\":\"pending\",\"reason\":"
	 "{\"waitsFor\":\"specChange\"}}}",
	 PROGRESS_FAILED},
	{"off: there is nothing to wait for", PROGRESS_UP, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"stopped\"}}",
	 PROGRESS_REACHED},
	{"a deletion does not fail", PROGRESS_GONE, NULL,
	 "{\"revision\":6,\"status\":{\"state\":\"failed\"}}",
	 PROGRESS_WORKING},
};

static void judges(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct progress_goal g = {&instance_kind,
					  parse("{\"revision\":5}"),
					  cases[i].aim, cases[i].state};

		if (progress_judge(&g, parse(cases[i].doc)) == cases[i].verdict)
			continue;
		printf("# %s\n", cases[i].name);
		CHECK(!"judged so");
	}
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(judges);
	arena_release(&arena);
	return test_done();
}

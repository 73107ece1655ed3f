/*
 * The whole of Muster under random users, faults and crashes, a tape a history.
 *
 *     SEEDS=2000 test_whole            that many from seed 1
 *     test_whole --from 1 --count 50   the same, and what they came to
 *     test_whole --seed 17             play one, telling what happens
 *     test_whole --shrink 17           make one short that breaks a rule
 *     test_whole --tape FILE           play one from a file, likewise
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "judge.h"
#include "shrink.h"
#include "test.h"
#include "whole.h"

enum { TRIES = 2000, BAD_MOST = 5 };

struct totals {
	unsigned long long histories, bad, revisions, calls, crashes, launches;
};

/* The seed that is being played, for when the program itself fails. */
static volatile uint64_t playing;

static void tell_seed(int signal_number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "# seed %llu: signal %d\n",
			 (unsigned long long)playing, signal_number);

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(2);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* In a process of its own: the program itself may fail. */
static bool is_broken(const struct tape *t, void *ctx)
{
	struct played p;
	int status;
	pid_t pid = fork();

	(void)ctx;
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		whole_play(t, false, &p);
		_exit(!p.held);
	}
	return waitpid(pid, &status, 0) == pid && status != 0;
}

/* Make it short, and write it down. */
static void report(const struct tape *tape, const struct played *p)
{
	struct tape t = *tape;
	char name[64];
	FILE *f;

	printf("# seed %llu: %s: %s\n", (unsigned long long)t.seed,
	       judge_class_names[p->class], p->why);
	fflush(stdout);
	shrink(&t, is_broken, NULL, TRIES);
	snprintf(name, sizeof(name), "whole-%llu.tape",
		 (unsigned long long)t.seed);
	printf("# made short: %u acts, in %s\n", t.n, name);
	f = fopen(name, "w");
	if (f) {
		fprintf(f, "# %s\n", p->why);
		tape_write(&t, f);
		fclose(f);
	}
	tape_write(&t, stdout);
}

static void play_many(uint64_t from, uint64_t count, struct totals *ret)
{
	struct played p;
	struct tape t;

	*ret = (struct totals){0};
	for (uint64_t n = 0; n < count && ret->bad < BAD_MOST; n++) {
		playing = from + n;
		tape_make(&t, from + n);
		whole_play(&t, false, &p);
		ret->histories++;
		ret->bad += !p.held;
		ret->revisions += p.revisions;
		ret->calls += p.calls;
		ret->crashes += p.crashes;
		ret->launches += p.launches;
		if (!p.held)
			report(&t, &p);
	}
}

static void say(const struct totals *t)
{
	printf("%llu histories, %llu violations; %llu revisions, %llu calls, "
	       "%llu crashes, %llu launches\n",
	       t->histories, t->bad, t->revisions, t->calls, t->crashes,
	       t->launches);
}

static int play_loudly(const struct tape *t)
{
	struct played p;

	whole_play(t, true, &p);
	printf("%s\n", p.held ? "all rules hold" : p.why);
	return p.held ? 0 : 1;
}

static int play_file(const char *name)
{
	struct tape t;
	struct err err;
	FILE *f = fopen(name, "r");

	if (!f || tape_read(&t, f, &err) < 0) {
		fprintf(stderr, "%s: %s\n", name,
			f ? err.msg : "there is no such file");
		return 2;
	}
	fclose(f);
	return play_loudly(&t);
}

static void whatever_happens_the_rules_hold(void)
{
	const char *seeds = getenv("SEEDS");
	struct totals t;

	play_many(1, seeds ? strtoull(seeds, NULL, 10) : 20000, &t);
	CHECK(t.bad == 0);
	printf("# ");
	say(&t);
}

static void the_same_tape_is_the_same_history(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct played a, b;
		struct tape t;

		tape_make(&t, seed);
		whole_play(&t, false, &a);
		whole_play(&t, false, &b);
		CHECK(a.digest == b.digest && a.calls == b.calls);
	}
}

static uint64_t option(int argc, char **argv, const char *name,
		       uint64_t fallback)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return strtoull(argv[i + 1], NULL, 10);
	return fallback;
}

int main(int argc, char **argv)
{
	struct totals totals;
	struct tape t;

	log_setup(getenv("DEBUG") ? LOG_DEBUG : LOG_ERROR, false);
	signal(SIGABRT, tell_seed);
	signal(SIGSEGV, tell_seed);
	if (argc == 3 && strcmp(argv[1], "--shrink") == 0) {
		tape_make(&t, strtoull(argv[2], NULL, 10));
		report(&t, &(struct played){.why = "it is broken"});
		return 1;
	}
	if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
		tape_make(&t, strtoull(argv[2], NULL, 10));
		return play_loudly(&t);
	}
	if (argc == 3 && strcmp(argv[1], "--tape") == 0)
		return play_file(argv[2]);
	if (argc == 5) {
		play_many(option(argc, argv, "--from", 1),
			  option(argc, argv, "--count", 1), &totals);
		say(&totals);
		return totals.bad != 0;
	}
	RUN(the_same_tape_is_the_same_history);
	RUN(whatever_happens_the_rules_hold);
	return test_done();
}

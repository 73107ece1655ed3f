/*
 * The whole of Muster under random users, faults and crashes, a tape a history.
 *
 *     SEEDS=2000 test_whole            that many from seed 1
 *     test_whole --from 1 --count 50   the same, and what they came to
 *     test_whole --seed 17             play one, telling what happens
 *     test_whole --shrink 17           make one short that breaks a rule
 *     test_whole --tape FILE           play one from a file, likewise
 *     test_whole FOLDER                the tapes in it, and then SEEDS
 */
#include <dirent.h>
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
static char playing[64];
static volatile sig_atomic_t playing_len;

static void say_playing(uint64_t seed)
{
	playing_len = snprintf(playing, sizeof(playing),
			       "# seed %llu: the program fails\n",
			       (unsigned long long)seed);
}

static void tell_seed(int signal_number)
{
	if (write(STDOUT_FILENO, playing, (size_t)playing_len) < 0)
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
		say_playing(from + n);
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

static int read_tape(const char *name, struct tape *ret)
{
	struct err err = {.msg = "it cannot be read"};
	FILE *f = fopen(name, "r");
	int r = f ? tape_read(ret, f, &err) : -1;

	if (f)
		fclose(f);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", name, err.msg);
	return r;
}

static int is_tape(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && strcmp(dot, ".tape") == 0;
}

/* Each tape in FOLDER, by its name: what was broken once. */
static void play_folder(const char *folder)
{
	struct dirent **list;
	int n = scandir(folder, &list, is_tape, alphasort);

	for (int i = 0; i < n; i++) {
		struct played p = {0};
		struct tape t;
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
		if (read_tape(path, &t) == 0)
			whole_play(&t, false, &p);
		if (!p.held)
			printf("# %s\n", p.why);
		test_bad += !p.held;
		printf("%s %d - %.*s\n", p.held ? "ok" : "not ok", ++test_count,
		       (int)strlen(list[i]->d_name) - 5, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
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
		return read_tape(argv[2], &t) < 0 ? 2 : play_loudly(&t);
	if (argc == 5) {
		play_many(option(argc, argv, "--from", 1),
			  option(argc, argv, "--count", 1), &totals);
		say(&totals);
		return totals.bad != 0;
	}
	if (argc == 2)
		play_folder(argv[1]);
	RUN(the_same_tape_is_the_same_history);
	RUN(whatever_happens_the_rules_hold);
	return test_done();
}

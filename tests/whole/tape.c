#include "tape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

const char *const act_names[ACT_KINDS] = {
	[ACT_CREATE] = "create",   [ACT_POWER] = "power",
	[ACT_REBOOT] = "reboot",   [ACT_RESIZE] = "resize",
	[ACT_REBUILD] = "rebuild", [ACT_PATCH] = "patch",
	[ACT_DELETE] = "delete",   [ACT_REPEAT] = "repeat",
	[ACT_NETWORK] = "network", [ACT_PROJECT] = "project",
	[ACT_QUOTA] = "quota",     [ACT_READ] = "read",
	[ACT_WATCH] = "watch",     [ACT_OPERATE] = "operate",
	[ACT_RUN] = "run",         [ACT_PASS] = "pass",
	[ACT_CRASH] = "crash",     [ACT_REFUSE] = "refuse",
	[ACT_CLOCK] = "clock",     [ACT_WEATHER] = "weather",
	[ACT_LATE] = "late",       [ACT_LIST] = "list",
	[ACT_DRIFT] = "drift",     [ACT_STRAY] = "stray",
	[ACT_VANISH] = "vanish",
};

/* How often each is, of the sum of all. */
static const unsigned char often[ACT_KINDS] = {
	[ACT_CREATE] = 16, [ACT_POWER] = 6,   [ACT_REBOOT] = 3,
	[ACT_RESIZE] = 4,  [ACT_REBUILD] = 3, [ACT_PATCH] = 6,
	[ACT_DELETE] = 7,  [ACT_REPEAT] = 4,  [ACT_NETWORK] = 6,
	[ACT_PROJECT] = 1, [ACT_QUOTA] = 2,   [ACT_READ] = 3,
	[ACT_WATCH] = 3,   [ACT_OPERATE] = 2, [ACT_RUN] = 40,
	[ACT_PASS] = 9,    [ACT_CRASH] = 6,   [ACT_REFUSE] = 2,
	[ACT_CLOCK] = 2,   [ACT_WEATHER] = 5, [ACT_LATE] = 6,
	[ACT_LIST] = 2,    [ACT_DRIFT] = 4,   [ACT_STRAY] = 2,
	[ACT_VANISH] = 1,
};

enum { LEAST = 30, MORE = 31, NUMBERS = 1000, SEEDS = 1000000 };

static enum act_kind some_kind(struct random *r)
{
	unsigned sum = 0, at;
	int kind;

	for (kind = 1; kind < ACT_KINDS; kind++)
		sum += often[kind];
	at = (unsigned)random_below(r, sum);
	for (kind = 1; at >= often[kind]; kind++)
		at -= often[kind];
	return (enum act_kind)kind;
}

void tape_make(struct tape *t, uint64_t seed)
{
	struct random_seeded seeded;
	struct random *r = &seeded.base;

	random_seed(&seeded, seed);
	*t = (struct tape){.seed = seed};
	t->setting = (uint32_t)random_below(r, SEEDS);
	t->n = LEAST + (uint32_t)random_below(r, MORE);
	for (uint32_t i = 0; i < t->n; i++)
		t->acts[i] = (struct act){
			.kind = some_kind(r),
			.who = (uint32_t)random_below(r, NUMBERS),
			.what = (uint32_t)random_below(r, NUMBERS),
			.seed = (uint32_t)random_below(r, SEEDS),
		};
}

void tape_write(const struct tape *t, FILE *to)
{
	fprintf(to, "seed %llu\nsetting %u\n", (unsigned long long)t->seed,
		t->setting);
	for (uint32_t i = 0; i < t->n; i++)
		fprintf(to, "%s %u %u %u\n", act_names[t->acts[i].kind],
			t->acts[i].who, t->acts[i].what, t->acts[i].seed);
}

static enum act_kind kind_of(const char *name)
{
	for (int k = 1; k < ACT_KINDS; k++)
		if (strcmp(act_names[k], name) == 0)
			return (enum act_kind)k;
	return 0;
}

/* The next number of the line; false when there is none. */
static bool number(char **at, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*at, &end, 10);
	if (end == *at || errno)
		return false;
	*at = end;
	return true;
}

static bool read_act(struct act *a, const char *name, char *rest)
{
	uint64_t who, what, seed;

	if (!number(&rest, &who) || !number(&rest, &what) ||
	    !number(&rest, &seed))
		return false;
	*a = (struct act){kind_of(name), (uint32_t)who, (uint32_t)what,
			  (uint32_t)seed};
	return a->kind != 0;
}

static int read_line(struct tape *t, char *line, struct err *err)
{
	char *rest = line + strcspn(line, " \n");
	uint64_t n = 0;

	if (line[0] == '#' || line[0] == '\n')
		return 0;
	if (*rest)
		*rest++ = 0;
	if (strcmp(line, "seed") == 0 && number(&rest, &t->seed))
		return 0;
	if (strcmp(line, "setting") == 0 && number(&rest, &n)) {
		t->setting = (uint32_t)n;
		return 0;
	}
	if (t->n == TAPE_MOST)
		return err_set(err, ERR_TOO_LARGE, "a tape has %d acts at most",
			       TAPE_MOST);
	if (!read_act(&t->acts[t->n], line, rest))
		return err_set(err, ERR_INVALID, "no act: %s", line);
	t->n++;
	return 0;
}

int tape_read(struct tape *t, FILE *from, struct err *err)
{
	char line[256];

	*t = (struct tape){0};
	while (fgets(line, sizeof(line), from))
		if (read_line(t, line, err) < 0)
			return -1;
	return 0;
}

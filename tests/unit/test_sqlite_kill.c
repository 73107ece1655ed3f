/* kill -9 at random moments: what was acknowledged is there. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop/loop.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/read.h"
#include "test.h"

enum { WRITERS = 6, MARKS = 100000 };

/* One transaction after the other, each with a shelf of its own and one that
 * all of them count up; the pipe is told of each that was acknowledged. */
struct writer {
	struct txn txn;
	struct store *store;
	int pipe;
	unsigned step; /* of the number, between two of one writer */
	unsigned number;
	char id[37], name[16];
};

static char counter_id[37];

static int count_up(struct tx *tx, void *ctx, struct err *err)
{
	struct writer *w = ctx;
	const struct shelf *old = tx_get(tx, &shelf_kind, counter_id);
	struct shelf counter = shelf_of(counter_id, "counter");
	struct shelf mark = shelf_of(w->id, w->name);

	counter.meta.generation = old ? old->meta.generation + 1 : 1;
	if (tx_put(tx, &shelf_kind, &counter, err) < 0)
		return -1;
	return tx_put(tx, &shelf_kind, &mark, err);
}

static void write_next(struct writer *w);

static void acknowledged(struct txn *t, const struct err *err)
{
	struct writer *w = t->ctx;

	if (err || write(w->pipe, &w->number, sizeof(w->number)) < 0)
		_exit(1);
	w->number += w->step;
	write_next(w);
}

static void write_next(struct writer *w)
{
	shelves_id(w->id, 2, w->number);
	snprintf(w->name, sizeof(w->name), "m%u", w->number);
	w->txn = (struct txn){count_up, acknowledged, w};
	store_transact(w->store, &w->txn);
}

static void be_killed(struct rig *r, int pipe, unsigned from)
{
	static struct writer writers[WRITERS];
	struct err err;

	r->loop = loop_new();
	if (rig_open(r, &err) < 0)
		_exit(2);
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.store = r->store,
					     .pipe = pipe,
					     .step = WRITERS,
					     .number = from + i};
		write_next(&writers[i]);
	}
	loop_run(r->loop);
	_exit(3);
}

/* What the parent knows: every mark that was ever acknowledged. */
struct known {
	bool marks[MARKS];
	unsigned next;
};

static void listen_to(int pipe, struct known *k)
{
	unsigned number;

	while (read(pipe, &number, sizeof(number)) == sizeof(number)) {
		if (number >= MARKS)
			continue;
		k->marks[number] = true;
		if (number >= k->next)
			k->next = number + 1;
	}
}

static void kill_one(struct rig *r, struct known *k, struct random *random)
{
	struct timespec wait = {0, (long)random_below(random, 12000000)};
	int ends[2], status = 0;
	unsigned first = 0;
	pid_t child;

	if (pipe(ends) < 0)
		abort();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		be_killed(r, ends[1], k->next + WRITERS);
	}
	close(ends[1]);
	/* Now and then it is killed while it opens. */
	if (random_below(random, 5) &&
	    read(ends[0], &first, sizeof(first)) == sizeof(first) &&
	    first < MARKS)
		k->marks[first] = true;
	nanosleep(&wait, NULL);
	CHECK(kill(child, SIGKILL) == 0);
	listen_to(ends[0], k);
	if (first >= k->next)
		k->next = first + 1;
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void check_known(struct rig *r, struct known *k)
{
	struct record record;
	struct err err;
	int64_t there = 0, counted = 0;
	char id[37];

	r->loop = loop_new();
	if (rig_open(r, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"it opens");
		return;
	}
	for (unsigned i = 0; i < k->next + 4 * WRITERS && i < MARKS; i++) {
		bool is = store_get(r->store, 0, &shelf_kind,
				    shelves_id(id, 2, i), &record);

		CHECK(is || !k->marks[i]);
		there += is;
		/* One that nobody was told of keeps its number. */
		if (is && i >= k->next)
			k->next = i + 1;
	}
	if (store_get(r->store, 0, &shelf_kind, counter_id, &record))
		counted = ((const struct meta *)record.object)->generation;
	CHECK(counted == there);
	CHECK(store_revision(r->store) == (uint64_t)there);
	rig_close(r);
	loop_free(r->loop);
	r->loop = NULL;
}

static void what_was_acknowledged_survives_being_killed(void)
{
	static struct known known;
	struct random_seeded random;
	const struct rig_ops *const *ops = rig_backends;
	struct rig r;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	random_seed(&random, 5);
	rig_init(&r, *ops);
	r.conf.log_revisions = 40;
	for (unsigned i = 0; i < rig_seeds(50, 100) && test_ok; i++) {
		if (i % 10 == 0) {
			memset(&known, 0, sizeof(known));
			files_new(r.dir);
		}
		kill_one(&r, &known, &random.base);
		check_known(&r, &known);
		if (i % 10 == 9) {
			CHECK(known.next > 100);
			files_remove(r.dir);
		}
	}
	files_remove(r.dir);
}

int main(void)
{
	shelves_id(counter_id, 1, 1);
	RUN(what_was_acknowledged_survives_being_killed);
	return test_done();
}

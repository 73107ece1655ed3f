/*
 * audit - what the audit trail costs a durable create: the store on a real
 * SQLite file, the same objects written with an entry each and without, in
 * turns; CPU of both threads together.
 *
 *   bench_audit FOLDER
 *
 * Prints microseconds a create, with and without.
 */
#include "bench.h"

#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "loop/loop.h"
#include "model/organization.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/tx.h"

enum { ROUNDS = 5, CREATES = 20000, AT_ONCE = 256 };

struct bench {
	struct loop *loop;
	struct store *store;
	struct txn txns[AT_ONCE];
	size_t made, answered;
	bool audited;
};

static int create(struct tx *tx, void *ctx, struct err *err)
{
	static const char entry[] =
		"{\"who\":\"0190c1b2-7d30-7a11-9000-0123456789ab\",\"name\":"
		"\"serviceaccount:admin\",\"from\":\"127.0.0.1\",\"action\":"
		"\"create\",\"kind\":\"project\",\"id\":"
		"\"0190c1b2-7d30-7a11-9000-0123456789ab\",\"requestId\":"
		"\"66674f44-5\",\"result\":\"ok\"}";
	struct bench *b = ctx;
	struct organization o = {0};
	char id[37], name[40];

	tx_new_id(tx, id);
	snprintf(name, sizeof(name), "n%zu", ++b->made);
	o.meta = (struct meta){.id = id,
			       .name = name,
			       .description = "a description of some length, "
					      "as people write them",
			       .generation = 1,
			       .created_at = tx_time(tx),
			       .updated_at = tx_time(tx),
			       .created_by = "serviceaccount:admin",
			       .updated_by = "serviceaccount:admin"};
	if (b->audited)
		tx_audit(tx, id, entry);
	return tx_put(tx, &organization_kind, &o, err);
}

static void done(struct txn *t, const struct err *err)
{
	struct bench *b = t->ctx;

	if (err)
		die("create: %s", err->msg);
	if (++b->answered + AT_ONCE <= CREATES)
		store_transact(b->store, t);
	else if (b->answered == CREATES)
		loop_stop(b->loop);
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run(struct bench *b, bool audited)
{
	double began = cpu_us();

	b->audited = audited;
	b->answered = 0;
	for (size_t i = 0; i < AT_ONCE; i++) {
		b->txns[i] = (struct txn){.fn = create, .done = done, .ctx = b};
		store_transact(b->store, &b->txns[i]);
	}
	loop_run(b->loop);
	return (cpu_us() - began) / CREATES;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct store_conf conf = {.clock = &clock_system,
				  .random = &random_system};
	double with[ROUNDS], without[ROUNDS];
	struct bench *b = xcalloc(1, sizeof(*b));
	struct backend *backend;
	struct err err = {0};

	if (argc != 2)
		die("say FOLDER");
	b->loop = loop_new();
	if (sqlite_open(argv[1], b->loop, &backend, &err) < 0 ||
	    store_open(&conf, backend, &b->store, &err) < 0)
		die("%s", err.msg);
	for (int i = 0; i < ROUNDS; i++) {
		with[i] = run(b, true);
		without[i] = run(b, false);
	}
	qsort(with, ROUNDS, sizeof(*with), by_size);
	qsort(without, ROUNDS, sizeof(*without), by_size);
	printf("with=%.2f without=%.2f\n", with[ROUNDS / 2],
	       without[ROUNDS / 2]);
	store_close(b->store);
	loop_free(b->loop);
	free(b);
	return 0;
}

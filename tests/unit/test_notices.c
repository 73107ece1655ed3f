#include "reconcile/notices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { THREADS = 4, EACH = 2000, NAMES = 100 };

static atomic_int rings;

static void ring(void *ctx)
{
	(void)ctx;
	rings++;
}

struct heard {
	int all, machines;
	char last[NOTICE_LEN + 1];
};

static void hear(void *ctx, const char *machine)
{
	struct heard *h = ctx;

	if (!machine) {
		h->all++;
		return;
	}
	h->machines++;
	snprintf(h->last, sizeof(h->last), "%s", machine);
}

static struct heard take(struct notices *n)
{
	struct heard h = {0};

	notices_take(n, hear, &h);
	return h;
}

static void one_machine_is_one_notice_and_rings_once(void)
{
	struct notices n;
	struct heard h;

	notices_init(&n, ring, NULL);
	rings = 0;
	CHECK(take(&n).machines == 0);
	for (int i = 0; i < 100; i++)
		notices_add(&n, "i-1");
	notices_add(&n, "i-2");
	CHECK(rings == 1);
	h = take(&n);
	CHECK(h.machines == 2 && !h.all);
	CHECK_STR(h.last, "i-2");
	CHECK(take(&n).machines == 0);
	notices_add(&n, "i-1");
	CHECK(rings == 2);
	notices_release(&n);
}

static void too_many_are_all(void)
{
	char name[32];
	struct notices n;
	struct heard h;

	notices_init(&n, ring, NULL);
	rings = 0;
	for (int i = 0; i < NOTICES_MOST; i++) {
		snprintf(name, sizeof(name), "i-%d", i);
		notices_add(&n, name);
	}
	h = take(&n);
	CHECK(h.machines == NOTICES_MOST && !h.all);
	for (int i = 0; i < 10 * NOTICES_MOST; i++) {
		snprintf(name, sizeof(name), "i-%d", i);
		notices_add(&n, name);
	}
	CHECK(rings == 2);
	h = take(&n);
	CHECK(h.machines == 0 && h.all == 1);
	h = take(&n);
	CHECK(h.machines == 0 && !h.all);
	notices_release(&n);
}

static void a_name_that_is_too_long_is_all(void)
{
	char name[NOTICE_LEN + 2];
	struct notices n;
	struct heard h;

	memset(name, 'x', sizeof(name));
	name[NOTICE_LEN] = '\0';
	notices_init(&n, ring, NULL);
	notices_add(&n, name);
	h = take(&n);
	CHECK(h.machines == 1 && !h.all);
	CHECK_STR(h.last, name);
	name[NOTICE_LEN] = 'x';
	name[NOTICE_LEN + 1] = '\0';
	notices_add(&n, name);
	h = take(&n);
	CHECK(h.machines == 0 && h.all == 1);
	notices_release(&n);
}

static void *tell(void *arg)
{
	struct notices *n = arg;
	char name[32];

	for (int i = 0; i < EACH; i++) {
		snprintf(name, sizeof(name), "i-%d", i % NAMES);
		notices_add(n, name);
	}
	return NULL;
}

/* Whoever rang is heard after that: what is taken last leaves nothing. */
static void any_thread_may_tell(void)
{
	pthread_t threads[THREADS];
	struct notices n;
	int heard = 0, least;

	notices_init(&n, ring, NULL);
	rings = 0;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, tell, &n) == 0);
	for (int i = 0; i < 100; i++)
		heard += take(&n).machines;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	least = rings;
	heard += take(&n).machines;
	CHECK(heard >= NAMES && heard >= least);
	CHECK(take(&n).machines == 0);
	notices_release(&n);
}

int main(void)
{
	RUN(one_machine_is_one_notice_and_rings_once);
	RUN(too_many_are_all);
	RUN(a_name_that_is_too_long_is_all);
	RUN(any_thread_may_tell);
	return test_done();
}

/* The ring of changes: growing, wrapping, rolling back, and its bytes. */
#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "test.h"

enum { IDS = 5 };

static char ids[IDS][37];

/* The bytes are those of what was replaced by what is in the log. */
static void check_ring(const struct rig *r, uint64_t seed)
{
	const struct history *h = &r->store->history;
	size_t bytes = 0;

	CHECK_SEED(h->first + h->n == r->store->newest + 1, seed);
	CHECK_SEED(!history_at(r->store, h->first - 1), seed);
	CHECK_SEED(!history_at(r->store, h->first + h->n), seed);
	for (uint64_t at = h->first; at < h->first + h->n; at++) {
		const struct change *c = history_at(r->store, at);

		CHECK_SEED(c && c->revision == at && c->in_log, seed);
		for (size_t i = 0; c && i < c->n; i++)
			if (c->versions[i]->older)
				bytes += version_bytes(c->versions[i]->older);
	}
	CHECK_SEED(bytes == h->bytes, seed);
}

static void run_seed(uint64_t seed)
{
	static struct deed deeds[64];
	struct random_seeded random;
	struct err err;
	struct rig r;

	random_seed(&random, seed);
	rig_init(&r, rig_backends[0]);
	r.conf.log_revisions = 900 + random_below(&random.base, 1500);
	CHECK(rig_open(&r, &err) == 0);
	for (int turn = 0; turn < 120; turn++) {
		size_t n = 1 + random_below(&random.base, COUNT_OF(deeds));

		memset(deeds, 0, sizeof(deeds));
		for (size_t i = 0; i < n; i++) {
			size_t which = random_below(&random.base, IDS);

			deed_shelf(&deeds[i], ids[which], ids[which]);
			deed_start(&deeds[i], r.store);
		}
		if (turn % 8 == 0)
			check_ring(&r, seed);
		r.ops->fill(&r, random_below(&random.base, 10) == 0);
		r.ops->settle(&r);
		if (turn % 8 == 1)
			check_ring(&r, seed);
		if (turn % 40 == 39)
			rig_reopen(&r);
	}
	check_ring(&r, seed);
	/* All but the last can go; it alone has replaced something. */
	r.store->conf.log_revisions = 1;
	r.ops->fill(&r, false);
	while (r.store->history.n > 1) {
		store_expire(r.store);
		r.ops->settle(&r);
	}
	check_ring(&r, seed);
	rig_release(&r);
}

static void the_ring_holds_the_log(void)
{
	for (unsigned seed = 1; seed <= rig_seeds(15, 20); seed++)
		run_seed(seed);
}

/* Every limit by itself. */
static void each_limit_holds(void)
{
	struct err err;

	for (int which = 0; which < 3; which++) {
		struct rig r;

		rig_init(&r, rig_backends[0]);
		if (which == 0)
			r.conf.log_revisions = 10;
		else if (which == 1)
			r.conf.log_age_ms = 10;
		else
			r.conf.log_bytes = 10 * 500;
		CHECK(rig_open(&r, &err) == 0);
		for (int i = 0; i < 100; i++) {
			struct deed d = {0};

			deed_shelf(&d, ids[0], "a");
			r.clock.now++;
			CHECK(deed_do(&d, &r) == ERR_NONE);
		}
		CHECK(r.store->history.n >= 5 && r.store->history.n <= 16);
		CHECK(r.store->history.bytes < 16 * 500);
		rig_release(&r);
	}
}

int main(void)
{
	for (unsigned i = 0; i < IDS; i++)
		shelves_id(ids[i], 1, i);
	RUN(the_ring_holds_the_log);
	RUN(each_limit_holds);
	return test_done();
}

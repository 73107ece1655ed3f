#include "reconcile/ledger.h"

#include "base/attr.h"
#include "reconcile/queue.h"
#include "test.h"

enum { MANY = 200 };

static const struct err well = {0};

static void add(struct ledger *l, struct ledger_entry *e, enum call_rank rank)
{
	list_init(&e->link);
	e->rank = rank;
	ledger_add(l, e);
}

static void add_many(struct ledger *l, struct ledger_entry *e, size_t n,
		     enum call_rank rank)
{
	for (size_t i = 0; i < n; i++)
		add(l, &e[i], rank);
}

static void begins_without_credit(void)
{
	struct ledger_entry e[MANY];
	struct ledger l;
	size_t n = 0;

	ledger_init(&l, 5000);
	ledger_limit(&l, MANY, 100);
	add_many(&l, e, MANY, CALL_CREATE);
	CHECK(ledger_next(&l, 5000) == NULL);
	for (uint64_t now = 5000; now < 6000; now++)
		while (ledger_next(&l, now))
			n++;
	CHECK(n > 80 && n <= 100);
}

static void begins_no_more_at_once_than_it_may(void)
{
	struct ledger l;
	struct ledger_entry e[4];

	ledger_init(&l, 0);
	ledger_limit(&l, 2, 0);
	add_many(&l, e, 4, CALL_CREATE);
	CHECK(ledger_next(&l, 0) == &e[0]);
	CHECK(ledger_next(&l, 0) == &e[1]);
	CHECK(ledger_next(&l, 0) == NULL);
	CHECK(ledger_when(&l, 0) == QUEUE_NEVER);
	ledger_end(&l, &well, 0);
	CHECK(ledger_next(&l, 0) == &e[2]);
	CHECK(ledger_next(&l, 0) == NULL);
}

static void deletes_before_it_creates_before_it_looks(void)
{
	struct ledger l;
	struct ledger_entry look, make, drop;

	ledger_init(&l, 0);
	ledger_limit(&l, 9, 0);
	add(&l, &look, CALL_OBSERVE);
	add(&l, &make, CALL_CREATE);
	add(&l, &drop, CALL_DELETE);
	CHECK(ledger_next(&l, 0) == &drop);
	CHECK(ledger_next(&l, 0) == &make);
	CHECK(ledger_next(&l, 0) == &look);
	CHECK(ledger_next(&l, 0) == NULL);
}

/* Of what begins a sixteenth looks, however much is to be created. */
static void looks_once_in_sixteen(void)
{
	static struct ledger_entry makes[MANY], looks[MANY];
	struct ledger l;
	int n = 0;

	ledger_init(&l, 0);
	ledger_limit(&l, MANY, 0);
	add_many(&l, makes, MANY, CALL_CREATE);
	add_many(&l, looks, MANY, CALL_OBSERVE);
	for (int i = 0; i < 160; i++)
		n += ledger_next(&l, 0)->rank == CALL_OBSERVE;
	CHECK(n == 10);
}

/* However often it is asked, and at whatever moments. */
/* In no second, wherever it begins, more than RATE; and nearly that many. */
static void check_rate(unsigned rate)
{
	enum { MS = 5000 };
	static unsigned begun[MS];
	static struct ledger_entry e[MANY];
	unsigned all = 0, in_second = 0;
	size_t n = 0;
	struct ledger l;

	memset(begun, 0, sizeof(begun));
	ledger_init(&l, 0);
	ledger_limit(&l, MANY * MS, rate);
	for (uint64_t now = 0; now < MS; now++) {
		/* Not looked at every millisecond, as in life. */
		for (; now % 7 == 0 && l.n_waiting < MANY; n++) {
			e[n % MANY].rank = CALL_CREATE;
			ledger_add(&l, &e[n % MANY]);
		}
		while (now % 7 == 0 && ledger_next(&l, now))
			begun[now]++;
		all += begun[now];
		in_second += begun[now];
		if (now >= 1000)
			in_second -= begun[now - 1000];
		CHECK(in_second <= rate);
	}
	CHECK(all * 10 >= rate * 5 * 8);
}

static void begins_no_faster_than_it_may(void)
{
	check_rate(1);
	check_rate(7);
	check_rate(20);
	check_rate(50);
}

static void says_when_it_may_go_on(void)
{
	struct ledger_entry e[3];
	struct ledger l;

	ledger_init(&l, 0);
	ledger_limit(&l, 9, 2);
	add_many(&l, e, 3, CALL_CREATE);
	CHECK(ledger_next(&l, 10000));
	CHECK(!ledger_next(&l, 10000));
	CHECK(ledger_when(&l, 10000) == 10500);
	CHECK(!ledger_next(&l, 10499));
	CHECK(ledger_next(&l, 10500));
}

static void a_slow_start_saves_nothing_up(void)
{
	static struct ledger_entry e[MANY];
	struct ledger l;
	int n = 0;

	ledger_init(&l, 0);
	ledger_limit(&l, MANY, 50);
	add_many(&l, e, MANY, CALL_CREATE);
	while (ledger_next(&l, 3600 * 1000))
		n++;
	CHECK(n == 5);
}

static void leaves_alone_who_says_when_to_come_back(void)
{
	struct ledger_entry e[3];
	struct ledger l;
	struct err busy;

	err_set(&busy, ERR_RATE, "slow down");
	busy.retry_after_ms = 700;
	ledger_init(&l, 0);
	ledger_limit(&l, 9, 0);
	add_many(&l, e, 3, CALL_DELETE);
	CHECK(ledger_next(&l, 100));
	ledger_end(&l, &busy, 100);
	CHECK(!ledger_next(&l, 799));
	CHECK(ledger_when(&l, 100) == 800);
	CHECK(ledger_next(&l, 800) == &e[1]);
	busy.retry_after_ms = 0;
	ledger_end(&l, &busy, 800);
	CHECK(ledger_when(&l, 800) == 1800);
}

/* Not all that wait come at once to be refused again. */
static void is_careful_with_who_was_too_busy(void)
{
	static struct ledger_entry e[MANY];
	struct ledger l;
	struct err busy;

	err_set(&busy, ERR_RATE, "slow down");
	ledger_init(&l, 0);
	ledger_limit(&l, 4, 0);
	add_many(&l, e, MANY, CALL_CREATE);
	CHECK(ledger_next(&l, 0));
	ledger_end(&l, &busy, 0);
	for (unsigned many = 1; many <= 4; many++) {
		unsigned n = l.under_way;

		while (ledger_next(&l, 2000))
			n++;
		CHECK(n == many);
		ledger_end(&l, &well, 2000);
	}
}

/* An object's trouble is its own. */
static void only_what_concerns_all_stops_all(void)
{
	struct ledger_entry e[2];
	struct ledger l;
	struct err err;

	err_set(&err, ERR_UNAVAILABLE, "not this one");
	err.scope = ERR_SCOPE_OBJECT;
	err.retry_after_ms = 5000;
	ledger_init(&l, 0);
	ledger_limit(&l, 9, 0);
	add_many(&l, e, 2, CALL_CREATE);
	CHECK(ledger_next(&l, 0));
	ledger_end(&l, &err, 0);
	CHECK(ledger_next(&l, 0));
	err.scope = ERR_SCOPE_REGION;
	ledger_end(&l, &err, 0);
	add(&l, &e[0], CALL_CREATE);
	CHECK(!ledger_next(&l, 4999));
	CHECK(ledger_next(&l, 5000));
}

/* A region whose hosts were full was let nothing delete until room was looked
 * for again. */
static void who_has_no_room_can_be_asked_to_make_some(void)
{
	static const enum err_code full[] = {ERR_CAPACITY, ERR_QUOTA};

	for (size_t i = 0; i < COUNT_OF(full); i++) {
		struct ledger_entry make, drop;
		struct ledger l;
		struct err err;

		err_set(&err, full[i], "no room");
		err.scope = ERR_SCOPE_REGION;
		err.retry_after_ms = 30000;
		ledger_init(&l, 0);
		ledger_limit(&l, 9, 0);
		add(&l, &make, CALL_CREATE);
		CHECK(ledger_next(&l, 0) == &make);
		ledger_end(&l, &err, 0);
		add(&l, &drop, CALL_DELETE);
		CHECK(ledger_next(&l, 0) == &drop);
	}
}

static void begins_nothing_while_it_is_paused(void)
{
	struct ledger_entry e;
	struct ledger l;

	ledger_init(&l, 0);
	ledger_limit(&l, 9, 0);
	add(&l, &e, CALL_DELETE);
	l.paused = true;
	CHECK(!ledger_next(&l, 0));
	CHECK(ledger_when(&l, 0) == QUEUE_NEVER);
	l.paused = false;
	CHECK(ledger_next(&l, 0) == &e);
}

static void what_is_put_back_comes_first_and_what_is_removed_not_at_all(void)
{
	struct ledger_entry e[3];
	struct ledger l;

	ledger_init(&l, 0);
	ledger_limit(&l, 1, 0);
	add_many(&l, e, 3, CALL_CREATE);
	CHECK(ledger_next(&l, 0) == &e[0]);
	ledger_end(&l, &well, 0);
	ledger_put_back(&l, &e[0]);
	ledger_remove(&l, &e[1]);
	CHECK(l.n_waiting == 2);
	CHECK(ledger_next(&l, 0) == &e[0]);
	ledger_end(&l, &well, 0);
	CHECK(ledger_next(&l, 0) == &e[2]);
	ledger_end(&l, &well, 0);
	CHECK(!ledger_next(&l, 0));
}

int main(void)
{
	RUN(begins_without_credit);
	RUN(begins_no_more_at_once_than_it_may);
	RUN(deletes_before_it_creates_before_it_looks);
	RUN(looks_once_in_sixteen);
	RUN(begins_no_faster_than_it_may);
	RUN(says_when_it_may_go_on);
	RUN(a_slow_start_saves_nothing_up);
	RUN(leaves_alone_who_says_when_to_come_back);
	RUN(is_careful_with_who_was_too_busy);
	RUN(only_what_concerns_all_stops_all);
	RUN(who_has_no_room_can_be_asked_to_make_some);
	RUN(begins_nothing_while_it_is_paused);
	RUN(what_is_put_back_comes_first_and_what_is_removed_not_at_all);
	return test_done();
}

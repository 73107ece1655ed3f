/* test_looks - when and how machines were last seen: looks that somebody waits
 * for, and what is said of those that cannot be seen. */
#include <stdlib.h>

#include "herd.h"
#include "model/region.h"
#include "reconcile/live.h"
#include "test.h"

struct reader {
	struct live_call call; /* first */
	int answers;
	enum err_code code;
};

static void answered(struct live_call *c, const struct err *err,
		     const char *text, size_t len)
{
	struct reader *r = (struct reader *)c;

	(void)text;
	(void)len;
	r->answers++;
	r->code = err ? err->code : ERR_NONE;
}

static void ask(struct yard *y, const char *id, int64_t since, struct reader *r)
{
	*r = (struct reader){.call.done = answered};
	live_look(y->engine, id, since, &r->call);
}

static bool is_known(const struct yard *y, int n, int state)
{
	const struct instance *i = herd_at(y, n);

	return i->status.state == state && !i->status.stale_since;
}

static void a_look_is_written_down_as_any_other(void)
{
	const struct instance *i;
	struct reader r;
	struct yard y;
	int64_t asked;

	herd_open(&y, NULL, 2);
	CHECK(herd_drift(&y, 0, "fail"));
	asked = y.now;
	ask(&y, herd_id(0), asked, &r);
	yard_run(&y, SECOND);
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	i = herd_at(&y, 0);
	CHECK(i->status.state == INSTANCE_FAILED);
	CHECK(i->status.observed_at >= asked);
	CHECK(i->status.observed_by == OBSERVED_DESCRIBE);
	CHECK(yard_server(&y, herd_id(0))->status.observed_at ==
	      i->status.observed_at);
	yard_close(&y);
}

static void one_that_is_as_it_was_is_seen_later(void)
{
	struct reader r;
	struct yard y;
	int64_t before, asked;
	uint64_t calls;

	herd_open(&y, NULL, 1);
	before = herd_at(&y, 0)->status.observed_at;
	asked = y.now;
	calls = y.calls;
	ask(&y, herd_id(0), asked, &r);
	while (!r.answers && yard_step(&y))
		;
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	CHECK(y.calls == calls + 1);
	CHECK(before < asked && herd_at(&y, 0)->status.observed_at >= asked);
	CHECK(is_known(&y, 0, INSTANCE_RUNNING));
	CHECK(herd_at(&y, 0)->status.provisioning == PROVISIONING_PROVISIONED);
	/* What is known well enough is no reason to ask. */
	calls = y.calls;
	ask(&y, herd_id(0), asked, &r);
	while (!r.answers && yard_step(&y))
		;
	CHECK(r.answers == 1 && r.code == ERR_NONE && y.calls == calls);
	yard_close(&y);
}

static void a_hundred_readers_make_one_call(void)
{
	struct reader r[100], late;
	struct yard y;
	uint64_t calls;
	size_t answers = 0;

	herd_open(&y, NULL, 1);
	calls = y.calls;
	for (int n = 0; n < 100; n++)
		ask(&y, herd_id(0), y.now, &r[n]);
	while (!yard_calling(&y) && yard_step(&y))
		;
	CHECK(yard_calling(&y));
	for (int n = 0; n < 100; n++)
		answers += (size_t)r[n].answers;
	CHECK(answers == 0);
	/* One who comes while it is under way, and wants it later, has
	 * another. */
	y.now += 2;
	ask(&y, herd_id(0), y.now, &late);
	while (!late.answers && yard_step(&y))
		;
	for (int n = 0; n < 100; n++)
		answers += r[n].answers == 1 && r[n].code == ERR_NONE;
	CHECK(answers == 100);
	CHECK(late.answers == 1 && late.code == ERR_NONE);
	CHECK(y.calls == calls + 2);
	yard_close(&y);
}

/* Its readers learn that it could not be done; the instance is none the worse
 * for their asking. */
static void a_look_that_fails_changes_nothing(void)
{
	struct reader r;
	struct yard y;
	int64_t revision;

	herd_open(&y, NULL, 1);
	yard_options(&y, "{\"faults\":[{\"call\":\"describe\",\"action\":"
			 "\"fail\"}]}");
	yard_run(&y, 10 * SECOND);
	revision = herd_at(&y, 0)->meta.revision;
	ask(&y, herd_id(0), y.now, &r);
	yard_run(&y, 10 * SECOND);
	CHECK(yard_open_now(&y));
	CHECK(r.answers == 1 && r.code == ERR_UNAVAILABLE);
	CHECK(herd_at(&y, 0)->meta.revision == revision);
	CHECK(!herd_at(&y, 0)->status.reason.code);
	yard_close(&y);
}

static void one_that_is_gone_is_seen_to_be(void)
{
	struct reader r;
	struct yard y;

	herd_open(&y, NULL, 1);
	CHECK(herd_drift(&y, 0, "vanish"));
	ask(&y, herd_id(0), y.now, &r);
	yard_run(&y, SECOND);
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_TERMINATED);
	CHECK(yard_machines(&y) == 0);
	yard_close(&y);
}

static int pause(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	r.spec.paused = *(bool *)ctx;
	r.meta.generation++;
	r.meta.updated_at = tx_time(tx);
	return tx_put(tx, &region_kind, &r, err);
}

static void set_paused(struct yard *y, bool paused)
{
	yard_transact(y, pause, &paused);
}

static void where_nobody_may_call_nobody_looks(void)
{
	struct reader r;
	struct yard y;
	uint64_t calls;

	herd_open(&y, NULL, 1);
	set_paused(&y, true);
	calls = y.calls;
	ask(&y, herd_id(0), y.now, &r);
	CHECK(r.answers == 1 && r.code == ERR_UNAVAILABLE);
	ask(&y, YARD_NETWORK, y.now, &r);
	CHECK(r.answers == 1 && r.code == ERR_NOT_FOUND);
	yard_run(&y, SECOND);
	CHECK(y.calls == calls);
	yard_close(&y);
}

/* The cloud has made it, and does not show it yet: that it is not found says
 * nothing. */
static void one_that_is_not_shown_yet_is_not_gone(void)
{
	struct instance spec;
	struct reader r;
	struct yard y;
	const char *id;

	herd_open(&y, "{\"consistencyMs\":60000,\"launchMs\":0}", 0);
	spec = yard_spec(&y, "new");
	id = yard_create(&y, &spec);
	for (int n = 0; n < 100 && !yard_instance(&y, id)->status.provider_id;
	     n++)
		yard_run(&y, 100);
	yard_run(&y, SECOND);
	ask(&y, id, y.now, &r);
	yard_run(&y, SECOND);
	CHECK(r.answers == 1 && r.code == ERR_UNAVAILABLE);
	CHECK(yard_instance(&y, id)->status.state != INSTANCE_TERMINATED);
	yard_run(&y, 5 * MINUTE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	yard_close(&y);
}

static void where_the_region_is_not_reached_nobody_looks(void)
{
	struct reader r;
	struct yard y;

	herd_open(&y, NULL, 1);
	yard_options(&y, "{\"noSuchOption\":true}");
	yard_run(&y, 10 * SECOND);
	CHECK(!yard_open_now(&y));
	ask(&y, herd_id(0), y.now, &r);
	yard_run(&y, SECOND);
	CHECK(r.answers == 1 && r.code == ERR_UNAVAILABLE);
	yard_close(&y);
}

/* Who waits for one that goes learns that. */
static void one_that_is_deleted_meanwhile_is_answered(void)
{
	struct reader r;
	struct yard y;

	herd_open(&y, "{\"terminateMs\":0}", 1);
	yard_delete(&y, herd_id(0));
	ask(&y, herd_id(0), y.now + 10 * MINUTE, &r);
	yard_run(&y, 2 * MINUTE);
	CHECK(!herd_at(&y, 0));
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	yard_close(&y);
}

static void more_than_can_wait_are_refused(void)
{
	enum { MOST = 4096 };
	struct reader *r = calloc(MOST + 1, sizeof(*r));
	struct yard y;
	int refused = 0;

	herd_open(&y, NULL, 1);
	for (int n = 0; n <= MOST; n++)
		ask(&y, herd_id(0), y.now, &r[n]);
	for (int n = 0; n <= MOST; n++)
		refused += r[n].answers;
	CHECK(refused == 1 && r[MOST].code == ERR_UNAVAILABLE);
	/* A crash answers nobody. */
	yard_crash(&y);
	yard_run(&y, MINUTE);
	CHECK(r[0].answers == 0);
	yard_close(&y);
	free(r);
}

static void one_without_a_machine_is_what_is_written(void)
{
	struct reader r;
	struct instance i;
	struct yard y;
	const char *id;

	herd_open(&y,
		  "{\"faults\":[{\"call\":\"launch\",\"action\":"
		  "\"fail\"}]}",
		  0);
	i = yard_spec(&y, "none");
	id = yard_create(&y, &i);
	yard_run(&y, MINUTE);
	ask(&y, id, y.now, &r);
	yard_run(&y, SECOND);
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_PENDING);
	yard_close(&y);
}

static void how_it_was_seen_is_told(void)
{
	const struct instance *i;
	struct instance spec;
	const char *id;
	struct yard y;

	herd_open(&y, "{\"launchMs\":30000}", 1);
	spec = yard_spec(&y, "new");
	id = yard_create(&y, &spec);
	yard_run(&y, SECOND);
	i = yard_instance(&y, id);
	CHECK(i->status.provider_id &&
	      i->status.observed_by == OBSERVED_LAUNCH);
	yard_run(&y, MINUTE);
	CHECK(yard_instance(&y, id)->status.observed_by == OBSERVED_DESCRIBE);
	CHECK(herd_drift(&y, 0, "fail"));
	yard_run(&y, 61 * SECOND);
	CHECK(herd_at(&y, 0)->status.observed_by == OBSERVED_LIST);
	yard_close(&y);
}

#define HIDDEN "{\"partialListRate\":1000,\"pageSize\":2}"
#define SHOWN  "{\"pageSize\":2}"

static void what_cannot_be_seen_is_unknown_and_comes_back(void)
{
	enum { MANY = 300 };
	struct yard y;
	int64_t last;
	uint64_t calls;
	int bad = 0;

	herd_open(&y, SHOWN, MANY);
	last = yard_region(&y)->status.monitor.observed_at;
	yard_options(&y, HIDDEN);
	yard_run(&y, 4 * MINUTE);
	CHECK(is_known(&y, 0, INSTANCE_RUNNING));
	yard_run(&y, 4 * MINUTE);
	calls = y.calls;
	yard_run(&y, 10 * MINUTE);
	CHECK(y.calls < calls + 100); /* nobody looks at them one by one */
	for (int n = 0; n < MANY; n++) {
		const struct instance *i = herd_at(&y, n);
		const struct server *s = yard_server(&y, herd_id(n));

		bad += i->status.state != INSTANCE_UNKNOWN ||
		       i->status.health != HEALTH_UNKNOWN ||
		       !i->status.stale_since || i->status.observed_at < last ||
		       i->status.observed_at >= i->status.stale_since ||
		       s->status.state != INSTANCE_RUNNING;
	}
	CHECK(bad == 0);
	yard_crash(&y);
	yard_run(&y, MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_UNKNOWN);
	yard_options(&y, SHOWN);
	yard_run(&y, 3 * MINUTE);
	for (int n = 0; n < MANY; n++)
		bad += !is_known(&y, n, INSTANCE_RUNNING) ||
		       herd_at(&y, n)->status.observed_by != OBSERVED_LIST ||
		       herd_told(&y, n, "drifted");
	CHECK(bad == 0);
	yard_close(&y);
}

/* What comes of a look at one is known, whatever the lists do. */
static void one_that_is_looked_at_is_known(void)
{
	struct instance spec;
	struct reader r;
	struct yard y;
	const char *id;

	herd_open(&y, SHOWN, 3);
	yard_options(&y, HIDDEN);
	yard_run(&y, 10 * MINUTE);
	ask(&y, herd_id(0), y.now, &r);
	spec = yard_spec(&y, "new");
	id = yard_create(&y, &spec);
	yard_run(&y, 2 * MINUTE);
	CHECK(r.answers == 1 && r.code == ERR_NONE);
	CHECK(is_known(&y, 0, INSTANCE_RUNNING));
	CHECK(herd_at(&y, 1)->status.state == INSTANCE_UNKNOWN);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	/* For as long as that is not too long ago, either. */
	yard_run(&y, 5 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_UNKNOWN);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_UNKNOWN);
	yard_close(&y);
}

static void in_a_paused_region_nothing_is_known_for_long(void)
{
	struct yard y;

	herd_open(&y, NULL, 3);
	set_paused(&y, true);
	yard_run(&y, 10 * MINUTE);
	CHECK(yard_region(&y)->status.monitor.stale_since);
	CHECK(herd_at(&y, 2)->status.state == INSTANCE_UNKNOWN);
	set_paused(&y, false);
	yard_run(&y, 2 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	CHECK(is_known(&y, 2, INSTANCE_RUNNING));
	yard_close(&y);
}

static void what_was_never_listed_is_unknown_all_the_same(void)
{
	struct yard y;

	herd_open(&y, "{\"partialListRate\":1000,\"pageSize\":1}", 3);
	yard_run(&y, 10 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.observed_at);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_UNKNOWN);
	yard_close(&y);
}

/* Where lists cannot find machines nobody looks, so nothing gets stale. */
static void where_there_are_no_tags_nothing_gets_stale(void)
{
	struct yard y;

	herd_open(&y, "{\"tags\":false}", 2);
	yard_run(&y, 10 * MINUTE);
	set_paused(&y, true);
	yard_run(&y, 10 * MINUTE);
	yard_crash(&y);
	yard_run(&y, 20 * MINUTE);
	CHECK(!yard_region(&y)->status.monitor.stale_since);
	CHECK(is_known(&y, 0, INSTANCE_RUNNING));
	yard_close(&y);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

/* What is asked of an unknown one is done, and it can be deleted. */
static void an_unknown_one_can_be_worked_with(void)
{
	struct yard y;

	herd_open(&y, SHOWN, 3);
	yard_options(&y, HIDDEN);
	yard_run(&y, 10 * MINUTE);
	CHECK(herd_at(&y, 0)->status.state == INSTANCE_UNKNOWN);
	yard_change(&y, herd_id(0), off, 0);
	yard_delete(&y, herd_id(1));
	yard_run(&y, 2 * MINUTE);
	CHECK(is_known(&y, 0, INSTANCE_STOPPED));
	CHECK(!herd_at(&y, 1));
	CHECK(yard_machines(&y) == 2);
	yard_close(&y);
}

int main(void)
{
	RUN(a_look_is_written_down_as_any_other);
	RUN(one_that_is_as_it_was_is_seen_later);
	RUN(a_hundred_readers_make_one_call);
	RUN(a_look_that_fails_changes_nothing);
	RUN(one_that_is_gone_is_seen_to_be);
	RUN(where_nobody_may_call_nobody_looks);
	RUN(one_that_is_not_shown_yet_is_not_gone);
	RUN(where_the_region_is_not_reached_nobody_looks);
	RUN(one_that_is_deleted_meanwhile_is_answered);
	RUN(more_than_can_wait_are_refused);
	RUN(one_without_a_machine_is_what_is_written);
	RUN(how_it_was_seen_is_told);
	RUN(what_cannot_be_seen_is_unknown_and_comes_back);
	RUN(one_that_is_looked_at_is_known);
	RUN(in_a_paused_region_nothing_is_known_for_long);
	RUN(what_was_never_listed_is_unknown_all_the_same);
	RUN(where_there_are_no_tags_nothing_gets_stale);
	RUN(an_unknown_one_can_be_worked_with);
	return test_done();
}

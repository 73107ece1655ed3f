/*
 * test_machine_record - what is written down of each call's outcome, case by
 * case: also of what no cloud should answer.
 *
 * A row says how an instance and its server differ from one that runs, what
 * call was made and what came of it, and what the documents say then.
 */
#include <stdlib.h>

#include "model/flavor.h"
#include "model/image.h"
#include "model/quota.h"
#include "model/volume.h"
#include "reconcile/machine_record.h"
#include "test.h"
#include "yard.h"

#define OTHER_VOLUME "55555555-5555-4555-8555-666666666666"
#define NO_SUCH      "99999999-9999-4999-8999-999999999999"

enum { MANY = 20, SAME_AS_BEFORE = -1 };

struct given {
	int phase, state, action, step;
	bool off, deleted, never_ran, no_id, expired, meanwhile;
	bool other_uid, other_server, other_try, closed;
	bool leapt;                                /* the clock, just now */
	bool fresh;                                /* it was written just now */
	int failures, volumes, offering, resizing; /* so many ms */
	const char *zone;
};

struct came {
	enum machine_do what;
	bool hard;
	enum err_code code;
	int retry, scope; /* plus one; 0: as the code says */
	int64_t after_ms;
	size_t found;
	int seen;     /* the state of those */
	bool early;   /* it was asked before a new machine can be seen */
	bool unbegun; /* it could not even be asked */
	const char *flavor, *native; /* native: of those found */
};

struct wanted {
	int phase, state; /* 0: as they were */
	bool spent, several, no_change;
	enum err_code code;
	int waits; /* SAME_AS_BEFORE: it is not looked at */
	int64_t retry_ms;
	size_t volumes;
	const char *told, *device, *native;
};

struct outcome {
	const char *name;
	struct given given;
	struct came came;
	struct wanted wanted;
};

/* What is being done to which instance. */
struct doing {
	const char *id;
	const struct outcome *row;
	struct instance i; /* as they were before the outcome */
	struct server s;
};

static struct server_volume disks[] = {{YARD_VOLUME, "vdb"},
				       {OTHER_VOLUME, "vdc"}};

static void set_server(struct server *s, const struct given *g, int64_t now)
{
	if (g->phase)
		s->status.phase = g->phase;
	if (g->state)
		s->status.state = g->state;
	if (g->no_id || g->phase == SERVER_INTENDED) {
		s->status.provider_id = NULL;
		s->status.answered_at = 0;
	}
	if (g->fresh)
		s->meta.updated_at = now;
	if (g->state == INSTANCE_STOPPING)
		s->status.deadline = now + (g->expired ? -1 : 1000);
	if (g->zone)
		s->asked.zone = g->zone;
	s->attempt.offering = g->offering;
	s->status.volumes = (struct items){disks, (size_t)g->volumes};
	s->status.reason.failures = g->failures;
	if (g->failures) {
		s->status.reason.code = err_name(ERR_UNAVAILABLE);
		s->status.reason.message = "because";
	}
}

static int set(struct tx *tx, void *ctx, struct err *err)
{
	struct doing *d = ctx;
	const struct given *g = &d->row->given;
	struct instance i =
		*(const struct instance *)tx_get(tx, &instance_kind, d->id);
	struct server s = *(const struct server *)tx_get(tx, &server_kind,
							 i.status.server_id);

	set_server(&s, g, tx_time(tx));
	i.status.change = (struct change){.action = g->action,
					  .step = g->step     ? g->step
						  : g->action ? CHANGE_WAITING
							      : 0};
	if (g->resizing) {
		i.spec.flavor_id = yard_id(&flavor_kind, "sim.medium");
		i.status.change.since = tx_time(tx) - g->resizing;
	}
	i.spec.power = g->off ? POWER_OFF : POWER_ON;
	i.meta.deleted_at = g->deleted ? tx_time(tx) : 0;
	if (g->deleted)
		i.status.state = INSTANCE_TERMINATING;
	if (g->never_ran)
		i.status.launched_at = 0;
	if (g->phase == SERVER_INTENDED || g->phase == SERVER_LEAVING)
		i.status.state =
			g->deleted ? INSTANCE_TERMINATING : INSTANCE_PENDING;
	else if (g->state && !g->deleted)
		i.status.state = g->state;
	if (tx_put(tx, &server_kind, &s, err) < 0)
		return -1;
	return tx_put(tx, &instance_kind, &i, err);
}

static void make_call(const struct doing *d, const struct came *came,
		      int64_t now, struct machine_call *c)
{
	static char ids[MANY][8];

	c->what = came->what;
	c->hard = came->hard;
	c->uid = d->row->given.other_uid ? NO_SUCH : d->i.uid;
	c->server = d->row->given.other_server ? NO_SUCH : d->s.meta.id;
	c->attempt = d->s.attempt.number + d->row->given.other_try;
	c->generation = d->i.meta.generation - d->row->given.meanwhile;
	c->flavor_id = came->flavor ? came->flavor : d->s.asked.flavor_id;
	c->image_id = d->s.asked.image_id;
	c->volume_id = YARD_VOLUME;
	c->call.began = came->early ? d->s.status.answered_at : now;
	if (came->unbegun)
		c->call.began = 0;
	c->n_found = came->found;
	for (size_t n = 0; n < MANY; n++)
		snprintf(ids[n], sizeof(ids[n]), "m-%zu", n);
	for (size_t n = 0; n < came->found && n < MACHINE_FOUND_MOST; n++)
		c->found[n] = (struct machine){.id = ids[n],
					       .state = came->seen,
					       .native_state = "?",
					       .flavor = came->native};
	if (!came->code)
		return;
	err_set(&c->call.err, came->code, "so it says");
	if (came->retry)
		c->call.err.retry = (enum err_retry)(came->retry - 1);
	if (came->scope)
		c->call.err.scope = (enum err_scope)(came->scope - 1);
	c->call.err.retry_after_ms = came->after_ms;
}

static void record(struct yard *y, const struct doing *d,
		   const struct machine_call *c)
{
	static const struct provider_facts facts = {.launch_tokens = true,
						    .tags = true,
						    .consistency_ms = 5000,
						    .launch_ms = 60000,
						    .stop_ms = 30000,
						    .start_ms = 30000,
						    .poll_ms = 1000};
	struct machine_record r = {
		.instance = d->id,
		.known = {.facts = d->row->given.closed ? NULL : &facts,
			  .can = ~0u,
			  .started = y->now,
			  .even = d->row->given.leapt ? y->now : 0},
		.random = &y->random.base,
		.call = c,
	};

	yard_transact(y, machine_record, &r);
}

static bool is_as_wanted(const struct yard *y, const struct doing *d)
{
	const struct wanted *w = &d->row->wanted;
	const struct server *s = yard_server(y, d->id);
	const struct reason *r = &s->status.reason;
	const struct server_volume *v = s->status.volumes.at;
	const char *code = w->code ? err_name(w->code) : "";

	return s->status.phase == (w->phase ? w->phase : d->s.status.phase) &&
	       s->status.state == (w->state ? w->state : d->s.status.state) &&
	       s->attempt.spent == w->spent &&
	       s->status.several == w->several &&
	       s->status.volumes.n == w->volumes &&
	       (!w->device || strcmp(v[0].device, w->device) == 0) &&
	       strcmp(r->code ? r->code : "", code) == 0 &&
	       (w->waits == SAME_AS_BEFORE || r->waits_for == w->waits) &&
	       (!w->retry_ms || r->retry_at == y->now + w->retry_ms) &&
	       (!w->no_change ||
		!yard_instance(y, d->id)->status.change.action) &&
	       (!w->native || strcmp(s->asked.flavor_id,
				     yard_id(&flavor_kind, w->native)) == 0) &&
	       (!w->told || yard_told(y, d->id, w->told));
}

static int put_volume(struct tx *tx, void *ctx, struct err *err)
{
	struct volume v =
		*(const struct volume *)tx_get(tx, &volume_kind, YARD_VOLUME);

	(void)ctx;
	v.meta.id = OTHER_VOLUME;
	v.meta.name = "other";
	return tx_put(tx, &volume_kind, &v, err);
}

static void begin(struct yard *y, struct doing *d, const struct outcome *row)
{
	struct instance i;

	yard_open(y, NULL);
	yard_transact(y, put_volume, NULL);
	i = yard_spec(y, "web-1");
	d->row = row;
	d->id = yard_create(y, &i);
	yard_run(y, 60000);
	yard_transact(y, set, d);
	d->i = *yard_instance(y, d->id);
	d->s = *yard_server(y, d->id);
}

static bool holds(const struct outcome *row)
{
	struct machine_call *c = calloc(1, sizeof(*c));
	struct doing d;
	struct yard y;
	bool ok;

	begin(&y, &d, row);
	make_call(&d, &row->came, y.now, c);
	record(&y, &d, c);
	ok = is_as_wanted(&y, &d);
	if (!ok) {
		const struct server *s = yard_server(&y, d.id);

		printf("# %s: phase %d, state %d, %s, waits %d, in %lld ms, "
		       "%zu volumes%s%s\n",
		       row->name, s->status.phase, s->status.state,
		       s->status.reason.code ? s->status.reason.code : "ok",
		       s->status.reason.waits_for,
		       (long long)(s->status.reason.retry_at - y.now),
		       s->status.volumes.n, s->attempt.spent ? ", spent" : "",
		       s->status.several ? ", several" : "");
	}
	yard_close(&y);
	free(c);
	return ok;
}

#define INTENDED                                                               \
	.phase = SERVER_INTENDED, .state = INSTANCE_PENDING, .never_ran = true
#define LEAVING  .phase = SERVER_LEAVING
#define MEDIUM   .native = "sim.medium"
#define FAILS(c) .code = ERR_##c
#define RETRY(r) .retry = (ERR_RETRY_##r + 1)
#define SCOPE(s) .scope = (ERR_SCOPE_##s + 1)

static const struct outcome looks[] = {
	{"what was asked to stop may run for a while",
	 {.state = INSTANCE_STOPPING, .off = true},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_RUNNING},
	 {0}},
	{"unless it is wanted on again: then it is not cut off",
	 {.state = INSTANCE_STOPPING},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_RUNNING},
	 {.state = INSTANCE_RUNNING, .told = "running"}},
	{"but not for ever",
	 {.state = INSTANCE_STOPPING, .off = true, .expired = true},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_RUNNING},
	 {.state = INSTANCE_RUNNING, .told = "running"}},
	{"what is going does not run again",
	 {.state = INSTANCE_TERMINATING},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_RUNNING},
	 {0}},
	{"one that is not found when the clock has just leapt may be new",
	 {.leapt = true},
	 {MACHINE_DESCRIBE, FAILS(NOT_FOUND)},
	 {0}},
	{"what was just made may not be seen yet",
	 {.state = INSTANCE_PENDING},
	 {MACHINE_DESCRIBE, FAILS(NOT_FOUND), .early = true},
	 {0}},
	{"nor is one gone when nobody knows how long that takes",
	 {.state = INSTANCE_PENDING, .closed = true},
	 {MACHINE_DESCRIBE, FAILS(NOT_FOUND)},
	 {0}},
	{"what was asked to start may be off for a while",
	 {.state = INSTANCE_PENDING, .fresh = true},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_STOPPED},
	 {0}},
	{"but not for ever",
	 {.state = INSTANCE_PENDING},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_STOPPED},
	 {.state = INSTANCE_STOPPED, .told = "stopped"}},
	{"one that was started and is off, then, is off",
	 {.state = INSTANCE_PENDING, .closed = true},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_STOPPED},
	 {.state = INSTANCE_STOPPED, .told = "stopped"}},
	{"one that is gone while a change was under way",
	 {.action = CHANGE_RESIZE, .step = CHANGE_STOPPING},
	 {MACHINE_DESCRIBE, FAILS(NOT_FOUND)},
	 {.phase = SERVER_GONE,
	  .state = INSTANCE_TERMINATED,
	  .code = ERR_NOT_FOUND,
	  .waits = WAITS_CHANGE,
	  .no_change = true,
	  .told = "changeDropped"}},
	{"several are nobody's to choose from",
	 {LEAVING, .no_id = true},
	 {MACHINE_FIND, .found = 2, .seen = INSTANCE_RUNNING},
	 {.several = true,
	  .code = ERR_INTERNAL,
	  .waits = WAITS_OPERATOR,
	  .told = "consistency"}},
	{"however many there are",
	 {LEAVING, .no_id = true},
	 {MACHINE_FIND, .found = MANY, .seen = INSTANCE_RUNNING},
	 {.several = true, .code = ERR_INTERNAL, .waits = WAITS_OPERATOR}},
	{"but a deletion takes one after the other",
	 {LEAVING, .no_id = true, .deleted = true},
	 {MACHINE_FIND, .found = 2, .seen = INSTANCE_RUNNING},
	 {.several = true, .state = INSTANCE_RUNNING, .told = "consistency"}},
	{"what an address came to is not known when a look fails",
	 {0},
	 {MACHINE_ACCESS},
	 {0}},
};

static const struct outcome removals[] = {
	{"what was found to be gone during a call stays so",
	 {.phase = SERVER_GONE, .state = INSTANCE_TERMINATED, .off = true},
	 {MACHINE_STOP, FAILS(TIMEOUT)},
	 {.code = ERR_NOT_FOUND, .waits = WAITS_CHANGE, .told = "parked"}},
	{"what cannot be found is gone, or nearly",
	 {LEAVING, .deleted = true},
	 {MACHINE_TERMINATE, FAILS(NOT_FOUND)},
	 {.state = INSTANCE_TERMINATING}},
	{"a volume that it does not have is let go",
	 {.volumes = 1},
	 {MACHINE_DETACH, FAILS(NOT_FOUND)},
	 {0}},
	{"and no other",
	 {.volumes = 2},
	 {MACHINE_DETACH},
	 {.volumes = 1, .device = "vdc"}},
	{"a volume is somewhere, whatever that is called",
	 {.volumes = 2},
	 {MACHINE_ATTACH},
	 {.volumes = 2, .device = "unknown"}},
	{"one that another has is waited for",
	 {.volumes = 1},
	 {MACHINE_ATTACH, FAILS(CONFLICT)},
	 {.volumes = 1, .code = ERR_CONFLICT, .waits = WAITS_TIME}},
	{"what is going is not stopped by that",
	 {.state = INSTANCE_TERMINATING},
	 {MACHINE_STOP},
	 {0}},
	{"nor what was seen to be off before the answer came",
	 {.state = INSTANCE_STOPPED, .off = true},
	 {MACHINE_STOP},
	 {.state = INSTANCE_STOPPED}},
	{"a failure is counted while it is going",
	 {LEAVING, .failures = 3},
	 {MACHINE_TERMINATE, FAILS(FORBIDDEN)},
	 {.code = ERR_FORBIDDEN, .waits = WAITS_TIME}},
};

static const struct outcome changes[] = {
	{"a size that is seen is written down",
	 {.state = INSTANCE_STOPPED, .action = CHANGE_RESIZE, .resizing = 5000},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_STOPPED, MEDIUM},
	 {MEDIUM}},
	{"but not if it may be one that it had before",
	 {.state = INSTANCE_STOPPED, .action = CHANGE_RESIZE, .resizing = 4999},
	 {MACHINE_DESCRIBE, .found = 1, .seen = INSTANCE_STOPPED, MEDIUM},
	 {.native = "sim.small"}},
	{"a stop whose answer is lost may have been done",
	 {.state = INSTANCE_RUNNING, .off = true},
	 {MACHINE_STOP, FAILS(TIMEOUT)},
	 {.state = INSTANCE_UNKNOWN, .code = ERR_TIMEOUT, .waits = WAITS_TIME}},
	{"what the region will not do is not asked for again",
	 {.state = INSTANCE_STOPPED,
	  .action = CHANGE_RESIZE,
	  .step = CHANGE_STOPPING},
	 {MACHINE_RESIZE, FAILS(INVALID)},
	 {.code = ERR_INVALID,
	  .waits = WAITS_CHANGE,
	  .no_change = true,
	  .told = "changeDropped"}},
	{"what turns out to be otherwise is looked at",
	 {.state = INSTANCE_STOPPED,
	  .action = CHANGE_RESIZE,
	  .step = CHANGE_STOPPING},
	 {MACHINE_RESIZE, FAILS(CONFLICT)},
	 {.state = INSTANCE_UNKNOWN,
	  .code = ERR_CONFLICT,
	  .waits = WAITS_TIME}},
	{"but not again and again",
	 {.state = INSTANCE_STOPPED,
	  .action = CHANGE_RESIZE,
	  .step = CHANGE_STOPPING,
	  .failures = 5},
	 {MACHINE_RESIZE, FAILS(CONFLICT)},
	 {.state = INSTANCE_UNKNOWN,
	  .code = ERR_CONFLICT,
	  .waits = WAITS_TIME,
	  .no_change = true,
	  .told = "changeDropped"}},
	{"there may be room elsewhere, and later here",
	 {.state = INSTANCE_STOPPED,
	  .action = CHANGE_RESIZE,
	  .step = CHANGE_STOPPING},
	 {MACHINE_RESIZE, FAILS(PROVIDER), RETRY(ELSEWHERE)},
	 {.code = ERR_PROVIDER, .waits = WAITS_TIME}},
	{"what could not even be asked for is refused",
	 {0},
	 {MACHINE_TAG, FAILS(INVALID), .unbegun = true},
	 {.code = ERR_INVALID, .waits = WAITS_CHANGE, .told = "parked"}},
	{"a setting that is refused waits for its owner",
	 {0},
	 {MACHINE_TAG, FAILS(INVALID)},
	 {.code = ERR_INVALID, .waits = WAITS_CHANGE, .told = "parked"}},
	{"or for an operator",
	 {0},
	 {MACHINE_TAG, FAILS(FORBIDDEN), SCOPE(ACCOUNT), RETRY(NEVER)},
	 {.code = ERR_FORBIDDEN, .waits = WAITS_OPERATOR, .told = "parked"}},
	{"a size that came without a change",
	 {0},
	 {MACHINE_RESIZE},
	 {.told = "changeStep"}},
	{"power that is taken during a change",
	 {.state = INSTANCE_STOPPING,
	  .action = CHANGE_RESIZE,
	  .step = CHANGE_STOPPING},
	 {MACHINE_STOP, .hard = true},
	 {.code = ERR_TIMEOUT, .waits = SAME_AS_BEFORE}},
	{"another root disk, when nobody knows how long that takes",
	 {.action = CHANGE_REBUILD, .closed = true},
	 {MACHINE_REBUILD},
	 {.state = INSTANCE_PENDING, .told = "changeStep"}},
};

static const struct outcome refusals[] = {
	{"it is not known what came of it: our fault",
	 {INTENDED},
	 {MACHINE_LAUNCH, FAILS(INTERNAL)},
	 {.code = ERR_INTERNAL, .waits = WAITS_TIME, .told = "retrying"}},
	{"or that they were busy",
	 {INTENDED},
	 {MACHINE_LAUNCH, FAILS(RATE)},
	 {.code = ERR_RATE, .waits = WAITS_TIME}},
	{"or that it may pass",
	 {INTENDED},
	 {MACHINE_LAUNCH, FAILS(PROVIDER), RETRY(LATER)},
	 {.code = ERR_PROVIDER, .waits = WAITS_TIME}},
	{"what may be had elsewhere is sold out here",
	 {INTENDED},
	 {MACHINE_LAUNCH, FAILS(PROVIDER), RETRY(ELSEWHERE), .after_ms = 9000},
	 {.spent = true,
	  .code = ERR_CAPACITY,
	  .waits = WAITS_TIME,
	  .retry_ms = 9000,
	  .told = "offeringRefused"}},
	{"so is what the whole region has not",
	 {INTENDED, .zone = "a"},
	 {MACHINE_LAUNCH, FAILS(CAPACITY), SCOPE(REGION)},
	 {.spent = true, .code = ERR_CAPACITY, .waits = WAITS_TIME}},
	{"an account that is full is asked again when it says",
	 {INTENDED},
	 {MACHINE_LAUNCH, FAILS(QUOTA), .after_ms = 3600000},
	 {.spent = true,
	  .code = ERR_QUOTA,
	  .waits = WAITS_TIME,
	  .retry_ms = 3600000}},
	{"and within a quarter of an hour or so otherwise",
	 {INTENDED, .failures = 30},
	 {MACHINE_LAUNCH, FAILS(QUOTA)},
	 {.spent = true,
	  .code = ERR_QUOTA,
	  .waits = WAITS_TIME,
	  .retry_ms = 16 * 60000}},
	{"what was changed since is not parked for it",
	 {INTENDED, .meanwhile = true},
	 {MACHINE_LAUNCH, FAILS(INVALID)},
	 {.waits = SAME_AS_BEFORE}},
	{"an offering that there is not",
	 {INTENDED, .offering = OFFERINGS_MOST},
	 {MACHINE_LAUNCH, FAILS(CAPACITY)},
	 {.spent = true, .code = ERR_CAPACITY, .waits = WAITS_TIME}},
	{"nothing is said of one that is to go",
	 {INTENDED, .deleted = true},
	 {MACHINE_LAUNCH, FAILS(TIMEOUT)},
	 {0}},
};

#define TABLE(fn, rows)                                                        \
	static void fn(void)                                                   \
	{                                                                      \
		for (size_t n = 0; n < COUNT_OF(rows); n++)                    \
			test_check(holds(&(rows)[n]), (rows)[n].name,          \
				   __FILE__, __LINE__);                        \
	}

TABLE(what_a_look_shows_is_believed_within_reason, looks)
TABLE(what_is_to_go_goes, removals)
TABLE(a_change_that_cannot_be_is_not_tried_for_ever, changes)
TABLE(a_refusal_is_remembered_where_it_helps, refusals)

/* The answer to a call that was made for what is there no more. */
static void an_answer_that_is_of_something_else_changes_nothing(void)
{
	static const struct outcome rows[] = {
		{"another life", {.other_uid = true}, {MACHINE_TERMINATE}, {0}},
		{"another server",
		 {.other_server = true},
		 {MACHINE_TERMINATE},
		 {0}},
		{"another try", {.other_try = true}, {MACHINE_TERMINATE}, {0}},
	};

	for (size_t n = 0; n < COUNT_OF(rows); n++) {
		struct machine_call *c = calloc(1, sizeof(*c));
		struct doing d;
		struct yard y;
		uint64_t revision;

		begin(&y, &d, &rows[n]);
		revision = store_revision(y.store);
		make_call(&d, &rows[n].came, y.now, c);
		record(&y, &d, c);
		CHECK(store_revision(y.store) == revision);
		CHECK(yard_server(&y, d.id)->status.phase == SERVER_LAUNCHED);
		d.id = NO_SUCH;
		record(&y, &d, c);
		CHECK(store_revision(y.store) == revision);
		yard_close(&y);
		free(c);
	}
}

/* What cannot be written is not written by halves. */
static int record_refused(struct tx *tx, void *ctx, struct err *err)
{
	struct err ours;
	struct record was;
	struct machine_record *r = ctx;

	(void)err;
	CHECK(machine_record(tx, r, &ours) < 0);
	CHECK(ours.code == ERR_INVALID);
	CHECK(tx_before(tx, &instance_kind, r->instance, &was) &&
	      was.object == tx_get(tx, &instance_kind, r->instance));
	return 0;
}

static void what_cannot_be_written_is_refused_as_a_whole(void)
{
	static const struct outcome row = {"no such flavor",
					   {0},
					   {MACHINE_RESIZE, .flavor = NO_SUCH},
					   {0}};
	struct machine_call *c = calloc(1, sizeof(*c));
	struct machine_record r = {.call = c};
	struct doing d;
	struct yard y;

	begin(&y, &d, &row);
	make_call(&d, &row.came, y.now, c);
	r.instance = d.id;
	r.random = &y.random.base;
	yard_transact(&y, record_refused, &r);
	yard_close(&y);
	free(c);
}

/* Each thing that a look may show is news by itself. */
static void a_look_shows_something_new_or_it_does_not(void)
{
	static const struct machine as_was = {.id = "m",
					      .state = INSTANCE_RUNNING,
					      .native_state = "up",
					      .flavor = "f",
					      .zone = "a",
					      .private_ip = "10.0.0.1",
					      .private_ip6 = "fd00::1",
					      .public_ip = "192.0.2.1",
					      .mac = "02:00:00:00:00:01"};
	static const struct provider_facts facts = {.poll_ms = 1000};
	struct machine_call *c = calloc(1, sizeof(*c));
	struct machine *m = &c->found[0];
	const char **const texts[] = {
		&m->native_state, &m->flavor,    &m->zone, &m->private_ip,
		&m->private_ip6,  &m->public_ip, &m->mac};
	struct instance i = {.status.launched_at = 1};
	struct server s = {.status = {.phase = SERVER_LAUNCHED,
				      .state = INSTANCE_RUNNING,
				      .native_state = "up",
				      .native_flavor = "f",
				      .zone = "a",
				      .private_ip = "10.0.0.1",
				      .private_ip6 = "fd00::1",
				      .public_ip = "192.0.2.1",
				      .mac = "02:00:00:00:00:01"}};
	struct machine_view v = {
		.i = &i, .s = &s, .facts = &facts, .now = 1000000};

	c->what = MACHINE_DESCRIBE;
	c->n_found = 1;
	*m = as_was;
	CHECK(machine_unchanged(&v, c));
	for (size_t n = 0; n < COUNT_OF(texts); n++) {
		*texts[n] = "other";
		CHECK(!machine_unchanged(&v, c));
		*m = as_was;
	}
	/* Not every provider says which flavor it is, and not always. */
	m->flavor = NULL;
	CHECK(machine_unchanged(&v, c));
	*m = as_was;
	s.status.native_flavor = NULL;
	CHECK(machine_unchanged(&v, c));
	m->public_ip = NULL;
	CHECK(!machine_unchanged(&v, c));
	free(c);
}

static int64_t last_seen;

static int go_stale(struct tx *tx, void *ctx, struct err *err)
{
	const struct doing *d = ctx;

	return machine_write_stale(tx, d->id, last_seen, err);
}

static int touch(struct tx *tx, void *ctx, struct err *err)
{
	const struct doing *d = ctx;
	struct instance i =
		*(const struct instance *)tx_get(tx, &instance_kind, d->id);

	return tx_put(tx, &instance_kind, &i, err);
}

/* Only of a machine that is there, and once. */
static void nothing_is_stale_but_what_is_there(void)
{
	static const struct {
		struct outcome row;
		bool none, stale;
	} cases[] = {
		{{"one that runs"}, .stale = true},
		{{"one that is not there"}, .none = true},
		{{"one that is to go", {.deleted = true}}},
		{{"one that is leaving", {LEAVING}}},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		const struct server *s;
		struct doing d;
		struct yard y;
		int64_t since;
		const char *id;

		begin(&y, &d, &cases[n].row);
		id = d.id;
		d.id = cases[n].none ? NO_SUCH : id;
		last_seen = n % 2 ? 0 : y.now + 1;
		yard_transact(&y, go_stale, &d);
		s = yard_server(&y, id);
		since = s->status.stale_since;
		test_check((since != 0) == cases[n].stale, cases[n].row.name,
			   __FILE__, __LINE__);
		CHECK(!since || s->status.observed_at == last_seen);
		y.now += 1000;
		yard_transact(&y, go_stale, &d);
		CHECK(yard_server(&y, id)->status.stale_since == since);
		yard_close(&y);
	}
}

/* What somebody has touched since it was parked is still newer than that. */
static void going_stale_does_not_undo_a_touch(void)
{
	static const struct outcome row = {"parked", {.failures = 1}};
	struct doing d;
	struct yard y;

	begin(&y, &d, &row);
	yard_transact(&y, touch, &d);
	CHECK(yard_instance(&y, d.id)->meta.revision >
	      yard_server(&y, d.id)->meta.revision);
	yard_transact(&y, go_stale, &d);
	CHECK(yard_instance(&y, d.id)->status.stale_since);
	CHECK(yard_instance(&y, d.id)->meta.revision >
	      yard_server(&y, d.id)->meta.revision);
	yard_close(&y);
}

static struct shortage shortages[80];

static int be_short(struct tx *tx, void *ctx, struct err *err)
{
	struct flavor f = *(const struct flavor *)tx_get(
		tx, &flavor_kind, yard_id(&flavor_kind, "sim.small"));

	f.shortages = (struct items){shortages, *(size_t *)ctx};
	return tx_put(tx, &flavor_kind, &f, err);
}

static const struct flavor *small(struct yard *y)
{
	static struct record r;

	store_get(y->store, 0, &flavor_kind, yard_id(&flavor_kind, "sim.small"),
		  &r);
	return r.object;
}

/* One of each place, those that still hold, and not without end. */
static void shortages_are_kept_while_they_hold(void)
{
	static const struct outcome row = {
		"sold out",
		{INTENDED, .zone = "a"},
		{MACHINE_LAUNCH, FAILS(CAPACITY), SCOPE(ZONE)},
		{0}};
	static char zones[80][8];
	struct machine_call *c = calloc(1, sizeof(*c));
	const struct shortage *s;
	struct doing d;
	struct yard y;
	size_t n = 5;

	begin(&y, &d, &row);
	for (size_t i = 0; i < COUNT_OF(shortages); i++) {
		snprintf(zones[i], sizeof(zones[i]), "z%zu", i);
		shortages[i] = (struct shortage){.zone = zones[i],
						 .market = MARKET_ON_DEMAND,
						 .until = y.now + 60000};
	}
	shortages[0].market = MARKET_SPOT;
	shortages[0].zone = "a";
	shortages[1].until = y.now - 1;
	shortages[2].zone = NULL;
	shortages[2].market = MARKET_SPOT;
	yard_transact(&y, be_short, &n);
	make_call(&d, &row.came, y.now, c);
	record(&y, &d, c);
	s = small(&y)->shortages.at;
	CHECK(small(&y)->shortages.n == 5);
	CHECK_STR(s[0].zone, "a");
	CHECK(s[0].until == y.now + 5 * 60000);
	CHECK(s[1].market == MARKET_SPOT && strcmp(s[1].zone, "a") == 0);
	CHECK(s[2].market == MARKET_SPOT && !s[2].zone);
	CHECK_STR(s[3].zone, "z3");
	n = COUNT_OF(shortages);
	yard_transact(&y, be_short, &n);
	yard_transact(&y, set, &d);
	d.s = *yard_server(&y, d.id); /* another try */
	make_call(&d, &row.came, y.now, c);
	record(&y, &d, c);
	CHECK(small(&y)->shortages.n == 64);
	yard_close(&y);
	free(c);
}

int main(void)
{
	RUN(what_a_look_shows_is_believed_within_reason);
	RUN(what_is_to_go_goes);
	RUN(a_change_that_cannot_be_is_not_tried_for_ever);
	RUN(a_refusal_is_remembered_where_it_helps);
	RUN(an_answer_that_is_of_something_else_changes_nothing);
	RUN(what_cannot_be_written_is_refused_as_a_whole);
	RUN(shortages_are_kept_while_they_hold);
	RUN(a_look_shows_something_new_or_it_does_not);
	RUN(nothing_is_stale_but_what_is_there);
	RUN(going_stale_does_not_undo_a_touch);
	return test_done();
}

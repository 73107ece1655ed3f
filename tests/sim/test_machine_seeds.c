/*
 * test_machine_seeds - instances on a cloud that fails, under a process that
 * dies, by chance; afterwards there is one machine each, and none besides.
 *
 * SEED=n runs one again (DEBUG=1 tells each step), SEEDS=n as many as that.
 */
#include <stdlib.h>

#include "base/log.h"
#include "model/image.h"
#include "model/quota.h"
#include "model/volume.h"
#include "reconcile/engine_priv.h"
#include "test.h"
#include "yard.h"

#define MINUTE 60000

enum { NAMES = 5, ACTS = 120 };

struct chance {
	struct yard y;
	struct random_seeded random;
	const char *healthy; /* how the cloud is in the end */
	uint64_t seed;
	bool drifted; /* machines are not what they were left as */
};

static const struct {
	const char *sick, *healthy;
} clouds[] = {
	{"{\"failureRate\":100,\"lostAnswerRate\":100}", "{}"},
	{"{\"launchTokens\":false,\"consistencyMs\":3000,\"failureRate\":50,"
	 "\"lostAnswerRate\":150}",
	 "{\"launchTokens\":false,\"consistencyMs\":3000}"},
	{"{\"launchTokens\":false,\"tags\":false,\"lostAnswerRate\":200}",
	 "{\"launchTokens\":false,\"tags\":false}"},
	{"{\"launchMs\":4000,\"stopMs\":2000,\"startMs\":2000,"
	 "\"terminateMs\":3000,\"consistencyMs\":5000,\"jitterPercent\":100,"
	 "\"lostAnswerRate\":50,\"bootFailureRate\":200}",
	 "{\"launchMs\":1000,\"consistencyMs\":5000}"},
	{"{\"stuckRate\":100,\"launchLimitMs\":20000,\"bootFailureRate\":100,"
	 "\"capacity\":[{\"flavor\":\"sim.small\",\"count\":2}]}",
	 "{\"launchLimitMs\":20000}"},
	{"{\"callsPerSecond\":20,\"burst\":5,\"tellsLimit\":false,"
	 "\"lostAnswerRate\":100,\"keepsAddresses\":false}",
	 "{}"},
};

static uint64_t below(struct chance *c, uint64_t n)
{
	return random_below(&c->random.base, n);
}

/* One thing that could happen next happens; time passes when nothing can. */
static void happen(struct chance *c)
{
	struct yard *y = &c->y;

	if (memory_pending(y->backend) && below(c, 3)) {
		memory_answer(y->backend,
			      below(c, 40) ? MEMORY_WRITTEN : MEMORY_REFUSED);
	} else if (yard_calling(y) && below(c, 3)) {
		yard_call(y, true);
	} else if (!yard_step(y) && y->wake != QUEUE_NEVER) {
		int64_t most = y->now + 2000;

		y->now = (int64_t)y->wake < most ? (int64_t)y->wake : most;
	}
}

static void crash(struct chance *c)
{
	struct yard *y = &c->y;

	while (yard_calling(y) && below(c, 2))
		yard_call(y, below(c, 2));
	if (memory_pending(y->backend) && below(c, 2))
		memory_write_silently(y->backend);
	yard_crash(y);
}

static void off(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

static void on(struct instance *i)
{
	i->spec.power = POWER_ON;
}

static void toggle_paused(struct instance *i)
{
	i->spec.paused = !i->spec.paused;
}

static void other_flavor(struct instance *i)
{
	const char *small = yard_id(&flavor_kind, "sim.small");

	i->spec.flavor_id = strcmp(i->spec.flavor_id, small) == 0
				    ? yard_id(&flavor_kind, "sim.medium")
				    : small;
}

static void other_image(struct instance *i)
{
	const char *debian = yard_id(&image_kind, "debian-12");

	i->spec.image_id = strcmp(i->spec.image_id, debian) == 0
				   ? yard_id(&image_kind, "ubuntu-24.04")
				   : debian;
}

static struct instance_volume disk = {.volume_id = YARD_VOLUME};

/* One of them has a volume, now and then. */
static void toggle_volume(struct instance *i)
{
	if (strcmp(i->meta.name, "web-0") == 0)
		i->spec.volumes = i->spec.volumes.n ? (struct items){0}
						    : (struct items){&disk, 1};
}

static const struct {
	void (*fn)(struct instance *i);
	int action;
} changes[] = {
	{off, 0},
	{on, 0},
	{toggle_paused, 0},
	{toggle_volume, 0},
	{NULL, CHANGE_REBOOT},
	{NULL, CHANGE_HARD_REBOOT},
	{other_flavor, CHANGE_RESIZE},
	{other_image, CHANGE_REBUILD},
	{other_image, CHANGE_REPLACE},
	{NULL, CHANGE_REPLACE},
};

static struct alternative choice;

static void create(struct chance *c, const char *name)
{
	struct instance i = yard_spec(&c->y, name);

	if (below(c, 2)) {
		choice.flavor_id = yard_id(&flavor_kind, "sim.medium");
		i.spec.alternatives = (struct items){&choice, 1};
	}
	yard_create(&c->y, &i);
}

/* Something happens to the machine of I without anybody asking. */
static void drift(struct chance *c, const struct instance *i)
{
	static const char *const what[] = {"kill", "vanish", "halt",
					   "boot", "fail",   "confuse"};

	if (yard_open_now(&c->y) && i->status.provider_id &&
	    yard_drift(&c->y, i->status.provider_id,
		       what[below(c, COUNT_OF(what))]))
		c->drifted = true;
}

static void act(struct chance *c)
{
	const struct instance *i;
	char name[16], id[37];
	size_t n;

	snprintf(name, sizeof(name), "web-%u", (unsigned)below(c, NAMES));
	instance_id(YARD_NETWORK, name, id);
	while (memory_pending(c->y.backend))
		memory_answer(c->y.backend, MEMORY_WRITTEN);
	i = yard_instance(&c->y, id);
	if (below(c, 8) == 0) {
		crash(c);
	} else if (!i) {
		create(c, name);
	} else if (i->meta.deleted_at) {
		return;
	} else if (below(c, 4) == 0) {
		yard_delete(&c->y, id);
	} else if (c->seed % 3 == 0 && below(c, 6) == 0) {
		drift(c, i);
	} else {
		n = below(c, COUNT_OF(changes));
		if (!changes[n].action || !i->status.change.action)
			yard_change(&c->y, id, changes[n].fn,
				    changes[n].action);
	}
}

static bool check(struct chance *c, bool ok, const char *what)
{
	if (!ok)
		printf("# seed %llu: %s\n", (unsigned long long)c->seed, what);
	return ok;
}

static bool holds_volume(struct chance *c)
{
	const struct instance *i;
	const struct volume *v;
	struct record r;
	char id[37];

	instance_id(YARD_NETWORK, "web-0", id);
	i = yard_instance(&c->y, id);
	store_get(c->y.store, 0, &volume_kind, YARD_VOLUME, &r);
	v = r.object;
	if (!i || !i->spec.volumes.n)
		return !v->status.instance_id;
	return v->status.instance_id && v->status.device &&
	       strcmp(v->status.instance_id, id) == 0;
}

/* All that is said to be so is so. */
static bool holds(struct chance *c)
{
	struct scan scan = store_scan(c->y.store, 0, &instance_kind, NULL);
	struct record r;
	size_t effort = 0, n = 0;
	bool ok = true;

	while (scan_next(&scan, &r, &effort)) {
		const struct instance *i = r.object;
		int wanted = i->spec.power == POWER_OFF ? INSTANCE_STOPPED
							: INSTANCE_RUNNING;

		n++;
		ok &= check(c, !i->meta.deleted_at, "a deletion is stuck");
		if (i->status.state != wanted ||
		    i->status.provisioning != PROVISIONING_PROVISIONED ||
		    i->status.change.action) {
			printf("# %s is %s, %s: %s\n", i->meta.name,
			       instance_state_names[i->status.state],
			       provisioning_names[i->status.provisioning],
			       i->status.reason.message
				       ? i->status.reason.message
				       : "");
			ok = check(c, false, "an instance is stuck");
		}
	}
	ok &= check(c, holds_volume(c), "a volume is not where it is wanted");
	ok &= check(c, yard_machines(&c->y) == n, "machines differ");
	ok &= check(c, yard_count(&c->y, &server_kind) == n, "servers differ");
	ok &= check(c, yard_count(&c->y, &allocation_kind) == n,
		    "allocations differ");
	return ok;
}

static void unpaused(struct instance *i)
{
	i->spec.paused = false;
}

/* Everybody who has something to do does it, on a cloud that is well. */
static void recover(struct chance *c, bool delete)
{
	char name[16], id[37];

	yard_options(&c->y, c->healthy);
	for (unsigned n = 0; n < NAMES; n++) {
		const struct instance *i;

		snprintf(name, sizeof(name), "web-%u", n);
		instance_id(YARD_NETWORK, name, id);
		i = yard_instance(&c->y, id);
		if (!i || i->meta.deleted_at)
			continue;
		if (delete)
			yard_delete(&c->y, id);
		else
			yard_change(&c->y, id, unpaused, 0);
	}
	yard_run(&c->y, 60 * MINUTE);
}

/* Nobody looks at machines that are at rest: have others in their place. */
static void replace(struct chance *c)
{
	char name[16], id[37];

	for (unsigned n = 0; n < NAMES; n++) {
		const struct instance *i;

		snprintf(name, sizeof(name), "web-%u", n);
		instance_id(YARD_NETWORK, name, id);
		i = yard_instance(&c->y, id);
		if (i && !i->meta.deleted_at && !i->status.change.action)
			yard_change(&c->y, id, NULL, CHANGE_REPLACE);
	}
	yard_run(&c->y, 60 * MINUTE);
}

static bool run(uint64_t seed)
{
	struct chance *c = calloc(1, sizeof(*c));
	size_t cloud = seed % COUNT_OF(clouds);
	bool ok;

	c->seed = seed;
	c->healthy = clouds[cloud].healthy;
	random_seed(&c->random, seed);
	yard_open(&c->y, c->healthy);
	yard_options(&c->y, clouds[cloud].sick);
	if (seed % 2)
		yard_observe(&c->y, 5 + (int64_t)(seed % 60));
	for (int n = 0; n < ACTS; n++) {
		act(c);
		for (uint64_t k = below(c, 30); k > 0; k--)
			happen(c);
	}
	recover(c, false);
	if (c->drifted)
		replace(c);
	ok = holds(c);
	recover(c, true);
	ok &= holds(c);
	ok &= check(c, yard_machines(&c->y) == 0, "something is left");
	yard_close(&c->y);
	free(c);
	return ok;
}

static void whatever_happens_there_is_one_machine_each(void)
{
	const char *one = getenv("SEED"), *many = getenv("SEEDS");
	uint64_t n = many ? strtoull(many, NULL, 10) : 150;

	log_setup(getenv("DEBUG") ? LOG_DEBUG : LOG_ERROR, false);
	if (one) {
		CHECK(run(strtoull(one, NULL, 10)));
		return;
	}
	for (uint64_t seed = 1; seed <= n; seed++)
		CHECK(run(seed));
}

int main(void)
{
	RUN(whatever_happens_there_is_one_machine_each);
	return test_done();
}

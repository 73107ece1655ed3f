#include "provider/call.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "provider/counts.h"
#include "provider/driver.h"
#include "provider/front.h"

/* Options and credentials of a region, and what they are decoded to. */
#define ARENA_MOST ((size_t)4 << 20)

struct front {
	struct arena arena;
	struct provider_conf conf;
	struct faults *faults; /* NULL: none */
	atomic_uint under_way;
	atomic_ullong calls[CALLS][ERR_CODE_COUNT];
	atomic_ullong ms[CALLS][ERR_CODE_COUNT];
};

enum { ALWAYS = CAPABILITIES }; /* what every driver has */

static const struct {
	const char *name;
	int needs; /* enum capability */
} calls[CALLS] = {
	[CALL_LAUNCH] = {"launch", ALWAYS},
	[CALL_DESCRIBE] = {"describe", ALWAYS},
	[CALL_TERMINATE] = {"terminate", ALWAYS},
	[CALL_LIST] = {"list", ALWAYS},
	[CALL_STOP] = {"stop", CAN_STOP},
	[CALL_START] = {"start", CAN_STOP},
	[CALL_REBOOT] = {"reboot", CAN_REBOOT},
	[CALL_RESIZE] = {"resize", CAN_RESIZE},
	[CALL_REBUILD] = {"rebuild", CAN_REBUILD},
	[CALL_GROW_ROOT_DISK] = {"growRootDisk", CAN_GROW_ROOT_DISK},
	[CALL_SET_TAGS] = {"setTags", CAN_TAG},
	[CALL_SET_ACCESS] = {"setAccess", CAN_ACCESS},
	[CALL_CONSOLE] = {"console", CAN_CONSOLE},
	[CALL_CONSOLE_OUTPUT] = {"consoleOutput", CAN_CONSOLE_OUTPUT},
	[CALL_CATALOGUE] = {"catalogue", ALWAYS},
	[CALL_IMPORT_IMAGE] = {"importImage", CAN_IMPORT},
	[CALL_SNAPSHOT] = {"snapshot", CAN_SNAPSHOT},
	[CALL_REMOVE_IMAGE] = {"removeImage", CAN_IMPORT},
	[CALL_ENSURE_NETWORK] = {"ensureNetwork", CAN_NETWORKS},
	[CALL_REMOVE_NETWORK] = {"removeNetwork", CAN_NETWORKS},
	[CALL_ENSURE_GROUP] = {"ensureGroup", CAN_SECURITY_GROUPS},
	[CALL_REMOVE_GROUP] = {"removeGroup", CAN_SECURITY_GROUPS},
	[CALL_ENSURE_VOLUME] = {"ensureVolume", CAN_VOLUMES},
	[CALL_REMOVE_VOLUME] = {"removeVolume", CAN_VOLUMES},
	[CALL_ATTACH] = {"attach", CAN_VOLUMES},
	[CALL_DETACH] = {"detach", CAN_VOLUMES},
	[CALL_LIST_THINGS] = {"listThings", CAN_LIST_THINGS},
};

static void sleep_here(void *ctx, uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	(void)ctx;
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static const char *copy(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

struct front *front_new(const struct provider_conf *conf)
{
	struct front *f = xcalloc(1, sizeof(*f));

	arena_init(&f->arena, ARENA_MOST);
	f->conf = *conf;
	f->conf.region = copy(&f->arena, conf->region);
	f->conf.installation = copy(&f->arena, conf->installation);
	f->conf.folder = copy(&f->arena, conf->folder);
	if (!conf->clock)
		f->conf.clock = &clock_system;
	if (!conf->sleep)
		f->conf.sleep = sleep_here;
	return f;
}

void front_free(struct front *f)
{
	faults_free(f->faults);
	arena_release(&f->arena);
	free(f);
}

struct arena *front_arena(struct front *f)
{
	return &f->arena;
}

const struct provider_conf *front_conf(const struct front *f)
{
	return &f->conf;
}

void front_begin(struct front *f, struct provider *p)
{
	/* They were the caller's, who may let go of them now. */
	f->conf.options = f->conf.credentials = NULL;
	p->front = f;
	if (p->faults.n)
		f->faults = faults_new(&p->faults, p->seed);
}

/* Images are removed where they can be made in either way. */
static bool can(const struct provider *p, enum call_name name)
{
	int needs = calls[name].needs;

	return needs == ALWAYS || provider_can(p, (enum capability)needs) ||
	       (name == CALL_REMOVE_IMAGE && provider_can(p, CAN_SNAPSHOT));
}

static void begin(struct call *c)
{
	struct front *f = c->p->front;

	c->begun = clock_mono(f->conf.clock);
	atomic_fetch_add(&f->under_way, 1);
	c->r = -1;
	c->refused = true;
	if (!can(c->p, c->name)) {
		int needs = calls[c->name].needs;

		err_set(c->err, ERR_UNSUPPORTED,
			"the provider lacks the capability \"%s\"",
			capability_name((enum capability)needs));
		return;
	}
	if (f->faults)
		c->fault = faults_take(f->faults, calls[c->name].name);
	if (c->fault && c->fault->action == FAULT_FAIL) {
		fault_err(c->fault, c->err);
		return;
	}
	if (c->fault && c->fault->action == FAULT_DELAY)
		f->conf.sleep(f->conf.ctx, (uint64_t)c->fault->ms);
	c->refused = false;
}

bool call_next(struct call *c)
{
	unsigned turns = 1;

	if (c->turn == 0)
		begin(c);
	if (c->refused)
		return false;
	if (c->fault && c->fault->action == FAULT_DUPLICATE)
		turns = 2;
	return c->turn++ < turns;
}

static void trace(const struct call *c, enum err_code outcome, uint64_t ms)
{
	const struct front *f = c->p->front;

	log_debug("provider",
		  "driver=%s region=%s call=%s about=%s ms=%llu outcome=%s "
		  "provider=%s%s%s",
		  c->p->driver->name, f->conf.region ? f->conf.region : "-",
		  calls[c->name].name, c->about ? c->about : "-",
		  (unsigned long long)ms, outcome ? err_name(outcome) : "done",
		  outcome && c->err->provider_code[0] ? c->err->provider_code
						      : "-",
		  outcome ? " " : "", outcome ? c->err->msg : "");
}

int call_end(struct call *c)
{
	struct front *f = c->p->front;
	enum err_code outcome;
	uint64_t ms;

	if (!c->refused && c->fault && c->fault->action == FAULT_LOSE)
		c->r = err_set(c->err, ERR_TIMEOUT,
			       "the answer was lost by a fault");
	outcome = c->r < 0 ? c->err->code : ERR_NONE;
	ms = clock_mono(f->conf.clock) - c->begun;
	atomic_fetch_add(&f->calls[c->name][outcome], 1);
	atomic_fetch_add(&f->ms[c->name][outcome], ms);
	atomic_fetch_sub(&f->under_way, 1);
	if (log_wants(LOG_DEBUG))
		trace(c, outcome, ms);
	return c->r;
}

bool provider_count(const struct provider *p, size_t *i,
		    struct provider_count *ret)
{
	struct front *f = p->front;

	while (*i < (size_t)CALLS * ERR_CODE_COUNT) {
		size_t call = *i / ERR_CODE_COUNT, code = *i % ERR_CODE_COUNT;
		uint64_t n = atomic_load(&f->calls[call][code]);

		++*i;
		if (!n)
			continue;
		*ret = (struct provider_count){
			.call = calls[call].name,
			.outcome = (enum err_code)code,
			.calls = n,
			.ms = atomic_load(&f->ms[call][code]),
		};
		return true;
	}
	return false;
}

unsigned provider_under_way(const struct provider *p)
{
	return atomic_load(&p->front->under_way);
}

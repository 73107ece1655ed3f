#include "provider/sim_cloud.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/sim_machines.h"
#include "provider/sim_place.h"

#define MACHINE sim_machine_fields, sizeof(struct sim_machine)
#define THING   sim_thing_fields, sizeof(struct sim_thing)
#define ACT     sim_act_fields, sizeof(struct sim_act)
#define WORDS   sim_text_fields, sizeof(struct sim_text)
#define NOTHING NULL, 0

const struct sim_method sim_methods[SIM_CALLS] = {
	[SIM_OFFERS] = {"offers", ACT, sim_offers_fields,
			sizeof(struct sim_offers), sim_do_offers},
	[SIM_LAUNCH] = {"launch", MACHINE, MACHINE, sim_do_launch},
	[SIM_DESCRIBE] = {"describe", ACT, MACHINE, sim_do_describe},
	[SIM_TERMINATE] = {"terminate", ACT, NOTHING, sim_do_terminate},
	[SIM_LIST] = {"list", ACT, sim_page_fields, sizeof(struct sim_page),
		      sim_do_list},
	[SIM_STOP] = {"stop", ACT, NOTHING, sim_do_stop},
	[SIM_START] = {"start", ACT, NOTHING, sim_do_start},
	[SIM_REBOOT] = {"reboot", ACT, NOTHING, sim_do_reboot},
	[SIM_RESIZE] = {"resize", ACT, NOTHING, sim_do_resize},
	[SIM_REBUILD] = {"rebuild", MACHINE, NOTHING, sim_do_rebuild},
	[SIM_GROW] = {"grow", ACT, NOTHING, sim_do_grow},
	[SIM_SET_TAGS] = {"settags", ACT, NOTHING, sim_do_set_tags},
	[SIM_SET_ACCESS] = {"setaccess", MACHINE, NOTHING, sim_do_set_access},
	[SIM_CONSOLE] = {"console", ACT, WORDS, sim_do_console},
	[SIM_OUTPUT] = {"output", ACT, WORDS, sim_do_output},
	[SIM_ENSURE] = {"ensure", THING, THING, sim_do_ensure},
	[SIM_REMOVE] = {"remove", ACT, NOTHING, sim_do_remove},
	[SIM_ATTACH] = {"attach", ACT, WORDS, sim_do_attach},
	[SIM_DETACH] = {"detach", ACT, NOTHING, sim_do_detach},
	[SIM_THINGS] = {"things", ACT, sim_things_fields,
			sizeof(struct sim_things), sim_do_things},
};

int sim_refuse(struct err *err, enum err_code code, const char *native,
	       const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, code, "%s", text);
	snprintf(err->provider_code, sizeof(err->provider_code), "%s", native);
	snprintf(err->provider_msg, sizeof(err->provider_msg), "%.*s",
		 (int)sizeof(err->provider_msg) - 1, text);
	return -1;
}

bool sim_chance(struct sim_cloud *c, int64_t rate)
{
	return rate && random_below(&c->chance.base, 1000) < (uint64_t)rate;
}

int64_t sim_delay(struct sim_cloud *c, int64_t ms)
{
	int64_t more = ms * c->options->jitter / 100;

	if (!more)
		return ms;
	return ms + (int64_t)random_below(&c->chance.base, (uint64_t)more + 1);
}

void sim_next_id(struct sim_cloud *c, const char *prefix,
		 char out[SIM_ID_LEN + 1])
{
	snprintf(out, SIM_ID_LEN + 1, "%s-%012llx", prefix,
		 (unsigned long long)++c->sequence);
}

static const char *item_key(const void *item)
{
	return ((const struct sim_item *)item)->id;
}

static void look_at_clock(struct sim_cloud *c)
{
	struct sim_item *i;

	c->now = clock_wall(c->clock);
	while ((i = sim_heap_pop(&c->due, c->now))) {
		if (i->is_machine)
			sim_place_due(c, (struct sim_place *)i);
		else
			sim_holding_due(c, (struct sim_holding *)i);
	}
	sim_forget_oldest(c);
}

int sim_cloud_open(const struct sim_options *options, const struct clock *clock,
		   const char *file, struct sim_cloud **out, struct err *err)
{
	struct sim_cloud *c = xcalloc(1, sizeof(*c));

	c->clock = clock;
	list_init(&c->gone);
	sorted_init(&c->all_machines, item_key);
	sorted_init(&c->all_things, item_key);
	sim_pool_init(&c->inside, "10.0.0.0/8");
	sim_pool_init(&c->outside, "198.18.0.0/15");
	c->now = clock_wall(clock);
	sim_cloud_set_options(c, options);
	if (file && sim_journal_open(c, file, err) < 0) {
		sim_cloud_close(c);
		return -1;
	}
	random_seed(&c->chance, (uint64_t)options->seed ^ c->sequence << 20);
	*out = c;
	return 0;
}

void sim_cloud_close(struct sim_cloud *c)
{
	struct sorted_walk w;

	if (!c)
		return;
	sim_journal_close(c);
	while (c->all_machines.count) {
		w = sorted_from(&c->all_machines, NULL);
		sim_place_free(c, sorted_next(&w));
	}
	while (c->all_things.count) {
		w = sorted_from(&c->all_things, NULL);
		sim_holding_free(c, sorted_next(&w));
	}
	map_release(&c->machines);
	map_release(&c->tokens);
	map_release(&c->things);
	map_release(&c->ours);
	map_release(&c->tagsets);
	sorted_release(&c->all_machines);
	sorted_release(&c->all_things);
	free(c->due.at);
	free(c->inside.bits);
	free(c->outside.bits);
	free(c->used);
	free(c->options);
	free(c);
}

const struct sim_options *sim_cloud_options(const struct sim_cloud *c)
{
	return c->options;
}

void sim_cloud_set_options(struct sim_cloud *c, const struct sim_options *o)
{
	struct sim_options *old = c->options;

	c->options = field_copy(sim_option_fields, sizeof(*o), o);
	free(old);
	c->calls_left = 0;
	c->filled_at = 0;
	sim_recount(c);
}

void sim_cloud_listen(struct sim_cloud *c,
		      void (*changed)(void *ctx, const char *id), void *ctx)
{
	c->changed = changed;
	c->listener = ctx;
}

/* A bucket of calls, filled at an even pace. */
static int throttle(struct sim_cloud *c, struct err *err)
{
	double rate = (double)c->options->calls_per_second;
	double most = (double)c->options->burst;

	if (rate == 0)
		return 0;
	if (most == 0)
		most = rate;
	if (!c->filled_at)
		c->calls_left = most;
	else
		c->calls_left += rate * (double)(c->now - c->filled_at) / 1000;
	c->filled_at = c->now;
	if (c->calls_left > most)
		c->calls_left = most;
	if (c->calls_left >= 1) {
		c->calls_left--;
		return 0;
	}
	sim_refuse(err, ERR_RATE, "RequestLimitExceeded",
		   "too many calls: the account may make %.0f a second", rate);
	err->retry_after_ms = (uint32_t)(1000 * (1 - c->calls_left) / rate) + 1;
	return -1;
}

int sim_cloud_call(struct sim_cloud *c, enum sim_call call, const void *ask,
		   struct arena *a, void *answer, struct err *err)
{
	const struct sim_options *o = c->options;

	c->wait_ms = 0;
	look_at_clock(c);
	c->calls[call]++;
	if (throttle(c, err) < 0) {
		c->throttled++;
		return -1;
	}
	if (sim_journal_mend(c, err) < 0)
		return -1;
	if (sim_chance(c, o->hang_rate))
		c->wait_ms = (uint64_t)o->hang_ms;
	if (sim_chance(c, o->failure_rate))
		return sim_refuse(err, ERR_UNAVAILABLE, "ServiceUnavailable",
				  "the service is not available");
	if (sim_methods[call].run(c, ask, a, answer, err) < 0)
		return -1;
	if (sim_chance(c, o->lost_answer_rate))
		return sim_refuse(err, ERR_TIMEOUT, "AnswerLost",
				  "the answer was lost");
	return 0;
}

uint64_t sim_cloud_wait(const struct sim_cloud *c)
{
	return c->wait_ms;
}

size_t sim_cloud_machines(struct sim_cloud *c)
{
	look_at_clock(c);
	return c->live;
}

static void write_machines(struct sim_cloud *c, bool gone, struct buf *out)
{
	struct sorted_walk w = sorted_from(&c->all_machines, NULL);
	const char *before = "";
	struct sim_place *p;

	while ((p = sorted_next(&w))) {
		if (sim_place_gone(p) != gone)
			continue;
		buf_adds(out, before);
		before = ",";
		field_encode(sim_machine_fields, p->doc, FIELD_FULL, out);
	}
}

static void write_things(struct sim_cloud *c, struct buf *out)
{
	struct sorted_walk w = sorted_from(&c->all_things, NULL);
	const char *before = "";
	struct sim_holding *h;

	while ((h = sorted_next(&w))) {
		buf_adds(out, before);
		before = ",";
		field_encode(sim_thing_fields, h->doc, FIELD_FULL, out);
	}
}

static void write_calls(const struct sim_cloud *c, struct buf *out)
{
	for (int i = 0; i < SIM_CALLS; i++)
		buf_addf(out, "%s\"%s\":%llu", i ? "," : "",
			 sim_methods[i].name, (unsigned long long)c->calls[i]);
}

void sim_cloud_truth(struct sim_cloud *c, struct buf *out)
{
	look_at_clock(c);
	buf_addf(out, "{\"machineCount\":%zu,\"machines\":[", c->live);
	write_machines(c, false, out);
	buf_adds(out, "],\"gone\":[");
	write_machines(c, true, out);
	buf_adds(out, "],\"things\":[");
	write_things(c, out);
	buf_adds(out, "],\"calls\":{");
	write_calls(c, out);
	buf_addf(out, "},\"throttled\":%llu}",
		 (unsigned long long)c->throttled);
}

static void drift_guest(struct sim_cloud *c, struct sim_place *p, bool hung)
{
	p->doc->hung = hung;
	sim_place_tell(c, p);
}

int sim_cloud_drift(struct sim_cloud *c, const char *id, const char *what,
		    struct err *err)
{
	struct sim_place *p;
	struct sim_machine m;

	look_at_clock(c);
	p = sim_machine_find(c, id, err);
	if (!p)
		return -1;
	if (strcmp(what, "vanish") == 0) {
		/* Its volumes and addresses are free, as if it had gone. */
		sim_place_move(c, p, SIM_DELETED, NULL, 0);
		sim_place_free(c, p);
		return sim_journal_gone(c, id, err);
	}
	if (strcmp(what, "kill") == 0)
		sim_place_move(c, p, SIM_DELETED, NULL, 0);
	else if (strcmp(what, "halt") == 0)
		sim_place_move(c, p, SIM_HALTED, NULL, 0);
	else if (strcmp(what, "boot") == 0)
		sim_place_move(c, p, SIM_ACTIVE, NULL, 0);
	else if (strcmp(what, "fail") == 0)
		sim_place_move(c, p, SIM_ERROR, NULL, 0);
	else if (strcmp(what, "confuse") == 0)
		sim_place_move(c, p, SIM_CONFUSED, NULL, 0);
	else if (strcmp(what, "hang") == 0 || strcmp(what, "wake") == 0)
		drift_guest(c, p, what[0] == 'h');
	else if (strcmp(what, "untag") == 0) {
		m = *p->doc;
		m.tags = (struct items){0};
		sim_place_revise(c, p, &m);
	} else if (strcmp(what, "resize") == 0) {
		m = *p->doc;
		m.flavor = strcmp(m.flavor, "sim.small") == 0 ? "sim.medium"
							      : "sim.small";
		sim_place_revise(c, p, &m);
	} else {
		return err_set(err, ERR_INVALID,
			       "a machine can kill, vanish, halt, boot, fail, "
			       "confuse, untag, resize, hang or wake");
	}
	return sim_journal_machine(c, p->doc, err);
}

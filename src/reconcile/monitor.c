#include "reconcile/monitor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/log.h"
#include "base/mem.h"
#include "provider/front.h"
#include "reconcile/engine_priv.h"
#include "reconcile/machine.h"
#include "reconcile/monitor_orphans.h"
#include "reconcile/monitor_plan.h"
#include "reconcile/monitor_stale.h"

/* What one look may use: some hundred thousand machines. */
#define ARENA_MOST ((size_t)512 << 20)

/* Pages of one list; one that goes on longer is broken. */
#define PAGES_MOST 100000

/* Servers that are counted in one step. */
#define COUNT_MOST 2000

/* How often what is no machine is listed, at most. */
#define THINGS_MS 20000

struct memo {
	struct sweep *sweep; /* under way, or NULL */
	int64_t pace, next_at;
	int64_t whole_at; /* the last that was whole */
	struct map lost;  /* missing once, as the provider says; owned */
	struct map first; /* sights of strays: struct first_sight; owned */
	struct stale_walk walk;
	int64_t things_at; /* what is no machine is not listed before */
	bool listable;     /* it was open, and has tags */
	bool hurry;        /* all are worth a look */
};

/* A call for one page, or about one machine. */
struct page_call {
	struct call call; /* first */
	struct machine_filter filter;
	const char *page;
	struct machine_page ret;
};

struct look_call {
	struct call call; /* first */
	const char *server, *machine;
	int64_t revision;
	struct machine ret;
};

static void free_values(struct map *m)
{
	void *value;

	for (size_t i = 0; (value = map_next(m, &i));)
		free(value);
	map_release(m);
	*m = (struct map){0};
}

static void drop(struct memo *m)
{
	struct sweep *s = m->sweep;

	if (!s)
		return;
	map_release(&s->seen);
	free_values(&s->lost);
	free_values(&s->first);
	arena_release(&s->arena);
	free(s);
	m->sweep = NULL;
}

static void release(void *memo)
{
	struct memo *m = memo;

	drop(m);
	free_values(&m->lost);
	free_values(&m->first);
}

struct sweep *monitor_sweep(struct work *w)
{
	return ((struct memo *)work_memo(w))->sweep;
}

static void begin(struct work *w, struct memo *m)
{
	m->sweep = xcalloc(1, sizeof(*m->sweep));
	m->sweep->began = work_now(w);
	arena_init(&m->sweep->arena, ARENA_MOST);
}

static int64_t most_wait(const struct region *r)
{
	return r->spec.observe_seconds * 1000;
}

/* How long it took; a leap of the clock is not counted. */
static int64_t took(const struct work *w, const struct sweep *sweep)
{
	int64_t even = work_even_since(w);

	return work_now(w) - (sweep->began > even ? sweep->began : even);
}

/* It came to nothing: another time. */
static void give_up(struct work *w, struct memo *m, const struct err *err)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));

	log_info("monitor", "%s: its machines cannot be listed: %s", work_id(w),
		 err->msg);
	drop(m);
	m->pace = monitor_pace(m->pace, false, 0, r ? most_wait(r) : 0, 0);
	m->next_at = work_now(w) + m->pace;
}

static const void *get(struct work *w, const struct kind *k, const char *id)
{
	struct record r;

	return id && store_get(work_store(w), 0, k, id, &r) ? r.object : NULL;
}

static const char *keep(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static struct sighting *add_sighting(struct sweep *sweep,
				     const struct server *s, int64_t began)
{
	struct sighting *g = arena_alloc(&sweep->arena, sizeof(*g));

	g->server = arena_strdup(&sweep->arena, s->meta.id);
	g->revision = s->meta.revision;
	g->began = began;
	g->alone = sweep->stage == SWEEP_LOOK;
	g->next = sweep->sightings;
	sweep->sightings = g;
	sweep->moving = true;
	return g;
}

static struct items keep_ports(struct arena *a, const struct items *ports)
{
	struct port *to;

	if (!ports->n)
		return (struct items){0};
	to = arena_alloc(a, ports->n * sizeof(*to));
	memcpy(to, ports->at, ports->n * sizeof(*to));
	for (size_t n = 0; n < ports->n; n++)
		to[n].address = arena_strdup(a, to[n].address);
	return (struct items){to, ports->n};
}

static void keep_machine(struct arena *a, const struct machine *m,
			 struct machine *ret)
{
	*ret = (struct machine){
		.id = keep(a, m->id),
		.state = m->state,
		.native_state = keep(a, m->native_state),
		.flavor = keep(a, m->flavor),
		.zone = keep(a, m->zone),
		.host = keep(a, m->host),
		.private_ip = keep(a, m->private_ip),
		.private_ip6 = keep(a, m->private_ip6),
		.public_ip = keep(a, m->public_ip),
		.mac = keep(a, m->mac),
		.ports = keep_ports(a, &m->ports),
		.ready = m->ready,
		.ready_why = keep(a, m->ready_why),
		.created_at = m->created_at,
		.spot = m->spot,
	};
}

static bool may_judge(struct work *w, const struct server *s,
		      const struct provider_facts *f, int64_t began)
{
	return monitor_judges(get(w, &instance_kind, s->instance_id), s, f,
			      began) &&
	       !work_other_busy(w, &machine_controller, s->instance_id);
}

/* M, which is server S's, is not as it is written. */
static void compare(struct work *w, const struct place *p,
		    const struct server *s, const struct machine *m,
		    int64_t began)
{
	struct sweep *sweep = ((struct memo *)work_memo(w))->sweep;
	struct machine_call c = {.what = MACHINE_DESCRIBE, .call.began = began};
	struct machine_view v = {.i = get(w, &instance_kind, s->instance_id),
				 .s = s,
				 .facts = &p->facts,
				 .now = work_now(w),
				 .even = work_even_since(w)};
	struct sighting *g;
	bool again;

	c.found[0] = *m;
	c.n_found = 1;
	again = s->status.stale_since && machine_same(&v, &c) &&
		!work_other_busy(w, &machine_controller, s->instance_id);
	if (!again &&
	    (!may_judge(w, s, &p->facts, began) || machine_unchanged(&v, &c)))
		return;
	g = add_sighting(sweep, s, began);
	g->again = again;
	keep_machine(&sweep->arena, m, &g->machine);
}

static void take_stray(struct memo *memo, const struct place *p,
		       const struct machine *m, const struct server *s,
		       int64_t began)
{
	const struct stray stray = {
		.kind = ORPHAN_MACHINE,
		.id = m->id,
		.of = field_tag_get(&m->tags, TAG_SERVER),
		.created_at = m->created_at,
		.kept = s != NULL,
	};

	if (m->state != INSTANCE_TERMINATING && m->state != INSTANCE_TERMINATED)
		monitor_take_stray(memo->sweep, &memo->first, &p->facts, &stray,
				   began);
}

static void take_machine(struct work *w, const struct place *p,
			 const struct machine *m, int64_t began)
{
	struct memo *memo = work_memo(w);
	struct sweep *sweep = memo->sweep;
	const char *ours = field_tag_get(&m->tags, TAG_INSTALLATION);
	const struct server *s =
		get(w, &server_kind, field_tag_get(&m->tags, TAG_SERVER));

	if (!ours || strcmp(ours, work_installation(w)) != 0)
		return;
	if (monitor_is_stray(s, m->id)) {
		take_stray(memo, p, m, s, began);
		return;
	}
	/* A page may come again; another region may have the same account. */
	if (!s->status.provider_id || map_get(&sweep->seen, s->meta.id) ||
	    strcmp(s->region_id, work_id(w)) != 0)
		return;
	map_add(&sweep->seen, arena_strdup(&sweep->arena, s->meta.id), sweep);
	compare(w, p, s, m, began);
}

static int run_page(struct provider *p, struct call *call, struct arena *a,
		    struct err *err)
{
	struct page_call *c = (struct page_call *)call;

	return provider_list(p, &c->filter, c->page, a, &c->ret, err);
}

static void page_done(struct work *w, struct call *call)
{
	struct page_call *c = (struct page_call *)call;
	struct memo *m = work_memo(w);
	const struct place *p = work_place(w, work_id(w));
	const struct machine *machines = c->ret.machines.at;

	if (!c->call.err.code && ++m->sweep->pages > PAGES_MOST)
		err_set(&c->call.err, ERR_PROVIDER, "the list has no end");
	if (!c->call.err.code && !p)
		err_set(&c->call.err, ERR_UNAVAILABLE, "it was closed");
	if (c->call.err.code || !p) {
		give_up(w, m, &c->call.err);
		return;
	}
	for (size_t i = 0; i < c->ret.machines.n; i++)
		take_machine(w, p, &machines[i], call->began);
	m->sweep->page = keep(&m->sweep->arena, c->ret.next);
	if (m->sweep->page)
		return;
	m->sweep->stage = SWEEP_COUNT;
	if (work_now(w) < m->things_at ||
	    !provider_can(p->provider, CAN_LIST_THINGS))
		return;
	m->sweep->stage = SWEEP_THINGS;
	m->things_at = work_now(w) + THINGS_MS;
}

static void ask_page(struct work *w, const struct sweep *sweep)
{
	struct page_call *c = arena_alloc(work_arena(w), sizeof(*c));

	c->call = (struct call){
		.run = run_page, .done = page_done, .rank = CALL_OBSERVE};
	c->filter =
		(struct machine_filter){TAG_INSTALLATION, work_installation(w)};
	c->page = sweep->page;
	work_call(w, work_id(w), &c->call);
}

static void count_one(struct work *w, const struct place *p,
		      const struct server *s)
{
	struct sweep *sweep = ((struct memo *)work_memo(w))->sweep;
	struct missed *missed;

	sweep->moving |= monitor_moves(s);
	if (s->status.phase != SERVER_LAUNCHED)
		return;
	sweep->launched++;
	if (map_get(&sweep->seen, s->meta.id) ||
	    !may_judge(w, s, &p->facts, sweep->began))
		return;
	missed = arena_alloc(&sweep->arena, sizeof(*missed));
	missed->server = arena_strdup(&sweep->arena, s->meta.id);
	missed->next = sweep->missed;
	sweep->missed = missed;
	sweep->missing++;
}

/* True when all are counted. */
static bool count(struct work *w, const struct place *p)
{
	struct sweep *sweep = ((struct memo *)work_memo(w))->sweep;
	const char *after = sweep->after[0] ? sweep->after : NULL;
	struct scan scan = store_scan(work_store(w), 0, &server_kind, after);
	struct record r;
	size_t effort = 0;

	if (!scan_narrow(&scan, "regionId", work_id(w), after))
		return true;
	for (int n = 0; n < COUNT_MOST; n++) {
		if (!scan_next(&scan, &r, &effort))
			return true;
		assert(strlen(r.id) < sizeof(sweep->after));
		memmove(sweep->after, r.id, strlen(r.id) + 1);
		count_one(w, p, r.object);
	}
	return false;
}

static int run_look(struct provider *p, struct call *call, struct arena *a,
		    struct err *err)
{
	struct look_call *c = (struct look_call *)call;

	return provider_describe(p, c->machine, a, &c->ret, err);
}

/* The provider does not have it: the second time in two looks it is gone. */
static void not_there(struct work *w, const struct server *s, int64_t began)
{
	struct memo *m = work_memo(w);
	char *id = xstrdup(s->meta.id);

	map_add(&m->sweep->lost, id, id);
	if (map_get(&m->lost, s->meta.id))
		add_sighting(m->sweep, s, began)->gone = true;
	m->sweep->moving = true;
}

static void look_done(struct work *w, struct call *call)
{
	struct look_call *c = (struct look_call *)call;
	const struct place *p = work_place(w, work_id(w));
	const struct server *s = get(w, &server_kind, c->server);
	struct sweep *sweep = ((struct memo *)work_memo(w))->sweep;

	sweep->missed = sweep->missed->next;
	if (!p || !s || s->meta.revision != c->revision)
		return;
	if (!call->err.code)
		compare(w, p, s, &c->ret, call->began);
	else if (call->err.code == ERR_NOT_FOUND &&
		 may_judge(w, s, &p->facts, call->began))
		not_there(w, s, call->began);
}

static void look(struct work *w, const struct server *s)
{
	struct look_call *c = arena_alloc(work_arena(w), sizeof(*c));

	c->call = (struct call){
		.run = run_look, .done = look_done, .rank = CALL_OBSERVE};
	c->server = arena_strdup(work_arena(w), s->meta.id);
	c->machine = arena_strdup(work_arena(w), s->status.provider_id);
	c->revision = s->meta.revision;
	work_call(w, work_id(w), &c->call);
}

/* At the next that is missing; false when there is none any more. */
static bool look_at_missed(struct work *w, struct sweep *sweep,
			   const struct place *p)
{
	for (; sweep->missed; sweep->missed = sweep->missed->next) {
		const struct server *s =
			get(w, &server_kind, sweep->missed->server);

		if (s && may_judge(w, s, &p->facts, sweep->began)) {
			look(w, s);
			return true;
		}
	}
	return false;
}

/* They outlive their sweep. */
static const struct stray *copy_strays(const struct stray *s, struct arena *a)
{
	struct stray *first = NULL, **at = &first;

	for (; s; s = s->next, at = &(*at)->next) {
		*at = arena_alloc(a, sizeof(**at));
		**at = *s;
		(*at)->id = arena_strdup(a, s->id);
		(*at)->of = keep(a, s->of);
	}
	return first;
}

/* Have the region say it; false when it does. */
static bool say(struct work *w, const struct region_write *what)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct region_write *write;

	if (!monitor_region_news(r, what, work_now(w)))
		return false;
	write = arena_alloc(work_arena(w), sizeof(*write));
	*write = *what;
	write->region = work_id(w);
	write->strays = copy_strays(what->strays, work_arena(w));
	work_transact(w, monitor_write_region, write);
	return true;
}

/* The sweep is over, and what it found is written. */
static void end(struct work *w, struct memo *m, const struct place *p,
		bool tripped)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct sweep *sweep = m->sweep;
	const struct region_write what = {
		.what = tripped ? REGION_TRIPPED : REGION_SEEN,
		.missing = sweep->missing,
		.of = sweep->launched,
		.strays = sweep->strays,
		.n_strays = sweep->n_strays,
		.things = sweep->things,
		.quarantine_ms = r->spec.orphan_quarantine_seconds * 1000,
	};
	bool told;

	m->whole_at = sweep->began;
	m->pace = monitor_pace(m->pace, sweep->moving || tripped,
			       p->facts.poll_ms, most_wait(r), took(w, sweep));
	m->next_at = work_now(w) + m->pace;
	free_values(&m->lost);
	free_values(&m->first);
	m->first = sweep->first;
	sweep->first = (struct map){0};
	if (!tripped) {
		m->lost = sweep->lost;
		sweep->lost = (struct map){0};
	}
	told = say(w, &what);
	drop(m);
	if (!told)
		work_wait(w, m->next_at);
}

static void write_sightings(struct work *w, struct sweep *sweep,
			    const struct place *p)
{
	struct sighting_write *write =
		arena_alloc(work_arena(w), sizeof(*write));

	write->known = (struct machine_known){.started = work_started(w),
					      .even = work_even_since(w),
					      .behind = work_behind(w),
					      .can = machine_can(p->provider)};
	write->facts = p->facts;
	write->random = work_random(w);
	write->first = sweep->sightings;
	for (int n = 0; sweep->sightings && n < SIGHTINGS_AT_ONCE; n++)
		sweep->sightings = sweep->sightings->next;
	work_transact(w, monitor_write_sightings, write);
}

/* Of a list in which too much is missing it is only believed that what is there
 * is there. */
static void doubt(struct sweep *sweep)
{
	struct sighting **at = &sweep->sightings;

	while (*at)
		if ((*at)->again)
			at = &(*at)->next;
		else
			*at = (*at)->next;
	sweep->stage = SWEEP_DOUBT;
}

/* What is missing for too long is not known any more. */
static void go_on_doubting(struct work *w, struct memo *m,
			   const struct place *p)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	const struct monitoring *seen = &r->status.monitor;
	int64_t limit = work_now(w) - monitor_stale_at(0, most_wait(r));
	bool long_ago = seen->missing_since && seen->missing_since <= limit;

	if (m->sweep->sightings)
		write_sightings(w, m->sweep, p);
	else if (!long_ago || !monitor_mark_missed(w, &m->sweep->missed,
						   seen->observed_at, limit))
		end(w, m, p, true);
}

static void go_on(struct work *w, struct memo *m, const struct place *p)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct sweep *sweep = m->sweep;

	switch (sweep->stage) {
	case SWEEP_LIST:
		ask_page(w, sweep);
		return;
	case SWEEP_THINGS:
		monitor_ask_things(w, sweep, &m->first);
		return;
	case SWEEP_COUNT:
		if (count(w, p)) {
			sweep->stage = SWEEP_LOOK;
			if (monitor_trips(sweep->missing, sweep->launched,
					  (size_t)r->status.monitor.accepted))
				doubt(sweep);
		}
		work_wait(w, work_now(w));
		return;
	case SWEEP_LOOK:
		if (look_at_missed(w, sweep, p))
			return;
		sweep->stage = SWEEP_WRITE;
		break;
	case SWEEP_DOUBT:
		go_on_doubting(w, m, p);
		return;
	default:
		break;
	}
	if (sweep->sightings)
		write_sightings(w, sweep, p);
	else if (!monitor_remove_orphan(w, sweep))
		end(w, m, p, false);
}

/* Until the next look, or until it must be said that there was none. */
static void rest(struct work *w, struct memo *m, const struct region *r,
		 bool open)
{
	static const struct region_write stale = {.what = REGION_STALE};
	int64_t last = r->status.monitor.observed_at, at;

	/* Where nobody ever looks, nothing gets stale. */
	if (!last && !m->listable)
		return;
	if (last < work_started(w))
		last = work_started(w);
	if (last < m->whole_at)
		last = m->whole_at;
	at = monitor_stale_at(last, most_wait(r));
	if (work_now(w) >= at && say(w, &stale))
		return;
	if (work_now(w) < at)
		work_wait(w, at);
	if (r->status.monitor.stale_since &&
	    monitor_mark_stale(w, &m->walk, r->status.monitor.observed_at,
			       work_now(w) - monitor_stale_at(0, most_wait(r))))
		return;
	if (open)
		work_wait(w, m->next_at);
}

static void step(struct work *w)
{
	const struct region *r = work_get(w, &region_kind, work_id(w));
	struct memo *m = work_memo(w);
	const struct place *p;

	if (!r || r->meta.deleted_at || !r->spec.observe_seconds)
		return;
	p = r->spec.paused ? NULL : work_place(w, work_id(w));
	if (p && !p->facts.tags)
		return;
	m->listable |= p != NULL;
	if (!p)
		drop(m);
	if (!m->pace) {
		m->pace = monitor_pace(0, true, p ? p->facts.poll_ms : 0,
				       most_wait(r), 0);
		m->next_at = work_now(w) + m->pace;
	}
	if (m->hurry && !m->sweep) {
		m->hurry = false;
		if (m->next_at > m->whole_at + MONITOR_FAST)
			m->next_at = m->whole_at + MONITOR_FAST;
	}
	if (p && !m->sweep && work_now(w) >= m->next_at)
		begin(w, m);
	if (m->sweep)
		go_on(w, m, p);
	else
		rest(w, m, r, p != NULL);
}

void monitor_hurry(struct work *w)
{
	((struct memo *)work_memo(w))->hurry = true;
	work_nudge(w);
}

static bool wants(const void *object)
{
	return ((const struct region *)object)->spec.observe_seconds != 0;
}

const struct controller monitor_controller = {
	.name = "monitor",
	.kind = &region_kind,
	.memo = sizeof(struct memo),
	.wants = wants,
	.step = step,
	.release = release,
};

/* Machines as they are kept: found by id, token and tag, counted, and moved
 * from state to state as time goes by. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "model/flavor.h"
#include "provider/sim_place.h"

/* Lists are asked for by these, so they must be quick by these. */
#define TAG_PREFIX "muster/"

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool sim_place_gone(const struct sim_place *p)
{
	return same(p->doc->state, SIM_DELETED);
}

static bool row_takes(const struct sim_capacity *row,
		      const struct sim_machine *m)
{
	int market = m->spot ? MARKET_SPOT : MARKET_ON_DEMAND;

	return (!row->zone || same(row->zone, m->zone)) &&
	       (!row->flavor || same(row->flavor, m->flavor)) &&
	       (!row->market || row->market == market);
}

const struct sim_capacity *sim_place_full(const struct sim_cloud *c,
					  const struct sim_machine *m)
{
	const struct sim_capacity *rows = c->options->capacity.at;

	for (size_t i = 0; i < c->options->capacity.n; i++)
		if (row_takes(&rows[i], m) && c->used[i] >= rows[i].count)
			return &rows[i];
	return NULL;
}

static void count(struct sim_cloud *c, struct sim_place *p, bool on)
{
	const struct sim_capacity *rows = c->options->capacity.at;

	if (p->counted == on)
		return;
	p->counted = on;
	c->live += on ? 1 : (size_t)-1;
	for (size_t i = 0; i < c->options->capacity.n; i++)
		if (row_takes(&rows[i], p->doc))
			c->used[i] += on ? 1 : -1;
}

void sim_recount(struct sim_cloud *c)
{
	struct sim_place *p;

	free(c->used);
	c->used = xcalloc(c->options->capacity.n + 1, sizeof(*c->used));
	c->live = 0;
	for (size_t i = 0; (p = map_next(&c->machines, &i));) {
		p->counted = false;
		count(c, p, !sim_place_gone(p));
	}
}

static const char *place_key(const void *p)
{
	return ((const struct sim_item *)p)->id;
}

static void index_add(struct sim_cloud *c, struct sim_place *p, const char *key,
		      const char *value)
{
	size_t len = strlen(key) + strlen(value) + 2;
	struct sim_tagset *set = xcalloc(1, sizeof(*set) + len), *found;

	snprintf(set->key, len, "%s=%s", key, value);
	found = map_get(&c->tagsets, set->key);
	if (found) {
		free(set);
	} else {
		found = set;
		sorted_init(&found->machines, place_key);
		map_add(&c->tagsets, found->key, found);
	}
	sorted_add(&found->machines, p);
}

static void index_remove(struct sim_cloud *c, struct sim_place *p,
			 const char *key, const char *value)
{
	struct sim_tagset *set = sim_tagset(c, key, value);

	if (!set)
		return;
	sorted_remove(&set->machines, p->item.id);
	if (set->machines.count)
		return;
	map_remove(&c->tagsets, set->key);
	sorted_release(&set->machines);
	free(set);
}

struct sim_tagset *sim_tagset(const struct sim_cloud *c, const char *key,
			      const char *value)
{
	char text[512];

	snprintf(text, sizeof(text), "%s=%s", key, value);
	return map_get(&c->tagsets, text);
}

static void index_all(struct sim_cloud *c, struct sim_place *p, bool on)
{
	void (*fn)(struct sim_cloud *, struct sim_place *, const char *,
		   const char *) = on ? index_add : index_remove;
	const struct field_tag *t = p->doc->tags.at;

	for (size_t i = 0; i < p->doc->tags.n; i++)
		if (strncmp(t[i].key, TAG_PREFIX, strlen(TAG_PREFIX)) == 0)
			fn(c, p, t[i].key, t[i].value);
	fn(c, p, "name", p->doc->name);
}

static struct sim_pool *pool_of(struct sim_cloud *c,
				const struct sim_machine *m)
{
	struct sim_holding *h =
		m->network ? map_get(&c->things, m->network) : NULL;

	return h ? &h->pool : &c->inside;
}

/* What a machine has by its number: nobody else can have it. */
static void give_number(struct sim_cloud *c, struct sim_place *p)
{
	uint64_t n = c->sequence;
	struct sim_holding *h =
		p->doc->network ? map_get(&c->things, p->doc->network) : NULL;
	const char *prefix = h ? h->doc->prefix6 : NULL;
	unsigned char v6[16];
	char host[64];

	snprintf(p->mac, sizeof(p->mac), "52:54:%02x:%02x:%02x:%02x",
		 (unsigned)(n >> 24 & 255), (unsigned)(n >> 16 & 255),
		 (unsigned)(n >> 8 & 255), (unsigned)(n & 255));
	p->doc->mac = p->mac;
	if (!prefix)
		return;
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(prefix, "/"), prefix);
	if (inet_pton(AF_INET6, host, v6) != 1)
		return;
	for (int i = 0; i < 6; i++)
		v6[15 - i] = (unsigned char)((n + 16) >> 8 * i);
	inet_ntop(AF_INET6, v6, p->private_ip6, sizeof(p->private_ip6));
	p->doc->private_ip6 = p->private_ip6;
}

int sim_place_addresses(struct sim_cloud *c, struct sim_place *p,
			struct err *err)
{
	if (!p->private_ip[0] &&
	    !sim_pool_take(pool_of(c, p->doc), p->private_ip)) {
		sim_refuse(err, ERR_QUOTA, "NoFreeAddress",
			   "the network has no free address");
		err->scope = ERR_SCOPE_OBJECT;
		return -1;
	}
	if (p->doc->has_public && !p->public_ip[0] &&
	    !sim_pool_take(&c->outside, p->public_ip))
		return sim_refuse(err, ERR_QUOTA, "NoFreeAddress",
				  "there are no free public addresses");
	if (!p->doc->has_public && p->public_ip[0]) {
		sim_pool_give(&c->outside, p->public_ip);
		p->public_ip[0] = '\0';
	}
	p->doc->private_ip = p->private_ip;
	p->doc->public_ip = p->public_ip[0] ? p->public_ip : NULL;
	if (!p->doc->mac)
		give_number(c, p);
	return 0;
}

void sim_place_give_addresses(struct sim_cloud *c, struct sim_place *p)
{
	if (p->private_ip[0])
		sim_pool_give(pool_of(c, p->doc), p->private_ip);
	if (p->public_ip[0])
		sim_pool_give(&c->outside, p->public_ip);
	p->private_ip[0] = p->public_ip[0] = '\0';
	p->doc->private_ip = p->doc->public_ip = NULL;
}

static void keep(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static void restore_addresses(struct sim_cloud *c, struct sim_place *p)
{
	struct sim_machine *m = p->doc;

	keep(p->private_ip, sizeof(p->private_ip), m->private_ip);
	keep(p->public_ip, sizeof(p->public_ip), m->public_ip);
	keep(p->private_ip6, sizeof(p->private_ip6), m->private_ip6);
	keep(p->mac, sizeof(p->mac), m->mac);
	if (p->private_ip[0])
		sim_pool_mark(pool_of(c, m), p->private_ip);
	if (p->public_ip[0])
		sim_pool_mark(&c->outside, p->public_ip);
}

static void add_gone(struct sim_cloud *c, struct sim_place *p)
{
	list_add(&c->gone, &p->link);
	c->n_gone++;
}

struct sim_place *sim_place_new(struct sim_cloud *c,
				const struct sim_machine *doc)
{
	struct sim_place *p = xcalloc(1, sizeof(*p));

	list_init(&p->link);
	p->item.is_machine = true;
	p->doc = field_copy(sim_machine_fields, sizeof(*doc), doc);
	snprintf(p->item.id, sizeof(p->item.id), "%s", doc->id);
	restore_addresses(c, p);
	map_add(&c->machines, p->item.id, p);
	sorted_add(&c->all_machines, p);
	if (doc->token && !map_get(&c->tokens, doc->token)) {
		p->token = xstrdup(doc->token);
		map_add(&c->tokens, p->token, p);
	}
	if (sim_place_gone(p)) {
		add_gone(c, p);
	} else {
		index_all(c, p, true);
		count(c, p, true);
	}
	sim_heap_set(&c->due, &p->item, doc->due);
	return p;
}

void sim_place_free(struct sim_cloud *c, struct sim_place *p)
{
	if (sim_place_gone(p))
		c->n_gone--;
	else
		index_all(c, p, false);
	list_remove(&p->link);
	count(c, p, false);
	sim_place_give_addresses(c, p);
	sim_heap_set(&c->due, &p->item, 0);
	map_remove(&c->machines, p->item.id);
	sorted_remove(&c->all_machines, p->item.id);
	if (p->token)
		map_remove(&c->tokens, p->token);
	free(p->token);
	free(p->doc);
	free(p);
}

void sim_place_revise(struct sim_cloud *c, struct sim_place *p,
		      const struct sim_machine *doc)
{
	struct sim_machine *new =
		field_copy(sim_machine_fields, sizeof(*doc), doc);

	index_all(c, p, false);
	count(c, p, false);
	free(p->doc);
	p->doc = new;
	new->private_ip = p->private_ip[0] ? p->private_ip : NULL;
	new->public_ip = p->public_ip[0] ? p->public_ip : NULL;
	index_all(c, p, true);
	count(c, p, true);
}

static void detach_all(struct sim_cloud *c, const struct sim_place *p)
{
	struct sorted_walk w = sorted_from(&c->all_things, NULL);
	struct sim_holding *h;

	if (!p->volumes)
		return;
	while ((h = sorted_next(&w)))
		if (same(h->doc->machine, p->item.id))
			h->doc->machine = h->doc->device = NULL;
}

static void forget(struct sim_cloud *c, struct sim_place *p)
{
	struct err err;

	/* It is gone by the time that is in the journal anyway. */
	if (sim_journal_gone(c, p->item.id, &err) < 0)
		c->journal.broken = true;
	sim_place_free(c, p);
}

void sim_forget_oldest(struct sim_cloud *c)
{
	while (c->n_gone > SIM_GONE_MOST)
		forget(c, CONTAINER_OF(c->gone.next, struct sim_place, link));
}

void sim_place_tell(struct sim_cloud *c, const struct sim_place *p)
{
	if (c->changed && c->options->tells_changes)
		c->changed(c->listener, p->item.id);
}

/* Be in STATE from now on. */
static void enter(struct sim_cloud *c, struct sim_place *p, const char *state)
{
	struct sim_machine *m = p->doc;
	const struct sim_options *o = c->options;

	if (same(state, SIM_DELETED) && !sim_place_gone(p)) {
		index_all(c, p, false);
		count(c, p, false);
		sim_place_give_addresses(c, p);
		detach_all(c, p);
		add_gone(c, p);
		m->next = SIM_FORGOTTEN;
		m->due = c->now + o->forget_ms + 1;
	} else {
		m->next = NULL;
		m->due = 0;
	}
	m->state = state;
	if (same(state, SIM_ACTIVE)) {
		m->boots++;
		m->hung = false;
		m->up_at = o->tells_ready ? c->now + o->ready_ms : 0;
		if (m->spot && o->spot_interruption_ms) {
			m->next = SIM_INTERRUPTED;
			m->due = m->created_at + o->spot_interruption_ms;
		}
	} else if (same(state, SIM_INTERRUPTED)) {
		m->state = SIM_DELETING;
		m->reason = "the spot machine was taken away";
		m->next = SIM_DELETED;
		m->due = c->now + o->terminate_ms;
	} else if (same(state, SIM_HALTED) && !o->keeps_addresses) {
		sim_place_give_addresses(c, p);
	} else if (same(state, SIM_ERROR)) {
		m->reason = "the machine failed to boot";
	}
	sim_place_tell(c, p);
}

void sim_place_move(struct sim_cloud *c, struct sim_place *p, const char *state,
		    const char *next, int64_t ms)
{
	enter(c, p, state);
	if (next) {
		p->doc->next = next;
		p->doc->due = ms == SIM_NEVER ? 0 : c->now + ms;
	}
	while (p->doc->due && p->doc->due <= c->now &&
	       !same(p->doc->next, SIM_FORGOTTEN))
		enter(c, p, p->doc->next);
	sim_heap_set(&c->due, &p->item, p->doc->due);
}

void sim_place_due(struct sim_cloud *c, struct sim_place *p)
{
	/* What comes of it happens at its own time, not when it is seen. */
	int64_t now = c->now;

	if (same(p->doc->next, SIM_FORGOTTEN)) {
		forget(c, p);
		return;
	}
	c->now = p->doc->due;
	enter(c, p, p->doc->next);
	c->now = now;
	sim_heap_set(&c->due, &p->item, p->doc->due);
}

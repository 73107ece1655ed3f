/* Networks, security groups, images and volumes. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/sim_machines.h"
#include "provider/sim_place.h"

/* Things of ours that there can be. */
#define THINGS_MOST 1000000

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static char *ours_key(const char *kind, const char *ours)
{
	size_t len = strlen(kind) + strlen(ours) + 2;
	char *key = xmalloc(len);

	snprintf(key, len, "%s/%s", kind, ours);
	return key;
}

static void make_pool(struct sim_holding *h)
{
	const char *const *reserved = h->doc->reserved.at;

	sim_pool_init(&h->pool, h->doc->prefix);
	for (size_t i = 0; i < h->doc->reserved.n; i++)
		sim_pool_mark(&h->pool, reserved[i]);
}

struct sim_holding *sim_holding_new(struct sim_cloud *c,
				    const struct sim_thing *doc)
{
	struct sim_holding *h = xcalloc(1, sizeof(*h));

	h->doc = field_copy(sim_thing_fields, sizeof(*doc), doc);
	snprintf(h->item.id, sizeof(h->item.id), "%s", doc->id);
	h->ours = ours_key(doc->kind, doc->ours);
	if (doc->prefix)
		make_pool(h);
	map_add(&c->things, h->item.id, h);
	map_add(&c->ours, h->ours, h);
	sorted_add(&c->all_things, h);
	sim_heap_set(&c->due, &h->item, doc->due);
	return h;
}

void sim_holding_free(struct sim_cloud *c, struct sim_holding *h)
{
	sim_heap_set(&c->due, &h->item, 0);
	map_remove(&c->things, h->item.id);
	map_remove(&c->ours, h->ours);
	sorted_remove(&c->all_things, h->item.id);
	free(h->pool.bits);
	free(h->ours);
	free(h->doc);
	free(h);
}

void sim_holding_revise(struct sim_holding *h, const struct sim_thing *doc)
{
	struct sim_thing *new = field_copy(sim_thing_fields, sizeof(*doc), doc);

	free(h->doc);
	h->doc = new;
}

void sim_holding_due(struct sim_cloud *c, struct sim_holding *h)
{
	(void)c;
	h->doc->state = h->doc->next ? h->doc->next : h->doc->state;
	if (same(h->doc->state, "error"))
		h->doc->reason = "it could not be made";
	h->doc->next = NULL;
	h->doc->due = 0;
}

static struct sim_holding *find(struct sim_cloud *c, const char *kind,
				const char *ours, const char *id)
{
	struct sim_holding *h = id ? map_get(&c->things, id) : NULL;
	char *key;

	if (h && same(h->doc->kind, kind))
		return h;
	if (!ours)
		return NULL;
	key = ours_key(kind, ours);
	h = map_get(&c->ours, key);
	free(key);
	return h;
}

static int check_source(struct sim_cloud *c, const struct sim_thing *t,
			struct err *err)
{
	const struct sim_holding *h;

	if (t->machine)
		return sim_machine_find(c, t->machine, err) ? 0 : -1;
	h = t->source && same(t->kind, "image") ? map_get(&c->things, t->source)
						: NULL;
	if (t->source && strncmp(t->source, "vol-", 4) == 0 && !h)
		return sim_refuse(err, ERR_INVALID, "InvalidReference",
				  "there is no volume %s", t->source);
	return 0;
}

static int check_new(struct sim_cloud *c, const struct sim_thing *t,
		     struct err *err)
{
	struct sim_pool pool;

	if (c->things.count >= THINGS_MOST)
		return sim_refuse(err, ERR_QUOTA, "TooManyThings",
				  "the account has too much already");
	if (same(t->kind, "network")) {
		sim_pool_init(&pool, t->prefix ? t->prefix : "");
		if (!pool.count)
			return sim_refuse(err, ERR_INVALID, "InvalidPrefix",
					  "a network needs an IPv4 prefix");
	}
	if (same(t->kind, "group") &&
	    (!t->network || !find(c, "network", NULL, t->network)))
		return sim_refuse(err, ERR_INVALID, "InvalidReference",
				  "there is no network %s",
				  t->network ? t->network : "");
	if (same(t->kind, "volume") && t->size_gib <= 0)
		return sim_refuse(err, ERR_INVALID, "InvalidSize",
				  "a volume needs a size");
	return check_source(c, t, err);
}

/* What it is made of, as far as the cloud finds it out itself. */
static void fill(struct sim_cloud *c, struct sim_thing *t, struct arena *a)
{
	struct sim_place *p;
	struct in_addr in;
	struct sim_pool pool;
	char *gateway;

	if (same(t->kind, "network")) {
		sim_pool_init(&pool, t->prefix);
		gateway = arena_alloc(a, INET_ADDRSTRLEN);
		in.s_addr = htonl(pool.first + 1);
		inet_ntop(AF_INET, &in, gateway, INET_ADDRSTRLEN);
		t->gateway = gateway;
	}
	if (!same(t->kind, "image"))
		return;
	t->bytes = (int64_t)1 << 30;
	t->consistency = "offline";
	p = t->machine ? map_get(&c->machines, t->machine) : NULL;
	if (!p)
		return;
	t->source = t->machine;
	t->machine = NULL;
	t->min_disk_gib = p->doc->root_disk_gib;
	if (!same(p->doc->state, SIM_HALTED))
		t->consistency = "crash";
}

static int make(struct sim_cloud *c, const struct sim_thing *ask,
		struct arena *a, struct sim_holding **ret, struct err *err)
{
	static const struct {
		const char *kind, *prefix;
	} prefixes[] = {{"network", "net"},
			{"group", "sg"},
			{"image", "img"},
			{"volume", "vol"}};
	struct sim_thing t = *ask;
	char id[SIM_ID_LEN + 1];
	const char *prefix = NULL;
	int64_t ms = sim_delay(c, c->options->backing_ms);
	bool fails;

	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (same(prefixes[i].kind, t.kind))
			prefix = prefixes[i].prefix;
	if (!prefix || !t.ours)
		return sim_refuse(err, ERR_INVALID, "MissingParameter",
				  "it needs a kind and a name of yours");
	if (check_new(c, &t, err) < 0)
		return -1;
	t.device = t.gateway = t.reason = NULL;
	if (!same(t.kind, "image"))
		t.machine = NULL;
	fill(c, &t, a);
	sim_next_id(c, prefix, id);
	t.id = id;
	/* So that a failed import can be rehearsed. */
	fails = same(t.kind, "image") && t.source && strstr(t.source, "fail");
	t.next = fails ? "error" : "available";
	t.state = "creating";
	t.due = c->now + ms;
	t.created_at = c->now;
	*ret = sim_holding_new(c, &t);
	if (!ms) {
		sim_heap_set(&c->due, &(*ret)->item, 0);
		sim_holding_due(c, *ret);
	}
	return sim_journal_thing(c, (*ret)->doc, err);
}

/* What may change of one that is there. */
static int renew(struct sim_cloud *c, struct sim_holding *h,
		 const struct sim_thing *ask, struct err *err)
{
	struct sim_thing t = *h->doc;

	if (same(t.kind, "group")) {
		t.rules = ask->rules;
	} else if (same(t.kind, "volume") && ask->size_gib > t.size_gib) {
		t.size_gib = ask->size_gib;
	} else if (same(t.kind, "network") && ask->prefix &&
		   !same(t.prefix, ask->prefix)) {
		return sim_refuse(err, ERR_CONFLICT, "PrefixMismatch",
				  "the network has the prefix %s", t.prefix);
	} else {
		return 0;
	}
	sim_holding_revise(h, &t);
	return sim_journal_thing(c, h->doc, err);
}

static const char *text(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static void answer_thing(const struct sim_thing *t, struct arena *a,
			 struct sim_thing *ret)
{
	*ret = (struct sim_thing){
		.id = text(a, t->id),
		.kind = text(a, t->kind),
		.ours = text(a, t->ours),
		.state = text(a, t->state),
		.reason = text(a, t->reason),
		.gateway = text(a, t->gateway),
		.consistency = text(a, t->consistency),
		.machine = text(a, t->machine),
		.device = text(a, t->device),
		.size_gib = t->size_gib,
		.bytes = t->bytes,
		.min_disk_gib = t->min_disk_gib,
	};
}

int sim_do_ensure(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_thing *t = ask;
	struct sim_holding *h;

	h = t->kind ? find(c, t->kind, t->ours, t->id) : NULL;
	if ((h ? renew(c, h, t, err) : make(c, t, a, &h, err)) < 0)
		return -1;
	answer_thing(h->doc, a, answer);
	return 0;
}

/* Who has it. */
static const char *user_of(struct sim_cloud *c, const struct sim_holding *h)
{
	struct sim_place *p;

	if (h->doc->machine)
		return h->doc->machine;
	if (!same(h->doc->kind, "network") && !same(h->doc->kind, "group"))
		return NULL;
	for (size_t i = 0; (p = map_next(&c->machines, &i));) {
		const char *const *groups = p->doc->groups.at;

		if (sim_place_gone(p))
			continue;
		if (same(p->doc->network, h->item.id))
			return p->item.id;
		for (size_t g = 0; g < p->doc->groups.n; g++)
			if (same(groups[g], h->item.id))
				return p->item.id;
	}
	return NULL;
}

int sim_do_remove(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_holding *h;
	const char *user;
	char id[SIM_ID_LEN + 1];

	(void)a;
	(void)answer;
	h = act->kind ? find(c, act->kind, act->ours, act->id) : NULL;
	if (!h)
		return sim_refuse(err, ERR_NOT_FOUND, "NotFound",
				  "there is no such %s",
				  act->kind ? act->kind : "thing");
	user = user_of(c, h);
	if (user) {
		sim_refuse(err, ERR_CONFLICT, "InUse",
			   "the %s is used by machine %s", act->kind, user);
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	memcpy(id, h->item.id, sizeof(id));
	sim_holding_free(c, h);
	return sim_journal_gone(c, id, err);
}

static const char *free_device(struct sim_cloud *c, const char *machine,
			       char out[16])
{
	struct sorted_walk w = sorted_from(&c->all_things, NULL);
	unsigned taken = 0;
	struct sim_holding *h;

	while ((h = sorted_next(&w)))
		if (same(h->doc->machine, machine) && h->doc->device &&
		    strncmp(h->doc->device, "/dev/vd", 7) == 0)
			taken |= 1U << (h->doc->device[7] & 31) >> 1;
	for (int i = 1; i < 26; i++)
		if (!(taken & 1U << i)) {
			snprintf(out, 16, "/dev/vd%c", 'a' + i);
			return out;
		}
	return NULL;
}

static int attach(struct sim_cloud *c, struct sim_place *p,
		  struct sim_holding *h, struct err *err)
{
	struct sim_thing t = *h->doc;
	char device[16];

	t.machine = p->item.id;
	t.device = free_device(c, p->item.id, device);
	if (!t.device)
		return sim_refuse(err, ERR_QUOTA, "TooManyVolumes",
				  "the machine has 25 volumes");
	if (t.zone && p->doc->zone && !same(t.zone, p->doc->zone))
		return sim_refuse(err, ERR_INVALID, "WrongZone",
				  "the volume is in zone %s", t.zone);
	sim_holding_revise(h, &t);
	p->volumes = true;
	return sim_journal_thing(c, h->doc, err);
}

int sim_do_attach(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_place *p = sim_machine_find(c, act->id, err);
	struct sim_text *ret = answer;
	struct sim_holding *h;

	if (!p)
		return -1;
	h = act->volume ? find(c, "volume", NULL, act->volume) : NULL;
	if (!h)
		return sim_refuse(err, ERR_NOT_FOUND, "NotFound",
				  "there is no such volume");
	if (h->doc->machine && !same(h->doc->machine, act->id))
		return sim_refuse(err, ERR_CONFLICT, "InUse",
				  "the volume is attached to machine %s",
				  h->doc->machine);
	if (!h->doc->machine && attach(c, p, h, err) < 0)
		return -1;
	ret->text = arena_strdup(a, h->doc->device);
	return 0;
}

int sim_do_detach(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	const struct sim_act *act = ask;
	struct sim_holding *h =
		act->volume ? find(c, "volume", NULL, act->volume) : NULL;

	(void)a;
	(void)answer;
	if (!h || !same(h->doc->machine, act->id))
		return sim_refuse(err, ERR_NOT_FOUND, "NotAttached",
				  "the volume is not attached to it");
	h->doc->machine = h->doc->device = NULL;
	return sim_journal_thing(c, h->doc, err);
}

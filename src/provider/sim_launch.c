/* How a machine comes to be. */
#include <string.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/mem.h"
#include "model/reach.h"
#include "model/securitygroup.h"
#include "provider/sim_catalogue.h"
#include "provider/sim_machines.h"
#include "provider/sim_place.h"

enum { TAGS_MOST = 64, KEY_MOST = 128, VALUE_MOST = 256 };
enum { PORT_FIRST = 20000, PORTS_MOST = 40000 };

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

struct boots { /* what an image says of itself */
	const char *architecture;
	int64_t min_disk_gib;
	bool bare_metal;
};

static int find_image(struct sim_cloud *c, const char *id, struct boots *ret,
		      struct err *err)
{
	const struct sim_image *i = sim_image(c->options, id);
	const struct sim_holding *h = map_get(&c->things, id);

	if (i) {
		*ret = (struct boots){i->architecture, i->min_disk_gib,
				      i->bare_metal};
		return 0;
	}
	if (!h || !same(h->doc->kind, "image"))
		return sim_refuse(err, ERR_INVALID, "InvalidImage",
				  "there is no image %s", id);
	if (!same(h->doc->state, "available"))
		return sim_refuse(err, ERR_CONFLICT, "ImageNotReady",
				  "the image %s is %s", id, h->doc->state);
	*ret = (struct boots){h->doc->architecture, h->doc->min_disk_gib,
			      h->doc->bare_metal};
	return 0;
}

static int check_image(struct sim_cloud *c, const struct sim_machine *new,
		       const struct sim_flavor *f, struct err *err)
{
	struct boots i = {0};

	if (find_image(c, new->image, &i, err) < 0)
		return -1;
	if (i.architecture && !same(i.architecture, f->architecture))
		return sim_refuse(err, ERR_INVALID, "ImageMismatch",
				  "the image %s is for %s, the flavor %s is %s",
				  new->image, i.architecture, f->id,
				  f->architecture);
	if (i.min_disk_gib != FIELD_NONE && i.min_disk_gib > new->root_disk_gib)
		return sim_refuse(err, ERR_INVALID, "DiskTooSmall",
				  "the image %s needs a disk of %lld GiB",
				  new->image, (long long)i.min_disk_gib);
	if (i.bare_metal && !f->bare_metal)
		return sim_refuse(err, ERR_INVALID, "ImageMismatch",
				  "the image %s is for bare metal", new->image);
	return 0;
}

static int check_thing(struct sim_cloud *c, const char *id, const char *kind,
		       struct err *err)
{
	const struct sim_holding *h = map_get(&c->things, id);

	if (!h || !same(h->doc->kind, kind))
		return sim_refuse(err, ERR_INVALID, "InvalidReference",
				  "there is no %s %s", kind, id);
	return 0;
}

int sim_tags_check(const struct items *tags, struct err *err)
{
	const struct field_tag *t = tags->at;
	bool good = tags->n <= TAGS_MOST;

	for (size_t i = 0; good && i < tags->n; i++)
		good = strlen(t[i].key) <= KEY_MOST &&
		       strlen(t[i].value) <= VALUE_MOST;
	if (good)
		return 0;
	return sim_refuse(err, ERR_INVALID, "InvalidTags",
			  "a machine has %d tags, a key %d and a value %d "
			  "bytes at most",
			  TAGS_MOST, KEY_MOST, VALUE_MOST);
}

int sim_launch_check(struct sim_cloud *c, const struct sim_machine *new,
		     struct err *err)
{
	const struct sim_flavor *f;
	const char *const *groups = new->groups.at;

	if (!new->flavor || !new->image || !new->name || !new->name[0])
		return sim_refuse(err, ERR_INVALID, "MissingParameter",
				  "a machine needs a name, a flavor and an "
				  "image");
	if (strlen(new->name) > VALUE_MOST)
		return sim_refuse(err, ERR_INVALID, "InvalidName",
				  "a name has %d bytes at most", VALUE_MOST);
	if (sim_tags_check(&new->tags, err) < 0)
		return -1;
	f = sim_flavor(c->options, new->flavor);
	if (!f)
		return sim_refuse(err, ERR_INVALID, "InvalidFlavor",
				  "there is no flavor %s", new->flavor);
	if (new->user_data &&
	    strlen(new->user_data) > BASE64URL_TEXT(SIM_USER_DATA_MOST))
		return sim_refuse(err, ERR_INVALID, "UserDataTooLarge",
				  "user data has at most %d bytes",
				  SIM_USER_DATA_MOST);
	if (new->network && check_thing(c, new->network, "network", err) < 0)
		return -1;
	for (size_t i = 0; i < new->groups.n; i++)
		if (check_thing(c, groups[i], "group", err) < 0)
			return -1;
	return check_image(c, new, f, err);
}

static int refuse_capacity(const struct sim_machine *m,
			   const struct sim_capacity *row, struct err *err)
{
	sim_refuse(err, ERR_CAPACITY, "InsufficientCapacity",
		   "there is no room for another %s%s%s", m->flavor,
		   m->zone ? " in zone " : "", m->zone ? m->zone : "");
	err->scope = row->zone ? ERR_SCOPE_ZONE : ERR_SCOPE_FLAVOR;
	return -1;
}

/* Where it goes: where it was asked for, or where there is room. */
static int choose_zone(struct sim_cloud *c, struct sim_machine *m,
		       struct err *err)
{
	const char *const *zones = c->options->zones.at;
	size_t n = c->options->zones.n;
	const struct sim_capacity *full = NULL;
	bool found = !n && !m->zone;

	for (size_t i = 0; m->zone && i < n; i++)
		found |= same(zones[i], m->zone);
	if (m->zone || !n) {
		if (!found)
			return sim_refuse(err, ERR_INVALID, "InvalidZone",
					  "there is no zone %s", m->zone);
		full = sim_place_full(c, m);
		return full ? refuse_capacity(m, full, err) : 0;
	}
	for (size_t i = 0; i < n; i++) {
		m->zone = zones[(c->sequence + i) % n];
		full = sim_place_full(c, m);
		if (!full)
			return 0;
	}
	m->zone = NULL;
	refuse_capacity(m, full, err);
	err->scope = ERR_SCOPE_FLAVOR;
	return -1;
}

/* The same token is the same launch, unless it asks for something else. */
static int again(struct sim_cloud *c, const struct sim_machine *new,
		 struct sim_place **ret, struct err *err)
{
	struct sim_place *p = NULL;

	if (new->token && c->options->launch_tokens)
		p = map_get(&c->tokens, new->token);
	*ret = p;
	if (p && (!same(p->doc->flavor, new->flavor) ||
		  !same(p->doc->image, new->image) ||
		  !same(p->doc->name, new->name)))
		return sim_refuse(err, ERR_CONFLICT, "TokenMismatch",
				  "the token was used for another launch");
	return 0;
}

static void keep_user_data(struct sim_cloud *c, struct sim_machine *m,
			   struct arena *a)
{
	unsigned char sum[DIGEST_SHA256_LEN];
	char *hex;

	if (!m->user_data)
		return;
	hex = arena_alloc(a, 2 * DIGEST_SHA256_LEN + 1);
	digest_sha256(m->user_data, strlen(m->user_data), sum);
	digest_hex(sum, sizeof(sum), hex);
	m->user_data_digest = hex;
	if (!c->options->keeps_user_data)
		m->user_data = NULL;
}

/* Where its ports are reached: by its number, so that nobody else's are
 * there. */
static void publish(const struct sim_cloud *c, struct sim_machine *m,
		    struct arena *a)
{
	const int64_t *guest = c->options->publish.at;
	size_t n = c->options->publish.n;
	struct port *to = arena_alloc(a, n * sizeof(*to) + 1);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct port){
			.guest = guest[i],
			.protocol = PROTOCOL_TCP,
			.address = "203.0.113.1",
			.port = PORT_FIRST +
				(int64_t)((c->sequence * n + i) % PORTS_MOST),
		};
	m->ports = (struct items){to, n};
}

static int make(struct sim_cloud *c, struct sim_machine *m, struct arena *a,
		struct sim_place **ret, struct err *err)
{
	const struct sim_options *o = c->options;
	char id[SIM_ID_LEN + 1];
	struct sim_place *p;

	sim_next_id(c, "i", id);
	m->id = id;
	publish(c, m, a);
	m->state = SIM_BUILDING;
	m->created_at = c->now;
	p = sim_place_new(c, m);
	m->id = p->item.id;
	if (sim_place_addresses(c, p, err) < 0) {
		sim_place_free(c, p);
		return -1;
	}
	if (sim_chance(c, o->stuck_rate))
		sim_place_move(c, p, SIM_BUILDING, SIM_ACTIVE, SIM_NEVER);
	else if (sim_chance(c, o->boot_failure_rate))
		sim_place_move(c, p, SIM_BUILDING, SIM_ERROR,
			       sim_delay(c, o->launch_ms));
	else
		sim_place_move(c, p, SIM_BUILDING, SIM_ACTIVE,
			       sim_delay(c, o->launch_ms));
	*ret = p;
	return sim_journal_machine(c, p->doc, err);
}

/* What can be asked for; the rest is the cloud's to say. */
static struct sim_machine wanted(const struct sim_machine *ask)
{
	return (struct sim_machine){
		.token = ask->token,
		.name = ask->name,
		.flavor = ask->flavor,
		.image = ask->image,
		.zone = ask->zone,
		.network = ask->network,
		.spot = ask->spot,
		.has_public = ask->has_public,
		.root_disk_gib = ask->root_disk_gib,
		.root_disk_class = ask->root_disk_class,
		.groups = ask->groups,
		.sources = ask->sources,
		.ssh_keys = ask->ssh_keys,
		.tags = ask->tags,
		.user_data = ask->user_data,
		.host_key = ask->host_key,
	};
}

int sim_do_launch(struct sim_cloud *c, const void *ask, struct arena *a,
		  void *answer, struct err *err)
{
	struct sim_machine m = wanted(ask);
	const struct sim_flavor *f;
	struct sim_place *p;

	f = m.flavor ? sim_flavor(c->options, m.flavor) : NULL;
	if (f && (m.root_disk_gib <= 0 || f->fixed_disk))
		m.root_disk_gib = f->disk_gib;
	if (again(c, &m, &p, err) < 0)
		return -1;
	if (!p) {
		if (sim_launch_check(c, &m, err) < 0)
			return -1;
		if (c->options->account_quota &&
		    c->live >= (size_t)c->options->account_quota)
			return sim_refuse(err, ERR_QUOTA, "QuotaExceeded",
					  "the account may have %lld machines",
					  (long long)c->options->account_quota);
		if (choose_zone(c, &m, err) < 0)
			return -1;
		keep_user_data(c, &m, a);
		if (!c->options->tags)
			m.tags = (struct items){0};
		if (make(c, &m, a, &p, err) < 0)
			return -1;
	}
	sim_machine_copy(c, p->doc, a, answer);
	return 0;
}

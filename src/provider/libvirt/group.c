#include "provider/libvirt/group.h"

#include <string.h>

#include "base/field_ops.h"
#include "model/status.h"
#include "provider/libvirt/nwfilter.h"

#define ARENA_MOST ((size_t)64 << 20)

static bool has(const struct items *names, const char *name)
{
	const char *const *n = names->at;

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(n[i], name) == 0)
			return true;
	return false;
}

/* Filters of machines that are in a group. */
struct members {
	struct lv *lv;
	const char *group;
	struct arena *a;
	struct items addresses; /* of const char * */
	size_t room;
	struct items machines; /* of struct member */
	size_t machines_room;
	bool partial; /* a host did not answer */
};

struct member {
	struct host *host;
	const char *uuid, *name;
};

/* Room for one more of SIZE. */
static void *more(struct arena *a, struct items *i, size_t *room, size_t size)
{
	if (i->n == *room) {
		char *at;

		*room = *room ? 2 * *room : 16;
		at = arena_alloc(a, *room * size);
		if (i->n)
			memcpy(at, i->at, i->n * size);
		i->at = at;
	}
	return (char *)i->at + size * i->n++;
}

static void add_address(struct members *m, const char *address)
{
	if (!has(&m->addresses, address))
		*(const char **)more(m->a, &m->addresses, &m->room,
				     sizeof(address)) = address;
}

static void add_old(struct members *m, const struct filter *f,
		    const char *group)
{
	struct items old = filter_members(f, group, m->a);

	for (size_t i = 0; i < old.n; i++)
		add_address(m, ((const char **)old.at)[i]);
}

/* What a machine may send as, it may be known by. */
static void note_addresses(struct members *m, const struct filter *f)
{
	const struct filter_rule *r = f->rules.at;

	for (size_t i = 0; i < f->rules.n; i++) {
		const char *address = field_tag_get(&r[i].attrs, "srcipaddr");
		const char *mask = field_tag_get(&r[i].attrs, "srcipmask");

		if (!address || !r[i].protocol || r[i].attrs.n > 2 ||
		    strcmp(r[i].action, "accept") != 0 ||
		    (strcmp(r[i].protocol, "ip") != 0 &&
		     strcmp(r[i].protocol, "ipv6") != 0) ||
		    strcmp(address, "::") == 0 ||
		    strncmp(address, "fe80:", 5) == 0)
			continue;
		add_address(m, mask ? arena_join(m->a, address, "/", mask, NULL)
				    : address);
	}
}

static int note_member(struct host *h, const char *name, const char *uuid,
		       void *ctx, struct err *err)
{
	struct members *m = ctx;
	char network[UUID_LEN + 1], address[INET_ADDRSTRLEN];
	struct filter f;
	bool found;

	if (!filter_is_machine(name, m->lv->base.installation, network,
			       address))
		return 0;
	if (nwfilter_get(h, name, m->a, &f, &found, err) < 0)
		return -1;
	if (!found || !has(&f.refs, m->group))
		return 0;
	note_addresses(m, &f);
	*(struct member *)more(m->a, &m->machines, &m->machines_room,
			       sizeof(struct member)) =
		(struct member){h, arena_strdup(m->a, uuid), f.name};
	return 0;
}

/* On every host that answers; *PARTIAL is set, and ERR says why, when one does
 * not. */
static int on_all(struct lv *lv, nwfilter_visit *visit, void *ctx,
		  bool *partial, struct err *err)
{
	struct err deaf = {0};

	for (size_t i = 0; i < lv->n_hosts; i++) {
		if (network_is_user(lv->hosts[i]) ||
		    nwfilter_each(lv->hosts[i], visit, ctx, err) == 0)
			continue;
		if (err->code != ERR_UNAVAILABLE)
			return -1;
		deaf = *err;
		*partial = true;
	}
	if (deaf.code)
		*err = deaf;
	return 0;
}

static int members_of(struct lv *lv, const char *group, struct arena *a,
		      struct members *ret, struct err *err)
{
	*ret = (struct members){.lv = lv, .group = group, .a = a};
	return on_all(lv, note_member, ret, &ret->partial, err);
}

/* F's rules have the members of the groups that they name.  Who is on a host
 * that does not answer stays who he was. */
static int fill(struct lv *lv, struct filter *f, struct arena *a,
		struct err *err)
{
	struct items peers = filter_peers(f, a);
	const char *const *names = peers.at;

	for (size_t i = 0; i < peers.n; i++) {
		struct members m;

		if (members_of(lv, names[i], a, &m, err) < 0)
			return -1;
		if (m.partial) {
			add_old(&m, f, names[i]);
			lv->behind = true;
		}
		filter_follow(f, &(struct filter_peer){names[i], m.addresses},
			      a);
	}
	return 0;
}

struct following {
	struct lv *lv;
	const char *group;
	bool named;
	struct members members;
	struct arena *a;
};

/* The filter NAME, when it is of a group that names the one that is followed. */
static int naming(struct host *h, const char *name, struct following *g,
		  struct filter *ret, bool *ret_is, struct err *err)
{
	char ours[UUID_LEN + 1];
	struct items peers;
	bool found;

	*ret_is = false;
	if (!filter_is_group(name, g->lv->base.installation, ours))
		return 0;
	if (nwfilter_get(h, name, g->a, ret, &found, err) < 0)
		return -1;
	if (!found)
		return 0;
	peers = filter_peers(ret, g->a);
	*ret_is = has(&peers, g->group);
	return 0;
}

static int look_whether_named(struct host *h, const char *name,
			      const char *uuid, void *ctx, struct err *err)
{
	struct following *g = ctx;
	struct filter f;
	bool is = false;

	(void)uuid;
	if (!g->named && naming(h, name, g, &f, &is, err) < 0)
		return -1;
	g->named |= is;
	return 0;
}

static int renew(struct host *h, const char *name, const char *uuid, void *ctx,
		 struct err *err)
{
	struct following *g = ctx;
	struct filter f;
	bool is;

	(void)uuid;
	if (naming(h, name, g, &f, &is, err) < 0)
		return -1;
	if (!is)
		return 0;
	if (g->members.partial)
		add_old(&g->members, &f, g->group);
	filter_follow(&f, &(struct filter_peer){g->group, g->members.addresses},
		      g->a);
	return nwfilter_put(h, &f, err);
}

/* Most groups are named by none: then it does not matter who is in them. */
static int follow(struct lv *lv, const char *name, struct arena *a,
		  bool *partial, struct err *err)
{
	struct following g = {.lv = lv, .group = name, .a = a};

	if (on_all(lv, look_whether_named, &g, partial, err) < 0)
		return -1;
	if (!g.named)
		return 0;
	if (members_of(lv, name, a, &g.members, err) < 0)
		return -1;
	return on_all(lv, renew, &g, partial, err);
}

int group_follow(struct lv *lv, const struct items *names, struct arena *a,
		 struct err *err)
{
	const char *const *n = names->at;
	bool partial = false;
	int r = 0;

	pthread_mutex_lock(&lv->filtering);
	for (size_t i = 0; i < names->n && r == 0; i++)
		r = follow(lv, n[i], a, &partial, err);
	lv->behind |= partial || r < 0;
	pthread_mutex_unlock(&lv->filtering);
	return r;
}

static int refill(struct host *h, const char *name, const char *uuid, void *ctx,
		  struct err *err)
{
	struct arena *a = ctx;
	char ours[UUID_LEN + 1];
	struct filter f;
	bool found;

	(void)uuid;
	if (!filter_is_group(name, h->lv->base.installation, ours))
		return 0;
	if (nwfilter_get(h, name, a, &f, &found, err) < 0)
		return -1;
	if (!found || !filter_peers(&f, a).n)
		return 0;
	if (fill(h->lv, &f, a, err) < 0)
		return -1;
	return nwfilter_put(h, &f, err);
}

void group_catch_up(struct lv *lv)
{
	bool partial = false;
	struct arena a;
	struct err err;

	pthread_mutex_lock(&lv->filtering);
	if (lv->behind) {
		lv->behind = false;
		arena_init(&a, ARENA_MOST);
		if (on_all(lv, refill, &a, &partial, &err) < 0 || partial)
			lv->behind = true;
		arena_release(&a);
	}
	pthread_mutex_unlock(&lv->filtering);
}

/* On every host that answers.  One that does not may have an older one of it,
 * and then it is not done; one that is new it can have no machine in. */
static int put_on_all(struct lv *lv, const struct filter *f, struct arena *a,
		      struct err *err)
{
	struct err deaf = {0};
	bool found, old = false;
	size_t done = 0;

	for (size_t i = 0; i < lv->n_hosts; i++) {
		struct host *h = lv->hosts[i];
		struct filter have;

		if (network_is_user(h))
			continue;
		if (nwfilter_get(h, f->name, a, &have, &found, err) == 0 &&
		    nwfilter_put(h, f, err) == 0) {
			old |= found;
			done++;
		} else if (err->code == ERR_UNAVAILABLE) {
			deaf = *err;
		} else {
			return -1;
		}
	}
	if (!deaf.code || (done && !old))
		return 0;
	*err = deaf;
	return -1;
}

/* For each rule the filter of the group that it names, or NULL. */
static int check_peers(const struct provider *p, const struct group_spec *spec,
		       struct err *err)
{
	const char *const *peers = spec->peers.at;
	char ours[UUID_LEN + 1];

	for (size_t i = 0; i < spec->peers.n; i++)
		if (peers[i] &&
		    !filter_is_group(peers[i], p->installation, ours))
			return err_set(err, ERR_INVALID, "there is no group %s",
				       peers[i]);
	return 0;
}

int group_ensure(struct provider *p, const struct group_spec *spec,
		 struct arena *a, struct backing *ret, struct err *err)
{
	struct lv *lv = lv_of(p);
	struct netdef n;
	struct filter f;
	int r;

	if (check_peers(p, spec, err) < 0 ||
	    network_know(lv, spec->network, a, &n, err) < 0)
		return -1;
	f = filter_group(spec, p->installation,
			 n.mode == NETWORK_BRIDGE ? NULL : n.gateway,
			 n.prefix6 != NULL, a);
	pthread_mutex_lock(&lv->filtering);
	r = fill(lv, &f, a, err) == 0 ? put_on_all(lv, &f, a, err) : -1;
	pthread_mutex_unlock(&lv->filtering);
	if (r < 0)
		return -1;
	*ret = (struct backing){
		.id = f.name, .state = BACKED_READY, .native_state = "defined"};
	return 0;
}

/* Filters that are left of machines that are gone do not count. */
static int drop_leftover(const struct member *m, bool *ret_gone,
			 struct err *err)
{
	auto_domain virDomainPtr d = NULL;

	*ret_gone = false;
	if (host_domain(m->host, m->uuid, &d, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	*ret_gone = true;
	return nwfilter_drop(m->host, m->name, err);
}

int group_remove(struct provider *p, const struct backing_id *id,
		 struct err *err)
{
	struct lv *lv = lv_of(p);
	char name[FILTER_NAME_LEN + 1];
	struct members m;
	struct arena a;
	int r;

	filter_group_name(p->installation, id->ours, name);
	arena_init(&a, ARENA_MOST);
	r = members_of(lv, name, &a, &m, err);
	if (m.partial)
		r = -1;
	for (size_t i = 0; i < m.machines.n && r == 0; i++) {
		const struct member *one = (struct member *)m.machines.at + i;
		bool gone;

		r = drop_leftover(one, &gone, err);
		if (r == 0 && !gone) {
			r = err_set(err, ERR_CONFLICT,
				    "the group is used by machine %s",
				    one->uuid);
			err->retry = ERR_RETRY_LATER;
		}
	}
	for (size_t i = 0; i < lv->n_hosts && r == 0; i++)
		if (!network_is_user(lv->hosts[i]))
			r = nwfilter_drop(lv->hosts[i], name, err);
	arena_release(&a);
	return r;
}

struct noting {
	const char *installation;
	struct arena *a;
	struct buf *things;
};

static int note_group(struct host *h, const char *name, const char *uuid,
		      void *ctx, struct err *err)
{
	struct noting *n = ctx;
	char ours[UUID_LEN + 1];

	(void)h;
	(void)uuid;
	(void)err;
	if (filter_is_group(name, n->installation, ours))
		things_add(n->things,
			   &(struct thing){.kind = THING_GROUP,
					   .id = arena_strdup(n->a, name),
					   .ours = arena_strdup(n->a, ours)});
	return 0;
}

int group_things(struct lv *lv, const char *installation, struct arena *a,
		 struct buf *things, struct err *err)
{
	struct noting n = {installation, a, things};
	bool partial = false;

	if (on_all(lv, note_group, &n, &partial, err) < 0)
		return -1;
	/* A list is whole, or not one; ERR says who did not answer. */
	return partial ? -1 : 0;
}

static int bring(struct host *h, const char *name, struct arena *a,
		 struct err *err)
{
	struct lv *lv = h->lv;
	char ours[UUID_LEN + 1];
	struct filter f;
	bool found = false;

	if (!filter_is_group(name, lv->base.installation, ours))
		return err_set(err, ERR_INVALID, "there is no group %s", name);
	if (nwfilter_get(h, name, a, &f, &found, err) < 0)
		return -1;
	if (found)
		return 0;
	for (size_t i = 0; i < lv->n_hosts && !found; i++)
		if (lv->hosts[i] != h && !network_is_user(lv->hosts[i]) &&
		    nwfilter_get(lv->hosts[i], name, a, &f, &found, err) < 0)
			return -1;
	return found ? nwfilter_put(h, &f, err)
		     : err_set(err, ERR_INVALID, "there is no group %s", name);
}

int group_bring(struct host *h, const struct items *names, struct arena *a,
		struct err *err)
{
	const char *const *n = names->at;
	int r = 0;

	pthread_mutex_lock(&h->lv->filtering);
	for (size_t i = 0; i < names->n && r == 0; i++)
		r = bring(h, n[i], a, err);
	pthread_mutex_unlock(&h->lv->filtering);
	return r;
}

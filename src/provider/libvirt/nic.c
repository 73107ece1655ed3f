#include "provider/libvirt/nic.h"

#include <stdlib.h>
#include <string.h>

#include "provider/libvirt/address.h"
#include "provider/libvirt/group.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/nwfilter.h"

#define ARENA_MOST ((size_t)64 << 20)

static const char *user4(const struct netdef *n, unsigned which,
			 struct arena *a)
{
	char text[INET_ADDRSTRLEN];
	struct net4 net = {0};

	(void)address_net4(n->prefix, &net);
	address_text4(address_user4(&net, which), text);
	return arena_strdup(a, text);
}

static struct items one(const char *text, struct arena *a)
{
	const char **at = arena_alloc(a, sizeof(*at));

	*at = text;
	return (struct items){at, 1};
}

static const char *address6(const struct netdef *n, const char *mac,
			    struct arena *a)
{
	char text[INET6_ADDRSTRLEN];

	if (!n->prefix6 || !address_eui64(n->prefix6, mac, text))
		return NULL;
	return arena_strdup(a, text);
}

/* What a guest sees of the prefix is one /64, the first. */
static const char *prefix6(const struct netdef *n, struct arena *a)
{
	char text[INET6_ADDRSTRLEN];

	if (!n->prefix6 || !address_nth6(n->prefix6, 0, text))
		return NULL;
	return arena_join(a, text, "/64", NULL);
}

/* Each machine is alone, so all of them may have the same. */
static void user(const struct netdef *n, const char *uuid, struct arena *a,
		 struct nic *ret)
{
	*ret = (struct nic){
		.kind = NIC_USER,
		.mac = arena_printf(a, "52:54:%.2s:%.2s:%.2s:%.2s", uuid,
				    uuid + 2, uuid + 4, uuid + 6),
		.address = user4(n, USER_GUEST, a),
		.prefix = n->prefix,
		.prefix6 = prefix6(n, a),
		.gateway = n->gateway,
		.gateway6 = n->gateway6,
		.dns = n->dns.n ? n->dns : one(user4(n, USER_DNS, a), a),
	};
	ret->address6 = address6(n, ret->mac, a);
}

static void network(const struct netdef *n, const char *address,
		    const char *filter, struct arena *a, struct nic *ret)
{
	char mac[ADDRESS_MAC_LEN + 1];
	uint32_t in = 0;

	(void)address_parse4(address, &in);
	address_mac(in, mac);
	*ret = (struct nic){
		.kind = NIC_NETWORK,
		.source = arena_join(a, "muster-", n->id, NULL),
		.mac = arena_strdup(a, mac),
		.address = address,
		.prefix = n->prefix,
		.prefix6 = prefix6(n, a),
		.dns = n->dns,
		.routes = n->routes,
		.filter = filter,
	};
	if (n->mode != NETWORK_ISOLATED) {
		ret->gateway = n->gateway;
		ret->gateway6 = n->gateway6;
	}
	/* On a bridge of the host's nobody of ours answers. */
	if (!n->dns.n && n->mode != NETWORK_BRIDGE)
		ret->dns = one(n->gateway, a);
	ret->address6 = address6(n, ret->mac, a);
}

struct taking {
	const char *installation, *network;
	struct arena *a;
	uint32_t *taken;
	size_t n, room;
};

static int note_taken(struct host *h, const char *name, const char *uuid,
		      void *ctx, struct err *err)
{
	struct taking *t = ctx;
	char of[UUID_LEN + 1], text[INET_ADDRSTRLEN];

	(void)h;
	(void)uuid;
	(void)err;
	if (!filter_is_machine(name, t->installation, of, text) ||
	    strcmp(of, t->network) != 0)
		return 0;
	if (t->n == t->room) {
		uint32_t *at;

		t->room = t->room ? 2 * t->room : 256;
		at = arena_alloc(t->a, t->room * sizeof(*at));
		if (t->n)
			memcpy(at, t->taken, t->n * sizeof(*at));
		t->taken = at;
	}
	t->n += address_parse4(text, &t->taken[t->n]);
	return 0;
}

static int order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Who gets an interface, and in what. */
struct taker {
	struct host *host;
	struct netdef network;
	const struct machine_spec *spec;
	const char *uuid;
	struct arena *a;
};

/* An address of the network that no machine has on any host; one that does not
 * answer is not waited for, as everybody has another wish. */
static int choose(const struct taker *m, const char **ret, struct err *err)
{
	const struct lv *lv = m->host->lv;
	const struct netdef *n = &m->network;
	struct taking t = {.installation = lv->base.installation,
			   .network = n->id,
			   .a = m->a};
	struct address_pool *pool = arena_alloc(m->a, sizeof(*pool));
	uint32_t wish =
		(uint32_t)strtoul(arena_memdup(m->a, m->uuid, 8), NULL, 16);
	char text[INET_ADDRSTRLEN];
	uint32_t got;

	for (size_t i = 0; i < lv->n_hosts; i++) {
		struct host *other = lv->hosts[i];

		if (!network_is_user(other) &&
		    nwfilter_each(other, note_taken, &t, err) < 0 &&
		    (other == m->host || err->code != ERR_UNAVAILABLE))
			return -1;
	}
	if (t.n)
		qsort(t.taken, t.n, sizeof(*t.taken), order);
	address_pool(n->prefix, &n->reserved, pool);
	got = address_pick(pool, t.taken, t.n, wish);
	if (!got)
		return err_set(err, ERR_CAPACITY,
			       "the network has no address left");
	address_text4(got, text);
	*ret = arena_strdup(m->a, text);
	return 0;
}

static int put_filter(const struct taker *m, const struct nic *nic,
		      struct err *err)
{
	const struct filter_machine its = {.uuid = m->uuid,
					   .mac = nic->mac,
					   .network = m->network.id,
					   .address = nic->address,
					   .address6 = nic->address6,
					   .sources = m->spec->sources,
					   .groups = m->spec->groups};
	struct filter f = filter_machine(&its, nic->filter, m->a);

	return nwfilter_put(m->host, &f, err);
}

/* What a process that is no more has left of launches that came to nothing; once,
 * before this one gives its first address there. */
static int sweep(struct host *h, struct err *err)
{
	bool used;

	if (h->swept)
		return 0;
	if (nic_used(h, NULL, true, &used, NULL, err) < 0)
		return -1;
	h->swept = true;
	return 0;
}

/* With the address that it has, or gets now. */
static int take_address(const struct taker *m, struct nic *ret, struct err *err)
{
	const char *installation = m->host->lv->base.installation;
	const struct netdef *n = &m->network;
	char name[FILTER_NAME_LEN + 1], of[UUID_LEN + 1];
	char text[INET_ADDRSTRLEN];
	const char *address = NULL;
	struct filter have;
	bool found;

	if (nwfilter_get_by_uuid(m->host, m->uuid, m->a, &have, &found, err) <
	    0)
		return -1;
	if (found && filter_is_machine(have.name, installation, of, text) &&
	    strcmp(of, n->id) == 0)
		address = arena_strdup(m->a, text);
	else if (sweep(m->host, err) < 0 || choose(m, &address, err) < 0)
		return -1;
	filter_machine_name(installation, n->id, address, name);
	network(n, address, arena_strdup(m->a, name), m->a, ret);
	return put_filter(m, ret, err);
}

int nic_make(struct host *h, const struct machine_spec *spec, const char *uuid,
	     struct arena *a, struct nic *ret, struct err *err)
{
	struct taker m = {.host = h, .spec = spec, .uuid = uuid, .a = a};
	struct lv *lv = h->lv;
	int r;

	if (network_find(h, spec->network, a, &m.network, err) < 0)
		return -1;
	if (network_is_user(h)) {
		user(&m.network, uuid, a, ret);
		return 0;
	}
	if (group_bring(h, &spec->groups, a, err) < 0)
		return -1;
	pthread_mutex_lock(&lv->addressing);
	r = take_address(&m, ret, err);
	pthread_mutex_unlock(&lv->addressing);
	return r < 0 ? -1 : group_follow(lv, &spec->groups, a, err);
}

static int drop(struct lv *lv, struct host *h, const char *uuid,
		struct arena *a, struct err *err)
{
	struct filter f;
	bool found;

	if (nwfilter_drop_by_uuid(h, uuid, a, &f, &found, err) < 0)
		return -1;
	return found ? group_follow(lv, &f.refs, a, err) : 0;
}

int nic_drop(struct lv *lv, struct host *h, const char *uuid, struct err *err)
{
	struct arena a;
	int r;

	if (network_is_user(h))
		return 0;
	arena_init(&a, ARENA_MOST);
	r = drop(lv, h, uuid, &a, err);
	arena_release(&a);
	return r;
}

struct using
{
	const char *installation, *network; /* NULL: whichever */
	bool clean, found;
	char *user;
};

static int note_user(struct host *h, const char *name, const char *uuid,
		     void *ctx, struct err *err)
{
	auto_domain virDomainPtr d = NULL;
	struct using *u = ctx;
	char of[UUID_LEN + 1], text[INET_ADDRSTRLEN];

	if (!filter_is_machine(name, u->installation, of, text) ||
	    (u->network && strcmp(of, u->network) != 0))
		return 0;
	if (host_domain(h, uuid, &d, err) == 0) {
		u->found = true;
		if (u->user)
			memcpy(u->user, uuid, VIR_UUID_STRING_BUFLEN);
		return 0;
	}
	if (err->code != ERR_NOT_FOUND)
		return -1;
	return u->clean ? nwfilter_drop(h, name, err) : 0;
}

int nic_used(struct host *h, const char *in_network, bool clean, bool *ret,
	     char *ret_user, struct err *err)
{
	struct using u = {.installation = h->lv->base.installation,
			  .network = in_network,
			  .clean = clean,
			  .user = ret_user};

	if (nwfilter_each(h, note_user, &u, err) < 0)
		return -1;
	*ret = u.found;
	return 0;
}

static int set_facts(struct domain_facts *f, struct arena *a, void *ctx,
		     struct err *err)
{
	const struct machine_spec *spec = ctx;

	(void)a;
	(void)err;
	f->groups = spec->groups;
	f->sources = spec->sources;
	return 0;
}

static int set_access(struct lv *lv, struct host *h, const char *uuid,
		      const struct machine_spec *spec, struct arena *a,
		      struct err *err)
{
	struct taker m = {.host = h, .spec = spec, .uuid = uuid, .a = a};
	char of[UUID_LEN + 1], text[INET_ADDRSTRLEN];
	struct filter have;
	struct nic nic;
	bool found;

	if (nwfilter_get_by_uuid(h, uuid, a, &have, &found, err) < 0)
		return -1;
	if (!found ||
	    !filter_is_machine(have.name, lv->base.installation, of, text))
		return err_set(err, ERR_UNSUPPORTED,
			       "the machine has no filter");
	if (network_find(h, of, a, &m.network, err) < 0 ||
	    group_bring(h, &spec->groups, a, err) < 0)
		return -1;
	network(&m.network, text, have.name, a, &nic);
	if (put_filter(&m, &nic, err) < 0 ||
	    group_follow(lv, &have.refs, a, err) < 0)
		return -1;
	return group_follow(lv, &spec->groups, a, err);
}

int nic_set_access(struct provider *p, const char *id,
		   const struct machine_spec *spec, struct err *err)
{
	auto_found struct found m = {0};
	struct machine_spec copy = *spec;
	struct arena a;
	int r;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	arena_init(&a, ARENA_MOST);
	r = set_access(lv_of(p), m.host, m.uuid, spec, &a, err);
	arena_release(&a);
	return r < 0 ? -1
		     : facts_change(m.host, m.domain, set_facts, &copy, err);
}

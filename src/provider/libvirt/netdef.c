#include "provider/libvirt/netdef.h"

#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "model/network.h"
#include "provider/libvirt/address.h"
#include "provider/libvirt/domain.h"
#include "provider/libvirt/xml.h"

#define AT(member)        offsetof(struct netdef, member)
#define ELEMENT           "network"
#define DNSMASQ_NAMESPACE "http://libvirt.org/schemas/network/dnsmasq/1.0"

/* So long a machine that is gone keeps its lease; its successor at the same
 * address has the same hardware address, and takes it over. */
enum { LEASE_MINUTES = 10 };

/* QEMU's user-mode network has a guest at its 15th address; what follows it
 * must be an address, too. */
enum { USER_LONGEST = 27 };

static const struct field route_fields[] = {
	{"prefix", FIELD_STRING, 0, offsetof(struct network_route, prefix)},
	{"nextHop", FIELD_STRING, 0, offsetof(struct network_route, next_hop)},
	{0},
};

const struct field netdef_fields[] = {
	{"id", FIELD_STRING, FIELD_REQUIRED, AT(id)},
	{"installation", FIELD_STRING, FIELD_REQUIRED, AT(installation)},
	{"ours", FIELD_STRING, FIELD_REQUIRED, AT(ours)},
	{"name", FIELD_STRING, 0, AT(name)},
	{"mode", FIELD_ENUM, 0, AT(mode), .names = network_mode_names},
	{"bridge", FIELD_STRING, 0, AT(bridge)},
	{"prefix", FIELD_STRING, FIELD_REQUIRED, AT(prefix)},
	{"prefix6", FIELD_STRING, 0, AT(prefix6)},
	{"gateway", FIELD_STRING, 0, AT(gateway)},
	{"gateway6", FIELD_STRING, 0, AT(gateway6)},
	{"dns", FIELD_LIST, 0, AT(dns), .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{"routes", FIELD_LIST, 0, AT(routes), .item = FIELD_OBJECT,
	 .fields = route_fields, .size = sizeof(struct network_route)},
	{"reserved", FIELD_LIST, 0, AT(reserved), .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{"createdAt", FIELD_TIME, 0, AT(created_at)},
	{0},
};

void netdef_id(const char *installation, const char *ours,
	       char out[UUID_LEN + 1])
{
	char name[96];

	snprintf(name, sizeof(name), "network/%s", ours);
	uuid_v5(installation, name, out);
}

/* What goes into a configuration file is written by us, never copied. */
static int plain(const char *text, struct arena *a, const char **ret,
		 struct err *err)
{
	char out[INET6_ADDRSTRLEN + 4];

	if (!address_plain(text, out))
		return err_set(err, ERR_INVALID, "\"%s\" is no address", text);
	*ret = arena_strdup(a, out);
	return 0;
}

static int plain_list(const struct items *from, struct arena *a,
		      struct items *ret, struct err *err)
{
	const char *const *texts = from->at;
	const char **to = arena_alloc(a, from->n * sizeof(*to) + 1);

	for (size_t i = 0; i < from->n; i++)
		if (plain(texts[i], a, &to[i], err) < 0)
			return -1;
	*ret = (struct items){to, from->n};
	return 0;
}

static int plain_routes(const struct items *from, struct arena *a,
			struct items *ret, struct err *err)
{
	const struct network_route *r = from->at;
	struct network_route *to = arena_alloc(a, from->n * sizeof(*to) + 1);

	for (size_t i = 0; i < from->n; i++)
		if (plain(r[i].prefix, a, &to[i].prefix, err) < 0 ||
		    plain(r[i].next_hop, a, &to[i].next_hop, err) < 0)
			return -1;
	*ret = (struct items){to, from->n};
	return 0;
}

static int gateways(struct netdef *n, struct arena *a, struct err *err)
{
	char text[INET6_ADDRSTRLEN];
	struct net4 net;

	if (!address_net4(n->prefix, &net))
		return err_set(err, ERR_INVALID, "\"%s\" is no IPv4 prefix",
			       n->prefix);
	if (!n->mode && net.bits > USER_LONGEST)
		return err_set(err, ERR_INVALID,
			       "the prefix is longer than the /%d that "
			       "networks of an embedded host can have",
			       USER_LONGEST);
	address_text4(n->mode ? net.first + 1
			      : address_user4(&net, USER_GATEWAY),
		      text);
	n->gateway = arena_strdup(a, text);
	if (!n->prefix6)
		return 0;
	if (!address_nth6(n->prefix6, n->mode ? 1 : USER_GATEWAY, text))
		return err_set(err, ERR_INVALID, "\"%s\" is no IPv6 prefix",
			       n->prefix6);
	n->gateway6 = arena_strdup(a, text);
	return 0;
}

int netdef_make(const struct network_spec *spec, const char *installation,
		const struct lv_network_options *mode, struct arena *a,
		struct netdef *ret, struct err *err)
{
	const struct network *n = spec->network;
	char id[UUID_LEN + 1];

	netdef_id(installation, spec->id.ours, id);
	*ret = (struct netdef){.id = arena_strdup(a, id),
			       .installation = installation,
			       .ours = spec->id.ours,
			       .name = n->meta.name,
			       .mode = mode ? mode->mode : 0,
			       .bridge = mode && mode->mode == NETWORK_BRIDGE
						 ? mode->bridge
						 : NULL};
	if (plain(n->spec.prefix, a, &ret->prefix, err) < 0 ||
	    (n->spec.prefix6 &&
	     plain(n->spec.prefix6, a, &ret->prefix6, err) < 0) ||
	    plain_list(&n->spec.dns, a, &ret->dns, err) < 0 ||
	    plain_list(&n->spec.reserved, a, &ret->reserved, err) < 0 ||
	    plain_routes(&n->spec.routes, a, &ret->routes, err) < 0)
		return -1;
	return gateways(ret, a, err);
}

void netdef_encode(const struct netdef *n, struct buf *out)
{
	field_encode(netdef_fields, n, FIELD_FULL, out);
}

int netdef_decode(const char *json, size_t len, struct arena *a,
		  struct netdef *ret, struct err *err)
{
	const struct node *node = json_parse(json, len, a, err);
	struct violations v;

	if (!node)
		return -1;
	violations_init(&v, a);
	*ret = (struct netdef){0};
	field_decode(netdef_fields, node, FIELD_STORED, ret, &v);
	return v.n ? violations_err(&v, err) : 0;
}

bool netdef_same(const struct netdef *a, const struct netdef *b)
{
	struct netdef x = *a, y = *b;
	struct buf p = BUF_INIT((size_t)1 << 20), q = BUF_INIT((size_t)1 << 20);
	bool same;

	x.created_at = y.created_at = 0;
	netdef_encode(&x, &p);
	netdef_encode(&y, &q);
	same = buf_ok(&p) && buf_ok(&q) &&
	       strcmp(buf_str(&p), buf_str(&q)) == 0;
	buf_release(&p);
	buf_release(&q);
	return same;
}

/* Everybody who may ever be there, so that nobody has to be told later: libvirt
 * makes a network's firewall anew whenever it is told of a host. */
static void write_hosts(struct xml *x, const struct netdef *n)
{
	struct address_pool *pool = xmalloc(sizeof(*pool));
	char text[INET_ADDRSTRLEN], mac[ADDRESS_MAC_LEN + 1];

	address_pool(n->prefix, &n->reserved, pool);
	xml_begin(x, "dhcp");
	for (size_t i = 0; i < pool->n; i++) {
		address_mac(pool->at[i], mac);
		address_text4(pool->at[i], text);
		xml_begin(x, "host");
		xml_attr(x, "mac", mac);
		xml_attr(x, "ip", text);
		xml_begin(x, "lease");
		xml_attr_int(x, "expiry", LEASE_MINUTES);
		xml_attr(x, "unit", "minutes");
		xml_end(x);
		xml_end(x);
	}
	xml_end(x);
	mem_free_at(&pool);
}

static void write_addresses(struct xml *x, const struct netdef *n)
{
	struct net4 net = {0};

	(void)address_net4(n->prefix, &net);
	xml_begin(x, "ip");
	xml_attr(x, "address", n->gateway);
	xml_attr_int(x, "prefix", net.bits);
	write_hosts(x, n);
	xml_end(x);
	if (!n->prefix6)
		return;
	xml_begin(x, "ip");
	xml_attr(x, "family", "ipv6");
	xml_attr(x, "address", n->gateway6);
	xml_attr_int(x, "prefix", 64);
	xml_end(x);
}

static void write_option(struct xml *x, const char *value)
{
	xml_begin(x, "dnsmasq:option");
	xml_attr(x, "value", value);
	xml_end(x);
}

/* Of one family: "dhcp-option=option:dns-server,9.9.9.9". */
static void write_dns(struct xml *x, const struct items *dns, bool six)
{
	const char *const *a = dns->at;
	struct buf b = BUF_INIT(4096);
	size_t said;

	buf_adds(&b, six ? "dhcp-option=option6:dns-server"
			 : "dhcp-option=option:dns-server");
	said = b.len;
	for (size_t i = 0; i < dns->n; i++)
		if (address_is6(a[i]) == six)
			buf_addf(&b, six ? ",[%s]" : ",%s", a[i]);
	if (b.len > said && buf_ok(&b))
		write_option(x, buf_str(&b));
	buf_release(&b);
}

/* Who is told of routes is told of the way out among them, or has none. */
static void write_routes(struct xml *x, const struct netdef *n)
{
	const struct network_route *r = n->routes.at;
	struct buf b = BUF_INIT(8192);
	size_t said;

	buf_adds(&b, "dhcp-option=option:classless-static-route");
	said = b.len;
	for (size_t i = 0; i < n->routes.n; i++)
		if (!address_is6(r[i].prefix))
			buf_addf(&b, ",%s%s,%s", r[i].prefix,
				 strchr(r[i].prefix, '/') ? "" : "/32",
				 r[i].next_hop);
	if (b.len > said && n->mode != NETWORK_ISOLATED)
		buf_addf(&b, ",0.0.0.0/0,%s", n->gateway);
	if (b.len > said && buf_ok(&b))
		write_option(x, buf_str(&b));
	buf_release(&b);
}

static void write_options(struct xml *x, const struct netdef *n)
{
	xml_begin(x, "dnsmasq:options");
	write_option(x, "dhcp-lease-max=4096");
	write_dns(x, &n->dns, false);
	write_dns(x, &n->dns, true);
	write_routes(x, n);
	xml_end(x);
}

static void write_metadata(struct xml *x, const struct netdef *n)
{
	struct buf json = BUF_INIT((size_t)1 << 20);

	netdef_encode(n, &json);
	xml_begin(x, "metadata");
	xml_begin_in(x, DOMAIN_PREFIX, ELEMENT, DOMAIN_NAMESPACE);
	xml_text(x, buf_str(&json));
	xml_end(x);
	xml_end(x);
	buf_release(&json);
}

static void write_forward(struct xml *x, const struct netdef *n)
{
	if (n->mode == NETWORK_ISOLATED)
		return;
	xml_begin(x, "forward");
	xml_attr(x, "mode", n->mode == NETWORK_BRIDGE ? "bridge" : "nat");
	if (n->mode == NETWORK_NAT && n->prefix6) {
		xml_begin(x, "nat");
		xml_attr(x, "ipv6", "yes");
		xml_end(x);
	}
	xml_end(x);
}

static void write_bridge(struct xml *x, const struct netdef *n,
			 const struct netdef_kept *kept)
{
	xml_begin(x, "bridge");
	if (n->mode == NETWORK_BRIDGE) {
		xml_attr(x, "name", n->bridge);
		xml_end(x);
		return;
	}
	if (kept && kept->bridge)
		xml_attr(x, "name", kept->bridge);
	xml_attr(x, "stp", "off");
	xml_attr(x, "delay", "0");
	xml_end(x);
	if (kept && kept->mac) {
		xml_begin(x, "mac");
		xml_attr(x, "address", kept->mac);
		xml_end(x);
	}
}

int netdef_write(const struct netdef *n, const struct netdef_kept *kept,
		 struct buf *out, struct err *err)
{
	struct xml *x = xml_new();
	char name[UUID_LEN + 8];

	snprintf(name, sizeof(name), "muster-%s", n->id);
	xml_begin(x, "network");
	xml_attr(x, "xmlns:dnsmasq", DNSMASQ_NAMESPACE);
	xml_leaf(x, "name", name);
	xml_leaf(x, "uuid", n->id);
	write_metadata(x, n);
	write_forward(x, n);
	write_bridge(x, n, kept);
	if (n->mode != NETWORK_BRIDGE) {
		write_addresses(x, n);
		write_options(x, n);
	}
	xml_end(x);
	return xml_finish(x, out, err);
}

int netdef_read(const char *xml, struct arena *a, struct netdef *ret,
		struct netdef_kept *ret_kept, struct err *err)
{
	struct xml_doc *d = xml_parse(xml, strlen(xml), err);
	const struct xml_node *root;
	const char *json;
	int r;

	if (!d)
		return -1;
	root = xml_root(d);
	json = xml_value(xml_child(root, "metadata/" ELEMENT), a);
	r = json ? netdef_decode(json, strlen(json), a, ret, err)
		 : err_set(err, ERR_NOT_FOUND, "the network is none of ours");
	if (r == 0 && ret_kept)
		*ret_kept = (struct netdef_kept){
			xml_get(xml_child(root, "bridge"), "name", a),
			xml_get(xml_child(root, "mac"), "address", a)};
	xml_free(d);
	return r;
}

#include "model/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"

#define AT(member)     offsetof(struct network, member)
#define SPEC(member)   (AT(spec.member) - AT(spec))
#define STATUS(member) (AT(status.member) - AT(status))

static const struct field route_fields[] = {
	{"prefix", FIELD_STRING, FIELD_REQUIRED,
	 offsetof(struct network_route, prefix), "Where it leads.",
	 &format_prefix},
	{"nextHop", FIELD_STRING, FIELD_REQUIRED,
	 offsetof(struct network_route, next_hop),
	 "The address in this network that knows the way.", &format_address},
	{0},
};

static const struct field spec_fields[] = {
	{"prefix", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_COLUMN, SPEC(prefix),
	 "Its IPv4 addresses: \"10.0.0.0/24\".", &format_prefix},
	{"prefix6", FIELD_STRING, FIELD_IMMUTABLE | FIELD_WIDE, SPEC(prefix6),
	 "Its IPv6 addresses: \"fd00:1::/64\".", &format_prefix},
	{"dnsServers", FIELD_LIST, 0, SPEC(dns),
	 "Whom its instances ask for names.", &format_address,
	 .item = FIELD_STRING, .size = sizeof(const char *), .max = 8},
	{"routes", FIELD_LIST, 0, SPEC(routes),
	 "Ways that its instances are told.", .item = FIELD_OBJECT,
	 .fields = route_fields, .size = sizeof(struct network_route),
	 .max = 64},
	{"reservedAddresses", FIELD_LIST, FIELD_IMMUTABLE, SPEC(reserved),
	 "Addresses and prefixes that no instance is given.", &format_prefix,
	 .item = FIELD_STRING, .size = sizeof(const char *), .max = 64},
	{0},
};

static const struct field status_fields[] = {
	{.type = FIELD_INCLUDE,
	 .fields = backed_fields,
	 .offset = STATUS(backed)},
	{"gateway", FIELD_STRING, 0, STATUS(gateway),
	 "The address by which it is left."},
	{0},
};

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its project.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(project_id), "Whose it is.", &format_uuid, .refers = "project"},
	{"regionId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(region_id), "Where it is.", &format_uuid, .refers = "region"},
	{"spec", FIELD_OBJECT, FIELD_REQUIRED, AT(spec), "What is wanted.",
	 .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind network_kind = {
	.name = "network",
	.plural = "networks",
	.title = "Network",
	.doc = "What instances are attached to.",
	.backed = true,
	.size = sizeof(struct network),
	.organization_at = offsetof(struct network, organization_id),
	.project_at = offsetof(struct network, project_id),
	.fields = fields,
	.unique_within = "projectId",
	.version = 1,
};

/* Addresses of either family, as 16 bytes. */
struct prefix {
	int family;
	unsigned char bytes[16];
	int len;
};

/* Of a text that has been found to be one. */
static struct prefix prefix_of(const char *text)
{
	struct prefix p = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
	size_t n = strcspn(text, "/");
	char address[64];

	snprintf(address, sizeof(address), "%.*s", (int)n, text);
	(void)inet_pton(p.family, address, p.bytes);
	p.len = p.family == AF_INET ? 32 : 128;
	if (text[n])
		p.len = (int)strtol(text + n + 1, NULL, 10);
	return p;
}

static bool prefix_has(const struct prefix *p, const struct prefix *inner)
{
	if (p->family != inner->family || inner->len < p->len)
		return false;
	for (int bit = 0; bit < p->len; bit++) {
		int mask = 0x80 >> bit % 8;

		if ((p->bytes[bit / 8] ^ inner->bytes[bit / 8]) & mask)
			return false;
	}
	return true;
}

static bool is_inside(const struct network *n, const char *text)
{
	struct prefix inner = prefix_of(text),
		      outer = prefix_of(n->spec.prefix);

	if (prefix_has(&outer, &inner))
		return true;
	if (!n->spec.prefix6)
		return false;
	outer = prefix_of(n->spec.prefix6);
	return prefix_has(&outer, &inner);
}

static bool has_host_bits(const struct prefix *p)
{
	for (int bit = p->len; bit < (p->family == AF_INET ? 32 : 128); bit++)
		if (p->bytes[bit / 8] & 0x80 >> bit % 8)
			return true;
	return false;
}

static void check_prefix(const char *text, const char *pointer, int family,
			 int longest, struct violations *v)
{
	struct prefix p = prefix_of(text);

	if (p.family != family)
		violations_add(v, pointer, "must be an IPv%c prefix",
			       family == AF_INET ? '4' : '6');
	else if (!strchr(text, '/') || p.len < 8 || p.len > longest)
		violations_add(v, pointer, "must have a length from /8 to /%d",
			       longest);
	else if (has_host_bits(&p))
		violations_add(v, pointer,
			       "has bits behind its length; write it without");
}

void network_check(const struct network *n, struct violations *v)
{
	const struct network_route *r = n->spec.routes.at;
	const char *const *a = n->spec.reserved.at;
	char pointer[64];

	check_prefix(n->spec.prefix, "/spec/prefix", AF_INET, 28, v);
	if (n->spec.prefix6)
		check_prefix(n->spec.prefix6, "/spec/prefix6", AF_INET6, 64, v);
	for (size_t i = 0; i < n->spec.routes.n; i++) {
		snprintf(pointer, sizeof(pointer), "/spec/routes/%zu/nextHop",
			 i);
		if (!is_inside(n, r[i].next_hop))
			violations_add(v, pointer, "%s is not in the network",
				       r[i].next_hop);
	}
	for (size_t i = 0; i < n->spec.reserved.n; i++) {
		snprintf(pointer, sizeof(pointer),
			 "/spec/reservedAddresses/%zu", i);
		if (!is_inside(n, a[i]))
			violations_add(v, pointer, "%s is not in the network",
				       a[i]);
	}
}

static bool overlap(const char *a, const char *b)
{
	struct prefix p = prefix_of(a), q = prefix_of(b);

	return prefix_has(&p, &q) || prefix_has(&q, &p);
}

const char *network_overlaps(const struct network *a, const struct network *b)
{
	if (overlap(a->spec.prefix, b->spec.prefix))
		return "/spec/prefix";
	return a->spec.prefix6 && b->spec.prefix6 &&
			       overlap(a->spec.prefix6, b->spec.prefix6)
		       ? "/spec/prefix6"
		       : NULL;
}

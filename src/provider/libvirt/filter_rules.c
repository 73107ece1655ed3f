/* The rules of machines and groups, in libvirt's words. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/libvirt/address.h"
#include "provider/libvirt/filter.h"

/* The order in which they are looked at.  Frames first, by whom they are from;
 * then packets. */
enum {
	NOT_ITSELF = -900,
	NOT_ITS_TRADE = 50,
	ITSELF = 100,
	NOT_OTHERWISE = 900,
	NEEDED = 300,
	ASKED = 500,
	REST = 1000,
};

#define NOBODY      "0.0.0.0"
#define PEER        "peer:"
#define ATTRS_MOST  8
#define RULES_FIRST 32

struct maker {
	struct arena *a;
	struct filter_rule *rules;
	size_t n, room;
};

static struct filter_rule *add(struct maker *m, const char *action,
			       const char *direction, int priority,
			       const char *protocol)
{
	struct filter_rule *r;

	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : RULES_FIRST;

		r = arena_alloc(m->a, room * sizeof(*r));
		if (m->n)
			memcpy(r, m->rules, m->n * sizeof(*r));
		m->rules = r;
		m->room = room;
	}
	r = &m->rules[m->n++];
	*r = (struct filter_rule){.action = action,
				  .direction = direction,
				  .priority = priority,
				  .protocol = protocol};
	r->attrs.at = arena_alloc(m->a, ATTRS_MOST * sizeof(struct field_tag));
	return r;
}

/* Keys and values, up to a NULL. */
__attribute__((sentinel)) static void with(struct filter_rule *r, ...)
{
	struct field_tag *t = r->attrs.at;
	const char *key;
	va_list ap;

	va_start(ap, r);
	while ((key = va_arg(ap, const char *))) {
		assert(r->attrs.n < ATTRS_MOST);
		t[r->attrs.n++] =
			(struct field_tag){key, va_arg(ap, const char *)};
	}
	va_end(ap);
}

static const char *number(struct arena *a, int64_t n)
{
	return arena_printf(a, "%lld", (long long)n);
}

/* "10.0.0.0/8" as two attributes; everybody is none. */
static void with_prefix(struct maker *m, struct filter_rule *r,
			const char *address_key, const char *mask_key,
			const char *prefix)
{
	const char *slash = strchr(prefix, '/');
	size_t len = slash ? (size_t)(slash - prefix) : strlen(prefix);

	if (slash && strcmp(slash, "/0") == 0)
		return;
	with(r, address_key, arena_memdup(m->a, prefix, len), mask_key,
	     slash                 ? arena_strdup(m->a, slash + 1)
	     : address_is6(prefix) ? "128"
				   : "32",
	     NULL);
}

/* It may send as PREFIX, and answer for it. */
static void may_be(struct maker *m, const char *mac, const char *prefix)
{
	bool six = address_is6(prefix);
	struct filter_rule *r;

	if (!six) {
		r = add(m, "accept", "out", ITSELF, "arp");
		with(r, "arpsrcmacaddr", mac, NULL);
		with_prefix(m, r, "arpsrcipaddr", "arpsrcipmask", prefix);
	}
	r = add(m, "accept", "out", ITSELF, six ? "ipv6" : "ip");
	with_prefix(m, r, "srcipaddr", "srcipmask", prefix);
}

/* Before it has an address: to ask for one, and whether somebody has it. */
static void may_begin(struct maker *m, const char *mac, bool six)
{
	with(add(m, "accept", "out", ITSELF, "arp"), "arpsrcmacaddr", mac,
	     "arpsrcipaddr", NOBODY, NULL);
	with(add(m, "accept", "out", ITSELF, "ip"), "srcipaddr", NOBODY,
	     "protocol", "udp", "srcportstart", "68", "dstportstart", "67",
	     NULL);
	if (!six)
		return;
	with(add(m, "accept", "out", ITSELF, "ipv6"), "srcipaddr",
	     "::", "srcipmask", "128", NULL);
	with(add(m, "accept", "out", ITSELF, "ipv6"), "srcipaddr",
	     "fe80::", "srcipmask", "10", NULL);
}

static void frames(struct maker *m, const struct filter_machine *f)
{
	const char *const *sources = f->sources.at;

	with(add(m, "drop", "out", NOT_ITSELF, "mac"), "match", "no",
	     "srcmacaddr", f->mac, NULL);
	/* It is neither who gives addresses nor who knows the way. */
	with(add(m, "drop", "out", NOT_ITS_TRADE, "ip"), "protocol", "udp",
	     "srcportstart", "67", NULL);
	if (f->address6)
		with(add(m, "drop", "out", NOT_ITS_TRADE, "ipv6"), "protocol",
		     "icmpv6", "type", "134", NULL);
	may_begin(m, f->mac, f->address6);
	may_be(m, f->mac, f->address);
	if (f->address6)
		may_be(m, f->mac, f->address6);
	else
		add(m, "drop", "in", NOT_OTHERWISE, "ipv6");
	for (size_t i = 0; i < f->sources.n; i++)
		if (f->address6 || !address_is6(sources[i]))
			may_be(m, f->mac, sources[i]);
	add(m, "drop", "out", NOT_OTHERWISE, NULL);
}

static void either(struct maker *m, const char *action, const char *direction,
		   int priority, bool six)
{
	add(m, action, direction, priority, "all");
	if (six)
		add(m, action, direction, priority, "all-ipv6");
}

/* Nothing works in IPv6 without, and none of it is a connection. */
static void neighbours(struct maker *m)
{
	static const struct {
		const char *direction, *type;
	} needed[] = {{"in", "134"},  {"in", "135"},  {"in", "136"},
		      {"out", "133"}, {"out", "135"}, {"out", "136"},
		      {"out", "143"}};

	for (size_t i = 0; i < COUNT_OF(needed); i++) {
		struct filter_rule *r =
			add(m, "accept", needed[i].direction, NEEDED, "icmpv6");

		with(r, "type", needed[i].type, NULL);
		r->stateless = true;
	}
}

struct filter filter_machine(const struct filter_machine *f, const char *name,
			     struct arena *a)
{
	struct maker m = {.a = a};

	frames(&m, f);
	with(add(&m, "accept", "inout", NEEDED, "all"), "state", "RELATED",
	     NULL);
	if (f->address6) {
		with(add(&m, "accept", "inout", NEEDED, "all-ipv6"), "state",
		     "RELATED", NULL);
		neighbours(&m);
	}
	if (!f->groups.n)
		either(&m, "accept", "out", ASKED, f->address6);
	either(&m, "drop", "inout", REST, f->address6);
	return (struct filter){.name = name,
			       .uuid = f->uuid,
			       .rules = {m.rules, m.n},
			       .refs = f->groups};
}

/* In the order of enum protocol. */
static const char *const words4[] = {NULL, "all", "tcp", "udp", "icmp", NULL};
static const char *const words6[] = {NULL,       "all-ipv6", "tcp-ipv6",
				     "udp-ipv6", "icmpv6",   NULL};

static const char *const *other_side(const char *direction)
{
	static const char *const src[] = {"srcipaddr", "srcipmask"},
				 *const dst[] = {"dstipaddr", "dstipmask"};

	return strcmp(direction, "in") == 0 ? src : dst;
}

static struct filter_rule *pass(struct maker *m, const struct rule *rule,
				bool six)
{
	int protocol = rule->protocol ? rule->protocol : PROTOCOL_ANY;
	struct filter_rule *r = add(
		m, "accept", rule->direction == DIRECTION_EGRESS ? "out" : "in",
		ASKED, six ? words6[protocol] : words4[protocol]);

	if (rule->port != FIELD_NONE)
		with(r, "dstportstart", number(m->a, rule->port), "dstportend",
		     number(m->a, rule->port_max != FIELD_NONE ? rule->port_max
							       : rule->port),
		     NULL);
	return r;
}

static void add_rule(struct maker *m, const struct rule *rule, const char *peer,
		     bool six)
{
	struct filter_rule *r;
	const char *const *side;

	if (peer) {
		r = pass(m, rule, false);
		side = other_side(r->direction);
		with(r, side[0], NOBODY, side[1], "32", "comment",
		     arena_join(m->a, PEER, peer, NULL), NULL);
		return;
	}
	for (int family = 0; family < (six ? 2 : 1); family++) {
		char text[INET6_ADDRSTRLEN + 4];

		if (rule->prefix && (!address_plain(rule->prefix, text) ||
				     address_is6(text) != (family == 1)))
			continue;
		r = pass(m, rule, family == 1);
		side = other_side(r->direction);
		if (rule->prefix)
			with_prefix(m, r, side[0], side[1], text);
	}
}

/* Who may say little may still ask for an address and for names. */
static void essentials(struct maker *m, const char *gateway)
{
	static const char *const words[] = {"udp", "tcp"};

	with(add(m, "accept", "out", NEEDED, "udp"), "srcportstart", "68",
	     "dstportstart", "67", NULL);
	for (size_t i = 0; gateway && i < COUNT_OF(words); i++)
		with(add(m, "accept", "out", NEEDED, words[i]), "dstipaddr",
		     gateway, "dstipmask", "32", "dstportstart", "53", NULL);
}

struct filter filter_group(const struct group_spec *spec,
			   const char *installation, const char *gateway,
			   bool six, struct arena *a)
{
	const struct items *rules = &spec->group->spec.rules;
	const struct rule *r = rules->at;
	const char *const *peers = spec->peers.at;
	char name[FILTER_NAME_LEN + 1], uuid[UUID_LEN + 1];
	struct maker m = {.a = a};
	bool limited = false;

	for (size_t i = 0; i < rules->n; i++) {
		limited |= r[i].direction == DIRECTION_EGRESS;
		add_rule(&m, &r[i], i < spec->peers.n ? peers[i] : NULL, six);
	}
	if (limited)
		essentials(&m, gateway);
	else
		either(&m, "accept", "out", ASKED, six);
	filter_group_name(installation, spec->id.ours, name);
	uuid_v5(installation, name, uuid);
	return (struct filter){.name = arena_strdup(a, name),
			       .uuid = arena_strdup(a, uuid),
			       .rules = {m.rules, m.n}};
}

/* The group that a rule is about the members of; NULL: about none. */
static const char *peer_of(const struct filter_rule *r)
{
	const char *comment = field_tag_get(&r->attrs, "comment");

	return comment && strncmp(comment, PEER, strlen(PEER)) == 0
		       ? comment + strlen(PEER)
		       : NULL;
}

/* The one that stands for all the others. */
static bool is_first(const struct filter_rule *r)
{
	const char *address =
		field_tag_get(&r->attrs, other_side(r->direction)[0]);

	return address && strcmp(address, NOBODY) == 0;
}

static const char *in_family(const char *word, bool six)
{
	for (int i = 1; six && words4[i]; i++)
		if (strcmp(words4[i], word) == 0)
			return words6[i];
	return word;
}

static void add_member(struct maker *m, const struct filter_rule *first,
		       const char *address)
{
	const char *const *side = other_side(first->direction);
	const struct field_tag *t = first->attrs.at;
	struct filter_rule *r =
		add(m, first->action, first->direction, ASKED,
		    in_family(first->protocol, address_is6(address)));

	for (size_t i = 0; i < first->attrs.n; i++)
		if (strcmp(t[i].key, side[0]) == 0)
			with_prefix(m, r, side[0], side[1], address);
		else if (strcmp(t[i].key, side[1]) != 0)
			with(r, t[i].key, t[i].value, NULL);
}

bool filter_follow(struct filter *f, const struct filter_peer *peer,
		   struct arena *a)
{
	const struct filter_rule *r = f->rules.at;
	const char *const *addresses = peer->addresses.at;
	struct maker m = {.a = a};
	bool found = false;

	for (size_t i = 0; i < f->rules.n; i++) {
		const char *named = peer_of(&r[i]);

		if (named && strcmp(named, peer->group) == 0 &&
		    !is_first(&r[i]))
			continue;
		*add(&m, NULL, NULL, 0, NULL) = r[i];
		if (!named || strcmp(named, peer->group) != 0)
			continue;
		found = true;
		for (size_t k = 0; k < peer->addresses.n; k++)
			add_member(&m, &r[i], addresses[k]);
	}
	if (found)
		f->rules = (struct items){m.rules, m.n};
	return found;
}

struct items filter_members(const struct filter *f, const char *group,
			    struct arena *a)
{
	const struct filter_rule *r = f->rules.at;
	const char **at = arena_alloc(a, f->rules.n * sizeof(*at) + 1);
	size_t n = 0;

	for (size_t i = 0; i < f->rules.n; i++) {
		const char *named = peer_of(&r[i]);
		const char *const *side;
		const char *mask;

		if (!named || strcmp(named, group) != 0 || is_first(&r[i]))
			continue;
		side = other_side(r[i].direction);
		mask = field_tag_get(&r[i].attrs, side[1]);
		at[n++] = arena_join(a, field_tag_get(&r[i].attrs, side[0]),
				     mask ? "/" : "", mask ? mask : "", NULL);
	}
	return (struct items){at, n};
}

struct items filter_peers(const struct filter *f, struct arena *a)
{
	const struct filter_rule *r = f->rules.at;
	const char **names = arena_alloc(a, f->rules.n * sizeof(*names) + 1);
	size_t n = 0;

	for (size_t i = 0; i < f->rules.n; i++) {
		const char *named = peer_of(&r[i]);
		size_t k = 0;

		while (named && k < n && strcmp(names[k], named) != 0)
			k++;
		if (named && k == n)
			names[n++] = named;
	}
	return (struct items){names, n};
}

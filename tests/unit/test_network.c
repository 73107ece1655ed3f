/* What the tables of fields cannot say of addresses and of rules. */

#include "model/network.h"

#include "base/attr.h"
#include "base/field_ops.h"
#include "model/securitygroup.h"
#include "test.h"

static struct arena arena;

/* There is one violation, at POINTER and with WORDS; none when it is NULL. */
static void check_told(const struct violations *v, const char *name,
		       const char *pointer, const char *words)
{
	bool ok = pointer ? v->n == 1 &&
				    strcmp(v->list[0].pointer, pointer) == 0 &&
				    strstr(v->list[0].message, words)
			  : v->n == 0;

	CHECK(ok);
	if (!ok)
		printf("# %s: %zu: %s: %s\n", name, v->n,
		       v->n ? v->list[0].pointer : "",
		       v->n ? v->list[0].message : "");
}

static const struct {
	const char *prefix, *prefix6, *hop, *reserved;
	const char *pointer, *words;
} networks[] = {
	{"10.0.0.0/8", NULL, NULL, NULL, NULL, NULL},
	{"10.0.0.0/28", "fd00:1::/64", NULL, NULL, NULL, NULL},
	{"10.0.0.0/24", "fd00::/8", NULL, NULL, NULL, NULL},
	{"10.0.0.0/7", NULL, NULL, NULL, "/spec/prefix", "from /8 to /28"},
	{"10.0.0.0/29", NULL, NULL, NULL, "/spec/prefix", "from /8 to /28"},
	{"10.0.0.0", NULL, NULL, NULL, "/spec/prefix", "from /8 to /28"},
	{"fd00::/64", NULL, NULL, NULL, "/spec/prefix", "IPv4"},
	{"10.0.0.128/24", NULL, NULL, NULL, "/spec/prefix", "bits behind"},
	{"10.0.0.0/24", "10.1.0.0/24", NULL, NULL, "/spec/prefix6", "IPv6"},
	{"10.0.0.0/24", "fd00::/65", NULL, NULL, "/spec/prefix6", "to /64"},
	{"10.0.0.0/24", "fd00::", NULL, NULL, "/spec/prefix6", "to /64"},
	{"10.0.0.0/24", "fd00::1/64", NULL, NULL, "/spec/prefix6",
	 "bits behind"},
	{"10.0.0.0/24", NULL, "10.0.0.255", NULL, NULL, NULL},
	{"10.0.0.0/24", NULL, "10.0.1.0", NULL, "/spec/routes/0/nextHop",
	 "10.0.1.0 is not in the network"},
	{"10.0.0.0/24", NULL, "fd00:1::1", NULL, "/spec/routes/0/nextHop",
	 "not in the network"},
	{"10.0.0.0/24", "fd00:1::/64", "fd00:1::1", NULL, NULL, NULL},
	{"10.0.0.0/24", "fd00:1::/64", "fd00:2::1", NULL,
	 "/spec/routes/0/nextHop", "not in the network"},
	{"10.0.0.0/24", NULL, NULL, "10.0.0.7", NULL, NULL},
	{"10.0.0.0/24", NULL, NULL, "10.0.0.64/26", NULL, NULL},
	{"10.0.0.0/24", NULL, NULL, "10.0.0.0/24", NULL, NULL},
	{"10.0.0.0/24", NULL, NULL, "10.0.0.0/23", "/spec/reservedAddresses/0",
	 "not in the network"},
	{"10.0.0.0/24", NULL, NULL, "10.0.1.7", "/spec/reservedAddresses/0",
	 "not in the network"},
};

static void a_network_has_addresses_that_make_sense(void)
{
	for (size_t i = 0; i < COUNT_OF(networks); i++) {
		struct network_route route = {"0.0.0.0/0", networks[i].hop};
		const char *reserved = networks[i].reserved;
		struct network n = {
			.spec = {.prefix = networks[i].prefix,
				 .prefix6 = networks[i].prefix6,
				 .routes = {&route, route.next_hop != NULL},
				 .reserved = {&reserved, reserved != NULL}}};
		struct violations v;

		violations_init(&v, &arena);
		network_check(&n, &v);
		check_told(&v, networks[i].prefix, networks[i].pointer,
			   networks[i].words);
	}
}

static void all_that_is_wrong_with_a_network_is_told(void)
{
	struct network_route routes[] = {{"0.0.0.0/0", "10.0.0.1"},
					 {"0.0.0.0/0", "10.9.0.1"}};
	const char *reserved[] = {"10.9.0.1", "10.0.0.1", "10.9.0.2"};
	struct network n = {.spec = {.prefix = "10.0.0.0/24",
				     .prefix6 = "fd00::1/64",
				     .routes = {routes, 2},
				     .reserved = {reserved, 3}}};
	struct violations v;

	violations_init(&v, &arena);
	network_check(&n, &v);
	CHECK(v.n == 4);
	CHECK_STR(v.list[0].pointer, "/spec/prefix6");
	CHECK_STR(v.list[1].pointer, "/spec/routes/1/nextHop");
	CHECK_STR(v.list[2].pointer, "/spec/reservedAddresses/0");
	CHECK_STR(v.list[3].pointer, "/spec/reservedAddresses/2");
}

static const struct {
	const char *a, *a6, *b, *b6, *pointer;
} pairs[] = {
	{"10.0.0.0/24", NULL, "10.0.1.0/24", NULL, NULL},
	{"10.0.0.0/24", NULL, "10.0.0.0/24", NULL, "/spec/prefix"},
	{"10.0.0.0/24", NULL, "10.0.0.128/25", NULL, "/spec/prefix"},
	{"10.0.0.128/25", NULL, "10.0.0.0/24", NULL, "/spec/prefix"},
	{"10.0.0.0/25", NULL, "10.0.0.128/25", NULL, NULL},
	{"10.0.0.0/24", "fd00:1::/64", "10.0.1.0/24", NULL, NULL},
	{"10.0.0.0/24", NULL, "10.0.1.0/24", "fd00:1::/64", NULL},
	{"10.0.0.0/24", "fd00:1::/64", "10.0.1.0/24", "fd00:2::/64", NULL},
	{"10.0.0.0/24", "fd00:1::/64", "10.0.1.0/24", "fd00:1::/48",
	 "/spec/prefix6"},
};

static void networks_overlap_that_share_an_address(void)
{
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		struct network a = {
			.spec = {.prefix = pairs[i].a, .prefix6 = pairs[i].a6}};
		struct network b = {
			.spec = {.prefix = pairs[i].b, .prefix6 = pairs[i].b6}};
		const char *got = network_overlaps(&a, &b);
		const char *want = pairs[i].pointer;
		bool ok = got && want ? strcmp(got, want) == 0 : got == want;

		CHECK(ok);
		if (!ok)
			printf("# %s and %s\n", pairs[i].a, pairs[i].b);
	}
}

#define NONE FIELD_NONE

static char ten[] = "10.0.0.0/8"; /* at another address than the text */

/* A rule, and one after it; what is said is of the later one. */
static const struct {
	struct rule first, second;
	const char *words;
} rules[] = {
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 "there already"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, "a"},
	 {1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, "b"},
	 "there already"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {2, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_UDP, 80, NONE, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, 81, NONE, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, 80, 80, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, 80, NONE, "10.0.0.0/8", NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, "10.0.0.0/8", NULL, NULL},
	 {1, PROTOCOL_TCP, 80, NONE, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, "10.0.0.0/8", NULL, NULL},
	 {1, PROTOCOL_TCP, 80, NONE, "10.0.0.0/9", NULL, NULL},
	 NULL},
	{{1, PROTOCOL_TCP, 80, NONE, "10.0.0.0/8", NULL, NULL},
	 {1, PROTOCOL_TCP, 80, NONE, ten, NULL, NULL},
	 "there already"},
	{{1, PROTOCOL_TCP, 80, NONE, NULL, "g", NULL},
	 {1, PROTOCOL_TCP, 80, NONE, NULL, "h", NULL},
	 NULL},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_ANY, 80, NONE, NULL, NULL, NULL},
	 "tcp and udp alone"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_ICMP, NONE, 80, NULL, NULL, NULL},
	 "tcp and udp alone"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_UDP, NONE, 80, NULL, NULL, NULL},
	 "needs a port"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, 81, 80, NULL, NULL, NULL},
	 "less than port"},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, NONE, NONE, NULL, NULL, NULL},
	 NULL},
	{{1, PROTOCOL_ANY, NONE, NONE, NULL, NULL, NULL},
	 {1, PROTOCOL_TCP, 80, 81, "10.0.0.0/8", "g", NULL},
	 "not both"},
};

static void a_group_has_rules_that_make_sense(void)
{
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		struct rule both[] = {rules[i].first, rules[i].second};
		struct securitygroup g = {.spec.rules = {both, 2}};
		struct violations v;
		char name[16];

		violations_init(&v, &arena);
		securitygroup_check(&g, &v);
		snprintf(name, sizeof(name), "rules %zu", i);
		check_told(&v, name, rules[i].words ? "/spec/rules/1" : NULL,
			   rules[i].words);
	}
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(a_network_has_addresses_that_make_sense);
	RUN(all_that_is_wrong_with_a_network_is_told);
	RUN(networks_overlap_that_share_an_address);
	RUN(a_group_has_rules_that_make_sense);
	arena_release(&arena);
	return test_done();
}

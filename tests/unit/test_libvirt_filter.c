/* Filters as libvirt takes them; the files are in tests/golden/libvirt. */
#include "provider/libvirt/filter.h"

#include "golden.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"
#define NETWORK      "5c0c6f1e-5a5e-5d5c-8a5b-0c8f5d3a1b2d"
#define WEB          "0190a7b0-0000-7000-8000-00000000000a"
#define DB           "0190a7b0-0000-7000-8000-00000000000b"
#define NONE         FIELD_NONE

static struct arena arena;

static bool written(const char *golden, const struct filter *f)
{
	struct buf out = BUF_INIT((size_t)1 << 20);
	struct err err = {0};
	bool ok = filter_write(f, &out, &err) == 0 &&
		  golden_same(golden, buf_str(&out));

	buf_release(&out);
	return ok;
}

static const char *group_name(const char *ours)
{
	char name[FILTER_NAME_LEN + 1];

	filter_group_name(INSTALLATION, ours, name);
	return arena_strdup(&arena, name);
}

static struct filter group(const char *ours, struct rule *rules, size_t n,
			   const char **peers, bool six)
{
	struct securitygroup g = {.spec.rules = {rules, n}};
	const struct group_spec spec = {
		.id.ours = ours, .group = &g, .peers = {peers, peers ? n : 0}};

	return filter_group(&spec, INSTALLATION, "10.9.0.1", six, &arena);
}

static struct filter_machine machine(void)
{
	return (struct filter_machine){
		.uuid = "7d444840-9dc0-51d1-b245-5ffdce74fad2",
		.network = NETWORK,
		.mac = "52:54:0a:09:00:05",
		.address = "10.9.0.5"};
}

static const char *machine_name(void)
{
	char name[FILTER_NAME_LEN + 1];

	filter_machine_name(INSTALLATION, NETWORK, "10.9.0.5", name);
	return arena_strdup(&arena, name);
}

static void keeps_a_machine_from_being_another(void)
{
	struct filter_machine m = machine();
	struct filter f = filter_machine(&m, machine_name(), &arena);

	CHECK(written("filter-machine", &f));
}

static void lets_a_machine_be_in_groups(void)
{
	const char *groups[] = {group_name(WEB), group_name(DB)};
	const char *sources[] = {"10.20.0.0/16", "fd00:20::/48", "0.0.0.0/0"};
	struct filter_machine m = machine();
	struct filter f;

	m.address6 = "fd00:9::5054:aff:fe09:5";
	m.groups = (struct items){groups, 2};
	m.sources = (struct items){sources, 3};
	f = filter_machine(&m, machine_name(), &arena);
	CHECK(written("filter-machine-full", &f));
}

static void says_what_may_come_in(void)
{
	struct rule rules[] = {
		{DIRECTION_INGRESS, PROTOCOL_TCP, 22, NONE, "10.0.0.0/8"},
		{DIRECTION_INGRESS, PROTOCOL_TCP, 8000, 8999},
		{DIRECTION_INGRESS, PROTOCOL_UDP, 53, 53, "0.0.0.0/0"},
		{DIRECTION_INGRESS, PROTOCOL_ICMP, NONE, NONE},
		{DIRECTION_INGRESS, 0, NONE, NONE, "fd00:1::/64"},
		{DIRECTION_INGRESS, PROTOCOL_ANY, NONE, NONE, "192.0.2.7"},
	};
	struct filter f;

	rules[1].description = "<&>\"' $MAC";
	f = group(WEB, rules, 6, NULL, true);
	CHECK(written("filter-group", &f));
	f = group(WEB, rules, 6, NULL, false);
	CHECK(written("filter-group-ipv4", &f));
}

static void says_what_may_go_out(void)
{
	struct rule rules[] = {
		{DIRECTION_EGRESS, PROTOCOL_TCP, 443, NONE},
		{DIRECTION_INGRESS, PROTOCOL_TCP, 22, NONE},
	};
	struct filter f = group(WEB, rules, 2, NULL, false);

	CHECK(written("filter-group-egress", &f));
}

static void follows_the_members_of_a_group(void)
{
	struct rule rules[] = {
		{DIRECTION_INGRESS, PROTOCOL_TCP, 5432, NONE, .group_id = WEB},
		{DIRECTION_INGRESS, PROTOCOL_TCP, 22, NONE},
		{DIRECTION_EGRESS, PROTOCOL_ICMP, NONE, NONE, .group_id = WEB},
	};
	const char *peers[] = {group_name(WEB), NULL, group_name(WEB)};
	const char *in[] = {"10.9.0.5/32", "fd00:9::5/128", "10.20.0.0/16"};
	struct filter f = group(DB, rules, 3, peers, true), back;
	struct buf out = BUF_INIT((size_t)1 << 20);
	struct err err = {0};
	struct items names;

	CHECK(written("filter-peers-none", &f));
	names = filter_peers(&f, &arena);
	CHECK(names.n == 1);
	CHECK_STR(*(const char **)names.at, peers[0]);
	CHECK(filter_follow(&f, &(struct filter_peer){peers[0], {in, 3}},
			    &arena));
	CHECK(written("filter-peers", &f));

	/* Read from what libvirt has, and made anew. */
	CHECK(filter_write(&f, &out, &err) == 0);
	CHECK(filter_read(buf_str(&out), &arena, &back, &err) == 0);
	CHECK(written("filter-peers", &back));
	names = filter_members(&back, peers[0], &arena);
	CHECK(names.n == 6);
	CHECK_STR(((const char **)names.at)[1], "fd00:9::5/128");
	CHECK(filter_follow(&back, &(struct filter_peer){peers[0], {in, 3}},
			    &arena));
	CHECK(written("filter-peers", &back));
	CHECK(filter_follow(&back, &(struct filter_peer){peers[0], {0}},
			    &arena));
	CHECK(written("filter-peers-none", &back));
	CHECK(!filter_follow(
		&back, &(struct filter_peer){group_name(DB), {in, 3}}, &arena));
	CHECK(written("filter-peers-none", &back));
	buf_release(&out);
}

static void names_tell_whose_they_are(void)
{
	char ours[UUID_LEN + 1], network[UUID_LEN + 1], at[INET_ADDRSTRLEN];

	CHECK(filter_is_group(group_name(WEB), INSTALLATION, ours));
	CHECK_STR(ours, WEB);
	CHECK(!filter_is_group(group_name(WEB), NETWORK, ours));
	CHECK(!filter_is_group("clean-traffic", INSTALLATION, ours));
	CHECK(!filter_is_group(machine_name(), INSTALLATION, ours));
	CHECK(filter_is_machine(machine_name(), INSTALLATION, network, at));
	CHECK_STR(network, NETWORK);
	CHECK_STR(at, "10.9.0.5");
	CHECK(!filter_is_machine(machine_name(), NETWORK, network, at));
	CHECK(!filter_is_machine(group_name(WEB), INSTALLATION, network, at));
	CHECK(!filter_is_machine("muster-" INSTALLATION "-at-" NETWORK "-",
				 INSTALLATION, network, at));
	CHECK(!filter_is_machine("muster-" INSTALLATION "-at-" NETWORK
				 "-1234567890123456",
				 INSTALLATION, network, at));
}

int main(int argc, char **argv)
{
	golden_folder = argc > 1 ? argv[1] : ".";
	arena_init(&arena, (size_t)16 << 20);
	RUN(keeps_a_machine_from_being_another);
	RUN(lets_a_machine_be_in_groups);
	RUN(says_what_may_come_in);
	RUN(says_what_may_go_out);
	RUN(follows_the_members_of_a_group);
	RUN(names_tell_whose_they_are);
	arena_release(&arena);
	return test_done();
}

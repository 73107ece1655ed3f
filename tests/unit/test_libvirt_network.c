/* Networks as libvirt takes them; the files are in tests/golden/libvirt. */
#include "golden.h"
#include "model/network.h"
#include "provider/libvirt/address.h"
#include "provider/libvirt/netdef.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"
#define OURS         "0190a7b0-0000-7000-8000-000000000001"

static struct arena arena;

static struct network plain(const char *prefix)
{
	struct network n = {.meta.name = "lan"};

	n.spec.prefix = prefix;
	return n;
}

static bool make(const struct network *n, int mode, struct netdef *ret)
{
	const struct lv_network_options o = {mode, "br0"};
	const struct network_spec spec = {.id.ours = OURS, .network = n};
	struct err err;

	if (netdef_make(&spec, INSTALLATION, mode ? &o : NULL, &arena, ret,
			&err) == 0)
		return true;
	printf("# %s\n", err.msg);
	return false;
}

static bool written(const char *golden, const struct netdef *n,
		    const struct netdef_kept *kept)
{
	struct buf out = BUF_INIT((size_t)4 << 20);
	struct err err = {0};
	bool ok = netdef_write(n, kept, &out, &err) == 0;

	ok = ok && golden_same(golden, buf_str(&out));
	buf_release(&out);
	return ok;
}

static void knows_the_addresses_of_a_network(void)
{
	const char *reserved[] = {"10.0.0.5", "10.0.0.8/29"};
	struct items none = {0}, some = {reserved, 2};
	struct address_pool p;

	address_pool("10.0.0.0/28", &none, &p);
	CHECK(p.n == 13);
	CHECK(p.at[0] == 0x0a000002 && p.at[12] == 0x0a00000e);
	address_pool("10.0.0.0/28", &some, &p);
	CHECK(p.n == 5);
	CHECK(p.at[2] == 0x0a000004 && p.at[3] == 0x0a000006);
	address_pool("10.0.0.0/8", &none, &p);
	CHECK(p.n == POOL_MOST);
	address_pool("255.255.255.240/28", &none, &p);
	CHECK(p.n == 13);
	address_pool("fd00::/64", &none, &p);
	CHECK(p.n == 0);
	reserved[0] = "10.0.0.0/9";
	address_pool("10.0.0.0/8", &some, &p);
	CHECK(p.n == POOL_MOST && p.at[0] == 0x0a800000);
}

static void picks_one_that_is_free(void)
{
	struct items none = {0};
	struct address_pool p;
	uint32_t taken[13];

	address_pool("10.0.0.0/28", &none, &p);
	CHECK(address_pick(&p, NULL, 0, 3) == 0x0a000005);
	CHECK(address_pick(&p, NULL, 0, 13 + 3) == 0x0a000005);
	for (uint32_t i = 0; i < 13; i++) {
		taken[i] = p.at[i];
		CHECK(address_pick(&p, taken, i, i / 2) == p.at[i]);
	}
	CHECK(address_pick(&p, taken, 13, 5) == 0);
	CHECK(address_pick(&p, taken, 12, 5) == p.at[12]);
}

static void derives_the_other_addresses(void)
{
	char mac[ADDRESS_MAC_LEN + 1], six[INET6_ADDRSTRLEN];

	address_mac(0x0a00000f, mac);
	CHECK_STR(mac, "52:54:0a:00:00:0f");
	CHECK(address_eui64("fd00:1::/64", mac, six));
	CHECK_STR(six, "fd00:1::5054:aff:fe00:f");
	CHECK(address_eui64("fd00:1:2::/48", mac, six));
	CHECK_STR(six, "fd00:1:2:0:5054:aff:fe00:f");
	CHECK(address_nth6("fd00:1::/64", 1, six));
	CHECK_STR(six, "fd00:1::1");
	CHECK(!address_eui64("10.0.0.0/8", mac, six));
	CHECK(!address_eui64("fd00::/64", "52:54:00", six));
}

/* As QEMU has them, which nobody can be asked for. */
static void knows_the_addresses_of_networks_of_any_size(void)
{
	static const struct {
		const char *prefix, *gateway, *guest;
	} rows[] = {
		{"10.9.0.0/27", "10.9.0.2", "10.9.0.15"},
		{"10.9.0.0/24", "10.9.0.2", "10.9.0.15"},
		{"10.9.2.0/23", "10.9.2.2", "10.9.2.15"},
		{"10.9.4.0/22", "10.9.6.2", "10.9.6.15"},
		{"10.9.0.0/16", "10.9.2.2", "10.9.2.15"},
		{"10.0.0.0/8", "10.0.2.2", "10.0.2.15"},
	};
	char text[INET_ADDRSTRLEN];
	struct net4 net;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK(address_net4(rows[i].prefix, &net));
		address_text4(address_user4(&net, USER_GATEWAY), text);
		CHECK_STR(text, rows[i].gateway);
		address_text4(address_user4(&net, USER_GUEST), text);
		CHECK_STR(text, rows[i].guest);
	}
}

static void writes_addresses_in_one_way(void)
{
	char out[INET6_ADDRSTRLEN + 4];

	CHECK(address_plain("10.1.0.0/16", out));
	CHECK_STR(out, "10.1.0.0/16");
	CHECK(address_plain("9.9.9.9/32", out));
	CHECK_STR(out, "9.9.9.9");
	CHECK(address_plain("FD00:0:0::1", out));
	CHECK_STR(out, "fd00::1");
	CHECK(!address_plain("9.9.9.9,10.0.0.1", out));
	CHECK(!address_plain("9.9.9.9\ndhcp-script=/bin/sh", out));
	CHECK(!address_plain("10.0.0.0/33", out));
	CHECK(!address_plain("10.0.0.0/", out));
	CHECK(!address_plain("", out));
}

static void writes_a_network_that_is_left_by_nat(void)
{
	struct network n = plain("10.9.0.0/28");
	struct netdef d;

	CHECK(make(&n, NETWORK_NAT, &d));
	CHECK_STR(d.gateway, "10.9.0.1");
	d.created_at = 1700000000000;
	CHECK(written("net-nat", &d, NULL));
}

static void writes_everything_a_network_can_say(void)
{
	const char *dns[] = {"9.9.9.9", "2620:fe::fe", "149.112.112.112"};
	const char *reserved[] = {"10.9.1.4/30", "10.9.1.9"};
	struct network_route routes[] = {{"10.20.0.0/16", "10.9.1.10"},
					 {"10.30.0.1", "10.9.1.11"},
					 {"fd00:20::/48", "fd00:9::10"}};
	struct network n = plain("10.9.1.0/28");
	const struct netdef_kept kept = {"virbr7", "52:54:00:01:02:03"};
	struct netdef d;

	n.meta.name = "<&>\"' ]]> and \xc3\xa4";
	n.spec.prefix6 = "fd00:9::/48";
	n.spec.dns = (struct items){dns, 3};
	n.spec.reserved = (struct items){reserved, 2};
	n.spec.routes = (struct items){routes, 3};
	CHECK(make(&n, NETWORK_NAT, &d));
	CHECK_STR(d.gateway6, "fd00:9::1");
	CHECK(written("net-full", &d, &kept));
	CHECK(make(&n, NETWORK_ISOLATED, &d));
	CHECK(written("net-isolated", &d, NULL));
	CHECK(make(&n, NETWORK_BRIDGE, &d));
	CHECK(written("net-bridge", &d, NULL));
}

static void reads_what_it_has_written(void)
{
	const char *dns[] = {"9.9.9.9"};
	struct network_route route = {"10.20.0.0/16", "10.9.1.10"};
	struct network n = plain("10.9.1.0/24");
	struct buf out = BUF_INIT((size_t)4 << 20);
	struct netdef d, back, other;
	struct netdef_kept kept;
	struct err err = {0};

	n.meta.name = "<&>\"' ]]>";
	n.spec.dns = (struct items){dns, 1};
	n.spec.routes = (struct items){&route, 1};
	CHECK(make(&n, NETWORK_NAT, &d));
	d.created_at = 1700000000000;
	CHECK(netdef_write(&d, &(struct netdef_kept){"virbr3", NULL}, &out,
			   &err) == 0);
	CHECK(netdef_read(buf_str(&out), &arena, &back, &kept, &err) == 0);
	CHECK(netdef_same(&d, &back));
	CHECK_STR(back.name, n.meta.name);
	CHECK(back.created_at == d.created_at);
	CHECK_STR(kept.bridge, "virbr3");
	dns[0] = "8.8.8.8";
	CHECK(make(&n, NETWORK_NAT, &other));
	CHECK(!netdef_same(&other, &back));
	buf_release(&out);
	CHECK(netdef_read("<network><name>default</name></network>", &arena,
			  &back, &kept, &err) < 0);
	CHECK(err.code == ERR_NOT_FOUND);
}

static void refuses_what_cannot_be_had(void)
{
	const struct network_spec spec = {.id.ours = OURS};
	struct network n = plain("10.9.0.0/28");
	struct network_spec s = spec;
	struct netdef d;
	struct err err;

	s.network = &n;
	/* QEMU's own has its guest at the address that is broadcast's there. */
	CHECK(netdef_make(&s, INSTALLATION, NULL, &arena, &d, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	n.spec.prefix = "10.9.0.0/27";
	CHECK(netdef_make(&s, INSTALLATION, NULL, &arena, &d, &err) == 0);
	CHECK_STR(d.gateway, "10.9.0.2");
	n.spec.prefix = "fd00::/64";
	CHECK(netdef_make(&s, INSTALLATION, NULL, &arena, &d, &err) < 0);
}

static void an_id_is_of_an_installation(void)
{
	char a[UUID_LEN + 1], b[UUID_LEN + 1];

	netdef_id(INSTALLATION, OURS, a);
	netdef_id(INSTALLATION, OURS, b);
	CHECK_STR(a, b);
	netdef_id(OURS, OURS, b);
	CHECK(strcmp(a, b) != 0);
}

int main(int argc, char **argv)
{
	golden_folder = argc > 1 ? argv[1] : ".";
	arena_init(&arena, (size_t)64 << 20);
	RUN(knows_the_addresses_of_a_network);
	RUN(picks_one_that_is_free);
	RUN(derives_the_other_addresses);
	RUN(knows_the_addresses_of_networks_of_any_size);
	RUN(writes_addresses_in_one_way);
	RUN(writes_a_network_that_is_left_by_nat);
	RUN(writes_everything_a_network_can_say);
	RUN(reads_what_it_has_written);
	RUN(refuses_what_cannot_be_had);
	RUN(an_id_is_of_an_installation);
	arena_release(&arena);
	return test_done();
}

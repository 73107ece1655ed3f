#include "provider/libvirt/seed.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "test.h"

#define MOST ((size_t)16 << 20)

static struct arena arena;

static const struct machine_spec plain = {.name = "web-1"};

static const char *dns[] = {"10.0.0.2", "fd00::2"};
static const struct nic nic = {
	.mac = "52:54:00:01:02:03",
	.address = "10.0.0.15",
	.prefix = "10.0.0.0/24",
	.gateway = "10.0.0.1",
	.address6 = "fd00::15",
	.prefix6 = "fd00::/64",
	.gateway6 = "fd00::1",
	.dns = {dns, 2},
};

static void make(const struct machine_spec *spec, const struct nic *n,
		 struct buf *out)
{
	struct err err;

	*out = BUF_INIT(MOST);
	CHECK(seed_iso(spec, "5f0f7a44-0000-4000-8000-000000000001", n, out,
		       &err) == 0);
}

/* What a guest reads under that name, in the arena; NULL: there is none. */
static const char *read_file(const struct buf *iso, const char *name,
			     size_t *ret_len)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	char *text = NULL;

	archive_read_support_format_iso9660(a);
	CHECK(archive_read_open_memory(a, iso->data, iso->len) == ARCHIVE_OK);
	while (!text && archive_read_next_header(a, &e) == ARCHIVE_OK) {
		size_t len = (size_t)archive_entry_size(e);

		if (strcmp(archive_entry_pathname(e), name) != 0)
			continue;
		CHECK(archive_entry_perm(e) == 0400);
		CHECK(archive_entry_mtime(e) == 0);
		text = arena_alloc(&arena, len + 1);
		CHECK(archive_read_data(a, text, len) == (la_ssize_t)len);
		text[len] = '\0';
		if (ret_len)
			*ret_len = len;
	}
	archive_read_free(a);
	return text;
}

static const struct node *read_json(const struct buf *iso, const char *name)
{
	const char *text = read_file(iso, name, NULL);
	const struct node *n;
	struct err err;

	CHECK(text != NULL);
	if (text && strncmp(text, "#cloud-config\n", 14) == 0)
		text += 14;
	n = text ? json_parse(text, strlen(text), &arena, &err) : NULL;
	CHECK(n != NULL);
	return n;
}

static const struct node *in(const struct node *n, const char *name)
{
	return n ? node_get(n, name) : NULL;
}

static const char *text(const struct node *n)
{
	return n && node_type(n) == NODE_STRING ? node_string(n, NULL) : "";
}

static void it_is_a_cd_called_cidata(void)
{
	struct buf iso;

	make(&plain, NULL, &iso);
	/* Not so small that looking for other file systems fails. */
	CHECK(iso.len % 2048 == 0 && iso.len == (size_t)128 << 10);
	CHECK(memcmp(iso.data + 32769, "CD001", 5) == 0);
	CHECK(memcmp(iso.data + 32808, "cidata ", 7) == 0);
	buf_release(&iso);
}

static void it_says_who_the_machine_is(void)
{
	const struct node *meta;
	struct buf iso;

	make(&plain, NULL, &iso);
	meta = read_json(&iso, "meta-data");
	CHECK_STR(text(in(meta, "instance-id")),
		  "5f0f7a44-0000-4000-8000-000000000001");
	CHECK_STR(text(in(meta, "local-hostname")), "web-1");
	CHECK_STR(read_file(&iso, "user-data", NULL), "#cloud-config\n{}\n");
	CHECK(!read_file(&iso, "network-config", NULL));
	buf_release(&iso);
}

static void user_data_is_passed_on_byte_by_byte(void)
{
	static const char data[] = "#!/bin/sh\n\0\xff\x1f\x8b' \"<&\n";
	struct machine_spec spec = plain;
	const char *got;
	struct buf iso;
	size_t len = 0;

	spec.user_data = data;
	spec.user_data_len = sizeof(data) - 1;
	make(&spec, NULL, &iso);
	got = read_file(&iso, "user-data", &len);
	CHECK(len == sizeof(data) - 1 && memcmp(got, data, len) == 0);
	buf_release(&iso);
}

static void the_host_key_is_in_what_is_ours(void)
{
	static const unsigned char seed[SSH_SEED_LEN] = {1}, check[4] = {2};
	struct machine_spec spec = plain;
	const struct node *vendor, *keys;
	struct buf iso;

	make(&spec, NULL, &iso);
	vendor = read_json(&iso, "vendor-data");
	CHECK(!in(vendor, "ssh_keys"));
	buf_release(&iso);
	ssh_pair_make(seed, check, "", &arena, &spec.host_key);
	make(&spec, NULL, &iso);
	vendor = read_json(&iso, "vendor-data");
	keys = in(vendor, "ssh_keys");
	CHECK_STR(text(in(keys, "ed25519_private")), spec.host_key.private_key);
	CHECK_STR(text(in(keys, "ed25519_public")), spec.host_key.public_line);
	CHECK(node_bool(in(vendor, "ssh_deletekeys")));
	CHECK(!strstr(read_file(&iso, "user-data", NULL), "PRIVATE"));
	buf_release(&iso);
}

static const struct node *network(const struct nic *n)
{
	const struct node *config;
	struct buf iso;

	make(&plain, n, &iso);
	config = read_json(&iso, "network-config");
	CHECK(node_int(in(config, "version")) == 2);
	buf_release(&iso);
	return in(in(config, "ethernets"), "eth0");
}

static const struct node *nth(const struct node *list, size_t i)
{
	return list && i < node_count(list) ? node_at(list, i) : NULL;
}

static void what_is_known_of_the_network_is_said(void)
{
	const struct node *n = network(&nic), *list;

	CHECK_STR(text(in(in(n, "match"), "macaddress")), nic.mac);
	CHECK_STR(text(in(n, "set-name")), "eth0");
	CHECK(!node_bool(in(n, "dhcp4")));
	list = in(n, "addresses");
	CHECK(node_count(list) == 2);
	CHECK_STR(text(nth(list, 0)), "10.0.0.15/24");
	CHECK_STR(text(nth(list, 1)), "fd00::15/64");
	list = in(n, "routes");
	CHECK(node_count(list) == 2);
	CHECK_STR(text(in(nth(list, 0), "to")), "0.0.0.0/0");
	CHECK_STR(text(in(nth(list, 0), "via")), "10.0.0.1");
	CHECK_STR(text(in(nth(list, 1), "via")), "fd00::1");
	list = in(in(n, "nameservers"), "addresses");
	CHECK(node_count(list) == 2);
	CHECK_STR(text(nth(list, 1)), "fd00::2");
}

static void what_is_not_is_asked_of_dhcp(void)
{
	struct nic some = {.mac = nic.mac};
	const struct node *n = network(&some);

	CHECK(node_bool(in(n, "dhcp4")) && !in(n, "addresses"));
	some.address = "10.0.0.15";
	some.prefix = "10.0.0.0"; /* nobody knows how long it is */
	CHECK(node_bool(in(network(&some), "dhcp4")));
	some.mac = NULL;
	n = network(&some);
	CHECK_STR(text(in(in(n, "match"), "name")), "e*");
	CHECK(!in(n, "set-name"));
	/* A network of its own: no way out, and nobody to ask for names. */
	some = (struct nic){
		.mac = nic.mac, .address = nic.address, .prefix = nic.prefix};
	n = network(&some);
	CHECK(!node_bool(in(n, "dhcp4")));
	CHECK(node_count(in(n, "routes")) == 0 && !in(n, "nameservers"));
}

/* Made at another time it would be another image otherwise. */
static void nothing_says_when_it_was_made(void)
{
	time_t now = time(NULL);
	struct buf a, b;
	struct tm t;
	char day[16];

	gmtime_r(&now, &t);
	make(&plain, &nic, &a);
	make(&plain, &nic, &b);
	CHECK(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	strftime(day, sizeof(day), "%Y%m%d", &t);
	CHECK(!memmem(a.data, a.len, day, 8));
	strftime(day, sizeof(day), "%b %e", &t);
	CHECK(!memmem(a.data, a.len, day, 6));
	day[0] = (char)t.tm_year;
	day[1] = (char)(t.tm_mon + 1);
	day[2] = (char)t.tm_mday;
	CHECK(!memmem(a.data, a.len, day, 3));
	buf_release(&a);
	buf_release(&b);
}

static void names_become_hostnames(void)
{
	static const struct {
		const char *name, *host;
	} rows[] = {
		{"web-1", "web-1"},
		{"Web_Server.example", "web-server-example"},
		{"--a--", "a"},
		{"", "machine"},
		{"---", "machine"},
		{"a\"b: {x: '$(reboot)'}\nc", "a-b-x-reboot-c"},
		{"<&>\x01\xff", "machine"},
		{"caf\xc3\xa9", "caf"},
	};
	char host[64], longest[200];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		seed_hostname(rows[i].name, host);
		CHECK_STR(host, rows[i].host);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[62] = '-';
	seed_hostname(longest, host);
	CHECK(strlen(host) == 62);
}

/* Whatever comes in, what comes out is JSON, with nothing of it outside. */
static void what_is_hostile_stays_where_it_is(void)
{
	static const char bad[] =
		"x\"}],\"runcmd\":[\"reboot\"]\n#cloud-config";
	struct machine_spec spec = {.name = bad};
	struct nic n = {.mac = bad, .gateway = bad};
	const struct node *vendor, *config, *meta;
	struct buf iso;

	spec.host_key = (struct ssh_pair){bad, bad};
	n.address = "10.0.0.15\"";
	n.prefix = "10.0.0.0/24\",\"x\":\"";
	make(&spec, &n, &iso);
	meta = read_json(&iso, "meta-data");
	CHECK(node_count(meta) == 2);
	CHECK_STR(text(in(meta, "local-hostname")),
		  "x-runcmd-reboot-cloud-config");
	vendor = read_json(&iso, "vendor-data");
	CHECK(node_count(vendor) == 2 && !in(vendor, "runcmd"));
	CHECK_STR(text(in(in(vendor, "ssh_keys"), "ed25519_public")), bad);
	config = in(in(read_json(&iso, "network-config"), "ethernets"), "eth0");
	CHECK_STR(text(in(in(config, "match"), "macaddress")), bad);
	CHECK(!in(config, "x") && !in(config, "runcmd"));
	buf_release(&iso);
}

static void one_that_is_too_large_is_refused(void)
{
	struct machine_spec spec = plain;
	struct buf out = BUF_INIT((size_t)64 << 10);
	struct err err;

	spec.user_data_len = (size_t)5 << 20;
	spec.user_data = arena_alloc(&arena, spec.user_data_len);
	CHECK(seed_iso(&spec, "i", NULL, &out, &err) < 0);
	CHECK(err.code == ERR_TOO_LARGE);
	spec.user_data_len = (size_t)1 << 20;
	CHECK(seed_iso(&spec, "i", NULL, &out, &err) < 0);
	CHECK(err.code == ERR_TOO_LARGE);
	buf_release(&out);
}

int main(void)
{
	arena_init(&arena, (size_t)64 << 20);
	RUN(it_is_a_cd_called_cidata);
	RUN(it_says_who_the_machine_is);
	RUN(user_data_is_passed_on_byte_by_byte);
	RUN(the_host_key_is_in_what_is_ours);
	RUN(what_is_known_of_the_network_is_said);
	RUN(what_is_not_is_asked_of_dhcp);
	RUN(nothing_says_when_it_was_made);
	RUN(names_become_hostnames);
	RUN(what_is_hostile_stays_where_it_is);
	RUN(one_that_is_too_large_is_refused);
	arena_release(&arena);
	return test_done();
}

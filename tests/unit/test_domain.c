/* A machine as libvirt's XML, and what we keep in it, there and back. */
#include "provider/libvirt/domain.h"

#include "base/field_ops.h"
#include "model/instance.h"
#include "model/securitygroup.h"
#include "model/server.h"
#include "provider/libvirt/xml.h"
#include "test.h"

#define UUID "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

static struct arena arena;

/* What a user may have called something, to see whether anybody believes it. */
static const char *const hard[] = {
	"web-1",
	"</muster:machine><evil/>",
	"]]><a b='c'>",
	"\"quoted\" & 'so'",
	"&lt;&#0;&x;",
	"\t\n\r",
	"\x01\x1f\x7f",
	"\\u0000 \\ \"",
	"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd\xef\xbf",
	"\xf0\x9f\x90\xb4",
	"{\"server\":\"x\"}",
	"%s%n%99999d",
	"$(reboot) `reboot`",
	"",
};

static struct domain_facts facts_with(const char *s, struct field_tag tags[2],
				      const char *list[1], struct port *port)
{
	tags[0] = (struct field_tag){s[0] ? s : "empty", s};
	tags[1] = (struct field_tag){TAG_SERVER, UUID};
	list[0] = s;
	*port = (struct port){22, PROTOCOL_TCP, s, 20022};
	return (struct domain_facts){
		.installation = s,
		.server = s,
		.token = s,
		.name = s,
		.flavor = s,
		.image = s,
		.zone = s,
		.network = s,
		.groups = {list, 1},
		.sources = {list, 1},
		.public_ip = true,
		.tags = {tags, 2},
		.mac = s,
		.address = s,
		.address6 = s,
		.ports = {port, 1},
		.root_disk_gib = 5,
		.created_at = 1794000000123,
		.started = true,
	};
}

/* What is no UTF-8 is written with a sign in its place, as in all JSON here. */
static const char *kept(const char *s)
{
	struct buf json = BUF_INIT(4096);
	struct err err = {0};
	struct node *n;
	size_t len;

	json_add_string(&json, s, strlen(s));
	n = json_parse(buf_str(&json), json.len, &arena, &err);
	buf_release(&json);
	return n ? node_string(n, &len) : "?";
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void check_facts(const struct domain_facts *f, const char *s)
{
	const char *const *groups = f->groups.at, *const *sources =
							  f->sources.at;
	const struct port *port = f->ports.at;

	CHECK(same(f->installation, s) && same(f->server, s));
	CHECK(same(f->token, s) && same(f->name, s) && same(f->flavor, s));
	CHECK(same(f->image, s) && same(f->zone, s) && same(f->network, s));
	CHECK(same(f->mac, s) && same(f->address, s) && same(f->address6, s));
	CHECK(f->groups.n == 1 && same(groups[0], s));
	CHECK(f->sources.n == 1 && same(sources[0], s));
	CHECK(f->ports.n == 1 && port->guest == 22 && port->port == 20022 &&
	      port->protocol == PROTOCOL_TCP && same(port->address, s));
	CHECK(f->public_ip && f->started && f->root_disk_gib == 5);
	CHECK(f->created_at == 1794000000123);
	CHECK(same(field_tag_get(&f->tags, s[0] ? s : "empty"), s));
	CHECK(same(field_tag_get(&f->tags, TAG_SERVER), UUID));
}

static void facts_are_kept_whatever_they_are(void)
{
	for (size_t i = 0; i < COUNT_OF(hard); i++) {
		struct buf xml = BUF_INIT(FACTS_MOST);
		struct domain_facts f, back;
		struct field_tag tags[2];
		const char *list[1];
		struct err err = {0};
		struct port port;

		f = facts_with(hard[i], tags, list, &port);
		CHECK(facts_write(&f, &xml, &err) == 0);
		CHECK(facts_read(buf_str(&xml), &arena, &back, &err) == 0);
		check_facts(&back, kept(hard[i]));
		buf_release(&xml);
	}
}

/* A domain with S wherever a user's words can come to be. */
static const struct xml_node *domain_with(const char *s, struct xml_doc **ret)
{
	const struct domain_disk disks[] = {
		{.path = s, .target = "vda", .format = "qcow2", .serial = s},
		{.path = s,
		 .target = "vdb",
		 .format = "raw",
		 .readonly = true}};
	struct buf xml = BUF_INIT(FACTS_MOST);
	struct field_tag tags[2];
	const char *list[1];
	struct port port;
	struct err err = {0};
	struct domain d = {
		.uuid = UUID,
		.vcpus = 2,
		.memory_mib = 512,
		.powers = {.machine = "pc"},
		.disks = {arena_memdup(&arena, disks, sizeof(disks)), 2},
		.nic = {.kind = NIC_NETWORK,
			.source = s,
			.mac = "52:54:00:00:00:01",
			.filter = s},
		.console_log = s,
		.facts = facts_with(s, tags, list, &port),
	};

	*ret = NULL;
	if (domain_write(&d, &xml, &err) == 0)
		*ret = xml_parse(buf_str(&xml), xml.len, &err);
	buf_release(&xml);
	return *ret ? xml_root(*ret) : NULL;
}

/* The element's text, as libvirt would give the element back. */
static bool read_back(const char *text, struct domain_facts *ret)
{
	struct buf xml = BUF_INIT(FACTS_MOST);
	struct xml *x = xml_new();
	struct err err = {0};
	bool good;

	xml_leaf(x, DOMAIN_ELEMENT, text);
	good = xml_finish(x, &xml, &err) == 0 &&
	       facts_read(buf_str(&xml), &arena, ret, &err) == 0;
	buf_release(&xml);
	return good;
}

static void nothing_breaks_out_of_its_place(void)
{
	static const char *const said[] = {"a",
					   "</domain><domain>",
					   "'/><source file='/etc/shadow",
					   "\"/><x y=\"",
					   "]]>",
					   "&amp;&lt;",
					   "<!-- -->",
					   "a b\tc"};

	for (size_t i = 0; i < COUNT_OF(said); i++) {
		struct domain_facts f;
		struct xml_doc *d;
		const struct xml_node *n = domain_with(said[i], &d), *disk;
		const char *facts;

		CHECK(n != NULL);
		disk = xml_child(n, "devices/disk");
		CHECK(xml_is(xml_child(disk, "source"), "file", said[i]));
		CHECK_STR(xml_value(xml_child(disk, "serial"), &arena),
			  said[i]);
		CHECK(disk && xml_next(disk) && !xml_next(xml_next(disk)));
		CHECK(xml_is(xml_child(n, "devices/interface/source"),
			     "network", said[i]));
		CHECK(xml_is(xml_child(n, "devices/interface/filterref"),
			     "filter", said[i]));
		CHECK(xml_is(xml_child(n, "devices/serial/log"), "file",
			     said[i]));
		CHECK_STR(xml_value(xml_child(n, "name"), &arena),
			  "muster-" UUID);
		facts = xml_value(xml_child(n, "metadata/machine"), &arena);
		CHECK(facts && read_back(facts, &f));
		check_facts(&f, said[i]);
		xml_free(d);
	}
}

static void what_cannot_be_said_is_refused(void)
{
	struct xml_doc *d;

	CHECK(!domain_with("\x01", &d));
	CHECK(!domain_with("\xff", &d));
}

static void others_are_not_believed(void)
{
	static const char *const xml[] = {"<machine/>",
					  "<machine>[]</machine>",
					  "<machine>{</machine>",
					  "<machine>{\"tags\":7}</machine>",
					  "no xml",
					  ""};

	for (size_t i = 0; i < COUNT_OF(xml); i++) {
		struct domain_facts f;
		struct err err = {0};

		CHECK(facts_read(xml[i], &arena, &f, &err) < 0);
		CHECK(err.code == ERR_PROVIDER);
	}
}

static const char *value(const struct xml_node *n, const char *path)
{
	const char *v = xml_value(xml_child(n, path), &arena);

	return v ? v : "";
}

static void limits_are_written(void)
{
	const struct domain_disk disk = {.path = "/d",
					 .target = "vda",
					 .format = "qcow2",
					 .iops = 100,
					 .mib_per_second = 3};
	struct domain d = {
		.uuid = UUID,
		.vcpus = 2,
		.memory_mib = 512,
		.cpu_percent = 50,
		.cpu_shares = 10,
		.powers = {.machine = "pc", .limits = true},
		.disks = {arena_memdup(&arena, &disk, sizeof(disk)), 1}};

	for (int kept_there = 1; kept_there >= 0; kept_there--) {
		struct buf xml = BUF_INIT(FACTS_MOST);
		const struct xml_node *n;
		struct xml_doc *doc;
		struct err err = {0};

		d.powers.limits = kept_there;
		CHECK(domain_write(&d, &xml, &err) == 0);
		doc = xml_parse(buf_str(&xml), xml.len, &err);
		n = xml_root(doc);
		CHECK_STR(value(n, "cputune/shares"), kept_there ? "10" : "");
		CHECK_STR(value(n, "cputune/quota"), kept_there ? "50000" : "");
		CHECK_STR(value(n, "devices/disk/iotune/total_iops_sec"),
			  "100");
		CHECK_STR(value(n, "devices/disk/iotune/total_bytes_sec"),
			  "3145728");
		CHECK_STR(value(n, "memory"), "512");
		CHECK_STR(value(n, "vcpu"), "2");
		CHECK(xml_is(n, "type", "qemu"));
		xml_free(doc);
		buf_release(&xml);
	}
}

static void a_token_is_a_uuid(void)
{
	char a[VIR_UUID_STRING_BUFLEN], b[VIR_UUID_STRING_BUFLEN];

	domain_uuid("i", "t", a);
	domain_uuid("i", "t", b);
	CHECK_STR(a, b);
	domain_uuid("i", "u", b);
	CHECK(strcmp(a, b) != 0);
	domain_uuid("j", "t", b);
	CHECK(strcmp(a, b) != 0);
}

static void every_state_has_a_word(void)
{
	static const struct {
		int state, reason;
		bool started;
		int ours;
		const char *native;
	} cases[] = {
		{VIR_DOMAIN_NOSTATE, 0, true, INSTANCE_UNKNOWN, "no state"},
		{VIR_DOMAIN_RUNNING, 0, true, INSTANCE_RUNNING, "running"},
		{VIR_DOMAIN_RUNNING, 0, false, INSTANCE_RUNNING, "running"},
		{VIR_DOMAIN_BLOCKED, 0, true, INSTANCE_RUNNING, "blocked"},
		{VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER, true,
		 INSTANCE_STOPPED, "paused"},
		{VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SNAPSHOT, true,
		 INSTANCE_RUNNING, "paused"},
		{VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_STARTING_UP, true,
		 INSTANCE_PENDING, "paused"},
		{VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR, true,
		 INSTANCE_STOPPED, "paused"},
		{VIR_DOMAIN_SHUTDOWN, 0, true, INSTANCE_STOPPING,
		 "in shutdown"},
		{VIR_DOMAIN_SHUTOFF, 0, false, INSTANCE_PENDING, "shut off"},
		{VIR_DOMAIN_SHUTOFF, 0, true, INSTANCE_STOPPED, "shut off"},
		{VIR_DOMAIN_CRASHED, 0, true, INSTANCE_STOPPED, "crashed"},
		{VIR_DOMAIN_PMSUSPENDED, 0, true, INSTANCE_STOPPED,
		 "pmsuspended"},
		{99, 0, true, INSTANCE_UNKNOWN, "no state"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *native, *why;

		CHECK(domain_state(cases[i].state, cases[i].reason,
				   cases[i].started, &native,
				   &why) == cases[i].ours);
		CHECK_STR(native, cases[i].native);
	}
}

int main(void)
{
	arena_init(&arena, (size_t)64 << 20);
	RUN(facts_are_kept_whatever_they_are);
	RUN(nothing_breaks_out_of_its_place);
	RUN(what_cannot_be_said_is_refused);
	RUN(others_are_not_believed);
	RUN(limits_are_written);
	RUN(a_token_is_a_uuid);
	RUN(every_state_has_a_word);
	arena_release(&arena);
	return test_done();
}

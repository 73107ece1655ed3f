#include "provider/libvirt/options.h"

#include <limits.h>
#include <string.h>

#include "http/uri.h"

#define HOST(member)   offsetof(struct host_options, member)
#define FLAVOR(member) offsetof(struct flavor_options, member)
#define AT(member)     offsetof(struct lv_options, member)

#define MOST_MIB ((int64_t)16 << 20)

static const char *const placement_names[] = {
	NULL, [PLACEMENT_SPREAD] = "spread", [PLACEMENT_PACK] = "pack", NULL};

const char *const network_mode_names[] = {
	NULL, [NETWORK_NAT] = "nat", [NETWORK_ISOLATED] = "isolated",
	[NETWORK_BRIDGE] = "bridge", NULL};

static const struct field host_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, HOST(name),
	 "What it is called here.", &format_name, .max = 63},
	{"uri", FIELD_STRING, FIELD_REQUIRED, HOST(uri),
	 "Where its libvirt is: qemu:///system, qemu+tls://HOST/system, "
	 "qemu+ssh://USER@HOST/system, or qemu:///embed?root=FOLDER for one "
	 "that runs in the server.",
	 &format_text, .max = 1024},
	{"zone", FIELD_STRING, 0, HOST(zone),
	 "The zone that it is in; absent: in none.", &format_name, .max = 63},
	{"cpus", FIELD_INT, 0, HOST(cpus),
	 "How many processors machines may have; absent: those it has.",
	 .min = 1, .max = 65536},
	{"memoryMiB", FIELD_INT, 0, HOST(memory_mib),
	 "How much memory machines may have; absent: all but an eighth, which "
	 "is the host's.",
	 .min = 1, .max = MOST_MIB},
	{"diskGiB", FIELD_INT, 0, HOST(disk_gib),
	 "How large their disks may be together; absent: what is free, and "
	 "what they have.",
	 .min = 1, .max = MOST_MIB},
	{"overcommitPercent", FIELD_INT, 0, HOST(overcommit),
	 "How many processors are given for a hundred that there are.",
	 .min = 1, .max = 10000, .fallback = "400"},
	{"diskOvercommitPercent", FIELD_INT, 0, HOST(disk_overcommit),
	 "How much disk is given for a hundred that there are: disks take room "
	 "as they are written to.",
	 .min = 1, .max = 10000, .fallback = "200"},
	{"pool", FIELD_STRING, 0, HOST(pool),
	 "The storage pool that disks lie in (a folder); one that is embedded "
	 "has none.",
	 &format_text, .max = 255, .fallback = "\"default\""},
	{0},
};

static const struct field flavor_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, FLAVOR(name),
	 "What it is called.", &format_text, .max = 63},
	{"vcpus", FIELD_INT, FIELD_REQUIRED, FLAVOR(vcpus), "Processors.",
	 .min = 1, .max = 512},
	{"memoryMiB", FIELD_INT, FIELD_REQUIRED, FLAVOR(memory_mib), "Memory.",
	 .min = 16, .max = MOST_MIB},
	{"diskGiB", FIELD_INT, 0, FLAVOR(disk_gib),
	 "The root disk that comes with it.", .min = 1, .max = 65536,
	 .fallback = "10"},
	{"localDiskGiB", FIELD_INT, FIELD_SPARSE, FLAVOR(local_gib),
	 "A second disk that comes and goes with the machine.", .min = 1,
	 .max = 65536},
	{"cpuPercent", FIELD_INT, FIELD_SPARSE, FLAVOR(cpu_percent),
	 "How much of each processor it may take at most.", .min = 1,
	 .max = 100},
	{"cpuShares", FIELD_INT, FIELD_SPARSE, FLAVOR(cpu_shares),
	 "Its weight among others when processors are short.", .min = 2,
	 .max = 10000},
	{"diskIops", FIELD_INT, FIELD_SPARSE, FLAVOR(disk_iops),
	 "How often each of its disks may be read or written in a second.",
	 .min = 1, .max = 10000000},
	{"diskMiBPerSecond", FIELD_INT, FIELD_SPARSE,
	 FLAVOR(disk_mib_per_second),
	 "How much may be read from or written to each in a second.", .min = 1,
	 .max = 1000000},
	{0},
};

static const struct field network_fields[] = {
	{"mode", FIELD_ENUM, 0, offsetof(struct lv_network_options, mode),
	 "Whether machines reach the world through the host (nat), nobody "
	 "else (isolated), or are on a bridge of the host's.",
	 .names = network_mode_names, .fallback = "\"nat\""},
	{"bridge", FIELD_STRING, 0, offsetof(struct lv_network_options, bridge),
	 "The bridge.", &format_name, .max = 15},
	{0},
};

const struct field lv_option_fields[] = {
	{"hosts", FIELD_LIST, 0, AT(hosts),
	 "The hosts; none: this one, with a libvirt that runs in the server "
	 "and needs no daemon.",
	 .item = FIELD_OBJECT, .fields = host_fields,
	 .size = sizeof(struct host_options), .max = 256},
	{"placement", FIELD_ENUM, 0, AT(placement),
	 "Which host gets a machine, of those that have room: the emptiest "
	 "(spread), or the fullest (pack).",
	 .names = placement_names, .fallback = "\"spread\""},
	{"flavors", FIELD_LIST, 0, AT(flavors),
	 "The sizes of machines; none: tiny, small, medium, large, xlarge.",
	 .item = FIELD_OBJECT, .fields = flavor_fields,
	 .size = sizeof(struct flavor_options), .max = 256},
	{"images", FIELD_STRING, 0, AT(images),
	 "A folder on the server with images (qcow2 or raw) that are "
	 "everyone's in this region.",
	 &format_text, .max = 1024},
	{"imageMaxGiB", FIELD_INT, 0, AT(image_gib),
	 "How large the disk in an image that is imported may be; the file, "
	 "too.",
	 .min = 1, .max = 65536, .fallback = "64"},
	{"publish", FIELD_LIST, 0, AT(publish),
	 "Ports of machines on embedded hosts that are reached through ports "
	 "of this host; absent: 22.",
	 .item = FIELD_INT, .size = sizeof(int64_t), .max = 16},
	{"publishAddress", FIELD_STRING, 0, AT(publish_address),
	 "The address of this host that they are reached at.", &format_address,
	 .max = 45, .fallback = "\"127.0.0.1\""},
	{"network", FIELD_OBJECT, 0, AT(network),
	 "How networks are made on hosts that are not embedded.",
	 .fields = network_fields},
	{"tcg", FIELD_BOOL, 0, AT(tcg),
	 "Emulate processors even where KVM works: slow, and for tests."},
	{0},
};

static const struct flavor_options flavors[] = {{"tiny", 1, 128, 1},
						{"small", 1, 512, 5},
						{"medium", 2, 2048, 10},
						{"large", 4, 8192, 40},
						{"xlarge", 8, 32768, 80}};

static const int64_t published[] = {22};

/* A copy of constants, for items are not const. */
static struct items copied(struct arena *a, const void *at, size_t n,
			   size_t size)
{
	return (struct items){arena_memdup(a, at, n * size), n};
}

static int check_ports(const struct lv_options *o, struct err *err)
{
	const int64_t *ports = o->publish.at;

	for (size_t i = 0; i < o->publish.n; i++)
		if (ports[i] < 1 || ports[i] > 65535)
			return err_at(err, ERR_INVALID, "/publish",
				      "%lld is no port", (long long)ports[i]);
	return 0;
}

static int check_hosts(const struct lv_options *o, struct err *err)
{
	const struct host_options *h = o->hosts.at;

	for (size_t i = 0; i < o->hosts.n; i++)
		for (size_t n = 0; n < i; n++)
			if (strcmp(h[i].name, h[n].name) == 0)
				return err_at(err, ERR_INVALID, "/hosts",
					      "there are two hosts \"%s\"",
					      h[i].name);
	return 0;
}

static int check_flavors(const struct lv_options *o, struct err *err)
{
	const struct flavor_options *f = o->flavors.at;

	for (size_t i = 0; i < o->flavors.n; i++)
		for (size_t n = 0; n < i; n++)
			if (strcmp(f[i].name, f[n].name) == 0)
				return err_at(err, ERR_INVALID, "/flavors",
					      "there are two flavors \"%s\"",
					      f[i].name);
	return 0;
}

static int add_local(struct lv_options *o, const char *folder, struct arena *a,
		     struct err *err)
{
	struct buf uri = BUF_INIT(PATH_MAX * 3);
	struct host_options local = {.name = "local",
				     .cpus = FIELD_NONE,
				     .memory_mib = FIELD_NONE,
				     .disk_gib = FIELD_NONE,
				     .overcommit = 400,
				     .disk_overcommit = 200};

	if (!folder)
		return err_at(err, ERR_INVALID, "/hosts",
			      "there must be hosts: nothing can be kept on "
			      "this machine");
	buf_adds(&uri, "qemu:///embed?root=");
	uri_add_escaped(&uri, folder);
	local.uri = arena_strdup(a, buf_str(&uri));
	buf_release(&uri);
	o->hosts = copied(a, &local, 1, sizeof(local));
	return 0;
}

int lv_options_check(struct lv_options *o, const char *folder, struct arena *a,
		     struct err *err)
{
	if (!o->hosts.n && add_local(o, folder, a, err) < 0)
		return -1;
	if (!o->flavors.n)
		o->flavors = copied(a, flavors, COUNT_OF(flavors),
				    sizeof(flavors[0]));
	/* An empty list is none; the field's default would be in it. */
	if (!o->publish.at)
		o->publish = copied(a, published, COUNT_OF(published),
				    sizeof(published[0]));
	if (o->network.mode == NETWORK_BRIDGE && !o->network.bridge)
		return err_at(err, ERR_INVALID, "/network/bridge",
			      "must be there with the mode \"bridge\"");
	if (strchr(o->publish_address, ':'))
		return err_at(err, ERR_INVALID, "/publishAddress",
			      "must be an IPv4 address");
	if (check_ports(o, err) < 0 || check_hosts(o, err) < 0)
		return -1;
	return check_flavors(o, err);
}

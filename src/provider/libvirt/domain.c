#include "provider/libvirt/domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "provider/libvirt/xml.h"

void domain_name(const char *uuid, char out[DOMAIN_NAME_SIZE])
{
	snprintf(out, DOMAIN_NAME_SIZE, "muster-%s", uuid);
}

/* Not every installation need be named by a UUID. */
void domain_uuid(const char *installation, const char *token,
		 char out[VIR_UUID_STRING_BUFLEN])
{
	static const char space[] = "3d6a3c37-93a4-5ab0-8bd0-3f3a0e8c5a11";
	char whose[VIR_UUID_STRING_BUFLEN];

	uuid_v5(space, installation ? installation : "", whose);
	uuid_v5(whose, token, out);
}

static void add_limits(struct xml *x, const struct domain *d)
{
	if (!d->powers.limits || (!d->cpu_percent && !d->cpu_shares))
		return;
	xml_begin(x, "cputune");
	if (d->cpu_shares)
		xml_leaf_int(x, "shares", d->cpu_shares);
	if (d->cpu_percent) {
		xml_leaf_int(x, "period", CPU_PERIOD_US);
		xml_leaf_int(x, "quota", CPU_PERIOD_US / 100 * d->cpu_percent);
	}
	xml_end(x);
}

static void add_metadata(struct xml *x, const char *facts)
{
	xml_begin(x, "metadata");
	xml_begin_in(x, DOMAIN_PREFIX, DOMAIN_ELEMENT, DOMAIN_NAMESPACE);
	xml_text(x, facts);
	xml_end(x);
	xml_end(x);
}

static void add_shape(struct xml *x, const struct domain *d)
{
	xml_begin(x, "memory");
	xml_attr(x, "unit", "MiB");
	xml_int(x, d->memory_mib);
	xml_end(x);
	xml_leaf_int(x, "vcpu", d->vcpus);
	add_limits(x, d);
	xml_begin(x, "os");
	xml_begin(x, "type");
	if (!d->fake) {
		xml_attr(x, "arch", "x86_64");
		xml_attr(x, "machine", d->powers.machine);
	}
	xml_text(x, "hvm");
	xml_end(x);
	xml_end(x);
	if (d->fake)
		return;
	xml_begin(x, "features");
	xml_leaf(x, "acpi", "");
	xml_leaf(x, "apic", "");
	xml_end(x);
	xml_begin(x, "cpu");
	xml_attr(x, "mode", d->powers.kvm ? "host-passthrough" : "maximum");
	xml_end(x);
}

static void add_fate(struct xml *x)
{
	xml_begin(x, "clock");
	xml_attr(x, "offset", "utc");
	xml_end(x);
	xml_leaf(x, "on_poweroff", "destroy");
	xml_leaf(x, "on_reboot", "restart");
	xml_leaf(x, "on_crash", "destroy");
}

void domain_add_disk(struct xml *x, const struct domain_disk *d)
{
	xml_begin(x, "disk");
	xml_attr(x, "type", "file");
	xml_attr(x, "device", "disk");
	xml_begin(x, "driver");
	xml_attr(x, "name", "qemu");
	xml_attr(x, "type", d->format);
	if (!d->readonly)
		xml_attr(x, "discard", "unmap");
	xml_end(x);
	xml_begin(x, "source");
	xml_attr(x, "file", d->path);
	xml_end(x);
	xml_begin(x, "target");
	xml_attr(x, "dev", d->target);
	xml_attr(x, "bus", "virtio");
	xml_end(x);
	if (d->iops || d->mib_per_second) {
		xml_begin(x, "iotune");
		if (d->mib_per_second)
			xml_leaf_int(x, "total_bytes_sec",
				     d->mib_per_second << 20);
		if (d->iops)
			xml_leaf_int(x, "total_iops_sec", d->iops);
		xml_end(x);
	}
	if (d->readonly)
		xml_leaf(x, "readonly", "");
	if (d->serial)
		xml_leaf(x, "serial", d->serial);
	xml_end(x);
}

/* "10.0.2.0/24" as libvirt has it. */
static void add_prefix(struct xml *x, const char *prefix)
{
	const char *slash = strchr(prefix, '/');
	char address[64];

	if (!slash)
		return;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - prefix),
		 prefix);
	xml_begin(x, "ip");
	xml_attr(x, "family", strchr(prefix, ':') ? "ipv6" : "ipv4");
	xml_attr(x, "address", address);
	xml_attr(x, "prefix", slash + 1);
	xml_end(x);
}

static void add_source(struct xml *x, const char *attr, const char *source)
{
	xml_begin(x, "source");
	xml_attr(x, attr, source);
	xml_end(x);
}

static void add_nic(struct xml *x, const struct nic *n)
{
	static const char *const types[] = {[NIC_USER] = "user",
					    [NIC_NETWORK] = "network",
					    [NIC_BRIDGE] = "bridge"};

	if (!n->kind)
		return;
	xml_begin(x, "interface");
	xml_attr(x, "type", types[n->kind]);
	xml_begin(x, "mac");
	xml_attr(x, "address", n->mac);
	xml_end(x);
	if (n->kind != NIC_USER)
		add_source(x, types[n->kind], n->source);
	xml_begin(x, "model");
	xml_attr(x, "type", "virtio");
	xml_end(x);
	if (n->kind == NIC_USER && n->prefix)
		add_prefix(x, n->prefix);
	if (n->kind == NIC_USER && n->prefix6)
		add_prefix(x, n->prefix6);
	if (n->filter) {
		xml_begin(x, "filterref");
		xml_attr(x, "filter", n->filter);
		xml_end(x);
	}
	xml_end(x);
}

/* The line that a machine says everything on, and what the guest's agent is
 * asked by. */
static void add_lines(struct xml *x, const struct domain *d)
{
	xml_begin(x, "serial");
	xml_attr(x, "type", "pty");
	if (d->console_log) {
		xml_begin(x, "log");
		xml_attr(x, "file", d->console_log);
		xml_attr(x, "append", "on");
		xml_end(x);
	}
	xml_begin(x, "target");
	xml_attr(x, "port", "0");
	xml_end(x);
	xml_end(x);
	xml_begin(x, "channel");
	xml_attr(x, "type", "unix");
	xml_begin(x, "target");
	xml_attr(x, "type", "virtio");
	xml_attr(x, "name", "org.qemu.guest_agent.0");
	xml_end(x);
	xml_end(x);
}

/* A screen that nobody can come to but through libvirt. */
static void add_screen(struct xml *x)
{
	xml_begin(x, "graphics");
	xml_attr(x, "type", "vnc");
	xml_begin(x, "listen");
	xml_attr(x, "type", "none");
	xml_end(x);
	xml_end(x);
	xml_begin(x, "video");
	xml_begin(x, "model");
	xml_attr(x, "type", "vga");
	xml_end(x);
	xml_end(x);
}

static void add_devices(struct xml *x, const struct domain *d)
{
	const struct domain_disk *disks = d->disks.at;

	xml_begin(x, "devices");
	for (size_t i = 0; i < d->disks.n; i++)
		domain_add_disk(x, &disks[i]);
	if (!d->fake) {
		xml_begin(x, "controller");
		xml_attr(x, "type", "usb");
		xml_attr(x, "model", "none");
		xml_end(x);
		add_nic(x, &d->nic);
		add_lines(x, d);
		add_screen(x);
		xml_begin(x, "rng");
		xml_attr(x, "model", "virtio");
		xml_begin(x, "backend");
		xml_attr(x, "model", "random");
		xml_text(x, "/dev/urandom");
		xml_end(x);
		xml_end(x);
	}
	xml_end(x);
}

static const char *type_of(const struct domain *d)
{
	if (d->fake)
		return "test";
	return d->powers.kvm ? "kvm" : "qemu";
}

int domain_write(const struct domain *d, struct buf *out, struct err *err)
{
	struct buf facts = BUF_INIT(FACTS_MOST);
	char name[DOMAIN_NAME_SIZE];
	struct xml *x;
	int r;

	if (facts_text(&d->facts, &facts, err) < 0) {
		buf_release(&facts);
		return -1;
	}
	domain_name(d->uuid, name);
	x = xml_new();
	xml_begin(x, "domain");
	xml_attr(x, "type", type_of(d));
	xml_leaf(x, "name", name);
	xml_leaf(x, "uuid", d->uuid);
	add_metadata(x, buf_str(&facts));
	add_shape(x, d);
	add_fate(x);
	add_devices(x, d);
	xml_end(x);
	r = xml_finish(x, out, err);
	buf_release(&facts);
	return r;
}

#include "provider/libvirt/publish.h"

#include <libvirt/libvirt-qemu.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/securitygroup.h"
#include "provider/libvirt/driver.h"

/* Where ports of ours are looked for: below those that the kernel gives away. */
enum { FIRST = 20000, MANY = 12000, TRIES = 64 };

/* libvirt's name of the first network card's other end. */
#define NETDEV "hostnet0"

struct publish {
	struct host *host;
	virDomainPtr domain;
};

/* True when QEMU has it; it says what is in the way, and nothing if nothing. */
static bool forward(const struct publish *p, const char *address, int64_t port,
		    int64_t guest)
{
	auto_free char *answer = NULL;
	char command[128];

	snprintf(command, sizeof(command),
		 "hostfwd_add " NETDEV " tcp:%s:%lld-:%lld", address,
		 (long long)port, (long long)guest);
	return virDomainQemuMonitorCommand(
		       p->domain, command, &answer,
		       VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP) == 0 &&
	       (!answer || !answer[0]);
}

/* The port it had before, if it is still to be had. */
static int64_t before(const struct items *ports, int64_t guest,
		      const char *address)
{
	const struct port *p = ports->at;

	for (size_t i = 0; i < ports->n; i++)
		if (p[i].guest == guest && strcmp(p[i].address, address) == 0)
			return p[i].port;
	return 0;
}

/* Where to begin to look, not the same for all. */
static unsigned begin(virDomainPtr d, int64_t guest)
{
	unsigned char uuid[VIR_UUID_BUFLEN] = {0};

	virDomainGetUUID(d, uuid);
	return (unsigned)(uuid[0] << 16 | uuid[1] << 8 | uuid[2]) +
	       (unsigned)guest * 7919U;
}

static bool publish_one(const struct publish *p, const struct items *had,
			int64_t guest, struct port *ret)
{
	const char *address = p->host->lv->options.publish_address;
	int64_t port = before(had, guest, address);
	unsigned at = begin(p->domain, guest);
	bool good = port && forward(p, address, port, guest);

	for (unsigned i = 0; !good && i < TRIES; i++) {
		port = FIRST + (at + i) % MANY;
		good = forward(p, address, port, guest);
	}
	*ret = (struct port){guest, PROTOCOL_TCP, address, port};
	return good;
}

static int publish_all(struct domain_facts *f, struct arena *a, void *ctx,
		       struct err *err)
{
	const struct publish *p = ctx;
	const struct items *want = &p->host->lv->options.publish;
	const int64_t *guest = want->at;
	struct port *ports = arena_alloc(a, want->n * sizeof(*ports) + 1);
	size_t n = 0;

	(void)err;
	for (size_t i = 0; f->mac && i < want->n; i++)
		n += publish_one(p, &f->ports, guest[i], &ports[n]);
	f->ports = (struct items){ports, n};
	f->started = true;
	f->stopped_at = 0;
	return 0;
}

int publish_ports(struct host *h, virDomainPtr d, struct err *err)
{
	struct publish p = {h, d};

	return facts_change(h, d, publish_all, &p, err);
}

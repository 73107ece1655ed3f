#include "provider/libvirt/ready.h"

#include <libvirt/libvirt-qemu.h>
#include <stdlib.h>
#include <string.h>

#include "model/instance.h"
#include "provider/libvirt/guests.h"

enum { SSH_PORT = 22, PING_SECONDS = 1 };

static bool ping(void *ctx, const char *machine)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	auto_domain virDomainPtr d = NULL;
	struct host *h;
	struct err err;
	bool other, answers;
	char *answer;

	h = host_of_machine(ctx, machine, uuid, &other);
	if (!h || h->fake || host_domain(h, uuid, &d, &err) < 0)
		return false;
	answer = virDomainQemuAgentCommand(d, "{\"execute\":\"guest-ping\"}",
					   PING_SECONDS, 0);
	answers = answer != NULL;
	free(answer);
	return answers;
}

static void changed(void *ctx, const char *machine)
{
	const struct provider_conf *conf = ((const struct lv *)ctx)->conf;

	if (conf->changed)
		conf->changed(conf->listener, machine);
}

struct guests *ready_open(struct lv *lv)
{
	const struct guests_conf conf = {
		.ping = ping, .changed = changed, .ctx = lv};

	return guests_new(&conf);
}

/* Its libvirt is on this machine, and so are its networks. */
static bool is_here(const struct host *h)
{
	return strstr(h->options->uri, ":///") != NULL;
}

/* A port that we have published leads to the guest if anything does; at an
 * address of its own rules may keep us out. */
static void aim(const struct host *h, const struct machine *m,
		struct guest_target *t)
{
	const struct port *ports = m->ports.at;

	for (size_t i = 0; i < m->ports.n; i++)
		if (ports[i].guest == SSH_PORT) {
			t->address = ports[i].address;
			t->port = ports[i].port;
			t->certain = true;
			return;
		}
	if (h->embedded || !is_here(h) || !m->private_ip)
		return;
	t->address = m->private_ip;
	t->port = SSH_PORT;
}

void ready_tell(struct host *h, virDomainPtr d, struct machine *m)
{
	struct guest_target t = {.machine = m->id};

	if (h->fake)
		return;
	if (m->state != INSTANCE_RUNNING) {
		guests_forget(h->lv->guests, m->id);
		return;
	}
	t.run = (int)virDomainGetID(d);
	aim(h, m, &t);
	m->ready = guests_look(h->lv->guests, &t, &m->ready_why);
}

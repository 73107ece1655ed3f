/* The checks about where machines are reached. */
#include "model/securitygroup.h"
#include "model/server.h"
#include "provider/verify_priv.h"

enum { PORT_MOST = 65535 };

static bool is_port(int64_t n)
{
	return n >= 1 && n <= PORT_MOST;
}

static void make_sense(struct verify *v, const struct machine *m)
{
	const struct port *p = m->ports.at;

	for (size_t i = 0; i < m->ports.n; i++)
		verify_that(v,
			    is_port(p[i].guest) && is_port(p[i].port) &&
				    p[i].address && p[i].address[0] &&
				    (p[i].protocol == PROTOCOL_TCP ||
				     p[i].protocol == PROTOCOL_UDP),
			    "a port that is published makes no sense");
}

static bool is_one(const struct port *a, const struct port *b)
{
	return a->port == b->port && a->protocol == b->protocol &&
	       verify_same(a->address, b->address);
}

static void differ(struct verify *v, const struct items *one,
		   const struct items *other)
{
	const struct port *a = one->at, *b = other->at;

	for (size_t i = 0; i < one->n; i++)
		for (size_t k = 0; k < other->n; k++)
			verify_that(v, !is_one(&a[i], &b[k]),
				    "two machines are reached at one port");
}

static void ports_are_its_own(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine ours, other, again;

	if (!verify_wait(v, v->id, INSTANCE_RUNNING, &ours) ||
	    !verify_launch(v, &spec, true, &other) ||
	    !verify_wait(v, other.id, INSTANCE_RUNNING, &other) ||
	    !verify_describe(v, v->id, &again))
		return;
	make_sense(v, &ours);
	make_sense(v, &other);
	differ(v, &ours.ports, &other.ports);
	verify_that(v, ports_same(&ours.ports, &again.ports),
		    "its ports are others while it runs");
}

const struct verify_check verify_reach_checks[] = {
	{"published ports are a machine's own", ports_are_its_own,
	 CAPABILITIES},
	{0},
};

/* Drivers that tell what is not so: of machines, of lists, of themselves. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "model/flavor.h"
#include "model/securitygroup.h"
#include "model/server.h"
#include "zoo.h"

static const struct machine_ops *sim(void)
{
	return sim_driver.machines;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Remember the last one that was launched. */
static int remembers(struct provider *p, const struct machine_spec *spec,
		     struct arena *a, struct machine *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->launch(p, spec, a, ret, err) < 0)
		return -1;
	snprintf(c->id, sizeof(c->id), "%s", ret->id);
	return 0;
}

static int off_is_on(struct provider *p, const char *id, struct arena *a,
		     struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state == INSTANCE_STOPPED)
		ret->state = INSTANCE_RUNNING;
	return 0;
}

static int guesses(struct provider *p, const char *id, struct arena *a,
		   struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state == INSTANCE_UNKNOWN)
		ret->state = INSTANCE_RUNNING;
	return 0;
}

static int on_is_pending(struct provider *p, const char *id, struct arena *a,
			 struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state == INSTANCE_RUNNING)
		ret->state = INSTANCE_PENDING;
	return 0;
}

static int no_native_state(struct provider *p, const char *id, struct arena *a,
			   struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	ret->native_state = NULL;
	return 0;
}

static int too_early(struct provider *p, const char *id, struct arena *a,
		     struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state == INSTANCE_TERMINATING)
		ret->state = INSTANCE_TERMINATED;
	return 0;
}

static int hides_going(struct provider *p, const struct machine_filter *f,
		       const char *page, struct arena *a,
		       struct machine_page *ret, struct err *err)
{
	const struct machine *from;
	struct machine *to;
	size_t n = 0;

	if (sim()->list(p, f, page, a, ret, err) < 0)
		return -1;
	from = ret->machines.at;
	to = arena_alloc(a, ret->machines.n * sizeof(*to) + 1);
	for (size_t i = 0; i < ret->machines.n; i++)
		if (from[i].state != INSTANCE_TERMINATING)
			to[n++] = from[i];
	ret->machines = (struct items){to, n};
	return 0;
}

static int undead(struct provider *p, const char *id, struct arena *a,
		  struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state == INSTANCE_TERMINATED)
		ret->state = INSTANCE_RUNNING;
	return 0;
}

/* The first that it sees to be gone it takes for running later on. */
static int comes_back(struct provider *p, const char *id, struct arena *a,
		      struct machine *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (ret->state != INSTANCE_TERMINATED)
		return 0;
	if (same(c->id, id) && ++c->calls > 3)
		ret->state = INSTANCE_RUNNING;
	snprintf(c->id, sizeof(c->id), "%s", id);
	return 0;
}

static int knows_everyone(struct provider *p, const char *id, struct arena *a,
			  struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	*ret = (struct machine){.id = id,
				.state = INSTANCE_TERMINATED,
				.native_state = "deleted"};
	return 0;
}

static int gone_is_invalid(struct provider *p, const char *id, struct arena *a,
			   struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND)
		err_set(err, ERR_INVALID, "the id is malformed");
	return -1;
}

static int last_tags(struct provider *p, const char *id, struct arena *a,
		     struct machine *ret, struct err *err)
{
	struct machine last;

	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (sim()->describe(p, cage_of(p)->id, a, &last, err) == 0)
		ret->tags = last.tags;
	return 0;
}

static int first_address(struct provider *p, const char *id, struct arena *a,
			 struct machine *ret, struct err *err)
{
	struct cage *c = cage_of(p);

	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	if (!c->id[0] && ret->private_ip) {
		snprintf(c->id, sizeof(c->id), "%s", id);
		snprintf(c->text, sizeof(c->text), "%s", ret->private_ip);
	}
	if (same(c->id, id))
		ret->private_ip = c->text;
	return 0;
}

/* Which is nobody's in particular. */
static int one_port(struct provider *p, const char *id, struct arena *a,
		    struct machine *ret, struct err *err)
{
	static struct port port = {22, PROTOCOL_TCP, "203.0.113.9", 2222};

	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	ret->ports = (struct items){&port, 1};
	return 0;
}

/* It is at another each time that somebody asks. */
static int moving_port(struct provider *p, const char *id, struct arena *a,
		       struct machine *ret, struct err *err)
{
	struct port *port = arena_alloc(a, sizeof(*port));

	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	*port = (struct port){22, PROTOCOL_TCP, "203.0.113.9",
			      1000 + (int64_t)(cage_of(p)->calls++ % 60000)};
	ret->ports = (struct items){port, 1};
	return 0;
}

static int always_up(struct provider *p, const char *id, struct arena *a,
		     struct machine *ret, struct err *err)
{
	if (sim()->describe(p, id, a, ret, err) < 0)
		return -1;
	ret->ready = READY_NOW;
	return 0;
}

/* The flavors, to be changed. */
static struct flavor *flavors(struct catalogue *c, struct arena *a)
{
	struct flavor *f = arena_alloc(a, (c->flavors.n + 1) * sizeof(*f));

	memcpy(f, c->flavors.at, c->flavors.n * sizeof(*f));
	c->flavors.at = f;
	return f;
}

static int offers_twice(struct provider *p, struct arena *a,
			struct catalogue *ret, struct err *err)
{
	struct flavor *f;

	if (sim_driver.catalogue->read(p, a, ret, err) < 0)
		return -1;
	f = flavors(ret, a);
	f[ret->flavors.n++] = f[0];
	return 0;
}

static int offers_nothing(struct provider *p, struct arena *a,
			  struct catalogue *ret, struct err *err)
{
	if (sim_driver.catalogue->read(p, a, ret, err) < 0)
		return -1;
	flavors(ret, a)[0].memory_mib = 0;
	return 0;
}

static int console_nowhere(struct provider *p, const char *id,
			   enum console_kind kind, struct arena *a,
			   struct console *ret, struct err *err)
{
	if (sim()->console(p, id, kind, a, ret, err) < 0)
		return -1;
	if (ret->fd >= 0)
		close(ret->fd);
	*ret = (struct console){.fd = -1};
	return 0;
}

static void claims_tokens(struct cage *c, struct provider *p)
{
	(void)c;
	p->facts.launch_tokens = true;
}

static void claims_consistency(struct cage *c, struct provider *p)
{
	(void)c;
	p->facts.consistency_ms = 0;
}

static void claims_addresses(struct cage *c, struct provider *p)
{
	(void)c;
	p->facts.keeps_addresses = true;
}

static void claims_live_resize(struct cage *c, struct provider *p)
{
	(void)c;
	p->facts.resize_live = true;
}

static int no_access(struct provider *p, const char *id,
		     const struct machine_spec *spec, struct err *err)
{
	(void)p;
	(void)id;
	(void)spec;
	return err_set(err, ERR_UNSUPPORTED, "not here");
}

static int any_access(struct provider *p, const char *id,
		      const struct machine_spec *spec, struct err *err)
{
	(void)p;
	(void)id;
	(void)spec;
	(void)err;
	return 0;
}

#define UNKNOWN "describe of an unknown machine is not found"
#define THE_END "terminated is the end"

const struct animal zoo_tellers[] = {
	{"shows stopped as running", "a state is what the cloud says",
	 "describe", "stop and start keep the machine and its tags",
	 .machines = {.describe = off_is_on}},
	{"shows running as pending", "a state is what the cloud says",
	 "describe", "the machine comes to run",
	 .machines = {.describe = on_is_pending}},
	{"guesses that an unknown state is running", "a state is never a guess",
	 "describe", "a state that nobody knows is unknown",
	 .machines = {.describe = guesses}},
	{"keeps the cloud's own word to itself",
	 "the cloud's word is shown beside ours", "describe",
	 "describe agrees with launch",
	 .machines = {.describe = no_native_state}},
	{"says terminated too early", "what is terminated is gone", "describe",
	 THE_END, "{\"terminateMs\":2000}",
	 .machines = {.describe = too_early}},
	{"says terminated too early, and hides it",
	 "what is terminated is gone", "describe, list", THE_END,
	 "{\"terminateMs\":2000}",
	 .machines = {.describe = too_early, .list = hides_going}},
	{"shows what is gone as running", "what is gone is gone", "describe",
	 "terminate ends in terminated or gone",
	 .machines = {.describe = undead}},
	{"brings back what was gone", "what is gone is gone", "describe",
	 THE_END, .machines = {.describe = comes_back}},
	{"describes what never was", "what is not there is not found",
	 "describe", UNKNOWN, .machines = {.describe = knows_everyone}},
	{"calls the id of what is gone invalid",
	 "what is not there is not found", "describe", UNKNOWN,
	 .machines = {.describe = gone_is_invalid}},
	{"shows the tags of the last launch", "a machine has its own tags",
	 "launch, describe", "each machine carries its own tags",
	 .machines = {.launch = remembers, .describe = last_tags}},
	{"shows addresses from before the stop", "addresses are those of now",
	 "describe", "lists tell what describe tells",
	 "{\"keepsAddresses\":false}", .machines = {.describe = first_address}},
	{"publishes every machine at one port", "a port is one machine's",
	 "describe", "published ports are a machine's own",
	 .machines = {.describe = one_port}},
	{"publishes a machine at ever another port", "ports stay while it runs",
	 "describe", "published ports are a machine's own",
	 .machines = {.describe = moving_port}},
	{"calls a guest up that is off", "only what runs is up", "describe",
	 "stop and start keep the machine and its tags",
	 .machines = {.describe = always_up}},
	{"claims launch tokens", "a fact is so", "facts",
	 "the same launch again is the same machine",
	 "{\"launchTokens\":false}", .lie = claims_tokens},
	{"claims to be consistent at once", "a fact is so", "facts",
	 "describe agrees with launch", "{\"consistencyMs\":5000}",
	 .lie = claims_consistency},
	{"claims to keep addresses", "a fact is so", "facts",
	 "stop and start keep the machine and its tags",
	 "{\"keepsAddresses\":false}", .lie = claims_addresses},
	{"claims a resize without a restart", "a fact is so", "facts",
	 "resize works", "{\"startMs\":2000}", .lie = claims_live_resize},
	{"offers a flavor twice", "a flavor's id is its own", "catalogue.read",
	 "the catalogue makes sense", .catalogue = {.read = offers_twice}},
	{"offers machines without memory", "what is odd is left out",
	 "catalogue.read", "the catalogue makes sense",
	 .catalogue = {.read = offers_nothing}},
	{"opens a console to nowhere", "a console has a URL or a stream",
	 "console", "the console opens",
	 .machines = {.console = console_nowhere}},
	{"claims access that it does not have",
	 "what a driver has a function for it can do", "set_access",
	 "access can be set", .machines = {.set_access = no_access}},
	{"accepts access and does nothing", "what is answered is done",
	 "set_access", "access can be set",
	 .machines = {.set_access = any_access}},
	{0},
};

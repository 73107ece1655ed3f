#include "provider/sim.h"

#include <stdlib.h>

#include "base/mem.h"
#include "provider/sim_driver.h"
#include "provider/sim_line.h"

static unsigned lacks_of(const struct sim_options *o)
{
	const int *list = o->lacks.at;
	unsigned bits = 0;

	for (size_t i = 0; i < o->lacks.n; i++)
		bits |= 1U << (list[i] - 1);
	return bits;
}

static struct provider_facts facts_of(const struct sim_options *o)
{
	return (struct provider_facts){
		.launch_tokens = o->launch_tokens,
		.tags = o->tags,
		.keeps_addresses = o->keeps_addresses,
		.live_groups = true,
		.resize_live = o->resize_live,
		.spot = true,
		.host_keys = o->host_keys,
		.consistency_ms = (uint32_t)o->consistency_ms,
		.launch_ms = (uint32_t)o->launch_limit_ms,
		.stop_ms = (uint32_t)o->stop_limit_ms,
		.start_ms = (uint32_t)o->start_limit_ms,
		.poll_ms = (uint32_t)o->poll_ms,
		.calls_per_second =
			o->tells_limit ? (unsigned)o->calls_per_second : 0,
		.page = (size_t)o->page_size,
	};
}

static int sim_open(const struct provider_conf *conf, const void *options,
		    const void *credentials, struct provider **out,
		    struct err *err)
{
	const struct sim_options *o = options, *behaves;
	struct sim_link *link;
	struct sim *s;

	(void)credentials;
	if (sim_link_open(conf, o, &link, err) < 0)
		return -1;
	behaves = sim_link_options(link);
	s = xcalloc(1, sizeof(*s));
	s->base = (struct provider){
		.driver = &sim_driver,
		.facts = facts_of(behaves),
		.lacks = lacks_of(o) | lacks_of(behaves),
		.installation = conf->installation,
		.faults = o->faults,
		.seed = o->seed,
	};
	/* In our process no call outlives us. */
	if (o->endpoint)
		s->base.facts.call_ms = (uint32_t)o->timeout_ms;
	s->conf = conf;
	s->link = link;
	s->lines = sim_lines_new();
	*out = &s->base;
	return 0;
}

static void sim_close(struct provider *p)
{
	sim_lines_free(((struct sim *)p)->lines);
	sim_link_close(sim_link(p));
	free(p);
}

struct sim_cloud *sim_truth(struct provider *p)
{
	return sim_link_cloud(sim_link(p));
}

const struct driver sim_driver = {
	.name = "sim",
	.title = "A simulated cloud",
	.doc = "Machines that do not exist, in a cloud with rules of its own: "
	       "for trying things out and for rehearsing what can go wrong.  "
	       "It lives in the server, and its truth in the server's data "
	       "folder; or in a process of its own, `muster simcloud`.",
	.options = sim_option_fields,
	.options_size = sizeof(struct sim_options),
	.open = sim_open,
	.close = sim_close,
	.machines = &sim_machine_ops,
	.catalogue = &sim_catalogue_ops,
	.images = &sim_image_ops,
	.networks = &sim_network_ops,
	.volumes = &sim_volume_ops,
	.things = &sim_thing_ops,
};

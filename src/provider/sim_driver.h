/* sim_driver - the parts of the simulated cloud's driver; for sim*.c only. */
#pragma once

#include "provider/sim.h"
#include "provider/sim_link.h"

struct sim {
	struct provider base; /* first */
	const struct provider_conf *conf;
	struct sim_link *link;
	struct sim_lines *lines; /* consoles that are open */
};

extern const struct machine_ops sim_machine_ops;
extern const struct catalogue_ops sim_catalogue_ops;
extern const struct image_ops sim_image_ops;
extern const struct network_ops sim_network_ops;
extern const struct volume_ops sim_volume_ops;
extern const struct thing_ops sim_thing_ops;

static inline struct sim_link *sim_link(struct provider *p)
{
	return ((struct sim *)p)->link;
}

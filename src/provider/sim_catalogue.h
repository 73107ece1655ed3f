/* sim_catalogue - what the simulated cloud sells. */
#pragma once

#include "provider/sim_options.h"
#include "provider/sim_wire.h"

/* NULL when there is no such, or it is hidden. */
const struct sim_flavor *sim_flavor(const struct sim_options *o,
				    const char *id);
const struct sim_image *sim_image(const struct sim_options *o, const char *id);

/* The price list, odd entries too when the options say so. */
void sim_offers(const struct sim_options *o, struct arena *a,
		struct sim_offers *ret);

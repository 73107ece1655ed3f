/* The list of controllers; a new one is a row here. */
#include "reconcile/backed.h"
#include "reconcile/engine_priv.h"
#include "reconcile/machine.h"
#include "reconcile/monitor.h"
#include "reconcile/region.h"

const struct controller *const controllers[] = {
	&region_controller,        &backed_network.controller,
	&backed_group.controller,  &backed_image.controller,
	&backed_volume.controller, &machine_controller,
	&monitor_controller,       NULL, /* ends it */
};

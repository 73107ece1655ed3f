/* sim_machines - the calls of the simulated cloud, rows of sim_methods; for
 * sim_*.c only. */
#pragma once

#include "provider/sim_priv.h"

typedef int sim_run(struct sim_cloud *c, const void *ask, struct arena *a,
		    void *answer, struct err *err);

sim_run sim_do_offers, sim_do_launch, sim_do_describe, sim_do_terminate,
	sim_do_list, sim_do_stop, sim_do_start, sim_do_reboot, sim_do_resize,
	sim_do_rebuild, sim_do_grow, sim_do_set_tags, sim_do_set_access,
	sim_do_console, sim_do_output, sim_do_ensure, sim_do_remove,
	sim_do_attach, sim_do_detach, sim_do_things;

/* One that is not gone, whether it can be seen or not; NULL with
 * ERR_NOT_FOUND. */
struct sim_place *sim_machine_find(struct sim_cloud *c, const char *id,
				   struct err *err);

/* No more, and no longer, than a machine can have. */
int sim_tags_check(const struct items *tags, struct err *err) MUST_CHECK;

/* What NEW is asked to be can be: flavor, image, network, groups. */
int sim_launch_check(struct sim_cloud *c, const struct sim_machine *new,
		     struct err *err) MUST_CHECK;

/* A copy in A that stays as it is; user data is left out. */
void sim_machine_copy(const struct sim_cloud *c, const struct sim_machine *m,
		      struct arena *a, struct sim_machine *ret);

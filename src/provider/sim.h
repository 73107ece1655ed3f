/*
 * sim - the driver of the simulated cloud (sim_cloud.h): for trying Muster out,
 * for rehearsing failures, and for tests.
 */
#pragma once

#include "provider/driver.h"

struct sim_cloud;

extern const struct driver sim_driver;

/* The truth behind an open provider, to look at and to meddle with while no
 * call is under way; NULL when it is in another process. */
struct sim_cloud *sim_truth(struct provider *p);

/* ready - how the guests of a region's machines are asked whether they are up;
 * see guests.h. */
#pragma once

#include "provider/libvirt/driver.h"
#include "provider/machine.h"

struct guests *ready_open(struct lv *lv);

/* Put what is known of the guest of M, which is D on H, into M.  Of one that
 * does not run nothing is. */
void ready_tell(struct host *h, virDomainPtr d, struct machine *m);

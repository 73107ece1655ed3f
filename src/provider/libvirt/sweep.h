/* sweep - files of machines that came to nothing. */
#pragma once

#include "provider/libvirt/host.h"

/* Those on H that belong to a machine that is not there, and are older than a
 * launch can be, are removed.  What is in the way of that is there the next
 * time. */
void sweep_files(struct host *h);

/* tidy - what is looked after on the disks of hosts now and then. */
#pragma once

#include "provider/libvirt/host.h"

/* Files on H, when it is not embedded (sweep.h), of a machine that is not there,
 * and older than a launch can be, are removed; logs of consoles that are too long
 * are cut.  What is in the way of that is there the next time. */
void tidy_files(struct host *h);

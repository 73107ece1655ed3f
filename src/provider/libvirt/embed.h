/* embed - what a libvirt needs that runs in our process. */
#pragma once

#include "provider/libvirt/host.h"

/* The folder and its settings, made if need be; H's uri has a short name of the
 * folder: see shorter.h. */
int embed_prepare(struct host *h, struct err *err) MUST_CHECK;

/* To be called once libvirt has its folder to itself: the QEMUs that it had asked
 * what they can do, in a process that was killed meanwhile, would wait for ever. */
void embed_sweep(const struct host *h);

/* embed - what a libvirt needs that runs in our process. */
#pragma once

#include "provider/libvirt/host.h"

/* The folder and its settings, made if need be; H's uri has a short name of the
 * folder: see shorter.h. */
int embed_prepare(struct host *h, struct err *err) MUST_CHECK;

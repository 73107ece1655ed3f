/* probe - whether KVM works on a host, found out by trying. */
#pragma once

#include "provider/libvirt/host.h"

/* The hardware that guests see: every kernel for clouds has drivers for it. */
#define PROBE_MACHINE "pc"

enum { PROBE_WHY = 160 };

/* WHY, of PROBE_WHY bytes, is where what is in the way is said. */
int probe_powers(struct host *h, struct host_powers *ret, char *why,
		 struct err *err) MUST_CHECK;

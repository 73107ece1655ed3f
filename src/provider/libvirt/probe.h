/* probe - whether KVM works on a host, found out by trying. */
#pragma once

#include "provider/libvirt/host.h"

/* WHY is where what is in the way is said. */
int probe_powers(struct host *h, struct host_powers *ret, char *why,
		 size_t why_size, struct err *err) MUST_CHECK;

/* place - which host gets a machine.  Pure. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/options.h"

struct place_ask {
	const char *zone; /* NULL: any */
	int64_t cpus, memory_mib, disk_gib;
};

struct place_host {
	const char *name, *zone;
	const char *why_not; /* it cannot be asked; or NULL */
	struct host_room room;
};

/* The one of the N HOSTS that has room for ASK and that HOW (enum placement)
 * prefers.  Otherwise ERR says of each what is in the way: ERR_CAPACITY, or
 * ERR_UNAVAILABLE when no host can be asked, or ERR_INVALID when there is no
 * such zone. */
int place_choose(const struct place_host *hosts, size_t n,
		 const struct place_ask *ask, int how, size_t *ret,
		 struct err *err) MUST_CHECK;

/* What is in the way of ASK on H, into OUT; false when nothing is. */
bool place_obstacle(const struct place_host *h, const struct place_ask *ask,
		    char *out, size_t size);

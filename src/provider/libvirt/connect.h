/* connect - a connection to a libvirt, within a time. */
#pragma once

#include "provider/libvirt/host.h"

/* ERR_UNAVAILABLE when it took too long: what comes of it later is closed. */
int connect_open(const struct host *h, virConnectPtr *ret,
		 struct err *err) MUST_CHECK;

/* publish - ports of machines behind user-mode networks, reached from here. */
#pragma once

#include "provider/libvirt/facts.h"

/* D was started: its ports are forwarded, and written into its facts. */
int publish_ports(struct host *h, virDomainPtr d, struct err *err) MUST_CHECK;

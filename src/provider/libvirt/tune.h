/* tune - the limits of a machine, changed. */
#pragma once

#include "provider/libvirt/machine.h"

/* Those of flavor TO from the next start on; FROM, which it had, may be NULL. */
int tune(const struct found *m, const struct flavor_options *from,
	 const struct flavor_options *to, struct err *err) MUST_CHECK;

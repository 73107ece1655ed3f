/* seed - what a machine reads when it boots first: cloud-init's NoCloud. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "provider/calls.h"
#include "provider/libvirt/nic.h"

/* An ISO 9660 image with the label "cidata" that tells SPEC to the machine whose
 * id is INSTANCE (another one is another first boot).  NIC may be NULL. */
int seed_iso(const struct machine_spec *spec, const char *instance,
	     const struct nic *nic, struct buf *out,
	     struct err *err) MUST_CHECK;

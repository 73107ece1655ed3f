/* launch - the files that a machine is begun with. */
#pragma once

#include "provider/libvirt/nic.h"

/* Its root disk, made of an image; ERR_INVALID when it would not fit. */
int launch_make_root(struct host *h, const char *uuid, const char *image,
		     int64_t gib, struct arena *a, struct err *err) MUST_CHECK;

/* What it reads when it boots first, as INSTANCE: on the disk of that name. */
int launch_make_seed(struct host *h, const char *disk,
		     const struct machine_spec *spec, const char *instance,
		     const struct nic *nic, struct err *err) MUST_CHECK;

/*
 * boot - the first start of a machine, which goes on after its launch was
 * answered.
 *
 * A machine that is defined and was never started is pending.  Whoever looks at
 * it has it started, so it is also after a crash.  When it cannot be, that is
 * written into it: it has failed.
 */
#pragma once

#include "provider/libvirt/machine.h"

/* Unless it is being done. */
void boot_begin(struct host *h, const char *uuid);

/* One is under way and will say how it went (provider_conf.changed): what is
 * heard of the machine before that is no news. */
bool boot_tells(struct host *h, const char *uuid);

/* None is under way when this returns. */
void boot_end(struct host *h, const char *uuid);

/* place - which host gets a machine.  Pure. */
#pragma once

#include "provider/libvirt/host.h"

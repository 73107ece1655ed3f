/* libvirt - the driver of one's own hosts, by libvirt and QEMU. */
#pragma once

#include "provider/driver.h"

extern const struct driver libvirt_driver;

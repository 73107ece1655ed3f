#include "provider/libvirt/driver.h"

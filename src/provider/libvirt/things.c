#include "provider/libvirt/driver.h"

const struct thing_ops lv_thing_ops = {0};

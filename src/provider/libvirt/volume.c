#include "provider/libvirt/driver.h"

const struct volume_ops lv_volume_ops = {0};

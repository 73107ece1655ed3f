#include "provider/libvirt/publish.h"

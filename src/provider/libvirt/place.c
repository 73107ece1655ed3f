#include "provider/libvirt/place.h"

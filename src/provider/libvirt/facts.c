#include "provider/libvirt/facts.h"

#include "provider/libvirt/disk.h"

#include "provider/libvirt/host.h"

const struct disk_ops disk_files = {0};
const struct disk_ops disk_pool = {0};

const char *disk_name(const char *uuid, const char *what, struct arena *a)
{
	return arena_join(a, uuid, "-", what, NULL);
}

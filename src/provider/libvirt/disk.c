#include "provider/libvirt/disk.h"

#include <string.h>

#include "provider/libvirt/host.h"

#define LETTERS                                                                \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

#define ARENA_MOST ((size_t)1 << 20)

enum { NAME_MOST = 128 };

const char *disk_name(const char *uuid, const char *what, struct arena *a)
{
	return arena_join(a, uuid, "-", what, NULL);
}

/* A dot first would be hidden, and ".." another place. */
bool disk_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= NAME_MOST && name[0] != '.' &&
	       strspn(name, LETTERS) == len;
}

const char *disk_format(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".qcow2") == 0 ? "qcow2" : "raw";
}

int disk_is(struct host *h, const char *name, bool *ret, struct err *err)
{
	struct disk_info info;
	struct err why = {0};
	struct arena a;
	int r;

	arena_init(&a, ARENA_MOST);
	r = h->disks->look(h, name, &a, &info, &why);
	arena_release(&a);
	if (r < 0 && why.code != ERR_NOT_FOUND) {
		*err = why;
		return -1;
	}
	*ret = r == 0;
	return 0;
}

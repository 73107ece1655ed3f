#include "daemon/local.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* As in tools/setup. */
#define INSTALL                                                                \
	"apt-get install qemu-system-x86 qemu-utils libvirt-daemon-system"

static bool no(char *ret, size_t size, const char *what)
{
	snprintf(ret, size, "%s: %s", what, INSTALL);
	return false;
}

static bool has_user(const char *name)
{
	struct passwd entry, *found = NULL;
	char room[4096];

	return getpwnam_r(name, &entry, room, sizeof(room), &found) == 0 &&
	       found;
}

bool local_usable(char *ret, size_t size)
{
	if (access("/usr/bin/qemu-system-x86_64", X_OK) < 0)
		return no(ret, size, "there is no qemu-system-x86_64");
	if (access("/usr/bin/qemu-img", X_OK) < 0)
		return no(ret, size, "there is no qemu-img");
	/* Machines are not run as root. */
	if (geteuid() == 0 && !has_user("libvirt-qemu"))
		return no(ret, size, "there is no user libvirt-qemu");
	return true;
}

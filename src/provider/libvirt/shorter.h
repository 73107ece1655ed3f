/* shorter - a short name for a folder. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/*
 * QEMU's sockets lie in folders below an embedded libvirt's, and the path of a
 * socket is at most 107 bytes long.  Gives FOLDER itself when it is short
 * enough for that, and else a link to it where the system keeps such things,
 * made if need be: the same one for the same folder at every start.
 */
int shorter(const char *folder, struct arena *a, const char **ret,
	    struct err *err) MUST_CHECK;

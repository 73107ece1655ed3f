/*
 * bridge - one of libvirt's streams as a socket.
 *
 * Bytes are carried both ways by libvirt's event loop (event.h), in both
 * directions only as fast as the other side takes them.  When either side ends
 * so does the other.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "base/err.h"

/* STREAM, non-blocking and open, is the bridge's from now on, also when this
 * fails; the socket is the caller's to close. */
int bridge_begin(virStreamPtr stream, int *ret_fd, struct err *err) MUST_CHECK;

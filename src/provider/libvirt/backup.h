/* backup - what is on a disk of a machine that runs, at one moment, copied to a
 * file of its own by libvirt. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "provider/libvirt/host.h"

struct backup {
	struct host *host;
	virDomainPtr domain;
	const char *target; /* "vda" */
	const char *path;   /* of an empty qcow2 of its size, on the host */
	const atomic_bool *stop;
	bool frozen; /* told: the guest held its file systems still */
};

/* Blocks until all is copied.  One that a process before us began is ended
 * first. */
int backup_take(struct backup *b, struct err *err) MUST_CHECK;

/* A guest that holds its file systems still goes on. */
void backup_let_go(virDomainPtr domain);

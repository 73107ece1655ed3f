/*
 * network - the networks of a region, on each of its hosts.
 *
 * On a host with a libvirt of its own they are libvirt's networks, the same on
 * every host: they are made on those that answer, and on one that did not when
 * its first machine comes.  In our own process there are none: machines are
 * behind QEMU, each alone, and what a network was asked to be is in a file.
 */
#pragma once

#include "provider/libvirt/driver.h"
#include "provider/libvirt/netdef.h"

/* Machines on it are behind user-mode networks. */
bool network_is_user(const struct host *h);

/* The network with the provider's ID, as H has it or gets it now, in A;
 * ERR_INVALID when there is none. */
int network_find(struct host *h, const char *id, struct arena *a,
		 struct netdef *ret, struct err *err) MUST_CHECK;

/* The same, of whichever host knows it. */
int network_know(struct lv *lv, const char *id, struct arena *a,
		 struct netdef *ret, struct err *err) MUST_CHECK;

/* THING is among THINGS, once. */
void things_add(struct buf *things, const struct thing *thing);

/* What INSTALLATION has of them on every host. */
int network_things(struct lv *lv, const char *installation, struct arena *a,
		   struct buf *things, struct err *err) MUST_CHECK;

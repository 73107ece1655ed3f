/*
 * event - what libvirt tells by itself.
 *
 * Its library has one loop for the whole process, which must be there before the
 * first connection is opened: a thread of ours runs it until the end.
 */
#pragma once

#include "provider/libvirt/host.h"

/* Once; later calls do nothing. */
int event_loop(struct err *err) MUST_CHECK;

enum { HOST_EARS = 3 };

/* One kind of news that is listened for. */
struct host_ear {
	int id; /* libvirt's; -1: there is none */
	struct ear *ear;
};

/* The one who opened the provider hears of machines of H that CONN's host starts,
 * stops, loses.  For a new connection, with EARS to be given back. */
int event_listen(struct host *h, virConnectPtr conn, struct host_ear ears[],
		 struct err *err) MUST_CHECK;
/* No more of it when this returns. */
void event_deafen(virConnectPtr conn, struct host_ear ears[]);

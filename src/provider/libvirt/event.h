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

/* Told of the machines of H that CONN's host starts, stops, loses: the one who
 * opened the provider hears of ours.  For a new connection. */
int event_listen(struct host *h, virConnectPtr conn,
		 struct err *err) MUST_CHECK;
/* No more of it when this returns. */
void event_deafen(struct host *h, virConnectPtr conn);

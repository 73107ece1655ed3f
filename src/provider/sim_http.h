/*
 * sim_http - the simulated cloud over HTTP, for a process of its own.
 *
 *	POST /calls/NAME           what the driver asks (sim_cloud.h)
 *	GET  /options              how it behaves; POST changes that (RFC 7396)
 *	GET  /truth                everything there is, for tests to look at
 *	POST /machines/ID/WHAT     what happens to a machine unasked
 *
 * /faults is another name of /options.  Loop thread only.
 */
#pragma once

#include "http/exchange.h"

/* For server_conf: CTX is a struct sim_cloud. */
void sim_http_handle(void *ctx, struct exchange *x);
void sim_http_refuse(void *ctx, int status, const char *why, struct buf *body,
		     const char **ret_type);

/*
 * consoles - streams to the consoles of machines, from when a provider has
 * opened one until it is closed.
 *
 * Each waits for whoever brings its ticket, a secret in the address that was
 * given out: once, and not for long.  Then it is relayed to them as a WebSocket,
 * while whoever opened it may still have it and the machine is there.  A ticket
 * is kept as its digest, and dies with the server.
 */
#pragma once

#include "api/call.h"

struct consoles;

struct consoles *consoles_new(struct api *api);

/* After the server and the store are closed. */
void consoles_free(struct consoles *s);

/* C's caller may open one more; ERR_RATE or ERR_UNAVAILABLE when not. */
int consoles_check(const struct call *c, struct err *err) MUST_CHECK;

/* FD is a stream to the console of the call's instance: keep it for whoever
 * comes to the address in *RET_URL until *RET_EXPIRES.  It is taken over, unless
 * this fails. */
int consoles_keep(struct call *c, int fd, const char **ret_url,
		  int64_t *ret_expires, struct err *err) MUST_CHECK;

/* GET /v1/instances/{id}/console?ticket=: the WebSocket itself. */
void handle_console_connect(struct call *c);

/* Forget the tickets that nobody has come with. */
void consoles_drain(struct consoles *s);

/* How many are being relayed. */
size_t consoles_relayed(const struct consoles *s);

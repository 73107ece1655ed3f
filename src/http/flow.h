/*
 * flow - several calls at once, in one thread.
 *
 * Each has a client of its own, which makes no other call meanwhile.  Nothing
 * happens but in flows_wait(), which also looks after other descriptors: a
 * terminal, signals.  A stream's data() is called from there.
 */
#pragma once

#include <poll.h>

#include "http/client.h"

struct flows;
struct flow; /* one call under way */

struct flows *flows_new(void);

/* Those under way are dropped. */
void flows_free(struct flows *f);

/* CALL and what it points to stay until the flow's end. */
struct flow *flow_begin(struct flows *f, struct client *c,
			const struct client_call *call);

bool flow_is_done(const struct flow *w);

/* What came of one that is done, as client_call() has it; it is gone then. */
int flow_end(struct flow *w, struct client_result *ret,
	     struct err *err) MUST_CHECK;

/* Give it up. */
void flow_drop(struct flow *w);

/* Go on until something came, one of the N FDS is ready or the time is up. */
void flows_wait(struct flows *f, struct pollfd *fds, size_t n, int timeout_ms);

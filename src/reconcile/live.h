/*
 * live - what only the provider can tell of a machine, asked while somebody
 * waits: it goes through the region's ledger like every other call.  What a
 * console tells is written down nowhere.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "provider/calls.h"

struct engine;

struct live_call {
	/* On the engine's thread, once, maybe before the asking returns; never
	 * when the engine is freed first.  ERR is NULL when there is TEXT, which
	 * is its until it returns. */
	void (*done)(struct live_call *c, const struct err *err,
		     const char *text, size_t len);

	/* A console that has no address: a stream, the caller's to close once
	 * it is told.  -1 when it asks. */
	int fd;
};

/* Have the instance's machine looked at by a call that began at SINCE (wall
 * time) or later, and what it is written down as of any look; there is no text.
 * However many ask, one call is under way.  An instance without a machine is
 * what is written of it, at once. */
void live_look(struct engine *e, const char *instance_id, int64_t since,
	       struct live_call *c);

/* The end of what the instance's machine has printed, about LENGTH bytes. */
void live_console_output(struct engine *e, const char *instance_id,
			 size_t length, struct live_call *c);

/* An address at which its console can be reached, or a stream to it. */
void live_console(struct engine *e, const char *instance_id,
		  enum console_kind kind, struct live_call *c);

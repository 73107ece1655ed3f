/*
 * monitor_plan - what a list of everything that a provider has means.  Pure.
 *
 * That a machine is in a list says how it is; that one is not in it says
 * nothing but that it is worth a look.  A list is of the time when it was asked
 * for, or as much earlier as the provider may be behind: what was written later
 * is not judged by it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/region.h"
#include "model/server.h"
#include "provider/provider.h"

/* Between two looks while something happens, unless the provider's pace is
 * slower. */
#define MONITOR_FAST 5000

/* Without a whole look for so long, or three times as long as there is between
 * two, what is shown is stale. */
#define MONITOR_STALE 300000

/* How many may be missing at once, however few there are. */
enum { MONITOR_MISSING_LEAST = 3 };

/* How long to wait after a look that took TOOK; BEFORE is the wait before it,
 * or 0, and MOVING that something happens. */
int64_t monitor_pace(int64_t before, bool moving, uint32_t poll_ms,
		     int64_t most, int64_t took);

/* When it is stale, if LAST was the last whole look. */
int64_t monitor_stale_at(int64_t last, int64_t most);

/* More are missing at once than are believed to be gone. */
bool monitor_trips(size_t missing, size_t of, size_t accepted);

/* A list that was asked for at BEGAN, or that it is not in it, says something
 * of server S of instance I.  Of those that are on their way it does not: they
 * are looked at one by one. */
bool monitor_judges(const struct instance *i, const struct server *s,
		    const struct provider_facts *f, int64_t began);

/* MACHINE, whose tag names server S (NULL: there is none), is not that
 * server's. */
bool monitor_is_stray(const struct server *s, const char *machine);

/* And it is no launch that is under way: it is there since SINCE. */
bool monitor_is_orphan(const struct provider_facts *f, int64_t since,
		       int64_t began);

/* Orphan O is to be removed; OWNER, a server or an object of which anything is
 * written, keeps what carries its name. */
bool monitor_removes(const struct region *r, const struct orphan *o,
		     const void *owner, int64_t now);

/* It is on its way: things change soon. */
bool monitor_moves(const struct server *s);

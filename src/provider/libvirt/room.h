/*
 * room - room for machines on the hosts, held while they are being made.
 *
 * What hosts have is looked at now and then; what was given since is counted
 * until the next look has seen it.  Any thread may call.
 */
#pragma once

#include "base/list.h"
#include "provider/libvirt/place.h"

struct hold {
	struct list list;
	struct host *host;
	struct place_ask ask;
	bool seen; /* the machine is defined: the next look counts it */
};

/* A host for ASK, with the room held: as in place_choose().  ONLY is the one it
 * must be on, or NULL. */
int room_take(struct lv *lv, const struct place_ask *ask,
	      const struct host *only, struct hold **ret,
	      struct err *err) MUST_CHECK;

/* The machine is defined, or, MADE false, nothing came of it. */
void room_end(struct lv *lv, struct hold *hold, bool made);

/* Of the time of close(). */
void room_release(struct lv *lv);

/*
 * monitor - looks at all machines of a region by list, and sees what happened
 * to them without our doing.
 *
 * Its keys are regions.  A look is one paged list by our tag, a call a page,
 * in the region's ledger like all others and after them.  Only when it is whole
 * is it compared with what is written: what is found otherwise is written down
 * as if it had been seen by a look at that machine alone (machine_record.h), and
 * then the machine's own controller does what is wanted of it.
 *
 * One that is missing is looked at by itself, and is gone when the provider
 * says so in two looks one after the other.  When too many are missing at once
 * nothing is concluded from the list at all: the region says so, once, until
 * they are back or an operator accepts it.
 *
 * What carries our tags and is nobody's, machines in the list and, where the
 * provider can list them, networks, security groups, images and volumes, are
 * orphans once they are older than a launch may be: the region lists them, and
 * they are removed only where its spec says so, after their quarantine.
 *
 * Nothing is written about a machine that is as it was: when all were last seen
 * is the region's to say.  When that is too long ago, or a machine is missing for
 * so long and it is not believed, readers of its instance are told that nobody
 * knows how it is (machine_write_stale()); controllers go by what was last seen.
 * Told of instances as events: drifted.  Of regions:
 * massDisappearance, massDisappearanceOver, observationStale, observationFresh,
 * orphanFound, orphanRemoved.
 */
#pragma once

#include "reconcile/controller.h"

extern const struct controller monitor_controller;

/* Have all of the region's machines looked at soon; W is its work. */
void monitor_hurry(struct work *w);

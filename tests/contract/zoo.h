/*
 * zoo - drivers that are wrong, each in one way: the simulated cloud's driver
 * with a defect laid over it.  The contract of providers (provider/verify.h)
 * must catch every one of them, by the check that is named here.
 *
 * An animal is a row of a table.  What it must remember is in its cage, which
 * its functions find from the provider that they are given.
 */
#pragma once

#include "provider/driver.h"
#include "provider/front.h"
#include "provider/sim.h"

struct cage;

struct animal {
	const char *name;    /* what it does */
	const char *wrong;   /* and ought to */
	const char *slot;    /* where it differs */
	const char *caught;  /* by which check */
	const char *options; /* of the simulated cloud; NULL: none */

	/* What it has instead of the simulated one's. */
	struct machine_ops machines;
	struct catalogue_ops catalogue;
	struct image_ops images;
	struct network_ops networks;
	struct volume_ops volumes;
	struct thing_ops things;
	/* It says of itself what is not so. */
	void (*lie)(struct cage *c, struct provider *p);
};

enum { CAGE_PLACES = 64 };

struct cage {
	struct driver driver; /* first: a provider points to it */
	struct machine_ops machines;
	struct catalogue_ops catalogue;
	struct image_ops images;
	struct network_ops networks;
	struct volume_ops volumes;
	struct thing_ops things;
	void (*sleep)(void *ctx, uint64_t ms);

	/* For the animal to remember. */
	unsigned calls;
	char id[64], text[64];
	char places[CAGE_PLACES][64];
};

static inline struct cage *cage_of(const struct provider *p)
{
	return (struct cage *)(uintptr_t)p->driver;
}

/* Tables, each ended by a row without a name. */
extern const struct animal zoo_launchers[], zoo_tellers[], zoo_listers[],
	zoo_changers[], zoo_keepers[], zoo_hoarders[];

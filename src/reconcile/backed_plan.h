/*
 * backed_plan - what to do next about something that a provider has, too, and
 * that is no machine: a network, a security group, an image, a volume.  Pure.
 *
 * Making is idempotent at the provider (see driver.h): it is called again until
 * the thing is ready, and again when what is wanted changes.  What failed for
 * good is parked until it, or its region, is changed.  Deleting never parks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/status.h"

/* Everything that is decided on. */
struct backed_view {
	struct backed status;
	int64_t generation;
	int64_t deleted_at;
	int64_t region_changed_at; /* what is wanted of it */
	bool reached;  /* the region ever was: something may be there */
	bool can;      /* its provider has such things */
	bool optional; /* and it does without them, too */
	bool lacks;    /* something that it needs is not ready */
	bool used;     /* something that needs it is still there */
	int64_t poll_at;
	int64_t now;
};

enum backed_act {
	BACKED_REST,        /* it is as it should be */
	BACKED_STAY_PARKED, /* until it or its region is changed */
	BACKED_WAIT,        /* until a time */
	BACKED_AWAIT_NEEDS,
	BACKED_ACCEPT, /* ready, without the provider */
	BACKED_REFUSE, /* the provider cannot: park it */
	BACKED_ENSURE,
	BACKED_GIVE_UP, /* it takes too long */
	BACKED_AWAIT_USERS,
	BACKED_REMOVE,
	BACKED_FORGET, /* the document, last */
};

struct backed_step {
	enum backed_act act;
	int64_t until; /* of BACKED_WAIT */
};

struct backed_step backed_plan(const struct backed_view *v);

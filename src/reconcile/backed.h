/*
 * backed - the controllers of what a provider has, too, and that is no machine:
 * one controller, a row a kind.
 */
#pragma once

#include "model/status.h"
#include "provider/calls.h"
#include "provider/front.h"
#include "reconcile/controller.h"

struct backed_memo {
	int64_t poll_at; /* when it is worth looking again */
	int64_t poll_ms;
};

/* A call about one object; what it points to lives with the work. */
struct backing_call {
	struct call call; /* first */
	const struct backed_row *row;
	struct work *work;
	struct meta *object; /* a copy, as it was when it was asked for */
	struct backing_id id;
	union {
		struct network_spec network;
		struct group_spec group;
		struct image_spec image;
		struct volume_spec volume;
	} spec;
	bool partly; /* something is left out until it is known */
	struct backing seen;
};

/* Whether what an object needs is there. */
enum needs {
	NEEDS_MET,
	NEEDS_WAIT, /* work_await() has been told for what */
	NEEDS_LOST, /* they never will be: the err says why */
};

struct backed_row {
	struct controller controller; /* first */
	size_t status;                /* of struct backed, in the object */
	size_t region;                /* of the region's id */
	bool optional;                /* a region may do without */
	int64_t patience_ms;          /* until it is given up */

	enum capability (*capability)(const void *object);

	/* Fill in C's spec; its object and id are set. */
	enum needs (*prepare)(struct work *w, struct backing_call *c,
			      struct err *err);
	/* On a worker. */
	int (*ensure)(struct provider *p, struct backing_call *c,
		      struct arena *a, struct err *err);
	int (*remove)(struct provider *p, const struct backing_id *id,
		      struct err *err);

	/* These may be NULL. */
	void (*record)(void *object, const struct backing *seen);
	/* Somebody has it who does not refer to it; awaits that. */
	bool (*is_held)(struct work *w, const void *object);
	/* Have one that is being deleted let go of its like, so that two that
	 * refer to each other can both go; false when it has. */
	bool (*let_go)(void *object, struct arena *a);
};

extern const struct backed_row backed_network, backed_group, backed_image,
	backed_volume;

/* The steps of all of them. */
void backed_step(struct work *w);
bool backed_wants(const struct backed_row *row, const void *object);

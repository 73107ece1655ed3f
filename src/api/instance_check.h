/*
 * instance_check - what an instance must be, beyond its table of fields.
 *
 * Everything it names is there for the caller, is of the same region, network
 * or project, and goes together.  What was found out once and has not changed
 * is not asked again: a flavor that was retired since does not keep an instance
 * from being renamed.
 */
#pragma once

#include "api/call.h"
#include "model/instance.h"

struct image;
struct region;
struct tx;

/* What it names, as the transaction sees it. */
struct instance_facts {
	const struct region *region;
	const struct image *image;
	const struct flavor *flavors[OFFERINGS_MOST]; /* one an offering */
	size_t n;
};

/* NEW, whose owners are known, may be made, or made of OLD; ERR names the field
 * that is in the way. */
int instance_check(struct call *c, struct tx *tx, const struct instance *old,
		   const struct instance *new, struct instance_facts *ret,
		   struct err *err) MUST_CHECK;

/* Volumes, security groups and what lets people log in: the part of it that is
 * in instance_check_parts.c. */
int instance_check_parts(struct call *c, struct tx *tx,
			 const struct instance *old, const struct instance *new,
			 const struct region *region,
			 struct err *err) MUST_CHECK;

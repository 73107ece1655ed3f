/*
 * facts - what we keep in a domain that is there.
 *
 * A change reads, changes and writes them while no other change of this process
 * does: groups, tags and volumes do not undo each other.
 */
#pragma once

#include "provider/libvirt/domain.h"

/* ERR_NOT_FOUND: the domain is none of ours, or gone. */
int facts_load(struct host *h, virDomainPtr d, struct arena *a,
	       struct domain_facts *ret, struct err *err) MUST_CHECK;

/* What CHANGE makes of F is written, unless it fails; A lives until then. */
typedef int facts_change_fn(struct domain_facts *f, struct arena *a, void *ctx,
			    struct err *err);
int facts_change(struct host *h, virDomainPtr d, facts_change_fn *change,
		 void *ctx, struct err *err) MUST_CHECK;

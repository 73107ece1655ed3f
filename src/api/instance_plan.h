/*
 * instance_plan - what something asked of an instance would do: to its machine,
 * its price and its quotas.  Shown with ?plan=true, and with the refusal of what
 * has not been allowed.
 */
#pragma once

#include "api/call.h"
#include "model/change.h"
#include "model/quota.h"

struct instance;
struct instance_facts;
struct tx;

struct instance_plan {
	const char *action;               /* "create", "rebuild" */
	const struct instance *old, *new; /* NULL: there is none */
	const struct change_plan *change; /* NULL: none is made */
	struct items amounts;             /* that NEW uses */
};

/* The plan IN, as JSON in the call's arena. */
const char *instance_plan_write(struct call *c, struct tx *tx,
				const struct instance_plan *in);

/* What the query allows: enum change_need. */
int instance_allowed(struct call *c, int *ret, struct err *err) MUST_CHECK;

/* The change that P needs is allowed, and none is under way; otherwise
 * ERR_CONFIRMATION, with the plan, or ERR_CONFLICT. */
int instance_confirm(struct call *c, struct tx *tx,
		     const struct instance_plan *p, struct err *err) MUST_CHECK;

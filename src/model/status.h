/*
 * status - what nouns that have a counterpart at a provider say of it, in the
 * same words everywhere.
 *
 * Why something is not as it is wanted is a reason: an err as it is kept.  One
 * that waits says for what: an operator, a change of the spec, or time.
 */
#pragma once

#include "base/err.h"
#include "base/field.h"

enum provisioning {
	PROVISIONING_PENDING = 1, /* accepted, nothing done yet */
	PROVISIONING_PROVISIONING,
	PROVISIONING_PROVISIONED,
	PROVISIONING_DEPROVISIONING,
	PROVISIONING_ERROR,
};

enum health {
	HEALTH_UNKNOWN = 1,
	HEALTH_HEALTHY,
	HEALTH_DEGRADED,
	HEALTH_ERROR,
};

enum waits {
	WAITS_OPERATOR = 1, /* somebody must mend something outside */
	WAITS_CHANGE,       /* of what is wanted */
	WAITS_TIME,         /* until retry_at */
};

struct reason {
	const char *code;    /* err_name(); NULL: there is no reason */
	const char *message; /* safe to show, without the provider's words */
	int scope, retry;    /* as in struct err, and one more */
	int waits_for;       /* enum waits */
	int64_t retry_at;    /* when it is tried again; 0: it is not */
	int64_t failures;    /* in a row */
	const char *provider_code, *provider_message; /* operators' */
};

extern const char *const provisioning_names[];
extern const char *const health_names[];
extern const char *const waits_names[];

/* How what is known of a machine came to be known. */
enum observed {
	OBSERVED_LAUNCH = 1, /* the answer to its launch */
	OBSERVED_DESCRIBE,   /* a look at it alone */
	OBSERVED_LIST,       /* it was in a list */
};

extern const char *const observed_names[];

/* What everyone may read of a reason, and what operators may. */
extern const struct field reason_fields[];
extern const struct field reason_full_fields[];

/* What ERR says, as a reason; its words live in A. */
struct reason reason_from(const struct err *err, struct arena *a);

/* The states that network, image, volume, … go through; each noun uses some. */
enum backed_state {
	BACKED_PENDING = 1, /* not at the provider yet */
	BACKED_CREATING,
	BACKED_READY,
	BACKED_FAILED,
	BACKED_DELETING,
};

extern const char *const backed_names[];

/* The status of what is kept at a provider and is not a machine. */
struct backed {
	int state;            /* enum backed_state */
	const char *native;   /* the provider's word for it */
	const char *provider; /* its id there */
	struct reason reason;
	int64_t observed_generation; /* what the provider has been told */
	int64_t observed_at;
	int64_t deadline; /* of the state it is in; 0: it may stay so */
};

extern const struct field backed_fields[];

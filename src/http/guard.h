/* guard - what a request's head must look like. */
#pragma once

#include "http/request_priv.h"

struct guard_facts {
	const char *request_id; /* as the client sent it, or NULL */
	uint64_t length;        /* announced; 0 when it was not */
	bool chunked;
	bool expects; /* to be told before it sends the body */
};

/* Whether the head is one that no two readers can read differently.  0, or the
 * status to refuse it with and why. */
int guard_check(const struct request *r, struct MHD_Connection *mhd,
		const char *url, const char *version,
		struct guard_facts *ret_facts, const char **ret_why);

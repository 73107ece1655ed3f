/* user - a person in an organization; who signs in elsewhere is found by
 * issuer and subject, or by verified e-mail. */
#pragma once

#include "model/kind.h"

enum user_state { USER_ACTIVE = 1, USER_PENDING, USER_SUSPENDED };

struct user {
	struct meta meta; /* first, as in every noun */
	const char *organization_id;
	const char *email;
	const char *issuer, *subject;
	int state;
};

extern const struct kind user_kind;

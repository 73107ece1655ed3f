/* organization - a tenant: whoever pays, with people and projects inside. */
#pragma once

#include "model/kind.h"

struct organization {
	struct meta meta; /* first, as in every noun */
};

extern const struct kind organization_kind;

/* project - a part of an organization: what machines are grouped by. */
#pragma once

#include "model/kind.h"

struct project {
	struct meta meta; /* first, as in every noun */
	const char *organization_id;
};

extern const struct kind project_kind;

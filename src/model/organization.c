#include "model/organization.h"

static const struct field fields[] = {
	META_FIELDS,
	{0},
};

const struct kind organization_kind = {
	.name = "organization",
	.plural = "organizations",
	.title = "Organization",
	.doc = "A tenant.  Everything else belongs to one, and none can see "
	       "another's.",
	.size = sizeof(struct organization),
	.fields = fields,
	.version = 1,
};

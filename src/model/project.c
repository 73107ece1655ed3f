#include "model/project.h"

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct project, organization_id),
	 "The organization it belongs to.", &format_uuid,
	 .refers = "organization"},
	{0},
};

const struct kind project_kind = {
	.name = "project",
	.plural = "projects",
	.title = "Project",
	.doc = "A part of an organization: networks, instances and quota are "
	       "grouped by it.",
	.size = sizeof(struct project),
	.organization_at = offsetof(struct project, organization_id),
	.fields = fields,
	.unique_within = "organizationId",
	.version = 1,
};

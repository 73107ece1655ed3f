#include "model/serviceaccount.h"

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct serviceaccount, organization_id),
	 "The organization it belongs to; absent for the platform's own.",
	 &format_uuid, .refers = "organization"},
	{0},
};

const struct kind serviceaccount_kind = {
	.name = "serviceaccount",
	.plural = "serviceaccounts",
	.title = "ServiceAccount",
	.doc = "A program that calls the API with tokens of its own.",
	.size = sizeof(struct serviceaccount),
	.organization_at = offsetof(struct serviceaccount, organization_id),
	.fields = fields,
	.unique_within = "organizationId",
	.version = 1,
};

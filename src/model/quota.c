#include "model/quota.h"

#include "base/uuid.h"

static const struct field quotakind_fields[] = {
	META_UNNAMED_FIELDS,
	{"name", FIELD_STRING, FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_COLUMN,
	 offsetof(struct quotakind, meta.name),
	 "By which quotas and allocations name it.", &format_word, .min = 1,
	 .max = 63},
	{"unit", FIELD_STRING, FIELD_REQUIRED | FIELD_COLUMN,
	 offsetof(struct quotakind, unit), "What one of it is.", &format_text,
	 .min = 1, .max = 63},
	{"default", FIELD_INT, FIELD_COLUMN,
	 offsetof(struct quotakind, fallback),
	 "The limit of an organization that has none set; absent: no limit.",
	 .max = QUOTA_MOST},
	{0},
};

const struct kind quotakind_kind = {
	.name = "quotakind",
	.plural = "quotakinds",
	.title = "QuotaKind",
	.doc = "Something that is counted and can be limited.",
	.open = true,
	.size = sizeof(struct quotakind),
	.fields = quotakind_fields,
	.version = 1,
};

static const struct field limit_fields[] = {
	{"kind", FIELD_STRING, FIELD_REQUIRED | FIELD_INDEX,
	 offsetof(struct quota_limit, kind), "A quota kind's name.",
	 &format_word, .min = 1, .max = 63},
	{"limit", FIELD_INT, FIELD_REQUIRED,
	 offsetof(struct quota_limit, limit), "How much of it may be used.",
	 .max = QUOTA_MOST},
	{0},
};

#define OWNER(offset, name, what, kind, more)                                  \
	{                                                                      \
		(name), FIELD_STRING,                                          \
			FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN | (more), \
			(offset), (what), &format_uuid, .refers = (kind)       \
	}

static const struct field quota_fields[] = {
	META_UNNAMED_FIELDS,
	OWNER(offsetof(struct quota, organization_id), "organizationId",
	      "The organization that is limited, or that the project is in.",
	      "organization", FIELD_REQUIRED),
	OWNER(offsetof(struct quota, project_id), "projectId",
	      "The project that is limited; absent: the whole organization.",
	      "project", 0),
	{"limits", FIELD_LIST, FIELD_ALWAYS | FIELD_COLUMN,
	 offsetof(struct quota, limits),
	 "The limits; of kinds that are not named the default holds.",
	 .item = FIELD_OBJECT, .fields = limit_fields,
	 .size = sizeof(struct quota_limit)},
	{0},
};

const struct kind quota_kind = {
	.name = "quota",
	.plural = "quotas",
	.title = "Quota",
	.doc = "How much an organization or a project may use.",
	.size = sizeof(struct quota),
	.organization_at = offsetof(struct quota, organization_id),
	.project_at = offsetof(struct quota, project_id),
	.fields = quota_fields,
	.version = 1,
};

static const struct field amount_fields[] = {
	{"kind", FIELD_STRING, FIELD_REQUIRED | FIELD_INDEX,
	 offsetof(struct quota_amount, kind), "A quota kind's name.",
	 &format_word, .min = 1, .max = 63},
	{"committed", FIELD_INT, 0, offsetof(struct quota_amount, committed),
	 "In use.", .max = QUOTA_MOST, .fallback = "0"},
	{"reserved", FIELD_INT, 0, offsetof(struct quota_amount, reserved),
	 "May come to be used, and counts as if it were.", .max = QUOTA_MOST,
	 .fallback = "0"},
	{0},
};

static const struct field allocation_fields[] = {
	META_UNNAMED_FIELDS,
	OWNER(offsetof(struct allocation, organization_id), "organizationId",
	      "Whose limit it counts against.", "organization", FIELD_REQUIRED),
	OWNER(offsetof(struct allocation, project_id), "projectId",
	      "And whose besides.", "project", 0),
	{"objectKind", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_COLUMN,
	 offsetof(struct allocation, object_kind),
	 "What kind of thing uses it.", &format_word, .min = 1, .max = 63},
	{"objectId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct allocation, object_id),
	 "Which one; it has one allocation.", &format_uuid},
	{"amounts", FIELD_LIST, FIELD_ALWAYS | FIELD_COLUMN,
	 offsetof(struct allocation, amounts), "How much of what.",
	 .item = FIELD_OBJECT, .fields = amount_fields,
	 .size = sizeof(struct quota_amount), .max = 32},
	{0},
};

const struct kind allocation_kind = {
	.name = "allocation",
	.plural = "allocations",
	.title = "Allocation",
	.doc = "What one object uses.",
	.size = sizeof(struct allocation),
	.organization_at = offsetof(struct allocation, organization_id),
	.project_at = offsetof(struct allocation, project_id),
	.fields = allocation_fields,
	.version = 1,
};

const struct built_in_quotakind built_in_quotakinds[] = {
	{"00000000-0000-5000-8000-000000000101", "instances", "instance",
	 "Virtual machines.", 10},
	{"00000000-0000-5000-8000-000000000102", "vcpus", "vCPU",
	 "Virtual processors of instances.", 40},
	{"00000000-0000-5000-8000-000000000103", "memoryMiB", "MiB",
	 "Memory of instances.", 163840},
	{"00000000-0000-5000-8000-000000000104", "gpus", "GPU",
	 "Graphics processors of instances.", 4},
	{"00000000-0000-5000-8000-000000000105", "volumesGiB", "GiB",
	 "Size of volumes.", 1024},
	{"00000000-0000-5000-8000-000000000106", "networks", "network",
	 "Networks.", 5},
	{"00000000-0000-5000-8000-000000000107", "publicIps", "address",
	 "Public addresses.", 5},
	{"00000000-0000-5000-8000-000000000108", "groups", "group",
	 "Instance groups and pools.", 10},
	{"00000000-0000-5000-8000-000000000109", "spend",
	 "thousandth of the currency an hour",
	 "What instances cost while they run.", FIELD_NONE},
};

const size_t n_built_in_quotakinds = COUNT_OF(built_in_quotakinds);

void allocation_id(const char *organization, const char *object, char out[37])
{
	char of_object[37];

	uuid_v5(object, "muster/allocation", of_object);
	uuid_v5(organization, of_object, out);
}

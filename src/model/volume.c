#include "model/volume.h"

#define AT(member)     offsetof(struct volume, member)
#define SPEC(member)   (AT(spec.member) - AT(spec))
#define STATUS(member) (AT(status.member) - AT(status))

static const struct field spec_fields[] = {
	{"sizeGiB", FIELD_INT, FIELD_REQUIRED | FIELD_COLUMN, SPEC(size_gib),
	 "Its size; it can grow, and not shrink.", .min = 1, .max = 1048576},
	{"class", FIELD_STRING, FIELD_IMMUTABLE | FIELD_COLUMN, SPEC(class),
	 "What it is made of, in the provider's words.", &format_text,
	 .max = 63},
	{"zone", FIELD_STRING, FIELD_IMMUTABLE | FIELD_WIDE, SPEC(zone),
	 "Where it is, in regions that have zones.", &format_text, .max = 63},
	{"imageId", FIELD_STRING, FIELD_IMMUTABLE, SPEC(image_id),
	 "What is on it at first; absent: nothing.", &format_uuid,
	 .refers = "image"},
	{0},
};

static const struct field status_fields[] = {
	{.type = FIELD_INCLUDE,
	 .fields = backed_fields,
	 .offset = STATUS(backed)},
	{"instanceId", FIELD_STRING, FIELD_INDEX | FIELD_COLUMN,
	 STATUS(instance_id), "The instance that has it.", &format_uuid},
	{"device", FIELD_STRING, 0, STATUS(device), "What it is called there."},
	{"sizeGiB", FIELD_INT, 0, STATUS(size_gib), "Its size at the provider.",
	 .fallback = "0"},
	{0},
};

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its project.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(project_id), "Whose it is.", &format_uuid, .refers = "project"},
	{"regionId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(region_id), "Where it is.", &format_uuid, .refers = "region"},
	{"spec", FIELD_OBJECT, FIELD_REQUIRED, AT(spec), "What is wanted.",
	 .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind volume_kind = {
	.name = "volume",
	.plural = "volumes",
	.title = "Volume",
	.doc = "A disk with a life of its own.",
	.backed = true,
	.size = sizeof(struct volume),
	.organization_at = offsetof(struct volume, organization_id),
	.project_at = offsetof(struct volume, project_id),
	.fields = fields,
	.unique_within = "projectId",
	.version = 1,
};

#include "model/event.h"

#define AT(member) offsetof(struct happening, member)

static const struct field fields[] = {
	META_UNNAMED_FIELDS,
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of the object.", &format_uuid},
	{"projectId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(project_id), "The project of the object.", &format_uuid},
	{"lastAt", FIELD_TIME, FIELD_READ_ONLY | FIELD_COLUMN, AT(last_at),
	 "When it happened last."},
	{"objectKind", FIELD_STRING,
	 FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN, AT(object_kind),
	 "What kind of object it happened to."},
	{"objectId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN,
	 AT(object_id), "Which one.", &format_uuid},
	{"reason", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN,
	 AT(reason), "What happened, in a word that does not change."},
	{"message", FIELD_STRING, FIELD_READ_ONLY | FIELD_COLUMN, AT(message),
	 "The same for people, as it was the last time."},
	{"count", FIELD_INT, FIELD_READ_ONLY | FIELD_COLUMN, AT(count),
	 "How often it happened."},
	{"firstAt", FIELD_TIME, FIELD_READ_ONLY | FIELD_WIDE, AT(first_at),
	 "When it happened first."},
	{"source", FIELD_STRING, FIELD_READ_ONLY | FIELD_WIDE, AT(source),
	 "Which part of the server tells of it."},
	{0},
};

const struct kind event_kind = {
	.name = "event",
	.plural = "events",
	.title = "Event",
	.doc = "What happened to an object.",
	.read_only = true,
	.size = sizeof(struct happening),
	.organization_at = offsetof(struct happening, organization_id),
	.project_at = offsetof(struct happening, project_id),
	.fields = fields,
	.version = 1,
};

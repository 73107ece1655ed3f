#include "model/group.h"

#define MEMBERS(name, member, what, kind, more)                                \
	{                                                                      \
		(name), FIELD_LIST, (more), offsetof(struct group, member),    \
			(what), &format_uuid, .item = FIELD_STRING,            \
					      .size = sizeof(const char *),    \
					      .max = 1024, .refers = (kind)    \
	}

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct group, organization_id),
	 "The organization it belongs to; absent for the platform's own.",
	 &format_uuid, .refers = "organization"},
	MEMBERS("userIds", user_ids, "The people in it.", "user", FIELD_WEAK),
	MEMBERS("serviceAccountIds", service_account_ids,
		"The service accounts in it.", "serviceaccount", FIELD_WEAK),
	{"externalGroups", FIELD_LIST, FIELD_INDEX,
	 offsetof(struct group, external_groups),
	 "People whose OpenID token names one of these groups are in it, too: "
	 "ISSUER/GROUP, the issuer by the name it has in the configuration.",
	 &format_scoped, .item = FIELD_STRING, .size = sizeof(const char *),
	 .max = 128},
	MEMBERS("roleIds", role_ids, "The roles that its members have.", "role",
		FIELD_COLUMN),
	MEMBERS("projectIds", project_ids,
		"Where the project part of the roles holds.", "project",
		FIELD_WEAK),
	{0},
};

const struct kind group_kind = {
	.name = "group",
	.plural = "groups",
	.title = "Group",
	.doc = "Who has which roles, and in which projects.",
	.size = sizeof(struct group),
	.organization_at = offsetof(struct group, organization_id),
	.fields = fields,
	.unique_within = "organizationId",
	.version = 1,
};

#include "model/token.h"

#define AT(member) offsetof(struct token, member)

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN, AT(organization_id),
	 "The organization of its owner, and the only one it works in.",
	 &format_uuid, .refers = "organization"},
	{"projectId", FIELD_STRING, FIELD_IMMUTABLE | FIELD_INDEX,
	 AT(project_id), "When set, it works in this project only.",
	 &format_uuid, .refers = "project"},
	{"userId", FIELD_STRING, FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(user_id), "Whose it is, when a user's.", &format_uuid,
	 .refers = "user"},
	{"serviceAccountId", FIELD_STRING,
	 FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN, AT(service_account_id),
	 "Whose it is, when a service account's.", &format_uuid,
	 .refers = "serviceaccount"},
	{"digest", FIELD_STRING, FIELD_READ_ONLY | FIELD_SECRET | FIELD_INDEX,
	 AT(digest), "SHA-256 of the token, in hex."},
	{"expiresAt", FIELD_TIME, FIELD_COLUMN, AT(expires_at),
	 "When it stops working; absent: never."},
	{"lastUsedAt", FIELD_TIME, FIELD_READ_ONLY | FIELD_COLUMN,
	 AT(last_used_at), "When it was last used, to the hour."},
	{"token", FIELD_STRING, FIELD_READ_ONLY, AT(secret),
	 "The token itself: only in the answer that made it, and never again."},
	{0},
};

const struct kind token_kind = {
	.name = "token",
	.plural = "tokens",
	.title = "Token",
	.doc = "What a caller proves itself with.  It is shown once, when it "
	       "is made.",
	.size = sizeof(struct token),
	.organization_at = offsetof(struct token, organization_id),
	.project_at = offsetof(struct token, project_id),
	.fields = fields,
	.unique_within = "serviceAccountId",
	.unique_else = "userId",
	.version = 1,
};

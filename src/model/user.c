#include "model/user.h"

static const char *const states[] = {NULL, "active", "pending", "suspended",
				     NULL};

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct user, organization_id),
	 "The organization it belongs to.", &format_uuid,
	 .refers = "organization"},
	{"email", FIELD_STRING, FIELD_REQUIRED | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct user, email),
	 "By which a person who signs in elsewhere is known, when that place "
	 "has verified it.",
	 &format_email, .max = 254},
	{"issuer", FIELD_STRING, FIELD_WIDE, offsetof(struct user, issuer),
	 "The OpenID issuer that vouches for the subject.", &format_text,
	 .max = 512},
	{"subject", FIELD_STRING, FIELD_INDEX | FIELD_WIDE,
	 offsetof(struct user, subject),
	 "What the issuer calls this person; never changes there.",
	 &format_text, .max = 255},
	{"state", FIELD_ENUM, FIELD_COLUMN, offsetof(struct user, state),
	 "Only an active user may do anything.", .names = states,
	 .fallback = "\"active\""},
	{0},
};

const struct kind user_kind = {
	.name = "user",
	.plural = "users",
	.title = "User",
	.doc = "A person in an organization.",
	.size = sizeof(struct user),
	.organization_at = offsetof(struct user, organization_id),
	.fields = fields,
	.unique_within = "organizationId",
	.version = 1,
};

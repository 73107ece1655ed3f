#include "model/token.h"

static const struct field fields[] = {
	META_FIELDS,
	{"digest", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_SECRET | FIELD_INDEX,
	 offsetof(struct token, digest), "SHA-256 of the token, in hex."},
	{0},
};

const struct kind token_kind = {
	.name = "token",
	.plural = "tokens",
	.title = "Token",
	.doc = "What a caller proves itself with; only its hash is kept.",
	.internal = true,
	.size = sizeof(struct token),
	.fields = fields,
	.version = 1,
};

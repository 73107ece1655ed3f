/* token - what a caller proves itself with; only its hash is kept. */
#pragma once

#include "model/kind.h"

struct token {
	struct meta meta;                         /* first, as in every noun */
	const char *organization_id, *project_id; /* where it may be used */
	const char *user_id, *service_account_id; /* whose it is: one of them */
	const char *digest; /* SHA-256 of the token, in hex */
	int64_t expires_at; /* 0: never */
	int64_t last_used_at;
	const char *secret; /* never kept: only in the answer that made it */
};

extern const struct kind token_kind;

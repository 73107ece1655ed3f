/* token - what a caller proves itself with; only its hash is kept. */
#pragma once

#include "model/kind.h"

struct token {
	struct meta meta;   /* first, as in every noun */
	const char *digest; /* SHA-256 of the token, in hex */
};

extern const struct kind token_kind;

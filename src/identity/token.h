/*
 * token - who is calling: bearer tokens, kept as their hash alone.
 *
 * A token is shown once, when it is made.  What is stored is its SHA-256, by
 * which it is found again; the token itself has 256 random bits, so the hash
 * needs no salt.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/random.h"
#include "model/token.h"
#include "store/store.h"

#define TOKEN_PREFIX "muster_"
#define TOKEN_LEN    (sizeof(TOKEN_PREFIX) - 1 + 64)

struct principal {
	const char *id;   /* of the token */
	const char *name; /* "token:admin", as createdBy shows it */
};

/* A new secret token. */
void token_make(struct random *r, char out[TOKEN_LEN + 1]);

/* The stored form of TOKEN. */
void token_digest(const char *token, size_t len, char out[65]);

/* Whose token HEADER, an Authorization header or NULL, brings; the strings in
 * RET live in A.  ERR_UNAUTHENTICATED says what is wrong with it. */
int token_check(const struct store *s, const char *header, struct arena *a,
		struct principal *ret, struct err *err) MUST_CHECK;

/*
 * token - bearer tokens, kept as their hash alone.
 *
 * A token is shown once, when it is made.  What is stored is its SHA-256, by
 * which it is found again; the token itself has 256 random bits, so the hash
 * needs no salt, and finding it by its hash tells nothing by the time it takes.
 */
#pragma once

#include <stddef.h>

#include "base/random.h"
#include "model/token.h"

#define TOKEN_PREFIX "muster_"
#define TOKEN_LEN    (sizeof(TOKEN_PREFIX) - 1 + 64)

/* A new secret token. */
void token_make(struct random *r, char out[TOKEN_LEN + 1]);

/* The stored form of TOKEN. */
void token_digest(const char *token, size_t len, char out[65]);

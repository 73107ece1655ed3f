/*
 * jwt - signed tokens of an OpenID issuer: JWS compact form (RFC 7515, 7519).
 *
 * Three steps: jwt_parse() takes a token apart and believes nothing,
 * jwt_verify() holds its signature against the issuer's keys, jwt_claims()
 * says who it is for, from when and until when.  All are functions of what
 * they are given: no clock, no network.
 *
 * RS256, ES256 and EdDSA (Ed25519), and the key decides which: a token that
 * names another algorithm than its key has is refused, and so are "none" and
 * anything with a shared secret.  What is wrong is said without repeating any
 * of the token.  Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

enum {
	JWT_MOST = 16 << 10,       /* bytes of a token */
	JWT_KEYS_MOST = 64,        /* in a set */
	JWT_SET_MOST = 256 << 10,  /* bytes of a set */
	JWT_GROUPS_MOST = 512,     /* that one token may name */
	JWT_LEEWAY_MS = 60 * 1000, /* that two clocks may differ */
};

struct jwks;

/* The keys of a JSON Web Key Set.  Those of other kinds, for other uses or too
 * weak are passed over; a set without any that can be used is an error. */
int jwks_parse(const char *text, size_t len, struct jwks **out,
	       struct err *err) MUST_CHECK;
void jwks_free(struct jwks *set);
size_t jwks_count(const struct jwks *set);

/* A token taken apart; nothing of it is to be believed. */
struct jwt {
	const char *algorithm;
	const char *kid;    /* NULL: it names no key */
	const char *issuer; /* as it claims; NULL: it does not */
	const struct node *claims;
	const char *text; /* what is signed */
	size_t len;
	const unsigned char *signature;
	size_t signature_len;
};

/* TOKEN must live as long as RET, which is in A for the rest. */
int jwt_parse(const char *token, size_t len, struct arena *a, struct jwt *ret,
	      struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND when SET has no such key: a newer set may have it. */
int jwt_verify(const struct jwt *t, const struct jwks *set,
	       struct err *err) MUST_CHECK;

/* What a token must say to be taken. */
struct jwt_rules {
	const char *issuer, *audience;
	const char *groups_claim; /* NULL: its groups do not matter */
};

struct jwt_claims {
	const char *issuer, *subject;
	const char *email;   /* NULL: none, or none that could be one */
	bool email_verified; /* the issuer says that it is theirs */
	const char **groups;
	size_t n_groups;
	int64_t expires_at; /* Unix milliseconds, without leeway */
};

/* RET is in A. */
int jwt_claims(const struct jwt *t, const struct jwt_rules *rules,
	       int64_t now_ms, struct arena *a, struct jwt_claims *ret,
	       struct err *err) MUST_CHECK;
